//! NV (new Vegas): the rate of the last round trips and the smallest RTT give the window that needs no queue.
//! The window moves there slowly, because both numbers are noisy where network cards batch packets. Source:
//! Brakmo, "TCP-NV: An Update to TCP-Vegas", 2010, and its settings as published with Linux 4.8 (2016).
//! Agrees with: Linux 6.1 `nv`, without the smallest RTT that a BPF program can supply. Departs: nowhere
//! known.

use super::{CongestionControl, Control, Entry, Parameter, Parameters};
use crate::tcp::{Ack, Cause, Flow, State};
use crate::util::rng::Rng;

pub(super) const ENTRY: Entry = Entry {
    name: "nv",
    idea: "Move the window slowly to the one that the rate and the smallest RTT need without a queue.",
    source: "Brakmo, TCP-NV: An Update to TCP-Vegas, 2010",
    agrees_with: "Linux 6.1",
    parameters: &[
        Parameter {
            name: "nv_pad",
            default: 10,
            min: 2,
            max: 1 << 20,
            meaning: "packets permitted in the queue",
        },
        Parameter {
            name: "nv_reset_period",
            default: 5,
            min: 1,
            max: 1000,
            meaning: "lifetime of the smallest RTT, in seconds, varied randomly by a quarter",
        },
        Parameter {
            name: "nv_min_cwnd",
            default: 2,
            min: 1,
            max: 1 << 20,
            meaning: "smallest window without losses, in packets",
        },
    ],
    build: |parameters, seed| Box::new(Nv::new(parameters, seed)),
};

/// Margin below `nv_pad` queued packets within which the window does not grow.
const PAD_MARGIN: u32 = 2;
/// Fraction of the excess by which the window shrinks, in 1/128: 30 %.
const DECREASE: u32 = 38;
const DECREASE_ONE: u32 = 128;
/// Excess up to which the window shrinks by the whole excess.
const SMALL_EXCESS: u32 = 2;
/// Fraction of the window kept after a loss, in 1/1024: 80 %.
const LOSS_LEAVES: u32 = 819;
const LOSS_ONE: u32 = 1024;
/// RTT samples needed for a decision: to shrink, to leave slow start, to grow.
const SAMPLES_TO_SHRINK: u8 = 60;
const SAMPLES_TO_LEAVE_SLOW_START: u8 = 30;
const SAMPLES_TO_GROW: u8 = 20;
/// Round trips without a decision before the window may shrink.
const ROUNDS_TO_SHRINK: u8 = 2;
/// Round trips with too large a window after which growth stops without a decision.
const ROUNDS_TO_STOP: u8 = 10;
/// Smallest number of delivered packets per packet of growth.
const MIN_PER: u32 = 4;
/// Largest number of halvings of the growth; each timeout is one.
const MAX_HALVINGS: u32 = 8;
/// Consecutive decisions without congestion after which a halving is taken back.
const DECISIONS_TO_SPEED_UP: u32 = 8;
/// Bounds and step of the window below which a round trip may have only one RTT sample, so that the window
/// must grow.
const BATCH_MIN: u32 = 4;
const BATCH_MAX: u32 = 81;
const BATCH_STEP: u32 = 2;
/// Unit conversion of a rate: a window in bytes times this over µs is in 100 bit/s.
const RATE_SCALE: u64 = 80_000;
const NO_RTT: u32 = u32::MAX;

#[derive(Debug)]
struct Nv {
    settings: Settings,
    rng: Rng,
    rtt: SmallestRtt,
    round: Round,
    growth: Growth,
    /// Largest window, in packets, that the network may batch into one ACK.
    batch: u32,
    /// Value of `una` at the last sample.
    una: u32,
    /// Whether a reduction is in progress, after which the measurements are reset.
    reset_due: bool,
}

#[derive(Debug)]
struct Settings {
    pad: u32,
    reset_period_s: u32,
    min_cwnd: u32,
}

/// RTTs, in µs.
#[derive(Debug)]
struct SmallestRtt {
    /// Exponential average with weight 1/2; zero before the first sample.
    average: u32,
    min: u32,
    /// Smallest RTT of the current period, which becomes `min` in the next.
    min_next: u32,
    /// Tick at which the next period starts.
    period_end: u32,
}

