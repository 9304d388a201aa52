//! The packets on the path of a run.

use tussle_datapath::{SequenceNumbers, Slots};

/// A packet of the kernel: the address of its `sk_buff`, which serves as its name and is not accessed here.
pub type Skb = usize;

/// Packets on the path.
#[derive(Debug, Default)]
pub(super) struct Skbs {
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// Slot of the packet that entered last on each path of a flow.
    last: Vec<u32>,
    /// Packets that no element holds any longer.
    dropped: Vec<Skb>,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    skb: Skb,
    numbers: Option<SequenceNumbers>,
    path: u32,
    /// Slot of the packet that entered the same path after this one.
    after: u32,
    /// Number of packets with these bytes.
    uses: u32,
}

const NONE: u32 = u32::MAX;

impl Skbs {
    /// Stores a packet that enters a path of a flow; paths have small numbers.
    pub(super) fn keep(&mut self, skb: Skb, numbers: Option<SequenceNumbers>, path: u32) -> u32 {
        let stored = Slot { skb, numbers, path, after: NONE, uses: 1 };
        let number = self.free.pop().unwrap_or_else(|| {
            self.slots.push(stored);
            u32::try_from(self.slots.len() - 1).expect("memory is full long before")
        });
        self.follow(path as usize, number);
        self.slots[number as usize] = stored;
        number
    }

    /// Makes the packet that will be in a slot the last one of its path.
    fn follow(&mut self, path: usize, number: u32) {
        if self.last.len() <= path {
            self.last.resize(path + 1, NONE);
        }
        let before = std::mem::replace(&mut self.last[path], number);
        // It may have left the path, and another packet may be in its slot.
        let remains = |slot: &&mut Slot| slot.uses > 0 && slot.path as usize == path;
        if let Some(before) = self.slots.get_mut(before as usize).filter(remains) {
            before.after = number;
        }
    }

    /// The next two packets on the path of a packet, unless they have left it; 0 for none.
    pub(super) fn following(&self, number: u32) -> [Skb; 2] {
        let mut at = number;
        [(); 2].map(|()| {
            at = self.slots.get(at as usize).map_or(NONE, |slot| slot.after);
            self.slots.get(at as usize).filter(|slot| slot.uses > 0).map_or(0, |slot| slot.skb)
        })
    }

    /// Ends one use of a packet, and says whether others remain.
    pub(super) fn take(&mut self, number: u32) -> (Skb, bool) {
        let slot = &mut self.slots[number as usize];
        slot.uses -= 1;
        if slot.uses == 0 {
            self.free.push(number);
        }
        (slot.skb, slot.uses > 0)
    }

    /// Notes a packet that belongs to no path.
    pub(super) fn drop_stray(&mut self, skb: Skb) {
        self.dropped.push(skb);
    }

    /// A packet that no element holds any longer.
    pub(super) fn take_dropped(&mut self) -> Option<Skb> {
        self.dropped.pop()
    }
}

impl Slots for Skbs {
    fn numbers(&self, slot: u32) -> Option<SequenceNumbers> {
        self.slots[slot as usize].numbers
    }

    fn add_copies(&mut self, slot: u32, copies: u64) {
        self.slots[slot as usize].uses += u32::try_from(copies).expect("memory is full long before");
    }

    fn drop_one(&mut self, slot: u32) {
        if let (skb, false) = self.take(slot) {
            self.dropped.push(skb);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_packets_that_follow_are_those_of_the_same_path() {
        let mut skbs = Skbs::default();
        let slots = [(10, 0), (11, 1), (12, 0), (13, 0)].map(|(skb, path)| skbs.keep(skb, None, path));
        assert_eq!(skbs.following(slots[0]), [12, 13]);
        assert_eq!(skbs.following(slots[1]), [0, 0]);
        assert_eq!(skbs.following(slots[2]), [13, 0]);
    }

    #[test]
    fn a_packet_that_was_dropped_does_not_follow() {
        let mut skbs = Skbs::default();
        let slots = [10, 11, 12].map(|skb| skbs.keep(skb, None, 0));
        skbs.drop_one(slots[1]);
        assert_eq!((skbs.following(slots[0]), skbs.take_dropped()), ([0, 12], Some(11)));
    }

    /// The only packet of the path has left when the next one enters it.
    #[test]
    fn a_packet_in_the_slot_of_the_one_before_does_not_follow_itself() {
        let mut skbs = Skbs::default();
        let left = skbs.keep(10, None, 0);
        assert_eq!(skbs.take(left), (10, false));
        let next = skbs.keep(11, None, 0);
        assert_eq!((next, skbs.following(next)), (left, [0, 0]));
    }

    /// The last packet of path 0 has left, and path 1 has its slot, when the next one enters path 0.
    #[test]
    fn a_packet_does_not_follow_one_of_another_path_in_the_slot_of_its_own() {
        let mut skbs = Skbs::default();
        let left = skbs.keep(10, None, 0);
        assert_eq!(skbs.take(left), (10, false));
        let other = skbs.keep(11, None, 1);
        assert_eq!(other, left);
        skbs.keep(12, None, 0);
        assert_eq!(skbs.following(other), [0, 0]);
    }
}
