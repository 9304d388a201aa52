//! Evidence that a reduction was a false alarm (RFC 3522, RFC 3708, as Linux combines them).

/// What the sender remembers of the current reduction, to take it back.
#[derive(Clone, Debug, Default)]
pub(crate) struct Undo {
    /// `una` when the reduction began; `None`: it cannot be taken back.
    marker: Option<u32>,
    /// Retransmissions of this reduction that no DSACK has answered; `None`: none was sent.
    unanswered: Option<u32>,
    /// Timestamp of the first retransmission, in ms.
    first_retransmission_ms: Option<u32>,
    /// ssthresh before the reduction; `None`: congestion is proven, keep the reduction.
    pub(crate) prior_ssthresh: Option<u32>,
}

impl Undo {
    /// A reduction begins while `retransmissions` are in the network.
    pub(crate) fn begin(&mut self, una: u32, retransmissions: u32) {
        self.marker = Some(una);
        self.unanswered = (retransmissions > 0).then_some(retransmissions);
    }

    /// The reduction stands, or was taken back.
    pub(crate) fn end(&mut self) {
        self.marker = None;
    }

    /// Whether the current reduction may still be taken back.
    pub(crate) fn is_possible(&self) -> bool {
        self.marker.is_some()
    }

    pub(crate) fn on_retransmission(&mut self, timestamp_ms: u32) {
        self.first_retransmission_ms.get_or_insert(timestamp_ms);
        self.unanswered = Some(self.unanswered.unwrap_or(0) + 1);
    }

    /// No retransmission is in the network.
    pub(crate) fn forget_retransmissions(&mut self) {
        self.first_retransmission_ms = None;
    }

    /// A DSACK answered the retransmission of packets below `end`.
    pub(crate) fn on_dsack(&mut self, end: u32, packets: u32) {
        if self.marker.is_some_and(|marker| end > marker)
            && let Some(unanswered) = &mut self.unanswered
        {
            *unanswered = unanswered.saturating_sub(packets);
        }
    }

    /// Whether every retransmission was answered by a DSACK.
    /// [RFC 3708](https://www.rfc-editor.org/rfc/rfc3708)
    pub(crate) fn proven_by_dsack(&self) -> bool {
        self.is_possible() && self.unanswered == Some(0)
    }

    /// Whether an ACK that echoes `echo_ms` was caused by a first transmission: the echo is older than
    /// the first retransmission, or there was none. [RFC 3522](https://www.rfc-editor.org/rfc/rfc3522)
    pub(crate) fn was_late(&self, echo_ms: u32) -> bool {
        self.first_retransmission_ms.is_none_or(|first| echo_ms != 0 && echo_ms < first)
    }

    /// Whether the reduction is proven false by either.
    pub(crate) fn is_proven(&self, echo_ms: u32) -> bool {
        self.is_possible() && (self.unanswered == Some(0) || self.was_late(echo_ms))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dsacks_for_every_retransmission_prove_a_false_alarm() {
        let mut undo = Undo::default();
        undo.begin(10, 0);
        assert!(!undo.proven_by_dsack(), "nothing was sent again yet");
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
    fn an_echo_older_than_the_first_retransmission_proves_a_false_alarm() {
        let mut undo = Undo::default();
        undo.begin(10, 0);
        undo.on_retransmission(100);
        assert!(undo.is_proven(99));
        assert!(!undo.is_proven(100));
    }
}
