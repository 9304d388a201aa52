//! H-TCP: the window grows faster the longer ago the last loss is, whatever its size; after a loss it
//! keeps enough packets to fill the link while the queue drains. Source: Leith and Shorten, "H-TCP: TCP for High-speed and
//! Long-distance Networks", 2nd International Workshop on Protocols for Fast Long-Distance Networks, 2004;
//! draft-leith-tcp-htcp-06. Agrees with: Linux 6.1 `htcp`, which takes whole multiples of Reno's growth and
//! counts RTTs in timer ticks. Departs: see docs/deviations/htcp.toml (2 entries).

use super::{CongestionControl, Control, Entry, Parameter, Parameters};
use crate::tcp::{Ack, Cause, Flow, State};

pub(super) const ENTRY: Entry = Entry {
    name: "htcp",
    idea: "The window grows faster the longer ago the last loss is.",
    source: "Leith and Shorten, PFLDnet, 2004; draft-leith-tcp-htcp-06",
    agrees_with: "Linux 6.1",
    parameters: &[
        Parameter {
            name: "use_rtt_scaling",
            default: 1,
            min: 0,
            max: 1,
            meaning: "1: scale growth per round trip with the ratio of the RTT to 100 ms",
        },
        Parameter {
            name: "use_bandwidth_switch",
            default: 1,
            min: 0,
            max: 1,
            meaning: "1: halve the window if the bandwidth changed by more than a fifth between the last two losses",
        },
    ],
    build: |parameters, _| Box::new(Htcp::new(parameters)),
};

/// Unit of α and β: 1/128.
const ONE: u32 = 128;
/// Smallest β: half.
const BETA_MIN: u32 = ONE / 2;
/// Largest β: 0.8, rounded down.
const BETA_MAX: u32 = 102;
/// Largest growth of the largest RTT in one step, in ms.
const RTT_STEP_MS: u32 = 20;
/// RTT, in ms, up to which a loss halves the window: ticks are too coarse for a ratio.
const RTT_RATIO_MS: u32 = 10;
/// Bounds of the ratio of 100 ms to the RTT, in 1/8: 0.5 and 10.
const SCALES: (u32, u32) = (4, 80);

#[derive(Debug)]
struct Htcp {
    rtt_scaling: bool,
    bandwidth_switch: bool,
    /// Packets of growth in a round trip, in 1/128. (Paper: α.)
    alpha: u32,
    /// Fraction of the window kept after a loss, in 1/128. (Paper: β.)
    beta: u32,
    backoff: Backoff,
    /// Packets that the last ACK acknowledged, in 16 bits as in Linux.
    acked: u16,
    /// Smallest RTT, in ticks; zero before the first.
    rtt_min: u32,
    /// Largest RTT since about the last loss, in ticks.
    rtt_max: u32,
    /// Ticks a second.
    hz: u32,
    /// Tick of the last congestion: the start of the last recovery, and later its end. Before the first recovery it is the
    /// start of the connection.
    congestion_at: u32,
    /// Value of `congestion_at` to restore if the current recovery is spurious.
    congestion_before: Option<u32>,
    bandwidth: Bandwidth,
}

/// Response to the next loss, if the bandwidth has not changed. (Paper: adaptive backoff.)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Backoff {
    /// Halve the window: there was only one loss since the bandwidth changed.
    Halve,
    /// Keep a fraction that follows the RTTs.
    Adapt,
}

/// Bandwidth achieved, in packets/s.
#[derive(Debug, Default)]
struct Bandwidth {
    /// Packets acknowledged since `since`.
    acked: u32,
    /// Tick at which counting began; `None` before the first count.
    since: Option<u32>,
    /// Average of about the last four counts. (Paper: B.)
    now: u64,
    /// Largest `now` since the last loss.
    max: u64,
    /// Value of `max` at the loss before. (Paper: B⁻.)
    max_before: u64,
}

impl Bandwidth {
    fn restart(&mut self, now: u32) {
        self.acked = 0;
        self.since = Some(now);
    }

