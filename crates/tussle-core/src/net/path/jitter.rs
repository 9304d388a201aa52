//! Jitter: a random delay of each packet.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use serde::{Deserialize, Serialize};

use super::wire::{Scheduled, Scheduler, Wire};
use super::{Delays, Element, ElementSettings, Entry, LinkSettings, MAX_DELAY};
use crate::Time;
use crate::net::packet::Packet;
use crate::util::distribution::{Distribution, Sampler};
use crate::util::rng::Rng;

pub(super) const ENTRY: Entry = Entry { name: "jitter", idea: "Delays each packet by a random time." };

/// Settings of `jitter`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Distribution of the delay.
    pub delay: Distribution,
    /// Order of packets whose delay ends before the delay of an earlier packet.
    #[serde(default)]
    pub order: Order,
}

/// The order in which packets leave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Order of arrival: a packet whose delay is over waits for the packet before it.
    #[default]
    Kept,
    /// Order in which delays end: packets may overtake.
    Free,
}

impl ElementSettings for Spec {
    fn build(&self, seed: u64) -> Result<Box<dyn Element>, String> {
        let delay = Sampler::new(&self.delay, MAX_DELAY, Rng::new(seed, ENTRY.name))
            .map_err(|problem| format!("delay.{problem}"))?;
        Ok(match self.order {
            Order::Kept => Scheduled::boxed(InOrder { delay }),
            Order::Free => Box::new(Reordering { delay, held: BinaryHeap::new(), arrived: 0 }),
        })
    }

    fn delays(&self) -> Delays {
        Delays::random(&self.delay)
    }

    fn link(&self) -> Option<LinkSettings<'_>> {
        None
    }
}

#[derive(Debug)]
struct InOrder {
    delay: Sampler,
}

impl Scheduler for InOrder {
    fn schedule(
        &mut self,
        packet: Packet,
        now: Time,
        wire: &mut Wire,
        _dropped: &mut Vec<Packet>,
    ) -> Option<Packet> {
        wire.push(packet, now + self.delay.sample());
        None
    }
}

#[derive(Debug)]
struct Reordering {
    delay: Sampler,
    /// Held packets, the next departure on top; equal departure times in order of arrival.
    held: BinaryHeap<Reverse<Delayed>>,
    arrived: u64,
}

#[derive(Debug)]
struct Delayed {
    at: Time,
    arrival: u64,
    packet: Packet,
}

impl Delayed {
    fn key(&self) -> (Time, u64) {
        (self.at, self.arrival)
    }
}

impl PartialEq for Delayed {
    fn eq(&self, other: &Delayed) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Delayed {}

impl PartialOrd for Delayed {
    fn partial_cmp(&self, other: &Delayed) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Delayed {
    fn cmp(&self, other: &Delayed) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

impl Element for Reordering {
    fn accept(&mut self, packet: Packet, now: Time, _dropped: &mut Vec<Packet>) -> Option<Packet> {
        self.held.push(Reverse(Delayed { at: now + self.delay.sample(), arrival: self.arrived, packet }));
        self.arrived += 1;
        None
    }

    fn next(&self) -> Time {
        self.held.peek().map_or(Time::NEVER, |Reverse(delayed)| delayed.at)
    }

    fn release(&mut self, _now: Time, _dropped: &mut Vec<Packet>) -> Option<Packet> {
        self.held.pop().map(|Reverse(delayed)| delayed.packet)
    }

    fn for_each(&self, visit: &mut dyn FnMut(&Packet)) {
        self.held.iter().for_each(|Reverse(delayed)| visit(&delayed.packet));
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{departures, paced};
    use super::*;
    use crate::util::distribution::Uniform;

    fn spec(order: Order) -> Spec {
        Spec { delay: Distribution::Uniform(Uniform { least_ns: 0, most_ns: 10_000_000 }), order }
    }

    /// Packets 1 ms apart, with delays of 0 to 10 ms: with free order each packet has its own delay, 5 ms on
    /// average; in order, a packet also waits for the packets before it, which takes longer.
    #[test]
    fn in_order_delivery_adds_delay() {
        let mut means_ms = Vec::new();
        for order in [Order::Kept, Order::Free] {
            let departed = departures(&mut *spec(order).build(3).unwrap(), paced(Time::from_ms(1), 10_000));
            assert_eq!(departed.len(), 10_000);
            let in_order = departed.is_sorted_by_key(|(_, number)| *number);
            assert_eq!(in_order, matches!(order, Order::Kept));
            let delays_ms = departed.iter().map(|(at, number)| at.as_secs_f64() * 1e3 - f64::from(*number));
            means_ms.push(delays_ms.sum::<f64>() / 10_000.0);
        }
        assert!((means_ms[1] - 5.0).abs() <= 0.15, "{means_ms:?}");
        assert!(means_ms[0] > 6.0 && means_ms[0] < 10.0, "{means_ms:?}");
    }

    #[test]
    fn equal_seeds_give_equal_delays() {
        let run =
            |seed| departures(&mut *spec(Order::Free).build(seed).unwrap(), paced(Time::from_ms(1), 100));
        assert_eq!(run(1), run(1));
        assert_ne!(run(1), run(2));
    }
}
