//! The peer of a host that plays a script, and the comparison of the host's behaviour with the script.

use std::collections::HashMap;

use super::words;
use super::{Expect, Host, MAX_MS, MSS_BYTES, Role, Script, ScriptError, SenderState, Step, Transmission};
use crate::Time;
use crate::net::packet::{Ecn, Flags, Kind, Packet, ReceiveWindow, Sacks, header_bytes, timestamp_ms};
use crate::tcp::State;

/// Largest number of packets that an application writes at once.
const MAX_WRITTEN: u32 = 1 << 24;

/// Plays a script to a connected host and checks what the host sends.
///
/// # Errors
/// The first step that is invalid, or whose expectation the host does not meet.
pub fn check(script: &Script, host: &mut impl Host) -> Result<(), ScriptError> {
    let times = times(script)?;
    let mut player = Player::new(script, host);
    let mut steps = script.steps.iter().zip(times).enumerate();
    steps.try_for_each(|(index, (step, at))| player.step(index, step, at))
}

/// Checks every step before the first is played, and returns their times.
fn times(script: &Script) -> Result<Vec<Time>, ScriptError> {
    let mut times = Vec::new();
    for (index, step) in script.steps.iter().enumerate() {
        let invalid = |problem: String| ScriptError::Invalid(format!("step {index}: {problem}"));
        if let Some(problem) = problem(script.role, step) {
            return Err(invalid(problem));
        }
        for ranges in [&step.sends, &step.data] {
            words::each(index, ranges)?;
        }
        for text in step.dsack.iter().chain(&step.sack) {
            words::range(index, text)?;
        }
        step.acks.iter().try_for_each(|text| words::check_ack(index, text))?;
        let at =
            time(step.at_ms).ok_or_else(|| invalid(format!("at_ms is {}; give 0 to 30 days", step.at_ms)))?;
        if times.last().is_some_and(|&last| at < last) {
            return Err(invalid("at_ms is earlier than the previous step".to_owned()));
        }
        times.push(at);
    }
    Ok(times)
}

/// Reason why a step does not fit the role of its script.
fn problem(role: Role, step: &Step) -> Option<String> {
    let sender = step.write.is_some()
        || step.ack.is_some()
        || !step.sends.is_empty()
        || step.expect != Expect::default();
    let receiver = !step.data.is_empty() || !step.acks.is_empty();
    match role {
        Role::Sender if receiver => Some("`data` and `acks` need role = \"receiver\"".to_owned()),
        Role::Receiver if sender => {
            Some("with role = \"receiver\" a step has `data` and `acks` only".to_owned())
        }
        _ if step.ack.is_none() && (step.dsack.is_some() || !step.sack.is_empty()) => {
            Some("`sack` and `dsack` need an `ack`".to_owned())
        }
        _ => None,
    }
}

/// The peer of a host.
pub(super) struct Player<'a, H> {
    pub(super) host: &'a mut H,
    script: &'a Script,
    now: Time,
    window_packets: u32,
    /// Timestamps of the first and the last transmission of each packet, in ms.
    pub(super) timestamps: HashMap<u32, (u32, u32)>,
    /// Number and echoed timestamp, in ms, of the last ACK.
    pub(super) last_ack: (u32, u32),
}

