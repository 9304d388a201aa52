//! Delay: a wire of unlimited rate; every packet leaves a fixed time after it came.

use serde::{Deserialize, Serialize};

use super::wire::Wire;
use super::{Element, Entry, checked_delay};
use crate::net::packet::Packet;
use crate::Time;

pub(super) const ENTRY: Entry =
    Entry { name: "delay", idea: "Every packet leaves a fixed time after it came, in order." };

/// How long the wire is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// One-way propagation delay.
    pub delay_ns: u64,
}

impl Spec {
    pub(super) fn build(&self, _seed: u64) -> Result<Box<dyn Element>, String> {
        Ok(Box::new(Delay { wire: Wire::default(), delay: checked_delay(self.delay_ns)? }))
    }
}

#[derive(Debug)]
struct Delay {
    wire: Wire,
    delay: Time,
}

impl Element for Delay {
    fn accept(&mut self, packet: Packet, now: Time, _dropped: &mut Vec<Packet>) -> Option<Packet> {
        self.wire.push(packet, now + self.delay);
        None
    }

    fn next(&self) -> Time {
        self.wire.next()
    }

    fn release(&mut self, _now: Time, _dropped: &mut Vec<Packet>) -> Option<Packet> {
        self.wire.pop()
    }

    fn for_each(&self, visit: &mut dyn FnMut(&Packet)) {
        self.wire.for_each(visit);
    }
}