/// Measurements since the last decision.
#[derive(Debug, Default)]
struct Round {
    /// Packet whose acknowledgement ends the round trip.
    end: u32,
    /// Round trips without a decision.
    rounds: u8,
    samples: u8,
    /// Largest rate, in 100 bit/s.
    max_rate: u32,
}

#[derive(Debug)]
struct Growth {
    /// Whether the window may grow (Linux: `nv_allow_cwnd_growth`).
    allowed: bool,
    halvings: u32,
    /// Consecutive decisions without congestion.
    good: u32,
}

/// Assessment of a round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// The window is larger than `target` packets.
    Congested { target: u32 },
    /// The window may grow.
    Free,
    /// Neither, or too few samples.
    Unclear,
}

impl Nv {
    fn new(parameters: &Parameters, seed: u64) -> Nv {
        Nv {
            settings: Settings {
                pad: parameters.get_u32("nv_pad"),
                reset_period_s: parameters.get_u32("nv_reset_period"),
                min_cwnd: parameters.get_u32("nv_min_cwnd"),
            },
            rng: Rng::new(seed, ENTRY.name),
            rtt: SmallestRtt { average: 0, min: NO_RTT, min_next: NO_RTT, period_end: 0 },
            round: Round::default(),
            growth: Growth { allowed: true, halvings: 0, good: 0 },
            batch: BATCH_MIN,
            una: 0,
            reset_due: false,
        }
    }

    fn reset(&mut self, flow: &Flow) {
        self.reset_due = false;
        self.growth.good = 0;
        self.rtt.average = 0;
        self.round = Round { end: flow.una, ..Round::default() };
        self.una = flow.una;
    }

    /// Processes an RTT and the packets in flight over it.
    fn measure(&mut self, rtt_us: u32, in_flight: u32, flow: &Flow) {
        let rtt = &mut self.rtt;
        if rtt.average == 0 {
            rtt.average = rtt_us;
            // The smallest RTT from before a reduction may be out of date.
            rtt.min = rtt_us.wrapping_mul(2);
        } else {
            rtt.average = u32::midpoint(rtt_us, rtt.average);
        }
        let bytes = u64::from(in_flight) * u64::from(flow.mss_bytes);
        let rate = truncated(bytes * RATE_SCALE / u64::from(rtt.average.max(1)));
        self.round.max_rate = self.round.max_rate.max(rate);
        self.round.samples = self.round.samples.saturating_add(1);
        rtt.min = rtt.min.min(rtt.average);
        rtt.min_next = rtt.min_next.min(rtt.average);
        if flow.jiffies() >= rtt.period_end {
            self.begin_period(flow);
        }
    }

    /// Replaces the smallest RTT, which a route change may have made unreachable. The period is random, from
    /// 3/4 to 5/4 of the setting, so that flows do not change at the same time.
    fn begin_period(&mut self, flow: &Flow) {
        self.rtt.min = self.rtt.min_next;
        self.rtt.min_next = NO_RTT;
        let random = self.rng.next_u32() >> 24;
        self.rtt.period_end =
            flow.jiffies() + (self.settings.reset_period_s * (384 + random) * flow.hz) / 512;
        self.batch = (self.batch / 2).max(BATCH_MIN);
    }

    /// Whether one ACK acknowledged the whole round trip: the network batches more than the window.
    fn window_is_a_batch(&self, packets: u32) -> bool {
        self.round.samples == 1 && packets >= self.batch - 1 && self.batch < BATCH_MAX
    }

    /// Window of the largest rate without a queue, plus `nv_pad`.
    fn target(&self, flow: &Flow) -> u32 {
        let scale = RATE_SCALE * u64::from(flow.mss_bytes);
        let no_queue = u64::from(self.round.max_rate) * u64::from(self.rtt.min) / scale;
        truncated(no_queue).wrapping_add(self.settings.pad)
    }

