//! Vivace: try a slightly higher and a slightly lower rate, and move towards the higher utility, where a
//! growing delay is expensive. Packets are paced. Each monitor interval gives a utility, two intervals give
//! its slope, and the rate follows the slope: faster while the direction stays, but never by more than a
//! boundary. Source: Dong, Meng, Zarchy, Arslan, Gilad, Godfrey and Schapira, "PCC Vivace: Online-Learning
//! Congestion Control", NSDI 2018, 3 and 4; the latency flavour, b = 900. Choices that the paper leaves open:
//! an interval lasts a smoothed RTT and at least ten packets; while the outcome of a pair is outstanding the
//! flow sends at its rate; the order within a pair alternates; a timeout halves the rate; the window is twice
//! what the rate needs, so that it does not limit. Departs: see docs/deviations/vivace.toml.

mod interval;
mod rate_control;

use std::collections::VecDeque;

use interval::{Interval, Outcome, Purpose, Weights};
use rate_control::RateControl;

use super::{CongestionControl, Control, Entry, Needs, Parameter, Parameters, Recovery};
use crate::Time;
use crate::tcp::{Ack, Cause, Flow, INITIAL_WINDOW_PACKETS, Limit, State};

pub(super) const ENTRY: Entry = Entry {
    name: "vivace",
    idea: "Probe a higher and a lower rate, and move towards the higher utility: rate minus delay growth minus loss.",
    source: "Dong et al., NSDI 2018, 3 and 4",
    agrees_with: "the paper (April 2018)",
    parameters: &[
        Parameter {
            name: "latency_weight",
            default: 900,
            min: 0,
            max: 1_000_000,
            meaning: "cost per Mbit/s of an RTT that grows by one second per second (b)",
        },
        Parameter {
            name: "loss_weight_hundredths",
            default: 1135,
            min: 0,
            max: 1_000_000,
            meaning: "cost per Mbit/s of losing all packets, in hundredths (c)",
        },
        Parameter {
            name: "probe_percent",
            default: 5,
            min: 1,
            max: 50,
            meaning: "distance of probes from the rate, in percent (ε)",
        },
    ],
    build: |parameters, _| Box::new(Vivace::new(parameters)),
};

/// Smallest number of packets in an interval; fewer do not determine slope and loss.
const MIN_PACKETS: u32 = 10;
/// Smallest rate, in packets per round trip: the paper's first rate.
const MIN_PACKETS_A_ROUND: u32 = 2;
/// Largest rate: 1 Tbit/s, so that the search ends on a path without a bottleneck.
const MAX_RATE: f64 = 1e6;

#[derive(Debug)]
struct Vivace {
    weights: Weights,
    /// Relative distance of a probe from the rate. (Paper: `ε`.)
    probe: f64,
    /// Rate in Mbit/s of payload; zero before the first RTT. (Paper: `r`.)
    rate: f64,
    phase: Phase,
    current: Interval,
    /// Intervals that were sent but are not completely acknowledged, the oldest first.
    pending: VecDeque<Interval>,
    rate_control: RateControl,
    /// Part of `flow.lost` that has been attributed to intervals.
    lost_seen: u32,
    /// Outcome and utility of the last interval that counted.
    last: Option<(Outcome, f64)>,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    /// Doubling until the utility falls; `best` is the best rate so far and its utility. (Paper, 4.1.)
    Starting { best: Option<(f64, f64)> },
    /// Probing both sides of the rate; holds the known utilities of the pair.
    Probing { first: Purpose, up: Option<f64>, down: Option<f64> },
}

/// Rate of `packets` per smoothed RTT, in Mbit/s of payload.
fn rate_of(packets: u32, flow: &Flow) -> f64 {
    f64::from(packets) * f64::from(flow.mss_bytes) * 8.0 / f64::from(srtt_us(flow))
}

fn srtt_us(flow: &Flow) -> u32 {
    flow.rtt.srtt_us().unwrap_or(0).max(1)
}

/// Transmissions so far, retransmissions included: all packets that were delivered, lost or are in flight.
fn sent_total(flow: &Flow) -> u32 {
    flow.delivered.saturating_add(flow.lost).saturating_add(flow.in_flight())
}

