//! The event list: the time of the next event of each component, and the earliest of them.
//!
//! The list is a tournament tree with eight players per game: the earliest event wins. A change replays the
//! games from the component to the root, one per level. In a tie the lower index wins.

use crate::Time;

/// Number of players of a game. Their entries fill a cache line.
const PLAYERS: usize = 8;

/// The next event of each component.
#[derive(Clone, Debug)]
pub struct Calendar {
    /// The tree as an array: player `p` of game `g` is the winner of game `PLAYERS * g + 1 + p`. Components
    /// are the players of the games from `leaves` on. An entry combines a time and its component in one
    /// number, so that one comparison decides.
    games: Vec<[u64; PLAYERS]>,
    leaves: usize,
    first: u64,
    /// Number of low bits of an entry that hold the component. The high bits hold the time in ns; all ones
    /// stand for never.
    component_bits: u32,
}

impl Calendar {
    /// Creates an event list for `components` components, without events.
    pub fn new(components: usize) -> Calendar {
        let (mut leaves, mut width) = (0, 1);
        while width * PLAYERS < components {
            leaves += width;
            width *= PLAYERS;
        }
        let component_bits = component_bits(components);
        let never = u64::MAX << component_bits;
        let mut games = vec![[u64::MAX; PLAYERS]; leaves + width];
        for (component, leaf) in (0..components as u64).zip(games[leaves..].as_flattened_mut()) {
            *leaf = never | component;
        }
        for game in (1..games.len()).rev() {
            let (above, place) = above(game);
            games[above][place] = winner(&games[game]);
        }
        let first = winner(&games[0]);
        Calendar { games, leaves, first, component_bits }
    }

    /// Latest time of an event, for a number of components.
    pub fn last_time(components: usize) -> Time {
        Time::from_ns((u64::MAX >> component_bits(components)) - 1)
    }

    /// Time and component of the first event.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "a component is an index")]
    pub fn first(&self) -> (Time, usize) {
        (self.time(self.first), (self.first & !(u64::MAX << self.component_bits)) as usize)
    }

    /// Sets the next event of a component. An event later than [`Calendar::last_time`] never happens.
    // Not inlined, so that callers, which first test whether the event moves, are small enough to be inlined.
    #[inline(never)]
    pub fn set(&mut self, component: usize, at: Time) {
        let never = u64::MAX >> self.component_bits;
        let mut entry = at.ns().min(never) << self.component_bits | component as u64;
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
            // A game with an unchanged winner does not affect the games above it.
            if self.games[game][place] == won {
                return;
            }
            entry = won;
        }
    }

    #[inline]
    fn time(&self, entry: u64) -> Time {
        let never = u64::MAX >> self.component_bits;
        let ns = entry >> self.component_bits;
        if ns == never { Time::NEVER } else { Time::from_ns(ns) }
    }
}

fn component_bits(components: usize) -> u32 {
    usize::BITS - components.leading_zeros()
}

/// The next game of the winner of a game, and the winner's place in it.
#[inline]
fn above(game: usize) -> (usize, usize) {
    ((game - 1) / PLAYERS, (game - 1) % PLAYERS)
}

#[inline]
fn winner(players: &[u64; PLAYERS]) -> u64 {
    // Compared in pairs, which a processor does in parallel.
    let min = |places: [usize; 2]| players[places[0]].min(players[places[1]]);
    min([0, 1]).min(min([2, 3])).min(min([4, 5]).min(min([6, 7])))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_first_event_is_the_earliest_and_of_equals_the_lowest(
            components in 1usize..600,
            changes in prop::collection::vec((0usize..600, 0u64..20), 0..400),
        ) {
            let mut calendar = Calendar::new(components);
            let mut times = vec![Time::NEVER; components];
            for (component, at) in changes {
                let component = component % components;
                times[component] = Time::from_ns(at);
                calendar.set(component, times[component]);
                let first = (0..).zip(&times).map(|(i, at)| (*at, i)).min().unwrap();
                prop_assert_eq!(calendar.first(), first);
            }
        }
    }

    /// Three components take 2 bits; of the other 62 bits, all ones mean never.
    #[test]
    fn an_event_after_the_last_time_never_happens() {
        let last = Calendar::last_time(3);
        assert_eq!(last, Time::from_ns((1 << 62) - 2));
        let mut calendar = Calendar::new(3);
        calendar.set(2, last);
        assert_eq!(calendar.first(), (last, 2));
        calendar.set(2, last + Time::from_ns(1));
        assert_eq!(calendar.first(), (Time::NEVER, 0));
    }
}
