//! Periodic loss: drops every n-th packet, without randomness.

use serde::{Deserialize, Serialize};

use super::{Delays, Element, ElementSettings, Entry, LinkSettings};
use crate::Time;
use crate::net::packet::Packet;

pub(super) const ENTRY: Entry = Entry { name: "loss_periodic", idea: "Drops every n-th packet." };

/// Settings of `loss_periodic`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Period in packets, at least 2: the last packet of each period is dropped.
    pub every_packets: u64,
}

impl ElementSettings for Spec {
    fn build(&self, _seed: u64) -> Result<Box<dyn Element>, String> {
        if self.every_packets < 2 {
            return Err(format!("every_packets: {}; give at least 2", self.every_packets));
        }
        Ok(Box::new(Periodic { every: self.every_packets, left: self.every_packets }))
    }

    fn delays(&self) -> Delays {
        Delays::NONE
    }

    fn link(&self) -> Option<LinkSettings<'_>> {
        None
    }
}

#[derive(Debug)]
struct Periodic {
    every: u64,
    /// Packets until the next drop, including the dropped one.
    left: u64,
}

impl Element for Periodic {
    fn accept(&mut self, packet: Packet, _now: Time, dropped: &mut Vec<Packet>) -> Option<Packet> {
        self.left -= 1;
        if self.left == 0 {
            self.left = self.every;
            dropped.push(packet);
            return None;
        }
        Some(packet)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::fates;
    use super::*;

    #[test]
    fn every_third_packet_is_lost() {
        let lost = fates(&mut *Spec { every_packets: 3 }.build(0).unwrap(), 7);
        assert_eq!(lost, [false, false, true, false, false, true, false]);
    }

    #[test]
    fn losing_every_packet_is_refused() {
        assert_eq!(Spec { every_packets: 1 }.build(0).unwrap_err(), "every_packets: 1; give at least 2");
    }
}
