//! BBR: send at the greatest rate delivered lately, with twice the bandwidth-delay product in flight. BBR
//! models the path by its bottleneck bandwidth and its smallest RTT, and probes for both in turn; a loss is
//! no congestion signal. Source: Cardwell, Cheng, Gunn, Hassas Yeganeh and Jacobson, "BBR: Congestion-Based
//! Congestion Control", ACM Queue 14(5), 2016; draft-cardwell-iccrg-bbr-congestion-control-00. Agrees with:
//! Linux 6.1 `bbr` (version 1). Departs: see docs/deviations/bbr.toml (2 entries).

mod aggregation;
mod policer;
mod probe_bw;
mod probe_rtt;
mod startup;
mod window;

#[cfg(test)]
mod tests;

use self::aggregation::Aggregation;
use self::policer::{Policer, Verdict};
use self::probe_bw::Cycle;
use self::probe_rtt::{MinRtt, ProbeRtt};
use self::startup::FullPipe;
use self::window::Restraint;
use super::bandwidth::{Bandwidth, Gain};
use super::{CongestionControl, Control, Entry, Needs, Recovery};
use crate::tcp::{Ack, Cause, Flow, Limit, State};
use crate::util::rng::Rng;
use crate::util::windowed::WindowedMax;

pub(super) const ENTRY: Entry = Entry {
    name: "bbr",
    idea: "Send at the greatest rate delivered lately, with twice the bandwidth-delay product in flight.",
    source: "Cardwell et al., ACM Queue 14(5), 2016",
    agrees_with: "Linux 6.1",
    parameters: &[],
    build: |_, seed| Box::new(Bbr::new(seed)),
};

/// Gain of startup: 2/ln 2, the smallest gain that doubles the rate each round trip. (Draft: `BBRHighGain`.)
const HIGH_GAIN: Gain = Gain(256 * 2885 / 1000 + 1);
/// Gain of drain: 1/`HIGH_GAIN`, which drains in one round trip the queue of the last round trip of startup.
const DRAIN_GAIN: Gain = Gain(256 * 1000 / 2885);
/// Window gain in steady state, with room for delayed and aggregated ACKs.
const CWND_GAIN: Gain = Gain(2 * 256);
/// Round trips of the maximum filter of the bandwidth: a cycle of probing and two more.
const BANDWIDTH_ROUNDS: u64 = 10;
/// Smallest window, in packets: two pairs, for a receiver that acknowledges every other packet.
const CWND_MIN: u32 = 4;

#[derive(Debug)]
struct Bbr {
    rng: Rng,
    phase: Phase,
    pacing_gain: Gain,
    cwnd_gain: Gain,
    /// Bottleneck bandwidth. (Paper: `BtlBw`.)
    max_bw: WindowedMax<Bandwidth>,
    round: Round,
    full_pipe: FullPipe,
    cycle: Cycle,
    /// Smallest RTT. (Paper: `RTprop`.)
    min_rtt: MinRtt,
    probe_rtt: ProbeRtt,
    policer: Policer,
    aggregation: Aggregation,
    restraint: Restraint,
    /// Whether the flow restarted after idle time and nothing was delivered since.
    idle_restart: bool,
    pacing: Pacing,
}

/// Phase of the algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Find the bandwidth by doubling the rate each round trip.
    Startup,
    /// Empty the queue that startup built.
    Drain,
    /// Probe periodically for more bandwidth.
    ProbeBw,
    /// Send almost nothing, to measure the RTT without a queue.
    ProbeRtt,
}

impl Phase {
    /// Whether `next` may follow this phase.
    fn may_precede(self, next: Phase) -> bool {
        match self {
            Phase::Startup => matches!(next, Phase::Drain | Phase::ProbeRtt),
            Phase::Drain => matches!(next, Phase::ProbeBw | Phase::ProbeRtt),
            // A new cycle of the same phase starts when a detected policer is no longer assumed.
            Phase::ProbeBw => matches!(next, Phase::ProbeBw | Phase::ProbeRtt),
            Phase::ProbeRtt => matches!(next, Phase::Startup | Phase::ProbeBw),
        }
    }
}

