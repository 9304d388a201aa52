//! RTT probing: after ten seconds without a smaller RTT, nearly stop sending for 200 ms.

use super::{Bbr, CWND_MIN, Phase};
use crate::cc::Control;
use crate::tcp::{Ack, Flow};

/// Lifetime of a smallest RTT, in s.
const WINDOW_S: u32 = 10;
/// Shortest duration of a probe, in ms; it lasts at least one round trip.
const DURATION_MS: u32 = 200;

/// Smallest RTT of the last ten seconds.
#[derive(Debug, Default)]
pub(super) struct MinRtt {
    /// RTT in µs; `None` before the first sample.
    pub(super) us: Option<u32>,
    /// Tick of the measurement.
    at: u32,
}

impl MinRtt {
    pub(super) fn start(&mut self, flow: &Flow) {
        *self = MinRtt { us: flow.rtt.min_us(), at: flow.jiffies() };
    }
}

/// State of a probe.
#[derive(Debug, Default)]
pub(super) struct ProbeRtt {
    /// Tick after which the probe may end; `None` while too much is in flight.
    ends: Option<u32>,
    /// Whether a round trip has passed since few packets are in flight.
    round_done: bool,
}

impl Bbr {
    /// Updates the smallest RTT, and starts, continues and ends a probe. (Draft: 4.1.2.3, `BBRUpdateRTprop`,
    /// and 4.3.5, `BBRCheckProbeRTT`.)
    pub(super) fn update_min_rtt(&mut self, ack: &Ack, flow: &Flow, control: &mut Control) {
        let now = flow.jiffies();
        let expired = now > self.min_rtt.at + WINDOW_S * flow.hz;
        if let Some(rtt_us) = ack.rtt_us
            && (expired || self.min_rtt.us.is_none_or(|min_us| rtt_us < min_us))
        {
            self.min_rtt = MinRtt { us: Some(rtt_us), at: now };
        }
        if expired && !self.idle_restart && self.phase != Phase::ProbeRtt {
            self.enter(Phase::ProbeRtt);
            self.save_cwnd(control.cwnd);
            self.probe_rtt.ends = None;
        }
        if self.phase == Phase::ProbeRtt {
            self.continue_probe_rtt(flow, control);
        }
        // An interval was measured, even if too short to be valid: something was delivered.
        if ack.rate.interval_us > 0 {
            self.idle_restart = false;
        }
    }

    fn continue_probe_rtt(&mut self, flow: &Flow, control: &mut Control) {
        // The probe itself limits the rate now.
        control.declare_application_limit();
        if self.probe_rtt.ends.is_some() {
            self.probe_rtt.round_done |= self.round.started;
            if self.probe_rtt.round_done {
                self.leave_probe_rtt_when_done(flow, control);
            }
        } else if flow.in_flight() <= CWND_MIN {
            let ends = flow.jiffies() + DURATION_MS * flow.hz / 1000;
            self.probe_rtt = ProbeRtt { ends: Some(ends), round_done: false };
            self.round.delivered = flow.delivered;
        }
    }

    pub(super) fn leave_probe_rtt_when_done(&mut self, flow: &Flow, control: &mut Control) {
        if self.probe_rtt.ends.is_none_or(|ends| flow.jiffies() <= ends) {
            return;
        }
        self.min_rtt.at = flow.jiffies();
        control.cwnd = control.cwnd.max(self.restraint.prior_cwnd);
        if self.full_pipe.reached {
            self.enter_probe_bw(flow);
        } else {
            self.enter(Phase::Startup);
        }
    }
}
