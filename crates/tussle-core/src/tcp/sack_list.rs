//! SACK blocks of a receiver: the most recently changed ranges first.
//! [RFC 2018, 4](https://www.rfc-editor.org/rfc/rfc2018#section-4)

use crate::net::packet::{Block, Sacks};

/// Number of remembered ranges (Linux: `TCP_NUM_SACKS`): as many as an option without timestamps carries.
const REMEMBERED: usize = 4;
/// Position in the list from which a change indicates the loss of many ACKs (Linux:
/// `TCP_SACK_BLOCKS_EXPECTED`).
const EXPECTED: usize = 2;

/// Order in which a delayed ACK is sent, so that no range is forgotten without a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Urgency {
    None,
    /// Send the delayed ACK first, without the current packet.
    ReportBefore,
    /// Send the delayed ACK when the current packet has extended its range, before that range moves to the front. The ACK
    /// leaves the packet out if the range is behind those that an option carries.
    ReportExtended,
}

/// Latest ranges, the most recently changed one first.
#[derive(Clone, Debug, Default)]
pub(crate) struct SackList {
    blocks: [Block; REMEMBERED],
    count: usize,
}

impl SackList {
    /// Urgency of a delayed ACK when packet `number` arrives out of order.
    pub(crate) fn urgency(&self, number: u32) -> Urgency {
        match self.touching(number) {
            Some(place) if place >= EXPECTED => Urgency::ReportExtended,
            None if self.count >= EXPECTED => Urgency::ReportBefore,
            _ => Urgency::None,
        }
    }

    /// Extends the range that packet `number` touches, in its place.
    pub(crate) fn extend(&mut self, number: u32) {
        if let Some(place) = self.touching(number) {
            self.blocks[place] = union(self.blocks[place], Block { start: number, end: number + 1 });
        }
    }

    fn touching(&self, number: u32) -> Option<usize> {
        let new = Block { start: number, end: number + 1 };
        self.blocks[..self.count].iter().position(|block| touches(*block, new))
    }

    /// Adds packet `number`, which arrived out of order.
    pub(crate) fn add(&mut self, number: u32) {
        let new = Block { start: number, end: number + 1 };
        let touching = self.touching(number);
        let place = touching.unwrap_or(self.count);
        let merged = match touching {
            Some(i) => union(self.blocks[i], new),
            None => new,
        };
        let last = place.min(REMEMBERED - 1);
        self.blocks[..=last].rotate_right(1);
        self.blocks[0] = merged;
        self.count = self.count.max(last + 1);
        if touching.is_some() {
            self.coalesce();
        }
    }

    /// Merges the first range with the ranges that it now touches.
    fn coalesce(&mut self) {
        let mut kept = 1;
        for i in 1..self.count {
            if touches(self.blocks[0], self.blocks[i]) {
                self.blocks[0] = union(self.blocks[0], self.blocks[i]);
            } else {
                self.blocks[kept] = self.blocks[i];
                kept += 1;
            }
        }
        self.count = kept.min(self.count);
    }

    /// Removes ranges below `next`, which were delivered.
    pub(crate) fn remove_below(&mut self, next: u32) {
        let mut kept = 0;
        for i in 0..self.count {
            if self.blocks[i].start > next {
                self.blocks[kept] = self.blocks[i];
                kept += 1;
            }
        }
        self.count = kept;
    }

    /// Adds ranges to the option until it has `most`.
    pub(crate) fn fill(&self, sacks: &mut Sacks, most: usize) {
        self.blocks[..self.count].iter().for_each(|block| sacks.push(*block, most));
    }
}

fn touches(a: Block, b: Block) -> bool {
    a.start <= b.end && b.start <= a.end
}

fn union(a: Block, b: Block) -> Block {
    Block { start: a.start.min(b.start), end: a.end.max(b.end) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list_of(numbers: &[u32]) -> SackList {
        let mut list = SackList::default();
        for &number in numbers {
            list.add(number);
        }
        list
    }

    fn ranges(list: &SackList) -> Vec<(u32, u32)> {
        list.blocks[..list.count].iter().map(|block| (block.start, block.end)).collect()
    }

    #[test]
    fn the_range_that_grew_last_comes_first() {
        let list = list_of(&[2, 5, 8, 3]);
        assert_eq!(ranges(&list), [(2, 4), (8, 9), (5, 6)]);
    }

    /// With timestamps an option has three ranges, so that a report before the fourth range moves lacks it.
    #[test]
    fn a_range_is_extended_in_its_place_and_moves_to_the_front_afterwards() {
        let mut list = list_of(&[2, 5, 8, 11]);
        assert_eq!(
            (list.urgency(3), list.urgency(12), list.urgency(14)),
            (Urgency::ReportExtended, Urgency::None, Urgency::ReportBefore)
        );
        list.extend(3);
        assert_eq!(ranges(&list), [(11, 12), (8, 9), (5, 6), (2, 4)]);
        list.add(3);
        assert_eq!(ranges(&list), [(2, 4), (11, 12), (8, 9), (5, 6)]);
    }

    #[test]
    fn a_filled_gap_joins_its_neighbours() {
        let list = list_of(&[2, 4, 3]);
        assert_eq!(ranges(&list), [(2, 5)]);
    }

    #[test]
    fn the_oldest_of_five_ranges_is_forgotten() {
        let list = list_of(&[2, 4, 6, 8, 10]);
        assert_eq!(ranges(&list), [(10, 11), (8, 9), (6, 7), (4, 5)]);
    }

    #[test]
    fn delivered_ranges_are_not_reported() {
        let mut list = list_of(&[2, 5]);
        list.remove_below(3);
        assert_eq!(ranges(&list), [(5, 6)]);
    }
}
