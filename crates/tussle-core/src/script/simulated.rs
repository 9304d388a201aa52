//! The simulator's sender and receiver as hosts of scripts.

use super::{Host, MSS_BYTES, Role, Script, ScriptError, SenderState, check};
use crate::Time;
use crate::cc::{EcnMode, Entry};
use crate::net::packet::{Flags, Kind, Packet, ReceiveWindow};
use crate::tcp::{FIRST_WINDOW_BYTES, LargestWindow, Outbox, Receiver, ReceiverSetup, Sender, Setup};

/// Plays a script on the simulator.
///
/// # Errors
/// The first step that is invalid, or whose expectation the simulator does not meet.
pub fn play(script: &Script) -> Result<(), ScriptError> {
    script.check_hosts()?;
    match script.role {
        Role::Sender => check(script, &mut SimulatedSender::new(script)?),
        Role::Receiver => check(script, &mut SimulatedReceiver::new(script)?),
    }
}

fn entry(script: &Script) -> Result<&'static Entry, ScriptError> {
    Entry::find(&script.algorithm)
        .ok_or_else(|| ScriptError::Invalid(format!("no algorithm is called {}", script.algorithm)))
}

/// Converts a time of the simulation to a time of the script.
fn since(at: Time, origin: Time) -> Time {
    if at == Time::NEVER { at } else { at.since(origin) }
}

pub(super) struct SimulatedSender {
    sender: Sender,
    out: Outbox,
    origin: Time,
}

impl SimulatedSender {
    /// Time at which the next timer fires.
    pub(super) fn wake(&self) -> Time {
        since(self.sender.wake(), self.origin)
    }

    pub(super) fn new(script: &Script) -> Result<SimulatedSender, ScriptError> {
        let entry = entry(script)?;
        let parameters = entry
            .parameters(&script.parameters)
            .map_err(|problem| ScriptError::Invalid(problem.to_string()))?;
        let setup = Setup {
            flow: 0,
            host: script.hosts,
            sack: script.hosts.sack,
            timestamps: script.has_timestamps(),
            mss_bytes: MSS_BYTES,
            ecn: script.ecn.into(),
            pacing: script.pacing,
            device_rate_bit_per_s: None,
            timestamp_offset_ms: 0,
            has_application: false,
            reads_at_once: false,
            ends: false,
        };
        let mut sender = Sender::new(setup, (entry.build)(&parameters, 0));
        let mut out = Outbox::default();
        sender.open(Time::ZERO, &mut out);
        let mut syn_ack = Packet::new(Kind::SynAck, 0);
        syn_ack.window = ReceiveWindow::of_packets(script.window_packets);
        syn_ack.ts_echo_ms = out.packets[0].ts_val_ms;
        if sender.ecn() > EcnMode::Off {
            syn_ack.flags = Flags::ECE;
        }
        let origin = script.handshake();
        sender.on_packet(&syn_ack, origin, &mut out);
        if u64::from(script.window_packets) * u64::from(MSS_BYTES) > FIRST_WINDOW_BYTES {
            // As on Linux, where the window of a SYN-ACK is not scaled, an ACK reports the window once more.
            let update = Packet {
                window: ReceiveWindow::of_packets(script.window_packets),
                ts_val_ms: syn_ack.ts_val_ms,
                ts_echo_ms: syn_ack.ts_echo_ms,
                ..Packet::new(Kind::Ack, 0)
            };
            sender.on_packet(&update, origin, &mut out);
        }
        out.packets.clear();
        if let Some(cwnd) = script.start_cwnd {
            sender.control.cwnd = cwnd.max(1);
        }
        Ok(SimulatedSender { sender, out, origin })
    }
}

impl Host for SimulatedSender {
    fn precision(&self) -> Time {
        Time::ZERO
    }

    fn wait(&mut self, at: Time) -> Result<Time, ScriptError> {
        let until = self.origin + at;
        while self.sender.wake() <= until {
            let wake = self.sender.wake();
            self.sender.on_timer(wake, &mut self.out);
            if wake < until && !self.out.packets.is_empty() {
                return Ok(wake.since(self.origin));
            }
        }
        self.sender.flow.now = until;
        Ok(at)
    }

