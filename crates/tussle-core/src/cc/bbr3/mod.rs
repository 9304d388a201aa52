//! BBR version 3: send at the greatest rate delivered lately, with twice the bandwidth-delay product in
//! flight, but with at most the data in flight that lost no more than 2 %. Like version 1 it probes for the
//! bandwidth and the smallest RTT in turn; in addition a loss between the probes lowers the rate and the
//! window for a short time. Source: Cardwell, Swett and Beshay (editors), "BBR Congestion Control",
//! draft-ietf-ccwg-bbr-06, 6 July 2026; its names are in the comments. Agrees with: the draft; Linux 6.1 has
//! no version 3. Departs: see docs/deviations/bbr3.toml (6 entries).

mod aggregation;
mod congestion;
mod long_term;
mod probe_bw;
mod probe_rtt;
mod startup;
mod window;

#[cfg(test)]
mod tests;

use self::aggregation::Aggregation;
use self::congestion::{Congestion, Undo};
use self::long_term::LongTerm;
use self::probe_bw::Cycle;
use self::probe_rtt::MinRtt;
use self::startup::FullPipe;
use super::bandwidth::{Bandwidth, Gain};
use super::{CongestionControl, Control, Entry, Needs, Recovery};
use crate::tcp::{Ack, Cause, Flow, Limit, Lost, State};
use crate::util::rng::Rng;

pub(super) const ENTRY: Entry = Entry {
    name: "bbr3",
    idea: "BBR with bounds of rate and data in flight that adapt to losses.",
    source: "Cardwell, Swett and Beshay, draft-ietf-ccwg-bbr-06, 2026",
    agrees_with: "draft-ietf-ccwg-bbr-06",
    parameters: &[],
    build: |_, seed| Box::new(Bbr3::new(seed)),
};

/// Smallest window, in packets. (`MinPipeCwnd`)
const CWND_MIN: u32 = 4;
/// Absence of a bound. (`Infinity`)
const UNBOUNDED: u32 = u32::MAX;

#[derive(Debug)]
struct Bbr3 {
    rng: Rng,
    phase: Phase,
    round: Round,
    full_pipe: FullPipe,
    cycle: Cycle,
    /// Greatest rate of the previous cycle and of this one. (`max_bw_filter`)
    max_bw: [Bandwidth; 2],
    /// Bandwidth estimate: the greatest rate, within the short-term bound. (`bw`)
    bw: Bandwidth,
    congestion: Congestion,
    long_term: LongTerm,
    undo: Undo,
    aggregation: Aggregation,
    rtt: MinRtt,
    /// Last window that neither recovery nor an RTT probe reduced, in packets. (`prior_cwnd`)
    prior_cwnd: u32,
    /// Whether the flow restarted after idle time and nothing was delivered since.
    idle_restart: bool,
    pacing_bytes_per_s: u64,
}

/// Phase of the algorithm. (`state`)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Double the rate each round trip.
    Startup,
    /// Empty the queue that startup built.
    Drain,
    /// Send slightly less than the delivered rate.
    Down,
    /// Send at the delivered rate.
    Cruise,
    /// Send for a round trip as much as the long-term bounds allow.
    Refill,
    /// Send above the greatest delivered rate.
    Up,
    /// Halve the data in flight, to measure the RTT without a queue.
    ProbeRtt,
}

impl Phase {
    fn is_probe_bw(self) -> bool {
        matches!(self, Phase::Down | Phase::Cruise | Phase::Refill | Phase::Up)
    }

    /// Whether `next` may follow this phase. A spurious loss detection undoes the end of startup or of an
    /// upward probe, which leads to startup or to a refill. (5.3, and `HandleSpuriousLossDetection`)
    fn may_precede(self, next: Phase) -> bool {
        match self {
            Phase::Startup => matches!(next, Phase::Drain | Phase::ProbeRtt),
            Phase::Drain => matches!(next, Phase::Startup | Phase::Down | Phase::ProbeRtt),
            Phase::Down => matches!(next, Phase::Startup | Phase::Cruise | Phase::Refill | Phase::ProbeRtt),
            Phase::Cruise => matches!(next, Phase::Startup | Phase::Refill | Phase::ProbeRtt),
            Phase::Refill => matches!(next, Phase::Startup | Phase::Refill | Phase::Up | Phase::ProbeRtt),
            Phase::Up => matches!(next, Phase::Startup | Phase::Down | Phase::ProbeRtt),
            Phase::ProbeRtt => matches!(next, Phase::Startup | Phase::Down),
        }
    }