    /// Packets/s since counting began; 0 at the first count, which Linux divides by the time since the boot of the host.
    fn count(&self, flow: &Flow) -> u64 {
        let ticks = self.since.map(|since| u64::from(flow.jiffies() - since));
        ticks.map_or(0, |ticks| u64::from(self.acked) * u64::from(flow.hz) / ticks)
    }

    /// Returns whether the bandwidth changed by more than a fifth since the last loss, and starts the next
    /// comparison.
    fn has_changed(&mut self) -> bool {
        let before = std::mem::replace(&mut self.max_before, self.max);
        !(4 * before..=6 * before).contains(&(5 * self.max))
    }
}

impl Htcp {
    fn new(parameters: &Parameters) -> Htcp {
        Htcp {
            rtt_scaling: parameters.get("use_rtt_scaling") != 0,
            bandwidth_switch: parameters.get("use_bandwidth_switch") != 0,
            alpha: ONE,
            beta: BETA_MIN,
            backoff: Backoff::Halve,
            acked: 1,
            rtt_min: 0,
            rtt_max: 0,
            hz: 0,
            congestion_at: 0,
            congestion_before: None,
            bandwidth: Bandwidth::default(),
        }
    }

    /// Ticks since the last congestion. (Paper: Δ.)
    fn delta(&self, flow: &Flow) -> u32 {
        flow.jiffies() - self.congestion_at
    }

    fn measure_rtt(&mut self, rtt: u32, flow: &Flow) {
        if self.rtt_min == 0 || rtt < self.rtt_min {
            self.rtt_min = rtt;
        }
        if flow.state == State::Open {
            self.rtt_max = self.rtt_max.max(self.rtt_min);
            if rtt <= self.rtt_max + flow.us_to_jiffies(u64::from(RTT_STEP_MS) * 1000) {
                self.rtt_max = self.rtt_max.max(rtt);
            }
        }
    }

    /// Measures the bandwidth once a window has been acknowledged and the smallest RTT has passed.
    fn measure_bandwidth(&mut self, acked: u32, flow: &Flow, control: &Control) {
        let now = flow.jiffies();
        if flow.state > State::Disorder {
            self.bandwidth.restart(now);
            return;
        }
        self.bandwidth.acked = self.bandwidth.acked.saturating_add(acked);
        let growth = (self.alpha / ONE).max(1);
        let a_window = control.cwnd.checked_sub(growth).is_some_and(|window| self.bandwidth.acked >= window);
        let a_round_trip = self.bandwidth.since.is_none_or(|since| now - since >= self.rtt_min);
        if !a_window || !a_round_trip || self.rtt_min == 0 {
            return;
        }
        let count = self.bandwidth.count(flow);
        if self.delta(flow) / self.rtt_min <= 3 {
            // Soon after congestion, older counts do not apply.
            self.bandwidth.now = count;
            self.bandwidth.max = count;
        } else {
            self.bandwidth.now = (3 * self.bandwidth.now + count) / 4;
            self.bandwidth.max = self.bandwidth.max.max(self.bandwidth.now);
        }
        self.bandwidth.restart(now);
    }

    /// Updates `α = 2 (1 - β) (1 + 10 (Δ - Δ_L) + ((Δ - Δ_L) / 2)²)`, Δ in seconds and `Δ_L` one second; up
    /// to one second it is 2 (1 - β). (Paper: α(Δ).)
    fn update_alpha(&mut self, flow: &Flow) {
        // Linux squares in 32 bits, which wraps after 131 072 ticks, 524 s at 250 Hz.
        let late = self.delta(flow).saturating_sub(flow.hz);
        let square = (late / 2).wrapping_mul(late / 2) / flow.hz;
        let factor = 1 + late.wrapping_mul(10).wrapping_add(square) / flow.hz;
        self.alpha = (2 * (ONE - self.beta)).saturating_mul(self.scaled(factor, flow));
    }

    /// The product `factor` × RTT / 100 ms, at least 1, with the ratio between 1/10 and 2. (Draft: RTT
    /// scaling.)
    fn scaled(&self, factor: u32, flow: &Flow) -> u32 {
        if !self.rtt_scaling || self.rtt_min == 0 {
            return factor;
        }
        let scale = (8 * flow.hz / (10 * self.rtt_min)).clamp(SCALES.0, SCALES.1);
        (8 * factor / scale).max(1)
    }