/// A round trip counted in packets: it ends when a packet sent after its start is delivered.
#[derive(Debug, Default)]
struct Round {
    count: u64,
    /// `flow.delivered` at the start of the round trip.
    delivered: u32,
    /// Whether the current ACK started the round trip.
    started: bool,
}

/// Pacing rate.
#[derive(Debug, Default)]
struct Pacing {
    bytes_per_s: u64,
    /// Whether the rate is based on a measured RTT.
    measured: bool,
}

impl Bbr {
    fn new(seed: u64) -> Bbr {
        Bbr {
            rng: Rng::new(seed, ENTRY.name),
            phase: Phase::Startup,
            pacing_gain: HIGH_GAIN,
            cwnd_gain: HIGH_GAIN,
            max_bw: WindowedMax::new(Bandwidth::ZERO, 0),
            round: Round::default(),
            full_pipe: FullPipe::default(),
            cycle: Cycle::default(),
            min_rtt: MinRtt::default(),
            probe_rtt: ProbeRtt::default(),
            policer: Policer::default(),
            aggregation: Aggregation::default(),
            restraint: Restraint::default(),
            idle_restart: false,
            pacing: Pacing::default(),
        }
    }

    /// Changes the phase. No other function assigns it.
    fn enter(&mut self, next: Phase) {
        debug_assert!(self.phase.may_precede(next), "{next:?} must not follow {:?}", self.phase);
        self.phase = next;
    }

    /// Bandwidth estimate: that of a detected policer, else the greatest measured one.
    fn bandwidth(&self) -> Bandwidth {
        self.policer.bandwidth().unwrap_or_else(|| self.max_bw.get())
    }

    /// Updates the model with the delivery rate of an ACK.
    fn update_bandwidth(&mut self, ack: &Ack, flow: &Flow) {
        self.round.started = false;
        let Some(delivered) = ack.rate.delivered.filter(|_| ack.rate.interval_us > 0) else { return };
        if ack.rate.prior_delivered >= self.round.delivered {
            self.round.delivered = flow.delivered;
            self.round.count += 1;
            self.round.started = true;
            self.restraint.conserving = false;
        }
        self.watch_policer(ack.lost, ack.rate.limit, flow);
        let bw = Bandwidth::new(delivered, ack.rate.interval_us);
        // A rate limited by the application is a lower bound of the bandwidth.
        if ack.rate.limit == Limit::Network || bw >= self.max_bw.get() {
            self.max_bw.update(bw, self.round.count, BANDWIDTH_ROUNDS);
        }
    }

    fn watch_policer(&mut self, lost: u32, limit: Limit, flow: &Flow) {
        let counts_round = self.round.started && self.phase == Phase::ProbeBw;
        let sample = policer::Sample { lost, limit, round: &self.round, counts_round };
        match self.policer.update(sample, flow) {
            Verdict::Unchanged => {}
            Verdict::Policed => self.pacing_gain = Gain::ONE,
            Verdict::ProbeAgain => self.enter_probe_bw(flow),
        }
    }

    fn update_gains(&mut self) {
        (self.pacing_gain, self.cwnd_gain) = match self.phase {
            Phase::Startup => (HIGH_GAIN, HIGH_GAIN),
            Phase::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Phase::ProbeBw if self.policer.bandwidth().is_some() => (Gain::ONE, CWND_GAIN),
            Phase::ProbeBw => (self.cycle.gain(), CWND_GAIN),
            Phase::ProbeRtt => (Gain::ONE, Gain::ONE),
        };
    }

    /// Paces at the rate of the initial window and the RTT, if it is known.
    fn pace_by_window(&mut self, flow: &Flow, control: &mut Control) {
        self.pacing.measured |= flow.rtt.srtt_us().is_some();
        // Without a sample, 1 ms is the nominal RTT.
        let rtt_us = flow.rtt.srtt_us().map_or(1000, |srtt_us| srtt_us.max(1));
        let bw = Bandwidth::new(control.cwnd, rtt_us.into());
        self.set_pacing(bw.paced_bytes_per_s(HIGH_GAIN, flow.mss_bytes), control);
    }

