//! FQ-PIE: deficit round robin over flow queues as in FQ-CoDel, each under its own PIE. Source: RFC 8290 for
//! the round robin, RFC 8033 for the control law. Agrees with: Linux 6.1 `fq_pie` in its default settings,
//! except that sizes are IP packets (see `fq_codel.rs`) and that the update interval is exact (see `pie.rs`).
//! Not implemented: filters and the memory limit.

use serde::{Deserialize, Serialize};

use super::flows::{DeficitRoundRobin, FlowHash, FlowQueues};
use super::fq_codel::{DEFAULT_FLOWS, DEFAULT_QUANTUM_BYTES};
use super::packet_queue::Stamped;
use super::pie::{Control, ControlLaw, DEFAULT_TARGET_NS, DEFAULT_UPDATE_NS};
use super::updates::Updates;
use super::{Backlog, Entry, Limit, Limits, Queue, QueueContext, QueueSettings};
use crate::Time;
use crate::net::packet::Packet;
use crate::util::rng::Rng;

pub(super) const ENTRY: Entry = Entry {
    name: "fq_pie",
    idea: "Deficit round robin over flow queues, each under its own PIE.",
    source: "RFC 8033 and RFC 8290",
};

/// Default limit in packets, as in Linux.
const LIMIT_PACKETS: u64 = 10_240;

/// Settings of PIE and of the round robin, and the limits, by default 10240 packets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Spec {
    /// Target queueing delay, in ns.
    pub target_ns: u64,
    /// Interval between updates of the drop probabilities, in ns.
    pub update_ns: u64,
    /// Quantum: bytes that a flow sends per round.
    pub quantum_bytes: u32,
    /// Number of queues to which flows are hashed.
    pub flows: u32,
    /// Whether packets that can be marked are marked instead of dropped, while the probability is at most 10 %.
    pub ecn: bool,
    /// Largest number of queued packets.
    pub limit_packets: Option<u64>,
    /// Largest number of queued bytes.
    pub limit_bytes: Option<u64>,
}

impl Default for Spec {
    fn default() -> Spec {
        Spec {
            target_ns: DEFAULT_TARGET_NS,
            update_ns: DEFAULT_UPDATE_NS,
            quantum_bytes: DEFAULT_QUANTUM_BYTES,
            flows: DEFAULT_FLOWS,
            ecn: true,
            limit_packets: None,
            limit_bytes: None,
        }
    }
}

impl QueueSettings for Spec {
    fn build(&self, context: QueueContext) -> Result<Box<dyn Queue>, String> {
        let flow_hash = FlowHash::new(context.seed, ENTRY.name, self.flows)?;
        let rng = Rng::new(context.seed, ENTRY.name);
        Ok(Box::new(FqPie {
            limit: self.limits().checked()?.or_packets(LIMIT_PACKETS),
            updates: Updates::new(Time::from_ns(self.update_ns))?,
            law: ControlLaw { target: Time::from_ns(self.target_ns), ecn: self.ecn, rng, marked: 0 },
            round_robin: DeficitRoundRobin::new(self.quantum_bytes, self.flows)?,
            flow_hash,
            queues: FlowQueues::new(self.flows),
            controls: vec![Control::default(); self.flows as usize],
            active: Vec::new(),
            is_active: vec![false; self.flows as usize],
        }))
    }

    fn limits(&self) -> Limits {
        Limits { packets: self.limit_packets, bytes: self.limit_bytes }
    }
}

#[derive(Debug)]
struct FqPie {
    limit: Limit,
    updates: Updates,
    law: ControlLaw,
    round_robin: DeficitRoundRobin,
    flow_hash: FlowHash,
    queues: FlowQueues,
    /// State of the control law, one for each queue.
    controls: Vec<Control>,
    /// Queues whose control is not in its initial state, in any order.
    active: Vec<usize>,
    /// Whether each queue is among the active ones.
    is_active: Vec<bool>,
}

impl FqPie {
    fn catch_up(&mut self, now: Time) {
        while self.updates.due(now).is_some() {
            self.active.retain(|&queue| {
                let control = &mut self.controls[queue];
                let was_at_rest = control.is_at_rest();
                self.law.update(control, self.queues.backlog(queue));
                self.is_active[queue] = !was_at_rest;
                !was_at_rest
            });
            if self.active.is_empty() {
                self.updates.skip(now);
            }
        }
    }
}

