//! The event list: for each component, when its next event is; and of all, which is first.
//!
//! A tournament: every component plays its neighbour, the winners play each other, and so on. A change
//! replays the games on the way to the root, one for each level. Ties go to the lower index, always.

use crate::time::Time;

/// The next event of each component.
#[derive(Clone, Debug)]
pub(crate) struct Calendar {
    /// A binary tree in an array, the root at 1, the components from `leaves` on.
    winners: Vec<Entry>,
    leaves: usize,
}

/// A time and the component whose it is, in one number, so that one comparison decides a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry(u128);

impl Entry {
    fn new(at: Time, component: u32) -> Entry {
        Entry(u128::from(at.ns()) << 32 | u128::from(component))
    }

    #[expect(clippy::cast_possible_truncation, reason = "the upper 64 of 96 bits")]
    fn at(self) -> Time {
        Time::from_ns((self.0 >> 32) as u64)
    }

    #[expect(clippy::cast_possible_truncation, reason = "the lower 32 bits are wanted")]
    fn component(self) -> u32 {
        self.0 as u32
    }
}

impl Calendar {
    /// With no events for `components` components.
    pub(crate) fn new(components: usize) -> Calendar {
        let leaves = components.next_power_of_two();
        let mut winners = vec![Entry::new(Time::NEVER, 0); 2 * leaves];
        for (index, leaf) in (0..).zip(&mut winners[leaves..]) {
            *leaf = Entry::new(Time::NEVER, index);
        }
        for node in (1..leaves).rev() {
            winners[node] = winners[2 * node].min(winners[2 * node + 1]);
        }
        Calendar { winners, leaves }
    }

    /// The first event: when, and whose.
    #[inline]
    pub(crate) fn first(&self) -> (Time, u32) {
        let first = self.winners[1];
        (first.at(), first.component())
    }

    /// The next event of a component.
    #[inline]
    pub(crate) fn get(&self, component: u32) -> Time {
        self.winners[self.leaves + component as usize].at()
    }

    /// Sets the next event of a component.
    #[inline]
    pub(crate) fn set(&mut self, component: u32, at: Time) {
        let mut node = self.leaves + component as usize;
        let mut winner = Entry::new(at, component);
        self.winners[node] = winner;
        while node > 1 {
            winner = winner.min(self.winners[node ^ 1]);
            node /= 2;
            // A game that ends as before changes none above it.
            if self.winners[node] == winner {
                return;
            }
            self.winners[node] = winner;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_first_event_is_the_earliest_and_of_equals_the_lowest(
            components in 1usize..40,
            changes in prop::collection::vec((0usize..40, 0u64..20), 0..200),
        ) {
            let mut calendar = Calendar::new(components);
            let mut times = vec![Time::NEVER; components];
            for (component, at) in changes {
                let component = component % components;
                times[component] = Time::from_ns(at);
                let index = u32::try_from(component).unwrap();
                calendar.set(index, times[component]);
                prop_assert_eq!(calendar.get(index), times[component]);
                let first = (0..).zip(&times).map(|(i, at)| (*at, i)).min().unwrap();
                prop_assert_eq!(calendar.first(), first);
            }
        }
    }
}
