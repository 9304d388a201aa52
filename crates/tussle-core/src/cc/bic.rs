//! BIC: binary search for the fair window, which halves the distance to the window of the last loss. Where a
//! step would be too large, the window grows linearly; beyond the window of the last loss it probes slowly,
//! then faster. Source: Xu, Harfoush and Rhee, "Binary Increase Congestion Control (BIC) for Fast
//! Long-Distance Networks", IEEE INFOCOM, 2004. Agrees with: Linux 6.1 `bic`. Departs: see
//! docs/deviations/bic.toml (1 entry).

use super::{CongestionControl, Control, Entry, Parameter, Parameters};
use crate::tcp::{Ack, Cause, Flow, State};

pub(super) const ENTRY: Entry = Entry {
    name: "bic",
    idea: "Binary search for the window between those of the last reduction and the last loss.",
    source: "Xu, Harfoush and Rhee, IEEE INFOCOM, 2004",
    agrees_with: "Linux 6.1",
    parameters: &[
        Parameter {
            name: "fast_convergence",
            default: 1,
            min: 0,
            max: 1,
            meaning: "1: fast convergence: aim below the window of a loss that is smaller than that of the loss before",
        },
        Parameter {
            name: "max_increment",
            default: 16,
            min: 1,
            max: 1 << 16,
            meaning: "largest growth per round trip, in packets (the paper's S_max)",
        },
        Parameter {
            name: "low_window",
            default: 14,
            min: 0,
            max: 1 << 20,
            meaning: "window up to which the algorithm is Reno, in packets",
        },
        Parameter {
            name: "beta",
            default: 819,
            min: 0,
            max: 1024,
            meaning: "fraction of the window kept after a loss, in 1/1024",
        },
        Parameter {
            name: "initial_ssthresh",
            default: 0,
            min: 0,
            max: 1 << 20,
            meaning: "initial ssthresh, in packets; 0: infinite",
        },
        Parameter {
            name: "smooth_part",
            default: 20,
            min: 1,
            max: 1024,
            meaning: "round trips for the last 4 packets of growth before the window of the last loss",
        },
    ],
    build: |parameters, _| Box::new(Bic::new(parameters)),
};

/// Unit of β: 1/1024.
const BETA_ONE: u32 = 1024;
/// Part of the distance that the search covers in a round trip: a quarter. (Paper: half.)
const SEARCH_PART: u32 = 4;
/// Largest number of delivered packets per packet of growth before any loss: 5 % per round trip.
const PER_BEFORE_LOSS: u32 = 20;
/// Fraction bits of the packets per ACK, and the weight of the average over 16 ACKs.
const ACK_RATIO_BITS: u32 = 4;
/// Packets per ACK before the first ACK: 2.
const ACK_RATIO_START: u32 = 2 << ACK_RATIO_BITS;

#[derive(Debug)]
struct Settings {
    fast_convergence: bool,
    max_increment: u32,
    low_window: u32,
    /// β in 1/1024.
    beta: u32,
    initial_ssthresh: u32,
    smooth_part: u32,
}

#[derive(Debug)]
struct Bic {
    settings: Settings,
    /// State since the start or the last timeout.
    search: Search,
}

#[derive(Debug)]
struct Search {
    /// Window of the last loss, after fast convergence; zero before the first. (Paper: target of the search.)
    w_max: u32,
    /// Packets to deliver for one packet of growth.
    per: u32,
    /// Window and tick at the last computation of `per`; a zero window before the first.
    computed: (u32, u32),
    /// Average number of packets that an ACK acknowledges, in 1/16.
    ack_ratio: u32,
}

impl Default for Search {
    fn default() -> Search {
        Search { w_max: 0, per: 0, computed: (0, 0), ack_ratio: ACK_RATIO_START }
    }
}

impl Bic {
    fn new(parameters: &Parameters) -> Bic {
        let settings = Settings {
            fast_convergence: parameters.get("fast_convergence") != 0,
            max_increment: parameters.get_u32("max_increment"),
            low_window: parameters.get_u32("low_window"),
            beta: parameters.get_u32("beta"),
            initial_ssthresh: parameters.get_u32("initial_ssthresh"),
            smooth_part: parameters.get_u32("smooth_part"),
        };
        Bic { settings, search: Search::default() }
    }

