//! One world: a simulation, its agents, and what each of them measured in an interval.

use tussle_core::cc::CongestionControl;
use tussle_core::run::FlowSpec;
use tussle_core::tcp::{Counts, Sender};
use tussle_core::{Outcome, Progress, Run, Simulation, Time, Violation};

use super::agent::{Action, Agent, Handle, MAX_CWND_PACKETS};

/// Measurements of an agent, in the order of their columns.
pub(super) const MEASUREMENTS: [&str; 21] = [
    "is_present",
    "is_over",
    "time_s",
    "interval_s",
    "delivered_packets",
    "sent_packets",
    "retransmitted_packets",
    "lost_packets",
    "marked_packets",
    "timeouts",
    "acks",
    "rtt_samples",
    "rtt_ms",
    "least_rtt_ms",
    "rtt_increase_ms",
    "srtt_ms",
    "min_rtt_ms",
    "cwnd_packets",
    "in_flight_packets",
    "pacing_mbit_per_s",
    "mss_bytes",
];

/// Values of [`MEASUREMENTS`].
pub(super) type Row = [f64; MEASUREMENTS.len()];

/// Counters of a sender at the start of an interval.
#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    delivered: u32,
    lost: u32,
    marked: u32,
    counts: Counts,
}

impl Totals {
    fn of(sender: &Sender) -> Totals {
        let flow = &sender.flow;
        // The SYN counts as a delivered packet.
        let delivered = flow.delivered.saturating_sub(1);
        Totals { delivered, lost: flow.lost, marked: flow.delivered_marked, counts: sender.counts }
    }
}

/// An agent in a world.
#[derive(Debug)]
struct Placed {
    /// Index of its flow in the run.
    flow: usize,
    /// Time at which the application stops.
    stop: Time,
    handle: Handle,
    before: Totals,
}

/// A simulation with agents.
#[derive(Debug)]
pub(super) struct World {
    simulation: Simulation,
    agents: Vec<Placed>,
    action: Action,
    /// Start of the current interval.
    now: Time,
    /// Length of the last interval.
    interval: Time,
    end: Time,
    is_done: bool,
}

impl World {
    /// Creates the world of a run with agents as the algorithms of `flows`, and simulates until the first of them has
    /// connected.
    ///
    /// # Errors
    /// A sentence: the run is invalid, or has no such TCP flow.
    pub(super) fn new(run: &Run, flows: &[String], action: &Action) -> Result<World, String> {
        let mut agents = Vec::new();
        for name in flows {
            let flow = run.flows.iter().position(|spec| spec.name == *name);
            let flow = flow.ok_or_else(|| format!("the run has no flow called {name}"))?;
            let stop = run.flows[flow].stop_ns.map_or(Time::NEVER, Time::from_ns);
            agents.push(Placed { flow, stop, handle: Handle::default(), before: Totals::default() });
        }
        let mut make = |spec: &FlowSpec, seed| {
            let place = flows.iter().position(|name| *name == spec.name)?;
            let agent = Agent::new(action, agents[place].handle.clone(), seed);
            Some(Box::new(agent) as Box<dyn CongestionControl>)
        };
        let simulation = Simulation::builder(run).algorithms(&mut make).build();
        let simulation = simulation.map_err(|error| error.to_string())?;
        if let Some(udp) = agents.iter().find(|agent| simulation.sender(agent.flow).is_none()) {
            let name = &run.flows[udp.flow].name;
            return Err(format!("{name} is a UDP flow, which has no congestion control; choose a TCP flow"));
        }
        let end = Time::from_ns(run.duration_ns);
        Ok(World {
            simulation,
            agents,
            action: action.clone(),
            now: Time::ZERO,
            interval: Time::ZERO,
            end,
            is_done: false,
        })
    }

    /// Simulates until the first agent has connected.
    ///
    /// # Errors
    /// An invariant is violated.
    pub(super) fn begin(&mut self) -> Result<(), Violation> {
        while !self.is_done && !self.agents.iter().any(|agent| self.sender(agent).is_established()) {
            self.is_done = self.simulation.advance(1)? == Progress::Done;
        }
        self.now = self.simulation.now();
        Ok(())
    }

