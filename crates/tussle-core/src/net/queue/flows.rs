//! Queues of flows: which one a packet belongs to, one store for the packets of all, and whose turn it is.

use std::collections::VecDeque;

use rand_core::{Rng as _, SeedableRng};
use rand_xoshiro::SplitMix64;

use super::Backlog;
use super::ring::Stamped;
use crate::net::packet::Packet;
use crate::util::rng::named_seed;

/// Most queues that a discipline may have, as in Linux.
const MOST_QUEUES: u32 = 65_536;
/// With less a large packet would take too many turns to save up for; as in Linux.
const LEAST_QUANTUM_BYTES: u32 = 256;
/// No slot.
const NIL: u32 = u32::MAX;

/// Spreads flows over queues, and may put two of them into one, as the hash of addresses and ports does: the
/// seed of the run stands for what is secret in that hash. Both directions of a flow have one hash, as in Linux.
#[derive(Clone, Copy, Debug)]
pub(super) struct FlowHash {
    seed: u64,
    queues: u32,
}

impl FlowHash {
    /// For a discipline of that name; an error names the setting `flows`.
    pub(super) fn new(seed: u64, name: &str, queues: u32) -> Result<FlowHash, String> {
        if !(1..=MOST_QUEUES).contains(&queues) {
            return Err(format!("flows: {queues} queues; give 1 to {MOST_QUEUES}"));
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

/// The packets of many queues, each first in, first out. They share one store, in which what leaves makes room for
/// what comes, so that there is never more of it than packets waited at once.
#[derive(Debug)]
pub(super) struct FlowQueues {
    slots: Vec<Slot>,
    /// The first of the slots that are free.
    free: u32,
    queues: Vec<SubQueue>,
    total: Backlog,
}

#[derive(Debug)]
struct Slot {
    held: Stamped,
    /// The next one in the same queue, or the next free one.
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

    /// What waits in all queues.
    pub(super) fn total(&self) -> Backlog {
        self.total
    }

    /// What waits in one.
    pub(super) fn backlog(&self, queue: usize) -> Backlog {
        self.queues[queue].backlog
    }

    pub(super) fn push(&mut self, queue: usize, held: Stamped) {
        let slot = self.take_slot(held);
        let line = &mut self.queues[queue];
        if line.head == NIL {
            line.head = slot;
        } else {
            self.slots[line.tail as usize].next = slot;
        }
        line.tail = slot;
        let bytes = u64::from(held.packet.size_bytes);
        for backlog in [&mut line.backlog, &mut self.total] {
            *backlog = Backlog { packets: backlog.packets + 1, bytes: backlog.bytes + bytes };
        }
    }

    /// Takes the oldest packet of a queue.
    pub(super) fn pop(&mut self, queue: usize) -> Option<Stamped> {
        let line = &mut self.queues[queue];
        let slot = line.head;
        line.head = self.slots.get(slot as usize)?.next;
        Some(self.take_out(queue, slot))
    }

    /// Takes the newest packet of a queue; the time that it takes grows with the queue.
    pub(super) fn pop_newest(&mut self, queue: usize) -> Option<Stamped> {
        let line = &mut self.queues[queue];
        let slot = line.tail;
        if line.head == slot {
            return self.pop(queue);
        }
        let mut before = line.head;
        while self.slots.get(before as usize)?.next != slot {
            before = self.slots[before as usize].next;
        }
        self.slots[before as usize].next = NIL;
        line.tail = before;
        Some(self.take_out(queue, slot))
    }

    /// The queue in which `amount` is largest; of several the first. The time that it takes grows with their number.
    pub(super) fn longest(&self, amount: impl Fn(Backlog) -> u64) -> usize {
        let longer = |best: (usize, u64), (queue, line): (usize, &SubQueue)| {
            let found = amount(line.backlog);
            if found > best.1 { (queue, found) } else { best }
        };
        self.queues.iter().enumerate().fold((0, 0), longer).0
    }

    pub(super) fn for_each(&self, visit: &mut dyn FnMut(&Packet)) {
        for line in &self.queues {
            let mut at = line.head;
            while let Some(slot) = self.slots.get(at as usize) {
                visit(&slot.held.packet);
                at = slot.next;
            }
        }
    }

    fn take_slot(&mut self, held: Stamped) -> u32 {
        let slot = Slot { held, next: NIL };
        if let Some(free) = self.slots.get_mut(self.free as usize) {
            return std::mem::replace(&mut self.free, std::mem::replace(free, slot).next);
        }
        self.slots.push(slot);
        u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 packets wait")
    }

    /// Frees a slot that is in no queue any more.
    fn take_out(&mut self, queue: usize, slot: u32) -> Stamped {
        let Slot { held, next } = &mut self.slots[slot as usize];
        *next = std::mem::replace(&mut self.free, slot);
        let bytes = u64::from(held.packet.size_bytes);
        for backlog in [&mut self.queues[queue].backlog, &mut self.total] {
            *backlog = Backlog { packets: backlog.packets - 1, bytes: backlog.bytes - bytes };
        }
        *held
    }
}

/// Deficit round robin over queues, by bytes; queues that were empty come first, once.
/// [RFC 8290, 4.2](https://www.rfc-editor.org/rfc/rfc8290#section-4.2)
#[derive(Debug)]
pub(super) struct DeficitRoundRobin {
    quantum_bytes: i64,
    fresh: VecDeque<u32>,
    old: VecDeque<u32>,
    turns: Vec<Turn>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Turn {
    /// What the queue may still send before others have their turn; less than zero is owed.
    credit_bytes: i64,
    is_listed: bool,
}

impl DeficitRoundRobin {
    /// For so many queues; an error names the setting `quantum_bytes`.
    pub(super) fn new(quantum_bytes: u32, queues: u32) -> Result<DeficitRoundRobin, String> {
        if quantum_bytes < LEAST_QUANTUM_BYTES {
            return Err(format!("quantum_bytes: {quantum_bytes} bytes; give {LEAST_QUANTUM_BYTES} or more"));
        }
        Ok(DeficitRoundRobin {
            quantum_bytes: quantum_bytes.into(),
            fresh: VecDeque::new(),
            old: VecDeque::new(),
            turns: vec![Turn::default(); queues as usize],
        })
    }

    /// A packet came to the queue.
    pub(super) fn wake(&mut self, queue: usize) {
        if self.list(queue) {
            self.fresh.push_back(number(queue));
        }
    }

    /// A packet came to the queue; if it was empty, it is the last in the round.
    pub(super) fn wake_last(&mut self, queue: usize) {
        if self.list(queue) {
            self.old.push_back(number(queue));
        }
    }

    /// Whether the queue has turns.
    pub(super) fn has(&self, queue: usize) -> bool {
        self.turns[queue].is_listed
    }

    /// The queue whose turn it is; after it sent, [`DeficitRoundRobin::charge`], if it has
    /// nothing, [`DeficitRoundRobin::pass`] or [`DeficitRoundRobin::leave`].
    pub(super) fn next(&mut self) -> Option<usize> {
        loop {
            let from = if self.fresh.is_empty() { &mut self.old } else { &mut self.fresh };
            let queue = *from.front()?;
            let turn = &mut self.turns[queue as usize];
            if turn.credit_bytes > 0 {
                return Some(queue as usize);
            }
            turn.credit_bytes += self.quantum_bytes;
            from.pop_front();
            self.old.push_back(queue);
        }
    }

    /// The queue whose turn it is sent so much.
    pub(super) fn charge(&mut self, queue: usize, bytes: u32) {
        self.turns[queue].credit_bytes -= i64::from(bytes);
    }

    /// The queue whose turn it is has nothing. If it was among the new ones it becomes an old one first, lest it
    /// come back among the new ones and starve the others.
    pub(super) fn pass(&mut self) {
        if let Some(queue) = self.fresh.pop_front() {
            self.old.push_back(queue);
        } else {
            self.leave();
        }
    }

    /// The queue whose turn it is has nothing, and will be new when it comes back.
    pub(super) fn leave(&mut self) {
        if let Some(queue) = self.fresh.pop_front().or_else(|| self.old.pop_front()) {
            self.turns[queue as usize].is_listed = false;
        }
    }

    /// Gives a queue a full quantum, unless it has turns already: then no.
    fn list(&mut self, queue: usize) -> bool {
        let turn = &mut self.turns[queue];
        let is_new = !turn.is_listed;
        if is_new {
            *turn = Turn { credit_bytes: self.quantum_bytes, is_listed: true };
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

    fn held(number: u32) -> Stamped {
        Stamped { came: Time::ZERO, packet: full_packet_of(0, number) }
    }

    /// Two at a time wait, in one queue or the other: two slots serve them all.
    #[test]
    fn what_leaves_makes_room_for_what_comes() {
        let mut lines = FlowQueues::new(2);
        for number in 0..100 {
            lines.push(number as usize % 2, held(number));
            if number > 0 {
                let oldest = lines.pop((number as usize + 1) % 2).unwrap();
                assert_eq!(oldest.packet.number, number - 1);
            }
        }
        assert_eq!(lines.slots.len(), 2);
        assert_eq!(lines.total(), Backlog { packets: 1, bytes: 1500 });
        assert!(lines.pop(0).is_none());
    }

    #[test]
    fn the_newest_packet_can_be_taken_and_more_can_come_after() {
        let mut lines = FlowQueues::new(1);
        assert!(lines.pop_newest(0).is_none());
        (0..3).for_each(|number| lines.push(0, held(number)));
        assert_eq!(lines.pop_newest(0).unwrap().packet.number, 2);
        lines.push(0, held(3));
        let left: Vec<u32> = std::iter::from_fn(|| lines.pop(0)).map(|held| held.packet.number).collect();
        assert_eq!(left, [0, 1, 3]);
        lines.push(0, held(4));
        assert_eq!(lines.pop_newest(0).unwrap().packet.number, 4);
        assert_eq!((lines.total(), lines.slots.len()), (Backlog::default(), 3));
    }

    /// 1000 flows over 1000 queues: 1000 (1 - 1/e) = 632 queues have some; the deviation is sqrt(1000 (1/e - 2/e²))
    /// = 10, five of those allowed.
    #[test]
    fn flows_meet_in_a_queue_as_often_as_by_chance() {
        let spread = FlowHash::new(7, "test", 1000).unwrap();
        let mut used: Vec<usize> = (0..1000).map(|flow| spread.queue_of(flow)).collect();
        used.sort_unstable();
        used.dedup();
        assert!((582..=682).contains(&used.len()), "{}", used.len());
        assert!(used.iter().all(|&queue| queue < 1000));
    }

    #[test]
    fn the_first_of_the_longest_queues_is_found() {
        let mut lines = FlowQueues::new(4);
        for queue in [1, 2, 2, 3, 3] {
            lines.push(queue, held(0));
        }
        assert_eq!(lines.longest(|backlog| backlog.bytes), 2);
    }
}
