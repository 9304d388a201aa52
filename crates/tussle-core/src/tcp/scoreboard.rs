//! Scoreboard: the state of each packet that was sent and not yet acknowledged cumulatively.
//!
//! The state is one of Linux's: in flight; sacked (arrived); lost; lost and retransmitted; or retransmitted
//! without being marked lost (a probe, or a loss that was undone). [`Flow`] holds the sums of these states:
//! `sacked_out`, `lost_out`, `retrans_out`.

use std::collections::VecDeque;

use super::flow::{Flow, Limit, Lost};
use super::ranges::Ranges;
use crate::Time;
use crate::net::packet::Block;
use crate::util::ring_buffer::RingBuffer;

/// Record of a transmitted packet.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sent {
    /// Time of the last transmission, in µs.
    pub(crate) at_us: u64,
    /// Time from the last delivery to the transmission, in µs; at most 71 minutes.
    pub(crate) since_delivery_us: u32,
    /// Time from the start of the flight to the transmission, in µs; at most 71 minutes.
    pub(crate) since_flight_start_us: u32,
    /// Packets delivered before the transmission.
    pub(crate) delivered: u32,
    /// Packets detected as lost before the transmission.
    pub(crate) lost: u32,
    /// Packets in flight at the transmission, including this one.
    pub(crate) in_flight: u32,
    /// Nanoseconds of the time of the last transmission beyond its µs.
    pub(crate) rest_ns: u16,
    pub(super) tags: u8,
}

const SACKED: u8 = 1;
const LOST: u8 = 2;
const RETRANSMISSION_OUT: u8 = 4;
const EVER_RETRANSMITTED: u8 = 8;
const LIMITED_BY_APPLICATION: u8 = 16;
/// Tag of a transmission that RACK detected as lost and does not examine again.
const DETECTED: u8 = 32;
/// Tag of the first packet of a burst that left the host at once.
const BEGINS_BURST: u8 = 64;

impl Sent {
    /// Time of the last transmission.
    pub(crate) fn at(self) -> Time {
        Time::from_ns(self.at_us * 1000 + u64::from(self.rest_ns))
    }

    fn has(self, tag: u8) -> bool {
        self.tags & tag != 0
    }

    /// Whether the packet was transmitted once, has no mark, and does not begin a burst.
    fn is_plain(self) -> bool {
        self.tags & (SACKED | LOST | RETRANSMISSION_OUT | EVER_RETRANSMITTED | BEGINS_BURST) == 0
    }

    pub(crate) fn is_sacked(self) -> bool {
        self.has(SACKED)
    }

    pub(crate) fn is_lost(self) -> bool {
        self.has(LOST)
    }

    /// Whether a retransmission of the packet is estimated to be in the network.
    pub(crate) fn is_retransmission_out(self) -> bool {
        self.has(RETRANSMISSION_OUT)
    }

    pub(crate) fn was_retransmitted(self) -> bool {
        self.has(EVER_RETRANSMITTED)
    }

    pub(crate) fn limit(self) -> Limit {
        if self.has(LIMITED_BY_APPLICATION) { Limit::Application } else { Limit::Network }
    }

    pub(crate) fn limited_by_application(mut self) -> Sent {
        self.tags |= LIMITED_BY_APPLICATION;
        self
    }

    /// Whether the packet is lost and not yet retransmitted.
    fn awaits_retransmission(self) -> bool {
        self.has(LOST) && !self.has(RETRANSMISSION_OUT)
    }
}

/// A retransmission, in order of transmission.
#[derive(Clone, Copy, Debug)]
struct Retransmission {
    number: u32,
    /// First packet that had not been sent yet.
    nxt: u32,
    at_us: u64,
}

/// Packets from `una` to `nxt`.
#[derive(Debug)]
pub(crate) struct Scoreboard {
    packets: RingBuffer<Sent>,
    sacked: Ranges,
    /// Number below which no packet awaits retransmission.
    retransmit_from: u32,
    /// Number below which no first transmission needs to be examined.
    first_unexamined: u32,
    /// Number below which a timeout marked every packet that was not sacked.
    timed_out_to: u32,
    /// Retransmissions that RACK may still detect as lost.
    retransmissions: VecDeque<Retransmission>,
    /// Packets detected as lost and not yet reported to the algorithm.
    pub(super) newly_lost: Vec<Lost>,
    /// Packets that begin a burst.
    bursts: u32,
}

