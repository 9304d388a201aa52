//! CAKE: deficit round robin over flow queues, each under its own COBALT. An eight-way set-associative hash
//! gives a flow a queue of its own as long as its set has a free one. A flow whose queue was empty is served
//! first. Source: Høiland-Jørgensen, Täht and Morton, "Piece of CAKE: A Comprehensive Queue Management
//! Solution for Home Gateways", IEEE LANMAN, 2018. Agrees with: Linux 6.1 `cake` as `besteffort`, with the
//! defaults that it derives from the rate. The transmitter behind the queue is the shaper. Sizes are IP
//! packets, where Linux adds 14 bytes of Ethernet, and the limit is in their bytes, where Linux counts
//! memory. Not implemented: `DiffServ` tins, because packets have no code point; fairness among hosts,
//! because every flow has its own hosts; the ACK filter, overheads, `ingress`, `autorate`.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::cobalt::{Control, ControlLaw, Fate};
use super::codel::{DEFAULT_INTERVAL_NS, DEFAULT_TARGET_NS};
use super::flows::{DeficitRoundRobin, FlowHash, FlowQueues};
use super::packet_queue::Stamped;
use super::{Backlog, Entry, Limit, Limits, Queue, QueueContext, QueueSettings};
use crate::Time;
use crate::net::packet::Packet;
use crate::util::rng::Rng;

pub(super) const ENTRY: Entry = Entry {
    name: "cake",
    idea: "Deficit round robin over flow queues, each under its own COBALT; flows rarely share a queue.",
    source: "Høiland-Jørgensen et al., IEEE LANMAN, 2018",
};

/// Number of queues, and size of the set among which a flow may choose.
const QUEUES: usize = 1024;
const WAYS: usize = 8;
/// Size of a full packet, which is the quantum unless the link is slow.
const PACKET_BYTES: u64 = 1500;
/// Smallest quantum, on a slow link.
const MIN_QUANTUM_BYTES: u64 = 300;
/// Smallest and largest default limit, in bytes.
const LIMIT_BYTES: (u64, u64) = (4 << 20, 10_240 * PACKET_BYTES);
const NS_PER_S: u64 = 1_000_000_000;

/// The target, the interval, and the limits. The default limit is the data transmitted in four intervals, at
/// least 4 MiB and at most 15.36 MB.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Spec {
    /// Acceptable sojourn time, in ns; raised to the transmission time of one and a half packets if that is
    /// longer.
    pub target_ns: u64,
    /// Time for which the sojourn time may exceed the target, in ns: about the longest RTT. (Linux: `rtt`.)
    pub interval_ns: u64,
    /// Largest number of queued packets.
    pub limit_packets: Option<u64>,
    /// Largest number of queued bytes.
    pub limit_bytes: Option<u64>,
}

impl Default for Spec {
    fn default() -> Spec {
        Spec {
            target_ns: DEFAULT_TARGET_NS,
            interval_ns: DEFAULT_INTERVAL_NS,
            limit_packets: None,
            limit_bytes: None,
        }
    }
}

impl QueueSettings for Spec {
    fn build(&self, context: QueueContext) -> Result<Box<dyn Queue>, String> {
        if self.interval_ns == 0 {
            return Err("interval_ns: 0 ns; give the longest RTT to be expected".to_owned());
        }
        let queues = u32::try_from(QUEUES).expect("1024 queues");
        let quantum_bytes = (context.rate_bit_per_s / 8 / 4096).clamp(MIN_QUANTUM_BYTES, PACKET_BYTES);
        Ok(Box::new(Cake {
            limit: self.limit(context)?,
            law: self.law(context),
            flow_hash: FlowHash::new(context.seed, ENTRY.name, queues)?,
            round_robin: DeficitRoundRobin::new(
                u32::try_from(quantum_bytes).expect("at most a packet"),
                queues,
            )?,
            queues: FlowQueues::new(queues),
            controls: vec![Control::default(); QUEUES],
            tags: vec![0; QUEUES],
            idle: VecDeque::new(),
            marked: 0,
        }))
    }

    fn limits(&self) -> Limits {
        Limits { packets: self.limit_packets, bytes: self.limit_bytes }
    }
}

