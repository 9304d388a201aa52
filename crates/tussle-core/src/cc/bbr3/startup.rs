//! Startup and drain: double the rate until it stops growing or packets are lost, then empty the queue.

use super::congestion::Interrupted;
use super::{Bbr3, Phase, Sample};
use crate::cc::bandwidth::{Bandwidth, Gain};
use crate::tcp::{Flow, Limit, State};

/// Growth of the rate in a round trip below which the pipe counts as full.
const GROWTH: Gain = Gain(320);
/// Round trips without that growth.
const ROUNDS: u32 = 3;
/// Ranges of packets lost in a round trip that end startup. (`StartupFullLossCnt`)
const LOST_RANGES: u32 = 6;
/// Round trips after which drain ends, whatever is in flight.
const DRAIN_ROUNDS: u64 = 3;

/// Detection of a full pipe.
#[derive(Debug, Default)]
pub(super) struct FullPipe {
    /// Whether the pipe was full at some time. (`full_bw_reached`)
    pub(super) reached: bool,
    /// Whether the pipe was full since the last reset. (`full_bw_now`)
    pub(super) now: bool,
    /// Rate that must grow. (`full_bw`)
    bw: Bandwidth,
    /// Round trips without growth. (`full_bw_count`)
    pub(super) rounds: u32,
    /// Round trip in which drain began. (`drain_start_round`)
    drain_start: u64,
}

impl FullPipe {
    /// Restarts the detection, for growth above `bw`. (`ResetFullBW`)
    pub(super) fn reset(&mut self, bw: Bandwidth) {
        (self.now, self.bw, self.rounds) = (false, bw, 0);
    }
}

impl Bbr3 {
    /// Updates the detection. (`CheckFullBWReached`)
    pub(super) fn check_full_pipe(&mut self, sample: &Sample) {
        let pipe = &mut self.full_pipe;
        if pipe.now || !self.round.started || sample.limit == Limit::Application {
            return;
        }
        if sample.bw >= pipe.bw.times(GROWTH) {
            pipe.reset(sample.bw);
            return;
        }
        pipe.rounds += 1;
        pipe.now = pipe.rounds >= ROUNDS;
        pipe.reached |= pipe.now;
    }

    /// Ends startup. (`CheckStartupDone`)
    pub(super) fn check_startup_done(&mut self, sample: &Sample, flow: &Flow) {
        if self.phase == Phase::Startup && self.startup_loss_is_high(sample, flow) {
            self.undo.interrupted = Interrupted::Startup;
            self.full_pipe.reached = true;
            self.long_term.inflight = self.bdp(self.bw).max(self.congestion.inflight_latest);
        }
        if self.phase == Phase::Startup && self.full_pipe.reached {
            self.enter(Phase::Drain);
            self.full_pipe.drain_start = self.round.count;
        }
        if self.congestion.round_start {
            self.congestion.lost_ranges = 0;
        }
    }

    /// Whether a whole round trip of recovery lost too much. (5.3.1.3, `CheckStartupHighLoss`)
    fn startup_loss_is_high(&self, sample: &Sample, flow: &Flow) -> bool {
        self.congestion.round_start
            && flow.state == State::Recovery
            && self.congestion.lost_ranges >= LOST_RANGES
            && super::long_term::is_too_much(sample.lost, sample.tx_in_flight)
    }

    pub(super) fn enter_startup(&mut self) {
        self.enter(Phase::Startup);
    }

    /// Ends drain. (`CheckDrainDone`)
    pub(super) fn check_drain_done(&mut self, flow: &Flow) {
        if self.phase == Phase::Drain
            && (flow.in_flight() <= self.inflight(self.bw, flow)
                || self.round.count > self.full_pipe.drain_start + DRAIN_ROUNDS)
        {
            self.start_down(flow);
        }
    }
}
