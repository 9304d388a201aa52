//! Loss list: drops packets by their position in the order of arrival.

use serde::{Deserialize, Serialize};

use super::{Delays, Element, ElementSettings, Entry, LinkSettings};
use crate::Time;
use crate::net::packet::Packet;

pub(super) const ENTRY: Entry = Entry { name: "loss_list", idea: "Drops listed packets, by their number." };

/// Settings of `loss_list`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Numbers of the packets to drop, ascending; the first packet that reaches the element is 0.
    pub packets: Vec<u64>,
}

impl ElementSettings for Spec {
    fn build(&self, _seed: u64) -> Result<Box<dyn Element>, String> {
        let mut pairs = self.packets.iter().zip(self.packets.iter().skip(1));
        if let Some((first, second)) = pairs.find(|(first, second)| first >= second) {
            return Err(format!("packets: {second} after {first}; give ascending numbers"));
        }
        Ok(Box::new(List { ahead: self.packets.iter().rev().copied().collect(), number: 0 }))
    }

    fn delays(&self) -> Delays {
        Delays::NONE
    }

    fn link(&self) -> Option<LinkSettings<'_>> {
        None
    }
}

#[derive(Debug)]
struct List {
    /// Numbers of future drops, the next one last.
    ahead: Vec<u64>,
    number: u64,
}

impl Element for List {
    fn accept(&mut self, packet: Packet, _now: Time, dropped: &mut Vec<Packet>) -> Option<Packet> {
        let number = self.number;
        self.number += 1;
        if self.ahead.pop_if(|next| *next == number).is_some() {
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
    fn only_listed_packets_are_lost() {
        let lost = fates(&mut *Spec { packets: vec![0, 3, 4] }.build(0).unwrap(), 6);
        assert_eq!(lost, [true, false, false, true, true, false]);
    }

    #[test]
    fn numbers_out_of_order_are_refused() {
        let refused = Spec { packets: vec![3, 3] }.build(0).unwrap_err();
        assert_eq!(refused, "packets: 3 after 3; give ascending numbers");
    }
}
