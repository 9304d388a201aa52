//! ACK processing at the sender: scoreboard, RTT estimation, loss recovery and the call of the algorithm.

use super::ack_info::{AckInfo, NextTransmission};
use super::{Probe, Sender};
use crate::Time;
use crate::cc::Recovery;
use crate::net::packet::{Block, Flags, Packet, timestamp_ms};
use crate::run::Growth;
use crate::tcp::flow::{Ack, Cause, State};
use crate::tcp::outbox::{Event, Outbox};
use crate::tcp::prr::Progress;
use crate::tcp::rack::age_us;
use crate::tcp::scoreboard::Sent;

impl Sender {
    #[inline]
    pub(super) fn on_ack(&mut self, packet: &Packet, out: &mut Outbox) {
        // RFC 9293, 3.10.7.4: an ACK of data that was never sent is dropped.
        if packet.number > self.flow.nxt {
            return;
        }
        let prior_una = self.flow.una;
        let mut info = AckInfo {
            prior_una,
            prior_highest: self.board.highest_sacked_end(&self.flow),
            echo_ms: self.echoed_ms(packet),
            ..AckInfo::default()
        };
        let prior_delivered = self.flow.delivered;
        let prior_lost = self.flow.lost;
        let prior_in_flight = self.flow.in_flight();
        let had_packets_out = self.flow.packets_out() > 0;
        let slow_path = self.is_slow_path(packet);
        if packet.number >= prior_una {
            info.window_advanced = self.update_receive_window(packet);
            if self.ecn.negotiated && packet.flags.has(Flags::ECE) {
                info.ece = true;
            }
        }
        if !packet.sacks.is_empty() {
            self.process_sacks(packet, &mut info);
        }
        if packet.number < prior_una {
            return self.on_old_ack(&mut info, out);
        }
        if !had_packets_out {
            if info.dsack {
                let next = self.process_dubious_ack(&mut info, out);
                debug_assert!(next != NextTransmission::New, "nothing is outstanding");
            }
            return self.process_probe_response(packet.number, &info, out);
        }
        if packet.number > prior_una {
            self.unanswered_timeouts = 0;
            self.process_cumulative_ack(packet.number, &mut info);
        }
        if info.ece {
            self.flow.delivered_marked += self.flow.delivered - prior_delivered;
        }
        let rtt_us = self.measure_rtt(&mut info);
        self.note_reordering(&info);
        let mut ack = Ack {
            acked: info.acked,
            sacked: info.sacked,
            rtt_us,
            in_flight: self.rate.prior_delivered().map_or(0, |prior| self.flow.delivered - prior),
            ece: info.ece,
            slow_path,
            ts_val_ms: packet.ts_val_ms,
            ts_echo_ms: self.echoed_ms(packet),
            ..Ack::default()
        };
        self.cc.on_pkts_acked(&ack, &self.flow, &mut self.control);
        self.rack.adjust_window(self.rate.prior_delivered(), &self.flow);
        self.process_probe_response(packet.number, &info, out);
        let next = if info.is_dubious(self.flow.state) {
            self.process_dubious_ack(&mut info, out)
        } else {
            NextTransmission::Usual
        };
        if info.set_timer {
            // The transmission of new packets, which usually follows, sets the timer of a probe anyway.
            let sets_probe = self.probes && matches!(self.flow.state, State::Open | State::Cwr);
            if next == NextTransmission::Usual && sets_probe {
                self.timer_due = true;
            } else {
                self.set_timer();
            }
        }
        ack.delivered = self.flow.delivered - prior_delivered;
        ack.lost = self.flow.lost - prior_lost;
        ack.rate = self.rate.sample(ack.delivered, &mut self.flow);
        ack.rate.prior_in_flight = prior_in_flight;
        self.control(&ack, &info, out);
        self.transmit_next(next, out);
    }

    /// Processes an ACK that a later one has overtaken: only its SACKs count.
    #[cold]
    fn on_old_ack(&mut self, info: &mut AckInfo, out: &mut Outbox) {
        if info.sacked > 0 || info.dsack {
            let next = self.process_dubious_ack(info, out);
            self.transmit_next(next, out);
        }
    }

