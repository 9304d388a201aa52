//! RACK: a packet is lost if one sent sufficiently later has arrived (RFC 8985, with Linux's refinements).

use super::flow::{Flow, State};
use super::scoreboard::{Scoreboard, Sent, Verdict};
use crate::Time;

/// Recoveries for which a widened reordering window is kept (RFC 8985, 6.2, step 4).
const PERSIST_RECOVERIES: u32 = 16;
/// Packets sacked above a hole that prove a loss if no reordering was seen (RFC 8985, 6.2, step 4).
pub(crate) const DUP_THRESHOLD: u32 = 3;
/// Largest recorded reordering, in packets (Linux: `tcp_max_reordering`).
const MAX_REORDERING: u32 = 300;

/// RACK state of a sender.
#[derive(Clone, Debug)]
pub(crate) struct Rack {
    /// Transmission time and end of the number of the most recently sent packet that arrived.
    newest: (u64, u32),
    /// RTT of the last packet that arrived.
    rtt_us: u32,
    /// Whether something arrived since the last loss detection.
    pub(crate) advanced: bool,
    /// Reordering window, in quarters of the smallest RTT.
    window_steps: u32,
    /// Remaining recoveries until the window returns to its default.
    pub(crate) window_persists: u32,
    /// Whether a DSACK arrived since the window was last adjusted.
    pub(crate) dsack_seen: bool,
    /// `flow.delivered` at the last adjustment.
    adjusted_at: u32,
    /// Greatest displacement seen, in packets.
    pub(crate) reordering: u32,
    /// Whether any reordering was seen.
    pub(crate) reordering_seen: bool,
}

impl Rack {
    pub(crate) fn new() -> Rack {
        Rack {
            newest: (0, 0),
            rtt_us: 0,
            advanced: false,
            window_steps: 1,
            window_persists: 0,
            dsack_seen: false,
            adjusted_at: 0,
            reordering: DUP_THRESHOLD,
            reordering_seen: false,
        }
    }

    /// Processes the arrival of packet `number`.
    /// [RFC 8985, 6.2, step 2](https://www.rfc-editor.org/rfc/rfc8985#section-6.2)
    #[inline]
    pub(crate) fn on_arrival(&mut self, number: u32, sent: Sent, flow: &Flow) {
        let rtt_us = age_us(sent.at_us, flow.now.us());
        // Earlier than possible for the retransmission: the original or an earlier retransmission arrived.
        if sent.was_retransmitted() && flow.rtt.min_us().is_some_and(|min| rtt_us < min) {
            return;
        }
        self.advanced = true;
        self.rtt_us = rtt_us;
        if self.newest < (sent.at_us, number + 1) {
            self.newest = (sent.at_us, number + 1);
        }
    }

    /// Records a packet that arrived `distance` packets late and was never retransmitted.
    pub(crate) fn on_reordering(&mut self, distance: u32) {
        if distance > self.reordering {
            self.reordering = distance.min(MAX_REORDERING);
        }
        self.reordering_seen = true;
    }

    /// Sets the reordering to what duplicate ACKs without SACK show.
    pub(crate) fn set_reordering(&mut self, packets: u32) {
        self.reordering = packets.min(MAX_REORDERING);
        self.reordering_seen = true;
    }

    /// Whether the window may grow without in-order delivery.
    pub(crate) fn reordering_is_high(&self) -> bool {
        self.reordering > DUP_THRESHOLD
    }

    /// Lowers the reordering estimate after a timeout despite many SACKs.
    pub(crate) fn on_timeout_in_disorder(&mut self, flow: &Flow) {
        if flow.state <= State::Disorder && flow.sacked_out >= DUP_THRESHOLD {
            self.reordering = self.reordering.min(DUP_THRESHOLD);
        }
    }

    /// Widens the window after DSACKs, once per round trip.
    /// [RFC 8985, 6.2, step 4](https://www.rfc-editor.org/rfc/rfc8985#section-6.2)
    #[inline]
    pub(crate) fn adjust_window(&mut self, prior_delivered: Option<u32>, flow: &Flow) {
        let Some(prior_delivered) = prior_delivered else { return };
        if prior_delivered < self.adjusted_at {
            self.dsack_seen = false;
        }
        if self.dsack_seen {
            self.window_steps = (self.window_steps + 1).min(255);
            self.dsack_seen = false;
            self.adjusted_at = flow.delivered;
            self.window_persists = PERSIST_RECOVERIES;
        } else if self.window_persists == 0 {
            self.window_steps = 1;
        }
    }

    /// Processes the end of a recovery that was not undone.
    pub(crate) fn on_recovered(&mut self) {
        self.window_persists = self.window_persists.saturating_sub(1);
    }

    /// Processes a recovery that DSACKs undid.
    pub(crate) fn on_dsack_undo(&mut self) {
        self.window_persists = (self.window_persists + 1).min(PERSIST_RECOVERIES);
    }

    fn window_us(&self, flow: &Flow) -> u32 {
        if !self.reordering_seen && (flow.state >= State::Recovery || flow.sacked_out >= self.reordering) {
            return 0;
        }
        let quarter = flow.rtt.min_us().unwrap_or(u32::MAX) >> 2;
        quarter.saturating_mul(self.window_steps).min(flow.rtt.srtt_us().unwrap_or(0))
    }

    /// Whether a timeout spares a transmission because it happened less than an RTT ago.
    pub(crate) fn is_recent(&self, sent: Sent, now: Time) -> bool {
        self.rtt_us > age_us(sent.at_us, now.us())
    }

    /// Marks lost packets; returns the time until the next one may be lost, in µs, if any.
    /// [RFC 8985, 6.2, step 5](https://www.rfc-editor.org/rfc/rfc8985#section-6.2)
    pub(crate) fn detect_losses(&self, board: &mut Scoreboard, flow: &mut Flow) -> Option<u32> {
        let allowed_us = self.rtt_us.saturating_add(self.window_us(flow));
        let now_us = flow.now.us();
        let mut longest_us = None;
        board.detect_losses(flow, |number, sent| {
            if self.newest <= (sent.at_us, number + 1) {
                return Verdict::TooRecent;
            }
            let remaining_us = allowed_us.saturating_sub(age_us(sent.at_us, now_us));
            if remaining_us == 0 {
                return Verdict::Lost;
            }
            longest_us = longest_us.max(Some(remaining_us));
            Verdict::Wait
        });
        longest_us
    }
}

/// Time since a transmission, in µs.
pub(crate) fn age_us(sent_us: u64, now_us: u64) -> u32 {
    u32::try_from(now_us.saturating_sub(sent_us)).unwrap_or(u32::MAX)
}