impl Queue for FqPie {
    fn enqueue(&mut self, packet: Packet, now: Time, dropped: &mut Vec<Packet>) {
        self.catch_up(now);
        let queue = self.flow_hash.queue_of(packet.flow);
        let control = &mut self.controls[queue];
        if !self.limit.has_room_for(packet.size_bytes, self.queues.total()) {
            control.on_overflow();
            dropped.push(packet);
            return;
        }
        let Some(packet) = self.law.admit(control, self.queues.backlog(queue).bytes, packet) else {
            dropped.push(packet);
            return;
        };
        self.queues.push(queue, Stamped { arrived: now, packet });
        self.round_robin.activate(queue);
        if !self.is_active[queue] {
            self.is_active[queue] = true;
            self.active.push(queue);
        }
    }

    fn dequeue(&mut self, now: Time, _dropped: &mut Vec<Packet>) -> Option<Packet> {
        self.catch_up(now);
        while let Some(queue) = self.round_robin.next() {
            if let Some(Stamped { arrived, packet }) = self.queues.pop(queue) {
                self.round_robin.charge(queue, packet.size_bytes);
                self.controls[queue].on_leave(arrived, now, self.queues.backlog(queue));
                return Some(packet);
            }
            self.round_robin.demote_empty();
        }
        None
    }

    fn backlog(&self) -> Backlog {
        self.queues.total()
    }

    fn marked_packets(&self) -> u64 {
        self.law.marked
    }

    fn for_each(&self, visit: &mut dyn FnMut(&Packet)) {
        self.queues.for_each(visit);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{context, full_packet_of};
    use super::*;

    fn dequeued_flows(queue: &mut dyn Queue, packets: u64) -> Vec<u32> {
        let left = (0..packets).map(|_| queue.dequeue(Time::ZERO, &mut Vec::new()));
        left.map(|packet| packet.unwrap().flow).collect()
    }

    #[test]
    fn flows_are_served_in_round_robin_and_a_new_flow_first() {
        let mut queue = Spec::default().build(context()).unwrap();
        for flow in [0, 0, 0, 0, 1, 1, 1, 1] {
            queue.enqueue(full_packet_of(flow, 0), Time::ZERO, &mut Vec::new());
        }
        assert_eq!(dequeued_flows(&mut *queue, 3), [0, 1, 0]);
        queue.enqueue(full_packet_of(2, 0), Time::ZERO, &mut Vec::new());
        assert_eq!(dequeued_flows(&mut *queue, 3), [2, 1, 0]);
    }

    /// Flow 0 sends two packets per millisecond, flow 1 one packet every 4 ms, and the link transmits one per
    /// millisecond. Only flow 0 has a queue, and only its packets are dropped, until it gets the remaining
    /// 0.75 packets per millisecond: 25 000 of its 40 000 packets in 20 s are dropped, fewer in the first
    /// seconds.
    #[test]
    fn only_the_flow_with_a_standing_queue_has_drops() {
        let mut queue = Spec::default().build(context()).unwrap();
        let mut dropped = Vec::new();
        for ms in 0..20_000 {
            let now = Time::from_ms(ms);
            (0..2).for_each(|_| queue.enqueue(full_packet_of(0, 0), now, &mut dropped));
            if ms % 4 == 3 {
                queue.enqueue(full_packet_of(1, 0), now, &mut dropped);
            }
            queue.dequeue(now, &mut dropped).unwrap();
        }
        assert!(dropped.iter().all(|packet| packet.flow == 0));
        assert!((15_000..25_000).contains(&dropped.len()), "{}", dropped.len());
        assert!(queue.backlog().packets < 100, "{:?}", queue.backlog());
    }

    #[test]
    fn invalid_settings_are_refused() {
        for (spec, field) in [
            (Spec { quantum_bytes: 255, ..Spec::default() }, "quantum_bytes"),
            (Spec { flows: 0, ..Spec::default() }, "flows"),
            (Spec { update_ns: 0, ..Spec::default() }, "update_ns"),
            (Spec { limit_bytes: Some(0), ..Spec::default() }, "limit_bytes"),
        ] {
            let error = spec.build(context()).unwrap_err();
            assert!(error.starts_with(field), "{error}");
        }
    }
}
