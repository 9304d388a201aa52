//! A link with any queue discipline in front of its transmitter.
//!
//! The end of a transmission is known when the transmission begins, so that the link needs no event at that
//! instant: whenever a packet arrives or leaves, the link first processes every transmission that has ended.
//! One event per packet suffices for queue, transmitter and propagation, with every queue discipline, and
//! each dequeue happens at its own time.

use std::collections::VecDeque;

use super::transmitter::{Sent, Transmitter};
use super::{Element, LinkView};
use crate::Time;
use crate::net::packet::{Flags, Packet};
use crate::net::queue::Queue;

#[derive(Clone, Copy, Debug)]
struct Transmission {
    start: Time,
    end: Time,
    bytes: u64,
}

/// A link with a [`Queue`].
#[derive(Debug)]
pub(super) struct QueuedLink<T> {
    transmitter: T,
    queue: Box<dyn Queue>,
    transmitting: Option<Transmission>,
    /// Packets in propagation, each with its departure time, then the packet in transmission.
    wire: VecDeque<(Time, Packet)>,
    /// Departure time of the last packet; no packet overtakes another.
    last_departure: Time,
    view: LinkView,
    /// The time up to which `view.backlog_packet_ns` is summed.
    summed_until: Time,
}

impl<T> QueuedLink<T> {
    /// Creates an idle link.
    pub(super) fn new(transmitter: T, queue: Box<dyn Queue>) -> QueuedLink<T> {
        QueuedLink {
            transmitter,
            queue,
            transmitting: None,
            wire: VecDeque::new(),
            last_departure: Time::ZERO,
            view: LinkView::default(),
            summed_until: Time::ZERO,
        }
    }
}

impl<T: Transmitter> QueuedLink<T> {
    /// Processes every transmission that ended by `now`.
    #[inline]
    fn advance(&mut self, now: Time, dropped: &mut Vec<Packet>) {
        while let Some(Transmission { start, end, bytes }) = self.transmitting
            && end <= now
        {
            self.view.delivered_packets += 1;
            self.view.delivered_bytes += bytes;
            self.view.busy_ns += (end - start).ns();
            self.transmit_next(end, dropped);
        }
    }

    /// Begins to transmit the next packet of the queue.
    #[inline]
    fn transmit_next(&mut self, start: Time, dropped: &mut Vec<Packet>) {
        self.sum_backlog(start);
        let dropped_before = dropped.len();
        let next = self.queue.dequeue(start, dropped);
        self.note_dropped(dropped.len() - dropped_before);
        self.begin(next, start);
    }

    /// Begins to transmit a packet, or becomes idle.
    #[inline]
    fn begin(&mut self, next: Option<Packet>, start: Time) {
        let Some(mut packet) = next else {
            self.transmitting = None;
            return;
        };
        self.view.backlog_packets -= 1;
        let Sent { end, departure, fate } = self.transmitter.transmit(start, packet.size_bytes);
        packet.flags = fate.mark(packet.flags);
        self.transmitting = Some(Transmission { start, end, bytes: u64::from(packet.size_bytes) });
        self.last_departure = departure.max(self.last_departure);
        self.wire.push_back((self.last_departure, packet));
    }

    #[inline]
    fn note_dropped(&mut self, packets: usize) {
        self.view.dropped_packets += packets as u64;
        self.view.backlog_packets -= packets as u64;
    }

    /// Integrates the backlog over the time since its last change.
    #[inline]
    fn sum_backlog(&mut self, now: Time) {
        self.view.backlog_packet_ns +=
            u128::from(self.view.backlog_packets) * u128::from((now - self.summed_until).ns());
        self.summed_until = now;
    }
}

impl<T: Transmitter> Element for QueuedLink<T> {
    fn accept(&mut self, packet: Packet, now: Time, dropped: &mut Vec<Packet>) -> Option<Packet> {
        self.advance(now, dropped);
        self.sum_backlog(now);
        self.view.arrived_packets += 1;
        self.view.backlog_packets += 1;
        let dropped_before = dropped.len();
        if self.transmitting.is_some() {
            self.queue.enqueue(packet, now, dropped);
            self.note_dropped(dropped.len() - dropped_before);
        } else {
            // An idle link has an empty queue, so that this packet is transmitted next.
            self.transmitter.after_idle();
            self.queue.enqueue(packet, now, dropped);
            let next = self.queue.dequeue(now, dropped);
            self.note_dropped(dropped.len() - dropped_before);
            self.begin(next, now);
        }
        self.view.max_backlog_packets = self.view.max_backlog_packets.max(self.view.backlog_packets);
        None
    }

    fn next(&self) -> Time {
        self.wire.front().map_or(Time::NEVER, |(at, _)| *at)
    }

    fn release(&mut self, now: Time, dropped: &mut Vec<Packet>) -> Option<Packet> {
        self.advance(now, dropped);
        let packet = self.wire.pop_front().map(|(_, packet)| packet);
        if T::LOSES && packet.is_some_and(|packet| packet.flags.has(Flags::LOST)) {
            dropped.extend(packet);
            return None;
        }
        packet
    }

    fn for_each(&self, visit: &mut dyn FnMut(&Packet)) {
        self.wire.iter().for_each(|(_, packet)| visit(packet));
        self.queue.for_each(visit);
    }

    fn observe(&mut self, now: Time, dropped: &mut Vec<Packet>) -> Option<LinkView> {
        self.advance(now, dropped);
        self.sum_backlog(now);
        debug_assert_eq!(
            self.view.backlog_packets,
            self.queue.backlog().packets,
            "the queue holds what it accepted"
        );
        let busy_ns = self.transmitting.as_ref().map_or(0, |transmission| (now - transmission.start).ns());
        let view = LinkView {
            backlog_bytes: self.queue.backlog().bytes,
            marked_packets: self.queue.marked_packets(),
            busy_ns: self.view.busy_ns + busy_ns,
            ..self.view
        };
        self.view.max_backlog_packets = self.view.backlog_packets;
        Some(view)
    }
}
