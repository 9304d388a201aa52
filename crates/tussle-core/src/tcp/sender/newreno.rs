//! Recovery without SACK: duplicate ACKs are counted, and each partial ACK reveals one loss.
//!
//! Source: RFC 5681, 3.2, and RFC 6582 (NewReno). As in Linux each duplicate ACK counts as a packet that has arrived
//! above the hole ([`Flow::sacked_out`](super::Flow)), so that in-flight data, limited transmit and the reduction of the
//! window are the same as with SACK.

use super::Sender;
use crate::tcp::flow::State;

impl Sender {
    /// Counts a duplicate ACK: another packet has arrived above the hole.
    pub(super) fn count_duplicate(&mut self) {
        let before = self.flow.sacked_out;
        self.flow.sacked_out += 1;
        self.limit_counted(0);
        self.flow.delivered += self.flow.sacked_out.saturating_sub(before);
    }

    /// Forgets the counted duplicate ACKs: what they stood for is acknowledged or unknown.
    pub(super) fn forget_duplicates(&mut self) {
        self.flow.sacked_out = 0;
    }

    /// Processes the cumulative acknowledgement of `acked` packets, one of which was the hole. `delivered` is the count of
    /// delivered packets before the ACK.
    pub(super) fn uncount_duplicates(&mut self, acked: u32, delivered: u32) {
        self.flow.delivered = delivered + acked.saturating_sub(self.flow.sacked_out).max(1);
        self.flow.sacked_out = self.flow.sacked_out.saturating_sub(acked - 1);
        self.limit_counted(acked);
    }

    /// Limits the counted packets to those that can have arrived. More duplicate ACKs than outstanding packets are
    /// evidence of reordering, by up to all packets that were outstanding before `acked` of them were acknowledged.
    fn limit_counted(&mut self, acked: u32) {
        let outstanding = self.flow.packets_out();
        let holes = self.flow.lost_out.max(1).min(outstanding);
        if self.flow.sacked_out + holes > outstanding {
            self.flow.sacked_out = outstanding - holes;
            self.rack.set_reordering(outstanding + acked);
        }
    }

    /// Marks the oldest packet as lost after three duplicate ACKs, or in recovery after a partial ACK.
    /// [RFC 6582, 3.2](https://www.rfc-editor.org/rfc/rfc6582#section-3.2)
    pub(super) fn detect_loss_by_duplicates(&mut self, una_advanced: bool) {
        let is_enough = self.flow.state < State::Recovery && self.flow.sacked_out >= self.rack.reordering;
        let is_partial = self.flow.state == State::Recovery && una_advanced;
        self.partial_acks += u32::from(is_partial);
        if (is_enough || is_partial) && !self.board.get(self.flow.una).is_lost() {
            self.board.mark_lost(self.flow.una, &mut self.flow);
        }
    }

    /// Whether the retransmission timer runs on: the first partial ACK has restarted it, and the sender is impatient.
    /// [RFC 6582, 4](https://www.rfc-editor.org/rfc/rfc6582#section-4)
    pub(super) fn is_timer_kept(&self) -> bool {
        let is_repairing = self.flow.state == State::Recovery && self.flow.una < self.flow.high_seq;
        self.setup.host.impatient && is_repairing && self.partial_acks > 1
    }

    /// Whether recovery or repair must not end yet: everything sent before it is acknowledged, but duplicate ACKs of
    /// packets that were retransmitted needlessly may still come, and must not begin another one.
    /// [RFC 6582, 3.2](https://www.rfc-editor.org/rfc/rfc6582#section-3.2), the "recover" of step 2
    pub(super) fn must_await_duplicates(&mut self) -> bool {
        let must = !self.setup.sack && self.flow.una == self.flow.high_seq;
        if must && self.nothing_retransmitted() {
            self.undo.forget_retransmissions();
        }
        must
    }
}
