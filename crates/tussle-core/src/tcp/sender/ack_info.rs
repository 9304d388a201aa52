//! Values that the steps of the sender pass to one another: the findings about one ACK, the cause of recovery, and what to
//! send next.

use crate::tcp::flow::State;

/// Findings about one ACK.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent findings, each read by its name")]
pub(super) struct AckInfo {
    /// `una` before the ACK.
    pub(super) prior_una: u32,
    /// Timestamp that the ACK echoes, in ms.
    pub(super) echo_ms: u32,
    /// Packets newly acknowledged cumulatively.
    pub(super) acked: u32,
    /// Packets newly sacked.
    pub(super) sacked: u32,
    /// Whether the ACK carries a plausible DSACK.
    pub(super) dsack: bool,
    /// Whether the ACK enlarges the receive window.
    pub(super) window_advanced: bool,
    /// Whether the DSACK answers the tail loss probe.
    pub(super) dsack_of_probe: bool,
    /// Whether the ACK carries the ECN-Echo flag (RFC 3168).
    pub(super) ece: bool,
    /// Whether a packet below the recovery point arrived that was never retransmitted.
    pub(super) original_arrived: bool,
    /// Whether a retransmission was detected as lost.
    pub(super) retransmission_lost: bool,
    /// Whether the timer must be set again.
    pub(super) set_timer: bool,
    /// Whether a retransmitted packet was acknowledged cumulatively (Karn's ambiguity).
    pub(super) ambiguous: bool,
    /// Transmission times, in µs, of the first and the last newly acknowledged packet that was never
    /// retransmitted.
    pub(super) acked_sent_us: Option<(u64, u64)>,
    /// Transmission times, in µs, of the first and the last newly sacked packet that was never retransmitted.
    pub(super) sacked_sent_us: Option<(u64, u64)>,
    /// Lowest newly acknowledged packet that was never retransmitted.
    pub(super) lowest_original: Option<u32>,
    /// Lowest packet sacked after a higher one.
    pub(super) lowest_sacked_late: Option<u32>,
    /// End of the highest packet sacked before this ACK.
    pub(super) prior_highest: u32,
}

impl AckInfo {
    /// Whether the ACK advances `una`.
    pub(super) fn una_advanced(&self) -> bool {
        self.acked > 0
    }

    /// Whether the ACK is a duplicate: it advances neither `una` nor the receive window.
    /// [RFC 5681, 2](https://www.rfc-editor.org/rfc/rfc5681#section-2)
    pub(super) fn is_duplicate(&self) -> bool {
        self.acked == 0 && !self.window_advanced && !self.dsack
    }

    /// Whether the ACK needs the loss recovery code (Linux: `tcp_ack_is_dubious`).
    pub(super) fn is_dubious(&self, state: State) -> bool {
        self.acked == 0 || self.sacked > 0 || self.dsack || self.ece || state != State::Open
    }
}

/// Packets that the sender transmits after the algorithm has set the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NextTransmission {
    /// New packets, as the window allows.
    Usual,
    /// Lost packets first.
    Lost,
    /// New packets first, to detect a spurious timeout; lost packets if no new one can be sent.
    New,
}

/// Event at which recovery begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trigger {
    /// An ACK, which may carry the ECN-Echo flag.
    Ack { ece: bool },
    /// The end of a wait for packets that might only have been late.
    Timer,
}