    /// Processes the SACK option. [RFC 6675, 4](https://www.rfc-editor.org/rfc/rfc6675#section-4)
    // Not inlined, so that the usual ACK does not pay for it.
    #[inline(never)]
    fn process_sacks(&mut self, packet: &Packet, info: &mut AckInfo) {
        let duplicate = duplicate_block(packet.number, packet.sacks.as_slice());
        if let Some(block) = duplicate {
            self.process_dsack(block, info);
        }
        let mut sacks = packet.sacks;
        sacks.sort();
        let mut new = std::mem::take(&mut self.newly_sacked);
        for &block in sacks.as_slice() {
            // Invalid blocks: above the data sent, empty, or acknowledged already, as a duplicate may be;
            // also the very next packet, which only a faulty receiver reports.
            let acknowledged = packet.number.max(self.flow.una);
            if block.end <= self.flow.nxt && block.start < block.end && block.start > acknowledged {
                self.board.sack_range(block, &mut new);
            }
        }
        for &number in &new {
            self.process_newly_sacked(number, info);
        }
        if let Some(block) = duplicate.filter(|_| info.dsack && !new.is_empty())
            && sacks.as_slice().iter().any(|other| other.contains(block) && other.end == self.flow.nxt)
        {
            // Linux reached the end of the data sent and searches for the duplicate from the start again.
            self.process_late_duplicates(block, info);
        }
        info.sacked = u32::try_from(new.len()).expect("a window is below 2^32 packets");
        self.flow.delivered += info.sacked;
        new.clear();
        self.newly_sacked = new;
        // After a timeout that cannot be undone, retransmissions cannot be distinguished from late originals.
        if self.flow.state != State::Loss || self.undo.is_possible() {
            self.note_displaced(info.lowest_sacked_late);
        }
    }

    fn process_newly_sacked(&mut self, number: u32, info: &mut AckInfo) {
        let sent = self.board.mark_sacked(number, &mut self.flow);
        if self.offload.is_some() {
            self.board.merge_sacked(number, &self.flow);
        }
        self.rack.on_arrival(number, sent, &self.flow);
        self.rate.on_delivered(number, sent);
        if !sent.was_retransmitted() {
            if number < info.prior_highest {
                info.lowest_sacked_late = Some(lowest(info.lowest_sacked_late, number));
            }
            info.original_arrived |= number < self.flow.high_seq;
            info.sacked_sent_us = Some(span(info.sacked_sent_us, sent.at_us));
        }
    }

    /// Processes a DSACK, which shows that a retransmission was not needed.
    /// [RFC 2883](https://www.rfc-editor.org/rfc/rfc2883)
    fn process_dsack(&mut self, block: Block, info: &mut AckInfo) {
        let packets = block.packets();
        self.dsacked += u64::from(packets);
        // More duplicates than retransmissions come from the network, not from this sender.
        if packets == 0 || self.dsacked > self.counts.retransmitted_packets {
            return;
        }
        info.dsack = true;
        info.dsack_of_probe = packets == 1 && self.probe.is_some_and(|probe| probe.high == block.end);
        if self.rack.reordering_seen && !info.dsack_of_probe {
            self.rack.dsack_seen = true;
        }
        // A spurious retransmission was delivered, too.
        self.flow.delivered += packets;
        if block.end <= info.prior_una {
            self.undo.on_dsack(block.end, packets);
            return;
        }
        self.process_late_duplicates(block, info);
    }

    /// Processes duplicates of packets that are still outstanding.
    fn process_late_duplicates(&mut self, block: Block, info: &mut AckInfo) {
        for number in block.start.max(self.flow.una)..block.end.min(self.flow.nxt) {
            let sent = self.board.get(number);
            if sent.was_retransmitted() {
                self.undo.on_dsack(number + 1, 1);
                if sent.is_sacked() {
                    info.lowest_sacked_late = Some(lowest(info.lowest_sacked_late, number));
                }
            }
            self.board.retransmission_arrived(number, &mut self.flow);
        }
    }

    /// Removes every packet below `number` from the scoreboard.
    #[inline]
    fn process_cumulative_ack(&mut self, number: u32, info: &mut AckInfo) {
        let prior_delivered = self.flow.delivered;
        self.pop_plain(number, info);
        if self.flow.una < number {
            self.pop_any(number, info);
        }
        info.acked = number - info.prior_una;
        info.set_timer = true;
        self.board.trim(&self.flow);
        if !self.setup.sack {
            self.uncount_duplicates(info.acked, prior_delivered);
            // Without SACK an original cannot be told from a retransmission beside it.
            info.original_arrived &= !info.ambiguous;
            info.lowest_original = None;
        }
    }

    /// Removes the plain packets below `number`, up to the first packet that is not plain. RACK and the delivery rate need only
    /// the record of the last one, which was sent last.
    #[inline]
    fn pop_plain(&mut self, number: u32, info: &mut AckInfo) {
        let una = self.flow.una;
        let Some((first, last)) = self.board.pop_plain(number, &mut self.flow) else { return };
        info.acked_sent_us = Some((first.at_us, last.at_us));
        info.lowest_original = Some(una);
        info.original_arrived |= una < self.flow.high_seq;
        self.flow.delivered += self.flow.una - una;
        self.rack.on_arrival(self.flow.una - 1, last, &self.flow);
        self.rate.on_delivered(self.flow.una - 1, last);
    }

