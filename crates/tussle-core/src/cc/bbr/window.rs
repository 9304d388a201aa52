//! The window: what fits the path at a gain, room for bursts, and restraint in recovery.

use super::{Bbr, CWND_MIN, Phase};
use crate::cc::Control;
use crate::cc::bandwidth::{Bandwidth, Gain};
use crate::tcp::{Ack, Flow, INITIAL_WINDOW_PACKETS, State};

/// Packets that the sending host handles as one, at most.
const BURST_MAX_PACKETS: u64 = 127;
/// Bytes that the sending host handles as one, at most: 64 KiB less the largest header.
const BURST_MAX_BYTES: u64 = 65_215;
/// Below this rate packets are handled one by one, in bytes/s: 1.2 Mbit/s.
const SINGLES_BYTES_PER_S: u64 = 1_200_000 / 8;

/// What recovery does to the window.
#[derive(Debug, Default)]
pub(super) struct Restraint {
    /// The last window that neither recovery nor a probe for the RTT cut, in packets.
    pub(super) prior_cwnd: u32,
    /// The sender's state at the ACK before.
    pub(super) prior_state: State,
    /// In the first round trip of recovery a packet leaves for each one that arrived, not more.
    pub(super) conserving: bool,
}

impl Bbr {
    /// Packets that fit the path, times `gain`. (Draft: 4.2.3.2, `BBRInflight`.)
    fn bdp(&self, bw: Bandwidth, gain: Gain) -> u32 {
        match self.min_rtt.us {
            Some(us) => bw.window(us.into(), gain),
            None => INITIAL_WINDOW_PACKETS,
        }
    }

    /// [`Bbr::bdp`], with room for bursts.
    pub(super) fn inflight(&self, bw: Bandwidth, gain: Gain, flow: &Flow) -> u32 {
        self.with_room(self.bdp(bw, gain), flow)
    }

    /// Room for a burst in each of the sending host's queue, its card, and the receiver; an even number, for
    /// delayed ACKs; and enough to probe on the shortest path.
    fn with_room(&self, packets: u32, flow: &Flow) -> u32 {
        let even = packets.saturating_add(3 * self.burst(flow) + 1) & !1;
        let probing = self.phase == Phase::ProbeBw && self.cycle.index == 0;
        even.saturating_add(if probing { 2 } else { 0 })
    }

    /// Packets that Linux hands down as one: what leaves in a millisecond. They count here as there, though
    /// this sender sends them one by one, so that the windows agree.
    fn burst(&self, flow: &Flow) -> u32 {
        let rate = self.pacing.bytes_per_s;
        let bytes = (rate >> 10).min(BURST_MAX_BYTES);
        let packets = bytes / u64::from(flow.mss_bytes);
        let least = if rate < SINGLES_BYTES_PER_S { 1 } else { 2 };
        u32::try_from(packets.max(least).min(BURST_MAX_PACKETS)).expect("at most 127")
    }

    /// Packets that will be in the network when pacing lets the next one leave, if `now` are there now.
    pub(super) fn in_network_at_departure(&self, now: u32, flow: &Flow) -> u32 {
        let wait_us = flow.next_send.max(flow.now).since(flow.now).ns() / 1000;
        let joined = if self.pacing_gain > Gain::ONE { now.saturating_add(self.burst(flow)) } else { now };
        joined.saturating_sub(self.bandwidth().packets_in(wait_us))
    }

    /// (Draft: 4.2.3.4, `BBRSaveCwnd`.)
    pub(super) fn save_cwnd(&mut self, cwnd: u32) {
        let restraint = &mut self.restraint;
        let is_free = restraint.prior_state < State::Recovery && self.phase != Phase::ProbeRtt;
        restraint.prior_cwnd = if is_free { cwnd } else { restraint.prior_cwnd.max(cwnd) };
    }

    /// (Draft: 4.2.3.6, `BBRSetCwnd`.)
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

    /// (Draft: 4.2.3.4, `BBRModulateCwndForRecovery`.)
    fn modulate_for_recovery(&mut self, cwnd: u32, ack: &Ack, flow: &Flow) -> u32 {
        let conserved = flow.in_flight().saturating_add(ack.delivered);
        let mut cwnd = if ack.lost > 0 { cwnd.saturating_sub(ack.lost).max(1) } else { cwnd };
        let restraint = &mut self.restraint;
        if flow.state == State::Recovery && restraint.prior_state != State::Recovery {
            restraint.conserving = true;
            self.round.delivered = flow.delivered;
            // Window that was not used is not given back.
            cwnd = conserved;
        } else if restraint.prior_state >= State::Recovery && flow.state < State::Recovery {
            restraint.conserving = false;
            cwnd = cwnd.max(restraint.prior_cwnd);
        }
        restraint.prior_state = flow.state;
        if restraint.conserving { cwnd.max(conserved) } else { cwnd }
    }

    /// Towards the target like slow start; down to it at once, if the pipe was ever full.
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