impl Vivace {
    fn new(parameters: &Parameters) -> Vivace {
        Vivace {
            weights: Weights {
                latency: f64::from(parameters.get_u32("latency_weight")),
                loss: f64::from(parameters.get_u32("loss_weight_hundredths")) / 100.0,
            },
            probe: f64::from(parameters.get_u32("probe_percent")) / 100.0,
            rate: 0.0,
            phase: Phase::Starting { best: None },
            current: Interval::new(Purpose::Start, 0.0, Time::ZERO, 0),
            pending: VecDeque::new(),
            rate_control: RateControl::default(),
            lost_seen: 0,
            last: None,
        }
    }

    /// Starts sending at a new rate; intervals in flight no longer count.
    fn restart_at(&mut self, rate: f64, flow: &Flow) {
        self.rate = rate.clamp(rate_of(MIN_PACKETS_A_ROUND, flow).min(MAX_RATE), MAX_RATE);
        self.current.close(flow.now, sent_total(flow));
        self.pending.push_back(self.current.clone());
        self.pending.iter_mut().for_each(|interval| interval.purpose = Purpose::Wait);
        let purpose = match &mut self.phase {
            Phase::Starting { .. } => Purpose::Start,
            Phase::Probing { first, up, down } => {
                *first = if *first == Purpose::Up { Purpose::Down } else { Purpose::Up };
                (*up, *down) = (None, None);
                *first
            }
        };
        self.begin(purpose, flow);
    }

    fn begin(&mut self, purpose: Purpose, flow: &Flow) {
        let rate = match purpose {
            Purpose::Start | Purpose::Wait => self.rate,
            Purpose::Up => self.rate * (1.0 + self.probe),
            Purpose::Down => self.rate * (1.0 - self.probe),
        };
        self.current = Interval::new(purpose, rate, flow.now, sent_total(flow));
    }

    /// Ends the current interval, if it is long enough, and starts the next.
    fn advance(&mut self, flow: &Flow) {
        let length = flow.now.since(self.current.from);
        let sent = sent_total(flow).saturating_sub(self.current.sent_before);
        if length.us() < u64::from(srtt_us(flow)) || sent < MIN_PACKETS {
            return;
        }
        let mut ended = self.current.clone();
        ended.close(flow.now, sent_total(flow));
        // A quarter less than the rate requires: the receive window, for example, was the limit.
        #[expect(clippy::cast_precision_loss, reason = "an interval is far below 2^53 µs")]
        let required = ended.rate * length.us() as f64 / (f64::from(flow.mss_bytes) * 8.0);
        ended.limited |= f64::from(ended.sent) < 0.75 * required;
        let next = match (self.phase, ended.purpose) {
            (Phase::Starting { .. }, _) => {
                if !ended.limited {
                    self.rate = (self.rate * 2.0).min(MAX_RATE);
                }
                Purpose::Start
            }
            (Phase::Probing { first: Purpose::Up, .. }, Purpose::Up) => Purpose::Down,
            (Phase::Probing { first: Purpose::Down, .. }, Purpose::Down) => Purpose::Up,
            (Phase::Probing { .. }, _) => Purpose::Wait,
        };
        self.pending.push_back(ended);
        self.begin(next, flow);
    }

    /// Attributes an ACK to its interval; all earlier intervals are complete.
    fn attribute(&mut self, ack: &Ack, flow: &Flow) {
        let sample = ack.rtt_us.map(|rtt_us| (flow.now.since(Time::from_us(u64::from(rtt_us))), rtt_us));
        if let Some((sent_at, _)) = sample {
            while self.pending.front().and_then(|oldest| oldest.to).is_some_and(|to| to <= sent_at) {
                let complete = self.pending.pop_front().expect("there is a front");
                self.learn(&complete, flow);
            }
        }
        let answered = self.pending.front_mut().unwrap_or(&mut self.current);
        answered.lost = answered.lost.saturating_add(flow.lost.saturating_sub(self.lost_seen));
        answered.limited |= ack.rate.limit == Limit::Application;
        if let Some((sent_at, rtt_us)) = sample {
            answered.add_rtt(sent_at, rtt_us);
        }
        self.lost_seen = flow.lost;
    }