    /// Whether the flow sends more than may fit the path. (`IsProbingBW`)
    fn accelerates(self) -> bool {
        matches!(self, Phase::Startup | Phase::Refill | Phase::Up)
    }

    /// Gains of rate and window relative to the model. The startup rate gain is 4 ln 2 = 2.77, which doubles
    /// the rate each round trip. (5.6.1)
    fn gains(self) -> (Gain, Gain) {
        match self {
            Phase::Startup => (Gain(256 * 277 / 100), Gain(512)),
            Phase::Drain => (Gain(128), Gain(512)),
            Phase::Down => (Gain(256 * 9 / 10), Gain(512)),
            Phase::Cruise | Phase::Refill => (Gain::ONE, Gain(512)),
            Phase::Up => (Gain(320), Gain(576)),
            Phase::ProbeRtt => (Gain::ONE, Gain(128)),
        }
    }
}

/// A round trip counted in packets: it ends when a packet sent after its start is delivered. (5.5.1)
#[derive(Debug, Default)]
struct Round {
    count: u64,
    /// `flow.delivered` at the start of the round trip.
    delivered: u32,
    /// Whether the current ACK started the round trip.
    started: bool,
}

impl Round {
    /// Starts a round trip. (`StartRound`)
    fn restart(&mut self, flow: &Flow) {
        self.delivered = flow.delivered;
    }
}

/// A valid delivery-rate sample. (`RS`)
#[derive(Clone, Copy, Debug)]
struct Sample {
    bw: Bandwidth,
    delivered: u32,
    prior_delivered: u32,
    /// Packets in flight when the newest acknowledged packet was sent, and packets lost since.
    tx_in_flight: u32,
    lost: u32,
    limit: Limit,
    newly_acked: u32,
}

impl Sample {
    fn of(ack: &Ack) -> Option<Sample> {
        let rate = &ack.rate;
        let delivered = rate.delivered.filter(|_| rate.interval_us > 0)?;
        Some(Sample {
            bw: Bandwidth::new(delivered, rate.interval_us),
            delivered,
            prior_delivered: rate.prior_delivered,
            tx_in_flight: rate.tx_in_flight,
            lost: rate.lost,
            limit: rate.limit,
            newly_acked: ack.delivered,
        })
    }
}

impl Bbr3 {
    fn new(seed: u64) -> Bbr3 {
        Bbr3 {
            rng: Rng::new(seed, ENTRY.name),
            phase: Phase::Startup,
            round: Round::default(),
            full_pipe: FullPipe::default(),
            cycle: Cycle::default(),
            max_bw: [Bandwidth::ZERO; 2],
            bw: Bandwidth::ZERO,
            congestion: Congestion::default(),
            long_term: LongTerm::default(),
            undo: Undo::default(),
            aggregation: Aggregation::default(),
            rtt: MinRtt::default(),
            prior_cwnd: 0,
            idle_restart: false,
            pacing_bytes_per_s: 0,
        }
    }

    /// Changes the phase. No other function assigns it.
    fn enter(&mut self, next: Phase) {
        debug_assert!(self.phase.may_precede(next), "{next:?} must not follow {:?}", self.phase);
        self.phase = next;
    }

    /// Greatest rate of this cycle and the previous one. (`max_bw`)
    fn max_bw(&self) -> Bandwidth {
        self.max_bw[0].max(self.max_bw[1])
    }

    /// Updates the round trip and the greatest rate. (`UpdateRound` and `UpdateMaxBw`)
    fn update_max_bw(&mut self, sample: &Sample, flow: &Flow) {
        self.round.started = sample.prior_delivered >= self.round.delivered;
        if self.round.started {
            self.round.restart(flow);
            self.round.count += 1;
            self.cycle.rounds_since_up += 1;
        }
        // A rate limited by the application is a lower bound of the bandwidth.
        if sample.limit == Limit::Network || sample.bw >= self.max_bw() {
            self.max_bw[1] = self.max_bw[1].max(sample.bw);
        }
    }

