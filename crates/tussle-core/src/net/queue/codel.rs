//! CoDel (controlled delay): when sojourn times have exceeded a target for a whole interval, it drops or
//! marks packets at decreasing distances until a sojourn time is below the target. Source: Nichols, Jacobson,
//! McGregor and Iyengar, RFC 8289, section 5; marks instead of drops as in Linux 6.1 `codel`. Departs from
//! Linux in one number: Linux approximates 1/√count with one Newton step per drop, which gives 1, 0.5 and
//! 0.56 for the first counts instead of 1, 0.71 and 0.58. With an interval of 100 ms, Linux makes the second
//! drop of an episode 21 ms earlier than the RFC's control law, which is used here, and later drops up to 26
//! ms earlier.

use serde::{Deserialize, Serialize};

use super::packet_queue::{PacketQueue, Stamped};
use super::{Backlog, Entry, Limit, Limits, Queue, QueueContext, QueueSettings, can_be_marked};
use crate::Time;
use crate::net::packet::{Ecn, Packet};

pub(super) const ENTRY: Entry = Entry {
    name: "codel",
    idea: "When sojourn times exceed a target for an interval, drop or mark at increasing frequency.",
    source: "RFC 8289",
};

/// Size of the largest packet. A backlog of at most this size counts as no queue. (RFC: `MAXPACKET`.)
const MAX_PACKET_BYTES: u64 = 1500;
/// Number of intervals after which the drop rate of the previous episode no longer applies.
const MEMORY_INTERVALS: u64 = 16;

/// The target, the interval, and the limits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Spec {
    /// Acceptable sojourn time, in ns. [RFC 8289, 4.3](https://www.rfc-editor.org/rfc/rfc8289#section-4.3)
    pub target_ns: u64,
    /// Time for which the sojourn time may exceed the target, in ns: about the longest RTT.
    pub interval_ns: u64,
    /// Whether packets that can be marked are marked instead of dropped.
    pub ecn: bool,
    /// Largest number of queued packets.
    pub limit_packets: Option<u64>,
    /// Largest number of queued bytes.
    pub limit_bytes: Option<u64>,
}

/// Default of `target_ns`: 5 ms.
pub(super) const DEFAULT_TARGET_NS: u64 = 5_000_000;

/// Default of `interval_ns`: 100 ms.
pub(super) const DEFAULT_INTERVAL_NS: u64 = 100_000_000;

impl Default for Spec {
    fn default() -> Spec {
        Spec {
            target_ns: DEFAULT_TARGET_NS,
            interval_ns: DEFAULT_INTERVAL_NS,
            ecn: true,
            limit_packets: None,
            limit_bytes: None,
        }
    }
}

impl QueueSettings for Spec {
    fn build(&self, _context: QueueContext) -> Result<Box<dyn Queue>, String> {
        Ok(Box::new(Codel {
            limit: self.limits().checked()?,
            law: ControlLaw::new(Time::from_ns(self.target_ns), Time::from_ns(self.interval_ns), self.ecn)?,
            queue: SingleQueue::default(),
        }))
    }

    fn limits(&self) -> Limits {
        Limits { packets: self.limit_packets, bytes: self.limit_bytes }
    }
}

#[derive(Debug)]
struct Codel {
    limit: Limit,
    law: ControlLaw,
    queue: SingleQueue,
}

/// The queue of the discipline `codel`.
#[derive(Debug, Default)]
struct SingleQueue {
    packets: PacketQueue<Stamped>,
    control: Control,
}

/// A queue under CoDel's control.
pub(super) trait Controlled {
    /// Removes the packet at the head.
    fn pop(&mut self) -> Option<Stamped>;

    /// Bytes queued behind the removed packet. (RFC: `bytes()`.)
    fn left_bytes(&self) -> u64;

    /// State of the control law for this queue.
    fn control(&mut self) -> &mut Control;
}

impl Controlled for SingleQueue {
    fn pop(&mut self) -> Option<Stamped> {
        self.packets.pop()
    }

    fn left_bytes(&self) -> u64 {
        self.packets.backlog().bytes
    }

    fn control(&mut self) -> &mut Control {
        &mut self.control
    }
}

/// Settings of CoDel's control law, shared by any number of queues.
#[derive(Debug)]
pub(super) struct ControlLaw {
    target: Time,
    interval: Time,
    ecn: bool,
    marked: u64,
}

/// State of the control law for one queue.
#[derive(Debug, Default)]
pub(super) struct Control {
    /// Whether packets are dropped or marked. (RFC: `dropping_`.)
    dropping: bool,
    /// Time at which sojourn times will have exceeded the target for an interval; `None` while they are below
    /// it. (RFC: `first_above_time_`.)
    first_above_time: Option<Time>,
    /// Time of the next drop or mark. (RFC: `drop_next_`.)
    drop_next: Time,
    /// Drops and marks since `dropping` began, plus those carried over from the previous episode. (RFC:
    /// `count_`.)
    count: u32,
    /// Value of `count` when `dropping` began. (RFC: `lastcount_`.)
    last_count: u32,
}

