//! FQ-CoDel: deficit round robin over flow queues, each under its own CoDel; a flow whose queue was empty is
//! served first. Source: Høiland-Jørgensen, McKenney, Täht, Gettys and Dumazet, RFC 8290. Agrees with: Linux
//! 6.1 `fq_codel` in its default settings, and in CoDel's condition "no queue": a total backlog of at most
//! one packet. Sizes are IP packets, so that the default quantum of one full packet is 1500 bytes; Linux and
//! the RFC count 14 bytes of Ethernet and have 1514. Not implemented: filters, the memory limit,
//! `ce_threshold`.

use serde::{Deserialize, Serialize};

use super::codel::{Control, ControlLaw, Controlled, DEFAULT_INTERVAL_NS, DEFAULT_TARGET_NS};
use super::flows::{DeficitRoundRobin, FlowHash, FlowQueues};
use super::packet_queue::Stamped;
use super::{Backlog, Entry, Limit, Limits, Queue, QueueContext, QueueSettings};
use crate::Time;
use crate::net::packet::Packet;

pub(super) const ENTRY: Entry = Entry {
    name: "fq_codel",
    idea: "Deficit round robin over flow queues, each under its own CoDel; new flows are served first.",
    source: "RFC 8290",
};

/// Default limit in packets. [RFC 8290, 5.2.3](https://www.rfc-editor.org/rfc/rfc8290#section-5.2.3)
const LIMIT_PACKETS: u64 = 10_240;
/// Largest number of packets dropped at once at the limit.
/// [RFC 8290, 4.1](https://www.rfc-editor.org/rfc/rfc8290#section-4.1)
const MAX_BATCH_DROP: u32 = 64;

/// Settings of CoDel and of the round robin, and the limits, by default 10240 packets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Spec {
    /// Acceptable sojourn time, in ns.
    pub target_ns: u64,
    /// Time for which the sojourn time may exceed the target, in ns: about the longest RTT.
    pub interval_ns: u64,
    /// Quantum: bytes that a flow sends per round.
    pub quantum_bytes: u32,
    /// Number of queues to which flows are hashed.
    pub flows: u32,
    /// Whether packets that can be marked are marked instead of dropped.
    pub ecn: bool,
    /// Largest number of queued packets.
    pub limit_packets: Option<u64>,
    /// Largest number of queued bytes.
    pub limit_bytes: Option<u64>,
}

/// Default of `quantum_bytes`: a full packet.
/// [RFC 8290, 5.2.4](https://www.rfc-editor.org/rfc/rfc8290#section-5.2.4)
pub(super) const DEFAULT_QUANTUM_BYTES: u32 = 1500;

/// Default of `flows`: 1024. [RFC 8290, 5.2.5](https://www.rfc-editor.org/rfc/rfc8290#section-5.2.5)
pub(super) const DEFAULT_FLOWS: u32 = 1024;

impl Default for Spec {
    fn default() -> Spec {
        Spec {
            target_ns: DEFAULT_TARGET_NS,
            interval_ns: DEFAULT_INTERVAL_NS,
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
        Ok(Box::new(FqCodel {
            limit: self.limits().checked()?.or_packets(LIMIT_PACKETS),
            law: ControlLaw::new(Time::from_ns(self.target_ns), Time::from_ns(self.interval_ns), self.ecn)?,
            round_robin: DeficitRoundRobin::new(self.quantum_bytes, self.flows)?,
            flow_hash,
            queues: FlowQueues::new(self.flows),
            controls: (0..self.flows).map(|_| Control::default()).collect(),
        }))
    }

    fn limits(&self) -> Limits {
        Limits { packets: self.limit_packets, bytes: self.limit_bytes }
    }
}

#[derive(Debug)]
struct FqCodel {
    limit: Limit,
    law: ControlLaw,
    round_robin: DeficitRoundRobin,
    flow_hash: FlowHash,
    queues: FlowQueues,
    /// State of the control law, one for each queue.
    controls: Vec<Control>,
}

/// One queue under CoDel's control.
struct Flow<'a> {
    queues: &'a mut FlowQueues,
    queue: usize,
    control: &'a mut Control,
}