    /// Removes every packet below `number`, one by one.
    // Not inlined, so that the usual ACK does not pay for it.
    #[inline(never)]
    fn pop_any(&mut self, number: u32, info: &mut AckInfo) {
        while self.flow.una < number {
            let una = self.flow.una;
            let sent = self.board.pop(&mut self.flow);
            if sent.was_retransmitted() {
                info.ambiguous = true;
            } else if !sent.is_sacked() {
                info.acked_sent_us = Some(span(info.acked_sent_us, sent.at_us));
                info.lowest_original = Some(lowest(info.lowest_original, una));
                info.original_arrived |= una < self.flow.high_seq;
            }
            if !sent.is_sacked() {
                self.flow.delivered += 1;
                if !is_answer_to_earlier(sent, info.echo_ms) {
                    self.rack.on_arrival(una, sent, &self.flow);
                }
            }
            self.rate.on_delivered(una, sent);
        }
    }

    /// Updates the RTT estimates; returns the raw RTT of the newest packet, for the algorithm.
    /// [RFC 6298, 3](https://www.rfc-editor.org/rfc/rfc6298#section-3)
    #[inline]
    fn measure_rtt(&mut self, info: &mut AckInfo) -> Option<u32> {
        let now_us = self.flow.now.us();
        let acked = info.acked_sent_us.filter(|_| !info.ambiguous);
        let sacked = info.sacked_sent_us;
        let mut first = acked.or(sacked).map(|(first, _)| age_us(first, now_us));
        let mut last = sacked.or(acked).map(|(_, last)| age_us(last, now_us));
        if first.is_none() && info.acked > 0 && info.echo_ms != 0 {
            let ms = timestamp_ms(self.flow.now).saturating_sub(info.echo_ms).max(1);
            first = Some(ms.saturating_mul(1000));
            last = first;
        }
        let (Some(first), Some(last)) = (first, last) else { return last };
        self.flow.rtt.update_min(last, self.flow.now);
        self.flow.rtt.update(first, self.flow.una, self.flow.nxt);
        self.rtt_sample_us = Some(first);
        // A SACK moves the timeout only if it was caused by data sent before the oldest packet. Otherwise the
        // timeout of a lost packet would be postponed without end.
        if info.acked == 0 && sacked.is_some() && self.flow.packets_out() > 0 {
            let oldest_us = age_us(self.board.get(self.flow.una).at_us, now_us);
            info.set_timer |= sacked.is_some_and(|(first, _)| age_us(first, now_us) > oldest_us);
        }
        Some(last)
    }

    /// Detects reordering: a packet that was never retransmitted filled a hole.
    #[inline]
    fn note_reordering(&mut self, info: &AckInfo) {
        if info.lowest_original.is_some_and(|lowest| lowest < info.prior_highest) {
            self.note_displaced(info.lowest_original);
        }
    }

    /// Processes an ACK that may answer a tail loss probe.
    #[inline]
    fn process_probe_response(&mut self, number: u32, info: &AckInfo, out: &mut Outbox) {
        if let Some(probe) = self.probe.filter(|probe| number >= probe.high) {
            self.on_probe_answered(probe, number, info, out);
        }
    }

    /// Processes the response to a tail loss probe.
    /// [RFC 8985, 7.4.2](https://www.rfc-editor.org/rfc/rfc8985#section-7.4.2)
    #[cold]
    fn on_probe_answered(&mut self, probe: Probe, number: u32, info: &AckInfo, out: &mut Outbox) {
        if !probe.is_retransmission || info.dsack_of_probe {
            self.probe = None;
        } else if number > probe.high {
            // The probe repaired the only loss, so nothing else reveals the congestion.
            self.begin_reduction(Cause::Loss);
            self.enter(State::Cwr);
            self.end_reduction();
            self.keep_open();
            out.events.push(Event::Reduction);
        } else if !info.una_advanced() && info.sacked == 0 {
            self.probe = None;
        }
    }

    /// Lets recovery or the algorithm set the window.
    #[inline]
    fn control(&mut self, ack: &Ack, info: &AckInfo, out: &mut Outbox) {
        if self.needs.recovery == Recovery::Own {
            self.cc.on_ack(ack, &self.flow, &mut self.control);
        } else if self.in_reduction() {
            let safe_ack = info.una_advanced() && ack.lost == 0;
            self.reduce(Progress { delivered: ack.delivered, safe_ack });
        } else if info.acked > 0 || (self.rack.reordering_is_high() && info.sacked > 0) {
            self.grow(ack);
            self.flow.usage.on_window_set(self.flow.now);
        }
        if self.control.take_reduction_request() {
            self.enter_cwr(out);
        }
        if self.control.take_application_limit() {
            self.rate.on_application_limited(&mut self.flow);
        }
        if let Some(pacer) = &mut self.pacer {
            pacer.on_ack(&self.flow, &self.control);
        }
        self.update_offload();
    }

