//! Building blocks of disciplines with one queue per flow: the hash that selects the queue, a common store
//! for the packets of all queues, and deficit round robin.

use std::collections::VecDeque;

use rand_core::{Rng as _, SeedableRng};
use rand_xoshiro::SplitMix64;

use super::Backlog;
use super::packet_queue::Stamped;
use crate::net::packet::Packet;
use crate::util::rng::named_seed;

/// Largest number of queues of a discipline, as in Linux.
const MAX_QUEUES: u32 = 65_536;
/// Smallest quantum, as in Linux: with a smaller one a full packet would need too many rounds.
const MIN_QUANTUM_BYTES: u32 = 256;
/// Index that stands for no slot.
const NIL: u32 = u32::MAX;

/// The hash that assigns flows to queues; two flows may collide in one queue. It represents Linux's hash of
/// addresses and ports, and the seed of the run represents the secret key of that hash. Both directions of a
/// flow have the same hash, as in Linux.
#[derive(Clone, Copy, Debug)]
pub(super) struct FlowHash {
    seed: u64,
    queues: u32,
}

impl FlowHash {
    /// Creates the hash of the discipline `name` over `queues` queues. An error names the setting `flows`.
    pub(super) fn new(seed: u64, name: &str, queues: u32) -> Result<FlowHash, String> {
        if !(1..=MAX_QUEUES).contains(&queues) {
            return Err(format!("flows: {queues} queues; give 1 to {MAX_QUEUES}"));
        }
        Ok(FlowHash { seed: named_seed(seed, name), queues })
    }

    /// The hash of a flow.
    pub(super) fn hash(self, flow: u32) -> u32 {
        SplitMix64::seed_from_u64(self.seed ^ u64::from(flow)).next_u32()
    }

    /// The queue of a flow.
    pub(super) fn queue_of(self, flow: u32) -> usize {
        ((u64::from(self.hash(flow)) * u64::from(self.queues)) >> 32) as usize
    }
}

/// FIFO queues of packets in one store. Slots of the store are reused, so that the store is never larger than
/// the largest total backlog.
#[derive(Debug)]
pub(super) struct FlowQueues {
    slots: Vec<Slot>,
    /// First free slot.
    free: u32,
    queues: Vec<SubQueue>,
    total: Backlog,
}

#[derive(Debug)]
struct Slot {
    stamped: Stamped,
    /// Next slot of the same queue, or next free slot.
    next: u32,
}

#[derive(Clone, Copy, Debug)]
struct SubQueue {
    head: u32,
    tail: u32,
    backlog: Backlog,
}

impl FlowQueues {
    pub(super) fn new(queues: u32) -> FlowQueues {
        let empty = SubQueue { head: NIL, tail: NIL, backlog: Backlog::default() };
        FlowQueues {
            slots: Vec::new(),
            free: NIL,
            queues: vec![empty; queues as usize],
            total: Backlog::default(),
        }
    }

    /// Backlog of all queues together.
    pub(super) fn total(&self) -> Backlog {
        self.total
    }

    /// Backlog of one queue.
    pub(super) fn backlog(&self, queue: usize) -> Backlog {
        self.queues[queue].backlog
    }

    pub(super) fn push(&mut self, queue: usize, stamped: Stamped) {
        let slot = self.take_slot(stamped);
        let sub_queue = &mut self.queues[queue];
        if sub_queue.head == NIL {
            sub_queue.head = slot;
        } else {
            self.slots[sub_queue.tail as usize].next = slot;
        }
        sub_queue.tail = slot;
        let bytes = u64::from(stamped.packet.size_bytes);
        for backlog in [&mut sub_queue.backlog, &mut self.total] {
            *backlog = Backlog { packets: backlog.packets + 1, bytes: backlog.bytes + bytes };
        }
    }

    /// Removes the oldest packet of a queue.
    pub(super) fn pop(&mut self, queue: usize) -> Option<Stamped> {
        let sub_queue = &mut self.queues[queue];
        let slot = sub_queue.head;
        sub_queue.head = self.slots.get(slot as usize)?.next;
        Some(self.take_out(queue, slot))
    }

