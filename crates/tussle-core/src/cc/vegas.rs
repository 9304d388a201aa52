//! Vegas: keep two to four packets in the queue. The RTT above the smallest one shows how many packets of the
//! window are queued. Source: Brakmo and Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global
//! Internet", IEEE JSAC 13(8), 1995. Agrees with: Linux 6.1 `vegas`, which leaves loss detection and recovery
//! to the sender, doubles the window every round trip in slow start, and takes the smallest RTT of a round
//! trip as its RTT. Departs: nowhere known.

use super::{CongestionControl, Control, Entry, Parameter, Parameters};
use crate::tcp::{Ack, Flow, State, current_ssthresh};

pub(super) const ENTRY: Entry = Entry {
    name: "vegas",
    idea: "Keep two to four packets in the queue.",
    source: "Brakmo and Peterson, IEEE JSAC 13(8), 1995",
    agrees_with: "Linux 6.1",
    parameters: &[
        Parameter {
            name: "alpha",
            default: 2,
            min: 0,
            max: 1 << 20,
            meaning: "packets in the queue below which the window grows",
        },
        Parameter {
            name: "beta",
            default: 4,
            min: 0,
            max: 1 << 20,
            meaning: "packets in the queue above which the window shrinks",
        },
        Parameter {
            name: "gamma",
            default: 1,
            min: 0,
            max: 1 << 20,
            meaning: "packets in the queue above which slow start ends",
        },
    ],
    build: |parameters, _| Box::new(Vegas::new(parameters)),
};

/// Placeholder for no measured RTT; longer than any RTT.
const NO_RTT_US: u32 = 0x7fff_ffff;
/// RTT samples per round trip below which all may come from delayed ACKs.
const MIN_SAMPLES: u16 = 3;
/// Smallest window, in packets.
const CWND_MIN: u32 = 2;

#[derive(Debug)]
pub(super) struct Vegas {
    alpha: u32,
    beta: u32,
    gamma: u32,
    mode: Mode,
    /// Smallest RTT since the flow began to send, in µs. (Paper: `BaseRTT`.)
    pub(super) base_rtt_us: u32,
    pub(super) round: Round,
    /// Queued packets at the last estimate. (Paper: `Diff × BaseRTT`.)
    diff: u32,
}

/// Algorithm that sets the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Vegas,
    /// Reno during recovery, when RTTs are unreliable.
    Reno,
}

/// One round trip: it ends when a packet sent after its start is acknowledged.
#[derive(Debug)]
pub(super) struct Round {
    /// First packet of the next round.
    pub(super) end: u32,
    /// Smallest RTT, in µs.
    pub(super) rtt_us: u32,
    /// RTT samples, in 16 bits as in Linux.
    samples: u16,
}

impl Round {
    pub(super) fn start(flow: &Flow) -> Round {
        Round { end: flow.nxt, rtt_us: NO_RTT_US, samples: 0 }
    }

    pub(super) fn has_enough_samples(&self) -> bool {
        self.samples >= MIN_SAMPLES
    }
}

impl Default for Vegas {
    fn default() -> Vegas {
        Vegas::new(&ENTRY.defaults())
    }
}

impl Vegas {
    fn new(parameters: &Parameters) -> Vegas {
        Vegas {
            alpha: parameters.get_u32("alpha"),
            beta: parameters.get_u32("beta"),
            gamma: parameters.get_u32("gamma"),
            mode: Mode::Vegas,
            base_rtt_us: NO_RTT_US,
            round: Round { end: 0, rtt_us: NO_RTT_US, samples: 0 },
            diff: 0,
        }
    }

    fn reset(&mut self, flow: &Flow) {
        self.base_rtt_us = NO_RTT_US;
        self.resume(flow);
    }

    /// Resumes decisions at the next full round trip.
    fn resume(&mut self, flow: &Flow) {
        self.mode = Mode::Vegas;
        self.round = Round::start(flow);
    }

    /// Decides once per round trip. The queued packets are `(Expected - Actual) × BaseRTT`, which the paper
    /// computes as `cwnd (RTT - BaseRTT) / RTT`; Linux divides by `BaseRTT`, which gives more. (Paper:
    /// congestion avoidance mechanism.)
    fn decide(&mut self, delivered: u32, control: &mut Control) {
        let (rtt, base) = (self.round.rtt_us, self.base_rtt_us);
        // Linux uses 32 bits, which wrap where window times queueing delay exceeds 4295 packets × s.
        self.diff = control.cwnd.wrapping_mul(rtt - base) / base;
        if control.in_slow_start() {
            if self.diff > self.gamma {
                let no_queue = u64::from(control.cwnd) * u64::from(base) / u64::from(rtt);
                // Rounding down would leave the link idle.
                control.cwnd = control.cwnd.min(u32::try_from(no_queue + 1).unwrap_or(u32::MAX));
                control.ssthresh = control.ssthresh.min(control.cwnd);
            } else {
                control.slow_start(delivered);
            }
        } else if self.diff > self.beta {
            control.cwnd -= 1;
            control.ssthresh = control.ssthresh.min(control.cwnd);
        } else if self.diff < self.alpha {
            control.cwnd += 1;
        }
        control.cwnd = control.cwnd.min(control.cwnd_clamp).max(CWND_MIN);
    }
}

