//! Bandwidth probing: the phases down, cruise, refill and up. (5.3.3)

use super::{Bbr3, Phase, Sample, UNBOUNDED};
use crate::cc::Control;
use crate::cc::bandwidth::Bandwidth;
use crate::tcp::{Flow, Limit};

/// Largest number of round trips between probes. Up to it, their number is that of the packets in flight, so that a Reno
/// flow has time to grow by as many packets.
const RENO_ROUNDS: u32 = 63;
/// Shortest time between probes, in µs; a random time of up to a second is added.
const WAIT_US: u64 = 2_000_000;

/// State of the probing cycle.
#[derive(Debug, Default)]
pub(super) struct Cycle {
    /// Round trips since the last upward probe. (`rounds_since_probe_up`)
    pub(super) rounds_since_up: u32,
    /// Start of the cycle, and its wait for the next probe, in µs. (`cycle_stamp`, `bw_probe_wait`)
    began_us: u64,
    pub(super) wait_us: u64,
    pub(super) acks: AckPhase,
}

/// Phase that current ACKs report on: a round trip later than the phase itself. (`ack_phase`)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum AckPhase {
    #[default]
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

impl Bbr3 {
    /// Enters down. (`StartProbeBW_DOWN`)
    pub(super) fn start_down(&mut self, flow: &Flow) {
        self.congestion.reset_signals();
        self.long_term.acked_per_packet = UNBOUNDED;
        self.cycle = Cycle {
            rounds_since_up: self.rng.below(2),
            began_us: flow.now.us(),
            wait_us: WAIT_US + u64::from(self.rng.below(1_000_001)),
            acks: AckPhase::ProbeStopping,
        };
        self.round.restart(flow);
        self.enter(Phase::Down);
    }

    /// Enters cruise. (`StartProbeBW_CRUISE`)
    pub(super) fn start_cruise(&mut self) {
        self.enter(Phase::Cruise);
    }

    /// Enters refill. (`StartProbeBW_REFILL`)
    pub(super) fn start_refill(&mut self, flow: &Flow) {
        self.congestion.lift_bounds();
        self.long_term.begin_probe();
        self.cycle.acks = AckPhase::Refilling;
        self.round.restart(flow);
        self.enter(Phase::Refill);
    }

    /// Enters up. (`StartProbeBW_UP`)
    fn start_up(&mut self, bw: Bandwidth, flow: &Flow, cwnd: u32) {
        self.cycle.acks = AckPhase::ProbeStarting;
        self.round.restart(flow);
        self.full_pipe.reset(bw);
        self.enter(Phase::Up);
        self.long_term.steepen(cwnd);
    }

    /// Advances the probing cycle. (`UpdateProbeBWCyclePhase`)
    pub(super) fn update_cycle(&mut self, sample: &Sample, flow: &Flow, control: &Control) {
        if !self.full_pipe.reached || self.adapt_long_term(sample, flow, control) {
            return;
        }
        let phase = self.phase;
        match phase {
            Phase::Down | Phase::Cruise if self.is_time_to_probe(flow, control.cwnd) => {
                self.start_refill(flow);
            }
            Phase::Down if self.is_time_to_cruise(flow) => self.start_cruise(),
            Phase::Refill if self.round.started => {
                self.long_term.probing = true;
                self.start_up(sample.bw, flow, control.cwnd);
            }
            Phase::Up if self.is_time_to_go_down(sample.bw, flow, control.cwnd) => {
                self.long_term.was_too_high = false;
                self.start_down(flow);
            }
            _ => {}
        }
    }

    /// Adapts the long-term bounds to the feedback of ACKs; returns whether it started a refill.
    /// (`AdaptLongTermModel`)
    fn adapt_long_term(&mut self, sample: &Sample, flow: &Flow, control: &Control) -> bool {
        match self.cycle.acks {
            AckPhase::ProbeStarting if self.round.started => self.cycle.acks = AckPhase::ProbeFeedback,
            AckPhase::ProbeStopping if self.round.started => {
                self.long_term.probing = false;
                self.cycle.acks = AckPhase::Init;
                if self.phase.is_probe_bw() && sample.limit == Limit::Network {
                    self.advance_max_bw();
                }
                // A precautionary probe found no excess loss: a full probe follows.
                if self.phase.is_probe_bw()
                    && self.long_term.was_precautionary
                    && !self.long_term.was_too_high
                {
                    self.start_refill(flow);
                    return true;
                }
            }
            _ => {}
        }
        self.raise_long_term(sample, flow, control);
        false
    }

    /// Whether the next probe is due. (`IsTimeToProbeBW`)
    fn is_time_to_probe(&self, flow: &Flow, cwnd: u32) -> bool {
        let waited = flow.now.us() > self.cycle.began_us + self.cycle.wait_us;
        waited || self.cycle.rounds_since_up >= self.target_inflight(cwnd).min(RENO_ROUNDS)
    }

    /// Whether down is over. (`IsTimeToCruise`)
    fn is_time_to_cruise(&self, flow: &Flow) -> bool {
        let in_flight = flow.in_flight();
        in_flight <= self.long_term.with_headroom() && in_flight <= self.inflight(self.max_bw(), flow)
    }

    /// Whether up is over. (`IsTimeToGoDown`)
    fn is_time_to_go_down(&mut self, bw: Bandwidth, flow: &Flow, cwnd: u32) -> bool {
        if self.long_term.was_too_high && flow.in_flight() >= self.long_term.inflight {
            self.long_term.was_precautionary = true;
            return true;
        }
        if flow.cwnd_filled() && cwnd >= self.long_term.inflight {
            // The bound, not the path, limits the rate.
            self.full_pipe.reset(bw);
            return false;
        }
        self.full_pipe.now
    }
}