    /// Removes the newest packet of a queue, in time proportional to the queue's length.
    pub(super) fn pop_newest(&mut self, queue: usize) -> Option<Stamped> {
        let sub_queue = &mut self.queues[queue];
        let slot = sub_queue.tail;
        if sub_queue.head == slot {
            return self.pop(queue);
        }
        let mut before = sub_queue.head;
        while self.slots.get(before as usize)?.next != slot {
            before = self.slots[before as usize].next;
        }
        self.slots[before as usize].next = NIL;
        sub_queue.tail = before;
        Some(self.take_out(queue, slot))
    }

    /// The first queue with the largest `amount`, in time proportional to the number of queues.
    pub(super) fn longest(&self, amount: impl Fn(Backlog) -> u64) -> usize {
        let longer = |best: (usize, u64), (queue, sub_queue): (usize, &SubQueue)| {
            let found = amount(sub_queue.backlog);
            if found > best.1 { (queue, found) } else { best }
        };
        self.queues.iter().enumerate().fold((0, 0), longer).0
    }

    pub(super) fn for_each(&self, visit: &mut dyn FnMut(&Packet)) {
        for sub_queue in &self.queues {
            let mut at = sub_queue.head;
            while let Some(slot) = self.slots.get(at as usize) {
                visit(&slot.stamped.packet);
                at = slot.next;
            }
        }
    }

    fn take_slot(&mut self, stamped: Stamped) -> u32 {
        let slot = Slot { stamped, next: NIL };
        if let Some(free) = self.slots.get_mut(self.free as usize) {
            return std::mem::replace(&mut self.free, std::mem::replace(free, slot).next);
        }
        self.slots.push(slot);
        u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 packets are queued")
    }

    /// Frees a slot that has been unlinked from its queue.
    fn take_out(&mut self, queue: usize, slot: u32) -> Stamped {
        let Slot { stamped, next } = &mut self.slots[slot as usize];
        *next = std::mem::replace(&mut self.free, slot);
        let bytes = u64::from(stamped.packet.size_bytes);
        for backlog in [&mut self.queues[queue].backlog, &mut self.total] {
            *backlog = Backlog { packets: backlog.packets - 1, bytes: backlog.bytes - bytes };
        }
        *stamped
    }
}

/// Deficit round robin over queues, by bytes. A queue that was empty is served first, for one quantum.
/// [RFC 8290, 4.2](https://www.rfc-editor.org/rfc/rfc8290#section-4.2)
#[derive(Debug)]
pub(super) struct DeficitRoundRobin {
    quantum_bytes: i64,
    new_queues: VecDeque<u32>,
    old_queues: VecDeque<u32>,
    turns: Vec<Turn>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Turn {
    /// Bytes that the queue may still send in its round; negative after an overdraft. (RFC 8290: credits.)
    credit_bytes: i64,
    is_active: bool,
}

impl DeficitRoundRobin {
    /// Creates a round robin over `queues` queues. An error names the setting `quantum_bytes`.
    pub(super) fn new(quantum_bytes: u32, queues: u32) -> Result<DeficitRoundRobin, String> {
        if quantum_bytes < MIN_QUANTUM_BYTES {
            return Err(format!("quantum_bytes: {quantum_bytes} bytes; give {MIN_QUANTUM_BYTES} or more"));
        }
        Ok(DeficitRoundRobin {
            quantum_bytes: quantum_bytes.into(),
            new_queues: VecDeque::new(),
            old_queues: VecDeque::new(),
            turns: vec![Turn::default(); queues as usize],
        })
    }

    /// Activates a queue that has received a packet. An inactive queue joins the list of new queues.
    pub(super) fn activate(&mut self, queue: usize) {
        if self.mark_active(queue) {
            self.new_queues.push_back(number(queue));
        }
    }

    /// Activates a queue that has received a packet. An inactive queue joins the end of the list of old
    /// queues.
    pub(super) fn activate_as_old(&mut self, queue: usize) {
        if self.mark_active(queue) {
            self.old_queues.push_back(number(queue));
        }
    }

    /// Whether the queue is in one of the two lists.
    pub(super) fn is_active(&self, queue: usize) -> bool {
        self.turns[queue].is_active
    }

    /// The queue to serve next. The caller then calls [`DeficitRoundRobin::charge`] if the queue has sent a
    /// packet; if it was empty, [`DeficitRoundRobin::demote_empty`] or [`DeficitRoundRobin::deactivate`].
    pub(super) fn next(&mut self) -> Option<usize> {
        loop {
            let from = if self.new_queues.is_empty() { &mut self.old_queues } else { &mut self.new_queues };
            let queue = *from.front()?;
            let turn = &mut self.turns[queue as usize];
            if turn.credit_bytes > 0 {
                return Some(queue as usize);
            }
            turn.credit_bytes += self.quantum_bytes;
            from.pop_front();
            self.old_queues.push_back(queue);
        }
    }

