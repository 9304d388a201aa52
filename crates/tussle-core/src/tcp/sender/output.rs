//! Transmission of new packets and retransmission of lost ones.

use super::bursts::Push;
use super::device_queue::Allowance;
use super::{Probe, Sender};
use crate::Time;
use crate::cc::{EcnMode, Recovery};
use crate::net::packet::{Flags, Kind, Packet, timestamp_ms};
use crate::tcp::flow::State;
use crate::tcp::outbox::{Event, Outbox};
use crate::tcp::pacer::Pacing;
use crate::tcp::timer::{Alarm, until_timeout};
use crate::tcp::usage;

/// Longest time between window probes (Linux: `TCP_RTO_MAX`), and how often it may double before.
const MAX_PROBE_WAIT: Time = Time::from_secs(120);
const MAX_PROBE_BACK_OFF: u32 = 10;

impl Sender {
    /// Sends new packets while the window, the receiver and pacing allow.
    #[inline]
    pub(super) fn transmit(&mut self, out: &mut Outbox) {
        if self.offload.is_some() {
            self.transmit_bursts(Push::Pending, out);
        } else {
            self.transmit_at_most(u32::MAX, out);
        }
    }

    /// Sends at most `most` new packets; returns their number.
    #[inline]
    pub(super) fn transmit_at_most(&mut self, most: u32, out: &mut Outbox) -> u32 {
        let has_more = self.flow.nxt < self.application.written;
        let mut sent = 0;
        let mut by_window = false;
        while self.flow.nxt < self.application.written && sent < most {
            if !self.window_allows_next() || self.is_paced_out() {
                break;
            }
            if self.flow.nxt >= self.window_end {
                by_window = true;
                break;
            }
            if self.waits_for_device(self.flow.nxt, Allowance::Whole, out) {
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
            if by_window || self.limits.is_limited() {
                self.limits.on_transmission(by_window, self.flow.now);
            }
            self.after_transmission(sent, self.fills_window());
        }
        self.set_timer_after_transmission(sent);
        if by_window {
            self.await_window();
        }
        sent
    }

    #[inline]
    pub(super) fn set_timer_after_transmission(&mut self, sent: u32) {
        let timer_due = std::mem::take(&mut self.timer_due);
        if sent > 0 {
            self.schedule_probe_from_oldest();
        } else if timer_due {
            self.set_timer();
        }
    }

    /// Sets the timer of a window probe if nothing is in flight and no other is set.
    #[cold]
    pub(super) fn await_window(&mut self) {
        if self.flow.packets_out() == 0 && self.timer.pending().is_none() {
            let rto = self.flow.rtt.rto();
            let wait =
                Time::from_ns(rto.ns() << self.window_probes.min(MAX_PROBE_BACK_OFF)).min(MAX_PROBE_WAIT);
            self.timer.set(Alarm::Window, self.flow.now, wait);
        }
    }

    /// Whether the congestion window allows the next packet. As in Linux it is not strict about the last one, which carries
    /// the FIN.
    #[inline]
    pub(super) fn window_allows_next(&self) -> bool {
        self.flow.in_flight() < self.control.cwnd || self.is_final(self.flow.nxt)
    }

    /// Whether a packet is the last one of a flow that has ended.
    fn is_final(&self, number: u32) -> bool {
        self.application.closed && number + 1 == self.application.written
    }

    /// Whether the packets in flight fill the congestion window.
    pub(super) fn fills_window(&self) -> bool {
        self.flow.in_flight() >= self.control.cwnd
    }

    /// Validates the window after a transmission of `sent` packets, which the congestion window may have limited.
    pub(super) fn after_transmission(&mut self, sent: u32, is_cwnd_limited: bool) {
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
    pub(super) fn on_first_of_flight(&mut self, out: &mut Outbox) {
        if self.timer.pending() == Some(Alarm::Window) {
            self.timer.clear();
            self.window_probes = 0;
        }
        if self.flow.ticked_since(self.flow.last_sent) > self.flow.rtt.rto()
            && self.needs.recovery == Recovery::Prr
            && self.setup.host.slow_start_after_idle
        {
            self.cc.on_cwnd_restart(&self.flow, &mut self.control);
            usage::restart_after_idle(&mut self.flow, &mut self.control);
            out.events.push(Event::Restart);
        }
    }

    pub(super) fn is_paced_out(&mut self) -> bool {
        let Some(pacer) = &mut self.pacer else { return false };
        pacer.is_awaited = pacer.pacing == Pacing::Socket && pacer.next() > self.flow.now;
        pacer.is_awaited
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
        let departure = self.departure();
        let mut packet = self.data_packet(number, departure);
        if self.ecn.negotiated {
            packet.ecn = self.needs.ecn.max(EcnMode::Classic).code_point();
            if std::mem::take(&mut self.ecn.cwr_due) {
                packet.flags = packet.flags.with(Flags::CWR);
            }
        }
        self.before_sending(1, self.payload_bytes(number));
        let sent = self.rate.on_send(&mut self.flow, departure);
        self.board.push(&mut self.flow, sent);
        self.emit(packet, departure, out);
        if self.send_buffer.is_some() {
            self.after_sending_from_buffer();
        }
    }

    pub(super) fn data_packet(&self, number: u32, departure: Time) -> Packet {
        let mut packet = Packet::new(Kind::Data, self.setup.flow);
        packet.number = number;
        packet.size_bytes = self.setup.header_bytes() + self.payload_bytes(number);
        if self.setup.timestamps {
            packet.ts_val_ms = self.timestamp(departure);
            packet.ts_echo_ms = self.echo_ms;
        }
        if self.is_final(number) {
            packet.flags = Flags::FIN;
        }
        if self.pushes.as_ref().is_some_and(|pushes| pushes.has(number)) {
            packet.flags = packet.flags.with(Flags::PSH);
        }
        packet
    }

    /// Prepares the transmission of `packets` packets at once, with `payload_bytes` of payload.
    #[inline]
    pub(super) fn before_sending(&mut self, packets: u32, payload_bytes: u32) {
        if self.flow.in_flight() == 0 {
            self.cc.on_tx_start(&self.flow, &mut self.control);
        }
        self.flow.last_sent = self.flow.now;
        self.counts.sent_packets += u64::from(packets);
        if let Some(pacer) = &mut self.pacer {
            let rate = pacer.bit_per_s(&self.control);
            pacer.on_send(packets, payload_bytes, self.flow.now, rate);
            self.flow.next_send = pacer.next();
        }
    }

    /// Retransmits lost packets, oldest first, while the window and pacing allow.
    pub(super) fn retransmit_lost(&mut self, out: &mut Outbox) {
        let mut retransmitted_oldest = false;
        while self.flow.in_flight() < self.control.cwnd && !self.is_paced_out() {
            let Some(number) = self.board.next_to_retransmit(&self.flow) else { break };
            if self.waits_for_device(number, Allowance::Double, out) || self.is_in_device(number) {
                break;
            }
            let packets = if self.offload.is_some() {
                self.retransmit_burst(number, out)
            } else {
                self.retransmit(number, out);
                1
            };
            if self.in_reduction() {
                self.prr.on_sent(packets);
            }
            retransmitted_oldest |= number == self.flow.una;
        }
        let keeps_timer = self.timer.pending() == Some(Alarm::Reordering) || self.is_timer_kept();
        if retransmitted_oldest && !keeps_timer {
            self.timer.set(Alarm::Retransmit, self.flow.now, self.flow.rtt.rto());
        }
    }

    /// Retransmits packet `number` and counts it in the network.
    pub(super) fn retransmit(&mut self, number: u32, out: &mut Outbox) {
        let departure = self.retransmit_uncounted(number, out);
        self.count_retransmission(number, departure);
    }

    pub(super) fn count_retransmission(&mut self, number: u32, departure: Time) {
        self.board.count_retransmission(number, &mut self.flow);
        self.undo.on_retransmission(timestamp_ms(departure));
    }

    /// Retransmits packet `number`; returns its departure time.
    fn retransmit_uncounted(&mut self, number: u32, out: &mut Outbox) -> Time {
        let departure = self.departure();
        self.before_sending(1, self.payload_bytes(number));
        self.retransmit_begun(number, Flags::NONE, departure, out);
        if self.offload.is_some() {
            self.board.begin_burst(number, &self.flow);
            self.board.begin_burst(number + 1, &self.flow);
        }
        departure
    }

    /// Retransmits a packet with `flags` after [`Sender::before_sending`].
    #[inline]
    pub(super) fn retransmit_begun(&mut self, number: u32, flags: Flags, departure: Time, out: &mut Outbox) {
        let mut packet = self.data_packet(number, departure);
        packet.flags = packet.flags.with(flags);
        // Otherwise not ECN-capable, so that a mark cannot hide a second loss (RFC 3168, 6.1.5).
        if self.ecn.negotiated && self.needs.ecn >= EcnMode::PerPacket {
            packet.ecn = self.needs.ecn.code_point();
        }
        self.counts.retransmitted_packets += 1;
        let sent = self.rate.on_send(&mut self.flow, departure);
        self.board.on_retransmission(number, sent, &self.flow);
        self.emit(packet, departure, out);
    }

    /// Sends a tail loss probe when its timer fires: a new packet, or the last one again, to elicit an ACK.
    /// [RFC 8985, 7.3](https://www.rfc-editor.org/rfc/rfc8985#section-7.3)
    pub(super) fn send_probe(&mut self, out: &mut Outbox) {
        if self.flow.packets_out() == 0 {
            return self.timer.clear();
        }
        let has_new = self.flow.nxt < self.application.written && self.flow.nxt < self.window_end;
        let is_held = if has_new {
            self.waits_for_device(self.flow.nxt, Allowance::Whole, out)
        } else {
            self.is_in_device(self.flow.nxt - 1)
        };
        if self.probe.is_none() && !is_held {
            if !has_new {
                self.retransmit_uncounted(self.flow.nxt - 1, out);
            } else if self.offload.is_none() {
                self.send_new(out);
                self.after_transmission(1, self.fills_window());
            } else if self.transmit_bursts(Push::Probe, out) == 0 {
                // Pacing does not allow a probe now.
                return self.timer.rearm(&self.flow, &self.board);
            }
            self.probe = Some(Probe { high: self.flow.nxt, is_retransmission: !has_new });
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