impl Controlled for Flow<'_> {
    fn pop(&mut self) -> Option<Stamped> {
        self.queues.pop(self.queue)
    }

    fn left_bytes(&self) -> u64 {
        self.queues.total().bytes
    }

    fn control(&mut self) -> &mut Control {
        self.control
    }
}

impl FqCodel {
    /// Drops half of the longest queue, from its head, up to [`MAX_BATCH_DROP`] packets.
    fn drop_from_longest(&mut self, dropped: &mut Vec<Packet>) {
        let queue = self.queues.longest(|backlog| backlog.bytes);
        let half_bytes = self.queues.backlog(queue).bytes / 2;
        let (mut dropped_packets, mut dropped_bytes) = (0, 0);
        while dropped_packets < MAX_BATCH_DROP
            && (dropped_packets == 0 || dropped_bytes < half_bytes)
            && let Some(Stamped { packet, .. }) = self.queues.pop(queue)
        {
            dropped_packets += 1;
            dropped_bytes += u64::from(packet.size_bytes);
            dropped.push(packet);
        }
        self.controls[queue].raise(dropped_packets);
    }
}

impl Queue for FqCodel {
    fn enqueue(&mut self, packet: Packet, now: Time, dropped: &mut Vec<Packet>) {
        let queue = self.flow_hash.queue_of(packet.flow);
        self.queues.push(queue, Stamped { arrived: now, packet });
        self.round_robin.activate(queue);
        while self.limit.is_exceeded_by(self.queues.total()) {
            self.drop_from_longest(dropped);
        }
    }

