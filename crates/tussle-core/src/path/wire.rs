//! What elements hold: packets by when they leave, in the order in which they came.

use std::collections::VecDeque;

use crate::packet::Packet;
use crate::time::Time;

/// Packets on their way, none of which overtakes another.
#[derive(Debug, Default)]
pub(super) struct Wire(VecDeque<(Time, Packet)>);

impl Wire {
    /// A packet is to leave at `at`, or with the one before it if that leaves later.
    pub(super) fn push(&mut self, packet: Packet, at: Time) {
        let at = self.0.back().map_or(at, |(before, _)| at.max(*before));
        self.0.push_back((at, packet));
    }

    /// When the first packet leaves.
    pub(super) fn next(&self) -> Time {
        self.0.front().map_or(Time::NEVER, |(at, _)| *at)
    }

    /// The first packet.
    pub(super) fn pop(&mut self) -> Option<Packet> {
        self.0.pop_front().map(|(_, packet)| packet)
    }

    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Shows `visit` every packet.
    pub(super) fn for_each(&self, visit: &mut dyn FnMut(&Packet)) {
        self.0.iter().for_each(|(_, packet)| visit(packet));
    }
}
