//! CDG (CAIA delay gradient): a growing RTT indicates a growing queue. The steeper the growth, the likelier a
//! reduction. A loss halves a shadow window, which reductions for delay do not change, so that they cost less beside
//! loss-based flows. Source: Hayes and
//! Armitage, "Revisiting TCP Congestion Control Using Delay Gradients", IFIP Networking, 2011. Agrees with:
//! Linux 6.1 `cdg`, which adds hybrid slow start and sums gradients where the paper averages them. Departs:
//! see docs/deviations/cdg.toml (2 entries).

use super::{CongestionControl, Control, Entry, Parameter, Parameters};
use crate::tcp::{Ack, Cause, Flow};
use crate::util::rng::Rng;

pub(super) const ENTRY: Entry = Entry {
    name: "cdg",
    idea: "Reduce the window with a probability that rises with the growth of the RTT.",
    source: "Hayes and Armitage, IFIP Networking, 2011",
    agrees_with: "Linux 6.1",
    parameters: &[
        Parameter {
            name: "window",
            default: 8,
            min: 1,
            max: 256,
            meaning: "round trips over which gradients are summed; a power of two",
        },
        Parameter {
            name: "backoff_beta",
            default: 724,
            min: 0,
            max: 1024,
            meaning: "fraction of the window kept after a rise of the delay, in 1/1024",
        },
        Parameter {
            name: "backoff_factor",
            default: 42,
            min: 0,
            max: 1 << 20,
            meaning: "factor of the reduction probability after a rise of the delay: 1 - exp(-factor × µs / 10⁶)",
        },
        Parameter {
            name: "hystart_detect",
            default: 3,
            min: 0,
            max: 3,
            meaning: "early end of slow start: 1: by ACK train length, 2: by delay, 3: by either",
        },
        Parameter {
            name: "use_ineff",
            default: 5,
            min: 0,
            max: 1 << 16,
            meaning: "largest number of consecutive reductions that do not lower the delay; 0: no limit",
        },
        Parameter {
            name: "use_shadow",
            default: 1,
            min: 0,
            max: 1,
            meaning: "1: a loss halves the shadow window, which delay does not reduce",
        },
        Parameter {
            name: "use_tolerance",
            default: 0,
            min: 0,
            max: 1,
            meaning: "1: a loss while the queue is not full does not reduce the window",
        },
    ],
    build: |parameters, seed| Box::new(Cdg::new(parameters, seed)),
};

/// Unit of β: 1/1024.
const BETA_ONE: u32 = 1024;
const CWND_MIN: u32 = 2;
/// Gradient, in µs, at or below which a reduction was effective.
const EFFECT_US: i32 = -32;
/// Step of gradients with loss tolerance, in µs: a gradient below half of it counts as zero.
const NOISE_US: i32 = 64;
/// Largest gap between the ACKs of one train, in µs.
const TRAIN_GAP_US: u64 = 3000;
/// Lower bound of half the smallest RTT and of an eighth of it, in µs.
const MIN_SPAN_US: u32 = 125;
/// RTT samples of a round trip before slow start evaluates the delay.
const MIN_SAMPLES: u16 = 8;
/// Largest value of [`Path::delayed`].
const MAX_DELAYED: u8 = 5;
/// Table of `exp(-x)` in 1/65536 for x = 256, 512, … 2²³ millionths.
const EXP: [u64; 16] = [
    65519, 65502, 65469, 65402, 65268, 65002, 64471, 63423, 61379, 57485, 50424, 38796, 22966, 8048, 988, 15,
];

#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent switches, each a parameter of Linux")]
struct Settings {
    backoff_beta: u32,
    backoff_factor: u32,
    ends_by_train: bool,
    ends_by_delay: bool,
    use_ineff: u32,
    use_shadow: bool,
    use_tolerance: bool,
}

#[derive(Debug)]
struct Cdg {
    settings: Settings,
    rng: Rng,
    /// Window, in packets, that losses alone would have caused. (Paper: shadow window `s`.)
    shadow_cwnd: u32,
    path: Path,
}