    fn assess(&mut self, flow: &Flow, control: &Control) -> Verdict {
        let target = self.target(flow);
        let Round { rounds, samples, .. } = self.round;
        if control.cwnd > target {
            if rounds < ROUNDS_TO_SHRINK {
                return Verdict::Unclear;
            }
            let needed = if control.has_ssthresh() { SAMPLES_TO_SHRINK } else { SAMPLES_TO_LEAVE_SLOW_START };
            if samples >= needed {
                return Verdict::Congested { target };
            }
            if control.has_ssthresh() && rounds > ROUNDS_TO_STOP {
                self.growth.allowed = false;
            }
            Verdict::Unclear
        } else if control.cwnd <= target.wrapping_sub(PAD_MARGIN) && samples >= SAMPLES_TO_GROW {
            Verdict::Free
        } else {
            Verdict::Unclear
        }
    }

    fn decide(&mut self, flow: &Flow, control: &mut Control) {
        match self.assess(flow, control) {
            Verdict::Unclear => return,
            Verdict::Congested { target } => {
                control.ssthresh = target;
                let excess = control.cwnd - target;
                control.cwnd -= if excess > SMALL_EXCESS {
                    (excess.wrapping_mul(DECREASE) / DECREASE_ONE).max(SMALL_EXCESS)
                } else {
                    excess
                };
                self.growth.allowed = false;
                self.growth.good = 0;
            }
            Verdict::Free => self.growth.on_free_round(),
        }
        self.round = Round { end: self.round.end, ..Round::default() };
        control.cwnd = control.cwnd.max(self.settings.min_cwnd);
    }
}

impl Growth {
    fn on_free_round(&mut self) {
        self.allowed = true;
        self.good += 1;
        if self.halvings > 0 && self.good > DECISIONS_TO_SPEED_UP {
            self.halvings -= 1;
            self.good = 0;
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "wraps where Linux wraps")]
fn truncated(value: u64) -> u32 {
    value as u32
}

impl CongestionControl for Nv {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn on_start(&mut self, flow: &Flow, _control: &mut Control) {
        self.reset(flow);
        self.rtt.period_end = flow.jiffies() + 2 * flow.hz;
    }

    fn on_pkts_acked(&mut self, ack: &Ack, flow: &Flow, control: &mut Control) {
        let Some(rtt_us) = ack.rtt_us.filter(|_| flow.state <= State::Disorder) else { return };
        let packets = flow.una - self.una;
        self.una = flow.una;
        if ack.in_flight == 0 {
            return;
        }
        self.measure(rtt_us, ack.in_flight, flow);
        if flow.una <= self.round.end {
            return;
        }
        self.round.end = flow.nxt;
        self.round.rounds = self.round.rounds.saturating_add(1);
        if self.window_is_a_batch(packets) {
            self.batch = (self.batch + BATCH_STEP).min(BATCH_MAX);
            self.round.end = flow.nxt + self.batch;
            self.round.samples = 0;
            self.growth.allowed = true;
        } else {
            self.decide(flow, control);
        }
    }

    fn on_ack(&mut self, ack: &Ack, flow: &Flow, control: &mut Control) {
        if self.growth.allowed
            && let Some(left) = control.past_slow_start(ack.delivered, flow)
        {
            let halvings = self.growth.halvings;
            let per = if halvings > 0 { control.cwnd << halvings } else { control.cwnd.max(MIN_PER) };
            control.additive(per, left);
        }
    }

    fn on_congestion(&mut self, _cause: Cause, _flow: &Flow, control: &Control) -> u32 {
        control.cwnd_part(LOSS_LEAVES, LOSS_ONE).max(2)
    }

    fn on_state(&mut self, next: State, flow: &Flow, _control: &mut Control) {
        match next {
            State::Open if self.reset_due => self.reset(flow),
            State::Open | State::Disorder => {}
            State::Cwr | State::Recovery | State::Loss => {
                self.reset_due = true;
                self.growth.allowed = false;
                if next == State::Loss {
                    self.growth.halvings = (self.growth.halvings + 1).min(MAX_HALVINGS);
                }
            }
        }
    }

