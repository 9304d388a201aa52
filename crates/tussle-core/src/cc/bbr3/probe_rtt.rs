//! RTT probing: after five seconds without a smaller RTT, halve the data in flight for 200 ms. (5.3.4)

use super::probe_bw::AckPhase;
use super::{Bbr3, Phase};
use crate::cc::Control;
use crate::tcp::Flow;

/// Lifetime of a smallest RTT, in µs. (`MinRTTFilterLen`)
const WINDOW_US: u64 = 10_000_000;
/// Time between probes, in µs. (`ProbeRTTInterval`)
const INTERVAL_US: u64 = 5_000_000;
/// Shortest duration of a probe, in µs; it lasts at least one round trip. (`ProbeRTTDuration`)
const DURATION_US: u64 = 200_000;

/// Smallest RTT, and the state of its probe. Times are in µs.
#[derive(Debug, Default)]
pub(super) struct MinRtt {
    /// Smallest RTT in µs; `None` before the first sample. (`min_rtt`)
    pub(super) min_us: Option<u32>,
    min_at: u64,
    /// Smallest RTT of the last probe interval. (`probe_rtt_min_delay`)
    recent_us: Option<u32>,
    recent_at: u64,
    /// Whether the probe interval is over. (`probe_rtt_expired`)
    expired: bool,
    /// Time at which a probe may end; `None` while too much is in flight. (`probe_rtt_done_stamp`)
    ends: Option<u64>,
    /// Whether a round trip of the probe has passed. (`probe_rtt_round_done`)
    round_done: bool,
}

impl MinRtt {
    pub(super) fn start(&mut self, flow: &Flow) {
        let at = flow.now.us();
        *self = MinRtt { min_us: flow.rtt.srtt_us(), min_at: at, recent_at: at, ..MinRtt::default() };
    }
}

impl Bbr3 {
    /// Updates the smallest RTT. (`UpdateMinRTT`)
    pub(super) fn update_min_rtt(&mut self, rtt_us: Option<u32>, flow: &Flow) {
        let now = flow.now.us();
        let rtt = &mut self.rtt;
        rtt.expired = now > rtt.recent_at + INTERVAL_US;
        if let Some(rtt_us) = rtt_us
            && (rtt.expired || rtt.recent_us.is_none_or(|recent_us| rtt_us < recent_us))
        {
            rtt.recent_us = Some(rtt_us);
            rtt.recent_at = now;
        }
        let min_expired = now > rtt.min_at + WINDOW_US;
        if let Some(recent_us) = rtt.recent_us
            && (min_expired || rtt.min_us.is_none_or(|min_us| recent_us < min_us))
        {
            rtt.min_us = Some(recent_us);
            rtt.min_at = rtt.recent_at;
        }
    }

    /// Starts and continues a probe. (`CheckProbeRTT`)
    pub(super) fn check_probe_rtt(&mut self, flow: &Flow, control: &mut Control) {
        if self.phase != Phase::ProbeRtt && self.rtt.expired && !self.idle_restart {
            self.save_cwnd(flow, control);
            self.enter(Phase::ProbeRtt);
            self.rtt.ends = None;
            self.cycle.acks = AckPhase::ProbeStopping;
            self.round.restart(flow);
        }
        if self.phase == Phase::ProbeRtt {
            self.continue_probe_rtt(flow, control);
        }
    }

    /// Continues a probe. (`HandleProbeRTT`)
    fn continue_probe_rtt(&mut self, flow: &Flow, control: &mut Control) {
        // The probe itself limits the rate now.
        control.declare_application_limit();
        if self.rtt.ends.is_some() {
            self.rtt.round_done |= self.round.started;
            if self.rtt.round_done {
                self.leave_probe_rtt_when_done(flow, control);
            }
        } else if flow.in_flight() <= self.probe_rtt_cwnd() {
            self.rtt.ends = Some(flow.now.us() + DURATION_US);
            self.rtt.round_done = false;
            self.round.restart(flow);
        }
    }

    /// Ends a probe that is over. (`CheckProbeRTTDone` and `ExitProbeRTT`)
    pub(super) fn leave_probe_rtt_when_done(&mut self, flow: &Flow, control: &mut Control) {
        if self.rtt.ends.is_none_or(|ends| flow.now.us() <= ends) {
            return;
        }
        self.rtt.recent_at = flow.now.us();
        control.cwnd = control.cwnd.max(self.prior_cwnd).min(control.cwnd_clamp);
        self.congestion.lift_bounds();
        if self.full_pipe.reached {
            // The data in flight is already below the BDP, so the flow can cruise.
            self.start_down(flow);
            self.start_cruise();
        } else {
            self.enter_startup();
        }
    }
}
