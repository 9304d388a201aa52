//! Transmission of new packets and retransmission of lost ones.

use super::flow::State;
use super::sender::{Probe, Sender};
use super::timer::{Alarm, until_timeout};
use super::usage;
use crate::Time;
use crate::cc::{EcnMode, Recovery};
use crate::net::packet::{Flags, HEADER_BYTES, Kind, Packet, timestamp_ms};

/// Packets to send and events to record; the caller empties it.
#[derive(Debug, Default)]
pub struct Outbox {
    /// Packets, in the order in which they leave.
    pub packets: Vec<Packet>,
    /// Rows for the `events` table.
    pub events: Vec<Event>,
    /// Index into the table of hops at which packets start.
    pub hop: u32,
}

impl Outbox {
    /// Appends a packet.
    #[inline]
    pub(crate) fn send(&mut self, packet: Packet) {
        self.packets.push(Packet { hop: self.hop, ..packet });
    }
}

/// An event of the sender, recorded in the `events` table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Fast recovery began.
    Recovery,
    /// Recovery, or the repair after a timeout, ended.
    Recovered,
    /// The retransmission timer expired.
    Timeout,
    /// A timeout or recovery was spurious and was undone.
    Undo,
    /// The window is reduced without a loss, for an ECN mark or at the algorithm's request.
    Reduction,
    /// The window was reduced because the connection had been idle.
    Restart,
    /// A tail loss probe was sent.
    Probe,
}

impl Event {
    /// Name in the `events` table.
    pub const fn name(self) -> &'static str {
        match self {
            Event::Recovery => "recovery",
            Event::Recovered => "recovered",
            Event::Timeout => "timeout",
            Event::Undo => "undo",
            Event::Reduction => "reduction",
            Event::Restart => "restart",
            Event::Probe => "probe",
        }
    }
}

impl Sender {
    /// Sends new packets while the window, the receiver and pacing allow.
    #[inline]
    pub(super) fn transmit(&mut self, out: &mut Outbox) {
        self.transmit_at_most(u32::MAX, out);
    }

    /// Sends at most `most` new packets; returns their number.
    #[inline]
    pub(super) fn transmit_at_most(&mut self, most: u32, out: &mut Outbox) -> u32 {
        let has_more = self.flow.nxt < self.application.written;
        let mut sent = 0;
        while self.flow.nxt < self.application.written && sent < most {
            if self.flow.in_flight() >= self.control.cwnd
                || self.flow.nxt >= self.window_end
                || self.is_paced_out()
            {
                break;
            }
            if self.flow.packets_out() == 0 {
                self.on_first_of_flight(out);
            }
            self.send_new(out);
            sent += 1;
        }
        // Only a sender with data to send validates its window.
        if has_more {
            self.after_transmission(sent);
        }
        let timer_due = std::mem::take(&mut self.timer_due);
        if sent > 0 {
            self.schedule_probe_from_oldest();
        } else if timer_due {
            self.set_timer();
        }
        sent
    }

    fn after_transmission(&mut self, sent: u32) {
        let is_cwnd_limited = self.flow.in_flight() >= self.control.cwnd;
        if sent > 0 || is_cwnd_limited {
            let is_unused = usage::validate(&mut self.flow, &self.control, is_cwnd_limited);
            // An algorithm with a window from a model accounts for unused window itself.
            if is_unused && self.needs.recovery == Recovery::Prr && self.setup.host.slow_start_after_idle {
                usage::decay(&mut self.flow, &mut self.control);
            }
        }
        if sent > 0 && self.in_reduction() {
            self.prr.on_sent(sent);
        }
    }

    /// Restarts after idle time: all data was acknowledged, and the window may be stale.
    fn on_first_of_flight(&mut self, out: &mut Outbox) {
        if self.flow.ticked_since(self.flow.last_sent) > self.flow.rtt.rto()
            && self.needs.recovery == Recovery::Prr
            && self.setup.host.slow_start_after_idle
        {
            self.cc.on_cwnd_restart(&self.flow, &mut self.control);
            usage::restart_after_idle(&mut self.flow, &mut self.control);
            out.events.push(Event::Restart);
        }
    }

    fn is_paced_out(&self) -> bool {
        self.pacer.as_ref().is_some_and(|pacer| pacer.next() > self.flow.now)
    }

    fn schedule_probe_from_oldest(&mut self) {
        let timeout = until_timeout(&self.flow, &self.board);
        if !self.schedule_probe(timeout) && matches!(self.timer.pending(), None | Some(Alarm::Probe)) {
            self.timer.rearm(&self.flow, &self.board);
        }
    }

