//! SFQ (stochastic fairness queueing): deficit round robin over flow queues; at the limit the longest queue
//! drops its newest packet. Source: McKenney, "Stochastic Fairness Queueing", IEEE INFOCOM, 1990; fairness in
//! bytes as in Shreedhar and Varghese, "Efficient Fair Queueing Using Deficit Round Robin", ACM SIGCOMM,
//! 1995. Agrees with: Linux 6.1 `sfq` without `perturb`, its default, so that flows that collide stay in one
//! queue. Sizes are IP packets: the default quantum is 1500 bytes, which Linux counts as 1514. Among several
//! longest queues Linux takes the one that changed last; here it is the queue of the arriving packet, or the
//! first. Not implemented: RED within a flow, `headdrop`.

use serde::{Deserialize, Serialize};

use super::flows::{DeficitRoundRobin, FlowHash, FlowQueues};
use super::fq_codel::{DEFAULT_FLOWS, DEFAULT_QUANTUM_BYTES};
use super::packet_queue::Stamped;
use super::{Backlog, Entry, Limit, Limits, Queue, QueueContext, QueueSettings};
use crate::Time;
use crate::net::packet::Packet;

pub(super) const ENTRY: Entry = Entry {
    name: "sfq",
    idea: "Deficit round robin over flow queues; at the limit the longest queue drops its newest packet.",
    source: "McKenney, IEEE INFOCOM, 1990",
};

/// Default limit of all queues together, and limit of each queue, in packets.
const LIMIT_PACKETS: u64 = 127;
const MAX_FLOW_PACKETS: u64 = 127;
/// Largest number of queues with packets.
const MAX_FLOWS: u64 = 128;

/// Settings of the round robin, and the limits, by default 127 packets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Spec {
    /// Quantum: bytes that a flow sends per round.
    pub quantum_bytes: u32,
    /// Number of queues to which flows are hashed. (Linux: `divisor`.)
    pub flows: u32,
    /// Largest number of queued packets.
    pub limit_packets: Option<u64>,
    /// Largest number of queued bytes.
    pub limit_bytes: Option<u64>,
}

impl Default for Spec {
    fn default() -> Spec {
        Spec {
            quantum_bytes: DEFAULT_QUANTUM_BYTES,
            flows: DEFAULT_FLOWS,
            limit_packets: None,
            limit_bytes: None,
        }
    }
}

impl QueueSettings for Spec {
    fn build(&self, context: QueueContext) -> Result<Box<dyn Queue>, String> {
        let flow_hash = FlowHash::new(context.seed, ENTRY.name, self.flows)?;
        Ok(Box::new(Sfq {
            limit: self.limits().checked()?.or_packets(LIMIT_PACKETS),
            round_robin: DeficitRoundRobin::new(self.quantum_bytes, self.flows)?,
            flow_hash,
            queues: FlowQueues::new(self.flows),
            waiting_flows: 0,
        }))
    }

    fn limits(&self) -> Limits {
        Limits { packets: self.limit_packets, bytes: self.limit_bytes }
    }
}

#[derive(Debug)]
struct Sfq {
    limit: Limit,
    round_robin: DeficitRoundRobin,
    flow_hash: FlowHash,
    queues: FlowQueues,
    /// Number of queues with packets.
    waiting_flows: u64,
}

impl Sfq {
    /// The queue that drops a packet at the limit, after an arrival at the queue `newest`.
    fn queue_to_drop_from(&self, newest: usize) -> usize {
        let longest = self.queues.longest(|backlog| backlog.packets);
        let is_as_long = self.queues.backlog(newest).packets == self.queues.backlog(longest).packets;
        if is_as_long { newest } else { longest }
    }

    fn packets(&self, queue: usize) -> u64 {
        self.queues.backlog(queue).packets
    }
}

impl Queue for Sfq {
    fn enqueue(&mut self, packet: Packet, now: Time, dropped: &mut Vec<Packet>) {
        let queue = self.flow_hash.queue_of(packet.flow);
        let has_room = match self.packets(queue) {
            0 => self.waiting_flows < MAX_FLOWS,
            packets => packets < MAX_FLOW_PACKETS,
        };
        if !has_room {
            dropped.push(packet);
            return;
        }
        self.waiting_flows += u64::from(self.packets(queue) == 0);
        self.queues.push(queue, Stamped { arrived: now, packet });
        self.round_robin.activate_as_old(queue);
        while self.limit.is_exceeded_by(self.queues.total()) {
            let queue_to_drop_from = self.queue_to_drop_from(queue);
            dropped.extend(self.queues.pop_newest(queue_to_drop_from).map(|stamped| stamped.packet));
            self.waiting_flows -= u64::from(self.packets(queue_to_drop_from) == 0);
        }
    }