    fn learn(&mut self, interval: &Interval, flow: &Flow) {
        if interval.purpose == Purpose::Wait {
            return;
        }
        let outcome = interval.outcome();
        let utility = outcome.utility(self.weights);
        if interval.limited {
            if interval.purpose != Purpose::Start {
                self.restart_at(self.rate, flow);
            }
            return;
        }
        self.last = Some((outcome, utility));
        match (&mut self.phase, interval.purpose) {
            (Phase::Starting { best }, Purpose::Start) => match *best {
                Some((rate, before)) if utility < before => {
                    self.phase = Phase::Probing { first: Purpose::Down, up: None, down: None };
                    self.restart_at(rate, flow);
                }
                _ => *best = Some((interval.rate, utility)),
            },
            (Phase::Probing { up, .. }, Purpose::Up) => *up = Some(utility),
            (Phase::Probing { down, .. }, Purpose::Down) => *down = Some(utility),
            _ => {}
        }
        if let Phase::Probing { up: Some(up), down: Some(down), .. } = self.phase {
            let slope = (up - down) / (2.0 * self.probe * self.rate);
            let change = self.rate_control.change(slope, self.rate);
            self.restart_at(self.rate + change, flow);
        }
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a rate is within 0 to 10^12"
    )]
    fn turn(&self, flow: &Flow, control: &mut Control) {
        control.pacing_bit_per_s = Some(((self.current.rate * 1e6) as u64).max(1));
        let a_round = self.current.rate * f64::from(srtt_us(flow)) / (f64::from(flow.mss_bytes) * 8.0);
        // The cast saturates.
        control.cwnd = ((2.0 * a_round) as u32).max(INITIAL_WINDOW_PACKETS).min(control.cwnd_clamp).max(1);
    }
}

impl CongestionControl for Vivace {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn needs(&self) -> Needs {
        Needs { recovery: Recovery::Own, pacing: true, ..Needs::default() }
    }

    fn on_start(&mut self, flow: &Flow, control: &mut Control) {
        self.restart_at(rate_of(INITIAL_WINDOW_PACKETS, flow), flow);
        // The first packets leave at once, and the queue that they build does not depend on the rate.
        self.current.purpose = Purpose::Wait;
        self.turn(flow, control);
    }

    fn on_tx_start(&mut self, flow: &Flow, _control: &mut Control) {
        self.restart_at(self.rate, flow);
    }

    fn on_ack(&mut self, ack: &Ack, flow: &Flow, control: &mut Control) {
        self.attribute(ack, flow);
        self.advance(flow);
        self.turn(flow, control);
    }

    fn on_congestion(&mut self, _cause: Cause, _flow: &Flow, control: &Control) -> u32 {
        control.cwnd.max(2)
    }

    fn on_state(&mut self, next: State, flow: &Flow, _control: &mut Control) {
        if next == State::Loss && flow.state != State::Loss {
            self.phase = Phase::Probing { first: Purpose::Down, up: None, down: None };
            self.rate_control = RateControl::default();
            self.restart_at(self.rate / 2.0, flow);
        }
    }