impl Scoreboard {
    pub(crate) fn new() -> Scoreboard {
        Scoreboard {
            packets: RingBuffer::new(Sent::default()),
            sacked: Ranges::default(),
            retransmit_from: 0,
            first_unexamined: 0,
            timed_out_to: 0,
            retransmissions: VecDeque::new(),
            newly_lost: Vec::new(),
            bursts: 0,
        }
    }

    #[inline]
    pub(crate) fn get(&self, number: u32) -> Sent {
        *self.packets.get(number as usize)
    }

    #[inline]
    fn get_mut(&mut self, number: u32) -> &mut Sent {
        self.packets.get_mut(number as usize)
    }

    /// Adds packet `flow.nxt`.
    #[inline]
    pub(crate) fn push(&mut self, flow: &mut Flow, sent: Sent) {
        self.packets.push(sent);
        flow.nxt = flow.nxt.checked_add(1).expect("a flow sends fewer than 2^32 packets");
    }

    /// Removes packet `flow.una`, now acknowledged cumulatively, and returns its record.
    #[inline]
    pub(crate) fn pop(&mut self, flow: &mut Flow) -> Sent {
        let sent = self.packets.pop().expect("what is acknowledged was sent");
        // One test suffices for the usual packet, which has no tag.
        if sent.tags & (SACKED | LOST | RETRANSMISSION_OUT | BEGINS_BURST) != 0 {
            self.bursts -= u32::from(sent.has(BEGINS_BURST));
            flow.sacked_out -= u32::from(sent.is_sacked());
            flow.lost_out -= u32::from(sent.is_lost());
            flow.retrans_out -= u32::from(sent.is_retransmission_out());
        }
        flow.una += 1;
        sent
    }

    /// Removes the plain packets from `flow.una` on, up to `end`, now acknowledged cumulatively; returns the records of the
    /// first and the last of them. Packets are transmitted in order, so that the last was sent last.
    #[inline]
    pub(crate) fn pop_plain(&mut self, end: u32, flow: &mut Flow) -> Option<(Sent, Sent)> {
        let first = self.get(flow.una);
        if !first.is_plain() {
            return None;
        }
        let (mut last, mut next) = (first, flow.una + 1);
        while next < end && self.get(next).is_plain() {
            last = self.get(next);
            next += 1;
        }
        debug_assert!(first.at_us <= last.at_us, "packets are transmitted in order");
        self.packets.remove((next - flow.una) as usize);
        flow.una = next;
        Some((first, last))
    }

    /// Removes ranges below `flow.una`.
    #[inline]
    pub(crate) fn trim(&mut self, flow: &Flow) {
        if !self.sacked.is_empty() {
            self.sacked.remove_below(flow.una);
        }
    }

    /// First packet number above everything sacked (Linux: `tcp_highest_sack_seq`).
    pub(crate) fn highest_sacked_end(&self, flow: &Flow) -> u32 {
        self.sacked.end().unwrap_or(flow.una)
    }

    /// Adds a SACK block and appends its newly sacked packets to `new`, in ascending order.
    pub(crate) fn sack_range(&mut self, block: Block, new: &mut Vec<u32>) {
        self.sacked.insert(block, |part| new.extend(part.start..part.end));
    }

    /// Marks a packet as arrived and returns its previous record.
    pub(crate) fn mark_sacked(&mut self, number: u32, flow: &mut Flow) -> Sent {
        let sent = self.get_mut(number);
        let before = *sent;
        if before.is_lost() {
            flow.lost_out -= 1;
            // A retransmission of a packet that is not marked lost counts as still in flight.
            if before.is_retransmission_out() {
                sent.tags &= !RETRANSMISSION_OUT;
                flow.retrans_out -= 1;
            }
            sent.tags &= !LOST;
        }
        sent.tags |= SACKED;
        flow.sacked_out += 1;
        before
    }

    /// Processes a DSACK for a retransmission of `number`.
    pub(crate) fn retransmission_arrived(&mut self, number: u32, flow: &mut Flow) {
        let sent = self.get_mut(number);
        if sent.is_retransmission_out() {
            sent.tags &= !RETRANSMISSION_OUT;
            flow.retrans_out -= 1;
        }
    }

