//! Transmitters: the transmission times of packets, and the times at which they leave the link.

use std::fmt::Debug;

use crate::Time;
use crate::net::packet::Flags;

/// Transmission time of one byte at 1 bit/s, in ns.
pub(super) const NS_BITS: u64 = 8 * 1_000_000_000;

/// The transmitter of a link.
pub(super) trait Transmitter: Debug + Send {
    /// Whether packets may be lost on the wire.
    const LOSES: bool = false;

    /// Transmits a packet from `start` on, which is not before the end of the last transmission.
    fn transmit(&mut self, start: Time, size_bytes: u32) -> Sent;

    /// Records that the next transmission follows an idle time.
    fn after_idle(&mut self) {}
}

/// The times of a transmission.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    /// Time at which the next transmission may begin.
    pub(super) end: Time,
    /// Time at which the packet leaves the link, unless an earlier packet leaves later.
    pub(super) departure: Time,
    /// Fate of the packet at the end of the link.
    pub(super) fate: Fate,
}

/// Fate of a packet at the end of the link.
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
