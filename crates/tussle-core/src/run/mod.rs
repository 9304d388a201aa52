//! One resolved point of a scenario: what an engine receives, with nothing left to interpret.
//!
//! Numbers are SI (bit/s, ns, bytes, packets). The same JSON goes to every engine; a field that is not
//! known here is refused.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::net::path::ElementKind;
use crate::run::application::ApplicationSpec;

pub mod application;
pub(crate) mod check;
mod hosts;
mod profile;
mod random_parts;
pub mod receive_window;

pub use hosts::{Hosts, Timestamps};
pub use profile::{ProfileConstants, ProfileName};

/// The version of this format.
pub const FORMAT: u32 = 1;

/// Largest window of a receiver: 1.5 GB of full packets, the BDP of 120 Gbit/s over 100 ms, so that a flow
/// over a path that never drops does not fill the memory of the machine.
pub const MAX_WINDOW_PACKETS: u32 = 1 << 20;

/// The algorithm of a flow without congestion control: datagrams, which nobody acknowledges.
pub const UDP: &str = "udp";

/// One run: the network, the flows over it, and what to write down.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// [`FORMAT`] of the writer.
    pub format: u32,
    /// The TCP whose behaviour the hosts follow.
    pub profile: ProfileName,
    /// Seeds every die of the run.
    pub seed: u64,
    /// When the run ends, in ns.
    pub duration_ns: u64,
    /// The interval over which the `flows` table measures.
    pub steady: Interval,
    /// What is written down beside the `flows` table.
    pub record: Record,
    /// Settings of the hosts' TCP; without them: a default Linux host.
    #[serde(default)]
    pub hosts: Hosts,
    /// The parts of the network, in any order; flows name them.
    pub elements: Vec<ElementSpec>,
    /// The flows.
    pub flows: Vec<FlowSpec>,
}

/// A half-open interval of simulated time, in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Interval {
    /// First instant inside.
    pub from_ns: u64,
    /// First instant after.
    pub to_ns: u64,
}

/// What a run writes down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// When the `samples` and `links` tables get a row.
    pub sampling: Sampling,
    /// Whether the `events` table is filled.
    pub events: bool,
}

/// When a time series gets a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Sampling {
    /// At the ends of the steady interval and of the run only.
    Off,
    /// Every so many nanoseconds.
    EveryNs(u64),
    /// Whenever the window, ssthresh or state of a flow changes, and a link's backlog with it.
    Change,
}

/// A part of a path, with the name that flows and tables call it by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ElementSpec {
    /// Unique in the run.
    pub name: String,
    /// What it does to packets.
    #[serde(flatten)]
    pub kind: ElementKind,
}

/// One flow: its algorithm, when it sends, and its way through the network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowSpec {
    /// Unique in the run.
    pub name: String,
    /// A name from the registry of algorithms, or [`UDP`].
    pub algorithm: String,
    /// The algorithm's parameters that differ from their defaults, by name.
    #[serde(default)]
    pub parameters: BTreeMap<String, i64>,
    /// When the connection is opened.
    pub start_ns: u64,
    /// When the application stops writing; `None`: at the end of the run.
    #[serde(default)]
    pub stop_ns: Option<u64>,
    /// How much the application writes; `None`: as much as is taken.
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
    /// The window that the receiver offers; `None`: the largest, [`MAX_WINDOW_PACKETS`].
    #[serde(default)]
    pub receive_window_bytes: Option<u64>,
    /// How its application writes; `None`: all that is taken, from the start on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub application: Option<ApplicationSpec>,
}

impl FlowSpec {
    /// Whether it sends datagrams.
    pub fn is_udp(&self) -> bool {
        self.algorithm == UDP
    }
}
