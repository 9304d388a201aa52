//! Packet scripts: what the peer of a TCP sends, step by step, and what must come out.
//!
//! A script is data (TOML in `tests/scripts/`), so that the same story can be told to any implementation: to the
//! simulator's sender and receiver ([`play`]), and to a kernel, by whoever makes it a [`Host`] ([`judge`]). It begins
//! with an established connection; times count from there. Whatever the host sends must be expected by a step of
//! exactly that time, so a step may also just wait for a timer.

mod host;
mod judge;
mod simulated;
mod story;
mod words;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use host::{Host, Standing};
pub use judge::judge;
pub use simulated::play;
pub use story::story;

use crate::Time;
use crate::run::MAX_WINDOW_PACKETS;

/// Payload of a full packet.
pub const MSS_BYTES: u32 = 1448;
/// Timer ticks a second.
pub const HZ: u32 = 250;
/// Longest script.
const MAX_MS: f64 = 30.0 * 24.0 * 3600.0 * 1000.0;

/// A story about one end of a connection.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// What it shows, as a claim.
    pub claim: String,
    /// The rule, with its source.
    pub source: String,
    /// Which end it is about.
    #[serde(default)]
    pub role: Role,
    /// The algorithm of that end.
    #[serde(default = "reno")]
    pub algorithm: String,
    /// Its parameters.
    #[serde(default)]
    pub parameters: BTreeMap<String, i64>,
    /// How long the handshake took: the first RTT, a whole number of ms.
    #[serde(default = "hundred")]
    pub handshake_ms: u32,
    /// Whether ECN was negotiated.
    #[serde(default)]
    pub ecn: bool,
    /// Whether the sender paces.
    #[serde(default)]
    pub pacing: bool,
    /// Window that the receiver offers.
    #[serde(default = "endless")]
    pub window_packets: u32,
    /// The window at the start, if not the initial one.
    #[serde(default)]
    pub start_cwnd: Option<u32>,
    /// Engines that cannot play it, and why.
    #[serde(default)]
    pub skip: BTreeMap<Engine, String>,
    /// What happens.
    pub steps: Vec<Step>,
}

/// An end of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// It sends data, and the script its ACKs.
    #[default]
    Sender,
    /// It acknowledges the data that the script sends.
    Receiver,
}

/// What scripts are played on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Engine {
    /// The simulator.
    Sim,
    /// Linux.
    Kernel,
}

fn reno() -> String {
    "reno".to_owned()
}

fn hundred() -> u32 {
    100
}

fn endless() -> u32 {
    MAX_WINDOW_PACKETS
}

impl Script {
    /// How long the handshake took.
    pub fn handshake(&self) -> Time {
        Time::from_ms(u64::from(self.handshake_ms.max(1)))
    }
}

/// One instant: what happens, and what must follow at once.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// When, since the connection was established.
    pub at_ms: f64,
    /// The application writes so many packets.
    #[serde(default)]
    pub write: Option<u32>,
    /// The peer acknowledges every packet below this.
    #[serde(default)]
    pub ack: Option<u32>,
    /// Packets above that the peer reports, `"4-6"` or `"4"`, as in the option.
    #[serde(default)]
    pub sack: Vec<String>,
    /// Packets that the peer reports as duplicates.
    #[serde(default)]
    pub dsack: Option<String>,
    /// What the ACK echoes of congestion.
    #[serde(default)]
    pub ece: bool,
    /// Which transmission of the packet that moved the ACK its timestamp belongs to (RFC 7323, 4.3: the
    /// first one that the ACK before was waiting for).
    #[serde(default)]
    pub echo: Transmission,
    /// The window that the peer offers from now on.
    #[serde(default)]
    pub window_packets: Option<u32>,
    /// Packets that must leave, in order, `"4-6"` or `"4"`.
    #[serde(default)]
    pub sends: Vec<String>,
    /// Packets that the peer sends, in order, `"4-6"` or `"4"`.
    #[serde(default)]
    pub data: Vec<String>,
    /// What those packets carry of congestion.
    #[serde(default)]
    pub mark: Mark,
    /// Whether the first of them says that the peer has reduced its window.
    #[serde(default)]
    pub reduced: bool,
    /// ACKs that must leave, in order: `"4"`, `"4 sack 6-7 9"`, `"4 dsack 2"`, with `" ece"` at the end if they echo
    /// congestion.
    #[serde(default)]
    pub acks: Vec<String>,
    /// What must be true then.
    #[serde(flatten)]
    pub expect: Expect,
}

impl Step {
    /// Whether something happens to the host, so that it does not just wait.
    pub(super) fn acts(&self) -> bool {
        self.write.is_some() || self.ack.is_some() || !self.data.is_empty()
    }
}

/// A transmission of a packet that was sent more than once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Transmission {
    /// The first.
    First,
    /// The last.
    #[default]
    Last,
}

/// The ECN bits of packets, once ECN was negotiated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// They could be marked, and were not.
    #[default]
    No,
    /// Congestion was experienced.
    Yes,
    /// They could not be marked, as when they are sent again.
    Never,
}

/// What must be true after a step; what is absent is not asked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    cwnd: Option<u32>,
    ssthresh: Option<u32>,
    state: Option<String>,
    in_flight: Option<u32>,
    sacked: Option<u32>,
    lost: Option<u32>,
    retransmitted: Option<u32>,
    timeouts: Option<u32>,
    undone: Option<u32>,
    probes: Option<u32>,
    rto_ms: Option<u32>,
    cwr: Option<bool>,
}

impl Expect {
    /// All that `found` says.
    fn all_of(found: &Standing) -> Expect {
        Expect {
            cwnd: Some(found.cwnd),
            ssthresh: Some(found.ssthresh),
            state: Some(found.state.to_owned()),
            in_flight: Some(found.in_flight),
            sacked: Some(found.sacked),
            lost: Some(found.lost),
            retransmitted: Some(found.retransmitted),
            timeouts: Some(found.timeouts),
            undone: Some(found.undone),
            probes: Some(found.probes),
            rto_ms: Some(found.rto_ms),
            cwr: None,
        }
    }
}

/// What came of a script, in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "verdict", content = "words")]
pub enum Verdict {
    /// Everything was as expected.
    Holds,
    /// The host did something else.
    Fails(String),
    /// The script makes no sense, or could not be played.
    Refused(String),
}

impl From<Result<(), ScriptError>> for Verdict {
    fn from(outcome: Result<(), ScriptError>) -> Verdict {
        match outcome {
            Ok(()) => Verdict::Holds,
            Err(problem @ ScriptError::Mismatch { .. }) => Verdict::Fails(problem.to_string()),
            Err(problem) => Verdict::Refused(problem.to_string()),
        }
    }
}

/// Why a script failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScriptError {
    /// The script itself makes no sense.
    #[error("{0}")]
    Nonsense(String),
    /// The host did something else.
    #[error("step {step} at {at}: {found}")]
    Mismatch {
        /// Index of the step.
        step: usize,
        /// When.
        at: Time,
        /// What was found, beside what was expected.
        found: String,
    },
    /// The host cannot go on, or contradicts itself.
    #[error("{0}")]
    Broken(String),
}
