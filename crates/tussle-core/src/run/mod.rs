//! A run: one fully resolved point of a scenario, the input of an engine.
//!
//! Units are bit/s, ns, bytes and packets. Every engine receives the same JSON; unknown fields are refused.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Time;
use crate::net::path::ElementKind;
use crate::run::application::{ApplicationSpec, Schedule, ScheduleSetup};
use crate::util::rng::named_seed;

pub mod application;
pub(crate) mod check;
mod hosts;
mod profile;
pub mod receive_window;

pub use hosts::{
    BufferTuning, Ends, Growth, Host, LossDetection, Qdisc, Reduction, SocketBuffer, Timestamps,
};
pub use profile::ProfileName;

/// Version of this format.
pub const FORMAT: u32 = 1;

/// Largest receive window: 1.5 GB of full packets, the BDP of 120 Gbit/s over 100 ms. It bounds the memory of
/// a flow over a path without drops.
pub const MAX_WINDOW_PACKETS: u32 = 1 << 20;

/// The `algorithm` of a UDP flow: datagrams without congestion control and without acknowledgements.
pub const UDP: &str = "udp";

/// One run: the network, the flows over it, and what to record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// Version of the format; see [`FORMAT`].
    pub format: u32,
    /// TCP implementation that the hosts follow.
    pub profile: ProfileName,
    /// Seed of all random number generators of the run.
    pub seed: u64,
    /// Duration of the run, in ns.
    pub duration_ns: u64,
    /// Interval over which the `flows` table measures.
    pub steady: Interval,
    /// Tables to record in addition to the `flows` table.
    pub record: Record,
    /// Settings of the TCP of all hosts, unless a flow has its own; by default those of Linux.
    #[serde(default)]
    pub hosts: Host,
    /// Elements of the network, in any order; flows refer to them by name.
    pub elements: Vec<ElementSpec>,
    /// The flows.
    pub flows: Vec<FlowSpec>,
}

impl Run {
    /// Receiving host of each flow, counted from 0: flows whose receivers have equal settings share one.
    pub fn receivers(&self) -> Vec<usize> {
        let mut kinds: Vec<Host> = Vec::new();
        let hosts = self.flows.iter().map(|flow| self.ends(flow).receiver);
        hosts
            .map(|host| {
                kinds.iter().position(|kind| *kind == host).unwrap_or_else(|| {
                    kinds.push(host);
                    kinds.len() - 1
                })
            })
            .collect()
    }

    /// Settings of both hosts of a flow.
    pub fn ends(&self, flow: &FlowSpec) -> Ends {
        Ends { sender: flow.sender.unwrap_or(self.hosts), receiver: flow.receiver.unwrap_or(self.hosts) }
    }
}

/// A half-open interval of simulated time, in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Interval {
    /// Start, included.
    pub from_ns: u64,
    /// End, excluded.
    pub to_ns: u64,
}

/// Tables that a run records in addition to the `flows` table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Times of the rows of the `samples` and `links` tables.
    pub sampling: Sampling,
    /// Whether the `events` table is filled.
    pub events: bool,
}

/// Times of the rows of a time series.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Sampling {
    /// Samples at the ends of the steady interval and of the run only.
    Off,
    /// Samples at every multiple of this time, in ns.
    EveryNs(u64),
    /// Samples whenever the window, ssthresh or state of a flow changes; links are sampled at the same times.
    Change,
}

/// An element of the network, with its name in flows and tables.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ElementSpec {
    /// Name, unique in the run.
    pub name: String,
    /// Kind of the element, and its settings.
    #[serde(flatten)]
    pub kind: ElementKind,
}

/// One flow: its algorithm, its start and stop times, and its path through the network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowSpec {
    /// Name, unique in the run.
    pub name: String,
    /// Name of an algorithm in the registry, or [`UDP`].
    pub algorithm: String,
    /// The algorithm's parameters that differ from their defaults, by name.
    #[serde(default)]
    pub parameters: BTreeMap<String, i64>,
    /// Time at which the connection is opened.
    pub start_ns: u64,
    /// Time at which the application stops writing; `None`: at the end of the run.
    #[serde(default)]
    pub stop_ns: Option<u64>,
    /// Payload that the application writes; `None`: unlimited.
    #[serde(default)]
    pub bytes: Option<u64>,
    /// Payload of a full segment.
    pub mss_bytes: u32,
    /// Names of the elements from the sender to the receiver.
    pub forward: Vec<String>,
    /// Names of the elements from the receiver to the sender.
    pub reverse: Vec<String>,
    /// Whether both ends negotiate ECN (RFC 3168).
    #[serde(default)]
    pub ecn: bool,
    /// Whether the sender paces its packets.
    #[serde(default)]
    pub pacing: bool,
    /// Largest window that the receiver advertises, in bytes; `None`: twice the bytes that fill the path, at least 3 MiB.
    #[serde(default)]
    pub receive_window_bytes: Option<u64>,
    /// Pair of hosts that share metrics of ended connections; `None`: a pair of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pair: Option<u32>,
    /// Rate of the sending host's device, which is that of the flow's access link; `None`: a packet leaves the device at
    /// once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_rate_bit_per_s: Option<u64>,
    /// Settings of the sending host; `None`: those of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender: Option<Host>,
    /// Settings of the receiving host; `None`: those of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receiver: Option<Host>,
    /// Write pattern of the application; `None`: a bulk sender, which writes all its data at the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub application: Option<ApplicationSpec>,
}

impl FlowSpec {
    /// Whether the flow sends UDP datagrams.
    pub fn is_udp(&self) -> bool {
        self.algorithm == UDP
    }

    /// Whether the receiving application reads each packet at once, and not many together: where unread bytes reduce a limited
    /// window, where the buffer grows with what is read in a round trip, or where reading sends an ACK of what an application
    /// has written.
    pub fn reads_at_once(&self, receiver: &Host) -> bool {
        self.receive_window_bytes.is_some() || receiver.rmem.is_some() || self.application.is_some()
    }

    /// Write schedule of the flow's application in a run with a seed; `None` for a bulk sender.
    ///
    /// # Errors
    /// A sentence that names the invalid setting.
    pub fn schedule(&self, seed: u64) -> Result<Option<Schedule>, String> {
        let setup = ScheduleSetup {
            start: Time::from_ns(self.start_ns),
            mss_bytes: self.mss_bytes,
            bytes: self.bytes,
            seed: named_seed(seed, &format!("{} application", self.name)),
        };
        self.application.as_ref().map(|application| Schedule::new(application, setup)).transpose()
    }
}