    /// Lets the algorithm grow the window.
    #[inline]
    fn grow(&mut self, ack: &Ack) {
        match self.setup.host.growth {
            Growth::Packet => self.cc.on_ack(ack, &self.flow, &mut self.control),
            Growth::Ack => self.grow_by_one(ack, 0),
            Growth::AckCorrected => self.grow_by_one(ack, ack.delivered),
        }
    }

    /// Lets the algorithm grow the window by an ACK, however many packets it acknowledges.
    fn grow_by_one(&mut self, ack: &Ack, corrected: u32) {
        let single = Ack { acked: ack.acked.min(1), delivered: ack.delivered.min(1), corrected, ..*ack };
        self.cc.on_ack(&single, &self.flow, &mut self.control);
    }

    fn transmit_next(&mut self, next: NextTransmission, out: &mut Outbox) {
        if next == NextTransmission::Usual {
            return;
        }
        if next == NextTransmission::New {
            self.transmit(out);
            if self.flow.nxt > self.flow.high_seq {
                return;
            }
            self.frto = false;
        }
        self.retransmit_lost(out);
    }

    /// Whether header prediction fails: something other than the acknowledgement number changed since the
    /// previous ACK, or this end is closed.
    fn is_slow_path(&self, packet: &Packet) -> bool {
        let is_plain = packet.sacks.is_empty() && !packet.flags.has(Flags::ECE);
        let is_same_window = packet.window == self.offered && !self.awaits_first_ack;
        !(is_plain && is_same_window) || self.is_shut()
    }

    /// Updates the receive window from an ACK that no later one has overtaken; whether it became larger.
    /// [RFC 9293, 3.10.7.4](https://www.rfc-editor.org/rfc/rfc9293#section-3.10.7.4)
    fn update_receive_window(&mut self, packet: &Packet) -> bool {
        self.window_end = self.window_end.max(packet.number.saturating_add(packet.window.packets()));
        let is_larger = packet.window > self.offered || self.awaits_first_ack;
        self.awaits_first_ack = false;
        if packet.number > self.flow.una || is_larger {
            self.offered = packet.window;
        }
        is_larger
    }
}

/// First block, if it is a DSACK: below the ACK, or inside the second block.
/// [RFC 2883, 4](https://www.rfc-editor.org/rfc/rfc2883#section-4)
fn duplicate_block(number: u32, blocks: &[Block]) -> Option<Block> {
    match blocks {
        [first, ..] if first.start < number => Some(*first),
        [first, second, ..] if second.contains(*first) => Some(*first),
        _ => None,
    }
}

/// Whether the ACK responds to a transmission before the last one: it echoes an older timestamp.
fn is_answer_to_earlier(sent: Sent, echo_ms: u32) -> bool {
    sent.was_retransmitted() && echo_ms != 0 && echo_ms < timestamp_ms(Time::from_us(sent.at_us))
}

fn lowest(so_far: Option<u32>, number: u32) -> u32 {
    so_far.map_or(number, |lowest| lowest.min(number))
}

fn span(so_far: Option<(u64, u64)>, sent_us: u64) -> (u64, u64) {
    (so_far.map_or(sent_us, |(first, _)| first), sent_us)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::Entry;
    use crate::net::packet::{Kind, ReceiveWindow};
    use crate::run::Host;
    use crate::tcp::sender::tests_setup;

    /// 65 280 and 65 408 bytes are 45 packets and less than another.
    #[test]
    fn header_prediction_fails_for_a_window_that_changed_by_less_than_a_packet() {
        let entry = Entry::find("reno").unwrap();
        let parameters = entry.parameters(&std::collections::BTreeMap::new()).unwrap();
        let mut sender = Sender::new(tests_setup(Host::default()), (entry.build)(&parameters, 0));
        let [ack, larger] = [65_280, 65_408].map(|bytes| Packet {
            window: ReceiveWindow::of_bytes(bytes, 1448),
            ..Packet::new(Kind::Ack, 0)
        });
        assert_eq!([ack, larger].map(|packet| packet.window.packets()), [45, 45]);
        sender.update_receive_window(&ack);
        assert_eq!([ack, larger].map(|packet| sender.is_slow_path(&packet)), [false, true]);
    }
}
