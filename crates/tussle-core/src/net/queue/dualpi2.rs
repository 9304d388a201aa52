//! `DualPI2`: a low-latency queue for scalable congestion control (L4S) and a queue for classic congestion
//! control. Their mark and drop probabilities are coupled such that flows of both kinds get about the same
//! rate. Source: De Schepper, Briscoe and White, RFC 9332, appendix A. The constants, the scheduler of the
//! two queues and the step instead of the RFC's ramp are those of `dualpi2` in Linux 6.17; Linux 6.1 has no
//! `dualpi2`. Packets with ECT(1) or CE go to the low-latency queue: those of `prague`. `dctcp`, made for
//! data centres, sends ECT(0).

use serde::{Deserialize, Serialize};

use super::packet_queue::{PacketQueue, Stamped};
use super::updates::Updates;
use super::{Backlog, Entry, Limit, Limits, Queue, QueueContext, QueueSettings, can_be_marked};
use crate::Time;
use crate::net::packet::{Ecn, Packet};
use crate::util::rng::{Probability, Rng};

pub(super) const ENTRY: Entry = Entry {
    name: "dualpi2",
    idea: "Coupled AQM: a low-latency queue for scalable flows (L4S), and a queue for classic flows.",
    source: "RFC 9332",
};

/// Default limit in packets.
const LIMIT_PACKETS: u64 = 10_000;
/// Backlog below which nothing is dropped or marked: two full packets.
const NO_QUEUE_BYTES: u64 = 2 * PACKET_BYTES;
const PACKET_BYTES: u64 = 1500;
/// Gains of the controller: per second of queueing delay above the target, and per second of its growth since
/// the last update. [RFC 9332, A.1](https://www.rfc-editor.org/rfc/rfc9332#appendix-A.1)
const ALPHA_PER_S: f64 = 41.0 / 256.0;
const BETA_PER_S: f64 = 819.0 / 256.0;
/// Coupling factor k: mark probability of the low-latency queue over the square root of the classic drop
/// probability. [RFC 9332, 2.1](https://www.rfc-editor.org/rfc/rfc9332#section-2.1)
const COUPLING: f64 = 2.0;
/// Weights of the two queues while both have packets, in percent.
const CLASSIC_SHARE: i64 = 10;
const LOW_LATENCY_SHARE: i64 = 100 - CLASSIC_SHARE;

/// The target, the step, the update interval, and the limits, by default 10000 packets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Spec {
    /// Target queueing delay of the classic queue, in ns.
    pub target_ns: u64,
    /// Sojourn time in the low-latency queue above which a packet is marked, in ns.
    pub step_ns: u64,
    /// Interval between updates of the probability, in ns. (RFC: `Tupdate`.)
    pub update_ns: u64,
    /// Largest number of packets in both queues together.
    pub limit_packets: Option<u64>,
    /// Largest number of bytes in both queues together.
    pub limit_bytes: Option<u64>,
}

/// Default of `target_ns`: 15 ms. [RFC 9332, A.1](https://www.rfc-editor.org/rfc/rfc9332#appendix-A.1)
const DEFAULT_TARGET_NS: u64 = 15_000_000;

/// Default of `step_ns`: 1 ms.
const DEFAULT_STEP_NS: u64 = 1_000_000;

/// Default of `update_ns`: 16 ms.
const DEFAULT_UPDATE_NS: u64 = 16_000_000;

impl Default for Spec {
    fn default() -> Spec {
        Spec {
            target_ns: DEFAULT_TARGET_NS,
            step_ns: DEFAULT_STEP_NS,
            update_ns: DEFAULT_UPDATE_NS,
            limit_packets: None,
            limit_bytes: None,
        }
    }
}

impl QueueSettings for Spec {
    fn build(&self, context: QueueContext) -> Result<Box<dyn Queue>, String> {
        Ok(Box::new(DualPi2 {
            limit: self.limits().checked()?.or_packets(LIMIT_PACKETS),
            target: Time::from_ns(self.target_ns),
            step: Time::from_ns(self.step_ns),
            updates: Updates::new(Time::from_ns(self.update_ns))?,
            rng: Rng::new(context.seed, ENTRY.name),
            low_latency: PacketQueue::default(),
            classic: PacketQueue::default(),
            credit: FIRST_CREDIT,
            probability: 0.0,
            queue_delay: Time::ZERO,
            marked: 0,
        }))
    }

