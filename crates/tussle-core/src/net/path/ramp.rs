//! Ramp: a delay that changes linearly from one value to another.

use serde::{Deserialize, Serialize};

use super::wire::{Scheduled, Scheduler, Wire};
use super::{Delays, Element, ElementSettings, Entry, LinkSettings, checked_delay};
use crate::Time;
use crate::net::packet::Packet;

pub(super) const ENTRY: Entry =
    Entry { name: "ramp", idea: "A delay that changes linearly from one value to another." };

/// Settings of `ramp`. Packets leave in order of arrival.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Time at which the delay begins to change.
    pub begin_ns: u64,
    /// Time at which the delay has reached its new value.
    pub end_ns: u64,
    /// One-way delay before the change.
    pub from_delay_ns: u64,
    /// One-way delay after the change.
    pub to_delay_ns: u64,
}

impl ElementSettings for Spec {
    fn build(&self, _seed: u64) -> Result<Box<dyn Element>, String> {
        if self.end_ns <= self.begin_ns {
            return Err(format!("end_ns: {}; give more than begin_ns, {}", self.end_ns, self.begin_ns));
        }
        Ok(Scheduled::boxed(Ramp {
            begin: Time::from_ns(self.begin_ns),
            end: Time::from_ns(self.end_ns),
            from: checked_delay(self.from_delay_ns).map_err(|problem| format!("from_{problem}"))?,
            to: checked_delay(self.to_delay_ns).map_err(|problem| format!("to_{problem}"))?,
        }))
    }

    fn delays(&self) -> Delays {
        let (from_ns, to_ns) = (self.from_delay_ns, self.to_delay_ns);
        Delays { shortest_ns: from_ns.min(to_ns), longest_ns: from_ns.max(to_ns) }
    }

    fn link(&self) -> Option<LinkSettings<'_>> {
        None
    }
}

#[derive(Debug)]
struct Ramp {
    begin: Time,
    end: Time,
    from: Time,
    to: Time,
}

impl Ramp {
    fn delay(&self, now: Time) -> Time {
        let whole = u128::from((self.end - self.begin).ns());
        let done = u128::from(now.clamp(self.begin, self.end).since(self.begin).ns());
        let weighed = u128::from(self.from.ns()) * (whole - done) + u128::from(self.to.ns()) * done;
        Time::from_ns(u64::try_from(weighed / whole).expect("a delay between two others"))
    }
}

impl Scheduler for Ramp {
    fn schedule(
        &mut self,
        packet: Packet,
        now: Time,
        wire: &mut Wire,
        _dropped: &mut Vec<Packet>,
    ) -> Option<Packet> {
        wire.push(packet, now + self.delay(now));
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{departures, paced};
    use super::*;

    /// A ramp from 10 to 30 ms between 2 and 6 s: 10, 10, 10, 15, 20, 25, 30, 30 ms at 0, 1 … 7 s.
    #[test]
    fn the_delay_changes_linearly() {
        let spec = Spec {
            begin_ns: 2_000_000_000,
            end_ns: 6_000_000_000,
            from_delay_ns: 10_000_000,
            to_delay_ns: 30_000_000,
        };
        let departed = departures(&mut *spec.build(0).unwrap(), paced(Time::from_secs(1), 8));
        let delays_ms: Vec<_> =
            departed.iter().map(|(at, number)| at.ms() - 1000 * u64::from(*number)).collect();
        assert_eq!(delays_ms, [10, 10, 10, 15, 20, 25, 30, 30]);
    }

    /// A ramp from 1 s to 0 within 1 ms, and a packet every 0.1 ms: the first leaves at 1 s, and none before
    /// it.
    #[test]
    fn a_delay_that_falls_fast_lets_no_packet_overtake() {
        let spec = Spec { begin_ns: 0, end_ns: 1_000_000, from_delay_ns: 1_000_000_000, to_delay_ns: 0 };
        let departed = departures(&mut *spec.build(0).unwrap(), paced(Time::from_us(100), 20));
        assert!(departed.iter().all(|(at, _)| *at == Time::from_secs(1)), "{departed:?}");
        assert!(departed.is_sorted_by_key(|(_, number)| *number));
    }
}
