//! Output of a sender or a receiver: packets to send, and events to record.

use crate::net::packet::Packet;

/// Packets to send and events to record; the caller empties it.
#[derive(Debug, Default)]
pub struct Outbox {
    /// Packets, in the order in which they leave.
    pub packets: Vec<Packet>,
    /// Rows for the `events` table.
    pub events: Vec<Event>,
    /// Packets that the queue of the host has dropped.
    pub dropped: Vec<Packet>,
    /// Index into the table of hops at which packets start.
    pub hop: u32,
}

impl Outbox {
    /// Appends a packet.
    #[inline]
    pub(crate) fn send(&mut self, packet: Packet) {
        self.packets.push(Packet { hop: self.hop, ..packet });
    }
}

/// An event of the sender, recorded in the `events` table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Fast recovery began.
    Recovery,
    /// Recovery, or the repair after a timeout, ended.
    Recovered,
    /// The retransmission timer expired.
    Timeout,
    /// A timeout or recovery was spurious and was undone.
    Undo,
    /// The window is reduced without a loss, for an ECN mark or at the algorithm's request.
    Reduction,
    /// The window was reduced because the connection had been idle.
    Restart,
    /// A tail loss probe was sent.
    Probe,
}

impl Event {
    /// Name in the `events` table.
    pub const fn name(self) -> &'static str {
        match self {
            Event::Recovery => "recovery",
            Event::Recovered => "recovered",
            Event::Timeout => "timeout",
            Event::Undo => "undo",
            Event::Reduction => "reduction",
            Event::Restart => "restart",
            Event::Probe => "probe",
        }
    }
}
