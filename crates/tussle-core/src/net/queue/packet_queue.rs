//! A FIFO of packets that counts their bytes.

use std::collections::VecDeque;

use super::Backlog;
use crate::Time;
use crate::net::packet::Packet;

/// A packet with the time of its arrival.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stamped {
    pub(super) arrived: Time,
    pub(super) packet: Packet,
}

/// An item of a [`PacketQueue`]: a packet, possibly with its arrival time.
pub(super) trait HasPacket {
    fn packet(&self) -> &Packet;
}

impl HasPacket for Packet {
    fn packet(&self) -> &Packet {
        self
    }
}

impl HasPacket for Stamped {
    fn packet(&self) -> &Packet {
        &self.packet
    }
}

/// A FIFO of packets, with the sum of their bytes.
#[derive(Debug)]
pub(super) struct PacketQueue<T> {
    waiting: VecDeque<T>,
    bytes: u64,
}

impl<T> Default for PacketQueue<T> {
    fn default() -> PacketQueue<T> {
        PacketQueue { waiting: VecDeque::new(), bytes: 0 }
    }
}

impl<T: HasPacket> PacketQueue<T> {
    #[inline]
    pub(super) fn push(&mut self, item: T) {
        self.bytes += u64::from(item.packet().size_bytes);
        self.waiting.push_back(item);
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<T> {
        let item = self.waiting.pop_front()?;
        self.bytes -= u64::from(item.packet().size_bytes);
        Some(item)
    }

    pub(super) fn oldest(&self) -> Option<&T> {
        self.waiting.front()
    }

    #[inline]
    pub(super) fn backlog(&self) -> Backlog {
        Backlog { packets: self.waiting.len() as u64, bytes: self.bytes }
    }

    pub(super) fn for_each(&self, visit: &mut dyn FnMut(&Packet)) {
        self.waiting.iter().for_each(|item| visit(item.packet()));
    }
}
