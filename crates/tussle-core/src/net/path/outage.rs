//! Outage: the path alternates between up times and down times.

use serde::{Deserialize, Serialize};

use super::wire::{Scheduled, Scheduler, Wire};
use super::{Delays, Element, ElementSettings, Entry, LinkSettings};
use crate::Time;
use crate::net::packet::Packet;
use crate::util::distribution::{Distribution, Sampler};
use crate::util::rng::Rng;

pub(super) const ENTRY: Entry = Entry {
    name: "outage",
    idea: "Alternates between up and down times; in down times packets are held or dropped.",
};

/// Longest up or down time.
const MAX_SPAN: Time = Time::from_secs(30 * 24 * 3600);
/// Shortest up or down time; a shorter sample is raised to it.
const MIN_SPAN: Time = Time::from_us(100);

/// Settings of `outage`. The path begins with an up time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Distribution of the length of an up time.
    pub up: Distribution,
    /// Distribution of the length of a down time.
    pub down: Distribution,
    /// Fate of a packet that arrives in a down time.
    #[serde(default)]
    pub while_down: WhileDown,
}

/// Fate of a packet that arrives in a down time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WhileDown {
    /// The packet is held until the next up time, when all held packets leave at once, in order.
    #[default]
    Hold,
    /// The packet is lost.
    Drop,
}

impl ElementSettings for Spec {
    fn build(&self, seed: u64) -> Result<Box<dyn Element>, String> {
        let sampler = |name: &str, distribution: &Distribution| {
            if distribution.longest_ns() < MIN_SPAN.ns() {
                return Err(format!("{name}: shorter than {MIN_SPAN}; give a longer one"));
            }
            Sampler::new(distribution, MAX_SPAN, Rng::new(seed, name))
                .map_err(|problem| format!("{name}.{problem}"))
        };
        let (mut up, down) = (sampler("up", &self.up)?, sampler("down", &self.down)?);
        let until = up.sample().max(MIN_SPAN);
        Ok(Scheduled::boxed(Outage { up, down, state: State::Up, until, while_down: self.while_down }))
    }

    fn delays(&self) -> Delays {
        Delays { shortest_ns: 0, longest_ns: self.down.rarely_exceeded_ns() }
    }

    fn link(&self) -> Option<LinkSettings<'_>> {
        None
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Up,
    Down,
}

#[derive(Debug)]
struct Outage {
    up: Sampler,
    down: Sampler,
    state: State,
    until: Time,
    while_down: WhileDown,
}

impl Outage {
    fn advance(&mut self, now: Time) {
        while self.until <= now {
            let (state, span) = match self.state {
                State::Up => (State::Down, self.down.sample()),
                State::Down => (State::Up, self.up.sample()),
            };
            self.state = state;
            self.until += span.max(MIN_SPAN);
        }
    }
}

impl Scheduler for Outage {
    fn schedule(
        &mut self,
        packet: Packet,
        now: Time,
        wire: &mut Wire,
        dropped: &mut Vec<Packet>,
    ) -> Option<Packet> {
        self.advance(now);
        match (self.state, self.while_down) {
            (State::Up, _) if wire.is_empty() => return Some(packet),
            (State::Up, _) => wire.push(packet, now),
            (State::Down, WhileDown::Hold) => wire.push(packet, self.until),
            (State::Down, WhileDown::Drop) => dropped.push(packet),
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{departures, paced};
    use super::*;

    fn regular(while_down: WhileDown) -> Spec {
        Spec {
            up: Distribution::ConstantNs(3_000_000),
            down: Distribution::ConstantNs(2_000_000),
            while_down,
        }
    }

    fn departures_ms(spec: &Spec) -> Vec<(u64, u32)> {
        let departed = departures(&mut *spec.build(0).unwrap(), paced(Time::from_ms(1), 8));
        departed.into_iter().map(|(at, number)| (at.ms(), number)).collect()
    }

    /// Up from 0 to 3 ms, down until 5 ms, up until 8 ms.
    #[test]
    fn packets_of_a_down_time_are_held_until_the_up_time() {
        let departed = departures_ms(&regular(WhileDown::Hold));
        assert_eq!(departed, [(0, 0), (1, 1), (2, 2), (5, 3), (5, 4), (5, 5), (6, 6), (7, 7)]);
    }

    #[test]
    fn packets_of_a_down_time_are_dropped() {
        let departed = departures_ms(&regular(WhileDown::Drop));
        assert_eq!(departed, [(0, 0), (1, 1), (2, 2), (5, 5), (6, 6), (7, 7)]);
    }

    /// Mean up time 30 ms, mean down time 10 ms: a quarter is lost. 100 000 ms have 2500 cycles, and the
    /// standard deviation of an exponential time is its mean: that of the loss is 0.25 × 0.75 × sqrt(2 /
    /// 2500) = 0.5 %. Tolerance: five standard deviations.
    #[test]
    fn the_loss_is_the_fraction_of_down_time() {
        let (up, down) = (Distribution::ExponentialNs(30_000_000), Distribution::ExponentialNs(10_000_000));
        let spec = Spec { up, down, while_down: WhileDown::Drop };
        let departed = departures(&mut *spec.build(1).unwrap(), paced(Time::from_ms(1), 100_000));
        assert!(departed.len().abs_diff(75_000) <= 2500, "{}", departed.len());
    }

    #[test]
    fn times_that_never_last_are_refused() {
        let refused =
            Spec { up: Distribution::ConstantNs(0), ..regular(WhileDown::Hold) }.build(0).unwrap_err();
        assert_eq!(refused, "up: shorter than 0.000100000 s; give a longer one");
    }
}
