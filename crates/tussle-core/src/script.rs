//! Packet scripts: what the peer sends to a sender, step by step, and what must come out.
//!
//! A script is data (TOML in `tests/scripts/`), so that the same story can be told to any implementation.
//! It begins with an established connection; times count from there. Whatever the sender sends must be
//! expected by a step of exactly that time, so a step may also just wait for a timer.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

use serde::Deserialize;

use crate::cc::{EcnMode, Entry};
use crate::packet::{Block, Flags, Kind, Packet, Sacks};
use crate::run::{MAX_WINDOW_PACKETS, Switch};
use crate::tcp::{Outbox, Sender, Setup};
use crate::time::Time;

/// Payload of a full packet.
const MSS_BYTES: u32 = 1448;
/// Timer ticks a second.
const HZ: u32 = 250;

/// A story about a sender.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// What it shows, as a claim.
    pub claim: String,
    /// The rule, with its source.
    pub source: String,
    /// The sender's algorithm.
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
    pub ecn: Switch,
    /// Whether the sender paces.
    #[serde(default)]
    pub pacing: Switch,
    /// Window that the receiver offers.
    #[serde(default = "endless")]
    pub window_packets: u32,
    /// The window at the start, if not the initial one.
    #[serde(default)]
    pub start_cwnd: Option<u32>,
    /// ssthresh at the start, if there is one.
    #[serde(default)]
    pub start_ssthresh: Option<u32>,
    /// What happens.
    pub steps: Vec<Step>,
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

/// One instant: what happens, and what must follow at once.
#[derive(Clone, Debug, Default, Deserialize)]
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
    pub ece: Switch,
    /// Which transmission of the packet that moved the ACK its timestamp belongs to (RFC 7323, 4.3: the
    /// first one that the ACK before was waiting for).
    #[serde(default)]
    pub echo: Transmission,
    /// Packets that must leave, in order, `"4-6"` or `"4"`.
    #[serde(default)]
    pub sends: Vec<String>,
    /// What must be true then.
    #[serde(flatten)]
    pub expect: Expect,
}

/// A transmission of a packet that was sent more than once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Transmission {
    /// The first.
    First,
    /// The last.
    #[default]
    Last,
}

/// What must be true after a step; what is absent is not asked.
#[derive(Clone, Debug, Default, Deserialize)]
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
    cwr: Option<Switch>,
}

/// Why a script failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScriptError {
    /// The script itself makes no sense.
    #[error("{0}")]
    Nonsense(String),
    /// The sender did something else.
    #[error("step {step} at {at}: {found}")]
    Mismatch {
        /// Index of the step.
        step: usize,
        /// When.
        at: Time,
        /// What was found, beside what was expected.
        found: String,
    },
}

/// Plays a script.
///
/// # Errors
/// The first step that makes no sense, or where the sender does something else.
pub fn play(script: &Script) -> Result<(), ScriptError> {
    let mut player = Player::new(script)?;
    script.steps.iter().enumerate().try_for_each(|(index, step)| player.step(index, step))
}

struct Player {
    sender: Sender,
    out: Outbox,
    origin: Time,
    window_packets: u32,
    /// Timestamps of the first and the last transmission of each packet, in ms.
    timestamps: HashMap<u32, (u32, u32)>,
    /// What the last ACK asked for, and the timestamp that it echoed.
    last_ack: (u32, u32),
}