    /// Advances the maximum filter at the end of a cycle; a cycle without samples does not count.
    /// (`AdvanceMaxBwFilter`)
    fn advance_max_bw(&mut self) {
        if self.max_bw[1] > Bandwidth::ZERO {
            self.max_bw = [self.max_bw[1], Bandwidth::ZERO];
        }
    }

    /// Updates the model; each step builds on the previous one. (`UpdateModelAndState`)
    fn update_model(&mut self, sample: &Sample, flow: &Flow, control: &Control) {
        self.update_latest(sample, flow);
        self.update_max_bw(sample, flow);
        self.adapt_to_congestion(control.cwnd);
        self.update_aggregation(sample, flow, control.cwnd);
        self.check_full_pipe(sample);
        self.check_startup_done(sample, flow);
        self.check_drain_done(flow);
        self.update_cycle(sample, flow, control);
    }
}

impl CongestionControl for Bbr3 {
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
        self.rtt.start(flow);
        self.aggregation.restart(flow);
        self.pace_by_initial_window(flow, control);
    }

    /// After idle time the path is empty: the flow sends at the estimated bandwidth, not above it. (5.4.1)
    fn on_tx_start(&mut self, flow: &Flow, control: &mut Control) {
        if flow.limit != Limit::Application {
            return;
        }
        self.idle_restart = true;
        self.aggregation.restart(flow);
        if self.phase.is_probe_bw() {
            self.pace(Gain::ONE, flow, control);
        } else if self.phase == Phase::ProbeRtt {
            self.leave_probe_rtt_when_done(flow, control);
        }
    }

    fn on_ack(&mut self, ack: &Ack, flow: &Flow, control: &mut Control) {
        let sample = Sample::of(ack);
        self.round.started = false;
        if let Some(sample) = &sample {
            self.update_model(sample, flow, control);
        }
        self.update_min_rtt(ack.rtt_us, flow);
        self.check_probe_rtt(flow, control);
        if ack.rate.interval_us > 0 {
            self.idle_restart = false;
        }
        if let Some(sample) = &sample {
            self.congestion.advance_latest(sample);
        }
        self.bw = self.max_bw().min(self.congestion.bw_bound);
        self.pace(self.phase.gains().0, flow, control);
        self.set_cwnd(ack.delivered, flow, control);
    }

    fn on_lost(&mut self, lost: &Lost, flow: &Flow, control: &mut Control) {
        self.handle_lost(lost, flow, control);
    }

    /// Keeps ssthresh; `on_lost` has already adapted the model.
    fn on_congestion(&mut self, cause: Cause, flow: &Flow, control: &Control) -> u32 {
        self.save_cwnd(flow, control);
        if cause != Cause::Ecn {
            self.note_loss(flow, control);
        }
        control.ssthresh
    }

    fn on_state(&mut self, next: State, flow: &Flow, control: &mut Control) {
        if next < State::Cwr {
            self.undo.close();
        }
        if flow.state >= State::Recovery && next < State::Recovery {
            control.cwnd = control.cwnd.max(self.prior_cwnd).min(control.cwnd_clamp);
        }
    }

    fn on_undo(&mut self, flow: &Flow, control: &Control) -> u32 {
        self.undo_losses(flow);
        control.cwnd.max(self.prior_cwnd).min(control.cwnd_clamp)
    }

    fn internals(&self, record: &mut dyn FnMut(&'static str, f64)) {
        let bound = |packets: u32| if packets == UNBOUNDED { f64::NAN } else { f64::from(packets) };
        let (pacing_gain, cwnd_gain) = self.phase.gains();
        record("bw_packets_per_s", self.bw.packets_per_s());
        record("max_bw_packets_per_s", self.max_bw().packets_per_s());
        record("min_rtt_ms", self.rtt.min_us.map_or(f64::NAN, |us| f64::from(us) / 1e3));
        record("pacing_gain", pacing_gain.to_f64());
        record("cwnd_gain", cwnd_gain.to_f64());
        record("extra_acked_packets", f64::from(self.aggregation.extra_acked()));
        record("inflight_longterm_packets", bound(self.long_term.inflight));
        record("inflight_shortterm_packets", bound(self.congestion.inflight_bound));
    }
}
