//! Corrupt: damages packets at random. Damaged packets continue along the path, and the receiver drops them.

use serde::{Deserialize, Serialize};

use super::{Delays, Element, ElementSettings, Entry, LinkSettings, checked_probability};
use crate::Time;
use crate::net::packet::{Flags, Packet};
use crate::util::rng::{Probability, Rng};

pub(super) const ENTRY: Entry = Entry {
    name: "corrupt",
    idea: "Damages packets at random; they continue along the path, and the receiver drops them.",
};

/// Settings of `corrupt`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Probability that a packet is damaged, 0 to 1.
    pub probability: f64,
}

impl ElementSettings for Spec {
    fn build(&self, seed: u64) -> Result<Box<dyn Element>, String> {
        let probability = checked_probability("probability", self.probability)?;
        Ok(Box::new(Corrupt { probability, rng: Rng::new(seed, ENTRY.name) }))
    }

    fn delays(&self) -> Delays {
        Delays::NONE
    }

    fn link(&self) -> Option<LinkSettings<'_>> {
        None
    }
}

#[derive(Debug)]
struct Corrupt {
    probability: Probability,
    rng: Rng,
}

impl Element for Corrupt {
    fn accept(&mut self, packet: Packet, _now: Time, _dropped: &mut Vec<Packet>) -> Option<Packet> {
        if self.rng.sample_bool(self.probability) {
            return Some(Packet { flags: packet.flags.with(Flags::CORRUPT), ..packet });
        }
        Some(packet)
    }
}
