//! Packet scripts: the packets that the peer of a TCP implementation sends, step by step, and the expected
//! responses.
//!
//! A script is data (TOML in `tests/scripts/`), so that any implementation can play it: the simulator's
//! sender and receiver ([`play`]), and a kernel, by an implementation of [`Host`] ([`check`]). It starts with
//! an established connection; times count from there. A step must expect every packet that the host sends, at
//! exactly that time; a step may also only wait for a timer.

mod expect;
mod host;
mod random_script;
mod simulated;
mod words;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use expect::check;
pub use host::{Host, SenderState};
pub use random_script::random_script;
pub use simulated::play;

use crate::Time;
use crate::run::{self, MAX_WINDOW_PACKETS};
use crate::tcp::State;

/// Payload of a full packet.
pub const MSS_BYTES: u32 = 1448;
/// Timer ticks per second of the hosts that play scripts.
pub const HZ: u32 = 250;
/// Longest duration of a script, in ms.
const MAX_MS: f64 = 30.0 * 24.0 * 3600.0 * 1000.0;

/// A packet script about one end of a connection.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// Claim that the script tests.
    pub claim: String,
    /// Source of the rule behind the claim.
    pub source: String,
    /// End of the connection that the script tests.
    #[serde(default)]
    pub role: Role,
    /// Congestion control algorithm of that end.
    #[serde(default = "reno")]
    pub algorithm: String,
    /// Parameters of the algorithm.
    #[serde(default)]
    pub parameters: BTreeMap<String, i64>,
    /// Duration of the handshake, which is the first RTT sample: a whole number of ms.
    #[serde(default = "hundred")]
    pub handshake_ms: u32,
    /// Whether ECN was negotiated.
    #[serde(default)]
    pub ecn: bool,
    /// Whether the sender paces.
    #[serde(default)]
    pub pacing: bool,
    /// Settings of both hosts. Scripts are played at [`HZ`] ticks per second.
    #[serde(default)]
    pub hosts: run::Host,
    /// Window that the receiver advertises.
    #[serde(default = "endless")]
    pub window_packets: u32,
    /// Congestion window at the start; `None`: the initial window.
    #[serde(default)]
    pub start_cwnd: Option<u32>,
    /// Engines that cannot play the script, each with the reason.
    #[serde(default)]
    pub skip: BTreeMap<Engine, String>,
    /// Steps, in order of time.
    pub steps: Vec<Step>,
}

/// An end of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The end that sends data; the script sends the ACKs.
    #[default]
    Sender,
    /// The end that acknowledges the data that the script sends.
    Receiver,
}

/// Implementation that plays a script.
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
    /// Checks the settings of the hosts.
    ///
    /// # Errors
    /// The first setting that is invalid, or that no host of a script can have.
    pub fn check_hosts(&self) -> Result<(), ScriptError> {
        if self.hosts.hz != HZ {
            let problem = format!("hosts.hz: {}; scripts have {HZ}; leave it out", self.hosts.hz);
            return Err(ScriptError::Invalid(problem));
        }
        self.hosts.check().map_err(|problem| ScriptError::Invalid(format!("hosts.{problem}")))
    }

    /// Whether the connection has timestamps.
    pub fn has_timestamps(&self) -> bool {
        run::Ends { sender: self.hosts, receiver: self.hosts }.has_timestamps()
    }

    /// Duration of the handshake.
    pub fn handshake(&self) -> Time {
        Time::from_ms(u64::from(self.handshake_ms.max(1)))
    }
}

