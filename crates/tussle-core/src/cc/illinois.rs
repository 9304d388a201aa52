//! Illinois: losses determine when to slow down, the queueing delay by how much. While the delay is low, the
//! window grows by ten packets per round trip and a loss takes an eighth; near the longest delay, the window
//! grows by 0.3 packets and a loss takes half. Source: Liu, Başar and Srikant, "TCP-Illinois: A loss- and
//! delay-based congestion control algorithm for high-speed networks", Performance Evaluation 65(6-7), 2008.
//! Agrees with: Linux 6.1 `illinois`. Departs: see docs/deviations/illinois.toml (1 entry).

use super::{CongestionControl, Control, Entry, Parameter, Parameters};
use crate::tcp::{Ack, Cause, Flow, State};

pub(super) const ENTRY: Entry = Entry {
    name: "illinois",
    idea: "Losses determine when to slow down; the queueing delay determines growth and reduction.",
    source: "Liu, Başar and Srikant, Performance Evaluation 65(6-7), 2008",
    agrees_with: "Linux 6.1",
    parameters: &[
        Parameter {
            name: "win_thresh",
            default: 15,
            min: 0,
            max: 1 << 20,
            meaning: "window below which the algorithm is Reno, in packets (the paper's W_thresh)",
        },
        Parameter {
            name: "theta",
            default: 5,
            min: 0,
            max: 255,
            meaning: "round trips of low delay before the largest growth returns (the paper's θ)",
        },
    ],
    build: |parameters, _| Box::new(Illinois::new(parameters)),
};

/// Unit of α: 1/128 packets.
const ALPHA_ONE: u32 = 128;
/// Smallest α: 0.3 packets, rounded down. (Paper: `α_min`.)
const ALPHA_MIN: u32 = 3 * ALPHA_ONE / 10;
/// Largest α: 10 packets. (Paper: `α_max`.)
const ALPHA_MAX: u32 = 10 * ALPHA_ONE;
/// Unit of β: 1/64.
const BETA_ONE: u32 = 64;
/// Smallest β: an eighth. (Paper: `β_min`.)
const BETA_MIN: u32 = BETA_ONE / 8;
/// Largest β: half. (Paper: `β_max`.)
const BETA_MAX: u32 = BETA_ONE / 2;
/// Longest valid RTT, in µs: the arithmetic of α fits 32 bits up to it.
const RTT_MAX_US: u32 = u32::MAX / ALPHA_MAX;
/// Placeholder for no measured RTT; longer than any RTT.
const NO_RTT_US: u32 = 0x7fff_ffff;

#[derive(Debug)]
struct Illinois {
    /// Window below which the algorithm is Reno. (Paper: `W_thresh`.)
    reno_below: u32,
    /// Round trips of low delay before α is the largest again. (Paper: θ.)
    theta: u32,
    /// Packets of growth in a round trip, in 1/128.
    alpha: u32,
    /// Fraction of the window that a loss takes, in 1/64.
    beta: u32,
    /// Smallest RTT, in µs. (Paper: base RTT.)
    rtt_min_us: u32,
    /// Largest RTT, in µs.
    rtt_max_us: u32,
    round: Round,
    delays: Delays,
    /// Packets that the last ACK acknowledged, in 16 bits as in Linux.
    acked: u16,
}

/// One round trip: it ends when a packet sent after its start is acknowledged.
#[derive(Debug)]
struct Round {
    /// First packet of the next round.
    end: u32,
    /// Sum of the RTTs, in µs.
    sum_us: u64,
    /// RTT samples, in 16 bits as in Linux: 65536 samples in a round trip count as none.
    samples: u16,
}

/// History of queueing delays. (Paper: `d_a` against `d_1`.)
#[derive(Debug)]
enum Delays {
    /// Low since the start or the last timeout.
    Low,
    /// High at some time, and then low for `low_since` round trips in total.
    High { low_since: u32 },
}

/// Queueing delays, in µs.
#[derive(Clone, Copy, Debug)]
struct Queue {
    /// Mean of a round trip. (Paper: `d_a`.)
    mean_us: u32,
    /// Longest delay seen. (Paper: `d_m`.)
    max_us: u32,
}

impl Queue {
    /// Largest low delay. (Paper: `d_1` = 0.01 `d_m`.)
    fn low_us(self) -> u32 {
        self.max_us / 100
    }