    /// Updates `per` for each new window, and 32 times per second.
    fn update(&mut self, cwnd: u32, flow: &Flow) {
        let now = flow.jiffies();
        let (last_cwnd, last) = self.search.computed;
        if last_cwnd == cwnd && now - last <= flow.hz / 32 {
            return;
        }
        self.search.computed = (cwnd, now);
        self.search.per = if cwnd <= self.settings.low_window { cwnd } else { self.per_of_search(cwnd) };
    }

    fn per_of_search(&self, cwnd: u32) -> u32 {
        let Search { w_max, ack_ratio, .. } = self.search;
        let mut per = if cwnd < w_max { self.per_below(cwnd) } else { self.per_above(cwnd) };
        if w_max == 0 {
            per = per.min(PER_BEFORE_LOSS);
        }
        // The paper counts ACKs, Linux packets. Linux divides by the packets per ACK all the same, so that
        // BIC grows about twice as fast as the steps above suggest.
        ((per << ACK_RATIO_BITS) / ack_ratio).max(1)
    }

    /// Packets per packet of growth below `w_max`: binary search in steps of at most `max_increment` per
    /// round trip. (Paper: binary search increase, additive increase.)
    fn per_below(&self, cwnd: u32) -> u32 {
        match (self.search.w_max - cwnd) / SEARCH_PART {
            0 | 1 => self.per_smooth(cwnd),
            step => cwnd / step.min(self.settings.max_increment),
        }
    }

    /// Packets per packet of growth above `w_max`: slow at first, mirroring the search, then linear. (Paper:
    /// slow start beyond the maximum, up to `S_max`.)
    fn per_above(&self, cwnd: u32) -> u32 {
        let beyond = cwnd - self.search.w_max;
        let line = self.settings.max_increment * (SEARCH_PART - 1);
        if beyond < SEARCH_PART {
            self.per_smooth(cwnd)
        } else if beyond < line {
            cwnd * (SEARCH_PART - 1) / beyond
        } else {
            cwnd / self.settings.max_increment
        }
    }

    fn per_smooth(&self, cwnd: u32) -> u32 {
        cwnd.saturating_mul(self.settings.smooth_part) / SEARCH_PART
    }
}

impl CongestionControl for Bic {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn on_start(&mut self, _flow: &Flow, control: &mut Control) {
        if self.settings.initial_ssthresh > 0 {
            control.ssthresh = self.settings.initial_ssthresh;
        }
    }

    fn on_pkts_acked(&mut self, ack: &Ack, flow: &Flow, _control: &mut Control) {
        if flow.state == State::Open {
            let ratio = &mut self.search.ack_ratio;
            *ratio = *ratio - (*ratio >> ACK_RATIO_BITS) + ack.acked;
        }
    }

    fn on_ack(&mut self, ack: &Ack, flow: &Flow, control: &mut Control) {
        if let Some(left) = control.past_slow_start(ack.delivered, flow) {
            self.update(control.cwnd, flow);
            control.additive(self.search.per, left);
        }
    }

    /// Sets `w_max` below the window of a loss that is smaller than that of the loss before. (Paper: fast convergence.)
    fn on_congestion(&mut self, _cause: Cause, _flow: &Flow, control: &Control) -> u32 {
        let Settings { fast_convergence, low_window, beta, .. } = self.settings;
        self.search.w_max = if control.cwnd < self.search.w_max && fast_convergence {
            control.cwnd_part(BETA_ONE + beta, 2 * BETA_ONE)
        } else {
            control.cwnd
        };
        let left =
            if control.cwnd <= low_window { control.cwnd / 2 } else { control.cwnd_part(beta, BETA_ONE) };
        left.max(2)
    }

    fn on_state(&mut self, next: State, _flow: &Flow, _control: &mut Control) {
        if next == State::Loss {
            self.search = Search::default();
        }
    }