/// Path measurements, which idle time resets.
#[derive(Debug)]
struct Path {
    /// Packet whose acknowledgement ends the round trip.
    round_end: u32,
    rtt: Option<Extremes>,
    /// RTTs of the previous round trip.
    rtt_before: Option<Extremes>,
    gradients: Gradients,
    queue: QueueState,
    /// Consecutive reductions without effect, in 16 bits as in Linux.
    ineffectual: u16,
    /// Number of coming single-packet ACKs that count as delayed ACKs: one for each ACK of several packets, which shows
    /// that the receiver delays ACKs. (Linux: `delack`.)
    delayed: u8,
    slow_start: SlowStart,
}

/// Smallest and largest value in a round trip: RTTs in µs, or their change since the previous round trip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Extremes {
    min: i32,
    max: i32,
}

impl Extremes {
    fn minus(self, before: Extremes) -> Extremes {
        Extremes { min: self.min.wrapping_sub(before.min), max: self.max.wrapping_sub(before.max) }
    }

    fn plus(self, other: Extremes) -> Extremes {
        Extremes { min: self.min.wrapping_add(other.min), max: self.max.wrapping_add(other.max) }
    }
}

/// Gradients of the last round trips. (Paper: `g_min`, `g_max`, moving average.)
#[derive(Debug)]
struct Gradients {
    last: Vec<Extremes>,
    next: usize,
    sum: Extremes,
    is_full: bool,
}

impl Gradients {
    fn new(window: usize) -> Gradients {
        Gradients {
            last: vec![Extremes::default(); window],
            next: 0,
            sum: Extremes::default(),
            is_full: false,
        }
    }

    fn add(&mut self, gradient: Extremes) {
        let oldest = std::mem::replace(&mut self.last[self.next], gradient);
        self.sum = self.sum.plus(gradient.minus(oldest));
        self.next = (self.next + 1) % self.last.len();
        self.is_full |= self.next == 0;
    }

    /// Growth of the delay over the window of round trips, in µs; extrapolated while the window is
    /// incomplete.
    fn growth(&self) -> i32 {
        let grown = if self.sum.min > 0 { self.sum.min } else { self.sum.max };
        let count = |number: usize| i32::try_from(number).expect("a window has 256 gradients at most");
        if self.is_full { grown } else { grown.wrapping_mul(count(self.last.len())) / count(self.next) }
    }
}

/// Queue state according to the gradients. (Paper: `Q`.)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum QueueState {
    Unknown,
    NotFull,
    Full,
    /// The flow reduces its window because of the delay.
    BackingOff,
}

/// Hybrid slow start with CDG's own RTT filter. Source: Ha and Rhee, "Taming the Elephants: New TCP Slow
/// Start", Computer Networks 55(9), 2011.
#[derive(Debug, Default)]
struct SlowStart {
    /// Smallest RTT, in µs.
    rtt_min: Option<i32>,
    /// Start of the ACK train of this round trip, and time of its last ACK, in µs.
    train: Option<(u64, u64)>,
    samples: u16,
}

/// Input of slow start from an ACK.
#[derive(Clone, Copy, Debug)]
struct Evidence {
    now_us: u64,
    /// RTTs of this round trip.
    rtt: Option<Extremes>,
    /// Whether the window limits the flow, so that the ACK may belong to a train. Otherwise ACKs arrive as
    /// the application writes.
    cwnd_limited: bool,
}

impl SlowStart {
    /// Whether the path is full and slow start should end.
    fn should_end(&mut self, settings: &Settings, evidence: Evidence) -> bool {
        self.rtt_min = self.rtt_min.into_iter().chain(evidence.rtt.map(|rtt| rtt.min)).min();
        let Some(rtt_min_us) = self.rtt_min.map(i32::unsigned_abs) else { return false };
        (settings.ends_by_train && self.train_is_long(rtt_min_us, evidence))
            || (settings.ends_by_delay && self.delay_is_long(rtt_min_us, evidence.rtt))
    }

