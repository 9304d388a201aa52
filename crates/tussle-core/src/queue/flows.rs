//! Queues of flows: which one a packet belongs to, one store for the packets of all, and whose turn it is.

use std::collections::VecDeque;

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::SplitMix64;

use super::Backlog;
use super::ring::Stamped;
use crate::dice::named_seed;
use crate::packet::Packet;

/// Most queues that a discipline may have, as in Linux.
const MOST_QUEUES: u32 = 65_536;
/// No slot.
const NIL: u32 = u32::MAX;

/// Spreads flows over queues, and may put two of them into one, as the hash of addresses and ports does: the
/// seed of the run stands for what is secret in that hash. Both directions of a flow have one hash, as in Linux.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spread {
    seed: u64,
    queues: u32,
}

impl Spread {
    /// For a discipline of that name; an error names the setting `flows`.
    pub(super) fn new(seed: u64, name: &str, queues: u32) -> Result<Spread, String> {
        if !(1..=MOST_QUEUES).contains(&queues) {
            return Err(format!("flows: {queues} queues; give 1 to {MOST_QUEUES}"));
        }
        Ok(Spread { seed: named_seed(seed, name), queues })
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

/// The packets of many queues: each is a chain of slots, and what leaves one is free for the next that comes,
/// so that there are never more slots than packets waited at once.
#[derive(Debug)]
pub(super) struct Store {
    slots: Vec<Slot>,
    free: u32,
    total: Backlog,
}

#[derive(Debug)]
struct Slot {
    held: Stamped,
    next: u32,
}

/// One queue in a [`Store`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    head: u32,
    tail: u32,
    backlog: Backlog,
}

impl Default for Line {
    fn default() -> Line {
        Line { head: NIL, tail: NIL, backlog: Backlog::default() }
    }
}

impl Line {
    pub(super) fn backlog(&self) -> Backlog {
        self.backlog
    }

    pub(super) fn is_empty(&self) -> bool {
        self.head == NIL
    }
}

impl Default for Store {
    fn default() -> Store {
        Store { slots: Vec::new(), free: NIL, total: Backlog::default() }
    }
}

impl Store {
    /// What waits in all queues.
    pub(super) fn total(&self) -> Backlog {
        self.total
    }

    pub(super) fn push(&mut self, line: &mut Line, held: Stamped) {
        let slot = self.take_slot(held);
        if line.is_empty() {
            line.head = slot;
        } else {
            self.slots[line.tail as usize].next = slot;
        }
        line.tail = slot;
        for backlog in [&mut line.backlog, &mut self.total] {
            backlog.packets += 1;
            backlog.bytes += u64::from(held.packet.size_bytes);
        }
    }

    pub(super) fn pop(&mut self, line: &mut Line) -> Option<Stamped> {
        let freed = line.head;
        let Slot { held, next } = self.slots.get_mut(freed as usize)?;
        let held = *held;
        line.head = std::mem::replace(next, self.free);
        self.free = freed;
        for backlog in [&mut line.backlog, &mut self.total] {
            backlog.packets -= 1;
            backlog.bytes -= u64::from(held.packet.size_bytes);
        }
        Some(held)
    }

    pub(super) fn for_each(&self, line: &Line, visit: &mut dyn FnMut(&Packet)) {
        let mut at = line.head;
        while let Some(slot) = self.slots.get(at as usize) {
            visit(&slot.held.packet);
            at = slot.next;
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
}

/// The queue with most bytes; of several the first. Linear in their number, so for the rare case only.
pub(super) fn longest<'a>(lines: impl Iterator<Item = &'a Line>) -> usize {
    let most = |best: (usize, u64), (at, line): (usize, &Line)| {
        if line.backlog.bytes > best.1 { (at, line.backlog.bytes) } else { best }
    };
    lines.enumerate().fold((0, 0), most).0
}

/// Deficit round robin over queues, by bytes; queues that were empty come first, once.
/// [RFC 8290, 4.2](https://www.rfc-editor.org/rfc/rfc8290#section-4.2)
#[derive(Debug)]
pub(super) struct Rounds {
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

impl Rounds {
    /// For so many queues; an error names the setting `quantum_bytes`.
    pub(super) fn new(quantum_bytes: u32, queues: u32) -> Result<Rounds, String> {
        if quantum_bytes == 0 {
            return Err("quantum_bytes: 0 bytes; give a packet's size, like 1500".to_owned());
        }
        Ok(Rounds {
            quantum_bytes: quantum_bytes.into(),
            fresh: VecDeque::new(),
            old: VecDeque::new(),
            turns: vec![Turn::default(); queues as usize],
        })
    }

    /// A packet came to the queue.
    pub(super) fn wake(&mut self, queue: usize) {
        let turn = &mut self.turns[queue];
        if !turn.is_listed {
            *turn = Turn { credit_bytes: self.quantum_bytes, is_listed: true };
            self.fresh.push_back(u32::try_from(queue).expect("there are at most 65,536 queues"));
        }
    }

    /// Whether the queue has turns.
    pub(super) fn has(&self, queue: usize) -> bool {
        self.turns[queue].is_listed
    }

    /// The queue whose turn it is; after it sent, [`Rounds::charge`], if it has
    /// nothing, [`Rounds::pass`] or [`Rounds::leave`].
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
}

#[cfg(test)]
mod tests {
    use super::super::tests::full_packet_of;
    use super::*;
    use crate::time::Time;

    fn held(number: u32) -> Stamped {
        Stamped { came: Time::ZERO, packet: full_packet_of(0, number) }
    }

    /// Two at a time wait, in one queue or the other: two slots serve them all.
    #[test]
    fn what_leaves_makes_room_for_what_comes() {
        let mut store = Store::default();
        let mut lines = [Line::default(); 2];
        for number in 0..100 {
            store.push(&mut lines[number as usize % 2], held(number));
            if number > 0 {
                let oldest = store.pop(&mut lines[(number as usize + 1) % 2]).unwrap();
                assert_eq!(oldest.packet.number, number - 1);
            }
        }
        assert_eq!(store.slots.len(), 2);
        assert_eq!(store.total(), Backlog { packets: 1, bytes: 1500 });
        assert!(store.pop(&mut lines[0]).is_none());
    }

    /// 1000 flows over 1000 queues: 1000 (1 - 1/e) = 632 queues have some; the deviation is sqrt(1000 (1/e - 2/e²))
    /// = 10, five of those allowed.
    #[test]
    fn flows_meet_in_a_queue_as_often_as_by_chance() {
        let spread = Spread::new(7, "test", 1000).unwrap();
        let mut used: Vec<usize> = (0..1000).map(|flow| spread.queue_of(flow)).collect();
        used.sort_unstable();
        used.dedup();
        assert!((582..=682).contains(&used.len()), "{}", used.len());
        assert!(used.iter().all(|&queue| queue < 1000));
    }

    #[test]
    fn the_first_of_the_longest_queues_is_found() {
        let mut store = Store::default();
        let mut lines = [Line::default(); 4];
        for line in [1, 2, 2, 3, 3] {
            store.push(&mut lines[line], held(0));
        }
        assert_eq!(longest(lines.iter()), 2);
    }
}