    fn limits(&self) -> Limits {
        Limits { packets: self.limit_packets, bytes: self.limit_bytes }
    }
}

/// Initial credit. The low-latency queue is served first, until the classic queue has earned the credit for a
/// packet.
const FIRST_CREDIT: i64 = 1500 * (CLASSIC_SHARE - LOW_LATENCY_SHARE);

#[derive(Debug)]
struct DualPi2 {
    limit: Limit,
    target: Time,
    step: Time,
    updates: Updates,
    rng: Rng,
    low_latency: PacketQueue<Stamped>,
    classic: PacketQueue<Stamped>,
    /// Credit of the classic queue while both have packets, in bytes × percent; above zero the classic queue
    /// is served.
    credit: i64,
    /// Base probability: squared for the classic queue, and times k for the low-latency queue. (RFC: `p'`.)
    probability: f64,
    /// Queueing delay at the last update: the longer sojourn time of the two head packets. (RFC: `prevq`.)
    queue_delay: Time,
    marked: u64,
}

/// A packet removed from its queue, before its fate is decided.
#[derive(Clone, Copy, Debug)]
struct Leaving {
    stamped: Stamped,
    from: Side,
    /// Change of the credit if the packet is transmitted.
    credit: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    LowLatency,
    Classic,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Pass,
    Mark,
    Drop,
}

impl DualPi2 {
    /// Performs the updates that are due.
    fn catch_up(&mut self, now: Time) {
        while let Some(at) = self.updates.due(now) {
            let was_at_rest = self.probability <= 0.0 && self.queue_delay == Time::ZERO;
            self.update(at);
            if was_at_rest && self.backlog().packets == 0 {
                self.updates.skip(now);
            }
        }
    }

    /// Updates the probability from the longer queueing delay and its trend.
    /// [RFC 9332, A.1](https://www.rfc-editor.org/rfc/rfc9332#appendix-A.1)
    fn update(&mut self, at: Time) {
        let oldest = [&self.low_latency, &self.classic]
            .map(|ring| ring.oldest().map(|stamped| at.since(stamped.arrived)));
        let queue_delay = oldest.into_iter().flatten().max().unwrap_or(Time::ZERO);
        let (now_s, before_s) = (queue_delay.as_secs_f64(), self.queue_delay.as_secs_f64());
        let step = ALPHA_PER_S * (now_s - self.target.as_secs_f64()) + BETA_PER_S * (now_s - before_s);
        self.probability = (self.probability + step).clamp(0.0, 1.0);
        self.queue_delay = queue_delay;
    }

    /// Removes the next packet by weighted round robin; the weights apply while both queues have packets.
    fn take(&mut self) -> Option<Leaving> {
        let [fast, slow] = [&self.low_latency, &self.classic].map(|ring| ring.backlog().packets > 0);
        let (from, ring, share) = if fast && (!slow || self.credit <= 0) {
            (Side::LowLatency, &mut self.low_latency, CLASSIC_SHARE)
        } else {
            (Side::Classic, &mut self.classic, -LOW_LATENCY_SHARE)
        };
        let Some(stamped) = ring.pop() else {
            self.credit = FIRST_CREDIT;
            return None;
        };
        let credit = if fast && slow { share * i64::from(stamped.packet.size_bytes) } else { 0 };
        Some(Leaving { stamped, from, credit })
    }

    fn fate_of(&mut self, leaving: &Leaving, now: Time) -> Fate {
        let coupled = COUPLING * self.probability;
        let is_overloaded = coupled > 1.0;
        let fate = match leaving.from {
            _ if self.backlog().bytes < NO_QUEUE_BYTES => Fate::Pass,
            Side::Classic if self.is_selected_twice() => {
                if can_be_marked(&leaving.stamped.packet) && !is_overloaded { Fate::Mark } else { Fate::Drop }
            }
            Side::LowLatency if is_overloaded && self.is_selected_twice() => Fate::Drop,
            Side::LowLatency if self.rng.sample_bool(probability(coupled)) => Fate::Mark,
            Side::Classic | Side::LowLatency => Fate::Pass,
        };
        let is_late = leaving.from == Side::LowLatency && now.since(leaving.stamped.arrived) > self.step;
        if fate == Fate::Pass && is_late { Fate::Mark } else { fate }
    }

