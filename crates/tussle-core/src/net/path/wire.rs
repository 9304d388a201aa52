//! A wire: held packets that leave in order of arrival, and the elements that hold their packets on a wire.

use std::fmt::Debug;

use super::Element;
use crate::Time;
use crate::net::packet::Packet;
use crate::net::packet_buffer::PacketBuffer;

/// Held packets with their departure times; none overtakes another.
#[derive(Debug)]
pub(super) struct Wire {
    packets: PacketBuffer<Time>,
    /// Departure time of the last packet.
    last: Time,
}

impl Default for Wire {
    fn default() -> Wire {
        Wire { packets: PacketBuffer::new(Time::ZERO), last: Time::ZERO }
    }
}

impl Wire {
    /// Adds a packet that leaves at `at`, or with the previous packet if that leaves later.
    pub(super) fn push(&mut self, packet: Packet, at: Time) {
        self.last = at.max(self.last);
        self.packets.push(&packet, self.last);
    }

    /// Time at which the first packet leaves.
    pub(super) fn next(&self) -> Time {
        self.packets.first().map_or(Time::NEVER, |first| first.note)
    }

    /// Removes the first packet.
    pub(super) fn pop(&mut self) -> Option<Packet> {
        self.packets.pop()
    }

    /// Whether there is no packet.
    pub(super) fn is_empty(&self) -> bool {
        self.packets.first().is_none()
    }

    /// Calls `visit` with every packet.
    pub(super) fn for_each(&self, visit: &mut dyn FnMut(&Packet)) {
        self.packets.for_each(visit);
    }
}

/// The part of an element that determines when each packet leaves its wire.
pub(super) trait Scheduler: Debug + Send {
    /// Schedules an arriving packet: adds it to `wire` or `dropped`, or returns it if it passes at once.
    fn schedule(
        &mut self,
        packet: Packet,
        now: Time,
        wire: &mut Wire,
        dropped: &mut Vec<Packet>,
    ) -> Option<Packet>;

    /// See [`Element::makes_copies`].
    fn makes_copies(&self) -> bool {
        false
    }

    /// See [`Element::copies`].
    fn copies(&self, _flow: u32) -> u64 {
        0
    }
}

/// An element that holds its packets on one wire.
#[derive(Debug)]
pub(super) struct Scheduled<S> {
    scheduler: S,
    wire: Wire,
}

impl<S: Scheduler + 'static> Scheduled<S> {
    /// Creates the element of a scheduler, with an empty wire.
    pub(super) fn boxed(scheduler: S) -> Box<dyn Element> {
        Box::new(Scheduled { scheduler, wire: Wire::default() })
    }
}

impl<S: Scheduler> Element for Scheduled<S> {
    fn accept(&mut self, packet: Packet, now: Time, dropped: &mut Vec<Packet>) -> Option<Packet> {
        self.scheduler.schedule(packet, now, &mut self.wire, dropped)
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

    fn makes_copies(&self) -> bool {
        self.scheduler.makes_copies()
    }

    fn copies(&self, flow: u32) -> u64 {
        self.scheduler.copies(flow)
    }
}
