//! Bandwidth probing: a cycle of eight phases of one smallest RTT each. The first phase sends more, the
//! second less.

use super::{Bbr, Phase};
use crate::cc::bandwidth::Gain;
use crate::tcp::{Ack, Flow};

/// Pacing gains of a cycle: probe, drain the queue of the probe, cruise.
const GAINS: [Gain; 8] =
    [Gain(256 * 5 / 4), Gain(256 * 3 / 4), Gain::ONE, Gain::ONE, Gain::ONE, Gain::ONE, Gain::ONE, Gain::ONE];

/// Position in the cycle.
#[derive(Debug, Default)]
pub(super) struct Cycle {
    /// Index into [`GAINS`].
    pub(super) index: u8,
    /// Start of the phase, in µs.
    pub(super) began_us: u64,
}

impl Cycle {
    pub(super) fn gain(&self) -> Gain {
        GAINS[usize::from(self.index)]
    }

    pub(super) fn advance(&mut self, flow: &Flow) {
        self.index = (self.index + 1) % 8;
        self.began_us = flow.delivered_at_us;
    }
}

impl Bbr {
    /// Enters the cycle at a random phase other than the one that drains, so that flows probe at different
    /// times. (Draft: 4.3.4.3, `BBREnterProbeBW`.)
    pub(super) fn enter_probe_bw(&mut self, flow: &Flow) {
        self.enter(Phase::ProbeBw);
        self.cycle.index = 7 - u8::try_from(self.rng.below(7)).expect("below 7");
        self.cycle.advance(flow);
    }

    pub(super) fn advance_cycle(&mut self, ack: &Ack, flow: &Flow) {
        if self.phase == Phase::ProbeBw && self.is_phase_over(ack, flow) {
            self.cycle.advance(flow);
        }
    }

    /// Whether the phase of the cycle is over. (Draft: 4.3.4.3, `BBRIsNextCyclePhase`.)
    fn is_phase_over(&self, ack: &Ack, flow: &Flow) -> bool {
        let age_us = flow.delivered_at_us.saturating_sub(self.cycle.began_us);
        let is_old = age_us > u64::from(self.min_rtt.us.unwrap_or(u32::MAX));
        if self.pacing_gain == Gain::ONE {
            return is_old;
        }
        let in_network = self.in_network_at_departure(ack.rate.prior_in_flight, flow);
        let bw = self.max_bw.get();
        if self.pacing_gain > Gain::ONE {
            // On a short path it takes longer than an RTT to fill the pipe that far. A loss means that the
            // pipe cannot hold that much.
            is_old && (ack.lost > 0 || in_network >= self.inflight(bw, self.pacing_gain, flow))
        } else {
            is_old || in_network <= self.inflight(bw, Gain::ONE, flow)
        }
    }
}