impl Spec {
    fn limit(&self, context: QueueContext) -> Result<Limit, String> {
        let limit = self.limits().checked()?;
        if self.limit_packets.is_some() || self.limit_bytes.is_some() {
            return Ok(limit);
        }
        let (least, most) = LIMIT_BYTES;
        let in_intervals =
            u128::from(context.rate_bit_per_s) * u128::from(self.interval_ns) * 4 / u128::from(8 * NS_PER_S);
        Limits { packets: None, bytes: Some(u64::try_from(in_intervals).unwrap_or(most).clamp(least, most)) }
            .checked()
    }

    /// The control law. On a slow link the target and the interval are raised, because a packet takes long to
    /// transmit.
    fn law(&self, context: QueueContext) -> ControlLaw {
        let packet_ns = PACKET_BYTES * 8 * NS_PER_S / context.rate_bit_per_s;
        let target_ns = self.target_ns.max(packet_ns * 3 / 2);
        let interval_ns = self.interval_ns.saturating_add(target_ns - self.target_ns);
        ControlLaw {
            target: Time::from_ns(target_ns),
            interval: Time::from_ns(interval_ns.max(target_ns.saturating_mul(2))),
            min_sojourn: Time::from_ns(4 * packet_ns),
            rng: Rng::new(context.seed, ENTRY.name),
        }
    }
}

#[derive(Debug)]
struct Cake {
    limit: Limit,
    law: ControlLaw,
    flow_hash: FlowHash,
    round_robin: DeficitRoundRobin,
    queues: FlowQueues,
    /// State of the control law, one for each queue.
    controls: Vec<Control>,
    /// Hash of the flow that last used each queue.
    tags: Vec<u32>,
    /// Empty queues that still count as used while their control state decays; they are not served. (Linux:
    /// `decaying_flows`.)
    idle: VecDeque<usize>,
    marked: u64,
}

impl Cake {
    /// The queue of a flow: the one that it used last, else an unused one of its set, else one shared with
    /// another flow.
    fn queue_of(&mut self, flow: u32) -> usize {
        let hash = self.flow_hash.hash(flow);
        let direct = hash as usize % QUEUES;
        let ways = (0..WAYS).map(|way| direct - direct % WAYS + (direct + way) % WAYS);
        let own = ways.clone().find(|&queue| self.tags[queue] == hash);
        let queue = own.or_else(|| ways.clone().find(|&queue| !self.is_used(queue))).unwrap_or(direct);
        self.tags[queue] = hash;
        queue
    }

    fn is_used(&self, queue: usize) -> bool {
        self.round_robin.is_active(queue) || self.idle.contains(&queue)
    }

    /// Removes the next packet of a queue. The last queued packet is never dropped by COBALT.
    fn take(&mut self, queue: usize, now: Time, dropped: &mut Vec<Packet>) -> Option<Packet> {
        while let Some(mut stamped) = self.queues.pop(queue) {
            match self.law.decide(&mut self.controls[queue], &mut stamped, now) {
                Fate::Drop if self.queues.backlog(queue).packets > 0 => dropped.push(stamped.packet),
                fate => {
                    self.marked += u64::from(fate == Fate::Marked);
                    return Some(stamped.packet);
                }
            }
        }
        None
    }

    /// Handles an empty queue: its control state decays by one step, and the queue stays idle until the state
    /// is reset.
    fn rest(&mut self, queue: usize, now: Time) {
        let control = &mut self.controls[queue];
        self.law.on_empty(control, now);
        if control.is_used(now) {
            self.idle.push_back(queue);
        }
    }
}

impl Queue for Cake {
    fn enqueue(&mut self, packet: Packet, now: Time, dropped: &mut Vec<Packet>) {
        let queue = self.queue_of(packet.flow);
        self.queues.push(queue, Stamped { arrived: now, packet });
        if let Some(at) = self.idle.iter().position(|&idle| idle == queue) {
            self.idle.remove(at);
        }
        self.round_robin.activate(queue);
        while self.limit.is_exceeded_by(self.queues.total()) {
            let longest = self.queues.longest(|backlog| backlog.bytes);
            self.law.on_overflow(&mut self.controls[longest], now);
            dropped.extend(self.queues.pop(longest).map(|stamped| stamped.packet));
        }
    }