    /// Updates `β = RTT_min / RTT_max`, between 0.5 and 0.8; 0.5 if the bandwidth changed. (Paper: adaptive
    /// backoff.)
    fn update_beta(&mut self, flow: &Flow) {
        let changed = self.bandwidth_switch && self.bandwidth.has_changed();
        let (min, max) = (self.rtt_min, self.rtt_max);
        let is_measurable = min > flow.us_to_jiffies(u64::from(RTT_RATIO_MS) * 1000) && max > 0;
        if changed {
            self.backoff = Backoff::Halve;
            self.beta = BETA_MIN;
        } else if self.backoff == Backoff::Adapt && is_measurable {
            self.beta = (min * ONE / max).clamp(BETA_MIN, BETA_MAX);
        } else {
            self.backoff = Backoff::Adapt;
            self.beta = BETA_MIN;
        }
    }
}

impl CongestionControl for Htcp {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn on_start(&mut self, flow: &Flow, _control: &mut Control) {
        self.hz = flow.hz;
        self.congestion_at = flow.jiffies();
    }

    #[expect(clippy::cast_possible_truncation, reason = "counted in 16 bits, as in Linux")]
    fn on_pkts_acked(&mut self, ack: &Ack, flow: &Flow, control: &mut Control) {
        if flow.state == State::Open {
            self.acked = ack.acked as u16;
        }
        if let Some(rtt_us) = ack.rtt_us.filter(|&rtt_us| rtt_us > 0) {
            self.measure_rtt(flow.us_to_jiffies(u64::from(rtt_us)), flow);
        }
        if self.bandwidth_switch {
            self.measure_bandwidth(ack.acked, flow, control);
        }
    }

    fn on_ack(&mut self, ack: &Ack, flow: &Flow, control: &mut Control) {
        if !flow.cwnd_limited(control) {
            return;
        }
        if control.in_slow_start() {
            control.slow_start(ack.delivered);
            return;
        }
        if control.credit.wrapping_mul(self.alpha) / ONE >= control.cwnd {
            control.cwnd = control.cwnd.saturating_add(1).min(control.cwnd_clamp);
            control.credit = 0;
            self.update_alpha(flow);
        } else {
            control.credit += u32::from(self.acked);
        }
        self.acked = 1;
    }

    fn on_congestion(&mut self, _cause: Cause, flow: &Flow, control: &Control) -> u32 {
        self.update_beta(flow);
        self.update_alpha(flow);
        // The largest RTT decays, so that a shorter path is noticed.
        let queue = self.rtt_max.saturating_sub(self.rtt_min);
        if self.rtt_min > 0 && queue > 0 {
            self.rtt_max = self.rtt_min + queue * 95 / 100;
        }
        control.cwnd_part(self.beta, ONE).max(2)
    }

    fn on_state(&mut self, next: State, flow: &Flow, _control: &mut Control) {
        match next {
            State::Open => {
                if self.congestion_before.take().is_some() {
                    self.congestion_at = flow.jiffies();
                }
            }
            State::Disorder => {}
            State::Cwr | State::Recovery | State::Loss => {
                self.congestion_before = Some(self.congestion_at);
                self.congestion_at = flow.jiffies();
            }
        }
    }

    fn on_undo(&mut self, flow: &Flow, control: &Control) -> u32 {
        if let Some(before) = self.congestion_before.take() {
            self.congestion_at = before;
        }
        control.cwnd.max(flow.prior_cwnd)
    }