impl Player {
    fn new(script: &Script) -> Result<Player, ScriptError> {
        let nonsense = |problem: String| ScriptError::Nonsense(problem);
        let entry = Entry::find(&script.algorithm)
            .ok_or_else(|| nonsense(format!("no algorithm is called {}", script.algorithm)))?;
        let parameters =
            entry.parameters(&script.parameters).map_err(|problem| nonsense(problem.to_string()))?;
        let setup =
            Setup { flow: 0, hz: HZ, mss_bytes: MSS_BYTES, ecn: script.ecn.into(), pacing: script.pacing };
        let mut sender = Sender::new(setup, (entry.build)(&parameters, 0));
        let mut out = Outbox::default();
        sender.open(Time::ZERO, &mut out);
        let mut syn_ack = Packet::new(Kind::SynAck, 0);
        syn_ack.window_packets = script.window_packets;
        syn_ack.ts_echo_ms = out.packets[0].ts_val_ms;
        if sender.ecn() > EcnMode::Off {
            syn_ack.flags = Flags::ECE;
        }
        let origin = Time::from_ms(u64::from(script.handshake_ms.max(1)));
        sender.on_packet(&syn_ack, origin, &mut out);
        let last_ack = (0, out.packets.last().map_or(0, |ack| ack.ts_val_ms));
        out.packets.clear();
        if let Some(cwnd) = script.start_cwnd {
            sender.knobs.cwnd = cwnd.max(1);
        }
        if let Some(ssthresh) = script.start_ssthresh {
            sender.knobs.ssthresh = ssthresh.max(2);
        }
        let window_packets = script.window_packets;
        Ok(Player { sender, out, origin, window_packets, timestamps: HashMap::new(), last_ack })
    }

    fn step(&mut self, index: usize, step: &Step) -> Result<(), ScriptError> {
        let since = ms_to_ns(step.at_ms).ok_or_else(|| {
            ScriptError::Nonsense(format!("step {index}: at_ms is {}; give 0 to 30 days", step.at_ms))
        })?;
        let at = self.origin + Time::from_ns(since);
        let mismatch =
            |found: String| Err(ScriptError::Mismatch { step: index, at: Time::from_ns(since), found });
        if at < self.sender.flow.now {
            return Err(ScriptError::Nonsense(format!("step {index}: at_ms lies before the step before it")));
        }
        while self.sender.wake() <= at {
            let wake = self.sender.wake();
            self.sender.on_timer(wake, &mut self.out);
            if wake < at && !self.out.packets.is_empty() {
                let sent = numbers(&self.out.packets);
                let early = wake.since(self.origin);
                return mismatch(format!("the sender sent {sent} at {early}, which no step expects"));
            }
        }
        self.act(index, step, at)?;
        let sent = std::mem::take(&mut self.out.packets);
        self.out.notices.clear();
        for packet in &sent {
            let stamps = self.timestamps.entry(packet.number).or_insert((packet.ts_val_ms, packet.ts_val_ms));
            stamps.1 = packet.ts_val_ms;
        }
        let expected = expected_numbers(index, step)?;
        let found = numbers(&sent);
        if found != expected {
            return mismatch(format!("the sender sent {found}, expected {expected}"));
        }
        let cwr = sent.iter().any(|packet| packet.flags.has(Flags::CWR));
        if let Err(found) = self.compare(&step.expect, if cwr { Switch::On } else { Switch::Off }) {
            return mismatch(found);
        }
        self.sender.check().or_else(|found| mismatch(format!("the scoreboard does not add up: {found}")))
    }

    fn act(&mut self, index: usize, step: &Step, at: Time) -> Result<(), ScriptError> {
        self.sender.flow.now = at;
        if let Some(packets) = step.write {
            self.sender.write(packets.min(1 << 24), &mut self.out);
        }
        let Some(number) = step.ack else { return Ok(()) };
        let mut ack = Packet::new(Kind::Ack, 0);
        ack.number = number;
        ack.window_packets = self.window_packets;
        if number > self.last_ack.0
            && let Some(&(first, last)) = self.timestamps.get(&self.last_ack.0)
        {
            let echo_ms = if step.echo == Transmission::First { first } else { last };
            self.last_ack = (number, echo_ms);
        }
        ack.ts_echo_ms = self.last_ack.1;
        if step.ece == Switch::On {
            ack.flags = Flags::ECE;
        }
        let mut sacks = Sacks::default();
        for text in step.dsack.iter().chain(&step.sack) {
            sacks.push(range(index, text)?);
        }
        ack.set_sacks(sacks);
        self.sender.on_packet(&ack, at, &mut self.out);
        Ok(())
    }

