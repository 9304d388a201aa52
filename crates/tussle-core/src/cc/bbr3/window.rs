//! Pacing rate and window that follow from the model. (5.6)

use super::{Bbr3, CWND_MIN, Phase};
use crate::cc::Control;
use crate::cc::bandwidth::{Bandwidth, Gain};
use crate::tcp::{Flow, INITIAL_WINDOW_PACKETS};

/// Largest burst that the sending host handles as one unit, in bytes.
const QUANTUM_MAX_BYTES: u64 = 64 * 1024;

impl Bbr3 {
    /// Paces at the rate of the initial window. (`InitPacingRate`)
    pub(super) fn pace_by_initial_window(&mut self, flow: &Flow, control: &mut Control) {
        // Without a sample, 1 ms is the nominal RTT.
        let rtt_us = flow.rtt.srtt_us().unwrap_or(1000).max(1);
        let bw = Bandwidth::new(control.cwnd, rtt_us.into());
        self.set_pacing(bw.paced_bytes_per_s(self.phase.gains().0, flow.mss_bytes), control);
    }

    /// Paces at the rate of the model; until the pipe is full the rate never falls. (`SetPacingRateWithGain`)
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

    /// Bandwidth-delay product times `gain`, in packets. (`BDPMultiple`)
    fn bdp_times(&self, bw: Bandwidth, gain: Gain) -> u32 {
        match self.rtt.min_us {
            Some(us) => bw.window(us.into(), gain),
            None => INITIAL_WINDOW_PACKETS,
        }
    }

    pub(super) fn bdp(&self, bw: Bandwidth) -> u32 {
        self.bdp_times(bw, Gain::ONE)
    }

    /// Bandwidth-delay product with room for bursts. (`Inflight(1.0)`)
    pub(super) fn inflight(&self, bw: Bandwidth, flow: &Flow) -> u32 {
        self.with_room(self.bdp(bw), flow)
    }

    /// Data in flight that the flow aims at: the BDP, within the window. (`TargetInflight`)
    pub(super) fn target_inflight(&self, cwnd: u32) -> u32 {
        self.bdp(self.bw).min(cwnd)
    }

    /// Adds room for bursts: at least three quanta of one millisecond each. (`QuantizationBudget`)
    fn with_room(&self, packets: u32, flow: &Flow) -> u32 {
        let mss = u64::from(flow.mss_bytes);
        let quantum = (self.pacing_bytes_per_s / 1000).min(QUANTUM_MAX_BYTES).max(2 * mss);
        let budget = u32::try_from(3 * quantum / mss).expect("at most 192 KiB");
        let room = packets.max(budget).max(CWND_MIN);
        room.saturating_add(if self.phase == Phase::Up { 2 } else { 0 })
    }

    /// Window of an RTT probe: half of the BDP. (`ProbeRTTCwnd`)
    pub(super) fn probe_rtt_cwnd(&self) -> u32 {
        self.bdp_times(self.bw, Phase::ProbeRtt.gains().1).max(CWND_MIN)
    }

    /// Sets the window after an ACK. (`SetCwnd`)
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

    /// Bound of the window by the model. (`BoundCwndForModel`)
    fn model_bound(&self) -> u32 {
        let long_term = match self.phase {
            Phase::Down | Phase::Refill | Phase::Up => self.long_term.inflight,
            Phase::Cruise | Phase::ProbeRtt => self.long_term.with_headroom(),
            Phase::Startup | Phase::Drain => u32::MAX,
        };
        long_term.min(self.congestion.inflight_bound).max(CWND_MIN)
    }
}
