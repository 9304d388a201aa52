//! Short-term model: between probes, losses bound the rate and the data in flight by the delivery of the last
//! round trip. It also holds the state to restore after a spurious loss detection.

use super::{Bbr3, Phase, Sample, UNBOUNDED};
use crate::cc::Control;
use crate::cc::bandwidth::{Bandwidth, Gain};
use crate::tcp::{Flow, State};

/// Smallest factor of a bound after a round trip with losses: 0.7. (`Beta`)
const BETA_10THS: u64 = 7;
const BETA: Gain = Gain(256 * 7 / 10);

/// Congestion signals of a round trip, and the short-term bounds.
#[derive(Debug)]
pub(super) struct Congestion {
    /// Greatest rate and volume delivered in this round trip. (`bw_latest`, `inflight_latest`)
    bw_latest: Bandwidth,
    pub(super) inflight_latest: u32,
    /// Whether a loss was detected in this round trip. (`is_loss_in_round`)
    pub(super) lost_in_round: bool,
    /// `flow.delivered` at the start of the round trip over which losses are counted.
    /// (`loss_round_delivered`)
    round_delivered: u32,
    /// Whether the current ACK ended that round trip. (`loss_round_start`)
    pub(super) round_start: bool,
    /// Ranges of packets lost in that round trip, and the last packet of the last range.
    pub(super) lost_ranges: u32,
    pub(super) last_lost: Option<u32>,
    /// Short-term bounds. (`bw_shortterm`, `inflight_shortterm`)
    pub(super) bw_bound: Bandwidth,
    pub(super) inflight_bound: u32,
}

impl Default for Congestion {
    fn default() -> Congestion {
        Congestion {
            bw_latest: Bandwidth::ZERO,
            inflight_latest: 0,
            lost_in_round: false,
            round_delivered: 0,
            round_start: false,
            lost_ranges: 0,
            last_lost: None,
            bw_bound: Bandwidth::UNBOUNDED,
            inflight_bound: UNBOUNDED,
        }
    }
}

impl Congestion {
    /// Resets the signals of the round trip. (`ResetCongestionSignals`)
    pub(super) fn reset_signals(&mut self) {
        self.lost_in_round = false;
        self.bw_latest = Bandwidth::ZERO;
        self.inflight_latest = 0;
    }

    /// Removes the short-term bounds. (`ResetShortTermModel`)
    pub(super) fn lift_bounds(&mut self) {
        self.bw_bound = Bandwidth::UNBOUNDED;
        self.inflight_bound = UNBOUNDED;
    }

    /// Starts the signals of a new round trip. (`AdvanceLatestDeliverySignals`)
    pub(super) fn advance_latest(&mut self, sample: &Sample) {
        if self.round_start {
            self.bw_latest = sample.bw;
            self.inflight_latest = sample.delivered;
        }
    }
}

/// State before the losses of this episode of recovery.
#[derive(Debug, Default)]
pub(super) struct Undo {
    /// Whether the state was saved.
    saved: bool,
    /// Phase that the losses ended. (`undo_state`)
    pub(super) interrupted: Interrupted,
    bw_bound: Bandwidth,
    inflight_bound: u32,
    long_term_inflight: u32,
}

impl Undo {
    /// Ends the episode. It may still prove to be spurious until the next one begins.
    pub(super) fn close(&mut self) {
        self.saved = false;
    }
}

/// A phase that losses ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Interrupted {
    #[default]
    Nothing,
    Startup,
    Up,
}

/// The number of packets times 0.7, rounded down.
pub(super) fn beta_of(packets: u32) -> u32 {
    u32::try_from(u64::from(packets) * BETA_10THS / 10).expect("a part of a u32 fits u32")
}

impl Bbr3 {
    /// Updates the signals with a sample. (`UpdateLatestDeliverySignals`)
    pub(super) fn update_latest(&mut self, sample: &Sample, flow: &Flow) {
        let congestion = &mut self.congestion;
        congestion.bw_latest = congestion.bw_latest.max(sample.bw);
        congestion.inflight_latest = congestion.inflight_latest.max(sample.delivered);
        congestion.round_start = sample.prior_delivered >= congestion.round_delivered;
        if congestion.round_start {
            congestion.round_delivered = flow.delivered;
        }
    }

    /// Adapts the short-term bounds once per round trip. (`UpdateCongestionSignals` from its second step on)
    pub(super) fn adapt_to_congestion(&mut self, cwnd: u32) {
        let max_bw = self.max_bw();
        let congestion = &mut self.congestion;
        if !congestion.round_start {
            return;
        }
        if congestion.lost_in_round && !self.phase.accelerates() {
            if congestion.bw_bound == Bandwidth::UNBOUNDED {
                congestion.bw_bound = max_bw;
            }
            if congestion.inflight_bound == UNBOUNDED {
                congestion.inflight_bound = cwnd;
            }
            congestion.bw_bound = congestion.bw_latest.max(congestion.bw_bound.times(BETA));
            congestion.inflight_bound = congestion.inflight_latest.max(beta_of(congestion.inflight_bound));
        }
        congestion.lost_in_round = false;
    }

    /// Saves the state at the first loss of a round trip, in case the loss is spurious. (`NoteLoss`)
    pub(super) fn note_loss(&mut self, flow: &Flow, control: &Control) {
        if self.congestion.lost_in_round {
            return;
        }
        self.congestion.lost_in_round = true;
        self.congestion.round_delivered = flow.delivered;
        // Later losses of the episode would save what earlier ones have changed.
        if self.undo.saved {
            return;
        }
        self.save_cwnd(flow, control);
        self.undo = Undo {
            saved: true,
            interrupted: Interrupted::Nothing,
            bw_bound: self.congestion.bw_bound,
            inflight_bound: self.congestion.inflight_bound,
            long_term_inflight: self.long_term.inflight,
        };
    }

    /// Saves the window before recovery or a probe. (`SaveCwnd`)
    pub(super) fn save_cwnd(&mut self, flow: &Flow, control: &Control) {
        let is_free = flow.state < State::Recovery && self.phase != Phase::ProbeRtt;
        self.prior_cwnd = if is_free { control.cwnd } else { self.prior_cwnd.max(control.cwnd) };
    }

    /// Restores the state after a spurious loss detection. (`HandleSpuriousLossDetection`)
    pub(super) fn undo_losses(&mut self, flow: &Flow) {
        let congestion = &mut self.congestion;
        congestion.lost_in_round = false;
        congestion.bw_bound = congestion.bw_bound.max(self.undo.bw_bound);
        congestion.inflight_bound = congestion.inflight_bound.max(self.undo.inflight_bound);
        self.long_term.inflight = self.long_term.inflight.max(self.undo.long_term_inflight);
        self.full_pipe.reset(Bandwidth::ZERO);
        let in_probe_rtt = self.phase == Phase::ProbeRtt;
        match std::mem::take(&mut self.undo).interrupted {
            Interrupted::Startup if self.phase != Phase::Startup => {
                self.full_pipe.reached = false;
                if !in_probe_rtt {
                    self.enter_startup();
                }
            }
            Interrupted::Up if self.phase != Phase::Up && !in_probe_rtt => self.start_refill(flow),
            _ => {}
        }
    }
}