    fn compare(&self, expect: &Expect, cwr: Switch) -> Result<(), String> {
        let (flow, knobs, counts) = (&self.sender.flow, &self.sender.knobs, &self.sender.counts);
        let rto_ms = u32::try_from(flow.rtt.rto().ms()).unwrap_or(u32::MAX);
        let pairs = [
            ("cwnd", expect.cwnd, knobs.cwnd),
            ("ssthresh", expect.ssthresh, knobs.ssthresh),
            ("in_flight", expect.in_flight, flow.in_flight()),
            ("sacked", expect.sacked, flow.sacked_out),
            ("lost", expect.lost, flow.lost_out),
            ("retransmitted", expect.retransmitted, flow.retrans_out),
            ("timeouts", expect.timeouts, counts.timeouts),
            ("undone", expect.undone, counts.undone_recoveries),
            ("probes", expect.probes, counts.probes),
            ("rto_ms", expect.rto_ms, rto_ms),
        ];
        let mut found = String::new();
        for (name, expected, value) in pairs {
            if let Some(expected) = expected.filter(|&expected| expected != value) {
                let _ = write!(found, "{name} is {value}, expected {expected}; ");
            }
        }
        if let Some(expected) = expect.state.as_deref().filter(|&expected| expected != flow.state.name()) {
            let _ = write!(found, "state is {}, expected {expected}; ", flow.state.name());
        }
        if expect.cwr.is_some_and(|expected| expected != cwr) {
            let _ = write!(found, "cwr is {cwr:?}; ");
        }
        if found.is_empty() { Ok(()) } else { Err(found) }
    }
}

/// What a step expects to be sent.
fn expected_numbers(index: usize, step: &Step) -> Result<String, ScriptError> {
    let mut packets = Vec::new();
    for text in &step.sends {
        let block = range(index, text)?;
        if block.packets() > 1 << 16 {
            return Err(ScriptError::Nonsense(format!("step {index}: {text} is more than 65536 packets")));
        }
        packets
            .extend((block.start..block.end).map(|number| Packet { number, ..Packet::new(Kind::Data, 0) }));
    }
    Ok(numbers(&packets))
}

/// `"4-6"` or `"4"`.
fn range(step: usize, text: &str) -> Result<Block, ScriptError> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let parsed = first.parse::<u32>().ok().zip(last.parse::<u32>().ok());
    match parsed {
        Some((first, last)) if first <= last && last < u32::MAX => Ok(Block { start: first, end: last + 1 }),
        _ => Err(ScriptError::Nonsense(format!(
            "step {step}: {text:?} is no range of packets; write \"4\" or \"4-6\""
        ))),
    }
}

/// Packet numbers in order, runs joined: `0-9 12`.
fn numbers(packets: &[Packet]) -> String {
    let mut runs: Vec<Block> = Vec::new();
    for packet in packets.iter().filter(|packet| packet.kind == Kind::Data) {
        match runs.last_mut() {
            Some(run) if run.end == packet.number => run.end += 1,
            _ => runs.push(Block { start: packet.number, end: packet.number.saturating_add(1) }),
        }
    }
    let texts: Vec<_> = runs
        .iter()
        .map(|run| {
            if run.packets() == 1 { run.start.to_string() } else { format!("{}-{}", run.start, run.end - 1) }
        })
        .collect();
    if texts.is_empty() { "nothing".to_owned() } else { texts.join(" ") }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be 0 to 30 days")]
fn ms_to_ns(ms: f64) -> Option<u64> {
    (0.0..2.6e9).contains(&ms).then(|| (ms * 1e6).round() as u64)
}