impl CongestionControl for Vegas {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn on_start(&mut self, flow: &Flow, _control: &mut Control) {
        self.reset(flow);
    }

    fn on_tx_start(&mut self, flow: &Flow, _control: &mut Control) {
        self.reset(flow);
    }

    fn on_pkts_acked(&mut self, ack: &Ack, _flow: &Flow, _control: &mut Control) {
        if let Some(rtt_us) = ack.rtt_us {
            // No RTT is zero.
            let rtt_us = rtt_us.saturating_add(1);
            self.base_rtt_us = self.base_rtt_us.min(rtt_us);
            self.round.rtt_us = self.round.rtt_us.min(rtt_us);
            self.round.samples = self.round.samples.wrapping_add(1);
        }
    }

    fn on_ack(&mut self, ack: &Ack, flow: &Flow, control: &mut Control) {
        match self.mode {
            Mode::Reno => control.grow_like_reno(ack.delivered, flow),
            Mode::Vegas if flow.una > self.round.end => {
                if self.round.has_enough_samples() {
                    self.decide(ack.delivered, control);
                    control.ssthresh = current_ssthresh(flow, control);
                } else {
                    control.grow_like_reno(ack.delivered, flow);
                }
                self.round = Round::start(flow);
            }
            Mode::Vegas => {
                if control.in_slow_start() {
                    control.slow_start(ack.delivered);
                }
            }
        }
    }

    fn on_state(&mut self, next: State, flow: &Flow, _control: &mut Control) {
        match next {
            State::Open => self.resume(flow),
            _ => self.mode = Mode::Reno,
        }
    }