    /// Paces at the rate of the model; until the pipe is full the rate never falls.
    fn pace(&mut self, gain: Gain, flow: &Flow, control: &mut Control) {
        let rate = self.bandwidth().paced_bytes_per_s(gain, flow.mss_bytes);
        if !self.pacing.measured && flow.rtt.srtt_us().is_some() {
            self.pace_by_window(flow, control);
        }
        if self.full_pipe.reached || rate > self.pacing.bytes_per_s {
            self.set_pacing(rate, control);
        }
    }

    fn set_pacing(&mut self, bytes_per_s: u64, control: &mut Control) {
        self.pacing.bytes_per_s = bytes_per_s;
        control.pacing_bit_per_s = Some(bytes_per_s.saturating_mul(8));
    }
}

impl CongestionControl for Bbr {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn needs(&self) -> Needs {
        Needs {
            recovery: Recovery::Own,
            pacing: true,
            larger_send_buffer: true,
            single_packets: true,
            ..Needs::default()
        }
    }

    fn on_start(&mut self, flow: &Flow, control: &mut Control) {
        self.round.delivered = flow.delivered;
        self.min_rtt.start(flow);
        self.aggregation.restart(flow.now.us());
        self.policer.reset(flow);
        self.pace_by_window(flow, control);
    }

    /// After idle time the path is empty: the flow sends at the estimated bandwidth, not above it.
    fn on_tx_start(&mut self, flow: &Flow, control: &mut Control) {
        if flow.limit != Limit::Application {
            return;
        }
        self.idle_restart = true;
        self.aggregation.restart(flow.now.us());
        match self.phase {
            Phase::ProbeBw => self.pace(Gain::ONE, flow, control),
            Phase::ProbeRtt => self.leave_probe_rtt_when_done(flow, control),
            Phase::Startup | Phase::Drain => {}
        }
    }

    /// Updates the model, where each step builds on the previous one, then the pacing rate and the window.
    fn on_ack(&mut self, ack: &Ack, flow: &Flow, control: &mut Control) {
        self.update_bandwidth(ack, flow);
        self.update_aggregation(ack, flow, control.cwnd);
        self.advance_cycle(ack, flow);
        self.check_full_pipe(ack.rate.limit);
        self.check_drain(flow, control);
        self.update_min_rtt(ack, flow, control);
        self.update_gains();
        self.pace(self.pacing_gain, flow, control);
        self.set_cwnd(ack, flow, control);
    }

    /// Keeps ssthresh, and saves the window for the time after recovery.
    fn on_congestion(&mut self, _cause: Cause, _flow: &Flow, control: &Control) -> u32 {
        self.save_cwnd(control.cwnd);
        control.ssthresh
    }

    fn on_state(&mut self, next: State, flow: &Flow, _control: &mut Control) {
        if next == State::Loss {
            self.restraint.prior_state = State::Loss;
            self.full_pipe.bw = Bandwidth::ZERO;
            // A timeout ends the round trip.
            self.round.started = true;
            self.watch_policer(1, Limit::Network, flow);
        }
    }

    /// Keeps the window, which the next ACK restores, and restarts the search for a full pipe and for a
    /// policer.
    fn on_undo(&mut self, flow: &Flow, control: &Control) -> u32 {
        self.full_pipe.bw = Bandwidth::ZERO;
        self.full_pipe.rounds = 0;
        self.policer.reset(flow);
        control.cwnd
    }

    fn internals(&self, record: &mut dyn FnMut(&'static str, f64)) {
        record("bw_packets_per_s", self.bandwidth().packets_per_s());
        record("min_rtt_ms", self.min_rtt.us.map_or(f64::NAN, |us| f64::from(us) / 1e3));
        record("pacing_gain", self.pacing_gain.to_f64());
        record("cwnd_gain", self.cwnd_gain.to_f64());
        record("extra_acked_packets", f64::from(self.aggregation.extra_acked()));
    }
}