    /// Marks a packet, or its retransmission, as lost.
    pub(crate) fn mark_lost(&mut self, number: u32, flow: &mut Flow) {
        let sent = self.get_mut(number);
        if sent.is_sacked() {
            return;
        }
        if sent.is_lost() {
            if !sent.is_retransmission_out() {
                return;
            }
            sent.tags &= !RETRANSMISSION_OUT;
            flow.retrans_out -= 1;
        } else {
            sent.tags |= LOST;
            flow.lost_out += 1;
        }
        flow.lost += 1;
        let sent = *sent;
        self.newly_lost.push(Lost {
            number,
            in_flight: sent.in_flight,
            lost: flow.lost - sent.lost,
            limit: sent.limit(),
        });
        self.retransmit_from = self.retransmit_from.min(number);
    }

    /// Marks the packets that a timeout declares lost: the oldest one, and all others except those for which
    /// `spared` is true.
    pub(crate) fn mark_timed_out(&mut self, flow: &mut Flow, spared: impl Fn(Sent) -> bool) {
        self.timed_out_to = flow.una;
        let mut contiguous = true;
        for number in flow.una..flow.nxt {
            let sent = self.get(number);
            if number != flow.una && spared(sent) {
                contiguous &= sent.is_sacked();
            } else {
                self.mark_lost(number, flow);
            }
            if contiguous {
                self.timed_out_to = number + 1;
            }
        }
        self.retransmit_from = flow.una;
    }

    /// Marks as lost each packet above which at least `enough` packets were sacked.
    pub(crate) fn mark_below_sacked(&mut self, enough: u32, flow: &mut Flow) {
        if let Some(end) = self.sacked.nth_highest(enough) {
            self.mark_below(end, flow);
        }
    }

    /// Marks as lost each packet below `end` that was not sacked.
    pub(crate) fn mark_below(&mut self, end: u32, flow: &mut Flow) {
        for number in self.first_unexamined.max(flow.una)..end {
            if !self.get(number).is_lost() {
                self.mark_lost(number, flow);
            }
        }
        self.first_unexamined = self.first_unexamined.max(end);
    }

    /// Removes every loss mark: the packets were late.
    pub(crate) fn unmark_losses(&mut self, flow: &mut Flow) {
        for number in flow.una..flow.nxt {
            self.get_mut(number).tags &= !LOST;
        }
        flow.lost_out = 0;
        self.timed_out_to = flow.una;
        self.first_unexamined = flow.una;
    }

    /// Lowest packet that awaits retransmission.
    pub(crate) fn next_to_retransmit(&mut self, flow: &Flow) -> Option<u32> {
        if flow.retrans_out >= flow.lost_out {
            return None;
        }
        let mut number = self.retransmit_from.max(flow.una);
        while number < flow.nxt && !self.get(number).awaits_retransmission() {
            number += 1;
        }
        self.retransmit_from = number;
        (number < flow.nxt).then_some(number)
    }

    /// Marks the first packet of a burst.
    pub(crate) fn begin_burst(&mut self, number: u32, flow: &Flow) {
        if number < flow.nxt && !self.get(number).has(BEGINS_BURST) {
            self.get_mut(number).tags |= BEGINS_BURST;
            self.bursts += 1;
        }
    }

    /// Separates packet `number`, now sacked, from the burst that it left in, and merges it with sacked neighbours (Linux:
    /// `tcp_shift_skb_data`).
    pub(crate) fn merge_sacked(&mut self, number: u32, flow: &Flow) {
        for boundary in [number, number + 1] {
            let joins = boundary > flow.una
                && boundary < flow.nxt
                && self.get(boundary - 1).is_sacked()
                && self.get(boundary).is_sacked();
            if !joins {
                self.begin_burst(boundary, flow);
            } else if self.get(boundary).has(BEGINS_BURST) {
                self.get_mut(boundary).tags &= !BEGINS_BURST;
                self.bursts -= 1;
            }
        }
    }

    /// Buffers that hold the packets: the bursts in which they left, of which the oldest may be acknowledged in part, and ranges
    /// of sacked packets.
    pub(crate) fn buffers(&self, flow: &Flow) -> u32 {
        let has_rest = flow.una < flow.nxt && !self.get(flow.una).has(BEGINS_BURST);
        self.bursts + u32::from(has_rest)
    }

