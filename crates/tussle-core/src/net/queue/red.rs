//! RED (random early detection): marks or drops arriving packets with a probability that rises with the
//! average queue length. Source: Floyd and Jacobson, "Random Early Detection Gateways for Congestion
//! Avoidance", IEEE/ACM Transactions on Networking 1(4), 1993; marks instead of drops as RFC 3168, 7 allows.
//! The queue length is in packets. Adaptive RED keeps the average half way between the thresholds: Floyd,
//! Gummadi and Shenker, "Adaptive RED: An Algorithm for Increasing the Robustness of RED's Active Queue
//! Management", 2001. As in Linux 6.1 it adapts the probability alone; the weight and the thresholds, which
//! the paper also derives from the rate, are settings.

use serde::{Deserialize, Serialize};

use super::packet_queue::PacketQueue;
use super::updates::Updates;
use super::{Backlog, Entry, Limit, Limits, Queue, QueueContext, QueueSettings, can_be_marked};
use crate::Time;
use crate::net::packet::{Ecn, Packet};
use crate::util::rng::{Probability, Rng};

pub(super) const ENTRY: Entry = Entry {
    name: "red",
    idea: "Marks or drops packets with a probability that rises with the average queue length.",
    source: "Floyd and Jacobson, IEEE/ACM Transactions on Networking 1(4), 1993",
};

/// Size of the packets by which the paper measures idle time, in bits.
const PACKET_BITS: u64 = 8 * 1500;

/// Adaptive RED: interval between adaptations, target range of the average between the thresholds (0 to 1),
/// bounds of `max_p`, largest additive increase, and multiplicative decrease. (2001: section 4, Figure 1.)
const ADAPTATION_INTERVAL: Time = Time::from_ms(500);
const TARGET_RANGE: (f64, f64) = (0.4, 0.6);
const PROBABILITY_RANGE: (f64, f64) = (0.01, 0.5);
const MAX_INCREASE: f64 = 0.01;
const DECREASE_FACTOR: f64 = 0.9;

/// The paper's parameters and the limits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Average queue length below which no packet is marked or dropped. (Paper: `min_th`.)
    pub min_packets: f64,
    /// Average queue length from which on every packet is marked or dropped; at least twice `min_packets` is
    /// advised. (Paper: `max_th`.)
    pub max_packets: f64,
    /// Weight of the latest queue length in the average. (Paper: `w_q`.)
    #[serde(default = "weight")]
    pub weight: f64,
    /// Probability just below `max_packets`, before the count since the last mark or drop raises it. (Paper:
    /// `max_p`.)
    #[serde(default = "max_probability")]
    pub max_probability: f64,
    /// Whether `max_probability` is only the initial value, and adapts to keep the average half way between
    /// the thresholds.
    #[serde(default)]
    pub adaptive: bool,
    /// Whether packets that can be marked are marked instead of dropped.
    #[serde(default = "on")]
    pub ecn: bool,
    /// Largest number of queued packets.
    #[serde(default)]
    pub limit_packets: Option<u64>,
    /// Largest number of queued bytes.
    #[serde(default)]
    pub limit_bytes: Option<u64>,
}

/// Default of `ecn`: on.
fn on() -> bool {
    true
}

/// Default of `weight`: 0.002 (paper: section X, and the default of ns).
fn weight() -> f64 {
    0.002
}

/// Default of `max_probability`: 1/50 (paper: section XI, and the default of Linux's `tc`).
fn max_probability() -> f64 {
    0.02
}

