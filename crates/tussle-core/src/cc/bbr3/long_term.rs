//! Long-term model: the data in flight at which a probe lost more than 2 %.

use super::congestion::{Interrupted, beta_of};
use super::{Bbr3, CWND_MIN, Phase, Sample, UNBOUNDED};
use crate::cc::Control;
use crate::tcp::{Flow, Limit, Lost};

/// Long-term bound of the data in flight, and the state of its probe.
#[derive(Debug)]
pub(super) struct LongTerm {
    /// Bound in packets. (`inflight_longterm`)
    pub(super) inflight: u32,
    /// Whether samples belong to a probe without a response yet. (`is_bw_probe_sample`)
    pub(super) probing: bool,
    /// Packets acknowledged since the bound was last raised. (`bw_probe_up_acked`)
    acked: u32,
    /// Packets to be acknowledged before the bound rises by one. (`probe_up_acked_per_inc`)
    pub(super) acked_per_packet: u32,
    /// Round trips in which the bound was raised. (`bw_probe_up_rounds`)
    rounds: u32,
    /// Whether the last probe went too high. (`prev_probe_too_high`)
    pub(super) was_too_high: bool,
    /// Whether the last probe stopped early because the previous one went too high.
    /// (`prev_probe_precautionary`)
    pub(super) was_precautionary: bool,
}

impl Default for LongTerm {
    fn default() -> LongTerm {
        LongTerm {
            inflight: UNBOUNDED,
            probing: false,
            acked: 0,
            acked_per_packet: UNBOUNDED,
            rounds: 0,
            was_too_high: false,
            was_precautionary: false,
        }
    }
}

impl LongTerm {
    /// Starts a new probe.
    pub(super) fn begin_probe(&mut self) {
        self.rounds = 0;
        self.acked = 0;
        self.was_precautionary = false;
    }

    /// Doubles the slope of the bound: 1, 2, 4, 8… packets per round trip. (`RaiseInflightLongtermSlope`)
    pub(super) fn steepen(&mut self, cwnd: u32) {
        self.acked_per_packet = (cwnd >> self.rounds).max(1);
        self.rounds = (self.rounds + 1).min(30);
    }

    /// Bound that leaves 15 %, at least one packet, free for other flows. (`InflightWithHeadroom`)
    pub(super) fn with_headroom(&self) -> u32 {
        if self.inflight == UNBOUNDED {
            return UNBOUNDED;
        }
        let headroom = u64::from(self.inflight) * 15 / 100;
        let headroom = u32::try_from(headroom).expect("a part of a u32 fits u32").max(1);
        self.inflight.saturating_sub(headroom).max(CWND_MIN)
    }
}

/// Whether more than 2 % were lost. (`IsInflightTooHigh`)
pub(super) fn is_too_much(lost: u32, in_flight: u32) -> bool {
    u64::from(lost) * 50 > u64::from(in_flight)
}

/// Packets in flight when the losses crossed 2 %, which may have happened while this packet was sent.
/// (`InflightAtLoss`)
fn in_flight_at_loss(lost: &Lost) -> u32 {
    let before = lost.in_flight.saturating_sub(1);
    let lost_before = u64::from(lost.lost.saturating_sub(1));
    let prefix = (u64::from(before) * 2).saturating_sub(lost_before * 100) / 98;
    before.saturating_add(u32::try_from(prefix).expect("a part of a u32 fits u32"))
}

impl Bbr3 {
    /// Processes the loss of a packet. (`HandleLostPacket`)
    pub(super) fn handle_lost(&mut self, lost: &Lost, flow: &Flow, control: &Control) {
        self.note_loss(flow, control);
        let previous = self.congestion.last_lost.replace(lost.number);
        if previous.is_none_or(|previous| lost.number != previous.wrapping_add(1)) {
            self.congestion.lost_ranges += 1;
        }
        if !self.long_term.probing || !is_too_much(lost.lost, lost.in_flight) {
            return;
        }
        self.long_term.was_too_high = true;
        // Each probe has one response.
        self.long_term.probing = false;
        if lost.limit == Limit::Network {
            self.long_term.inflight =
                in_flight_at_loss(lost).max(beta_of(self.target_inflight(control.cwnd)));
        }
        if self.phase == Phase::Up {
            self.undo.interrupted = Interrupted::Up;
            self.start_down(flow);
        }
    }

    /// Raises the long-term bound. (Last part of `AdaptLongTermModel`)
    pub(super) fn raise_long_term(&mut self, sample: &Sample, flow: &Flow, control: &Control) {
        let long_term = &mut self.long_term;
        if is_too_much(sample.lost, sample.tx_in_flight) || long_term.inflight == UNBOUNDED {
            return;
        }
        long_term.inflight = long_term.inflight.max(sample.tx_in_flight);
        // Only a bound that is reached can be too low. (`ProbeInflightLongtermUpward`)
        if self.phase != Phase::Up || !flow.cwnd_filled() || control.cwnd < long_term.inflight {
            return;
        }
        long_term.acked = long_term.acked.saturating_add(sample.newly_acked);
        let raise = long_term.acked / long_term.acked_per_packet;
        long_term.acked -= raise * long_term.acked_per_packet;
        long_term.inflight = long_term.inflight.saturating_add(raise);
        if self.round.started {
            long_term.steepen(control.cwnd);
        }
    }
}
