//! A line: first in, first out.

/// Items in the order in which they came, in a ring whose length is a power of two.
#[derive(Clone, Debug)]
pub(crate) struct Line<T> {
    /// Item `n` of all that came is at place `n` modulo its length.
    ring: Vec<T>,
    /// How many have left.
    left: usize,
    /// How many have come.
    came: usize,
}

impl<T> Default for Line<T> {
    fn default() -> Line<T> {
        Line { ring: Vec::new(), left: 0, came: 0 }
    }
}

impl<T: Copy> Line<T> {
    /// How many have come so far.
    #[inline]
    pub(crate) fn came(&self) -> usize {
        self.came
    }

    /// How many have left so far: the number of the first one that has not.
    #[inline]
    pub(crate) fn left(&self) -> usize {
        self.left
    }

    /// The one of that number, counted from zero over all that came, which has not left.
    #[inline]
    pub(crate) fn get(&self, number: usize) -> &T {
        debug_assert!((self.left..self.came).contains(&number), "{number} is not in the line");
        &self.ring[number & (self.ring.len() - 1)]
    }

    /// The one that came first.
    #[inline]
    pub(crate) fn first(&self) -> Option<&T> {
        if self.left == self.came { None } else { Some(self.get(self.left)) }
    }

    /// Adds one behind the others.
    #[inline]
    pub(crate) fn push(&mut self, item: T) {
        if self.came - self.left == self.ring.len() {
            self.grow(item);
        }
        let place = self.came & (self.ring.len() - 1);
        self.ring[place] = item;
        self.came += 1;
    }

    /// Removes the first one.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<T> {
        let first = *self.first()?;
        self.left += 1;
        Some(first)
    }

    /// Makes room, filled with anything.
    #[cold]
    fn grow(&mut self, filling: T) {
        let mut larger = vec![filling; (2 * self.ring.len()).max(16)];
        let places = larger.len() - 1;
        for (number, item) in (self.left..).zip(self.iter()) {
            larger[number & places] = *item;
        }
        self.ring = larger;
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
            let (mut line, mut queue) = (Line::default(), VecDeque::new());
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
