//! What elements hold: packets by when they leave, in the order in which they came.

use crate::Time;
use crate::net::packet::Packet;
use crate::net::packet_buffer::PacketBuffer;

/// Packets on their way, none of which overtakes another.
#[derive(Debug)]
pub(super) struct Wire {
    packets: PacketBuffer<Time>,
    /// When the last one leaves.
    last: Time,
}

impl Default for Wire {
    fn default() -> Wire {
        Wire { packets: PacketBuffer::new(Time::ZERO), last: Time::ZERO }
    }
}

impl Wire {
    /// A packet is to leave at `at`, or with the one before it if that leaves later.
    pub(super) fn push(&mut self, packet: Packet, at: Time) {
        self.last = at.max(self.last);
        self.packets.push(&packet, self.last);
    }

    /// When the first packet leaves.
    pub(super) fn next(&self) -> Time {
        self.packets.first().map_or(Time::NEVER, |held| held.note)
    }

    /// The first packet.
    pub(super) fn pop(&mut self) -> Option<Packet> {
        self.packets.pop()
    }

    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.packets.first().is_none()
    }

    /// Shows `visit` every packet.
    pub(super) fn for_each(&self, visit: &mut dyn FnMut(&Packet)) {
        self.packets.for_each(visit);
    }
}