impl<'a, H: Host> Player<'a, H> {
    pub(super) fn new(script: &'a Script, host: &'a mut H) -> Player<'a, H> {
        Player {
            host,
            script,
            now: Time::ZERO,
            window_packets: script.window_packets,
            timestamps: HashMap::new(),
            last_ack: (0, timestamp_ms(script.handshake())),
        }
    }

    /// Performs the step with that index and returns what the host sends, without checking it.
    pub(super) fn perform(
        &mut self,
        index: usize,
        step: &Step,
        at: Time,
    ) -> Result<Vec<Packet>, ScriptError> {
        self.now = self.host.wait(at)?;
        self.act(index, step)?;
        let sent = self.host.sent()?;
        self.remember(&sent);
        Ok(sent)
    }

    fn step(&mut self, index: usize, step: &Step, at: Time) -> Result<(), ScriptError> {
        let mismatch = |found: String| Err(ScriptError::Mismatch { step: index, at, found });
        let who = self.who();
        let precision = self.host.precision();
        let until = if step.acts() { at } else { at + precision };
        let mut sent = Vec::new();
        while self.now < until {
            self.now = self.host.wait(until)?;
            sent.extend(self.host.sent()?);
            if self.now + precision < at && !sent.is_empty() {
                let (sent, early) = (self.words(&sent), self.now);
                return mismatch(format!("{who} sent {sent} at {early}, which no step expects"));
            }
        }
        self.act(index, step)?;
        sent.extend(self.host.sent()?);
        self.remember(&sent);
        let (found, expected) = (self.words(&sent), self.expected(index, step)?);
        if found != expected {
            return mismatch(format!("{who} sent {found}, expected {expected}"));
        }
        if step.expect == Expect::default() {
            return Ok(());
        }
        let cwr = sent.iter().any(|packet| packet.flags.has(Flags::CWR));
        match differences(&step.expect, &self.host.sender_state()?, cwr) {
            found if found.is_empty() => Ok(()),
            found => mismatch(found.join("; ")),
        }
    }

    fn who(&self) -> &'static str {
        match self.script.role {
            Role::Sender => "the sender",
            Role::Receiver => "the receiver",
        }
    }

    fn words(&self, sent: &[Packet]) -> String {
        match self.script.role {
            Role::Sender => words::data(sent),
            Role::Receiver => words::acks(sent),
        }
    }

    fn expected(&self, index: usize, step: &Step) -> Result<String, ScriptError> {
        match self.script.role {
            Role::Sender => Ok(words::numbers(words::each(index, &step.sends)?)),
            Role::Receiver if step.acks.is_empty() => Ok("nothing".to_owned()),
            Role::Receiver => Ok(step.acks.join(", ")),
        }
    }

    /// Records the timestamps of the host's data packets, which ACKs echo.
    fn remember(&mut self, sent: &[Packet]) {
        for packet in sent.iter().filter(|packet| packet.kind == Kind::Data) {
            let stamps = self.timestamps.entry(packet.number).or_insert((packet.ts_val_ms, packet.ts_val_ms));
            stamps.1 = packet.ts_val_ms;
        }
    }

    fn act(&mut self, index: usize, step: &Step) -> Result<(), ScriptError> {
        if let Some(packets) = step.write {
            self.host.write(packets.min(MAX_WRITTEN))?;
        }
        self.window_packets = step.window_packets.unwrap_or(self.window_packets);
        if let Some(number) = step.ack {
            let ack = self.ack(index, step, number)?;
            self.host.receive(&ack)?;
        }
        for (place, number) in words::each(index, &step.data)?.into_iter().enumerate() {
            let mut packet = self.packet(step, number);
            if place == 0 && step.reduced {
                packet.flags = Flags::CWR;
            }
            self.host.receive(&packet)?;
        }
        Ok(())
    }

    /// Current reading of the peer's timestamp clock.
    fn timestamp_ms(&self) -> u32 {
        timestamp_ms(self.script.handshake() + self.now)
    }

    fn ack(&mut self, index: usize, step: &Step, number: u32) -> Result<Packet, ScriptError> {
        let mut ack = Packet::new(Kind::Ack, 0);
        ack.number = number;
        ack.window = ReceiveWindow::of_packets(self.window_packets);
        if number > self.last_ack.0
            && let Some(&(first, last)) = self.timestamps.get(&self.last_ack.0)
        {
            let echo_ms = if step.echo == Transmission::First { first } else { last };
            self.last_ack = (number, echo_ms);
        }
        if self.script.has_timestamps() {
            ack.ts_val_ms = self.timestamp_ms();
            ack.ts_echo_ms = self.last_ack.1;
        } else {
            ack.omit_timestamps();
        }
        if step.ece {
            ack.flags = Flags::ECE;
        }
        let mut sacks = Sacks::default();
        for text in step.dsack.iter().chain(&step.sack) {
            sacks.push(words::range(index, text)?, Sacks::most(self.script.has_timestamps()));
        }
        ack.set_sacks(sacks);
        Ok(ack)
    }

    fn packet(&self, step: &Step, number: u32) -> Packet {
        let mut packet = Packet::new(Kind::Data, 0);
        packet.number = number;
        packet.size_bytes = header_bytes(self.script.has_timestamps()) + MSS_BYTES;
        if self.script.has_timestamps() {
            packet.ts_val_ms = self.timestamp_ms();
        }
        packet.ecn = match step.mark {
            _ if !self.script.ecn => Ecn::NotEct,
            true => Ecn::Ce,
            false => Ecn::Ect0,
        };
        packet
    }
}

/// Differences between the expected and the observed state of a sender, in words.
fn differences(expect: &Expect, found: &SenderState, cwr: bool) -> Vec<String> {
    let pairs = [
        ("cwnd", expect.cwnd, found.cwnd),
        ("ssthresh", expect.ssthresh, found.ssthresh),
        ("in_flight", expect.in_flight, found.in_flight),
        ("sacked", expect.sacked, found.sacked),
        ("lost", expect.lost, found.lost),
        ("retransmitted", expect.retransmitted, found.retransmitted),
        ("timeouts", expect.timeouts, found.timeouts),
        ("spurious_timeouts", expect.spurious_timeouts, found.spurious_timeouts),
        ("undone_recoveries", expect.undone_recoveries, found.undone_recoveries),
        ("probes", expect.probes, found.probes),
        ("rto_ms", expect.rto_ms, found.rto_ms),
    ];
    let mut differences = Vec::new();
    for (name, expected, value) in pairs {
        if let Some(expected) = expected.filter(|&expected| expected != value) {
            differences.push(format!("{name} is {value}, expected {expected}"));
        }
    }
    if let Some(expected) = expect.state.map(State::name).filter(|&expected| expected != found.state) {
        differences.push(format!("state is {}, expected {expected}", found.state));
    }
    if let Some(expected) = expect.cwr.filter(|&expected| expected != cwr) {
        let name = |cwr| if cwr { "on" } else { "off" };
        differences.push(format!("cwr is {}, expected {}", name(cwr), name(expected)));
    }
    differences
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be 0 to 30 days")]
fn time(ms: f64) -> Option<Time> {
    (0.0..=MAX_MS).contains(&ms).then(|| Time::from_ns((ms * 1e6).round() as u64))
}
