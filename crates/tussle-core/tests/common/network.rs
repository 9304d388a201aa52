//! Networks for tests: dumbbells, and flows over them.

use std::ops::Range;

use tussle_core::net::path::{DelaySpec, ElementKind, LinkSpec, LossSpec};
use tussle_core::net::queue::{FifoSpec, QueueSpec};
use tussle_core::run::{
    ElementSpec, FORMAT, FlowSpec, Host, Interval, ProfileName, Record, Sampling, Timestamps,
};
use tussle_core::{Outcome, Run, Simulation};

/// Payload of a full packet.
pub(crate) const MSS_BYTES: u32 = 1448;
/// Size of a full packet on the link, in bytes.
pub(crate) const PACKET_BYTES: u64 = 1500;
pub(crate) const NS_PER_S: u64 = 1_000_000_000;
pub(crate) const NS_PER_MS: u64 = 1_000_000;

/// A bottleneck with a base RTT, half of it in each direction, and a buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dumbbell {
    pub(crate) rate_bit_per_s: u64,
    pub(crate) rtt_ms: u64,
    pub(crate) buffer_packets: u64,
}

impl Dumbbell {
    /// Creates a dumbbell with a buffer of `percent` of the BDP.
    pub(crate) fn with_buffer_percent(rate_bit_per_s: u64, rtt_ms: u64, percent: u64) -> Dumbbell {
        let mut path = Dumbbell { rate_bit_per_s, rtt_ms, buffer_packets: 0 };
        path.buffer_packets = (path.bdp_packets() * percent + 50) / 100;
        path
    }

    /// BDP, rounded to packets.
    pub(crate) fn bdp_packets(self) -> u64 {
        let bits = PACKET_BYTES * 8;
        (self.rate_bit_per_s * self.rtt_ms / 1000 + bits / 2) / bits
    }

    /// The elements: `bottleneck` on the forward path, and a reverse path without a rate limit.
    fn elements(self) -> Vec<ElementSpec> {
        let half_ns = self.rtt_ms * NS_PER_MS / 2;
        let queue = QueueSpec::Fifo(FifoSpec { limit_packets: Some(self.buffer_packets), limit_bytes: None });
        let link =
            LinkSpec { rate_bit_per_s: self.rate_bit_per_s, delay_ns: half_ns, queue, changes: Vec::new() };
        vec![element("bottleneck", ElementKind::Link(link)), delay("bottleneck-reverse", half_ns)]
    }

    /// A run of flows, named by their index, with the given steady interval in s.
    pub(crate) fn run(self, flows: Vec<FlowSpec>, steady_s: Range<u64>) -> Run {
        run(self.elements(), flows, steady_s.start * NS_PER_S..steady_s.end * NS_PER_S)
    }
}

/// A run that ends with its steady interval and records no time series.
pub(crate) fn run(elements: Vec<ElementSpec>, mut flows: Vec<FlowSpec>, steady_ns: Range<u64>) -> Run {
    for (index, flow) in flows.iter_mut().enumerate() {
        flow.name = format!("flow-{index}");
    }
    Run {
        format: FORMAT,
        profile: ProfileName::Linux6_1,
        seed: 1,
        duration_ns: steady_ns.end,
        steady: Interval { from_ns: steady_ns.start, to_ns: steady_ns.end },
        record: Record { sampling: Sampling::Off, events: false },
        hosts: Host::default(),
        elements,
        flows,
    }
}

/// The run with hosts whose timestamps have no random offset. With random offsets, LP mostly behaves like
/// Reno.
pub(crate) fn synchronised(run: Run) -> Run {
    Run { hosts: Host { timestamps: Timestamps::Synchronised, ..run.hosts }, ..run }
}

/// A flow over `bottleneck` for the whole run.
pub(crate) fn flow(algorithm: &str) -> FlowSpec {
    FlowSpec {
        name: String::new(),
        algorithm: algorithm.to_owned(),
        parameters: std::collections::BTreeMap::new(),
        start_ns: 0,
        stop_ns: None,
        bytes: None,
        mss_bytes: MSS_BYTES,
        forward: vec!["bottleneck".to_owned()],
        reverse: vec!["bottleneck-reverse".to_owned()],
        ecn: false,
        pacing: false,
        device_rate_bit_per_s: None,
        receive_window_bytes: None,
        pair: None,
        sender: None,
        receiver: None,
        application: None,
    }
}

pub(crate) fn element(name: &str, kind: ElementKind) -> ElementSpec {
    ElementSpec { name: name.to_owned(), kind }
}

pub(crate) fn delay(name: &str, delay_ns: u64) -> ElementSpec {
    element(name, ElementKind::Delay(DelaySpec { delay_ns }))
}

pub(crate) fn loss(name: &str, probability: f64) -> ElementSpec {
    element(name, ElementKind::Loss(LossSpec { probability }))
}

/// Simulates a run to its end.
pub(crate) fn simulate(run: &Run) -> Outcome {
    Simulation::new(run).expect("the run is valid").run_to_end().expect("no invariant breaks")
}