    /// Performs `actions`, one for each agent (NaN: none), and simulates an interval.
    ///
    /// # Errors
    /// An invariant is violated.
    pub(super) fn step(&mut self, actions: &[f64], interval: Time) -> Result<(), Violation> {
        for place in 0..self.agents.len() {
            let before = Totals::of(self.sender(&self.agents[place]));
            let agent = &mut self.agents[place];
            agent.before = before;
            let mut shared = agent.handle.lock();
            shared.acks = 0;
            shared.rtts_us.clear();
        }
        for (place, &value) in actions.iter().enumerate().filter(|(_, value)| !value.is_nan()) {
            self.act(place, value);
        }
        let until = (self.now + interval).min(self.end);
        self.is_done = self.simulation.advance_to(until)? == Progress::Done;
        if until == self.end {
            // Events at the end itself belong to the run; the last of them records the last samples.
            while !self.is_done {
                self.is_done = self.simulation.advance(1)? == Progress::Done;
            }
        }
        self.interval = until.since(self.now);
        self.now = until;
        Ok(())
    }

    /// Performs the action of one agent, now.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the values are clamped, and a cast from a float saturates"
    )]
    fn act(&mut self, place: usize, value: f64) {
        let window = |packets: f64| packets.round().clamp(1.0, f64::from(MAX_CWND_PACKETS)) as u32;
        let agent = &self.agents[place];
        match self.action {
            Action::Window => agent.handle.lock().cwnd = Some(window(value)),
            Action::Rate => agent.handle.lock().rate_bit_per_s = Some(value.max(1.0) as u64),
            Action::Factor(_) => {}
        }
        let is_factor = matches!(self.action, Action::Factor(_));
        self.simulation.control_at(self.now, agent.flow, |_, control| {
            if is_factor {
                control.cwnd = window(f64::from(control.cwnd) * value);
            } else {
                agent.handle.lock().apply(control);
            }
        });
    }

    fn sender(&self, agent: &Placed) -> &Sender {
        self.simulation.sender(agent.flow).expect("an agent is a TCP flow")
    }

    /// Whether the run is over.
    pub(super) fn is_done(&self) -> bool {
        self.is_done
    }

    /// Measurements of each agent in the last interval.
    pub(super) fn rows(&self) -> Vec<Row> {
        self.agents.iter().map(|agent| self.row(agent)).collect()
    }

    fn row(&self, agent: &Placed) -> Row {
        let sender = self.sender(agent);
        let (flow, before, after) = (&sender.flow, agent.before, Totals::of(sender));
        let is_stopped = agent.stop <= self.now && flow.packets_out() == 0;
        let is_over = sender.is_established() && (sender.is_complete() || is_stopped);
        let shared = agent.handle.lock();
        let ms = |us: Option<u32>| us.map_or(f64::NAN, |us| f64::from(us) / 1e3);
        let (first, second) = shared.rtts_us.split_at(shared.rtts_us.len() / 2);
        let increase = if first.is_empty() { 0.0 } else { (mean(second) - mean(first)) / 1e3 };
        [
            f64::from(u8::from(sender.is_established())),
            f64::from(u8::from(is_over)),
            seconds(self.now),
            seconds(self.interval),
            f64::from(after.delivered - before.delivered),
            difference(after.counts.sent_packets, before.counts.sent_packets),
            difference(after.counts.retransmitted_packets, before.counts.retransmitted_packets),
            f64::from(after.lost - before.lost),
            f64::from(after.marked - before.marked),
            f64::from(after.counts.timeouts - before.counts.timeouts),
            f64::from(shared.acks),
            mean_count(&shared.rtts_us),
            mean(&shared.rtts_us) / 1e3,
            ms(shared.rtts_us.iter().min().copied()),
            increase,
            ms(flow.rtt.srtt_us()),
            ms(flow.rtt.min_us()),
            f64::from(sender.control.cwnd),
            f64::from(flow.in_flight()),
            sender.pacing_bit_per_s().map_or(f64::NAN, |rate| rate / 1e6),
            f64::from(flow.mss_bytes),
        ]
    }

    /// Returns the tables of the run.
    pub(super) fn finish(self) -> Outcome {
        self.simulation.finish()
    }
}

#[expect(clippy::cast_precision_loss, reason = "a run has fewer than 2^53 nanoseconds")]
fn seconds(time: Time) -> f64 {
    time.ns() as f64 / 1e9
}

#[expect(clippy::cast_precision_loss, reason = "a run has fewer than 2^53 packets")]
fn difference(after: u64, before: u64) -> f64 {
    (after - before) as f64
}

#[expect(clippy::cast_precision_loss, reason = "an interval has fewer than 2^53 ACKs")]
fn mean_count(samples: &[u32]) -> f64 {
    samples.len() as f64
}

/// Mean of samples; NaN without any.
fn mean(samples: &[u32]) -> f64 {
    let sum: u64 = samples.iter().copied().map(u64::from).sum();
    difference(sum, 0) / mean_count(samples)
}