    fn internals(&self, record: &mut dyn FnMut(&'static str, f64)) {
        let known = |value: u32| if value == 0 { f64::NAN } else { f64::from(value) };
        record("w_max_packets", known(self.search.w_max));
        record("per_packets", known(self.search.per));
        record("acked_per_ack_packets", f64::from(self.search.ack_ratio) / f64::from(1 << ACK_RATIO_BITS));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::Time;
    use crate::cc::control::INFINITE_SSTHRESH;
    use crate::tcp::WindowUse;

    fn bic(set: &[(&str, i64)]) -> Bic {
        let given: BTreeMap<_, _> = set.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
        Bic::new(&ENTRY.parameters(&given).expect("the test sets what the entry declares"))
    }

    fn flow() -> Flow {
        Flow { usage: WindowUse::limited(), now: Time::from_secs(100), ..Flow::new(1000, 1448) }
    }

    fn window(cwnd: u32) -> Control {
        Control::new(cwnd, cwnd)
    }

    /// Packets for one packet of growth at `cwnd` after a loss at `w_max`, with one packet per ACK.
    fn per(w_max: u32, cwnd: u32) -> u32 {
        let mut bic = bic(&[]);
        bic.search = Search { w_max, ack_ratio: 1 << ACK_RATIO_BITS, ..Search::default() };
        bic.update(cwnd, &flow());
        bic.search.per
    }

    /// From 160 towards 200: Linux covers a quarter of the distance, 10 packets per window (the paper half):
    /// 160 / 10 = 16.
    #[test]
    fn search_goes_a_quarter_of_the_distance_in_a_round_trip() {
        assert_eq!(per(200, 160), 16);
        assert_eq!(per(200, 180), 180 / 5);
    }

    /// A quarter of a distance of 500 is 125, limited to 16 packets per window of 500: 500 / 16 = 31.
    #[test]
    fn search_never_jumps_more_than_max_increment() {
        assert_eq!(per(1000, 500), 31);
    }

    /// A quarter of a distance of 7 is 1: 20 round trips for 4 packets, so that one packet of growth needs
    /// 100 × 20 / 4 = 500 packets.
    #[test]
    fn search_ends_smoothly() {
        assert_eq!(per(107, 100), 500);
        assert_eq!(per(108, 100), 50);
    }

    /// 2 packets above the maximum: 102 × 20 / 4 = 510. 20 above: 120 × 3 / 20 = 18, 6.7 packets per window.
    /// 48 above, which is 3 × 16: 148 / 16 = 9.
    #[test]
    fn probing_beyond_the_last_loss_speeds_up_to_max_increment() {
        assert_eq!([102, 120, 147, 148].map(|cwnd| per(100, cwnd)), [510, 18, 9, 9]);
        assert_eq!([1003, 1004, 1047, 1048].map(|cwnd| per(1000, cwnd)), [5015, 753, 66, 65]);
    }

    /// Above the window of the last loss, 100, growth is slow at first and linear from 16 × 3 = 48 packets
    /// on. With `max_increment` 8 it is linear from 24 on: 124 / 8 = 15, and just before 123 × 3 / 23 = 16.
    #[test]
    fn probing_is_linear_from_three_increments_on() {
        assert_eq!(per(100, 100), 500);
        let line = [123, 124].map(|cwnd| {
            let mut bic = bic(&[("max_increment", 8)]);
            bic.search = Search { w_max: 100, ack_ratio: 1 << ACK_RATIO_BITS, ..Search::default() };
            bic.update(cwnd, &flow());
            bic.search.per
        });
        assert_eq!(line, [16, 15]);
    }

    /// 1000 / 32 = 31 ticks: for an unchanged window, `per` is not computed before the 32nd tick.
    #[test]
    fn growth_for_an_unchanged_window_is_computed_32_times_a_second() {
        let (mut bic, mut flow) = (bic(&[]), flow());
        bic.update(100, &flow);
        let first = bic.search.per;
        bic.search.w_max = 101;
        flow.now += Time::from_ms(31);
        bic.update(100, &flow);
        assert_eq!(bic.search.per, first);
        flow.now += Time::from_ms(1);
        bic.update(100, &flow);
        assert_ne!(bic.search.per, first);
    }

    #[test]
    fn growth_for_a_new_window_is_computed_at_once() {
        let mut bic = bic(&[]);
        bic.update(10, &flow());
        bic.update(11, &flow());
        assert_eq!(bic.search.per, 11);
    }

    #[test]
    fn initial_ssthresh_is_infinite_unless_given() {
        for (given, ssthresh) in [(0, INFINITE_SSTHRESH), (100, 100)] {
            let mut control = Control::default();
            bic(&[("initial_ssthresh", given)]).on_start(&flow(), &mut control);
            assert_eq!(control.ssthresh, ssthresh);
        }
    }

    /// 1000 / 16 = 62 would be slower than one packet per 20.
    #[test]
    fn growth_before_any_loss_is_at_least_a_twentieth() {
        assert_eq!(per(0, 1000), 20);
    }

    /// At 14 packets: one packet of growth per 14, and half the window after a loss. From 15 on the factor is
    /// 819 / 1024: 11.998.
    #[test]
    fn a_small_window_behaves_like_reno() {
        assert_eq!(per(100, 14), 14);
        assert_eq!(bic(&[]).on_congestion(Cause::Loss, &flow(), &window(14)), 7);
        assert_eq!(bic(&[]).on_congestion(Cause::Loss, &flow(), &window(15)), 11);
        assert_eq!(bic(&[]).on_congestion(Cause::Loss, &flow(), &window(3)), 2);
    }

    /// 1000 × 819 / 1024 = 799.8, twice; then fast convergence: 800 × (1024 + 819) / 2048 = 719.9.
    #[test]
    fn fast_convergence_remembers_less_than_the_window_of_a_lower_loss() {
        let mut fast = bic(&[]);
        for _ in 0..2 {
            assert_eq!(fast.on_congestion(Cause::Loss, &flow(), &window(1000)), 799);
            assert_eq!(fast.search.w_max, 1000);
        }
        fast.on_congestion(Cause::Loss, &flow(), &window(800));
        assert_eq!(fast.search.w_max, 719);
        let mut slow = bic(&[("fast_convergence", 0)]);
        slow.on_congestion(Cause::Loss, &flow(), &window(1000));
        slow.on_congestion(Cause::Loss, &flow(), &window(800));
        assert_eq!(slow.search.w_max, 800);
    }

    /// The average starts at 32 / 16: 32 - 2 + 4 = 34, 34 - 2 + 4 = 36. ACKs in recovery do not count.
    #[test]
    fn the_packets_per_ack_are_averaged_in_the_open_state() {
        let (mut bic, mut flow) = (bic(&[]), flow());
        let ack = Ack { acked: 4, ..Ack::default() };
        bic.on_pkts_acked(&ack, &flow, &mut window(20));
        bic.on_pkts_acked(&ack, &flow, &mut window(20));
        assert_eq!(bic.search.ack_ratio, 36);
        flow.state = State::Recovery;
        bic.on_pkts_acked(&ack, &flow, &mut window(20));
        assert_eq!(bic.search.ack_ratio, 36);
    }

    /// One packet of growth per 16 at a window of 160; with two packets per ACK per 8: 24 delivered packets
    /// add 3.
    #[test]
    fn growth_is_divided_by_the_packets_of_an_ack() {
        let (mut bic, mut control) = (bic(&[]), window(160));
        bic.search.w_max = 200;
        bic.on_ack(&Ack { delivered: 24, ..Ack::default() }, &flow(), &mut control);
        assert_eq!(control.cwnd, 163);
    }

    #[test]
    fn timeout_forgets_the_path() {
        let mut bic = bic(&[]);
        bic.on_congestion(Cause::Timeout, &flow(), &window(1000));
        bic.on_state(State::Loss, &flow(), &mut window(1000));
        assert_eq!(bic.search.w_max, 0);
    }
}
