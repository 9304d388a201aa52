//! FIFO: first in, first out; a packet that finds the queue full is dropped (drop-tail).
//! Source: RFC 7567, 4.1, which describes it as the default to be replaced. Agrees with: Linux 6.1 `pfifo`
//! and `bfifo`; with both limits, whichever is reached first.

use serde::{Deserialize, Serialize};

use super::packet_queue::PacketQueue;
use super::{Backlog, Entry, Limit, Limits, Queue, QueueContext, QueueSettings};
use crate::Time;
use crate::net::packet::Packet;

pub(super) const ENTRY: Entry = Entry {
    name: "fifo",
    idea: "First in, first out; a packet that finds the queue full is dropped.",
    source: "RFC 7567, 4.1",
};

/// The limits; without any, nothing is ever dropped. The packet being transmitted does not count.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Largest number of queued packets.
    #[serde(default)]
    pub limit_packets: Option<u64>,
    /// Largest number of queued bytes.
    #[serde(default)]
    pub limit_bytes: Option<u64>,
}

impl QueueSettings for Spec {
    fn build(&self, _context: QueueContext) -> Result<Box<dyn Queue>, String> {
        Ok(Box::new(Fifo { waiting: PacketQueue::default(), limit: self.limit()? }))
    }

    fn limits(&self) -> Limits {
        Limits { packets: self.limit_packets, bytes: self.limit_bytes }
    }
}

impl Spec {
    /// Limit of the backlog.
    pub(crate) fn limit(&self) -> Result<Limit, String> {
        self.limits().checked()
    }
}

#[derive(Debug)]
struct Fifo {
    waiting: PacketQueue<Packet>,
    limit: Limit,
}

impl Queue for Fifo {
    fn enqueue(&mut self, packet: Packet, _now: Time, dropped: &mut Vec<Packet>) {
        if self.limit.has_room_for(packet.size_bytes, self.backlog()) {
            self.waiting.push(packet);
        } else {
            dropped.push(packet);
        }
    }

    fn dequeue(&mut self, _now: Time, _dropped: &mut Vec<Packet>) -> Option<Packet> {
        self.waiting.pop()
    }

    fn backlog(&self) -> Backlog {
        self.waiting.backlog()
    }

    fn for_each(&self, visit: &mut dyn FnMut(&Packet)) {
        self.waiting.for_each(visit);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::context;
    use super::*;
    use crate::net::packet::Kind;

    fn packet(number: u32, size_bytes: u32) -> Packet {
        Packet { number, size_bytes, ..Packet::new(Kind::Data, 0) }
    }

    fn offer(spec: &Spec, sizes: &[u32]) -> (Vec<u32>, Vec<u32>) {
        let mut queue = spec.build(context()).unwrap();
        let mut dropped = Vec::new();
        for (number, &size) in (0..).zip(sizes) {
            queue.enqueue(packet(number, size), Time::ZERO, &mut dropped);
        }
        let mut kept = Vec::new();
        while let Some(packet) = queue.dequeue(Time::ZERO, &mut dropped) {
            kept.push(packet.number);
        }
        assert_eq!(queue.backlog(), Backlog::default());
        (kept, dropped.iter().map(|packet| packet.number).collect())
    }

    #[test]
    fn a_limit_of_two_drops_the_third_packet() {
        let spec = Spec { limit_packets: Some(2), limit_bytes: None };
        assert_eq!(offer(&spec, &[1500, 1500, 1500]), (vec![0, 1], vec![2]));
    }

    /// 3000 bytes hold packets of 1500, 1400 and 100 bytes; a second packet of 1500 bytes is dropped between
    /// them.
    #[test]
    fn a_byte_limit_admits_a_small_packet_after_dropping_a_large_one() {
        let spec = Spec { limit_packets: None, limit_bytes: Some(3000) };
        assert_eq!(offer(&spec, &[1500, 1400, 1500, 100]), (vec![0, 1, 3], vec![2]));
    }
}
