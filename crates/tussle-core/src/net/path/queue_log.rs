//! A log of one link: each packet that arrives at its queue, is dropped by it, or has been transmitted.
//!
//! The log wraps the queue and the transmitter of the link. A link without a log has no overhead.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Element;
use super::queued_link::QueuedLink;
use super::transmitter::{Sent, Transmitter};
use crate::Time;
use crate::net::packet::{Kind, Packet};
use crate::net::queue::{Backlog, Queue};
use crate::table::{Column, Labels, Table, Values};

/// Log of the packets of one link.
#[derive(Clone, Debug)]
pub struct QueueLog {
    link: String,
    records: Arc<Mutex<Records>>,
}

#[derive(Debug, Default)]
struct Records {
    rows: Vec<Row>,
    /// Arrival times of the queued packets. Copies of one packet leave in the order of their arrivals.
    queued: HashMap<PacketId, VecDeque<Time>>,
    /// Arrival time of the packet that left the queue last.
    arrived: Time,
}

#[derive(Clone, Copy, Debug)]
struct Row {
    at: Time,
    event: &'static str,
    size_bytes: u32,
    /// Arrival time of the packet at the queue.
    arrived: Time,
}

/// Fields of a packet that its path does not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct PacketId {
    flow: u32,
    kind: Kind,
    number: u32,
}

impl Records {
    fn arrive(&mut self, packet: &Packet, now: Time) {
        self.queued.entry(PacketId::of(packet)).or_default().push_back(now);
        self.rows.push(Row { at: now, event: "arrival", size_bytes: packet.size_bytes, arrived: now });
    }

    fn lose(&mut self, packet: &Packet, now: Time) {
        let arrived = self.remove(packet);
        self.rows.push(Row { at: now, event: "drop", size_bytes: packet.size_bytes, arrived });
    }

    /// Removes a packet from the queue; returns its arrival time.
    fn remove(&mut self, packet: &Packet) -> Time {
        let id = PacketId::of(packet);
        let times = self.queued.get_mut(&id).expect("a packet arrives before it leaves");
        let arrived = times.pop_front().expect("a packet leaves once");
        if times.is_empty() {
            self.queued.remove(&id);
        }
        arrived
    }
}

impl PacketId {
    fn of(packet: &Packet) -> PacketId {
        PacketId { flow: packet.flow, kind: packet.kind, number: packet.number }
    }
}

impl QueueLog {
    /// Creates an empty log of the link with a name.
    pub fn new(link: &str) -> QueueLog {
        QueueLog { link: link.to_owned(), records: Arc::default() }
    }

    /// Name of the link.
    pub(crate) fn link_name(&self) -> &str {
        &self.link
    }

    /// Builds a link that writes to this log.
    pub(super) fn logged(
        &self,
        transmitter: impl Transmitter + 'static,
        queue: Box<dyn Queue>,
    ) -> Box<dyn Element> {
        let queue = LoggedQueue { queue, log: self.clone() };
        Box::new(QueuedLink::new(LoggedTransmitter { transmitter, log: self.clone() }, Box::new(queue)))
    }

    /// Number of rows so far.
    pub fn rows(&self) -> usize {
        self.lock().rows.len()
    }

    /// Table with one row per arrival, drop and departure, in order of time. The last packets may depart
    /// after the end of the run.
    pub fn table(&self) -> Table {
        let mut rows = std::mem::take(&mut self.lock().rows);
        // A departure is known when its transmission begins.
        rows.sort_by_key(|row| row.at);
        let times = |time: fn(&Row) -> Time| Values::U64(rows.iter().map(|row| time(row).ns()).collect());
        let mut events = Labels::default();
        for row in &rows {
            events.push(row.event);
        }
        let columns = [
            ("time_ns", times(|row| row.at)),
            ("event", events.values()),
            ("size_bytes", Values::U32(rows.iter().map(|row| row.size_bytes).collect())),
            ("arrival_ns", times(|row| row.arrived)),
        ];
        let columns = columns.map(|(name, values)| Column { name: name.to_owned(), values });
        Table { name: "queue", columns: columns.into() }
    }

    fn lock(&self) -> MutexGuard<'_, Records> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A queue that logs arrivals and drops.
#[derive(Debug)]
struct LoggedQueue {
    queue: Box<dyn Queue>,
    log: QueueLog,
}

impl Queue for LoggedQueue {
    fn enqueue(&mut self, packet: Packet, now: Time, dropped: &mut Vec<Packet>) {
        let dropped_before = dropped.len();
        self.queue.enqueue(packet, now, dropped);
        let mut log = self.log.lock();
        log.arrive(&packet, now);
        for packet in &dropped[dropped_before..] {
            log.lose(packet, now);
        }
    }

    fn dequeue(&mut self, now: Time, dropped: &mut Vec<Packet>) -> Option<Packet> {
        let dropped_before = dropped.len();
        let packet = self.queue.dequeue(now, dropped);
        let mut log = self.log.lock();
        for packet in &dropped[dropped_before..] {
            log.lose(packet, now);
        }
        if let Some(packet) = &packet {
            log.arrived = log.remove(packet);
        }
        packet
    }

    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    fn marked_packets(&self) -> u64 {
        self.queue.marked_packets()
    }

    fn for_each(&self, visit: &mut dyn FnMut(&Packet)) {
        self.queue.for_each(visit);
    }
}

/// A transmitter that logs departures.
#[derive(Debug)]
struct LoggedTransmitter<T> {
    transmitter: T,
    log: QueueLog,
}

impl<T: Transmitter> Transmitter for LoggedTransmitter<T> {
    const LOSES: bool = T::LOSES;

    fn transmit(&mut self, start: Time, size_bytes: u32) -> Sent {
        let sent = self.transmitter.transmit(start, size_bytes);
        let mut log = self.log.lock();
        let row = Row { at: sent.end, event: "departure", size_bytes, arrived: log.arrived };
        log.rows.push(row);
        sent
    }

    fn after_idle(&mut self) {
        self.transmitter.after_idle();
    }
}
