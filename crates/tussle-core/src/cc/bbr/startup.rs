//! Startup and drain: double the rate until the bandwidth stops growing, then empty the queue.

use super::{Bbr, Phase};
use crate::cc::Control;
use crate::cc::bandwidth::{Bandwidth, Gain};
use crate::tcp::{Flow, Limit};

/// Growth of the bandwidth in a round trip below which the pipe counts as full.
const GROWTH: Gain = Gain(256 * 5 / 4);
/// Number of round trips without that growth after which the pipe counts as full. With fewer, a receive window that still
/// has to grow could be the reason.
const ROUNDS: u32 = 3;

/// Detection of a full pipe.
#[derive(Debug, Default)]
pub(super) struct FullPipe {
    /// Whether the pipe was full at some time. (Draft: `filled_pipe`.)
    pub(super) reached: bool,
    /// Bandwidth that a later round trip must exceed by [`GROWTH`].
    pub(super) bw: Bandwidth,
    /// Round trips without growth.
    pub(super) rounds: u32,
}

impl Bbr {
    /// Updates the detection once per round trip. (Draft: 4.3.2.2, `BBRCheckFullPipe`.)
    pub(super) fn check_full_pipe(&mut self, limit: Limit) {
        let pipe = &mut self.full_pipe;
        if pipe.reached || !self.round.started || limit == Limit::Application {
            return;
        }
        if self.max_bw.get() >= pipe.bw.times(GROWTH) {
            pipe.bw = self.max_bw.get();
            pipe.rounds = 0;
        } else {
            pipe.rounds += 1;
            pipe.reached = pipe.rounds >= ROUNDS;
        }
    }

    /// Enters and leaves drain. (Draft: 4.3.3, `BBRCheckDrain`.)
    pub(super) fn check_drain(&mut self, flow: &Flow, control: &mut Control) {
        if self.phase == Phase::Startup && self.full_pipe.reached {
            self.enter(Phase::Drain);
            control.ssthresh = self.inflight(self.max_bw.get(), Gain::ONE, flow);
        }
        if self.phase == Phase::Drain
            && self.in_network_at_departure(flow.in_flight(), flow)
                <= self.inflight(self.max_bw.get(), Gain::ONE, flow)
        {
            self.enter_probe_bw(flow);
        }
    }
}
