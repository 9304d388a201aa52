//! A run from its first instant to its tables: when something is looked at or changed.

use std::sync::Arc;

use anyhow::{anyhow, bail};
use tussle_core::run::Sampling;
use tussle_core::{Run, Table};

use super::clock::Clock;
use super::observer::Observer;
use super::setup::{self, Hosts};
use super::traffic::{self, Flow};
use crate::network::Network;

/// Longest time between two looks at the queues, from which their mean is made.
const LOOK_NS: u64 = 10_000_000;

/// Executes the run over a network that was built for it.
pub(crate) fn run(run: &Run, network: &Network, hosts: Hosts) -> anyhow::Result<Vec<Table>> {
    let flows = traffic::prepare(run, network, &hosts)?;
    let clock = Clock::from_next_second()?;
    let mut observer = Observer::new(run, network, (hosts, &flows, clock))?;
    traffic::start(&flows, clock);
    let changes = network.changes(run).map_err(|problem| anyhow!("changes of a link: {problem}"))?;
    let mut instants = Instants::of(run, changes.keys().copied());
    while let Some(at_ns) = instants.next() {
        clock.sleep_until(at_ns)?;
        for flow in flows.iter().filter(|flow| flow.spec.stop_ns == Some(at_ns)) {
            flow.stop()?;
        }
        // What was sent until now was sent at the rate until now.
        observer.look(at_ns)?;
        for (namespace, line) in changes.get(&at_ns).into_iter().flatten() {
            setup::change(namespace, line)?;
        }
        fail_with(&flows)?;
    }
    observer.finish()
}

/// What went wrong in a thread of a flow is what went wrong with the run.
fn fail_with(flows: &[Arc<Flow>]) -> anyhow::Result<()> {
    match flows.iter().find_map(|flow| Some((flow, flow.problem()?))) {
        Some((flow, problem)) => bail!("flow {}: {problem}", flow.spec.name),
        None => Ok(()),
    }
}

/// The instants of a run at which something is done, ascending.
struct Instants {
    /// Those that have a reason of their own, ascending.
    fixed_ns: Vec<u64>,
    /// Those that come again and again.
    periods_ns: Vec<u64>,
    end_ns: u64,
    last_ns: Option<u64>,
}

impl Instants {
    fn of(run: &Run, changes: impl Iterator<Item = u64>) -> Instants {
        let stops = run.flows.iter().filter_map(|flow| flow.stop_ns);
        let mut fixed_ns: Vec<_> =
            stops.chain(changes).chain([run.steady.from_ns, run.steady.to_ns, run.duration_ns]).collect();
        fixed_ns.sort_unstable();
        let sampling = match run.record.sampling {
            Sampling::EveryNs(every_ns) => Some(every_ns),
            Sampling::Off | Sampling::Change => None,
        };
        Instants {
            fixed_ns,
            periods_ns: sampling.into_iter().chain([LOOK_NS]).collect(),
            end_ns: run.duration_ns,
            last_ns: None,
        }
    }
}

impl Iterator for Instants {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let next = self.last_ns.map_or(0, |last| {
            let periodic = self.periods_ns.iter().map(|period| (last / period + 1) * period);
            let fixed = self.fixed_ns.iter().copied().find(|&fixed| fixed > last);
            periodic.chain(fixed).min().expect("there is a period")
        });
        self.last_ns = Some(next);
        (next <= self.end_ns).then_some(next)
    }
}