    fn dequeue(&mut self, now: Time, dropped: &mut Vec<Packet>) -> Option<Packet> {
        while let Some(queue) = self.round_robin.next() {
            let mut flow = Flow { queues: &mut self.queues, queue, control: &mut self.controls[queue] };
            if let Some(packet) = self.law.dequeue(&mut flow, now, dropped) {
                self.round_robin.charge(queue, packet.size_bytes);
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
        self.law.marked_packets()
    }

    fn for_each(&self, visit: &mut dyn FnMut(&Packet)) {
        self.queues.for_each(visit);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{context, full_packet_of, numbers};
    use super::*;
    use crate::net::packet::Ecn;

    fn queue(spec: &Spec) -> Box<dyn Queue> {
        spec.build(context()).unwrap()
    }

    /// The flows of the next packets, in order of dequeue, one packet per millisecond from `from_ms` on.
    fn dequeued_flows(queue: &mut dyn Queue, from_ms: u64, packets: u64) -> Vec<u32> {
        let mut dropped = Vec::new();
        let left = (0..packets).map(|ms| queue.dequeue(Time::from_ms(from_ms + ms), &mut dropped));
        let flows = left.map(|packet| packet.unwrap().flow).collect();
        assert!(dropped.is_empty());
        flows
    }

    fn offer(queue: &mut dyn Queue, flow: u32, packets: u32) -> Vec<Packet> {
        let mut dropped = Vec::new();
        (0..packets).for_each(|number| queue.enqueue(full_packet_of(flow, number), Time::ZERO, &mut dropped));
        dropped
    }

    /// After its first packet, flow 0 has used its quantum and follows flow 2 in the list.
    #[test]
    fn full_packets_are_served_in_round_robin() {
        let mut queue = queue(&Spec::default());
        (0..3).for_each(|flow| assert!(offer(&mut *queue, flow, 3).is_empty()));
        assert_eq!(dequeued_flows(&mut *queue, 0, 9), [0, 1, 2, 0, 1, 2, 0, 1, 2]);
    }

    /// Flow 0 has just used its quantum when flow 2 starts. The first packet of flow 2 leaves first; its
    /// second one follows flow 1. Flow 0 moves to the end of the list only at the next dequeue, so that it
    /// follows flow 2.
    #[test]
    fn a_new_flow_is_served_first_for_one_quantum() {
        let mut queue = queue(&Spec::default());
        offer(&mut *queue, 0, 5);
        offer(&mut *queue, 1, 5);
        assert_eq!(dequeued_flows(&mut *queue, 0, 3), [0, 1, 0]);
        offer(&mut *queue, 2, 2);
        assert_eq!(dequeued_flows(&mut *queue, 3, 4), [2, 1, 2, 0]);
    }

    /// Flow 0 sends packets of 1500 bytes, flow 1 packets of 500 bytes: three of flow 1 per packet of flow 0.
    #[test]
    fn the_round_robin_is_fair_in_bytes() {
        let mut queue = queue(&Spec::default());
        offer(&mut *queue, 0, 10);
        let small = |number| Packet { size_bytes: 500, ..full_packet_of(1, number) };
        (0..30).for_each(|number| queue.enqueue(small(number), Time::ZERO, &mut Vec::new()));
        assert_eq!(dequeued_flows(&mut *queue, 0, 8), [0, 1, 1, 1, 0, 1, 1, 1]);
    }

    /// A quantum of 3000 bytes: two packets per round.
    #[test]
    fn a_flow_sends_one_quantum_per_round() {
        let mut queue = queue(&Spec { quantum_bytes: 3000, ..Spec::default() });
        (0..2).for_each(|flow| assert!(offer(&mut *queue, flow, 4).is_empty()));
        assert_eq!(dequeued_flows(&mut *queue, 0, 8), [0, 0, 1, 1, 0, 0, 1, 1]);
    }

    /// Flow 0 has 8 packets and flow 1 has 2 when the eleventh packet, of flow 1, exceeds the limit: half of
    /// the 12 000 bytes of flow 0, 4 packets, are dropped from its head.
    #[test]
    fn at_the_limit_the_longest_flow_loses_the_first_half_of_its_packets() {
        let mut queue = queue(&Spec { limit_packets: Some(10), ..Spec::default() });
        assert!(offer(&mut *queue, 0, 8).is_empty());
        let dropped = offer(&mut *queue, 1, 3);
        assert!(dropped.iter().all(|packet| packet.flow == 0));
        assert_eq!(numbers(&dropped), [0, 1, 2, 3]);
        assert_eq!(queue.backlog(), Backlog { packets: 7, bytes: 10_500 });
    }

    /// The default limit is 10 240 packets. Half of the queue would be more than 64 packets.
    #[test]
    fn at_most_64_packets_are_dropped_at_once() {
        let mut queue = queue(&Spec::default());
        let dropped = offer(&mut *queue, 0, 10_241);
        assert_eq!((dropped.len(), queue.backlog().packets), (64, 10_241 - 64));
    }

    /// One packet leaves per millisecond. Flow 0 has a standing queue of 40 packets; flow 1 sends one packet
    /// every 2 ms, which leaves at once. Each flow has its own control law: packets of flow 0 are marked,
    /// packets of flow 1 never.
    #[test]
    fn only_the_flow_with_a_standing_queue_is_marked() {
        let mut queue = queue(&Spec::default());
        let mut dropped = Vec::new();
        let ect = |flow| Packet { ecn: Ecn::Ect0, ..full_packet_of(flow, 0) };
        (0..40).for_each(|_| queue.enqueue(ect(0), Time::ZERO, &mut dropped));
        let mut marked = [0, 0];
        for ms in (0..1000).step_by(2) {
            queue.enqueue(ect(0), Time::from_ms(ms), &mut dropped);
            queue.enqueue(ect(1), Time::from_ms(ms), &mut dropped);
            for now in [ms, ms + 1] {
                let packet = queue.dequeue(Time::from_ms(now), &mut dropped).unwrap();
                marked[packet.flow as usize] += u32::from(packet.ecn == Ecn::Ce);
            }
        }
        assert!(marked[0] > 10, "{marked:?}");
        assert_eq!((marked[1], dropped.len()), (0, 0));
    }

    #[test]
    fn invalid_settings_are_refused() {
        for (spec, field) in [
            (Spec { quantum_bytes: 255, ..Spec::default() }, "quantum_bytes"),
            (Spec { flows: 0, ..Spec::default() }, "flows"),
            (Spec { flows: 65_537, ..Spec::default() }, "flows"),
            (Spec { interval_ns: 0, ..Spec::default() }, "interval_ns"),
            (Spec { limit_packets: Some(0), ..Spec::default() }, "limit_packets"),
        ] {
            let error = spec.build(context()).unwrap_err();
            assert!(error.starts_with(field), "{error}");
        }
    }
}
