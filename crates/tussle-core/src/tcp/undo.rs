//! Detection of spurious reductions (RFC 3522 and RFC 3708, combined as in Linux).

/// State of the current reduction, needed to undo it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Undo {
    /// Value of `una` at the start of the reduction; `None` if it cannot be undone.
    marker: Option<u32>,
    /// Retransmissions of this reduction without a DSACK; `None` if there was no retransmission.
    unanswered: Option<u32>,
    /// Timestamp of the first retransmission, in ms.
    first_retransmission_ms: Option<u32>,
    /// Value of ssthresh before the reduction; `None` if congestion is proven.
    pub(crate) prior_ssthresh: Option<u32>,
}

impl Undo {
    /// Starts a reduction while `retransmissions` are in the network.
    pub(crate) fn begin(&mut self, una: u32, retransmissions: u32) {
        self.marker = Some(una);
        self.unanswered = (retransmissions > 0).then_some(retransmissions);
    }

    /// Ends the reduction, whether undone or not.
    pub(crate) fn end(&mut self) {
        self.marker = None;
    }

    /// Whether the current reduction may still be undone.
    pub(crate) fn is_possible(&self) -> bool {
        self.marker.is_some()
    }

    pub(crate) fn on_retransmission(&mut self, timestamp_ms: u32) {
        self.first_retransmission_ms.get_or_insert(timestamp_ms);
        self.unanswered = Some(self.unanswered.unwrap_or(0) + 1);
    }

    /// Resets the timestamp, when no retransmission is in the network.
    pub(crate) fn forget_retransmissions(&mut self) {
        self.first_retransmission_ms = None;
    }

    /// Processes a DSACK for the retransmission of packets below `end`.
    pub(crate) fn on_dsack(&mut self, end: u32, packets: u32) {
        if self.marker.is_some_and(|marker| end > marker)
            && let Some(unanswered) = &mut self.unanswered
        {
            *unanswered = unanswered.saturating_sub(packets);
        }
    }

    /// Whether a DSACK answered every retransmission. [RFC 3708](https://www.rfc-editor.org/rfc/rfc3708)
    pub(crate) fn proven_by_dsack(&self) -> bool {
        self.is_possible() && self.unanswered == Some(0)
    }

    /// Whether a first transmission caused an ACK that echoes `echo_ms`: the echo is older than the first
    /// retransmission; `None` if there was none. [RFC 3522](https://www.rfc-editor.org/rfc/rfc3522)
    pub(crate) fn was_late(&self, echo_ms: u32) -> Option<bool> {
        self.first_retransmission_ms.map(|first| echo_ms != 0 && echo_ms < first)
    }

    /// Whether DSACKs, or an original that `was_late`, prove the reduction spurious.
    pub(crate) fn is_proven(&self, was_late: bool) -> bool {
        self.is_possible() && (self.unanswered == Some(0) || was_late)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dsacks_for_every_retransmission_prove_a_spurious_reduction() {
        let mut undo = Undo::default();
        undo.begin(10, 0);
        assert!(!undo.proven_by_dsack(), "nothing was retransmitted yet");
        undo.on_retransmission(100);
        undo.on_retransmission(101);
        undo.on_dsack(11, 1);
        assert!(!undo.proven_by_dsack());
        undo.on_dsack(12, 1);
        assert!(undo.proven_by_dsack());
    }

    #[test]
    fn a_dsack_from_before_the_reduction_proves_nothing() {
        let mut undo = Undo::default();
        undo.begin(10, 0);
        undo.on_retransmission(100);
        undo.on_dsack(10, 1);
        assert!(!undo.proven_by_dsack());
    }

    #[test]
    fn an_echo_older_than_the_first_retransmission_proves_a_spurious_reduction() {
        let mut undo = Undo::default();
        undo.begin(10, 0);
        undo.on_retransmission(100);
        let [earlier, same] = [99, 100].map(|echo_ms| undo.was_late(echo_ms).unwrap());
        assert_eq!([earlier, same], [true, false]);
        assert!(undo.is_proven(earlier));
        assert!(!undo.is_proven(same));
    }
}
