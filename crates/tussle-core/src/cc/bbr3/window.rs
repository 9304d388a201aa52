//! The pacing rate and the window that follow from the model. (5.6)

use super::{Bbr3, CWND_MIN, Phase};
use crate::cc::Control;
use crate::cc::bandwidth::{Bandwidth, Gain};
use crate::tcp::{Flow, INITIAL_WINDOW_PACKETS};

/// Bytes that the sending host handles as one, at most.
const QUANTUM_MAX_BYTES: u64 = 64 * 1024;

impl Bbr3 {
    /// (`InitPacingRate`)
    pub(super) fn pace_by_initial_window(&mut self, flow: &Flow, control: &mut Control) {
        // 1 ms is a nominal RTT, until there is a sample.
        let rtt_us = flow.rtt.srtt_us().unwrap_or(1000).max(1);
        let bw = Bandwidth::new(control.cwnd, rtt_us.into());
        self.set_pacing(bw.paced_bytes_per_s(self.phase.gains().0, flow.mss_bytes), control);
    }

    /// By the model: until the pipe is full never slower than before. (`SetPacingRateWithGain`)
    pub(super) fn pace(&mut self, gain: Gain, flow: &Flow, control: &mut Control) {
        let rate = self.bw.paced_bytes_per_s(gain, flow.mss_bytes);
        if self.full_pipe.reached || rate > self.pacing_bytes_per_s {
            self.set_pacing(rate, control);
        }
    }

    fn set_pacing(&mut self, bytes_per_s: u64, control: &mut Control) {
        self.pacing_bytes_per_s = bytes_per_s;
        control.pacing_bit_per_s = Some(bytes_per_s.saturating_mul(8));
    }

    /// (`BDPMultiple`)
    fn bdp_times(&self, bw: Bandwidth, gain: Gain) -> u32 {
        match self.rtt.min_us {
            Some(us) => bw.window(us.into(), gain),
            None => INITIAL_WINDOW_PACKETS,
        }
    }

    pub(super) fn bdp(&self, bw: Bandwidth) -> u32 {
        self.bdp_times(bw, Gain::ONE)
    }

    /// What fits the path, with room for bursts. (`Inflight(1.0)`)
    pub(super) fn inflight(&self, bw: Bandwidth, flow: &Flow) -> u32 {
        self.with_room(self.bdp(bw), flow)
    }

    /// (`TargetInflight`)
    pub(super) fn target_inflight(&self, cwnd: u32) -> u32 {
        self.bdp(self.bw).min(cwnd)
    }

    /// At least three quanta, each what leaves in a millisecond. (`QuantizationBudget`)
    fn with_room(&self, packets: u32, flow: &Flow) -> u32 {
        let mss = u64::from(flow.mss_bytes);
        let quantum = (self.pacing_bytes_per_s / 1000).min(QUANTUM_MAX_BYTES).max(2 * mss);
        let budget = u32::try_from(3 * quantum / mss).expect("at most 192 KiB");
        let room = packets.max(budget).max(CWND_MIN);
        room.saturating_add(if self.phase == Phase::Up { 2 } else { 0 })
    }

    /// Half of what fits the path. (`ProbeRTTCwnd`)
    pub(super) fn probe_rtt_cwnd(&self) -> u32 {
        self.bdp_times(self.bw, Phase::ProbeRtt.gains().1).max(CWND_MIN)
    }

    /// (`SetCwnd`)
    pub(super) fn set_cwnd(&self, newly_acked: u32, flow: &Flow, control: &mut Control) {
        let fits = self.bdp_times(self.bw, self.phase.gains().1);
        let max_inflight = self.with_room(fits.saturating_add(self.aggregation.extra_acked()), flow);
        let grown = control.cwnd.saturating_add(newly_acked);
        let cwnd = if self.full_pipe.reached {
            grown.min(max_inflight)
        } else if control.cwnd < max_inflight || flow.delivered < INITIAL_WINDOW_PACKETS {
            grown
        } else {
            control.cwnd
        };
        let probe = if self.phase == Phase::ProbeRtt { self.probe_rtt_cwnd() } else { u32::MAX };
        let bounded = cwnd.max(CWND_MIN).min(probe).min(self.model_bound());
        control.cwnd = bounded.min(control.cwnd_clamp);
    }

    /// (`BoundCwndForModel`)
    fn model_bound(&self) -> u32 {
        let long_term = match self.phase {
            Phase::Down | Phase::Refill | Phase::Up => self.long_term.inflight,
            Phase::Cruise | Phase::ProbeRtt => self.long_term.with_headroom(),
            Phase::Startup | Phase::Drain => u32::MAX,
        };
        long_term.min(self.congestion.inflight_bound).max(CWND_MIN)
    }
}