impl QueueSettings for Spec {
    fn build(&self, context: QueueContext) -> Result<Box<dyn Queue>, String> {
        let Spec { min_packets, max_packets, weight, max_probability, .. } = *self;
        if !(min_packets.is_finite() && min_packets >= 0.0) {
            return Err(format!("min_packets: {min_packets} packets; give 0 or more"));
        }
        if !(max_packets.is_finite() && max_packets > min_packets) {
            return Err(format!(
                "max_packets: {max_packets} packets; give more than min_packets, {min_packets}"
            ));
        }
        if !(weight > 0.0 && weight <= 1.0) {
            return Err(format!("weight: {weight}; give more than 0 and at most 1"));
        }
        if !(0.0..=1.0).contains(&max_probability) {
            return Err(format!("max_probability: {max_probability}; give 0 to 1"));
        }
        Ok(Box::new(Red {
            waiting: PacketQueue::default(),
            limit: self.limits().checked()?,
            settings: self.clone(),
            adaptations: Updates::new(ADAPTATION_INTERVAL)?,
            max_probability,
            packet_ns: (PACKET_BITS * 1_000_000_000 / context.rate_bit_per_s).max(1),
            rng: Rng::new(context.seed, ENTRY.name),
            average: 0.0,
            since: None,
            empty_since: Some(Time::ZERO),
            marked: 0,
        }))
    }

    fn limits(&self) -> Limits {
        Limits { packets: self.limit_packets, bytes: self.limit_bytes }
    }
}

#[derive(Debug)]
struct Red {
    waiting: PacketQueue<Packet>,
    limit: Limit,
    settings: Spec,
    adaptations: Updates,
    /// Current `max_probability`, which Adaptive RED changes. (Paper: `max_p`.)
    max_probability: f64,
    /// Transmission time of a packet, in ns. (Paper: `s`.)
    packet_ns: u64,
    rng: Rng,
    /// Average queue length, in packets. (Paper: `avg`.)
    average: f64,
    /// Packets since the last mark or drop; `None` while the average is below `min_packets`. (Paper: `count`,
    /// -1 for `None`.)
    since: Option<u32>,
    /// Time at which the queue became empty; `None` while it is not. (Paper: `q_time`.)
    empty_since: Option<Time>,
    marked: u64,
}

/// Fate of an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Pass,
    /// Mark the packet if it is ECN-capable, else drop it.
    MarkOrDrop,
}

impl Red {
    /// Updates the average with the current queue length.
    #[expect(clippy::cast_precision_loss, reason = "a queue is shorter than 2^53 packets")]
    fn update_average(&mut self, now: Time) {
        if self.empty_since.is_some() {
            self.average = self.average_at(now);
            self.empty_since = Some(now);
        } else {
            let weight = self.settings.weight;
            self.average = (1.0 - weight) * self.average + weight * self.waiting.backlog().packets as f64;
        }
    }

    /// The average at `now`, if no packet has arrived since the last update. An empty queue counts as one sample of
    /// zero for each packet that could have been transmitted.
    fn average_at(&self, now: Time) -> f64 {
        let idle_ns = self.empty_since.map_or(0, |since| now.since(since).ns());
        self.average * power(1.0 - self.settings.weight, idle_ns / self.packet_ns)
    }

    /// Performs the adaptations that are due.
    fn adapt(&mut self, now: Time) {
        let Spec { min_packets, max_packets, .. } = self.settings;
        while let Some(at) = self.adaptations.due(now) {
            let position = (self.average_at(at) - min_packets) / (max_packets - min_packets);
            let (least, most) = PROBABILITY_RANGE;
            if position > TARGET_RANGE.1 && self.max_probability <= most {
                self.max_probability += MAX_INCREASE.min(self.max_probability / 4.0);
            } else if position < TARGET_RANGE.0 && self.max_probability >= least {
                self.max_probability *= DECREASE_FACTOR;
            }
        }
    }

    fn decide(&mut self) -> Fate {
        let Spec { min_packets, max_packets, .. } = self.settings;
        if self.average < min_packets {
            self.since = None;
            return Fate::Pass;
        }
        let since = self.since.map_or(0, |since| since.saturating_add(1));
        let is_selected = self.average >= max_packets || {
            let p_b = self.max_probability * (self.average - min_packets) / (max_packets - min_packets);
            self.rng.sample_bool(mark_probability(p_b, since))
        };
        self.since = Some(if is_selected { 0 } else { since });
        if is_selected { Fate::MarkOrDrop } else { Fate::Pass }
    }
}

/// Probability `p_a = p_b / (1 - count p_b)`, with which the gap between selected packets is uniform from 1
/// to 1 / `p_b`.
fn mark_probability(p_b: f64, count: u32) -> Probability {
    let rest = 1.0 - f64::from(count) * p_b;
    let p_a = if rest > p_b { p_b / rest } else { 1.0 };
    Probability::new(p_a).expect("p_b is a probability and less than the rest")
}