    fn is_low(self) -> bool {
        self.mean_us <= self.low_us()
    }

    /// Growth `α = κ₁ / (κ₂ + d_a)`, falling from `α_max` at `d_1` to `α_min` at `d_m`, in 1/128 packets.
    /// (Paper: α(`d_a`).)
    fn alpha(self) -> u32 {
        let range_us = self.max_us - self.low_us();
        // Linux uses 32 bits; a mean above the longest delay, from too many samples, can wrap.
        let above_us = (self.mean_us - self.low_us()).wrapping_mul(ALPHA_MAX - ALPHA_MIN) / ALPHA_MIN;
        range_us * ALPHA_MAX / range_us.wrapping_add(above_us).max(1)
    }

    /// Decrease β: `β_min` up to `d_2` = 0.1 `d_m`, `β_max` from `d_3` = 0.8 `d_m` on, linear between them,
    /// in 1/64. (Paper: β(`d_a`).)
    fn beta(self) -> u32 {
        let (low, high) = (self.max_us / 10, 8 * self.max_us / 10);
        if self.mean_us <= low {
            BETA_MIN
        } else if self.mean_us >= high || high <= low {
            BETA_MAX
        } else {
            (BETA_MIN * high - BETA_MAX * low + (BETA_MAX - BETA_MIN) * self.mean_us) / (high - low)
        }
    }
}

impl Illinois {
    fn new(parameters: &Parameters) -> Illinois {
        Illinois {
            reno_below: parameters.get_u32("win_thresh"),
            theta: parameters.get_u32("theta"),
            alpha: ALPHA_MAX,
            beta: BETA_MAX,
            rtt_min_us: NO_RTT_US,
            rtt_max_us: 0,
            round: Round { end: 0, sum_us: 0, samples: 0 },
            delays: Delays::Low,
            acked: 0,
        }
    }

    fn start_round(&mut self, flow: &Flow) {
        self.round = Round { end: flow.nxt, sum_us: 0, samples: 0 };
    }

    #[expect(clippy::cast_possible_truncation, reason = "32 bits, as in Linux")]
    fn queue(&self) -> Option<Queue> {
        let mean_us = self.round.sum_us.checked_div(u64::from(self.round.samples))? as u32;
        Some(Queue {
            mean_us: mean_us.wrapping_sub(self.rtt_min_us),
            max_us: self.rtt_max_us - self.rtt_min_us,
        })
    }

    /// Updates α and β once per round trip.
    fn decide(&mut self, cwnd: u32) {
        if cwnd < self.reno_below {
            (self.alpha, self.beta) = (ALPHA_ONE, BETA_MAX);
        } else if let Some(queue) = self.queue() {
            self.alpha = self.alpha_for(queue);
            self.beta = queue.beta();
        }
    }

    /// Growth α for the current delay. Once the delay was high, it must be low for θ round trips before α is
    /// the largest again: one short RTT does not prove an empty queue.
    fn alpha_for(&mut self, queue: Queue) -> u32 {
        if !queue.is_low() {
            if matches!(self.delays, Delays::Low) {
                self.delays = Delays::High { low_since: 0 };
            }
            return queue.alpha();
        }
        if let Delays::High { low_since } = &mut self.delays {
            *low_since += 1;
            if *low_since < self.theta {
                return self.alpha;
            }
        }
        self.delays = Delays::Low;
        ALPHA_MAX
    }
}

impl CongestionControl for Illinois {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn on_start(&mut self, flow: &Flow, _control: &mut Control) {
        self.start_round(flow);
    }

    #[expect(clippy::cast_possible_truncation, reason = "counted in 16 bits, as in Linux")]
    fn on_pkts_acked(&mut self, ack: &Ack, _flow: &Flow, _control: &mut Control) {
        self.acked = ack.acked as u16;
        if let Some(rtt_us) = ack.rtt_us {
            let rtt_us = rtt_us.min(RTT_MAX_US);
            self.rtt_min_us = self.rtt_min_us.min(rtt_us);
            self.rtt_max_us = self.rtt_max_us.max(rtt_us);
            self.round.samples = self.round.samples.wrapping_add(1);
            self.round.sum_us += u64::from(rtt_us);
        }
    }