    /// Ranges of sacked packets.
    pub(crate) fn sacked_ranges(&self) -> u32 {
        self.sacked.count()
    }

    /// Returns the end of the packets from `first` on, at most `most`, that left in one burst and await
    /// retransmission. The rest of that burst becomes a burst of its own.
    pub(crate) fn split_burst(&mut self, first: u32, most: u32, flow: &Flow) -> u32 {
        let mut end = first + 1;
        while end < flow.nxt && end - first < most {
            let sent = self.get(end);
            if sent.has(BEGINS_BURST) || !sent.awaits_retransmission() {
                break;
            }
            end += 1;
        }
        self.begin_burst(end, flow);
        end
    }

    /// Records the retransmission of `number`.
    pub(crate) fn on_retransmission(&mut self, number: u32, sent: Sent, flow: &Flow) {
        let record = self.get_mut(number);
        let kept = record.tags & (SACKED | LOST | RETRANSMISSION_OUT | BEGINS_BURST);
        *record = Sent { tags: sent.tags | kept | EVER_RETRANSMITTED, ..sent };
        self.retransmissions.push_back(Retransmission { number, nxt: flow.nxt, at_us: sent.at_us });
    }

    /// Counts the last recorded transmission of `number` as a retransmission in the network.
    pub(crate) fn count_retransmission(&mut self, number: u32, flow: &mut Flow) {
        let sent = self.get_mut(number);
        // A timeout may retransmit a packet whose retransmission is still in flight.
        if !sent.is_retransmission_out() {
            sent.tags |= RETRANSMISSION_OUT;
            flow.retrans_out += 1;
        }
    }

    /// Calls `examine` for every transmission that may be lost, and marks those that it finds lost. First
    /// transmissions and retransmissions are each examined oldest first, until [`Verdict::TooRecent`]. Retransmissions
    /// that left after a first transmission that is too recent are not examined, even if they left in the same µs.
    pub(crate) fn detect_losses(&mut self, flow: &mut Flow, mut examine: impl FnMut(u32, Sent) -> Verdict) {
        let mut number = self.first_unexamined.max(flow.una);
        self.first_unexamined = number;
        let mut all_examined = true;
        let mut too_recent = u32::MAX;
        while number < flow.nxt {
            let sent = self.get(number);
            if sent.tags & (SACKED | EVER_RETRANSMITTED | DETECTED) == 0 {
                if sent.is_lost() {
                    // Marked by a timeout, which may be undone: RACK examines it again.
                    all_examined = false;
                    number = number.max(self.timed_out_to.saturating_sub(1));
                } else {
                    match examine(number, sent) {
                        Verdict::TooRecent => {
                            too_recent = number;
                            break;
                        }
                        Verdict::Wait => all_examined = false,
                        Verdict::Lost => {
                            self.mark_lost(number, flow);
                            self.get_mut(number).tags |= DETECTED;
                        }
                    }
                }
            }
            number += 1;
            if all_examined {
                self.first_unexamined = number;
            }
        }
        self.detect_lost_retransmissions(flow, too_recent, examine);
    }

    fn detect_lost_retransmissions(
        &mut self,
        flow: &mut Flow,
        too_recent: u32,
        mut examine: impl FnMut(u32, Sent) -> Verdict,
    ) {
        let mut i = 0;
        while let Some(&Retransmission { number, nxt, at_us }) = self.retransmissions.get(i) {
            if too_recent < nxt {
                break;
            }
            let stale = number < flow.una || {
                let sent = self.get(number);
                sent.is_sacked() || sent.at_us != at_us
            };
            if stale {
                self.forget_retransmission(&mut i);
                continue;
            }
            let sent = self.get(number);
            if sent.awaits_retransmission() {
                i += 1;
                continue;
            }
            match examine(number, sent) {
                Verdict::TooRecent => break,
                Verdict::Wait => i += 1,
                Verdict::Lost => {
                    self.mark_lost(number, flow);
                    self.forget_retransmission(&mut i);
                }
            }
        }
    }

