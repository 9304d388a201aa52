//! Unmark: removes marks at random, as a tunnel does that drops them, or a receiver that does not report them.

use serde::{Deserialize, Serialize};

use super::{Delays, Element, ElementSettings, Entry, LinkSettings, checked_probability};
use crate::Time;
use crate::net::packet::{Ecn, Packet};
use crate::util::rng::{Probability, Rng};

pub(super) const ENTRY: Entry = Entry {
    name: "unmark",
    idea: "Removes the marks of packets at random, each independently, as a tunnel does that drops them.",
};

/// Settings of `unmark`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Probability that a packet loses its mark, 0 to 1.
    pub probability: f64,
}

impl ElementSettings for Spec {
    fn build(&self, seed: u64) -> Result<Box<dyn Element>, String> {
        let probability = checked_probability("probability", self.probability)?;
        Ok(Box::new(Unmark { probability, rng: Rng::new(seed, ENTRY.name) }))
    }

    fn delays(&self) -> Delays {
        Delays::NONE
    }

    fn link(&self) -> Option<LinkSettings<'_>> {
        None
    }
}

#[derive(Debug)]
struct Unmark {
    probability: Probability,
    rng: Rng,
}

impl Element for Unmark {
    fn accept(&mut self, packet: Packet, _now: Time, _dropped: &mut Vec<Packet>) -> Option<Packet> {
        if packet.ecn == Ecn::Ce && self.rng.sample_bool(self.probability) {
            // Whether it was ECT(0) or ECT(1) is not known here, and receivers do not distinguish the two.
            return Some(Packet { ecn: Ecn::Ect0, ..packet });
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
    fn marks_are_removed_and_other_codepoints_kept() {
        let after = |ecn| after(1.0, ecn);
        assert_eq!(
            [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce].map(after),
            [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ect0]
        );
    }

    #[test]
    fn with_probability_zero_every_mark_stays() {
        assert_eq!(after(0.0, Ecn::Ce), Ecn::Ce);
    }
}
