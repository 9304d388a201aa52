//! Transmitters: how long the transmission of a packet takes, and when the packet leaves the wire.

use std::fmt::Debug;

use crate::Time;
use crate::net::packet::Flags;

/// Nanosecond-bits in a byte-second.
pub(super) const NS_BITS: u64 = 8 * 1_000_000_000;

/// Says how long transmissions take.
pub(super) trait Transmitter: Debug + Send {
    /// Whether packets may be lost on the wire.
    const LOSES: bool = false;

    /// A packet of that size is transmitted from `start` on, which is when the one before it was, or later.
    fn transmit(&mut self, start: Time, size_bytes: u32) -> Sent;

    /// The next transmission begins a busy time.
    fn after_idle(&mut self) {}
}

/// The times of a transmission.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    /// When the next one may begin.
    pub(super) end: Time,
    /// When the packet leaves the wire, unless an earlier one still has to.
    pub(super) arrival: Time,
    /// What becomes of it there.
    pub(super) fate: Fate,
}

/// What becomes of a packet at the end of the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Delivered,
    Dropped,
}

impl Fate {
    /// The flags of a packet with this fate.
    pub(super) fn mark(self, flags: Flags) -> Flags {
        match self {
            Fate::Delivered => flags,
            Fate::Dropped => flags.with(Flags::LOST),
        }
    }
}
