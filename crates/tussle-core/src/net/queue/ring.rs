//! A ring: packets in the order in which they came, and how much they are.

use std::collections::VecDeque;

use super::Backlog;
use crate::Time;
use crate::net::packet::Packet;

/// A packet and when it came.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stamped {
    pub(super) came: Time,
    pub(super) packet: Packet,
}

/// What waits in a ring: a packet, and whatever is noted with it.
pub(super) trait Held {
    fn packet(&self) -> &Packet;
}

impl Held for Packet {
    fn packet(&self) -> &Packet {
        self
    }
}

impl Held for Stamped {
    fn packet(&self) -> &Packet {
        &self.packet
    }
}

/// First in, first out, with the bytes counted.
#[derive(Debug)]
pub(super) struct Ring<T> {
    waiting: VecDeque<T>,
    bytes: u64,
}

impl<T> Default for Ring<T> {
    fn default() -> Ring<T> {
        Ring { waiting: VecDeque::new(), bytes: 0 }
    }
}

impl<T: Held> Ring<T> {
    #[inline]
    pub(super) fn push(&mut self, held: T) {
        self.bytes += u64::from(held.packet().size_bytes);
        self.waiting.push_back(held);
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<T> {
        let held = self.waiting.pop_front()?;
        self.bytes -= u64::from(held.packet().size_bytes);
        Some(held)
    }

    pub(super) fn oldest(&self) -> Option<&T> {
        self.waiting.front()
    }

    #[inline]
    pub(super) fn backlog(&self) -> Backlog {
        Backlog { packets: self.waiting.len() as u64, bytes: self.bytes }
    }

    pub(super) fn for_each(&self, visit: &mut dyn FnMut(&Packet)) {
        self.waiting.iter().for_each(|held| visit(held.packet()));
    }
}
