//! A FIFO ring buffer.

/// A FIFO of items in a ring that grows by a quarter when it is full, so that little memory is unused. Items
/// are numbered from zero over all items ever added.
#[derive(Clone, Debug)]
pub(crate) struct RingBuffer<T> {
    ring: Vec<T>,
    /// Index of the first item in the ring.
    first: usize,
    /// Items removed so far, and hence the number of the first item.
    removed: usize,
    /// Items added so far.
    added: usize,
}

/// Capacity of a new ring.
const INITIAL_CAPACITY: usize = 16;

impl<T: Copy> RingBuffer<T> {
    /// Creates an empty buffer; free slots of the ring hold `filling`.
    pub(crate) fn new(filling: T) -> RingBuffer<T> {
        RingBuffer { ring: vec![filling; INITIAL_CAPACITY], first: 0, removed: 0, added: 0 }
    }

    /// Items added so far.
    #[inline]
    pub(crate) fn added(&self) -> usize {
        self.added
    }

    /// Items removed so far.
    #[inline]
    pub(crate) fn removed(&self) -> usize {
        self.removed
    }

    /// The item with a number, which must be in the buffer.
    #[inline]
    pub(crate) fn get(&self, number: usize) -> &T {
        &self.ring[self.index(number)]
    }

    /// The item with a number, which must be in the buffer.
    #[inline]
    pub(crate) fn get_mut(&mut self, number: usize) -> &mut T {
        let index = self.index(number);
        &mut self.ring[index]
    }

    #[inline]
    fn index(&self, number: usize) -> usize {
        debug_assert!((self.removed..=self.added).contains(&number), "{number} is not in the buffer");
        let index = self.first + (number - self.removed);
        if index < self.ring.len() { index } else { index - self.ring.len() }
    }

    /// The first item.
    #[inline]
    pub(crate) fn first(&self) -> Option<&T> {
        if self.removed == self.added { None } else { Some(&self.ring[self.first]) }
    }

    /// Appends an item.
    #[inline]
    pub(crate) fn push(&mut self, item: T) {
        if self.added - self.removed == self.ring.len() {
            self.grow();
        }
        let index = self.index(self.added);
        self.ring[index] = item;
        self.added += 1;
    }

    /// Removes the first item.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<T> {
        let popped = *self.first()?;
        self.removed += 1;
        self.first += 1;
        if self.first == self.ring.len() {
            self.first = 0;
        }
        Some(popped)
    }

    /// Removes the first `count` items, which must be in the buffer.
    #[inline]
    pub(crate) fn remove(&mut self, count: usize) {
        debug_assert!(count <= self.added - self.removed, "{count} items are not in the buffer");
        self.first = self.index(self.removed + count);
        self.removed += count;
    }

    // Does not add the new item, so that `push` writes it only once.
    #[cold]
    fn grow(&mut self) {
        let length = self.ring.len();
        let mut larger = vec![self.ring[0]; length + (length / 4).max(INITIAL_CAPACITY)];
        for (index, item) in larger.iter_mut().zip(self.iter()) {
            *index = *item;
        }
        (self.ring, self.first) = (larger, 0);
    }

    /// All items, oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        (self.removed..self.added).map(|number| self.get(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #[test]
        fn a_ring_buffer_is_a_queue(steps in prop::collection::vec(0usize..6, 0..400)) {
            let (mut line, mut queue) = (RingBuffer::new(0), VecDeque::new());
            for (number, step) in steps.into_iter().enumerate() {
                match step {
                    0..=2 => {
                        line.push(number);
                        queue.push_back(number);
                    }
                    3 | 4 => prop_assert_eq!(line.pop(), queue.pop_front()),
                    _ => {
                        let count = queue.len().min(3);
                        line.remove(count);
                        queue.drain(..count);
                    }
                }
                prop_assert_eq!((line.first(), line.added() - line.removed()), (queue.front(), queue.len()));
                prop_assert!(line.iter().eq(&queue));
            }
        }
    }
}