    fn internals(&self, record: &mut dyn FnMut(&'static str, f64)) {
        let known_ms = |us: u32| if us == NO_RTT_US { f64::NAN } else { f64::from(us) / 1e3 };
        record("base_rtt_ms", known_ms(self.base_rtt_us));
        record("rtt_ms", known_ms(self.round.rtt_us));
        record("diff_packets", f64::from(self.diff));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::cc::control::INFINITE_SSTHRESH;
    use crate::tcp::WindowUse;

    /// Vegas with a smallest RTT of 100 ms, and a flow that has sent 20 packets.
    fn started() -> (Vegas, Flow) {
        let mut vegas = Vegas::default();
        let mut flow = Flow { usage: WindowUse::limited(), ..Flow::new(1000, 1448) };
        vegas.on_start(&flow, &mut Control::default());
        flow.nxt = 20;
        vegas.base_rtt_us = 100_000;
        (vegas, flow)
    }

    /// Window after a round trip of `samples` RTTs of `rtt_us` that ends with one packet delivered.
    fn round((vegas, flow): &mut (Vegas, Flow), rtt_us: u32, samples: u32, control: &mut Control) -> u32 {
        flow.una = vegas.round.end + 1;
        flow.nxt = flow.una + control.cwnd;
        let ack = Ack { acked: 1, delivered: 1, rtt_us: Some(rtt_us - 1), ..Ack::default() };
        for _ in 0..samples {
            vegas.on_pkts_acked(&ack, flow, control);
        }
        vegas.on_ack(&ack, flow, control);
        control.cwnd
    }

    fn avoiding(cwnd: u32) -> Control {
        Control::new(cwnd, 2)
    }

    /// Window 20, smallest RTT 100 ms. At 105 ms, 20 × 5 / 100 = 1 packet is queued, below alpha. At 110 ms 2
    /// packets and at 120 ms 4 packets are between alpha and beta. At 125 ms 5 packets are above beta.
    #[test]
    fn the_window_keeps_two_to_four_packets_queued() {
        for (rtt_us, cwnd) in [(105_000, 21), (110_000, 20), (120_000, 20), (125_000, 19)] {
            assert_eq!(round(&mut started(), rtt_us, 3, &mut avoiding(20)), cwnd, "RTT {rtt_us} µs");
        }
    }

    /// One queued packet is not above gamma: the window grows by the delivered packet. With two queued
    /// packets, slow start ends at the window without a queue, 20 × 100 / 110 = 18, plus one for rounding;
    /// ssthresh is not below 3/4 of it.
    #[test]
    fn slow_start_ends_when_more_than_gamma_packets_are_queued() {
        let mut control = Control::new(20, INFINITE_SSTHRESH);
        assert_eq!(round(&mut started(), 105_000, 3, &mut control), 21);
        assert!(control.in_slow_start());
        let mut control = Control::new(20, INFINITE_SSTHRESH);
        assert_eq!(round(&mut started(), 110_000, 3, &mut control), 19);
        assert_eq!(control.ssthresh, 19);
    }

    /// 19 ≥ 3/4 × 21: a window that grew keeps three quarters as ssthresh: 21/2 + 21/4 = 15.
    #[test]
    fn ssthresh_follows_a_window_that_grows() {
        let mut control = avoiding(20);
        round(&mut started(), 105_000, 3, &mut control);
        assert_eq!((control.cwnd, control.ssthresh), (21, 15));
    }

    /// Five packets are queued: the window falls from 20, its ssthresh, to 19, and ssthresh with it.
    #[test]
    fn ssthresh_follows_a_window_that_falls() {
        let mut control = Control::new(20, 20);
        round(&mut started(), 125_000, 3, &mut control);
        assert_eq!((control.cwnd, control.ssthresh), (19, 19));
    }

    /// 10 packets are queued, but both of two samples may come from delayed ACKs: Reno's growth of 1/20
    /// packet applies.
    #[test]
    fn two_samples_are_too_few_to_decide() {
        assert_eq!(round(&mut started(), 150_000, 2, &mut avoiding(20)), 20);
        assert_eq!(round(&mut started(), 150_000, 3, &mut avoiding(20)), 19);
    }

    /// The round trip ends with packet 10.
    #[test]
    fn within_a_round_trip_only_slow_start_grows() {
        let ack = Ack { acked: 2, delivered: 2, ..Ack::default() };
        for (ssthresh, cwnd) in [(2, 20), (INFINITE_SSTHRESH, 60)] {
            let (mut vegas, mut flow) = started();
            (vegas.round.end, flow.una) = (10, 10);
            let mut control = Control::new(20, ssthresh);
            (0..20).for_each(|_| vegas.on_ack(&ack, &flow, &mut control));
            assert_eq!(control.cwnd, cwnd);
        }
    }

    /// 10 packets are queued; in Disorder Reno grows by one packet per 20 delivered. Back in Open the RTTs
    /// are reset.
    #[test]
    fn outside_the_open_state_growth_is_renos() {
        let (mut vegas, mut flow) = started();
        let mut control = avoiding(20);
        vegas.on_state(State::Disorder, &flow, &mut control);
        flow.una = 20;
        vegas.on_ack(&Ack { delivered: 20, ..Ack::default() }, &flow, &mut control);
        assert_eq!(control.cwnd, 21);
        flow.nxt = 50;
        vegas.on_state(State::Open, &flow, &mut control);
        assert_eq!((vegas.mode, vegas.round.end, vegas.round.samples), (Mode::Vegas, 50, 0));
        assert_eq!(vegas.base_rtt_us, 100_000);
    }

    #[test]
    fn idle_forgets_the_smallest_rtt() {
        let (mut vegas, flow) = started();
        vegas.on_tx_start(&flow, &mut avoiding(20));
        assert_eq!(vegas.base_rtt_us, NO_RTT_US);
    }

    /// 2 × 900 / 100 = 18 packets seem to be queued, more than the window.
    #[test]
    fn the_window_never_falls_below_two_packets() {
        assert_eq!(round(&mut started(), 1_000_000, 3, &mut avoiding(2)), 2);
    }

    /// 50 000 × 100 000 = 5 × 10⁹ is 705 032 704 in 32 bits: the estimate is 7050 queued packets instead of
    /// 50 000.
    #[test]
    fn the_estimate_wraps_in_32_bits_as_in_linux() {
        let mut pair = started();
        round(&mut pair, 200_000, 3, &mut avoiding(50_000));
        assert_eq!(pair.0.diff, 7050);
    }

    #[test]
    fn internals_are_unknown_until_measured() {
        let recorded = |vegas: &Vegas| {
            let mut values = BTreeMap::new();
            vegas.internals(&mut |name, value| {
                values.insert(name, value);
            });
            values
        };
        let (mut vegas, flow) = started();
        assert!((recorded(&vegas)["base_rtt_ms"] - 100.0).abs() < f64::EPSILON);
        assert!(recorded(&vegas)["rtt_ms"].is_nan());
        vegas.reset(&flow);
        assert!(recorded(&vegas)["base_rtt_ms"].is_nan());
    }
}
