//! Loss: drops packets at random, each independently.

use serde::{Deserialize, Serialize};

use super::{Delays, Element, ElementSettings, Entry, LinkSettings, checked_probability};
use crate::Time;
use crate::net::packet::Packet;
use crate::util::rng::{Probability, Rng};

pub(super) const ENTRY: Entry = Entry { name: "loss", idea: "Drops packets at random, each independently." };

/// Settings of `loss`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Probability that a packet is dropped, 0 to 1.
    pub probability: f64,
}

impl ElementSettings for Spec {
    fn build(&self, seed: u64) -> Result<Box<dyn Element>, String> {
        let probability = checked_probability("probability", self.probability)?;
        Ok(Box::new(Loss { probability, rng: Rng::new(seed, ENTRY.name) }))
    }

    fn delays(&self) -> Delays {
        Delays::NONE
    }

    fn link(&self) -> Option<LinkSettings<'_>> {
        None
    }
}

#[derive(Debug)]
struct Loss {
    probability: Probability,
    rng: Rng,
}

impl Element for Loss {
    fn accept(&mut self, packet: Packet, _now: Time, dropped: &mut Vec<Packet>) -> Option<Packet> {
        if self.rng.sample_bool(self.probability) {
            dropped.push(packet);
            return None;
        }
        Some(packet)
    }
}