    fn internals(&self, record: &mut dyn FnMut(&'static str, f64)) {
        record("alpha_packets", f64::from(self.alpha) / f64::from(ONE));
        record("beta", f64::from(self.beta) / f64::from(ONE));
        let ms = |ticks: u32| if ticks == 0 { f64::NAN } else { 1e3 * f64::from(ticks) / f64::from(self.hz) };
        record("rtt_min_ms", ms(self.rtt_min));
        record("rtt_max_ms", ms(self.rtt_max));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::Time;
    use crate::cc::control::INFINITE_SSTHRESH;
    use crate::tcp::WindowUse;

    const START: Time = Time::from_secs(100);

    fn htcp(set: &[(&str, i64)]) -> Htcp {
        let given: BTreeMap<_, _> = set.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
        let mut htcp = Htcp::new(&ENTRY.parameters(&given).expect("the test sets what the entry declares"));
        htcp.on_start(&at_ms(0), &mut Control::default());
        htcp
    }

    /// A flow `ms` after the start, with 1000 ticks per second.
    fn at_ms(ms: u64) -> Flow {
        let usage = WindowUse::limited();
        Flow { usage, now: START + Time::from_ms(ms), ..Flow::new(1000, 1448) }
    }

    /// Value of α in 1/128 packets, without RTT scaling, `ms` after the last loss.
    fn alpha_after(ms: u64) -> u32 {
        let mut htcp = htcp(&[("use_rtt_scaling", 0)]);
        htcp.update_alpha(&at_ms(ms));
        htcp.alpha
    }

    /// Value of β in 1/128 at the second of two losses, for a smallest and a largest RTT.
    fn beta_of(rtt_min: u32, rtt_max: u32) -> u32 {
        let mut htcp = Htcp { rtt_min, rtt_max, ..htcp(&[("use_bandwidth_switch", 0)]) };
        htcp.update_beta(&at_ms(0));
        assert_eq!(htcp.beta, BETA_MIN);
        htcp.update_beta(&at_ms(0));
        htcp.beta
    }

    /// Paper: 1 + 10 (Δ - 1) + ((Δ - 1) / 2)², times 2 (1 - β) = 1. After 2 s: 1 + 10 + 0.25 = 11 in integer
    /// arithmetic; after 5 s: 1 + 40 + 4 = 45; after 11 s: 1 + 100 + 25 = 126.
    #[test]
    fn alpha_is_quadratic_in_the_time_since_the_last_loss() {
        assert_eq!([2000, 5000, 11_000].map(alpha_after), [11 * ONE, 45 * ONE, 126 * ONE]);
    }

    /// At 1.099 s, 1 + 0.99 packets are rounded down to one; at 1.1 s they are two.
    #[test]
    fn in_the_first_second_after_a_loss_alpha_is_that_of_reno() {
        assert_eq!([0, 500, 1000, 1099].map(alpha_after), [ONE; 4]);
        assert_eq!(alpha_after(1100), 2 * ONE);
    }

    /// β = 102/128: α is 2 (1 - 102/128) = 0.406 times 11.
    #[test]
    fn alpha_compensates_a_beta_above_a_half() {
        let mut htcp = Htcp { beta: BETA_MAX, ..htcp(&[]) };
        htcp.update_alpha(&at_ms(2000));
        assert_eq!(htcp.alpha, 11 * 2 * (128 - 102));
    }

    /// 11 packets per round trip of 100 ms; twice as many at 200 ms, and not more at 400 ms; half at 50 ms
    /// (16 / 8 = 2: 88 / 16 = 5); a tenth at 10 ms, and not less at 1 ms: 88 / 80 = 1.
    #[test]
    fn growth_in_a_round_trip_is_scaled_by_its_length() {
        for (rtt_min, packets) in [(100, 11), (200, 22), (400, 22), (50, 5), (10, 1), (1, 1)] {
            let mut htcp = Htcp { rtt_min, ..htcp(&[]) };
            htcp.update_alpha(&at_ms(2000));
            assert_eq!(htcp.alpha, packets * ONE, "{rtt_min} ms");
        }
    }

    /// 1 + (132 000 - 1000) × 10 / 1000 + 65 500² / 10⁶ = 5601; one tick above 131 072, the square of 65 536
    /// wraps to 0.
    #[test]
    fn the_square_wraps_in_32_bits_as_in_linux() {
        assert_eq!(alpha_after(132_000), 5601 * ONE);
        assert_eq!(alpha_after(132_072), (1 + 1310) * ONE);
    }

    /// 100 / 140 = 0.714 is 91 / 128; 100 / 300 is below a half, 100 / 110 above 0.8.
    #[test]
    fn beta_is_the_smallest_over_the_largest_rtt_between_a_half_and_four_fifths() {
        assert_eq!(beta_of(100, 140), 91);
        assert_eq!(beta_of(100, 300), BETA_MIN);
        assert_eq!(beta_of(100, 110), BETA_MAX);
    }

    #[test]
    fn a_short_rtt_is_too_coarse_for_a_ratio() {
        assert_eq!(beta_of(10, 14), BETA_MIN);
        assert_eq!(beta_of(11, 14), 100);
    }

    /// A bandwidth of 120 % counts as unchanged, one of 121 % as changed. The loss after a change halves the
    /// window as well.
    #[test]
    fn a_bandwidth_that_changed_by_more_than_a_fifth_halves() {
        let betas = [100, 100, 100, 120, 100, 80, 101, 101].map({
            let mut htcp = Htcp { rtt_min: 100, rtt_max: 140, ..htcp(&[]) };
            htcp.bandwidth.max_before = 100;
            move |bandwidth| {
                htcp.bandwidth.max = bandwidth;
                htcp.update_beta(&at_ms(0));
                htcp.beta
            }
        });
        // From 120 to 100: a sixth less. From 100 to 80: a fifth less. From 80 to 101: more than a fifth
        // more.
        assert_eq!(betas, [BETA_MIN, 91, 91, 91, 91, 91, BETA_MIN, BETA_MIN]);
    }

    /// 1000 × 91 / 128 = 710. The largest queueing delay of 40 ms decays to 38 ms.
    #[test]
    fn a_loss_leaves_beta_of_the_window_and_the_largest_rtt_decays() {
        let mut htcp = Htcp { backoff: Backoff::Adapt, rtt_min: 100, rtt_max: 140, ..htcp(&[]) };
        assert_eq!(htcp.on_congestion(Cause::Loss, &at_ms(0), &Control::new(1000, 2)), 710);
        assert_eq!(htcp.rtt_max, 138);
        assert_eq!(htcp.on_congestion(Cause::Loss, &at_ms(0), &Control::new(2, 2)), 2);
    }

    /// After 100 ms, an RTT of 120 ms is within 20 ms, and one of 141 ms is not; 90 ms is a new smallest RTT.
    /// Outside the open state only the smallest RTT is updated.
    #[test]
    fn the_largest_rtt_grows_in_steps_of_at_most_20_ms() {
        let mut htcp = htcp(&[]);
        for (rtt, range) in [(100, (100, 100)), (120, (100, 120)), (141, (100, 120)), (90, (90, 120))] {
            htcp.measure_rtt(rtt, &at_ms(0));
            assert_eq!((htcp.rtt_min, htcp.rtt_max), range, "{rtt}");
        }
        htcp.measure_rtt(130, &Flow { state: State::Disorder, ..at_ms(0) });
        assert_eq!(htcp.rtt_max, 120);
    }

    /// 10 packets per 100 ms from 0 to 0.8 s with a window of 10: a sample needs 9 packets and 100 ms. The
    /// first sample is 0, because Linux counts from the boot of the host. Then 10 / 0.1 = 100 packets/s
    /// replaces the average up to 3 RTTs, and is averaged from 4 on: 20 packets at 0.5 s give (3 × 100 + 200)
    /// / 4 = 125.
    #[test]
    fn bandwidth_is_counted_over_windows_and_averaged() {
        let mut htcp = Htcp { rtt_min: 100, ..htcp(&[]) };
        let found = [(0, 10), (100, 10), (199, 10), (200, 0), (300, 8), (500, 12)].map(|(ms, acked)| {
            htcp.measure_bandwidth(acked, &at_ms(ms), &Control::new(10, 2));
            (htcp.bandwidth.now, htcp.bandwidth.max)
        });
        // At 300 ms, 8 packets are less than a window. At 500 ms, 20 packets in 300 ms are 66 packets/s: (3 ×
        // 100 + 66) / 4 = 91.
        assert_eq!(found, [(0, 0), (100, 100), (100, 100), (100, 100), (100, 100), (91, 100)]);
    }

    #[test]
    fn bandwidth_is_not_counted_in_recovery() {
        let mut htcp = Htcp { rtt_min: 100, ..htcp(&[]) };
        htcp.measure_bandwidth(50, &Flow { state: State::Recovery, ..at_ms(500) }, &Control::new(10, 2));
        assert_eq!((htcp.bandwidth.acked, htcp.bandwidth.since), (0, Some(100_500)));
    }

    /// 2 packets per ACK and α = 1: at a window of 100, 50 ACKs are one window, which the 51st ACK detects.
    #[test]
    fn growth_is_alpha_packets_per_round_trip() {
        let mut htcp = htcp(&[]);
        let mut control = Control::new(100, 2);
        let mut acks = |number| {
            for _ in 0..number {
                let ack = Ack { acked: 2, ..Ack::default() };
                htcp.on_pkts_acked(&ack, &at_ms(0), &mut control);
                htcp.on_ack(&ack, &at_ms(0), &mut control);
            }
            (control.cwnd, control.credit)
        };
        assert_eq!(acks(50), (100, 100));
        assert_eq!(acks(1), (101, 0));
    }

    /// 2 s after the loss, at windows of 100 and 10 000: about 11 packets per delivered window.
    #[test]
    fn growth_depends_on_the_time_since_the_loss_and_not_on_the_window() {
        for cwnd in [100, 10_000] {
            let (mut htcp, mut control) = (htcp(&[("use_rtt_scaling", 0)]), Control::new(cwnd, 2));
            htcp.update_alpha(&at_ms(2000));
            (0..cwnd).for_each(|_| htcp.on_ack(&Ack::default(), &at_ms(2000), &mut control));
            assert!((9..=11).contains(&(control.cwnd - cwnd)), "{cwnd}: {}", control.cwnd);
        }
    }

    #[test]
    fn slow_start_is_that_of_reno() {
        let mut control = Control::new(20, INFINITE_SSTHRESH);
        htcp(&[]).on_ack(&Ack { delivered: 2, ..Ack::default() }, &at_ms(0), &mut control);
        assert_eq!((control.cwnd, control.credit), (22, 0));
    }

    /// Time counts from 1.5 s, the end of the recovery from a loss at 1 s. A spurious loss at 2 s does not
    /// count.
    #[test]
    fn time_counts_from_the_end_of_the_last_recovery_that_was_not_undone() {
        let (mut htcp, mut control) = (htcp(&[]), Control::new(100, 2));
        htcp.on_state(State::Recovery, &at_ms(1000), &mut control);
        assert_eq!(htcp.delta(&at_ms(1000)), 0);
        htcp.on_state(State::Open, &at_ms(1500), &mut control);
        assert_eq!(htcp.delta(&at_ms(1700)), 200);
        htcp.on_state(State::Recovery, &at_ms(2000), &mut control);
        assert_eq!(htcp.on_undo(&Flow { prior_cwnd: 120, ..at_ms(2100) }, &control), 120);
        htcp.on_state(State::Open, &at_ms(2200), &mut control);
        assert_eq!(htcp.delta(&at_ms(2300)), 800);
    }

    #[test]
    fn disorder_is_not_congestion() {
        let mut htcp = htcp(&[]);
        htcp.on_state(State::Disorder, &at_ms(1000), &mut Control::default());
        htcp.on_state(State::Open, &at_ms(1100), &mut Control::default());
        assert_eq!(htcp.delta(&at_ms(1200)), 1200);
    }

    #[test]
    fn rtts_are_unknown_until_measured() {
        let recorded = |htcp: &Htcp| {
            let mut values = BTreeMap::new();
            htcp.internals(&mut |name, value| {
                values.insert(name, value);
            });
            values
        };
        assert!(recorded(&htcp(&[]))["rtt_min_ms"].is_nan());
        let measured = Htcp { rtt_min: 40, ..htcp(&[]) };
        assert!((recorded(&measured)["rtt_min_ms"] - 40.0).abs() < f64::EPSILON);
    }
}