    /// Whether ACKs arrived for longer than half the smallest RTT, which is about the one-way delay.
    fn train_is_long(&mut self, rtt_min_us: u32, Evidence { now_us, cwnd_limited, .. }: Evidence) -> bool {
        match self.train {
            Some((began, last)) if cwnd_limited => {
                if now_us >= last + TRAIN_GAP_US {
                    return false;
                }
                self.train = Some((began, now_us));
                now_us > began + u64::from((rtt_min_us / 2).max(MIN_SPAN_US))
            }
            _ => {
                self.train = Some((now_us, now_us));
                false
            }
        }
    }

    /// Whether the RTT of this round trip is an eighth above the smallest.
    fn delay_is_long(&mut self, rtt_min_us: u32, rtt: Option<Extremes>) -> bool {
        if self.samples < MIN_SAMPLES {
            self.samples += 1;
            return false;
        }
        let threshold_us = (rtt_min_us + rtt_min_us / 8).max(MIN_SPAN_US);
        rtt.is_some_and(|rtt| rtt.min.unsigned_abs() > threshold_us)
    }

    fn start_round(&mut self) {
        self.train = None;
        self.samples = 0;
    }
}

impl Path {
    fn new(flow: &Flow, window: usize) -> Path {
        Path {
            round_end: flow.nxt,
            rtt: None,
            rtt_before: None,
            gradients: Gradients::new(window),
            queue: QueueState::Unknown,
            ineffectual: 0,
            delayed: 0,
            slow_start: SlowStart::default(),
        }
    }

    /// Ends the round trip if its last packet is acknowledged; returns the growth of the delay, in µs, if the RTTs of a
    /// previous round trip are known.
    fn end_round(&mut self, flow: &Flow) -> Option<i32> {
        let rtt = self.rtt.filter(|_| flow.una > self.round_end)?;
        let growth = self.rtt_before.map(|before| {
            self.gradients.add(rtt.minus(before));
            self.gradients.growth()
        });
        self.start_round(flow);
        self.slow_start.start_round();
        growth
    }

    fn start_round(&mut self, flow: &Flow) {
        self.round_end = flow.nxt;
        self.rtt_before = self.rtt.take();
    }

    /// Classifies the queue: full if the smallest delay still grows and the largest no longer can. (Paper:
    /// 3.3.)
    fn classify_queue(&mut self) {
        let Extremes { min, max } = self.gradients.sum;
        let (min, max) = (without_noise(min), without_noise(max));
        if min > 0 && max <= 0 {
            self.queue = QueueState::Full;
        } else if (min > 0 && max > 0) || max < 0 {
            self.queue = QueueState::NotFull;
        }
    }
}

/// Rounds to steps of [`NOISE_US`], halves away from zero.
fn without_noise(us: i32) -> i32 {
    let half = if us > 0 { NOISE_US / 2 } else { -NOISE_US / 2 };
    us.wrapping_add(half) / NOISE_US
}

/// `exp(-millionths × 10⁻⁶)` in 2⁻³², rounded down as Linux rounds it.
fn exp_of_minus(millionths: u32) -> u32 {
    if millionths >= 1 << 24 {
        return 0;
    }
    // exp(-x) is about 1 - x for the lowest eight bits; each higher bit is a factor.
    let lowest = u64::from(u32::MAX - (millionths & 0xff) * (u32::MAX / 1_000_000));
    let factors = (8..).zip(EXP).filter(|(bit, _)| millionths >> bit & 1 == 1);
    let product = factors.fold(lowest, |product, (_, factor)| (product * factor) >> 16);
    u32::try_from(product).expect("no factor is above 1")
}

impl Cdg {
    fn new(parameters: &Parameters, seed: u64) -> Cdg {
        let is_set = |name: &str| parameters.get(name) != 0;
        let detect = parameters.get("hystart_detect");
        let window = 1 << parameters.get_u32("window").ilog2();
        Cdg {
            settings: Settings {
                backoff_beta: parameters.get_u32("backoff_beta"),
                backoff_factor: parameters.get_u32("backoff_factor"),
                ends_by_train: detect & 1 != 0,
                ends_by_delay: detect & 2 != 0,
                use_ineff: parameters.get_u32("use_ineff"),
                use_shadow: is_set("use_shadow"),
                use_tolerance: is_set("use_tolerance"),
            },
            rng: Rng::new(seed, ENTRY.name),
            shadow_cwnd: 0,
            path: Path::new(&Flow::new(1, 1), window),
        }
    }