    fn on_ack(&mut self, ack: &Ack, flow: &Flow, control: &mut Control) {
        if flow.una > self.round.end {
            self.decide(control.cwnd);
            self.start_round(flow);
        }
        if !flow.cwnd_limited(control) {
            return;
        }
        if control.in_slow_start() {
            control.slow_start(ack.delivered);
            return;
        }
        control.credit += u32::from(self.acked);
        self.acked = 1;
        let grown = control.credit.wrapping_mul(self.alpha) / ALPHA_ONE / control.cwnd;
        if grown > 0 {
            control.cwnd = control.cwnd.saturating_add(grown).min(control.cwnd_clamp);
            control.credit = 0;
        }
    }

    fn on_congestion(&mut self, _cause: Cause, _flow: &Flow, control: &Control) -> u32 {
        (control.cwnd - control.cwnd_part(self.beta, BETA_ONE)).max(2)
    }

    /// Resets the delays after a timeout, because they are out of date.
    fn on_state(&mut self, next: State, flow: &Flow, _control: &mut Control) {
        if next == State::Loss {
            (self.alpha, self.beta) = (ALPHA_ONE, BETA_MAX);
            self.delays = Delays::Low;
            self.start_round(flow);
        }
    }

    fn internals(&self, record: &mut dyn FnMut(&'static str, f64)) {
        record("alpha_packets", f64::from(self.alpha) / f64::from(ALPHA_ONE));
        record("beta", f64::from(self.beta) / f64::from(BETA_ONE));
        let known_ms = |us: u32, unknown: u32| if us == unknown { f64::NAN } else { f64::from(us) / 1e3 };
        record("rtt_min_ms", known_ms(self.rtt_min_us, NO_RTT_US));
        record("rtt_max_ms", known_ms(self.rtt_max_us, 0));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::cc::control::INFINITE_SSTHRESH;
    use crate::tcp::WindowUse;

    const BASE_RTT_US: u32 = 50_000;

    fn illinois() -> Illinois {
        Illinois::new(&ENTRY.parameters(&BTreeMap::new()).expect("the defaults are valid"))
    }

    /// Illinois after RTTs between 50 and 150 ms: the longest delay is 100 ms.
    fn seen() -> Illinois {
        Illinois { rtt_min_us: BASE_RTT_US, rtt_max_us: BASE_RTT_US + 100_000, ..illinois() }
    }

    fn flow() -> Flow {
        Flow { usage: WindowUse::limited(), ..Flow::new(250, 1448) }
    }

    /// Values of α in 1/128 and β in 1/64 after a round trip with this mean delay, at 100 packets.
    fn after_round(illinois: &mut Illinois, delay_us: u32) -> (u32, u32) {
        for rtt_us in [BASE_RTT_US + delay_us - delay_us / 2, BASE_RTT_US + delay_us + delay_us / 2] {
            let ack = Ack { rtt_us: Some(rtt_us), ..Ack::default() };
            illinois.on_pkts_acked(&ack, &flow(), &mut Control::default());
        }
        let next = Flow { una: illinois.round.end + 1, nxt: illinois.round.end + 100, ..flow() };
        illinois.on_ack(&Ack::default(), &next, &mut Control::new(100, 2));
        (illinois.alpha, illinois.beta)
    }

    fn alpha_at(delay_us: u32) -> u32 {
        Queue { mean_us: delay_us, max_us: 100_000 }.alpha()
    }

    fn beta_at(delay_us: u32) -> u32 {
        Queue { mean_us: delay_us, max_us: 100_000 }.beta()
    }

    /// Paper: κ₁ = (`d_m` - `d_1`) `α_min` `α_max` / (`α_max` - `α_min`), κ₂ = (`d_m` - `d_1`) `α_min` /
    /// (`α_max` - `α_min`) - `d_1`; with `d_m` = 100 ms, `d_1` = 1 ms, 10 and 38/128 = 0.2969 packets: κ₁ =
    /// 30.29, κ₂ = 2.029 ms. At 1 ms 30.29 / 3.029 = 10, at 11 ms 30.29 / 13.03 = 2.325 (297.6 / 128), at 51
    /// ms 0.571, at 100 ms 0.2969.
    #[test]
    fn alpha_falls_with_the_delay_from_ten_to_a_third_of_a_packet() {
        assert_eq!([1_000, 11_000, 51_000, 100_000].map(alpha_at), [1280, 297, 73, 38]);
    }

    /// α is convex: it falls by more in the first tenth of the delay than in all the rest.
    #[test]
    fn alpha_shrinks_as_the_queue_fills() {
        let alphas: Vec<_> = (1..=100).map(|ms| alpha_at(ms * 1000)).collect();
        assert!(alphas.is_sorted_by(|a, b| a >= b), "{alphas:?}");
        assert!(alphas[0] - alphas[9] > alphas[9] - alphas[99], "{alphas:?}");
    }

    /// Paper: 1/8 up to `d_2` = 10 ms, 1/2 from `d_3` = 80 ms on, between (1/8 × 80 - 1/2 × 10 + 3/8 d) / 70:
    /// at 45 ms (10 - 5 + 16.875) / 70 = 0.3125, which is 20 / 64.
    #[test]
    fn beta_rises_with_the_delay_from_an_eighth_to_half() {
        assert_eq!([0, 10_000, 45_000, 80_000, 100_000].map(beta_at), [8, 8, 20, 32, 32]);
        assert_eq!([13_000, 70_000].map(beta_at), [9, 28]);
    }

    #[test]
    fn a_path_that_never_queued_gives_the_largest_alpha_and_the_smallest_beta() {
        let never = Queue { mean_us: 0, max_us: 0 };
        assert!(never.is_low());
        assert_eq!(never.beta(), BETA_MIN);
    }

    /// 10 µs of longest delay: a hundredth of it is 0, and 8 µs are `d_3`.
    #[test]
    fn delays_of_a_few_us_are_valid() {
        assert_eq!(Queue { mean_us: 9, max_us: 9 }.beta(), BETA_MAX);
        assert_eq!(Queue { mean_us: 1, max_us: 1 }.beta(), BETA_MAX);
        assert_eq!(Queue { mean_us: 1, max_us: 1 }.alpha(), ALPHA_MIN);
    }

    /// RTTs of 50 + 25.5 and 50 + 76.5 ms have a mean delay of 51 ms.
    #[test]
    fn the_mean_of_a_round_trip_decides() {
        assert_eq!(after_round(&mut seen(), 51_000), (alpha_at(51_000), beta_at(51_000)));
    }

    /// After a high delay, the fifth round trip with a low delay restores the largest α, the fourth does not.
    #[test]
    fn after_a_high_delay_five_round_trips_with_a_low_delay_restore_the_largest_alpha() {
        let mut illinois = seen();
        assert_eq!(after_round(&mut illinois, 0).0, ALPHA_MAX);
        let high = after_round(&mut illinois, 51_000).0;
        let low: Vec<_> = (0..6).map(|_| after_round(&mut illinois, 0).0).collect();
        assert_eq!(low, [high, high, high, high, ALPHA_MAX, ALPHA_MAX]);
    }

    /// As in Linux: after two low delays, a high one and two low ones, the next low delay is the fifth in
    /// total.
    #[test]
    fn a_high_delay_does_not_restart_the_count() {
        let mut illinois = seen();
        for delay_us in [51_000, 0, 0, 51_000, 0, 0] {
            assert_ne!(after_round(&mut illinois, delay_us).0, ALPHA_MAX);
        }
        assert_eq!(after_round(&mut illinois, 0).0, ALPHA_MAX);
    }

    /// At 14 packets the window grows by one packet per round trip and halves at a loss. From 15 on the delay
    /// decides.
    #[test]
    fn a_small_window_behaves_like_reno() {
        let decided = |cwnd| {
            let mut illinois = seen();
            illinois.round = Round { end: 0, sum_us: u64::from(BASE_RTT_US), samples: 1 };
            illinois.decide(cwnd);
            (illinois.alpha, illinois.beta)
        };
        assert_eq!(decided(14), (ALPHA_ONE, BETA_MAX));
        assert_eq!(decided(15), (ALPHA_MAX, BETA_MIN));
    }

    #[test]
    fn a_round_trip_without_samples_changes_nothing() {
        let mut illinois = seen();
        let before = after_round(&mut illinois, 51_000);
        illinois.decide(100);
        assert_eq!((illinois.alpha, illinois.beta), before);
    }

    /// The round ends when a packet after its end is acknowledged.
    #[test]
    fn delays_are_evaluated_once_per_round_trip() {
        let mut illinois = seen();
        illinois.round = Round { end: 10, sum_us: u64::from(BASE_RTT_US + 51_000), samples: 1 };
        for (una, alpha) in [(10, ALPHA_MAX), (11, alpha_at(51_000))] {
            let flow = Flow { una, nxt: 50, ..flow() };
            illinois.on_ack(&Ack::default(), &flow, &mut Control::new(100, 2));
            assert_eq!(illinois.alpha, alpha);
        }
        assert_eq!((illinois.round.end, illinois.round.samples), (50, 0));
    }

    /// α = 10 at a window of 100: one packet of growth per 10 delivered. 13 packets delivered at once add 13
    /// × 10 / 100.
    #[test]
    fn growth_is_alpha_packets_per_round_trip() {
        let (mut illinois, mut control) = (Illinois { acked: 1, ..illinois() }, Control::new(100, 2));
        let flow = Flow { una: 0, ..flow() };
        (0..100).for_each(|_| illinois.on_ack(&Ack::default(), &flow, &mut control));
        assert_eq!(control.cwnd, 109);
        let (mut illinois, mut control) = (Illinois { acked: 31, ..illinois }, Control::new(100, 2));
        illinois.on_ack(&Ack::default(), &flow, &mut control);
        assert_eq!((control.cwnd, control.credit), (103, 0));
    }

    /// An ACK counts with the packets of the last RTT sample; an ACK without a sample counts as one packet.
    #[test]
    fn growth_counts_the_packets_of_the_last_sample() {
        let (mut illinois, mut control) = (illinois(), Control::new(1000, 2));
        illinois.on_pkts_acked(&Ack { acked: 4, ..Ack::default() }, &flow(), &mut control);
        illinois.on_ack(&Ack::default(), &flow(), &mut control);
        assert_eq!(control.credit, 4);
        illinois.on_ack(&Ack::default(), &flow(), &mut control);
        assert_eq!(control.credit, 5);
    }

    /// 1000 × 8 / 64 = 125, × 32 / 64 = 500.
    #[test]
    fn a_loss_takes_beta_of_the_window() {
        for (beta, left) in [(BETA_MIN, 875), (BETA_MAX, 500)] {
            let mut illinois = Illinois { beta, ..illinois() };
            assert_eq!(illinois.on_congestion(Cause::Loss, &flow(), &Control::new(1000, 2)), left);
            assert_eq!(illinois.on_congestion(Cause::Loss, &flow(), &Control::new(2, 2)), 2);
        }
    }

    #[test]
    fn after_a_timeout_illinois_is_reno_until_the_next_round_trip() {
        let mut illinois = seen();
        after_round(&mut illinois, 51_000);
        illinois.on_state(State::Recovery, &flow(), &mut Control::default());
        assert_eq!(illinois.alpha, alpha_at(51_000));
        illinois.on_state(State::Loss, &Flow { nxt: 500, ..flow() }, &mut Control::default());
        assert_eq!((illinois.alpha, illinois.beta, illinois.round.end), (ALPHA_ONE, BETA_MAX, 500));
        assert!(matches!(illinois.delays, Delays::Low));
    }

    /// 2^32 / 1280 µs: a delay of this length times 1280 still fits 32 bits.
    #[test]
    fn an_rtt_above_3_4_s_counts_as_3_4_s() {
        let mut illinois = illinois();
        let ack = Ack { rtt_us: Some(10_000_000), ..Ack::default() };
        illinois.on_pkts_acked(&ack, &flow(), &mut Control::default());
        assert_eq!((illinois.rtt_max_us, illinois.rtt_min_us), (3_355_443, 3_355_443));
    }

    #[test]
    fn slow_start_is_that_of_reno() {
        let mut control = Control::new(20, INFINITE_SSTHRESH);
        illinois().on_ack(&Ack { delivered: 2, ..Ack::default() }, &flow(), &mut control);
        assert_eq!((control.cwnd, control.credit), (22, 0));
    }

    #[test]
    fn rtts_are_unknown_until_measured() {
        let mut values = BTreeMap::new();
        illinois().internals(&mut |name, value| {
            values.insert(name, value);
        });
        assert!(values["rtt_min_ms"].is_nan() && values["rtt_max_ms"].is_nan());
        assert!((values["alpha_packets"] - 10.0).abs() < f64::EPSILON);
    }
}
