//! Threshold: a FIFO that marks arriving packets while the queue is longer than a threshold. Source: Alizadeh
//! et al., "Data Center TCP (DCTCP)", ACM SIGCOMM, 2010, 3.1; the marking that RFC 8257, 3.1 expects from
//! switches. A packet that is not ECN-capable is dropped at the limit only, as in a FIFO.

use serde::{Deserialize, Serialize};

use super::packet_queue::PacketQueue;
use super::{Backlog, Entry, Limit, Limits, Queue, QueueContext, QueueSettings, can_be_marked};
use crate::Time;
use crate::net::packet::{Ecn, Packet};

pub(super) const ENTRY: Entry = Entry {
    name: "threshold",
    idea: "A FIFO that marks arriving packets while the queue is longer than a threshold.",
    source: "Alizadeh et al., ACM SIGCOMM, 2010",
};

/// The threshold, in packets, in bytes or whichever is reached first, and the limits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Queue length in packets above which an arriving packet is marked. (Paper: `K`.)
    #[serde(default)]
    pub mark_above_packets: Option<u64>,
    /// Queue length in bytes above which an arriving packet is marked.
    #[serde(default)]
    pub mark_above_bytes: Option<u64>,
    /// Largest number of queued packets.
    #[serde(default)]
    pub limit_packets: Option<u64>,
    /// Largest number of queued bytes.
    #[serde(default)]
    pub limit_bytes: Option<u64>,
}

impl QueueSettings for Spec {
    fn build(&self, _context: QueueContext) -> Result<Box<dyn Queue>, String> {
        if self.mark_above_packets.is_none() && self.mark_above_bytes.is_none() {
            return Err("mark_above_packets: a threshold queue needs it, or mark_above_bytes".to_owned());
        }
        Ok(Box::new(Threshold {
            waiting: PacketQueue::default(),
            mark_above: Backlog {
                packets: self.mark_above_packets.unwrap_or(u64::MAX),
                bytes: self.mark_above_bytes.unwrap_or(u64::MAX),
            },
            limit: self.limits().checked()?,
            marked: 0,
        }))
    }

    fn limits(&self) -> Limits {
        Limits { packets: self.limit_packets, bytes: self.limit_bytes }
    }
}

#[derive(Debug)]
struct Threshold {
    waiting: PacketQueue<Packet>,
    mark_above: Backlog,
    limit: Limit,
    marked: u64,
}

impl Queue for Threshold {
    fn enqueue(&mut self, mut packet: Packet, _now: Time, dropped: &mut Vec<Packet>) {
        let found = self.backlog();
        if !self.limit.has_room_for(packet.size_bytes, found) {
            dropped.push(packet);
            return;
        }
        let is_above = found.packets > self.mark_above.packets || found.bytes > self.mark_above.bytes;
        if is_above && can_be_marked(&packet) {
            packet.ecn = Ecn::Ce;
            self.marked += 1;
        }
        self.waiting.push(packet);
    }

    fn dequeue(&mut self, _now: Time, _dropped: &mut Vec<Packet>) -> Option<Packet> {
        self.waiting.pop()
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

    /// The fourth packet finds a queue of three, which is not above the threshold; the fifth finds four.
    #[test]
    fn packets_above_the_threshold_are_marked() {
        let spec = Spec { mark_above_packets: Some(3), ..Spec::default() };
        let mut queue = spec.build(context()).unwrap();
        assert_eq!(
            marks_and_drops(&mut *queue, (0..6).map(|number| packet(number, Ecn::Ect0))),
            (vec![4, 5], vec![])
        );
        assert_eq!(queue.marked_packets(), 2);
    }

    /// The third packet finds a queue of exactly 3000 bytes, the fourth one of 4500.
    #[test]
    fn the_threshold_may_be_in_bytes() {
        let spec = Spec { mark_above_bytes: Some(3000), ..Spec::default() };
        let mut queue = spec.build(context()).unwrap();
        assert_eq!(
            marks_and_drops(&mut *queue, (0..4).map(|number| packet(number, Ecn::Ect0))),
            (vec![3], vec![])
        );
    }

    #[test]
    fn packets_without_ecn_are_dropped_at_the_limit_only() {
        let spec = Spec { mark_above_packets: Some(1), limit_packets: Some(4), ..Spec::default() };
        let mut queue = spec.build(context()).unwrap();
        let packets = (0..6).map(|number| packet(number, Ecn::NotEct));
        assert_eq!(marks_and_drops(&mut *queue, packets), (vec![], vec![4, 5]));
        assert_eq!(queue.marked_packets(), 0);
    }

    #[test]
    fn a_threshold_must_be_given() {
        let error = Spec::default().build(context()).unwrap_err();
        assert!(error.contains("mark_above_packets"), "{error}");
    }
}
