//! Mark: marks packets at random. Packets without ECN pass unmarked.

use serde::{Deserialize, Serialize};

use super::{Delays, Element, ElementSettings, Entry, LinkSettings, checked_probability};
use crate::Time;
use crate::net::packet::{Ecn, Packet};
use crate::util::rng::{Probability, Rng};

pub(super) const ENTRY: Entry = Entry {
    name: "mark",
    idea: "Marks packets with ECN at random, each independently; packets without ECN pass unmarked.",
};

/// Settings of `mark`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Probability that a packet with ECN is marked, 0 to 1.
    pub probability: f64,
}

impl ElementSettings for Spec {
    fn build(&self, seed: u64) -> Result<Box<dyn Element>, String> {
        let probability = checked_probability("probability", self.probability)?;
        Ok(Box::new(Mark { probability, rng: Rng::new(seed, ENTRY.name) }))
    }

    fn delays(&self) -> Delays {
        Delays::NONE
    }

    fn link(&self) -> Option<LinkSettings<'_>> {
        None
    }
}

#[derive(Debug)]
struct Mark {
    probability: Probability,
    rng: Rng,
}

impl Element for Mark {
    fn accept(&mut self, packet: Packet, _now: Time, _dropped: &mut Vec<Packet>) -> Option<Packet> {
        // The sample is taken for every packet, so that the marks do not depend on the codepoint.
        if self.rng.sample_bool(self.probability) && packet.ecn != Ecn::NotEct {
            return Some(Packet { ecn: Ecn::Ce, ..packet });
        }
        Some(packet)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::packet;
    use super::*;

    fn after(probability: f64, ecn: Ecn) -> Ecn {
        let mut element = Spec { probability }.build(0).unwrap();
        element.accept(Packet { ecn, ..packet(0) }, Time::ZERO, &mut Vec::new()).unwrap().ecn
    }

    #[test]
    fn only_packets_with_ecn_are_marked() {
        let after = |ecn| after(1.0, ecn);
        assert_eq!(
            [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce].map(after),
            [Ecn::NotEct, Ecn::Ce, Ecn::Ce, Ecn::Ce]
        );
    }

    #[test]
    fn with_probability_zero_every_packet_keeps_its_codepoint() {
        let every = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce];
        assert_eq!(every.map(|ecn| after(0.0, ecn)), every);
    }

    /// 10 000 packets at 10 %: 1000 marks. Tolerance: five standard deviations of sqrt(10 000 × 0.1 × 0.9) = 30.
    #[test]
    fn packets_are_marked_with_the_probability() {
        let mut element = Spec { probability: 0.1 }.build(0).unwrap();
        let marked = (0..10_000)
            .map(|number| Packet { ecn: Ecn::Ect0, ..packet(number) })
            .filter_map(|packet| element.accept(packet, Time::ZERO, &mut Vec::new()))
            .filter(|packet| packet.ecn == Ecn::Ce)
            .count();
        assert!(marked.abs_diff(1000) <= 150, "{marked}");
    }
}
