//! Sorted set of packet numbers, kept as ranges: the packets that arrived above a hole.

use std::collections::VecDeque;

use crate::net::packet::Block;

/// Disjoint, non-adjacent ranges in ascending order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ranges(VecDeque<Block>);

impl Ranges {
    /// Whether the set is empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Number of ranges.
    pub(crate) fn count(&self) -> u32 {
        u32::try_from(self.0.len()).unwrap_or(u32::MAX)
    }

    /// End of the highest range.
    pub(crate) fn end(&self) -> Option<u32> {
        self.0.back().map(|range| range.end)
    }

    /// The `n`-th highest number of the set, counted from 1.
    pub(crate) fn nth_highest(&self, n: u32) -> Option<u32> {
        let mut left = n;
        for range in self.0.iter().rev() {
            if left <= range.packets() {
                return Some(range.end - left);
            }
            left -= range.packets();
        }
        None
    }

    /// Whether the set contains `number`.
    pub(crate) fn contains(&self, number: u32) -> bool {
        let i = self.first_ending_after(number);
        self.0.get(i).is_some_and(|range| range.start <= number)
    }

    /// Adds `block` and calls `new` with each part of it that the set did not contain, in ascending order.
    pub(crate) fn insert(&mut self, block: Block, mut new: impl FnMut(Block)) {
        // In the usual case the highest range grows, or a range starts above it.
        if let Some(last) = self.0.back_mut()
            && last.start <= block.start
            && block.start <= last.end
        {
            if block.end > last.end {
                new(Block { start: last.end, end: block.end });
                last.end = block.end;
            }
            return;
        }
        // Ranges that touch the block, adjacent ones included, merge with it.
        let first = self.0.partition_point(|range| range.end < block.start);
        let mut merged = block;
        let mut done = block.start;
        let mut after = first;
        while let Some(range) = self.0.get(after).filter(|range| range.start <= block.end) {
            if done < range.start {
                new(Block { start: done, end: range.start });
            }
            done = range.end;
            merged = Block { start: merged.start.min(range.start), end: merged.end.max(range.end) };
            after += 1;
        }
        if done < block.end {
            new(Block { start: done, end: block.end });
        }
        if after == first {
            self.0.insert(first, merged);
        } else {
            self.0[first] = merged;
            self.0.drain(first + 1..after);
        }
    }

    /// Removes everything below `number`.
    pub(crate) fn remove_below(&mut self, number: u32) {
        while let Some(first) = self.0.front_mut() {
            if first.end <= number {
                self.0.pop_front();
            } else {
                first.start = first.start.max(number);
                break;
            }
        }
    }

    /// Removes and returns the range that starts at `number`, if there is one.
    pub(crate) fn take_from(&mut self, number: u32) -> Option<Block> {
        self.0.front().filter(|first| first.start == number)?;
        self.0.pop_front()
    }

    fn first_ending_after(&self, number: u32) -> usize {
        self.0.partition_point(|range| range.end <= number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn a_set_of_ranges_is_a_set_of_numbers(blocks in prop::collection::vec((0u32..60, 1u32..12), 0..40), below in 0u32..60) {
            let mut ranges = Ranges::default();
            let mut numbers = BTreeSet::new();
            for (start, length) in blocks {
                let block = Block { start, end: start + length };
                let mut reported = Vec::new();
                ranges.insert(block, |part| reported.extend(part.start..part.end));
                let expected: Vec<u32> = (block.start..block.end).filter(|n| numbers.insert(*n)).collect();
                prop_assert_eq!(reported, expected);
            }
            ranges.remove_below(below);
            numbers.retain(|n| *n >= below);
            for n in 0..80 {
                prop_assert_eq!(ranges.contains(n), numbers.contains(&n));
            }
            prop_assert_eq!(ranges.end(), numbers.last().map(|n| n + 1));
            for pair in ranges.0.iter().zip(ranges.0.iter().skip(1)) {
                prop_assert!(pair.0.end < pair.1.start, "ranges touch: {:?}", pair);
            }
        }
    }
}
