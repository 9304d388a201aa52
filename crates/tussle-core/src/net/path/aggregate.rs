//! Aggregate: holds packets and releases them together, as frames of Wi-Fi and grants of a cable modem do.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::{Delays, Element, ElementSettings, Entry, LinkSettings, checked_delay};
use crate::Time;
use crate::net::packet::Packet;

pub(super) const ENTRY: Entry =
    Entry { name: "aggregate", idea: "Holds packets and lets them go in bursts." };

/// Settings of `aggregate`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Longest time that the first packet of a burst waits.
    pub hold_ns: u64,
    /// Number of packets that leave without waiting longer; `None`: any number waits.
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
    /// Number of packets at the head that leave at this instant.
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
        // What came while the burst was leaving came in this instant.
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

    fn leave_ms(spec: &Spec, arrivals: Vec<Time>) -> Vec<u64> {
        let left = departures(&mut *spec.build(0).unwrap(), arrivals);
        assert!(left.is_sorted_by_key(|(_, number)| *number));
        left.iter().map(|(at, _)| at.ms()).collect()
    }

    /// One packet a millisecond: the first of a burst waits for 3 ms, and those of that time leave with it;
    /// the one that comes as they leave is the first of the next burst.
    #[test]
    fn what_comes_while_the_first_waits_leaves_with_it() {
        let spec = Spec { hold_ns: 3_000_000, most_packets: None };
        assert_eq!(leave_ms(&spec, paced(Time::from_ms(1), 8)), [3, 3, 3, 6, 6, 6, 9, 9]);
    }

    /// A burst of two need not wait: each second packet leaves at once and takes the one before along.
    #[test]
    fn a_full_burst_does_not_wait() {
        let spec = Spec { hold_ns: 3_000_000, most_packets: Some(2) };
        assert_eq!(leave_ms(&spec, paced(Time::from_ms(1), 5)), [1, 1, 3, 3, 7]);
    }
}