    fn dequeue(&mut self, _now: Time, _dropped: &mut Vec<Packet>) -> Option<Packet> {
        while let Some(queue) = self.round_robin.next() {
            let Some(Stamped { packet, .. }) = self.queues.pop(queue) else {
                self.round_robin.deactivate();
                continue;
            };
            self.round_robin.charge(queue, packet.size_bytes);
            if self.packets(queue) == 0 {
                self.waiting_flows -= 1;
                self.round_robin.deactivate();
            }
            return Some(packet);
        }
        None
    }

    fn backlog(&self) -> Backlog {
        self.queues.total()
    }

    fn for_each(&self, visit: &mut dyn FnMut(&Packet)) {
        self.queues.for_each(visit);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{context, full_packet_of, numbers};
    use super::*;

    fn offer(queue: &mut dyn Queue, flow: u32, packets: u32) -> Vec<Packet> {
        let mut dropped = Vec::new();
        (0..packets).for_each(|number| queue.enqueue(full_packet_of(flow, number), Time::ZERO, &mut dropped));
        dropped
    }

    fn dequeued_flows(queue: &mut dyn Queue, packets: u64) -> Vec<u32> {
        let left = (0..packets).map(|_| queue.dequeue(Time::ZERO, &mut Vec::new()));
        left.map(|packet| packet.unwrap().flow).collect()
    }

    #[test]
    fn flows_are_served_in_round_robin_and_a_new_flow_last() {
        let mut queue = Spec::default().build(context()).unwrap();
        (0..3).for_each(|flow| assert!(offer(&mut *queue, flow, 3).is_empty()));
        assert_eq!(dequeued_flows(&mut *queue, 4), [0, 1, 2, 0]);
        offer(&mut *queue, 3, 1);
        assert_eq!(dequeued_flows(&mut *queue, 6), [1, 2, 3, 0, 1, 2]);
    }

    /// Flows 0 and 1 have 7 and 3 packets when the eleventh packet, of flow 1, exceeds the limit: flow 0
    /// drops its seventh.
    #[test]
    fn at_the_limit_the_longest_flow_loses_its_newest_packet() {
        let mut queue = Spec { limit_packets: Some(10), ..Spec::default() }.build(context()).unwrap();
        assert!(offer(&mut *queue, 0, 7).is_empty());
        let dropped = offer(&mut *queue, 1, 4);
        assert_eq!((dropped[0].flow, numbers(&dropped)), (0, vec![6]));
        // Six and four packets: flow 0 drops one more; then flow 1 has the longest queue.
        let dropped = offer(&mut *queue, 1, 2);
        assert_eq!(dropped.iter().map(|packet| packet.flow).collect::<Vec<_>>(), [0, 1]);
    }

    #[test]
    fn a_queue_holds_127_packets_and_128_queues_are_used() {
        let mut queue = Spec { limit_packets: Some(1000), ..Spec::default() }.build(context()).unwrap();
        assert_eq!(offer(&mut *queue, 0, 130).len(), 3);
        let spec = Spec { limit_packets: Some(1000), flows: 65_536, ..Spec::default() };
        let mut queue = spec.build(context()).unwrap();
        let dropped: usize = (0..130).map(|flow| offer(&mut *queue, flow, 1).len()).sum();
        assert_eq!(dropped, 2);
        assert_eq!(dequeued_flows(&mut *queue, 1), [0]);
        assert!(offer(&mut *queue, 200, 1).is_empty());
    }

    #[test]
    fn the_default_limit_is_127_packets() {
        let mut queue = Spec::default().build(context()).unwrap();
        assert!(offer(&mut *queue, 0, 100).is_empty());
        assert_eq!(offer(&mut *queue, 1, 28).len(), 1);
    }

    #[test]
    fn invalid_settings_are_refused() {
        for (spec, field) in [
            (Spec { quantum_bytes: 255, ..Spec::default() }, "quantum_bytes"),
            (Spec { flows: 0, ..Spec::default() }, "flows"),
            (Spec { limit_packets: Some(0), ..Spec::default() }, "limit_packets"),
        ] {
            let error = spec.build(context()).unwrap_err();
            assert!(error.starts_with(field), "{error}");
        }
    }
}
