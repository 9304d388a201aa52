//! Duplicate: duplicates packets at random; the copy follows the original at once.

use serde::{Deserialize, Serialize};

use super::wire::{Scheduled, Scheduler, Wire};
use super::{Delays, Element, ElementSettings, Entry, LinkSettings, checked_probability};
use crate::Time;
use crate::net::packet::Packet;
use crate::util::rng::{Probability, Rng};

pub(super) const ENTRY: Entry =
    Entry { name: "duplicate", idea: "Duplicates packets at random, each independently." };

/// Settings of `duplicate`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Probability that a packet is duplicated, 0 to 1.
    pub probability: f64,
}

impl ElementSettings for Spec {
    fn build(&self, seed: u64) -> Result<Box<dyn Element>, String> {
        Ok(Scheduled::boxed(Duplicate {
            probability: checked_probability("probability", self.probability)?,
            rng: Rng::new(seed, ENTRY.name),
            copies: Vec::new(),
        }))
    }

    fn delays(&self) -> Delays {
        Delays::NONE
    }

    fn link(&self) -> Option<LinkSettings<'_>> {
        None
    }
}

#[derive(Debug)]
struct Duplicate {
    probability: Probability,
    rng: Rng,
    /// Copies of data packets, by flow.
    copies: Vec<u64>,
}

impl Scheduler for Duplicate {
    fn schedule(
        &mut self,
        packet: Packet,
        now: Time,
        wire: &mut Wire,
        _dropped: &mut Vec<Packet>,
    ) -> Option<Packet> {
        wire.push(packet, now);
        if self.rng.sample_bool(self.probability) {
            wire.push(packet, now);
            let flow = packet.flow as usize;
            if self.copies.len() <= flow {
                self.copies.resize(flow + 1, 0);
            }
            self.copies[flow] += u64::from(packet.kind.has_payload());
        }
        None
    }

    fn makes_copies(&self) -> bool {
        true
    }

    fn copies(&self, flow: u32) -> u64 {
        self.copies.get(flow as usize).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{departures, paced};
    use super::*;

    #[test]
    fn with_probability_one_every_packet_leaves_twice() {
        let mut element = Spec { probability: 1.0 }.build(0).unwrap();
        let departed = departures(&mut *element, paced(Time::ZERO, 3));
        assert_eq!(departed.iter().map(|(_, number)| *number).collect::<Vec<_>>(), [0, 0, 1, 1, 2, 2]);
        assert_eq!((element.copies(0), element.copies(1)), (3, 0));
    }

    /// 10 000 packets at 10 %: 1000 copies. Tolerance: five standard deviations of sqrt(10 000 × 0.1 × 0.9) =
    /// 30.
    #[test]
    fn packets_are_duplicated_with_the_probability() {
        let mut element = Spec { probability: 0.1 }.build(0).unwrap();
        let departed = departures(&mut *element, paced(Time::from_ms(1), 10_000));
        assert!(departed.len().abs_diff(11_000) <= 150, "{}", departed.len());
        assert_eq!(departed.len() as u64, 10_000 + element.copies(0));
    }
}
