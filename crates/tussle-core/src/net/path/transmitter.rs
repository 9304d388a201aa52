//! Transmitters: how long the transmission of a packet takes, and when the packet leaves the wire.

use std::fmt::Debug;

use crate::Time;
use crate::net::packet::Flags;

/// Nanosecond-bits in a byte-second.
pub(super) const NS_BITS: u64 = 8 * 1_000_000_000;

/// The transmitter of a link.
pub(super) trait Transmitter: Debug + Send {
    /// Whether packets may be lost on the wire.
    const LOSES: bool = false;

    /// Transmits a packet of that size from `start` on, which is never before the end of the last transmission.
    fn transmit(&mut self, start: Time, size_bytes: u32) -> Sent;

    /// Notes that the next transmission follows an idle time.
    fn after_idle(&mut self) {}
}

/// The times of a transmission.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    /// Time at which the next transmission may begin.
    pub(super) end: Time,
    /// Time at which the packet leaves the wire, unless an earlier packet leaves later.
    pub(super) arrival: Time,
    /// Fate of the packet at the end of the wire.
    pub(super) fate: Fate,
}

/// Fate of a packet at the end of the wire.
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
