//! A run: one resolved point of a scenario, as an engine receives it, with nothing left to interpret.
//!
//! Numbers are SI (bit/s, ns, bytes, packets). The same JSON goes to every engine; an unknown field is refused.

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

pub use hosts::{Hosts, Timestamps};
pub use profile::{ProfileConstants, ProfileName};

/// The version of this format.
pub const FORMAT: u32 = 1;

/// Largest window of a receiver: 1.5 GB of full packets, the BDP of 120 Gbit/s over 100 ms, so that a flow
/// over a path that never drops does not fill the memory of the machine.
pub const MAX_WINDOW_PACKETS: u32 = 1 << 20;

/// The `algorithm` of a UDP flow: datagrams without congestion control, which nobody acknowledges.
pub const UDP: &str = "udp";

/// One run: the network, the flows over it, and what to record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// [`FORMAT`] of the writer.
    pub format: u32,
    /// The TCP whose behaviour the hosts follow.
    pub profile: ProfileName,
    /// Seed of every random number generator of the run.
    pub seed: u64,
    /// Length of the run, in ns.
    pub duration_ns: u64,
    /// The interval over which the `flows` table measures.
    pub steady: Interval,
    /// What is recorded beside the `flows` table.
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

/// The tables that a run records.
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
    /// At the ends of the steady interval and of the run only.
    Off,
    /// At every multiple of this time, in ns.
    EveryNs(u64),
    /// Whenever the window, ssthresh or state of a flow changes, and a link's backlog with it.
    Change,
}

/// A part of a path, with the name that flows and tables call it by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ElementSpec {
    /// Unique in the run.
    pub name: String,
    /// Kind of the element, and its settings.
    #[serde(flatten)]
    pub kind: ElementKind,
}

/// One flow: its algorithm, the time in which it sends, and its path through the network.
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
    /// Time at which the connection is opened.
    pub start_ns: u64,
    /// Time at which the application stops writing; `None`: at the end of the run.
    #[serde(default)]
    pub stop_ns: Option<u64>,
    /// Payload that the application writes; `None`: without end.
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
    /// Write pattern of the application; `None`: a bulk sender, which writes all it has at the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub application: Option<ApplicationSpec>,
}

impl FlowSpec {
    /// Whether the flow sends datagrams.
    pub fn is_udp(&self) -> bool {
        self.algorithm == UDP
    }

    /// The writes of the flow's application in a run with that seed; `None` if it is a bulk sender.
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