    /// Selects a packet with the square of the probability, because the rate of a classic flow is inversely
    /// proportional to the square root of its drop probability.
    fn is_selected_twice(&mut self) -> bool {
        let probability = probability(self.probability);
        self.rng.sample_bool(probability) && self.rng.sample_bool(probability)
    }
}

fn probability(probability: f64) -> Probability {
    Probability::new(probability.min(1.0)).expect("the probability is clamped to 0 to 1")
}

impl Queue for DualPi2 {
    fn enqueue(&mut self, packet: Packet, now: Time, dropped: &mut Vec<Packet>) {
        self.catch_up(now);
        let stamped = Stamped { arrived: now, packet };
        if !self.limit.has_room_for(packet.size_bytes, self.backlog()) {
            dropped.push(packet);
        } else if matches!(packet.ecn, Ecn::Ect1 | Ecn::Ce) {
            self.low_latency.push(stamped);
        } else {
            self.classic.push(stamped);
        }
    }

    fn dequeue(&mut self, now: Time, dropped: &mut Vec<Packet>) -> Option<Packet> {
        self.catch_up(now);
        while let Some(leaving) = self.take() {
            let fate = self.fate_of(&leaving, now);
            let mut packet = leaving.stamped.packet;
            if fate == Fate::Drop {
                dropped.push(packet);
                continue;
            }
            if fate == Fate::Mark {
                packet.ecn = Ecn::Ce;
                self.marked += 1;
            }
            self.credit += leaving.credit;
            return Some(packet);
        }
        None
    }

    fn backlog(&self) -> Backlog {
        let (fast, slow) = (self.low_latency.backlog(), self.classic.backlog());
        Backlog { packets: fast.packets + slow.packets, bytes: fast.bytes + slow.bytes }
    }

    fn marked_packets(&self) -> u64 {
        self.marked
    }