    #[inline]
    fn send_new(&mut self, out: &mut Outbox) {
        let number = self.flow.nxt;
        let mut packet = self.data_packet(number);
        if self.ecn.negotiated {
            packet.ecn = self.needs.ecn.max(EcnMode::Classic).code_point();
            if std::mem::take(&mut self.ecn.cwr_due) {
                packet.flags = packet.flags.with(Flags::CWR);
            }
        }
        self.before_sending(packet.size_bytes);
        let sent = self.rate.on_send(&mut self.flow);
        self.board.push(&mut self.flow, sent);
        out.send(packet);
    }

    fn data_packet(&self, number: u32) -> Packet {
        let mut packet = Packet::new(Kind::Data, self.setup.flow);
        packet.number = number;
        packet.size_bytes = HEADER_BYTES + self.payload_bytes(number);
        packet.ts_val_ms = self.timestamp(self.flow.now);
        if self.application.closed && number + 1 == self.application.written {
            packet.flags = Flags::FIN;
        }
        packet
    }

    #[inline]
    fn before_sending(&mut self, size_bytes: u32) {
        if self.flow.in_flight() == 0 {
            self.cc.on_tx_start(&self.flow, &mut self.control);
        }
        self.flow.last_sent = self.flow.now;
        self.counts.sent_packets += 1;
        if let Some(pacer) = &mut self.pacer {
            let rate = pacer.bit_per_s(&self.control);
            pacer.on_send(size_bytes - HEADER_BYTES, self.flow.now, rate);
            self.flow.next_send = pacer.next();
        }
    }

    /// Retransmits lost packets, oldest first, while the window and pacing allow.
    pub(super) fn retransmit_lost(&mut self, out: &mut Outbox) {
        let mut retransmitted_oldest = false;
        while self.flow.in_flight() < self.control.cwnd && !self.is_paced_out() {
            let Some(number) = self.board.next_to_retransmit(&self.flow) else { break };
            self.retransmit(number, out);
            if self.in_reduction() {
                self.prr.on_sent(1);
            }
            retransmitted_oldest |= number == self.flow.una;
        }
        if retransmitted_oldest && self.timer.pending() != Some(Alarm::Reordering) {
            self.timer.set(Alarm::Retransmit, self.flow.now, self.flow.rtt.rto());
        }
    }

    /// Retransmits packet `number` and counts it in the network.
    pub(super) fn retransmit(&mut self, number: u32, out: &mut Outbox) {
        self.retransmit_uncounted(number, out);
        self.board.count_retransmission(number, &mut self.flow);
        self.undo.on_retransmission(timestamp_ms(self.flow.now));
    }

    fn retransmit_uncounted(&mut self, number: u32, out: &mut Outbox) {
        let mut packet = self.data_packet(number);
        // Otherwise not ECN-capable, so that a mark cannot hide a second loss (RFC 3168, 6.1.5).
        if self.ecn.negotiated && self.needs.ecn >= EcnMode::PerPacket {
            packet.ecn = self.needs.ecn.code_point();
        }
        self.before_sending(packet.size_bytes);
        self.counts.retransmitted_packets += 1;
        let sent = self.rate.on_send(&mut self.flow);
        self.board.on_retransmission(number, sent);
        out.send(packet);
    }

    /// Sends a tail loss probe when its timer fires: a new packet, or the last one again, to elicit an ACK.
    /// [RFC 8985, 7.3](https://www.rfc-editor.org/rfc/rfc8985#section-7.3)
    pub(super) fn send_probe(&mut self, out: &mut Outbox) {
        if self.flow.packets_out() == 0 {
            return self.timer.clear();
        }
        if self.probe.is_none() {
            let is_retransmission =
                if self.flow.nxt < self.application.written && self.flow.nxt < self.window_end {
                    self.send_new(out);
                    self.after_transmission(1);
                    false
                } else {
                    self.retransmit_uncounted(self.flow.nxt - 1, out);
                    true
                };
            self.probe = Some(Probe { high: self.flow.nxt, is_retransmission });
            self.counts.probes += 1;
            out.events.push(Event::Probe);
            // The timeout counts from the probe.
            self.timer.clear();
        }
        self.timer.rearm(&self.flow, &self.board);
    }

    pub(super) fn in_reduction(&self) -> bool {
        matches!(self.flow.state, State::Cwr | State::Recovery)
    }

    /// Sets the timer after progress: a probe if one is called for, otherwise the retransmission timeout from
    /// now.
    pub(super) fn set_timer(&mut self) {
        let timeout: Time = self.flow.rtt.rto();
        if !self.schedule_probe(timeout) {
            self.timer.rearm(&self.flow, &self.board);
        }
    }

    /// Sets the timer for a tail loss probe if one is called for, and returns whether it did.
    fn schedule_probe(&mut self, timeout: Time) -> bool {
        self.probes && self.timer.schedule_probe(&self.flow, timeout)
    }
}