    fn dequeue(&mut self, now: Time, dropped: &mut Vec<Packet>) -> Option<Packet> {
        if self.queues.total().packets == 0 {
            return None;
        }
        if let Some(queue) = self.idle.pop_front() {
            self.rest(queue, now);
        }
        while let Some(queue) = self.round_robin.next() {
            if let Some(packet) = self.take(queue, now, dropped) {
                self.round_robin.charge(queue, packet.size_bytes);
                return Some(packet);
            }
            self.round_robin.deactivate();
            self.rest(queue, now);
        }
        None
    }

    fn backlog(&self) -> Backlog {
        self.queues.total()
    }

    fn marked_packets(&self) -> u64 {
        self.marked
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

    /// A link of 100 Mbit/s, on which a packet takes 0.12 ms.
    fn fast() -> QueueContext {
        QueueContext { rate_bit_per_s: 100_000_000, ..context() }
    }

    fn offer(queue: &mut dyn Queue, flow: u32, packets: u32) -> Vec<Packet> {
        let mut dropped = Vec::new();
        (0..packets).for_each(|number| queue.enqueue(full_packet_of(flow, number), Time::ZERO, &mut dropped));
        dropped
    }

    fn dequeued_flows(queue: &mut dyn Queue, at_ms: u64, packets: u64) -> Vec<u32> {
        let left = (0..packets).map(|_| queue.dequeue(Time::from_ms(at_ms), &mut Vec::new()));
        left.map(|packet| packet.unwrap().flow).collect()
    }

    #[test]
    fn flows_take_turns_and_one_that_had_nothing_waiting_goes_first() {
        let mut queue = Spec::default().build(fast()).unwrap();
        offer(&mut *queue, 0, 4);
        offer(&mut *queue, 1, 4);
        assert_eq!(dequeued_flows(&mut *queue, 1, 3), [0, 1, 0]);
        offer(&mut *queue, 2, 1);
        assert_eq!(dequeued_flows(&mut *queue, 2, 3), [2, 1, 0]);
    }

    /// Quantum: 100 Mbit/s / 8 / 4096 = 3051 bytes, capped at 1500; 10 Mbit/s gives 305 bytes; 1 Mbit/s gives
    /// 30, raised to 300.
    #[test]
    fn a_slow_link_has_a_small_quantum() {
        for (rate_bit_per_s, small) in [(100_000_000, 4), (10_000_000, 4), (1_000_000, 3)] {
            let mut queue = Spec::default().build(QueueContext { rate_bit_per_s, ..context() }).unwrap();
            // Flow 0 sends packets of 100 bytes until its quantum is used up; then flow 1 is served.
            for number in 0..16 {
                let packet = Packet { size_bytes: 100, ..full_packet_of(0, number) };
                queue.enqueue(packet, Time::ZERO, &mut Vec::new());
            }
            offer(&mut *queue, 1, 1);
            let before = dequeued_flows(&mut *queue, 1, 17).iter().position(|&flow| flow == 1);
            let expected = if rate_bit_per_s == 100_000_000 { 15 } else { small };
            assert_eq!(before, Some(expected), "{rate_bit_per_s} bit/s");
        }
    }

    /// With a plain hash, about 100 × 99 / 2 / 1024 = 5 of 100 flows would collide.
    #[test]
    fn flows_do_not_share_a_queue() {
        let mut queue = Spec::default().build(fast()).unwrap();
        (0..100).for_each(|flow| assert!(offer(&mut *queue, flow, 2).is_empty()));
        let mut flows = dequeued_flows(&mut *queue, 1, 100);
        flows.sort_unstable();
        assert_eq!(flows, (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn a_flow_keeps_its_queue_while_it_sends() {
        let mut queue = Spec::default().build(fast()).unwrap();
        (0..1000).for_each(|flow| assert!(offer(&mut *queue, flow, 1).is_empty()));
        offer(&mut *queue, 7, 3);
        let mut of_seven = Vec::new();
        while let Some(packet) = queue.dequeue(Time::ZERO, &mut Vec::new()) {
            of_seven.extend((packet.flow == 7).then_some(packet.number));
        }
        assert_eq!(of_seven, [0, 0, 1, 2]);
    }

    /// 4 × 0.1 s at 200 Mbit/s are 10 MB; at 10 Mbit/s 0.5 MB, raised to 4 MiB; at 10 Gbit/s 500 MB, capped
    /// at 15.36 MB.
    #[test]
    fn the_default_limit_is_four_intervals() {
        for (rate_bit_per_s, bytes) in
            [(200_000_000, 10_000_000), (10_000_000, 4_194_304), (10_000_000_000, 15_360_000)]
        {
            let limit = Spec::default().limit(QueueContext { rate_bit_per_s, ..context() }).unwrap();
            assert!(!limit.is_exceeded_by(Backlog { packets: 0, bytes }));
            assert!(limit.is_exceeded_by(Backlog { packets: 0, bytes: bytes + 1 }));
        }
    }

    /// A packet takes 12 ms at 1 Mbit/s: the target is 18 ms, the interval 100 + 13 = 113 ms, and no signal
    /// is given up to 4 × 12 = 48 ms.
    #[test]
    fn target_and_interval_are_raised_on_a_slow_link() {
        let law = Spec::default().law(QueueContext { rate_bit_per_s: 1_000_000, ..context() });
        assert_eq!([law.target, law.interval, law.min_sojourn], [18, 113, 48].map(Time::from_ms));
    }

    #[test]
    fn at_the_limit_the_longest_flow_loses_its_oldest_packet() {
        let spec = Spec { limit_packets: Some(10), ..Spec::default() };
        let mut queue = spec.build(fast()).unwrap();
        assert!(offer(&mut *queue, 0, 8).is_empty());
        let dropped = offer(&mut *queue, 1, 4);
        assert!(dropped.iter().all(|packet| packet.flow == 0));
        assert_eq!(numbers(&dropped), [0, 1]);
    }

    /// Unresponsive flow 0 sends two packets per millisecond, and the link transmits one per millisecond: at
    /// a limit of 100 packets about half of the packets of flow 0 are dropped. Flow 1 sends one packet every
    /// 10 ms: no drop, and no queueing delay.
    #[test]
    fn an_unresponsive_flow_harms_only_itself() {
        let spec = Spec { limit_packets: Some(100), ..Spec::default() };
        let mut queue = spec.build(fast()).unwrap();
        let (mut dropped, mut sojourns_ms) = (Vec::new(), Vec::new());
        for ms in 0..10_000 {
            let now = Time::from_ms(ms);
            (0..2).for_each(|_| queue.enqueue(full_packet_of(0, 0), now, &mut dropped));
            if ms % 10 == 5 {
                let number = u32::try_from(ms).unwrap();
                queue.enqueue(full_packet_of(1, number), now, &mut dropped);
            }
            let packet = queue.dequeue(now, &mut dropped).unwrap();
            sojourns_ms.extend((packet.flow == 1).then(|| ms - u64::from(packet.number)));
        }
        assert!(dropped.iter().all(|packet| packet.flow == 0));
        assert!(dropped.len() > 9_000, "{}", dropped.len());
        assert_eq!((sojourns_ms.len(), sojourns_ms.iter().max()), (1000, Some(&0)));
    }

    /// 30 packets arrive at once, and the queue is asked for one per second: some are dropped, but never the
    /// last.
    #[test]
    fn the_last_packet_of_a_flow_is_not_dropped() {
        for ecn in [Ecn::Ect0, Ecn::NotEct] {
            let mut queue = Spec::default().build(fast()).unwrap();
            let mut dropped = Vec::new();
            let packets = (0..30).map(|number| Packet { ecn, ..full_packet_of(0, number) });
            packets.for_each(|packet| queue.enqueue(packet, Time::ZERO, &mut dropped));
            let mut left = Vec::new();
            for s in 1.. {
                let Some(packet) = queue.dequeue(Time::from_secs(s), &mut dropped) else { break };
                left.push(packet.number);
            }
            assert_eq!(left.last(), Some(&29));
            assert_eq!(dropped.is_empty(), ecn == Ecn::Ect0);
            assert_eq!(queue.marked_packets() > 0, ecn == Ecn::Ect0);
            assert_eq!(left.len() + dropped.len(), 30);
        }
    }

    #[test]
    fn invalid_settings_are_refused() {
        let error = Spec { interval_ns: 0, ..Spec::default() }.build(context()).unwrap_err();
        assert!(error.starts_with("interval_ns"), "{error}");
    }
}