    /// Charges the queue for the bytes that it has sent.
    pub(super) fn charge(&mut self, queue: usize, bytes: u32) {
        self.turns[queue].credit_bytes -= i64::from(bytes);
    }

    /// Moves the served queue, which is empty, from the new queues to the old ones, or deactivates an old
    /// queue. Without the detour, a queue that is empty now and then would starve the others.
    pub(super) fn demote_empty(&mut self) {
        if let Some(queue) = self.new_queues.pop_front() {
            self.old_queues.push_back(queue);
        } else {
            self.deactivate();
        }
    }

    /// Deactivates the served queue, which is empty; it becomes a new queue with its next packet.
    pub(super) fn deactivate(&mut self) {
        if let Some(queue) = self.new_queues.pop_front().or_else(|| self.old_queues.pop_front()) {
            self.turns[queue as usize].is_active = false;
        }
    }

    /// Marks a queue as active, with a full quantum; returns whether it was inactive before.
    fn mark_active(&mut self, queue: usize) -> bool {
        let turn = &mut self.turns[queue];
        let is_new = !turn.is_active;
        if is_new {
            *turn = Turn { credit_bytes: self.quantum_bytes, is_active: true };
        }
        is_new
    }
}

fn number(queue: usize) -> u32 {
    u32::try_from(queue).expect("there are at most 65,536 queues")
}

#[cfg(test)]
mod tests {
    use super::super::tests::full_packet_of;
    use super::*;
    use crate::Time;

    fn stamped(number: u32) -> Stamped {
        Stamped { arrived: Time::ZERO, packet: full_packet_of(0, number) }
    }

    /// At most two packets are queued at a time: two slots suffice.
    #[test]
    fn slots_of_removed_packets_are_reused() {
        let mut queues = FlowQueues::new(2);
        for number in 0..100 {
            queues.push(number as usize % 2, stamped(number));
            if number > 0 {
                let oldest = queues.pop((number as usize + 1) % 2).unwrap();
                assert_eq!(oldest.packet.number, number - 1);
            }
        }
        assert_eq!(queues.slots.len(), 2);
        assert_eq!(queues.total(), Backlog { packets: 1, bytes: 1500 });
        assert!(queues.pop(0).is_none());
    }

    #[test]
    fn packets_can_be_added_after_the_newest_one_was_removed() {
        let mut queues = FlowQueues::new(1);
        assert!(queues.pop_newest(0).is_none());
        (0..3).for_each(|number| queues.push(0, stamped(number)));
        assert_eq!(queues.pop_newest(0).unwrap().packet.number, 2);
        queues.push(0, stamped(3));
        let left: Vec<u32> =
            std::iter::from_fn(|| queues.pop(0)).map(|stamped| stamped.packet.number).collect();
        assert_eq!(left, [0, 1, 3]);
        queues.push(0, stamped(4));
        assert_eq!(queues.pop_newest(0).unwrap().packet.number, 4);
        assert_eq!((queues.total(), queues.slots.len()), (Backlog::default(), 3));
    }

    /// 1000 flows over 1000 queues: 1000 (1 - 1/e) = 632 queues have a flow. Tolerance: five standard
    /// deviations of sqrt(1000 (1/e - 2/e²)) = 10.
    #[test]
    fn flows_collide_as_often_as_with_a_uniform_hash() {
        let flow_hash = FlowHash::new(7, "test", 1000).unwrap();
        let mut used: Vec<usize> = (0..1000).map(|flow| flow_hash.queue_of(flow)).collect();
        used.sort_unstable();
        used.dedup();
        assert!((582..=682).contains(&used.len()), "{}", used.len());
        assert!(used.iter().all(|&queue| queue < 1000));
    }

    #[test]
    fn the_first_of_the_longest_queues_is_found() {
        let mut queues = FlowQueues::new(4);
        for queue in [1, 2, 2, 3, 3] {
            queues.push(queue, stamped(0));
        }
        assert_eq!(queues.longest(|backlog| backlog.bytes), 2);
    }
}
