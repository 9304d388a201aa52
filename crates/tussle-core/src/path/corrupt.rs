//! Corrupt: damages packets at random. They travel on, and the receiver drops them.

use serde::{Deserialize, Serialize};

use super::{Element, Entry, checked_chance};
use crate::dice::{Chance, Dice};
use crate::packet::{Flags, Packet};
use crate::time::Time;

pub(super) const ENTRY: Entry = Entry {
    name: "corrupt",
    idea: "Damages packets at random: they take their time on the path, and the receiver drops them.",
};

/// How much is damaged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Probability that a packet is damaged, 0 to 1.
    pub probability: f64,
}

impl Spec {
    pub(super) fn build(&self, seed: u64) -> Result<Box<dyn Element>, String> {
        let chance = checked_chance("probability", self.probability)?;
        Ok(Box::new(Corrupt { chance, dice: Dice::new(seed, ENTRY.name) }))
    }
}

#[derive(Debug)]
struct Corrupt {
    chance: Chance,
    dice: Dice,
}

impl Element for Corrupt {
    fn accept(&mut self, packet: Packet, _now: Time, _dropped: &mut Vec<Packet>) -> Option<Packet> {
        if self.dice.happens(self.chance) {
            return Some(Packet { flags: packet.flags.with(Flags::CORRUPT), ..packet });
        }
        Some(packet)
    }
}