    fn for_each(&self, visit: &mut dyn FnMut(&Packet)) {
        self.low_latency.for_each(visit);
        self.classic.for_each(visit);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{context, packet};
    use super::*;

    fn dual() -> DualPi2 {
        DualPi2 {
            limit: Limits::default().checked().unwrap(),
            target: Time::from_ms(15),
            step: Time::from_ms(1),
            updates: Updates::new(Time::from_ms(16)).unwrap(),
            rng: Rng::new(1, "test"),
            low_latency: PacketQueue::default(),
            classic: PacketQueue::default(),
            credit: FIRST_CREDIT,
            probability: 0.0,
            queue_delay: Time::ZERO,
            marked: 0,
        }
    }

    fn offer(queue: &mut dyn Queue, ecn: Ecn, packets: u32) {
        (0..packets).for_each(|number| queue.enqueue(packet(number, ecn), Time::ZERO, &mut Vec::new()));
    }

    /// The credit starts at 1500 × -80. Each packet of the low-latency queue adds 1500 × 10, so that after
    /// nine of them the credit is 1500 × 10, above zero; a packet of the classic queue takes 1500 × 90.
    #[test]
    fn the_classic_queue_gets_a_tenth_while_both_have_packets() {
        let mut queue = dual();
        offer(&mut queue, Ecn::NotEct, 30);
        offer(&mut queue, Ecn::Ect1, 30);
        let left: Vec<Ecn> =
            (0..40).map(|_| queue.dequeue(Time::ZERO, &mut Vec::new()).unwrap().ecn).collect();
        let classic: Vec<usize> = (0..40).filter(|&at| left[at] == Ecn::NotEct).collect();
        assert_eq!(classic[..3], [9, 19, 29]);
        assert_eq!(classic[3..], [33, 34, 35, 36, 37, 38, 39], "the low-latency queue has no more than 30");
    }

    #[test]
    fn classic_ecn_packets_go_to_the_queue_of_packets_without_ecn() {
        for (ecn, is_fast) in [(Ecn::NotEct, false), (Ecn::Ect0, false), (Ecn::Ect1, true), (Ecn::Ce, true)] {
            let mut queue = dual();
            offer(&mut queue, ecn, 1);
            assert_eq!(queue.take().unwrap().from == Side::LowLatency, is_fast, "{ecn:?}");
        }
    }

    /// 0.16 (0.035 - 0.015) + 3.2 (0.035 - 0.025) = 0.0032 + 0.032; the longer of the two sojourn times
    /// counts.
    #[test]
    fn the_probability_follows_the_longer_queueing_delay_and_its_trend() {
        for (ecn, shorter) in [(Ecn::Ect1, Ecn::NotEct), (Ecn::NotEct, Ecn::Ect1)] {
            let mut queue = dual();
            (queue.probability, queue.queue_delay) = (0.1, Time::from_ms(25));
            queue.enqueue(packet(0, ecn), Time::ZERO, &mut Vec::new());
            queue.enqueue(packet(0, shorter), Time::from_ms(10), &mut Vec::new());
            queue.update(Time::from_ms(35));
            let expected = 0.1 + 41.0 / 256.0 * 0.020 + 819.0 / 256.0 * 0.010;
            assert!((queue.probability - expected).abs() < 1e-12, "{}", queue.probability);
        }
    }

    /// Numbers of marks and drops among 100 000 packets of one queue at a base probability.
    fn fates(ecn: Ecn, probability: f64) -> (u32, u32) {
        let mut queue = dual();
        queue.probability = probability;
        offer(&mut queue, ecn, 4);
        let from = if ecn == Ecn::Ect1 { Side::LowLatency } else { Side::Classic };
        let leaving =
            Leaving { stamped: Stamped { arrived: Time::ZERO, packet: packet(0, ecn) }, from, credit: 0 };
        let (mut marks, mut drops) = (0, 0);
        for _ in 0..100_000 {
            match queue.fate_of(&leaving, Time::ZERO) {
                Fate::Pass => {}
                Fate::Mark => marks += 1,
                Fate::Drop => drops += 1,
            }
        }
        (marks, drops)
    }

    /// At 10 %: marks with 20 % are 20 000, standard deviation sqrt(16 000) = 126; drops with 1 % are 1000,
    /// standard deviation sqrt(990) = 31. Tolerance: five standard deviations.
    #[test]
    fn the_mark_probability_is_twice_the_square_root_of_the_drop_probability() {
        let (marks, drops) = fates(Ecn::Ect1, 0.1);
        assert!((19_370..=20_630).contains(&marks) && drops == 0, "{marks}, {drops}");
        let (marks, drops) = fates(Ecn::NotEct, 0.1);
        assert!((845..=1155).contains(&drops) && marks == 0, "{marks}, {drops}");
        let (marks, drops) = fates(Ecn::Ect0, 0.1);
        assert!((845..=1155).contains(&marks) && drops == 0, "marked instead of dropped: {marks}, {drops}");
    }

    /// At 60 % the coupled probability exceeds 1: both queues drop 36 %, standard deviation sqrt(100 000 ×
    /// 0.36 × 0.64) = 152, and the low-latency queue marks the others. Tolerance: five standard deviations.
    #[test]
    fn overload_drops_in_both_queues() {
        for ecn in [Ecn::Ect1, Ecn::Ect0, Ecn::NotEct] {
            let (marks, drops) = fates(ecn, 0.6);
            assert!((35_240..=36_760).contains(&drops), "{drops}");
            assert_eq!(marks, if ecn == Ecn::Ect1 { 100_000 - drops } else { 0 });
        }
    }

    #[test]
    fn a_sojourn_time_above_the_step_is_marked_however_short_the_queue() {
        for (sojourn_us, ecn) in [(1000, Ecn::Ect1), (1001, Ecn::Ce)] {
            let mut queue = dual();
            offer(&mut queue, Ecn::Ect1, 1);
            let left = queue.dequeue(Time::from_us(sojourn_us), &mut Vec::new()).unwrap();
            assert_eq!((left.ecn, queue.marked_packets()), (ecn, u64::from(ecn == Ecn::Ce)));
        }
    }

    #[test]
    fn fewer_than_two_packets_count_as_no_queue() {
        let mut queue = dual();
        queue.probability = 1.0;
        offer(&mut queue, Ecn::NotEct, 3);
        let mut dropped = Vec::new();
        assert!(queue.dequeue(Time::ZERO, &mut dropped).is_some());
        assert_eq!((dropped.len(), queue.backlog().packets), (1, 1));
    }

    #[test]
    fn invalid_settings_are_refused() {
        let error = Spec { update_ns: 0, ..Spec::default() }.build(context()).unwrap_err();
        assert!(error.starts_with("update_ns"), "{error}");
        let error = Spec { limit_packets: Some(0), ..Spec::default() }.build(context()).unwrap_err();
        assert!(error.starts_with("limit_packets"), "{error}");
    }
}
