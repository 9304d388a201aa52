//! `DualPI2`: a queue for flows that answer many marks with small reductions, and one for the others, marked or
//! dropped in a proportion that gives both the same rate.
//! Source: De Schepper, Briscoe and White, RFC 9332, appendix A. The numbers, the turns of the two queues and the step
//! in place of the RFC's ramp are those of `dualpi2` in today's Linux; Linux 6.1 has none. Packets with ECT(1) or a mark
//! go to the low-latency queue: those of `prague`. `dctcp`, made for data centres, sends ECT(0).

use serde::{Deserialize, Serialize};

use super::packet_queue::{PacketQueue, Stamped};
use super::updates::Updates;
use super::{Backlog, Entry, Limit, Limits, Queue, QueueContext, QueueSettings, can_be_marked};
use crate::Time;
use crate::net::packet::{Ecn, Packet};
use crate::util::rng::{Probability, Rng};

pub(super) const ENTRY: Entry = Entry {
    name: "dualpi2",
    idea: "A low-latency queue for flows that scale (L4S), and one for the others, coupled.",
    source: "RFC 9332",
};

/// Default limit in packets.
const LIMIT_PACKETS: u64 = 10_000;
/// Backlog below which nothing is dropped or marked: two full packets.
const NO_QUEUE_BYTES: u64 = 2 * PACKET_BYTES;
const PACKET_BYTES: u64 = 1500;
/// Gains of the controller: for each second of wait beyond the target, and for each second of growth of the wait.
/// [RFC 9332, A.1](https://www.rfc-editor.org/rfc/rfc9332#appendix-A.1)
const ALPHA_PER_S: f64 = 41.0 / 256.0;
const BETA_PER_S: f64 = 819.0 / 256.0;
/// Marks of the low-latency queue for each square root of a drop in the other.
/// [RFC 9332, 2.1](https://www.rfc-editor.org/rfc/rfc9332#section-2.1)
const COUPLING: f64 = 2.0;
/// Weights of the two queues while both have packets, in per cent.
const CLASSIC_SHARE: i64 = 10;
const LOW_LATENCY_SHARE: i64 = 100 - CLASSIC_SHARE;

/// The target, the step, how often the probability is updated, and the limits, by default 10000 packets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Target of the wait in the classic queue, in ns.
    #[serde(default = "target_ns")]
    pub target_ns: u64,
    /// Wait in the low-latency queue above which a packet is marked, in ns.
    #[serde(default = "step_ns")]
    pub step_ns: u64,
    /// Interval of the updates of the probability, in ns. (RFC: `Tupdate`.)
    #[serde(default = "update_ns")]
    pub update_ns: u64,
    /// Most packets that may wait in both.
    #[serde(default)]
    pub limit_packets: Option<u64>,
    /// Most bytes that may wait in both.
    #[serde(default)]
    pub limit_bytes: Option<u64>,
}

/// 15 ms. [RFC 9332, A.1](https://www.rfc-editor.org/rfc/rfc9332#appendix-A.1)
fn target_ns() -> u64 {
    15_000_000
}

/// 1 ms.
fn step_ns() -> u64 {
    1_000_000
}

/// 16 ms.
fn update_ns() -> u64 {
    16_000_000
}

impl Default for Spec {
    fn default() -> Spec {
        Spec {
            target_ns: target_ns(),
            step_ns: step_ns(),
            update_ns: update_ns(),
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
            wait: Time::ZERO,
            marked: 0,
        }))
    }

    fn limits(&self) -> Limits {
        Limits { packets: self.limit_packets, bytes: self.limit_bytes }
    }
}

/// The low-latency queue goes first, until the classic queue has saved up for a packet.
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
    /// Credit of the classic queue while both have packets, in bytes times a weight; above zero the queue may send.
    credit: i64,
    /// Base probability, which is squared for the classic queue and coupled to the other. (RFC: `p'`.)
    probability: f64,
    /// The longer wait of the two oldest packets, at the last update. (RFC: `prevq`.)
    wait: Time,
    marked: u64,
}

/// A packet that would leave.
#[derive(Clone, Copy, Debug)]
struct Leaving {
    stamped: Stamped,
    from: Side,
    /// Change of the credit if the packet leaves.
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
    /// Makes the updates that are due.
    fn catch_up(&mut self, now: Time) {
        while let Some(at) = self.updates.due(now) {
            let was_at_rest = self.probability <= 0.0 && self.wait == Time::ZERO;
            self.update(at);
            if was_at_rest && self.backlog().packets == 0 {
                self.updates.skip(now);
            }
        }
    }

    /// Moves the probability by the longer wait and its trend.
    /// [RFC 9332, A.1](https://www.rfc-editor.org/rfc/rfc9332#appendix-A.1)
    fn update(&mut self, at: Time) {
        let oldest = [&self.low_latency, &self.classic]
            .map(|ring| ring.oldest().map(|stamped| at.since(stamped.arrived)));
        let wait = oldest.into_iter().flatten().max().unwrap_or(Time::ZERO);
        let (now_s, before_s) = (wait.as_secs_f64(), self.wait.as_secs_f64());
        let step = ALPHA_PER_S * (now_s - self.target.as_secs_f64()) + BETA_PER_S * (now_s - before_s);
        self.probability = (self.probability + step).clamp(0.0, 1.0);
        self.wait = wait;
    }

