//! Delay: a constant propagation delay, without a rate limit.

use serde::{Deserialize, Serialize};

use super::wire::{Scheduled, Scheduler, Wire};
use super::{Delays, Element, ElementSettings, Entry, LinkSettings, checked_delay};
use crate::Time;
use crate::net::packet::Packet;

pub(super) const ENTRY: Entry = Entry { name: "delay", idea: "Delays every packet by a constant time." };

/// Settings of `delay`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// One-way propagation delay.
    pub delay_ns: u64,
}

impl ElementSettings for Spec {
    fn build(&self, _seed: u64) -> Result<Box<dyn Element>, String> {
        Ok(Scheduled::boxed(Delay { delay: checked_delay(self.delay_ns)? }))
    }

    fn delays(&self) -> Delays {
        Delays::constant(self.delay_ns)
    }

    fn link(&self) -> Option<LinkSettings<'_>> {
        None
    }
}

#[derive(Debug)]
struct Delay {
    delay: Time,
}

impl Scheduler for Delay {
    fn schedule(
        &mut self,
        packet: Packet,
        now: Time,
        wire: &mut Wire,
        _dropped: &mut Vec<Packet>,
    ) -> Option<Packet> {
        wire.push(packet, now + self.delay);
        None
    }
}
