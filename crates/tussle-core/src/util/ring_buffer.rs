//! A line: first in, first out.

/// Items in the order in which they came, in a ring that grows by a quarter when it is full, so that little of it is
/// empty. Each has a number, counted from zero over all that ever came.
#[derive(Clone, Debug)]
pub(crate) struct RingBuffer<T> {
    ring: Vec<T>,
    /// The place of the first one in the ring.
    first: usize,
    /// How many have left: the number of the first one.
    left: usize,
    /// How many have come.
    came: usize,
}

/// Room at the beginning.
const ROOM: usize = 16;

impl<T: Copy> RingBuffer<T> {
    /// Without any; where there is none, the ring holds `filling`.
    pub(crate) fn new(filling: T) -> RingBuffer<T> {
        RingBuffer { ring: vec![filling; ROOM], first: 0, left: 0, came: 0 }
    }

    /// How many have come so far.
    #[inline]
    pub(crate) fn came(&self) -> usize {
        self.came
    }

    /// How many have left so far.
    #[inline]
    pub(crate) fn left(&self) -> usize {
        self.left
    }

    /// The one of that number, which is in the line.
    #[inline]
    pub(crate) fn get(&self, number: usize) -> &T {
        &self.ring[self.place(number)]
    }

    /// The one of that number, which is in the line.
    #[inline]
    pub(crate) fn get_mut(&mut self, number: usize) -> &mut T {
        let place = self.place(number);
        &mut self.ring[place]
    }

    #[inline]
    fn place(&self, number: usize) -> usize {
        debug_assert!((self.left..=self.came).contains(&number), "{number} is not in the line");
        let place = self.first + (number - self.left);
        if place < self.ring.len() { place } else { place - self.ring.len() }
    }

    /// The one that came first.
    #[inline]
    pub(crate) fn first(&self) -> Option<&T> {
        if self.left == self.came { None } else { Some(&self.ring[self.first]) }
    }

    /// Adds one behind the others.
    #[inline]
    pub(crate) fn push(&mut self, item: T) {
        if self.came - self.left == self.ring.len() {
            self.grow();
        }
        let place = self.place(self.came);
        self.ring[place] = item;
        self.came += 1;
    }

    /// Removes the first one.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<T> {
        let popped = *self.first()?;
        self.left += 1;
        self.first += 1;
        if self.first == self.ring.len() {
            self.first = 0;
        }
        Some(popped)
    }

    // Has no need of the new item, which then goes to its place without being written elsewhere before.
    #[cold]
    fn grow(&mut self) {
        let length = self.ring.len();
        let mut larger = vec![self.ring[0]; length + (length / 4).max(ROOM)];
        for (place, item) in larger.iter_mut().zip(self.iter()) {
            *place = *item;
        }
        (self.ring, self.first) = (larger, 0);
    }

    /// All of them, the first one first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        (self.left..self.came).map(|number| self.get(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #[test]
        fn a_line_is_a_queue(pushes in prop::collection::vec(any::<bool>(), 0..400)) {
            let (mut line, mut queue) = (RingBuffer::new(0), VecDeque::new());
            for (number, push) in pushes.into_iter().enumerate() {
                if push {
                    line.push(number);
                    queue.push_back(number);
                } else {
                    prop_assert_eq!(line.pop(), queue.pop_front());
                }
                prop_assert_eq!((line.first(), line.came() - line.left()), (queue.front(), queue.len()));
                prop_assert!(line.iter().eq(&queue));
            }
        }
    }
}