    fn write(&mut self, packets: u32) -> Result<(), ScriptError> {
        self.sender.write(packets, &mut self.out);
        Ok(())
    }

    fn receive(&mut self, packet: &Packet) -> Result<(), ScriptError> {
        self.sender.on_packet(packet, self.sender.flow.now, &mut self.out);
        Ok(())
    }

    fn sent(&mut self) -> Result<Vec<Packet>, ScriptError> {
        self.out.events.clear();
        self.sender
            .check()
            .map_err(|found| ScriptError::Broken(format!("the scoreboard does not add up: {found}")))?;
        Ok(std::mem::take(&mut self.out.packets))
    }

    fn sender_state(&mut self) -> Result<SenderState, ScriptError> {
        let (flow, counts) = (&self.sender.flow, &self.sender.counts);
        Ok(SenderState {
            cwnd: self.sender.control.cwnd,
            ssthresh: self.sender.control.ssthresh,
            state: flow.state.name(),
            in_flight: flow.in_flight(),
            sacked: flow.sacked_out,
            lost: flow.lost_out,
            retransmitted: flow.retrans_out,
            timeouts: counts.timeouts,
            spurious_timeouts: counts.spurious_timeouts,
            undone_recoveries: counts.undone_recoveries,
            probes: counts.probes,
            rto_ms: u32::try_from(flow.rtt.rto().ms()).unwrap_or(u32::MAX),
        })
    }
}

pub(super) struct SimulatedReceiver {
    receiver: Receiver,
    out: Outbox,
    origin: Time,
    now: Time,
}

impl SimulatedReceiver {
    /// Time at which the next timer fires.
    pub(super) fn wake(&self) -> Time {
        since(self.receiver.wake(), self.origin)
    }

    pub(super) fn new(script: &Script) -> Result<SimulatedReceiver, ScriptError> {
        let needs = (entry(script)?.build)(
            &entry(script)?
                .parameters(&script.parameters)
                .map_err(|problem| ScriptError::Invalid(problem.to_string()))?,
            0,
        )
        .needs();
        let ecn = EcnMode::from(script.ecn).max(needs.ecn);
        let window_bytes = u64::from(script.window_packets) * u64::from(MSS_BYTES);
        let setup = ReceiverSetup {
            flow: 0,
            host: script.hosts,
            sack: script.hosts.sack,
            timestamps: script.has_timestamps(),
            mss_bytes: MSS_BYTES,
            window: LargestWindow::Bytes(window_bytes),
            ecn,
            timestamp_offset_ms: 0,
            reads_at_once: false,
        };
        let mut receiver = Receiver::new(setup);
        let mut out = Outbox::default();
        let mut syn = Packet::new(Kind::Syn, 0);
        if script.ecn {
            syn.flags = Flags::ECE.with(Flags::CWR);
        }
        receiver.on_packet(&syn, Time::ZERO, &mut out);
        let origin = script.handshake();
        receiver.on_packet(&Packet::new(Kind::Ack, 0), origin, &mut out);
        out.packets.clear();
        Ok(SimulatedReceiver { receiver, out, origin, now: origin })
    }
}

impl Host for SimulatedReceiver {
    fn precision(&self) -> Time {
        Time::ZERO
    }

    fn wait(&mut self, at: Time) -> Result<Time, ScriptError> {
        let until = self.origin + at;
        while self.receiver.wake() <= until {
            self.now = self.receiver.wake();
            self.receiver.on_timer(self.now, &mut self.out);
            if self.now < until && !self.out.packets.is_empty() {
                return Ok(self.now.since(self.origin));
            }
        }
        self.now = until;
        Ok(at)
    }

    fn write(&mut self, _: u32) -> Result<(), ScriptError> {
        Ok(())
    }

    fn receive(&mut self, packet: &Packet) -> Result<(), ScriptError> {
        self.receiver.on_packet(packet, self.now, &mut self.out);
        Ok(())
    }

    fn sent(&mut self) -> Result<Vec<Packet>, ScriptError> {
        self.out.events.clear();
        Ok(std::mem::take(&mut self.out.packets))
    }

    fn sender_state(&mut self) -> Result<SenderState, ScriptError> {
        Ok(SenderState::default())
    }
}