    /// Removes entry `i`, cheaply if it is the oldest.
    fn forget_retransmission(&mut self, i: &mut usize) {
        if *i == 0 {
            self.retransmissions.pop_front();
        } else {
            self.retransmissions.remove(*i);
        }
    }

    /// Recounts the states of all packets: `(sacked, lost, retransmitted)`.
    pub(crate) fn recount(&self, flow: &Flow) -> (u32, u32, u32) {
        (flow.una..flow.nxt).map(|number| self.get(number)).fold((0, 0, 0), |sums, sent| {
            (
                sums.0 + u32::from(sent.is_sacked()),
                sums.1 + u32::from(sent.is_lost()),
                sums.2 + u32::from(sent.is_retransmission_out()),
            )
        })
    }
}

/// Verdict of loss detection on a transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The transmission is lost.
    Lost,
    /// The transmission may still arrive.
    Wait,
    /// The transmission, like all later ones, happened after that of every packet known to have arrived.
    TooRecent,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Six packets, sent at 0 to 5 µs, of which the fourth is sacked. An ACK of two takes 0 and 1, one of six takes 2 and stops
    /// at the sacked one, and then takes 4 and 5.
    #[test]
    fn plain_packets_leave_as_one_run_up_to_the_ack_or_the_first_other_packet() {
        let (mut flow, mut board) = (Flow::new(250, 1448), Scoreboard::new());
        (0..6).for_each(|at_us| board.push(&mut flow, Sent { at_us, ..Sent::default() }));
        board.mark_sacked(3, &mut flow);
        let mut run = |end| {
            let ends = board.pop_plain(end, &mut flow).map(|(first, last)| (first.at_us, last.at_us));
            if ends.is_none() {
                board.pop(&mut flow);
            }
            (ends, flow.una, flow.sacked_out)
        };
        assert_eq!(run(2), (Some((0, 1)), 2, 1));
        assert_eq!(run(6), (Some((2, 2)), 3, 1));
        assert_eq!(run(6), (None, 4, 0));
        assert_eq!(run(6), (Some((4, 5)), 6, 0));
    }

    /// Packet 0 leaves again in the µs in which 1 leaves, before or after it. The other first transmission is too recent.
    #[test]
    fn retransmissions_behind_a_recent_first_transmission_are_not_examined() {
        for (after, expected) in [(false, vec![1, 0]), (true, vec![1])] {
            let (mut flow, mut board) = (Flow::new(250, 1448), Scoreboard::new());
            let sent = |at_us| Sent { at_us, ..Sent::default() };
            board.push(&mut flow, sent(0));
            board.mark_lost(0, &mut flow);
            if after {
                board.push(&mut flow, sent(7));
            }
            board.on_retransmission(0, sent(7), &flow);
            board.count_retransmission(0, &mut flow);
            if !after {
                board.push(&mut flow, sent(7));
            }
            let mut examined = Vec::new();
            board.detect_losses(&mut flow, |number, _| {
                examined.push(number);
                if number == 1 { Verdict::TooRecent } else { Verdict::Wait }
            });
            assert_eq!(examined, expected);
        }
    }

    /// Two bursts of five packets. A sacked packet splits its burst, and joins sacked neighbours, also those of another burst.
    #[test]
    fn sacked_packets_split_bursts_and_share_a_buffer() {
        let (mut flow, mut board) = (Flow::new(250, 1448), Scoreboard::new());
        for first in [0, 5] {
            (0..5).for_each(|_| board.push(&mut flow, Sent::default()));
            board.begin_burst(first, &flow);
        }
        assert_eq!(board.buffers(&flow), 2);
        let mut sacked = |number| {
            board.mark_sacked(number, &mut flow);
            board.merge_sacked(number, &flow);
            board.buffers(&flow)
        };
        // 0-4, 5, 6, 7-9; then 0-4, 5, 6-7, 8-9; then without 8-9; then 0-3, 4, 5, 6-9; then 0-3 and 4-9.
        assert_eq!([6, 7, 8, 9, 4, 5].map(&mut sacked), [4, 4, 4, 3, 4, 2]);
        board.pop(&mut flow);
        assert_eq!(board.buffers(&flow), 2, "a part of the oldest burst remains");
        for _ in 1..4 {
            board.pop(&mut flow);
        }
        assert_eq!(board.buffers(&flow), 1);
    }
}