/// One instant of a script: the stimulus, and the response that must follow at once.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Time since the connection was established.
    pub at_ms: f64,
    /// Packets that the application writes.
    #[serde(default)]
    pub write: Option<u32>,
    /// Cumulative ACK of the peer: it acknowledges every packet below this number.
    #[serde(default)]
    pub ack: Option<u32>,
    /// Packets above `ack` in the SACK option, `"4-6"` or `"4"`.
    #[serde(default)]
    pub sack: Vec<String>,
    /// Duplicate packets in the SACK option (RFC 2883).
    #[serde(default)]
    pub dsack: Option<String>,
    /// Whether the ACK carries the ECN-Echo flag (RFC 3168).
    #[serde(default)]
    pub ece: bool,
    /// Transmission whose timestamp the ACK echoes, for the packet that advanced the ACK (RFC 7323, 4.3).
    #[serde(default)]
    pub echo: Transmission,
    /// Window that the peer advertises from this step on.
    #[serde(default)]
    pub window_packets: Option<u32>,
    /// Packets that must leave, in order, `"4-6"` or `"4"`.
    #[serde(default)]
    pub sends: Vec<String>,
    /// Packets that the peer sends, in order, `"4-6"` or `"4"`.
    #[serde(default)]
    pub data: Vec<String>,
    /// Whether the packets of `data` carry the CE code point; otherwise ECT(0), if ECN was negotiated.
    #[serde(default)]
    pub mark: bool,
    /// Whether the first packet of `data` carries the CWR flag: the peer has reduced its window.
    #[serde(default)]
    pub reduced: bool,
    /// ACKs that must leave, in order: `"4"`, `"4 sack 6-7 9"`, `"4 dsack 2"`; `" ece"` at the end stands for
    /// the ECN-Echo flag.
    #[serde(default)]
    pub acks: Vec<String>,
    /// State of the sender that is expected after the step.
    #[serde(flatten)]
    pub expect: Expect,
}

impl Step {
    /// Whether the step contains a stimulus rather than only a wait.
    pub(super) fn acts(&self) -> bool {
        self.write.is_some() || self.ack.is_some() || !self.data.is_empty()
    }
}

/// Transmission of a packet that was sent more than once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Transmission {
    /// The first transmission.
    First,
    /// The last transmission.
    #[default]
    Last,
}

/// Expected state of the sender after a step; an absent field is not checked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    cwnd: Option<u32>,
    ssthresh: Option<u32>,
    state: Option<State>,
    in_flight: Option<u32>,
    sacked: Option<u32>,
    lost: Option<u32>,
    retransmitted: Option<u32>,
    timeouts: Option<u32>,
    spurious_timeouts: Option<u32>,
    undone_recoveries: Option<u32>,
    probes: Option<u32>,
    rto_ms: Option<u32>,
    cwr: Option<bool>,
}

impl Expect {
    /// Expectation of every field of `found`.
    fn all_of(found: &SenderState) -> Expect {
        Expect {
            cwnd: Some(found.cwnd),
            ssthresh: Some(found.ssthresh),
            state: State::named(found.state),
            in_flight: Some(found.in_flight),
            sacked: Some(found.sacked),
            lost: Some(found.lost),
            retransmitted: Some(found.retransmitted),
            timeouts: Some(found.timeouts),
            spurious_timeouts: Some(found.spurious_timeouts),
            undone_recoveries: Some(found.undone_recoveries),
            probes: Some(found.probes),
            rto_ms: Some(found.rto_ms),
            cwr: None,
        }
    }
}

/// Outcome of a script, with the explanation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "verdict", content = "words")]
pub enum Verdict {
    /// The host behaved as expected.
    Holds,
    /// The host behaved otherwise.
    Fails(String),
    /// The script is invalid or could not be played.
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

/// Reason why a script failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScriptError {
    /// The script is invalid.
    #[error("{0}")]
    Invalid(String),
    /// The host behaved otherwise than expected.
    #[error("step {step} at {at}: {found}")]
    Mismatch {
        /// Index of the step.
        step: usize,
        /// Time of the step.
        at: Time,
        /// Observed behaviour, and the expected one.
        found: String,
    },
    /// The host failed, or its state is inconsistent.
    #[error("{0}")]
    Broken(String),
}
