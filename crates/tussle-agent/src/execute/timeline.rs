//! Execution of a run from its start to its tables.

use std::sync::Arc;

use anyhow::{anyhow, bail};
use tussle_core::run::Sampling;
use tussle_core::{Run, Table};

use super::observer::Observer;
use super::setup::{self, Hosts};
use super::simulated::SimulatedElements;
use super::traffic::{self, Flow};
use super::{Environment, Execution};
use crate::network::Network;

/// Executes the run over its network.
pub(crate) fn run(
    run: &Run,
    network: &Network,
    mut hosts: Hosts,
    environment: &Environment,
) -> anyhow::Result<Vec<Table>> {
    let flows = traffic::prepare(run, network, &hosts)?;
    let clock = environment.clock(run.hosts.hz)?;
    let execution = Execution { run, network, clock, environment };
    let elements = SimulatedElements::start(execution, &mut hosts)?;
    let mut observer = Observer::new(execution, hosts, &flows, elements.clone())?;
    traffic::start(&flows, clock, environment);
    environment.be_punctual()?;
    let changes = network.changes(run).map_err(|problem| anyhow!("changes of a link: {problem}"))?;
    for at_ns in Instants::of(run, observer.interval_ns(), changes.keys().copied()) {
        // All counters are zero at the start. Observing them then would delay flows that start.
        if at_ns > 0 {
            clock.sleep_until(at_ns)?;
        }
        environment.note_slip(at_ns, clock)?;
        for flow in flows.iter().filter(|flow| flow.spec.stop_ns == Some(at_ns)) {
            flow.stop()?;
        }
        // Packets were sent at the old rate until now.
        observer.observe(at_ns)?;
        for (namespace, line) in changes.get(&at_ns).into_iter().flatten() {
            setup::change(namespace, line)?;
        }
        fail_with(&flows, &elements)?;
    }
    observer.finish()
}

/// Fails with the first problem of a thread of flows or elements.
fn fail_with(flows: &[Arc<Flow>], elements: &SimulatedElements) -> anyhow::Result<()> {
    if let Some(problem) = elements.problem() {
        bail!("{problem}");
    }
    match flows.iter().find_map(|flow| Some((flow, flow.problem()?))) {
        Some((flow, problem)) => bail!("flow {}: {problem}", flow.spec.name),
        None => Ok(()),
    }
}

/// Instants of a run, in ns, at which it is observed or changed, in ascending order.
pub(crate) struct Instants {
    /// Instants that occur once, in ascending order.
    fixed: Vec<u64>,
    /// Intervals of periodic instants.
    periods: Vec<u64>,
    end: u64,
    last: Option<u64>,
}

impl Instants {
    /// Instants of a run that is observed at least once in `interval_ns`, and of changes of its links.
    pub(crate) fn of(run: &Run, interval_ns: u64, changes: impl Iterator<Item = u64>) -> Instants {
        let stops = run.flows.iter().filter_map(|flow| flow.stop_ns);
        let mut fixed: Vec<_> =
            stops.chain(changes).chain([run.steady.from_ns, run.steady.to_ns, run.duration_ns]).collect();
        fixed.sort_unstable();
        let sampling = match run.record.sampling {
            Sampling::EveryNs(every_ns) => Some(every_ns),
            Sampling::Off | Sampling::Change => None,
        };
        Instants {
            fixed,
            periods: sampling.into_iter().chain([interval_ns]).collect(),
            end: run.duration_ns,
            last: None,
        }
    }
}

impl Iterator for Instants {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let next = self.last.map_or(0, |last| {
            let periodic = self.periods.iter().map(|period| (last / period + 1) * period);
            let fixed = self.fixed.iter().copied().find(|&fixed| fixed > last);
            periodic.chain(fixed).min().expect("there is a period")
        });
        self.last = Some(next);
        (next <= self.end).then_some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Observations every 10 ms, samples every 25 ms, a steady interval from 12 ms on, a change at 31 ms, 40
    /// ms in total.
    #[test]
    fn every_instant_occurs_once_in_order() {
        let run: Run = serde_json::from_value(serde_json::json!({
            "format": 1, "profile": "linux-6.1", "seed": 1, "duration_ns": 40_000_000,
            "steady": {"from_ns": 12_000_000, "to_ns": 40_000_000},
            "record": {"sampling": {"every_ns": 25_000_000}, "events": false},
            "elements": [],
            "flows": [{"name": "a", "algorithm": "reno", "start_ns": 0, "stop_ns": 30_000_000, "mss_bytes": 1448,
                       "forward": [], "reverse": []}],
        }))
        .unwrap();
        let instants: Vec<_> =
            Instants::of(&run, 10_000_000, [31_000_000].into_iter()).map(|ns| ns / 1_000_000).collect();
        assert_eq!(instants, [0, 10, 12, 20, 25, 30, 31, 40]);
    }
}