    fn reset(&mut self, flow: &Flow, control: &Control) {
        self.path = Path::new(flow, self.path.gradients.last.len());
        self.shadow_cwnd = control.cwnd;
    }

    /// Whether the flow backs off for a delay that grew by `growth_us`. (Paper: `P[backoff] = 1 - exp(-g /
    /// G)`.)
    fn backs_off(&mut self, growth_us: i32) -> bool {
        let x = growth_us.unsigned_abs().wrapping_mul(self.settings.backoff_factor);
        if self.rng.next_u32() <= exp_of_minus(x) {
            return false;
        }
        if self.settings.use_ineff == 0 {
            return true;
        }
        // Loss-based flows keep the queue full whatever this flow does. (Paper: ineffectual backoff.)
        self.path.ineffectual = self.path.ineffectual.wrapping_add(1);
        u32::from(self.path.ineffectual) <= self.settings.use_ineff
    }

    /// Processes the growth of the delay over a round trip; returns whether the flow backs off.
    fn process_growth(&mut self, growth_us: i32, control: &mut Control) -> bool {
        let Extremes { min, max } = self.path.gradients.sum;
        if min <= EFFECT_US || max <= EFFECT_US {
            self.path.ineffectual = 0;
        }
        if self.settings.use_tolerance {
            self.path.classify_queue();
        }
        if growth_us <= 0 || !self.backs_off(growth_us) {
            return false;
        }
        self.shadow_cwnd = self.shadow_cwnd.max(control.cwnd);
        self.path.queue = QueueState::BackingOff;
        control.request_reduction();
        true
    }
}

impl CongestionControl for Cdg {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn on_start(&mut self, flow: &Flow, control: &mut Control) {
        self.reset(flow, control);
    }

    fn on_cwnd_restart(&mut self, flow: &Flow, control: &mut Control) {
        self.reset(flow, control);
    }

    /// Filters the RTT. Source: Hayes, "Timing enhancements to the FreeBSD kernel to support delay and rate
    /// based TCP mechanisms", CAIA technical report 100219A, 2010.
    fn on_pkts_acked(&mut self, ack: &Ack, flow: &Flow, _control: &mut Control) {
        let Some(rtt_us) = ack.rtt_us.filter(|&rtt_us| rtt_us > 0) else { return };
        let rtt_us = i32::try_from(rtt_us).unwrap_or(i32::MAX);
        let path = &mut self.path;
        if flow.sacked_out == 0 {
            if ack.acked == 1 && path.delayed > 0 {
                // A delayed ACK can only lengthen the RTT.
                path.rtt = path.rtt.map(|rtt| Extremes { min: rtt.min.min(rtt_us), ..rtt });
                path.delayed -= 1;
                return;
            } else if ack.acked > 1 && path.delayed < MAX_DELAYED {
                path.delayed += 1;
            }
        }
        let rtt = path.rtt.unwrap_or(Extremes { min: rtt_us, max: rtt_us });
        path.rtt = Some(Extremes { min: rtt.min.min(rtt_us), max: rtt.max.max(rtt_us) });
    }

    fn on_ack(&mut self, ack: &Ack, flow: &Flow, control: &mut Control) {
        if control.in_slow_start() {
            let cwnd_limited = flow.cwnd_limited(control);
            let evidence = Evidence { now_us: flow.now.us(), rtt: self.path.rtt, cwnd_limited };
            if self.path.slow_start.should_end(&self.settings, evidence) {
                control.ssthresh = control.cwnd;
            }
        }
        if let Some(growth_us) = self.path.end_round(flow)
            && self.process_growth(growth_us, control)
        {
            return;
        }
        if flow.cwnd_limited(control) {
            let before = control.cwnd;
            control.grow_like_reno(ack.delivered, flow);
            self.shadow_cwnd = self.shadow_cwnd.saturating_add(control.cwnd.saturating_sub(before));
        } else {
            self.shadow_cwnd = self.shadow_cwnd.min(control.cwnd);
        }
    }