    /// Removes the packet whose turn it is: the queues alternate by their weights while both have packets.
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

    /// Selects a packet with the square of the probability, as the rate of classic flows falls with its root.
    fn is_selected_twice(&mut self) -> bool {
        let probability = probability(self.probability);
        self.rng.sample_bool(probability) && self.rng.sample_bool(probability)
    }
}

fn probability(probability: f64) -> Probability {
    Probability::new(probability.min(1.0)).expect("it is kept between 0 and 1")
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
            wait: Time::ZERO,
            marked: 0,
        }
    }

    fn offer(queue: &mut dyn Queue, ecn: Ecn, packets: u32) {
        (0..packets).for_each(|number| queue.enqueue(packet(number, ecn), Time::ZERO, &mut Vec::new()));
    }

    /// The credit starts at 1500 × -80; each packet of the low-latency queue adds 1500 × 10, so that after nine of them
    /// it is 1500 × 10, above zero; one of the classic queue takes 1500 × 90.
    #[test]
    fn the_classic_queue_has_a_tenth_while_both_have_packets() {
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
    fn what_answers_a_mark_like_a_loss_waits_with_what_cannot_be_marked() {
        for (ecn, is_fast) in [(Ecn::NotEct, false), (Ecn::Ect0, false), (Ecn::Ect1, true), (Ecn::Ce, true)] {
            let mut queue = dual();
            offer(&mut queue, ecn, 1);
            assert_eq!(queue.take().unwrap().from == Side::LowLatency, is_fast, "{ecn:?}");
        }
    }

    /// 0.16 (0.035 - 0.015) + 3.2 (0.035 - 0.025) = 0.0032 + 0.032; the longer of the two waits counts.
    #[test]
    fn the_probability_follows_the_longer_wait_and_its_trend() {
        for (ecn, shorter) in [(Ecn::Ect1, Ecn::NotEct), (Ecn::NotEct, Ecn::Ect1)] {
            let mut queue = dual();
            (queue.probability, queue.wait) = (0.1, Time::from_ms(25));
            queue.enqueue(packet(0, ecn), Time::ZERO, &mut Vec::new());
            queue.enqueue(packet(0, shorter), Time::from_ms(10), &mut Vec::new());
            queue.update(Time::from_ms(35));
            let expected = 0.1 + 41.0 / 256.0 * 0.020 + 819.0 / 256.0 * 0.010;
            assert!((queue.probability - expected).abs() < 1e-12, "{}", queue.probability);
        }
    }

    /// What becomes of 100 000 packets of one queue at a probability.
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

    /// At 10 %: marks with 20 % are 20 000, deviation sqrt(16 000) = 126; drops with 1 % are 1000, deviation
    /// sqrt(990) = 31; five of those.
    #[test]
    fn one_queue_is_marked_with_twice_the_root_of_the_drops_of_the_other() {
        let (marks, drops) = fates(Ecn::Ect1, 0.1);
        assert!((19_370..=20_630).contains(&marks) && drops == 0, "{marks}, {drops}");
        let (marks, drops) = fates(Ecn::NotEct, 0.1);
        assert!((845..=1155).contains(&drops) && marks == 0, "{marks}, {drops}");
        let (marks, drops) = fates(Ecn::Ect0, 0.1);
        assert!((845..=1155).contains(&marks) && drops == 0, "marked instead of dropped: {marks}, {drops}");
    }

    /// At 60 % twice as much is more than all: 36 % are dropped in both, deviation sqrt(100 000 × 0.36 × 0.64) = 152, and
    /// the rest of what can be marked is.
    #[test]
    fn overload_drops_in_both() {
        for ecn in [Ecn::Ect1, Ecn::Ect0, Ecn::NotEct] {
            let (marks, drops) = fates(ecn, 0.6);
            assert!((35_240..=36_760).contains(&drops), "{drops}");
            assert_eq!(marks, if ecn == Ecn::Ect1 { 100_000 - drops } else { 0 });
        }
    }

    #[test]
    fn what_waited_longer_than_the_step_is_marked_however_short_the_queue() {
        for (wait_us, ecn) in [(1000, Ecn::Ect1), (1001, Ecn::Ce)] {
            let mut queue = dual();
            offer(&mut queue, Ecn::Ect1, 1);
            let left = queue.dequeue(Time::from_us(wait_us), &mut Vec::new()).unwrap();
            assert_eq!((left.ecn, queue.marked_packets()), (ecn, u64::from(ecn == Ecn::Ce)));
        }
    }

    #[test]
    fn less_than_two_packets_are_no_queue() {
        let mut queue = dual();
        queue.probability = 1.0;
        offer(&mut queue, Ecn::NotEct, 3);
        let mut dropped = Vec::new();
        assert!(queue.dequeue(Time::ZERO, &mut dropped).is_some());
        assert_eq!((dropped.len(), queue.backlog().packets), (1, 1));
    }

    #[test]
    fn settings_that_make_no_sense_are_refused() {
        let error = Spec { update_ns: 0, ..Spec::default() }.build(context()).unwrap_err();
        assert!(error.starts_with("update_ns"), "{error}");
        let error = Spec { limit_packets: Some(0), ..Spec::default() }.build(context()).unwrap_err();
        assert!(error.starts_with("limit_packets"), "{error}");
    }
}
