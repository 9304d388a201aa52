//! The event list: for each component, when its next event is; and of all, which is first.
//!
//! A tournament: four components play each other, the winners of four games play each other, and so on. A change
//! replays the games on the way to the root, one for each level. Ties go to the lower index, always.

use crate::time::Time;

/// How many play in a game: their entries fill a line of a processor's cache.
const PLAYERS: usize = 4;

/// The next event of each component.
#[derive(Clone, Debug)]
pub(crate) struct Calendar {
    /// A tree in an array: the players of game `g` at place `p` won game `PLAYERS * g + 1 + p`. Components play in the
    /// games from `leaves` on.
    games: Vec<[Entry; PLAYERS]>,
    leaves: usize,
    first: Entry,
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
        let (mut leaves, mut width) = (0, 1);
        while width * PLAYERS < components {
            leaves += width;
            width *= PLAYERS;
        }
        let mut games = vec![[Entry::new(Time::NEVER, u32::MAX); PLAYERS]; leaves + width];
        for (index, leaf) in (0..).zip(games[leaves..].as_flattened_mut()) {
            *leaf = Entry::new(Time::NEVER, index);
        }
        for game in (1..games.len()).rev() {
            let (above, place) = above(game);
            games[above][place] = winner(&games[game]);
        }
        let first = winner(&games[0]);
        Calendar { games, leaves, first }
    }

    /// The first event: when, and whose.
    #[inline]
    pub(crate) fn first(&self) -> (Time, u32) {
        (self.first.at(), self.first.component())
    }

    /// The next event of a component.
    #[inline]
    pub(crate) fn get(&self, component: u32) -> Time {
        let component = component as usize;
        self.games[self.leaves + component / PLAYERS][component % PLAYERS].at()
    }

    /// Sets the next event of a component.
    #[inline]
    pub(crate) fn set(&mut self, component: u32, at: Time) {
        let mut entry = Entry::new(at, component);
        let component = component as usize;
        let (mut game, mut place) = (self.leaves + component / PLAYERS, component % PLAYERS);
        loop {
            let players = &mut self.games[game];
            players[place] = entry;
            let won = winner(players);
            if game == 0 {
                self.first = won;
                return;
            }
            (game, place) = above(game);
            // A game that ends as before changes none above it.
            if self.games[game][place] == won {
                return;
            }
            entry = won;
        }
    }
}

/// The game that the winner of a game plays in, and its place there.
#[inline]
fn above(game: usize) -> (usize, usize) {
    ((game - 1) / PLAYERS, (game - 1) % PLAYERS)
}

#[inline]
fn winner(&[a, b, c, d]: &[Entry; PLAYERS]) -> Entry {
    a.min(b).min(c.min(d))
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
