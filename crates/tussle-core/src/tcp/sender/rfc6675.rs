//! Loss detection by count: a packet is lost once three packets above it have been sacked.
//!
//! Source: [RFC 6675, 4](https://www.rfc-editor.org/rfc/rfc6675#section-4), with the measured reordering for the threshold
//! of three, as in Linux with `tcp_recovery = 0`.

use super::Sender;
use super::ack_info::AckInfo;
use crate::run::LossDetection;

impl Sender {
    /// Whether losses are detected by time: by RACK.
    pub(super) fn detects_by_time(&self) -> bool {
        self.setup.host.recovery == LossDetection::Rack
    }

    /// Whether enough packets arrived above a hole to begin recovery.
    pub(super) fn has_enough_above(&self) -> bool {
        !self.detects_by_time()
            && if self.counts_forward() {
                self.is_far_above()
            } else {
                self.flow.sacked_out + 1 > self.rack.reordering
            }
    }

    /// Whether the ACK gives a reason to look for losses.
    pub(super) fn reveals_losses(&self, info: &AckInfo) -> bool {
        info.is_duplicate() || (info.sacked > 0 && self.is_far_above())
    }

    /// Whether sacked packets reach further above the hole than the reordering seen.
    pub(super) fn is_far_above(&self) -> bool {
        self.board.highest_sacked_end(&self.flow) > self.flow.una + self.rack.reordering
    }

    /// Marks the first losses of a recovery: those found by count, and otherwise the oldest packet.
    pub(super) fn mark_first_losses(&mut self) {
        if self.setup.sack && !self.mark_losses_by_count() {
            self.mark_oldest_lost();
        }
    }

    /// Marks the packets as lost above which enough packets were sacked; returns whether there are any.
    pub(super) fn mark_losses_by_count(&mut self) -> bool {
        if !self.setup.sack {
            return false;
        }
        let found = if self.counts_forward() {
            self.mark_losses_forward()
        } else {
            let is_enough = self.flow.sacked_out >= self.rack.reordering;
            if is_enough {
                self.board.mark_below_sacked(self.rack.reordering, &mut self.flow);
            }
            is_enough
        };
        self.report_losses();
        found
    }
}