    fn internals(&self, record: &mut dyn FnMut(&'static str, f64)) {
        let known_ms = |us: u32| if us == NO_RTT || us == 0 { f64::NAN } else { f64::from(us) / 1e3 };
        record("min_rtt_ms", known_ms(self.rtt.min));
        record("average_rtt_ms", known_ms(self.rtt.average));
        record("max_rate_bit_per_s", f64::from(self.round.max_rate) * 100.0);
        record("may_grow", f64::from(u8::from(self.growth.allowed)));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::Time;
    use crate::cc::control::INFINITE_SSTHRESH;
    use crate::tcp::WindowUse;

    /// A flow at the start of a round trip, with a smallest RTT of 10 ms.
    fn started() -> (Nv, Flow) {
        let mut nv = Nv::new(&ENTRY.defaults(), 1);
        let flow = Flow { usage: WindowUse::limited(), nxt: 1000, ..Flow::new(1000, 1000) };
        nv.on_start(&flow, &mut Control::default());
        (nv.rtt.average, nv.rtt.min, nv.rtt.min_next) = (10_000, 10_000, 10_000);
        (nv, flow)
    }

    /// Window after `rounds` round trips of `samples` RTTs each, over which the whole window was in flight.
    fn rounds(pair: &mut (Nv, Flow), rtt_us: u32, rounds: u32, samples: u32, control: &mut Control) -> u32 {
        let (nv, flow) = pair;
        for _ in 0..rounds {
            nv.rtt.average = rtt_us;
            let ack = Ack { acked: 1, rtt_us: Some(rtt_us), in_flight: control.cwnd, ..Ack::default() };
            (1..samples).for_each(|_| nv.on_pkts_acked(&ack, flow, control));
            flow.una = nv.round.end + 1;
            flow.nxt = flow.una + control.cwnd;
            nv.on_pkts_acked(&ack, flow, control);
        }
        control.cwnd
    }

    /// 100 packets per 20 ms are 50 per 10 ms: with 10 queued packets permitted, 40 are too many, and the
    /// window shrinks by 40 × 38 / 128 = 11.
    #[test]
    fn a_queue_shrinks_the_window_by_three_tenths_of_the_excess() {
        let (mut pair, mut control) = (started(), Control::new(100, 90));
        assert_eq!(rounds(&mut pair, 20_000, 2, 60, &mut control), 89);
        assert_eq!((control.ssthresh, pair.0.growth.allowed), (60, false));
    }

    /// 100 packets per 11.3 ms are 88 per 10 ms: the target is 98, and the excess of 2 is removed at once.
    #[test]
    fn a_small_excess_is_removed_at_once() {
        assert_eq!(rounds(&mut started(), 11_300, 2, 60, &mut Control::new(100, 90)), 98);
    }

    /// 2 rounds of 29 are 58; in slow start 2 of 15 are 30.
    #[test]
    fn shrinking_needs_60_samples_and_two_rounds_but_30_in_slow_start() {
        for (ssthresh, (round_trips, samples), cwnd) in [
            (90, (2, 29), 100),
            (90, (1, 60), 100),
            (90, (2, 30), 89),
            (INFINITE_SSTHRESH, (2, 14), 100),
            (INFINITE_SSTHRESH, (2, 15), 89),
        ] {
            let shrunk =
                rounds(&mut started(), 20_000, round_trips, samples, &mut Control::new(100, ssthresh));
            assert_eq!(shrunk, cwnd, "{ssthresh} {round_trips} {samples}");
        }
    }

    /// 11 rounds of 5 are only 55 samples, but more than 10 rounds.
    #[test]
    fn after_ten_rounds_without_a_decision_growth_stops() {
        let (mut pair, mut control) = (started(), Control::new(100, 90));
        rounds(&mut pair, 20_000, 10, 5, &mut control);
        assert!(pair.0.growth.allowed);
        rounds(&mut pair, 20_000, 1, 5, &mut control);
        assert_eq!((pair.0.growth.allowed, control.cwnd), (false, 100));
    }

    /// 100 packets in 10 ms: 110 may be in flight. 20 samples let the window grow.
    #[test]
    fn without_a_queue_the_window_may_grow_again() {
        for (samples, allowed) in [(19, false), (20, true)] {
            let mut pair = started();
            pair.0.growth.allowed = false;
            rounds(&mut pair, 10_000, 1, samples, &mut Control::new(100, 90));
            assert_eq!(pair.0.growth.allowed, allowed);
        }
    }

    /// Growth like Reno's, but at 2 packets one packet of growth needs 4 delivered ones; each of up to 8
    /// timeouts doubles the number.
    #[test]
    fn growth_is_renos_halved_by_each_timeout() {
        let (mut nv, flow) = started();
        let grown = |nv: &mut Nv, cwnd: u32, delivered: u32| {
            nv.growth.allowed = true;
            let mut control = Control::new(cwnd, 2);
            nv.on_ack(&Ack { delivered, ..Ack::default() }, &flow, &mut control);
            control.cwnd - cwnd
        };
        assert_eq!((grown(&mut nv, 100, 100), grown(&mut nv, 2, 3), grown(&mut nv, 2, 4)), (1, 0, 1));
        nv.on_state(State::Loss, &flow, &mut Control::default());
        assert_eq!((grown(&mut nv, 100, 199), grown(&mut nv, 100, 200)), (0, 1));
        (0..20).for_each(|_| nv.on_state(State::Loss, &flow, &mut Control::default()));
        assert_eq!(nv.growth.halvings, 8);
    }

    #[test]
    fn nine_good_decisions_take_a_halving_back() {
        let (mut nv, _) = started();
        nv.growth.halvings = 1;
        let halvings = [(); 9].map(|()| {
            nv.growth.on_free_round();
            nv.growth.halvings
        });
        assert_eq!(halvings, [1, 1, 1, 1, 1, 1, 1, 1, 0]);
    }

    /// 100 × 819 / 1024 = 79.98.
    #[test]
    fn a_loss_leaves_four_fifths() {
        let (mut nv, flow) = started();
        assert_eq!(nv.on_congestion(Cause::Loss, &flow, &Control::new(100, 90)), 79);
        assert_eq!(nv.on_congestion(Cause::Loss, &flow, &Control::new(1, 90)), 2);
    }

    #[test]
    fn a_reduction_stops_growth_and_then_resets_the_measurements() {
        let (mut nv, flow) = started();
        nv.on_state(State::Recovery, &flow, &mut Control::default());
        assert_eq!((nv.growth.allowed, nv.rtt.average), (false, 10_000));
        nv.on_state(State::Open, &flow, &mut Control::default());
        assert_eq!((nv.growth.allowed, nv.rtt.average), (false, 0));
    }

    /// Twice the first RTT after a reduction, so that a longer route is noticed.
    #[test]
    fn a_reduction_restarts_the_measurement_of_the_smallest_rtt() {
        let (mut nv, flow) = started();
        nv.reset(&flow);
        nv.measure(30_000, 10, &flow);
        assert_eq!(nv.rtt.min, 30_000);
    }

    /// 5 s × (384 + 0 to 255) / 512: 3.75 to 6.24 s. Averages: 10 and 12 ms are 11, then 11.5.
    #[test]
    fn the_smallest_rtt_is_forgotten_after_about_five_seconds() {
        let (mut nv, mut flow) = started();
        flow.now = Time::from_secs(2);
        nv.measure(12_000, 10, &flow);
        assert_eq!((nv.rtt.min, nv.rtt.min_next), (10_000, NO_RTT));
        assert!((5750..=8240).contains(&nv.rtt.period_end), "{}", nv.rtt.period_end);
        flow.now = Time::from_secs(9);
        nv.measure(12_000, 10, &flow);
        assert_eq!(nv.rtt.min, 11_500);
    }

    /// One ACK acknowledges a window of 4: the next round trip ends 6 packets later than usual.
    #[test]
    fn a_round_trip_with_one_ack_lets_the_window_grow() {
        let (mut pair, mut control) = (started(), Control::new(4, 2));
        pair.0.round.end = 3;
        pair.0.growth.allowed = false;
        rounds(&mut pair, 20_000, 1, 1, &mut control);
        assert_eq!((pair.0.batch, pair.0.growth.allowed), (6, true));
        assert_eq!(pair.0.round.end, pair.1.nxt + 6);
    }

    #[test]
    fn without_losses_the_window_stays_above_nv_min_cwnd() {
        let given = BTreeMap::from([("nv_min_cwnd".to_owned(), 95)]);
        let settings = Nv::new(&ENTRY.parameters(&given).expect("the entry declares it"), 1).settings;
        let mut pair = started();
        pair.0.settings = settings;
        assert_eq!(rounds(&mut pair, 20_000, 2, 60, &mut Control::new(100, 90)), 95);
    }
}