/// Power of `base` by repeated squaring: equal on every platform.
fn power(mut base: f64, mut exponent: u64) -> f64 {
    let mut product = 1.0;
    while exponent > 0 && product > 0.0 {
        if exponent & 1 == 1 {
            product *= base;
        }
        base *= base;
        exponent >>= 1;
    }
    product
}

impl Queue for Red {
    fn enqueue(&mut self, mut packet: Packet, now: Time, dropped: &mut Vec<Packet>) {
        if self.settings.adaptive {
            self.adapt(now);
        }
        self.update_average(now);
        let fate = self.decide();
        let marks = self.settings.ecn && can_be_marked(&packet);
        let is_dropped = fate == Fate::MarkOrDrop && !marks;
        if is_dropped || !self.limit.has_room_for(packet.size_bytes, self.backlog()) {
            dropped.push(packet);
            return;
        }
        if fate == Fate::MarkOrDrop {
            packet.ecn = Ecn::Ce;
            self.marked += 1;
        }
        self.empty_since = None;
        self.waiting.push(packet);
    }

    fn dequeue(&mut self, now: Time, _dropped: &mut Vec<Packet>) -> Option<Packet> {
        let packet = self.waiting.pop();
        if packet.is_none() {
            self.empty_since.get_or_insert(now);
        }
        packet
    }

    fn backlog(&self) -> Backlog {
        self.waiting.backlog()
    }

    fn marked_packets(&self) -> u64 {
        self.marked
    }

