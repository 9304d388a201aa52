//! Aggregate: holds packets and releases them together, as Wi-Fi frame aggregation and the grants of a cable
//! modem do.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::{Delays, Element, ElementSettings, Entry, LinkSettings, checked_delay};
use crate::Time;
use crate::net::packet::Packet;

pub(super) const ENTRY: Entry =
    Entry { name: "aggregate", idea: "Holds packets and releases them in bursts." };

/// Settings of `aggregate`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Longest time for which the first packet of a burst is held.
    pub hold_ns: u64,
    /// Number of held packets at which a burst is released at once; `None`: no limit.
    #[serde(default)]
    pub most_packets: Option<u64>,
}

impl ElementSettings for Spec {
    fn build(&self, _seed: u64) -> Result<Box<dyn Element>, String> {
        if self.most_packets == Some(0) {
            return Err("most_packets: 0; give at least 1".to_owned());
        }
        let most = self.most_packets.unwrap_or(u64::MAX);
        Ok(Box::new(Aggregate {
            hold: checked_delay(self.hold_ns)?,
            most: usize::try_from(most).unwrap_or(usize::MAX),
            packets: VecDeque::new(),
            leaving: 0,
            next: Time::NEVER,
        }))
    }

    fn delays(&self) -> Delays {
        Delays { shortest_ns: 0, longest_ns: self.hold_ns }
    }

    fn link(&self) -> Option<LinkSettings<'_>> {
        None
    }
}

#[derive(Debug)]
struct Aggregate {
    hold: Time,
    most: usize,
    packets: VecDeque<Packet>,
    /// Number of packets at the head that are being released at this instant.
    leaving: usize,
    /// Time at which the first packet leaves.
    next: Time,
}

impl Element for Aggregate {
    fn accept(&mut self, packet: Packet, now: Time, _dropped: &mut Vec<Packet>) -> Option<Packet> {
        self.packets.push_back(packet);
        let waiting = self.packets.len() - self.leaving;
        if waiting >= self.most {
            self.leaving = self.packets.len();
            self.next = now;
        } else if self.packets.len() == 1 {
            self.next = now + self.hold;
        }
        None
    }

    fn next(&self) -> Time {
        self.next
    }

    fn release(&mut self, now: Time, _dropped: &mut Vec<Packet>) -> Option<Packet> {
        if self.leaving == 0 {
            self.leaving = self.packets.len();
        }
        self.leaving -= 1;
        let packet = self.packets.pop_front();
        // Packets that arrived during the release of the burst arrived at this instant.
        self.next = match (self.leaving, self.packets.len()) {
            (_, 0) => Time::NEVER,
            (0, _) => now + self.hold,
            _ => now,
        };
        packet
    }

    fn for_each(&self, visit: &mut dyn FnMut(&Packet)) {
        self.packets.iter().for_each(visit);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{departures, paced};
    use super::*;

    fn departures_ms(spec: &Spec, arrivals: Vec<Time>) -> Vec<u64> {
        let departed = departures(&mut *spec.build(0).unwrap(), arrivals);
        assert!(departed.is_sorted_by_key(|(_, number)| *number));
        departed.iter().map(|(at, _)| at.ms()).collect()
    }

    /// One packet per millisecond: the first of a burst is held for 3 ms, and the packets that arrive
    /// meanwhile leave with it. A packet that arrives at the time of the release is the first of the next
    /// burst.
    #[test]
    fn packets_that_arrive_during_the_hold_leave_with_the_first() {
        let spec = Spec { hold_ns: 3_000_000, most_packets: None };
        assert_eq!(departures_ms(&spec, paced(Time::from_ms(1), 8)), [3, 3, 3, 6, 6, 6, 9, 9]);
    }

    /// Bursts of two: every second packet is released at once, together with the one before.
    #[test]
    fn a_full_burst_is_released_at_once() {
        let spec = Spec { hold_ns: 3_000_000, most_packets: Some(2) };
        assert_eq!(departures_ms(&spec, paced(Time::from_ms(1), 5)), [1, 1, 3, 3, 7]);
    }
}