/// A packet at the head of the queue.
#[derive(Clone, Copy, Debug)]
struct Head {
    packet: Packet,
    /// Whether sojourn times have exceeded the target for an interval. (RFC: `ok_to_drop`.)
    ok_to_drop: bool,
}

/// Time between two drops: `interval / √count`.
/// [RFC 8289, 5.3](https://www.rfc-editor.org/rfc/rfc8289#section-5.3)
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "part of an interval; a square root is rounded alike on every platform"
)]
pub(super) fn spacing(interval: Time, count: u32) -> Time {
    Time::from_ns((interval.ns() as f64 / f64::from(count).sqrt()) as u64)
}

impl Control {
    /// Counts packets that were dropped at the limit as drops of the control law.
    pub(super) fn raise(&mut self, packets: u32) {
        self.count = self.count.saturating_add(packets);
    }

    fn schedule(&mut self, from: Time, interval: Time) {
        self.drop_next = from + spacing(interval, self.count);
    }

    /// Enters the dropping state. The count continues from the previous episode if that ended a short time
    /// ago.
    fn enter_dropping(&mut self, now: Time, interval: Time) {
        let drops = self.count.saturating_sub(self.last_count);
        let memory = Time::from_ns(interval.ns().saturating_mul(MEMORY_INTERVALS));
        let is_recent = now.since(self.drop_next) < memory;
        self.dropping = true;
        self.count = if drops > 1 && is_recent { drops } else { 1 };
        self.last_count = self.count;
        self.schedule(now, interval);
    }
}

impl ControlLaw {
    /// Creates a control law. An error names the setting `interval_ns`.
    pub(super) fn new(target: Time, interval: Time, ecn: bool) -> Result<ControlLaw, String> {
        if interval == Time::ZERO {
            return Err("interval_ns: 0 ns; give the longest RTT to be expected".to_owned());
        }
        Ok(ControlLaw { target, interval, ecn, marked: 0 })
    }

    /// Packets marked so far.
    pub(super) fn marked_packets(&self) -> u64 {
        self.marked
    }

    /// Removes and returns the packet to transmit next.
    pub(super) fn dequeue(
        &mut self,
        queue: &mut impl Controlled,
        now: Time,
        dropped: &mut Vec<Packet>,
    ) -> Option<Packet> {
        if queue.control().dropping {
            return self.dequeue_while_dropping(queue, now, dropped);
        }
        let Head { packet, ok_to_drop } = self.take(queue, now)?;
        if !ok_to_drop {
            return Some(packet);
        }
        let marked = self.mark_or_drop(packet, dropped);
        let next = marked.or_else(|| self.take(queue, now).map(|head| head.packet));
        queue.control().enter_dropping(now, self.interval);
        next
    }

    /// Removes the packet at the head, and determines whether it may be dropped. (RFC: `dodequeue`.)
    fn take(&self, queue: &mut impl Controlled, now: Time) -> Option<Head> {
        let Some(Stamped { arrived, packet }) = queue.pop() else {
            queue.control().first_above_time = None;
            return None;
        };
        let is_below = now.since(arrived) < self.target || queue.left_bytes() <= MAX_PACKET_BYTES;
        let first_above_time = &mut queue.control().first_above_time;
        if is_below {
            *first_above_time = None;
            return Some(Head { packet, ok_to_drop: false });
        }
        let first_above_time = *first_above_time.get_or_insert(now + self.interval);
        Some(Head { packet, ok_to_drop: now >= first_above_time })
    }

    /// Marks the packet and returns it, or drops it.
    fn mark_or_drop(&mut self, mut packet: Packet, dropped: &mut Vec<Packet>) -> Option<Packet> {
        if self.ecn && can_be_marked(&packet) {
            packet.ecn = Ecn::Ce;
            self.marked += 1;
            Some(packet)
        } else {
            dropped.push(packet);
            None
        }
    }

    /// Removes and returns the packet to transmit next in the dropping state, after the drops that are due or
    /// with a mark.
    fn dequeue_while_dropping(
        &mut self,
        queue: &mut impl Controlled,
        now: Time,
        dropped: &mut Vec<Packet>,
    ) -> Option<Packet> {
        let mut head = self.take(queue, now);
        while let Some(Head { packet, ok_to_drop: true }) = head {
            let control = queue.control();
            if now < control.drop_next {
                return Some(packet);
            }
            control.count = control.count.saturating_add(1);
            let marked = self.mark_or_drop(packet, dropped);
            if marked.is_none() {
                head = self.take(queue, now);
            }
            let control = queue.control();
            if marked.is_some() || head.is_some_and(|head| head.ok_to_drop) {
                control.schedule(control.drop_next, self.interval);
            }
            if marked.is_some() {
                return marked;
            }
        }
        queue.control().dropping = false;
        head.map(|head| head.packet)
    }
}