    fn internals(&self, record: &mut dyn FnMut(&'static str, f64)) {
        let last = |of: fn((Outcome, f64)) -> f64| self.last.map_or(f64::NAN, of);
        record("rate_mbit_per_s", self.rate);
        record("utility", last(|(_, utility)| utility));
        record("rtt_gradient", last(|(outcome, _)| outcome.gradient));
        record("loss_rate", last(|(outcome, _)| outcome.loss));
        record("utility_slope", self.rate_control.slope());
        record("boundary", self.rate_control.boundary());
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Vivace on a path of 100 ms, after 1000 delivered packets.
    fn started() -> (Vivace, Flow, Control) {
        let mut vivace = Vivace::new(&ENTRY.parameters(&BTreeMap::new()).expect("the defaults are valid"));
        let mut flow = Flow { now: Time::from_secs(1), delivered: 1000, ..Flow::new(1000, 1448) };
        flow.rtt.update(100_000, 0, 0);
        let mut control = Control::default();
        vivace.on_start(&flow, &mut control);
        (vivace, flow, control)
    }

    /// Sends for 100 ms as paced, with only one ACK to advance the clock; returns the sending rate.
    fn send_interval((vivace, flow, control): &mut (Vivace, Flow, Control)) -> f64 {
        let rate = vivace.current.rate;
        flow.now += Time::from_ms(100);
        flow.nxt += 1 + 1000;
        vivace.on_ack(&Ack::default(), flow, control);
        rate
    }

    fn outcome(purpose: Purpose, rate: f64, gradient_per_mille: u32) -> Interval {
        let mut interval = Interval::new(purpose, rate, Time::ZERO, 0);
        for ms in 0..10 {
            interval.add_rtt(Time::from_ms(ms), 100_000 + gradient_per_mille * u32::try_from(ms).unwrap());
        }
        interval
    }

    fn probing(pair: &mut (Vivace, Flow, Control), rate: f64) {
        pair.0.phase = Phase::Probing { first: Purpose::Down, up: None, down: None };
        pair.0.restart_at(rate, &pair.1);
    }

    fn assert_rate(rate: f64, expected: f64) {
        assert!((rate - expected).abs() < 1e-6, "{rate} Mbit/s, not {expected}");
    }

    /// 10 packets of 1448 bytes in 100 ms are 1.1584 Mbit/s.
    #[test]
    fn vivace_starts_at_the_initial_window_and_doubles() {
        let mut pair = started();
        for expected in [1.1584, 2.3168, 4.6336] {
            assert_rate(send_interval(&mut pair), expected);
        }
        assert_eq!(pair.2.pacing_bit_per_s, Some(9_267_200));
        assert_eq!(pair.2.cwnd, 160);
    }

    /// The utility of 16 Mbit/s is 12.1, that of 32 Mbit/s with an RTT slope of 0.1 is -2857.
    #[test]
    fn vivace_returns_to_the_rate_before_the_utility_fell() {
        let (mut vivace, flow, _) = started();
        vivace.learn(&outcome(Purpose::Start, 16.0, 0), &flow);
        vivace.learn(&outcome(Purpose::Start, 32.0, 100), &flow);
        assert_rate(vivace.rate, 16.0);
        assert_eq!(vivace.current.purpose, Purpose::Up);
    }

    #[test]
    fn vivace_probes_both_sides_and_waits() {
        let mut pair = started();
        probing(&mut pair, 100.0);
        let rates: Vec<_> = (0..4).map(|_| send_interval(&mut pair)).collect();
        for (rate, expected) in rates.into_iter().zip([105.0, 95.0, 100.0, 100.0]) {
            assert_rate(rate, expected);
        }
    }

    /// 105^0.9 - 95^0.9 = 65.928 - 60.249 = 5.679 over 10 Mbit/s: the rate rises by 0.568 Mbit/s. The next
    /// pair begins with the lower rate.
    #[test]
    fn without_a_queue_the_rate_grows() {
        let mut pair = started();
        probing(&mut pair, 100.0);
        pair.0.learn(&outcome(Purpose::Up, 105.0, 0), &pair.1);
        pair.0.learn(&outcome(Purpose::Down, 95.0, 0), &pair.1);
        assert!((pair.0.rate - 100.568).abs() < 1e-3, "{} Mbit/s", pair.0.rate);
        assert_eq!(pair.0.current.purpose, Purpose::Down);
    }

    /// The delay costs 900 × 105 × 0.05 = 4725: the slope is about -470, and the change is bounded by 5 %.
    #[test]
    fn a_growing_delay_lowers_the_rate() {
        let mut pair = started();
        probing(&mut pair, 100.0);
        pair.0.learn(&outcome(Purpose::Up, 105.0, 50), &pair.1);
        pair.0.learn(&outcome(Purpose::Down, 95.0, 0), &pair.1);
        assert_rate(pair.0.rate, 95.0);
    }

    /// The ACK at 1.25 s of a packet with an RTT of 100 ms belongs to the second interval, from 1.1 to 1.2 s.
    #[test]
    fn an_acknowledgement_belongs_to_the_interval_of_its_packet() {
        let mut pair = started();
        send_interval(&mut pair);
        send_interval(&mut pair);
        let (vivace, flow, control) = &mut pair;
        flow.now += Time::from_ms(50);
        flow.lost = 3;
        vivace.on_ack(&Ack { rtt_us: Some(100_000), ..Ack::default() }, flow, control);
        assert_eq!((vivace.pending[0].from, vivace.pending[0].lost), (Time::from_ms(1100), 3));
    }

    #[test]
    fn a_timeout_halves_the_rate() {
        let mut pair = started();
        probing(&mut pair, 100.0);
        pair.0.on_state(State::Loss, &pair.1, &mut pair.2);
        assert_rate(pair.0.rate, 50.0);
    }
}