    /// Reduces the window according to the queue state. (Paper: 3.4, with the shadow window.)
    fn on_congestion(&mut self, _cause: Cause, _flow: &Flow, control: &Control) -> u32 {
        let Settings { backoff_beta, use_shadow, use_tolerance, .. } = self.settings;
        let left = match self.path.queue {
            QueueState::BackingOff => control.cwnd_part(backoff_beta, BETA_ONE),
            QueueState::NotFull if use_tolerance => control.cwnd,
            _ => {
                self.shadow_cwnd = (self.shadow_cwnd / 2).min(control.cwnd);
                let half = control.cwnd / 2;
                if use_shadow { half.max(self.shadow_cwnd) } else { half }
            }
        };
        left.max(CWND_MIN)
    }

    fn on_cwr_complete(&mut self, flow: &Flow, _control: &mut Control) {
        self.path.queue = QueueState::Unknown;
        self.path.start_round(flow);
    }

    fn internals(&self, record: &mut dyn FnMut(&'static str, f64)) {
        record("shadow_cwnd_packets", f64::from(self.shadow_cwnd));
        record("g_min_us", f64::from(self.path.gradients.sum.min));
        record("g_max_us", f64::from(self.path.gradients.sum.max));
        record("ineffectual_backoffs", f64::from(self.path.ineffectual));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::Time;
    use crate::cc::control::INFINITE_SSTHRESH;
    use crate::tcp::WindowUse;

    fn cdg(set: &[(&str, i64)]) -> Cdg {
        let given: BTreeMap<_, _> = set.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
        Cdg::new(&ENTRY.parameters(&given).expect("the test sets what the entry declares"), 1)
    }

    fn flow() -> Flow {
        Flow { usage: WindowUse::limited(), ..Flow::new(1000, 1448) }
    }

    fn us(min: i32, max: i32) -> Extremes {
        Extremes { min, max }
    }

    /// Growth after round trips with these extremes.
    fn growth(window: usize, rounds: &[Extremes]) -> i32 {
        let mut gradients = Gradients::new(window);
        rounds.windows(2).for_each(|pair| gradients.add(pair[1].minus(pair[0])));
        gradients.growth()
    }

    /// exp(-0.042) = 0.95887; the table is exact to about 2⁻¹⁵. Above 2²⁴ millionths it is zero.
    #[test]
    fn exponential_is_exact_to_a_ten_thousandth() {
        for millionths in [0, 1, 255, 256, 1000, 42_000, 500_000, 1_000_000, 3_000_000, (1 << 24) - 1] {
            let exact = (-f64::from(millionths) / 1e6).exp();
            let error = f64::from(exp_of_minus(millionths)) / f64::from(u32::MAX) - exact;
            assert!(error.abs() < 1e-4, "{millionths}: {error}");
        }
        assert_eq!((exp_of_minus(0), exp_of_minus(1 << 24)), (u32::MAX, 0));
    }

    /// The smallest RTT rose by 30 µs in two of eight round trips: 30 × 8 / 2. Over a window of two: 30.
    #[test]
    fn gradients_that_are_not_known_yet_are_extrapolated() {
        let rounds = [us(100, 200), us(110, 200), us(130, 200)];
        assert_eq!(growth(8, &rounds), 120);
        assert_eq!(growth(2, &rounds), 30);
    }

    /// From 100 to 130 and back to 120 µs: after the first gradient has left the window of two, the sum is
    /// 10.
    #[test]
    fn the_oldest_gradient_leaves_the_window() {
        assert_eq!(growth(2, &[us(100, 200), us(110, 200), us(130, 200), us(120, 200)]), 10);
    }

    #[test]
    fn the_largest_rtt_counts_when_the_smallest_does_not_grow() {
        assert_eq!(growth(2, &[us(100, 200), us(100, 220), us(90, 250)]), 50);
    }

    /// 20 ms × 42: 0.84, so 1 - exp(-0.84) = 0.568: 568 of 1000. Tolerance: five standard deviations of
    /// sqrt(1000 × 0.568 × 0.432) = 15.7.
    #[test]
    fn a_rise_of_the_delay_reduces_the_window_with_a_probability() {
        let mut cdg = cdg(&[("use_ineff", 0)]);
        let backoffs = (0..1000).filter(|_| cdg.backs_off(20_000)).count();
        assert!((490..=646).contains(&backoffs), "{backoffs}");
        assert!(!(0..1000).any(|_| cdg.backs_off(0)));
    }

    /// A steep rise in each round trip causes five reductions, and no further one until the delay falls by 32
    /// µs.
    #[test]
    fn reductions_without_effect_stop_after_five() {
        let mut cdg = cdg(&[]);
        assert_eq!((0..20).filter(|_| cdg.backs_off(1_000_000)).count(), 5);
        cdg.path.gradients.sum = us(-32, 0);
        cdg.process_growth(-32, &mut Control::default());
        assert!(cdg.backs_off(1_000_000));
    }

    /// A delay reduction leaves 100 × 724 / 1024 = 70.7. A loss at 70 then leaves 50, half of the shadow
    /// window of 100, not half of 70.
    #[test]
    fn a_loss_halves_the_shadow_window() {
        let (mut cdg, flow, mut control) = (cdg(&[]), flow(), Control::new(100, 90));
        while !cdg.process_growth(1_000_000, &mut control) {}
        assert!(control.take_reduction_request());
        assert_eq!(cdg.on_congestion(Cause::Ecn, &flow, &control), 70);
        cdg.on_cwr_complete(&flow, &mut control);
        assert_eq!(cdg.on_congestion(Cause::Loss, &flow, &Control::new(70, 70)), 50);
        cdg.settings.use_shadow = false;
        assert_eq!(cdg.on_congestion(Cause::Loss, &flow, &Control::new(70, 70)), 35);
    }

    /// The window of 100 and the shadow window of 150 both grow by one packet per 100 delivered. While
    /// the window is not fully used, the shadow window is reset to the window.
    #[test]
    fn the_shadow_window_grows_with_the_window() {
        let (mut cdg, mut flow, mut control) = (cdg(&[]), flow(), Control::new(100, 90));
        cdg.shadow_cwnd = 150;
        cdg.on_ack(&Ack { delivered: 100, ..Ack::default() }, &flow, &mut control);
        assert_eq!((control.cwnd, cdg.shadow_cwnd), (101, 151));
        flow.usage = WindowUse::default();
        cdg.on_ack(&Ack { delivered: 100, ..Ack::default() }, &flow, &mut control);
        assert_eq!((control.cwnd, cdg.shadow_cwnd), (101, 101));
    }

    /// A gradient of ±31 µs counts as zero, one of 32 µs as a step of 64.
    #[test]
    fn with_tolerance_a_loss_matters_only_when_the_queue_is_full() {
        for (sum, queue, left) in [
            (us(32, 31), QueueState::Full, 50),
            (us(32, 32), QueueState::NotFull, 100),
            (us(0, -32), QueueState::NotFull, 100),
            (us(31, -31), QueueState::Unknown, 50),
        ] {
            let (mut cdg, flow) = (cdg(&[("use_tolerance", 1)]), flow());
            cdg.path.gradients.sum = sum;
            cdg.process_growth(0, &mut Control::default());
            assert_eq!(cdg.path.queue, queue, "{sum:?}");
            assert_eq!(cdg.on_congestion(Cause::Loss, &flow, &Control::new(100, 100)), left);
        }
    }

    /// A round trip of 10 ms ends when packet 11 is acknowledged. The next one takes 500 ms, extrapolated to
    /// 4 s over eight round trips: the probability 1 - exp(-164) is practically 1.
    #[test]
    fn a_steep_rise_asks_for_a_reduction_at_the_end_of_the_round_trip() {
        let (mut cdg, mut flow, mut control) = (cdg(&[]), flow(), Control::new(100, 90));
        cdg.on_start(&flow, &mut control);
        for (rtt_us, asked) in [(10_000, false), (500_000, true)] {
            let ack = Ack { acked: 2, rtt_us: Some(rtt_us), ..Ack::default() };
            cdg.on_pkts_acked(&ack, &flow, &mut control);
            cdg.on_ack(&ack, &flow, &mut control);
            assert!(!control.take_reduction_request(), "the round trip is not over");
            flow.una = cdg.path.round_end + 1;
            flow.nxt = flow.una + 10;
            cdg.on_ack(&ack, &flow, &mut control);
            assert_eq!(control.take_reduction_request(), asked);
        }
    }

    /// After an ACK of two packets, a late ACK of one packet counts as delayed: it can lower the smallest RTT
    /// only.
    #[test]
    fn a_delayed_ack_does_not_raise_the_rtt() {
        let (mut cdg, flow) = (cdg(&[]), flow());
        for (acked, rtt_us) in [(2, 1000), (1, 5000), (1, 4000), (2, 1000), (1, 900)] {
            let ack = Ack { acked, rtt_us: Some(rtt_us), ..Ack::default() };
            cdg.on_pkts_acked(&ack, &flow, &mut Control::default());
        }
        assert_eq!(cdg.path.rtt, Some(us(900, 4000)));
    }

    /// Smallest RTT 10 ms: slow start ends at 11.25 ms, from the ninth sample of a round trip on.
    #[test]
    fn slow_start_ends_when_the_delay_is_an_eighth_longer() {
        for (rtt_us, ends) in [(11_250, false), (11_251, true)] {
            let (mut cdg, flow, mut control) =
                (cdg(&[("hystart_detect", 2)]), flow(), Control::new(20, INFINITE_SSTHRESH));
            cdg.path.slow_start.rtt_min = Some(10_000);
            cdg.path.rtt = Some(us(rtt_us, rtt_us));
            (0..8).for_each(|_| cdg.on_ack(&Ack::default(), &flow, &mut control));
            assert!(!control.has_ssthresh());
            cdg.on_ack(&Ack::default(), &flow, &mut control);
            assert_eq!(control.has_ssthresh(), ends, "{rtt_us} µs");
        }
    }

    /// Smallest RTT 10 ms: slow start ends after ACKs every 2 ms for more than 5 ms. ACKs every 3 ms are no
    /// train.
    #[test]
    fn slow_start_ends_when_acks_come_for_half_the_smallest_rtt() {
        for (gap_ms, ends) in [(2, true), (3, false)] {
            let (mut cdg, mut flow, mut control) =
                (cdg(&[("hystart_detect", 1)]), flow(), Control::new(20, INFINITE_SSTHRESH));
            flow.nxt = 20;
            cdg.path.rtt = Some(us(10_000, 10_000));
            for _ in 0..4 {
                flow.now += Time::from_ms(gap_ms);
                cdg.on_ack(&Ack::default(), &flow, &mut control);
            }
            assert_eq!(control.has_ssthresh(), ends, "{gap_ms} ms");
        }
    }

    #[test]
    fn idle_forgets_the_path() {
        let (mut cdg, flow) = (cdg(&[]), flow());
        cdg.shadow_cwnd = 500;
        cdg.path.gradients.sum = us(7, 7);
        cdg.on_cwnd_restart(&flow, &mut Control::new(100, 90));
        assert_eq!((cdg.shadow_cwnd, cdg.path.gradients.sum), (100, us(0, 0)));
    }

    #[test]
    fn a_window_that_is_not_a_power_of_two_is_rounded_down() {
        for (window, gradients) in [(1, 1), (7, 4), (8, 8), (256, 256)] {
            assert_eq!(cdg(&[("window", window)]).path.gradients.last.len(), gradients);
        }
    }
}
