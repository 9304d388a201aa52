//! The peer of a script: opens the connection with the kernel, then sends the script's packets and receives
//! the kernel's.

use std::os::fd::AsFd;

use anyhow::Context;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use tussle_core::Time;
use tussle_core::net::packet::{Flags, Kind, Packet, ReceiveWindow, timestamp_ms};
use tussle_core::script::Script;

use super::codec::{HostPacket, Origins};
use crate::execute::clock::Clock;
use crate::execute::tun::Tun;

/// The peer's end of a connection.
#[derive(Debug)]
pub(super) struct Peer {
    tun: Tun,
    origins: Origins,
    timer: TimerFd,
    /// Clock that starts at the SYN.
    clock: Clock,
    /// Timestamp of the host at the SYN, without its random offset.
    opened_ms: u32,
    /// Round-trip time.
    rtt: Time,
    /// Time since the SYN.
    now: Time,
    /// Timestamps that the host has sent, with their times, in ascending order.
    timestamps_ms: Vec<(Time, u32)>,
}

impl Peer {
    pub(super) fn new(script: &Script, tun: Tun, clock: Clock) -> anyhow::Result<Peer> {
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_NONBLOCK).context("a timer")?;
        Ok(Peer {
            tun,
            origins: Origins { timestamps: script.has_timestamps(), ..Origins::new(script.window_packets) },
            timer,
            clock,
            opened_ms: u32::try_from(clock.monotonic(0).as_millis() % (1 << 32)).expect("32 bits"),
            rtt: script.handshake(),
            now: Time::ZERO,
            timestamps_ms: Vec::new(),
        })
    }

    /// Answers the SYN that the host has just sent.
    pub(super) fn answer(&mut self, script: &Script) -> anyhow::Result<()> {
        let syn = self.opening(Kind::Syn)?;
        self.wait(script.handshake())?;
        let mut syn_ack = Packet::new(Kind::SynAck, 0);
        syn_ack.window = ReceiveWindow::of_packets(script.window_packets);
        syn_ack.ts_val_ms = timestamp_ms(script.handshake());
        syn_ack.ts_echo_ms = syn.ts_val_ms;
        // The peer accepts ECN if it is requested.
        if syn.flags.has(Flags::ECE.with(Flags::CWR)) {
            syn_ack.flags = Flags::ECE;
        }
        self.send(&syn_ack)?;
        let ack = self.opening(Kind::Ack)?;
        if self.origins.shift > 0 {
            // The window of a SYN-ACK is not scaled; that of this ACK is.
            let mut update = Packet::new(Kind::Ack, 0);
            update.window = ReceiveWindow::of_packets(script.window_packets);
            update.ts_val_ms = syn_ack.ts_val_ms;
            update.ts_echo_ms = ack.ts_val_ms;
            self.send(&update)?;
        }
        Ok(())
    }

    /// Opens a connection to the host.
    pub(super) fn open(&mut self, script: &Script) -> anyhow::Result<()> {
        self.wait(Time::ZERO)?;
        let mut syn = Packet::new(Kind::Syn, 0);
        syn.ts_val_ms = timestamp_ms(Time::ZERO);
        syn.window = ReceiveWindow::of_packets(script.window_packets);
        if script.ecn {
            syn.flags = Flags::ECE.with(Flags::CWR);
        }
        self.send(&syn)?;
        self.opening(Kind::SynAck)?;
        self.wait(script.handshake())?;
        let mut ack = Packet::new(Kind::Ack, 0);
        ack.window = ReceiveWindow::of_packets(script.window_packets);
        ack.ts_val_ms = timestamp_ms(script.handshake());
        ack.ts_echo_ms = self.echo_ms();
        self.send(&ack)
    }

    /// The packet of the handshake that the host must have sent.
    fn opening(&mut self, kind: Kind) -> anyhow::Result<Packet> {
        let packets = self.receive()?;
        let found = packets.iter().find(|packets| packets.packet.kind == kind);
        let found = found.with_context(|| format!("the kernel sent no {kind:?} but {packets:?}"))?;
        if kind != Kind::Ack {
            self.origins.host = found.sequence.wrapping_add(1);
        }
        Ok(found.packet)
    }

    /// Sends a packet to the host, now.
    pub(super) fn send(&mut self, packet: &Packet) -> anyhow::Result<()> {
        let mut packet = *packet;
        // The peer's timestamp clock is the host's, as in the simulator: some algorithms compare the two.
        packet.ts_val_ms =
            packet.ts_val_ms.wrapping_add(self.opened_ms.wrapping_sub(timestamp_ms(Time::ZERO)));
        if packet.kind == Kind::Data {
            packet.ts_echo_ms = self.echo_ms();
        }
        let bytes = self.origins.encode(&packet)?;
        self.tun.write(&bytes).context("handing the kernel a packet")
    }

    /// Receives the packets that the host has sent.
    pub(super) fn receive(&mut self) -> anyhow::Result<Vec<HostPacket>> {
        let mut all = Vec::new();
        while let Some(bytes) = self.tun.read().context("reading what the kernel sent")? {
            if let Some(packets) = self.origins.decode(bytes)? {
                self.timestamps_ms.push((self.now, packets.packet.ts_val_ms));
                all.push(packets);
            }
        }
        Ok(all)
    }

    /// Waits until `until` since the SYN, or until the host sends a packet, and returns that time.
    pub(super) fn wait(&mut self, until: Time) -> anyhow::Result<Time> {
        let at = TimeSpec::from_duration(self.clock.monotonic(until.ns()));
        self.timer.set(Expiration::OneShot(at), TimerSetTimeFlags::TFD_TIMER_ABSTIME)?;
        let mut both = [
            PollFd::new(self.tun.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.timer.as_fd(), PollFlags::POLLIN),
        ];
        poll(&mut both, PollTimeout::NONE).context("waiting")?;
        let is_due = both[1].any().unwrap_or_default();
        self.now = if is_due { until } else { Time::from_ns(self.clock.now_ns()?).min(until) };
        Ok(self.now)
    }

    /// Timestamp that the peer echoes in a packet that reaches the host now: one round trip old, so that the
    /// host measures the RTT.
    fn echo_ms(&self) -> u32 {
        let known = self.timestamps_ms.partition_point(|(at, _)| *at + self.rtt <= self.now);
        self.timestamps_ms[..known].last().map_or(0, |(_, ms)| *ms)
    }
}
