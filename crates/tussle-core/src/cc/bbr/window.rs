//! The window: the bandwidth-delay product times a gain, room for bursts, and packet conservation in
//! recovery.

use super::{Bbr, CWND_MIN, Phase};
use crate::cc::Control;
use crate::cc::bandwidth::{Bandwidth, Gain};
use crate::tcp::{Ack, Flow, INITIAL_WINDOW_PACKETS, State};

/// Largest burst that the sending host handles as one unit, in packets.
const BURST_MAX_PACKETS: u64 = 127;
/// Largest burst that the sending host handles as one unit, in bytes: 64 KiB less the largest header.
const BURST_MAX_BYTES: u64 = 65_215;
/// Rate in bytes/s below which a burst is one packet: 1.2 Mbit/s.
const SINGLES_BYTES_PER_S: u64 = 1_200_000 / 8;

/// Changes that recovery makes to the window.
#[derive(Debug, Default)]
pub(super) struct Restraint {
    /// Last window that neither recovery nor an RTT probe reduced, in packets.
    pub(super) prior_cwnd: u32,
    /// Congestion state at the previous ACK.
    pub(super) prior_state: State,
    /// Whether the flow conserves packets: in the first round trip of recovery, one packet leaves for each
    /// one that arrived.
    pub(super) conserving: bool,
}

impl Bbr {
    /// Bandwidth-delay product times `gain`, in packets. (Draft: 4.2.3.2, `BBRInflight`.)
    fn bdp(&self, bw: Bandwidth, gain: Gain) -> u32 {
        match self.min_rtt.us {
            Some(us) => bw.window(us.into(), gain),
            None => INITIAL_WINDOW_PACKETS,
        }
    }

    /// [`Bbr::bdp`] with room for bursts.
    pub(super) fn inflight(&self, bw: Bandwidth, gain: Gain, flow: &Flow) -> u32 {
        self.with_room(self.bdp(bw, gain), flow)
    }

    /// Adds room for a burst in the sending host's queue, its network card and the receiver; rounds up to an
    /// even number for delayed ACKs; and adds enough to probe on the shortest path.
    fn with_room(&self, packets: u32, flow: &Flow) -> u32 {
        let even = packets.saturating_add(3 * self.burst(flow) + 1) & !1;
        let probing = self.phase == Phase::ProbeBw && self.cycle.index == 0;
        even.saturating_add(if probing { 2 } else { 0 })
    }

    /// Packets that Linux passes to the network card as one unit: those of one millisecond. This sender
    /// passes single packets, but the window has the same size as Linux's.
    fn burst(&self, flow: &Flow) -> u32 {
        let rate = self.pacing.bytes_per_s;
        let bytes = (rate >> 10).min(BURST_MAX_BYTES);
        let packets = bytes / u64::from(flow.mss_bytes);
        let least = if rate < SINGLES_BYTES_PER_S { 1 } else { 2 };
        u32::try_from(packets.max(least).min(BURST_MAX_PACKETS)).expect("at most 127")
    }

    /// Packets that will be in the network when pacing releases the next one, if `now` are there now.
    pub(super) fn in_network_at_departure(&self, now: u32, flow: &Flow) -> u32 {
        let wait_us = flow.next_send.max(flow.now).since(flow.now).ns() / 1000;
        let joined = if self.pacing_gain > Gain::ONE { now.saturating_add(self.burst(flow)) } else { now };
        joined.saturating_sub(self.bandwidth().packets_in(wait_us))
    }

    /// Saves the window before recovery or a probe. (Draft: 4.2.3.4, `BBRSaveCwnd`.)
    pub(super) fn save_cwnd(&mut self, cwnd: u32) {
        let restraint = &mut self.restraint;
        let is_free = restraint.prior_state < State::Recovery && self.phase != Phase::ProbeRtt;
        restraint.prior_cwnd = if is_free { cwnd } else { restraint.prior_cwnd.max(cwnd) };
    }

    /// Sets the window after an ACK. (Draft: 4.2.3.6, `BBRSetCwnd`.)
    pub(super) fn set_cwnd(&mut self, ack: &Ack, flow: &Flow, control: &mut Control) {
        let mut cwnd = control.cwnd;
        if ack.delivered > 0 {
            cwnd = self.modulate_for_recovery(cwnd, ack, flow);
            if !self.restraint.conserving {
                cwnd = self.towards_target(cwnd, ack, flow);
            }
        }
        control.cwnd = cwnd.min(control.cwnd_clamp);
        if self.phase == Phase::ProbeRtt {
            control.cwnd = control.cwnd.min(CWND_MIN);
        }
    }

    /// Adjusts the window in and after recovery. (Draft: 4.2.3.4, `BBRModulateCwndForRecovery`.)
    fn modulate_for_recovery(&mut self, cwnd: u32, ack: &Ack, flow: &Flow) -> u32 {
        let conserved = flow.in_flight().saturating_add(ack.delivered);
        let mut cwnd = if ack.lost > 0 { cwnd.saturating_sub(ack.lost).max(1) } else { cwnd };
        let restraint = &mut self.restraint;
        if flow.state == State::Recovery && restraint.prior_state != State::Recovery {
            restraint.conserving = true;
            self.round.delivered = flow.delivered;
            // Unused window is not restored.
            cwnd = conserved;
        } else if restraint.prior_state >= State::Recovery && flow.state < State::Recovery {
            restraint.conserving = false;
            cwnd = cwnd.max(restraint.prior_cwnd);
        }
        restraint.prior_state = flow.state;
        if restraint.conserving { cwnd.max(conserved) } else { cwnd }
    }

    /// Moves the window towards the target: up as in slow start, and down at once if the pipe was ever full.
    fn towards_target(&self, cwnd: u32, ack: &Ack, flow: &Flow) -> u32 {
        let fits = self.bdp(self.bandwidth(), self.cwnd_gain);
        let target = self.with_room(fits.saturating_add(self.aggregation_allowance()), flow);
        let grown = cwnd.saturating_add(ack.delivered);
        let cwnd = if self.full_pipe.reached {
            grown.min(target)
        } else if cwnd < target || flow.delivered < INITIAL_WINDOW_PACKETS {
            grown
        } else {
            cwnd
        };
        cwnd.max(CWND_MIN)
    }
}
