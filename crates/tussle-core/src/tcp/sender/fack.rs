//! Forward acknowledgement: a packet is lost once a packet was sacked that is three or more above it, since everything between
//! the two that was not sacked counts as having left the network.
//!
//! Source: M. Mathis, J. Mahdavi, "Forward Acknowledgement: Refining TCP Congestion Control", SIGCOMM 1996, 3; as in Linux until
//! 4.14 (`tcp_fack = 1`) the measured reordering takes the place of three, and a sender that has seen reordering counts as
//! RFC 6675 does.

use super::Sender;

impl Sender {
    /// Whether losses are counted from the forward-most sacked packet.
    pub(super) fn counts_forward(&self) -> bool {
        self.setup.host.fack && self.setup.sack && !self.rack.reordering_seen
    }

    /// Marks as lost the packets that are further below the forward-most sacked packet than the reordering seen; returns
    /// whether there are any.
    pub(super) fn mark_losses_forward(&mut self) -> bool {
        let end = self.board.highest_sacked_end(&self.flow).saturating_sub(self.rack.reordering);
        let found = end > self.flow.una;
        if found {
            self.board.mark_below(end, &mut self.flow);
        }
        found
    }
}