impl Queue for Codel {
    fn enqueue(&mut self, packet: Packet, now: Time, dropped: &mut Vec<Packet>) {
        if self.limit.has_room_for(packet.size_bytes, self.backlog()) {
            self.queue.packets.push(Stamped { arrived: now, packet });
        } else {
            dropped.push(packet);
        }
    }

    fn dequeue(&mut self, now: Time, dropped: &mut Vec<Packet>) -> Option<Packet> {
        self.law.dequeue(&mut self.queue, now, dropped)
    }

    fn backlog(&self) -> Backlog {
        self.queue.packets.backlog()
    }

    fn marked_packets(&self) -> u64 {
        self.law.marked_packets()
    }

    fn for_each(&self, visit: &mut dyn FnMut(&Packet)) {
        self.queue.packets.for_each(visit);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{context, packet};
    use super::*;

    fn spec() -> Spec {
        Spec::default()
    }

    /// Times at which packets are marked or dropped, in ms. One packet arrives and one leaves per
    /// millisecond, each with a sojourn time of `sojourn_ms`.
    fn drops_ms(ecn: Ecn, sojourn_ms: u64) -> Vec<u64> {
        let mut queue = spec().build(context()).unwrap();
        let (mut dropped, mut times) = (Vec::new(), Vec::new());
        for ms in 0..500 {
            let (marked, dropped_before) = (queue.marked_packets(), dropped.len());
            queue.enqueue(packet(0, ecn), Time::from_ms(ms), &mut dropped);
            if ms >= sojourn_ms {
                queue.dequeue(Time::from_ms(ms), &mut dropped);
            }
            let new = queue.marked_packets() - marked + (dropped.len() - dropped_before) as u64;
            (0..new).for_each(|_| times.push(ms));
        }
        times
    }

    /// The first sojourn time of 20 ms ends at 20 ms, so that the interval is over at 120 ms. Further drops
    /// follow after 100, 100/√2 = 70.7, 100/√3 = 57.7, 100/√4 = 50 and 44.7 ms: at 220, 290.7, 348.4, 398.4
    /// and 443.1 ms.
    #[test]
    fn drops_come_after_an_interval_and_then_by_the_inverse_square_root() {
        assert_eq!(drops_ms(Ecn::Ect0, 20), [120, 220, 291, 349, 399, 444, 484]);
    }

    #[test]
    fn a_sojourn_time_below_the_target_gives_no_signal() {
        assert!(drops_ms(Ecn::Ect0, 4).is_empty());
        assert_eq!(drops_ms(Ecn::Ect0, 5).first(), Some(&105));
    }

    /// A backlog of one packet counts as no queue, however slow the link.
    #[test]
    fn a_single_queued_packet_is_never_dropped() {
        let mut queue = spec().build(context()).unwrap();
        let mut dropped = Vec::new();
        for s in 0..10 {
            queue.enqueue(packet(s, Ecn::NotEct), Time::from_secs(s.into()), &mut dropped);
            if s > 0 {
                assert!(queue.dequeue(Time::from_secs(s.into()), &mut dropped).is_some());
            }
        }
        assert!(dropped.is_empty());
    }

    /// 30 packets arrive at time zero: at 6 ms their sojourn time is too long, and from 106 ms on for a whole
    /// interval.
    #[test]
    fn a_packet_that_cannot_be_marked_is_dropped_and_the_next_one_leaves() {
        let mut queue = spec().build(context()).unwrap();
        let mut dropped = Vec::new();
        (0..30).for_each(|number| queue.enqueue(packet(number, Ecn::NotEct), Time::ZERO, &mut dropped));
        let left = [6, 105, 106]
            .map(|ms| queue.dequeue(Time::from_ms(ms), &mut dropped).map(|packet| packet.number));
        assert_eq!(left, [Some(0), Some(1), Some(3)]);
        assert_eq!(dropped.iter().map(|packet| packet.number).collect::<Vec<_>>(), [2]);
        assert_eq!(queue.backlog().packets, 26);
    }

    /// An episode with a count of 3, a pause of 1 s, and another episode: the count starts at 3 - 1 = 2.
    /// After a pause of 16 intervals it starts at 1.
    #[test]
    fn the_drop_rate_continues_from_a_recent_episode() {
        for (pause_ms, count) in [(1000, 2), (1600, 1)] {
            let drop_next = Time::from_ms(1000);
            let mut control = Control { drop_next, count: 3, last_count: 1, ..Control::default() };
            control.enter_dropping(drop_next + Time::from_ms(pause_ms), Time::from_ms(100));
            assert_eq!(control.count, count, "{pause_ms} ms");
        }
    }

    #[test]
    fn packets_that_arrive_at_the_limit_are_dropped() {
        let mut queue = Spec { limit_packets: Some(2), ..spec() }.build(context()).unwrap();
        let mut dropped = Vec::new();
        (0..3).for_each(|number| queue.enqueue(packet(number, Ecn::Ect0), Time::ZERO, &mut dropped));
        assert_eq!((dropped.len(), queue.backlog().packets), (1, 2));
    }
}