    fn for_each(&self, visit: &mut dyn FnMut(&Packet)) {
        self.waiting.for_each(visit);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{context, marks_and_drops, packet};
    use super::*;

    fn spec() -> Spec {
        Spec {
            min_packets: 5.0,
            max_packets: 15.0,
            weight: weight(),
            max_probability: max_probability(),
            adaptive: false,
            ecn: true,
            limit_packets: None,
            limit_bytes: None,
        }
    }

    /// RED on a link that transmits a packet in 1 ms; the queue is not empty.
    fn red(spec: &Spec) -> Red {
        let settings = spec.clone();
        Red {
            waiting: PacketQueue::default(),
            limit: Limits::default().checked().unwrap(),
            adaptations: Updates::new(ADAPTATION_INTERVAL).unwrap(),
            max_probability: settings.max_probability,
            settings,
            packet_ns: 1_000_000,
            rng: Rng::new(1, "test"),
            average: 0.0,
            since: None,
            empty_since: None,
            marked: 0,
        }
    }

    /// Number of packets among 100 000 that are selected at a constant average.
    fn selected(average: f64) -> usize {
        let mut red = red(&spec());
        red.average = average;
        (0..100_000).filter(|_| red.decide() == Fate::MarkOrDrop).count()
    }

    /// Half way between the thresholds `p_b` is 0.01: the gap between selected packets is uniform from 1 to
    /// 100, on average 50.5, so that 1980 of 100 000 are selected. The standard deviation of the gap is 29,
    /// that of the count 29 / 50.5 × sqrt(1980) = 26. Tolerance: five standard deviations.
    #[test]
    fn between_the_thresholds_the_gaps_between_marks_are_uniform() {
        assert_eq!((selected(4.99), selected(15.0)), (0, 100_000));
        let packets = selected(10.0);
        assert!((1850..=2110).contains(&packets), "{packets}");
    }

    /// 1 / `p_b` = 100: no gap is longer.
    #[test]
    fn no_gap_is_longer_than_the_inverse_of_the_probability() {
        let mut red = red(&spec());
        red.average = 10.0;
        let mut gap = 0;
        for _ in 0..10_000 {
            gap = if red.decide() == Fate::MarkOrDrop { 0 } else { gap + 1 };
            assert!(gap < 100);
        }
    }

    /// Ten queued packets and an average of 2: 0.998 × 2 + 0.002 × 10.
    #[test]
    fn the_average_moves_by_its_weight() {
        let mut red = red(&spec());
        red.average = 2.0;
        (0..10).for_each(|number| red.waiting.push(packet(number, Ecn::Ect0)));
        red.update_average(Time::from_ms(5));
        assert!((red.average - 2.016).abs() < 1e-12, "{}", red.average);
    }

    /// 100 packets could have been transmitted: 0.998^100 = 0.8186.
    #[test]
    fn the_average_falls_while_the_link_is_idle() {
        let mut red = red(&spec());
        (red.average, red.empty_since) = (10.0, Some(Time::from_ms(50)));
        red.update_average(Time::from_ms(150));
        assert!((red.average - 8.186).abs() < 1e-3, "{}", red.average);
        red.update_average(Time::from_ms(150));
        assert!((red.average - 8.186).abs() < 1e-3, "idle time counts once");
    }

    /// The value of `max_probability` after `times` adaptations at a constant average; the thresholds are 5
    /// and 15.
    fn adapted(max_probability: f64, average: f64, times: u64) -> f64 {
        let mut red = red(&Spec { max_probability, adaptive: true, ..spec() });
        red.average = average;
        red.adapt(Time::from_ms(500 * times));
        red.max_probability
    }

    /// The target range is 9 to 11. Above it: 0.02 + 0.02 / 4, then 0.025 + 0.025 / 4; from 0.04 on 0.01 is
    /// added, until 0.5 is passed. Below it: times 0.9, until 0.01 is passed.
    #[test]
    fn adaptive_red_aims_half_way_between_the_thresholds() {
        for (from, average, times, to) in [
            (0.02, 10.0, 9, 0.02),
            (0.02, 11.1, 1, 0.025),
            (0.02, 11.1, 2, 0.03125),
            (0.1, 14.0, 3, 0.13),
            (0.495, 14.0, 9, 0.505),
            (0.1, 8.9, 2, 0.081),
            (0.011, 8.9, 9, 0.0099),
        ] {
            let found = adapted(from, average, times);
            assert!((found - to).abs() < 1e-12, "{found}, not {to}");
        }
    }

    /// The queue became empty 100 ms, 100 packets, before the first adaptation: 12 × 0.998^100 = 9.8 is in
    /// the target range. At 1000 and 1500 ms the average is below it, 12 × 0.998^600 = 3.6 and less: 0.02 ×
    /// 0.9² = 0.0162.
    #[test]
    fn adaptive_red_accounts_for_idle_time() {
        let mut red = red(&Spec { adaptive: true, ..spec() });
        (red.average, red.empty_since) = (12.0, Some(Time::from_ms(400)));
        red.adapt(Time::from_ms(500));
        assert!((red.max_probability - 0.02).abs() < 1e-12);
        red.adapt(Time::from_ms(1500));
        assert!((red.max_probability - 0.0162).abs() < 1e-12);
    }

    #[test]
    fn ecn_capable_packets_are_marked_and_others_dropped() {
        for (ecn, offered, expected) in [
            (true, Ecn::Ect0, (vec![0], vec![])),
            (true, Ecn::NotEct, (vec![], vec![0])),
            (false, Ecn::Ect0, (vec![], vec![0])),
        ] {
            let mut red = red(&Spec { ecn, ..spec() });
            red.average = 20.0;
            assert_eq!(marks_and_drops(&mut red, [packet(0, offered)].into_iter()), expected);
        }
    }

    #[test]
    fn power_equals_repeated_multiplication() {
        let slow = (0..37).fold(1.0, |product, _| product * 0.998);
        assert!((power(0.998, 37) - slow).abs() < 1e-12);
        assert!((power(0.5, 0) - 1.0).abs() < f64::EPSILON);
    }

    #[test]
    fn invalid_settings_are_refused() {
        for (spec, field) in [
            (Spec { min_packets: -1.0, ..spec() }, "min_packets"),
            (Spec { max_packets: 5.0, ..spec() }, "max_packets"),
            (Spec { weight: 0.0, ..spec() }, "weight"),
            (Spec { max_probability: 1.5, ..spec() }, "max_probability"),
        ] {
            let error = spec.build(context()).unwrap_err();
            assert!(error.starts_with(field), "{error}");
        }
    }
}
