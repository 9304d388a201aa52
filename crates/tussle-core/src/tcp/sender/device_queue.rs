//! The sender and its device: departure times, small queues, and drops in the host.
//!
//! Source: [TCP small queues](https://lwn.net/Articles/507065/), with the limit that follows the pacing rate.

use super::Sender;
use crate::Time;
use crate::net::packet::{HEADER_BYTES, Kind, Packet};
use crate::tcp::device::{Released, memory_bytes};
use crate::tcp::outbox::Outbox;
use crate::tcp::pacer::Pacing;

/// Share of a second for which the packets in a device suffice at the pacing rate: 2^-10 s (Linux: `sk_pacing_shift`).
const LIMIT_SHIFT: u32 = 10;

/// Packets that may be in a device, relative to the limit.
#[derive(Clone, Copy, Debug)]
pub(super) enum Allowance {
    /// The limit, for new packets.
    Whole = 0,
    /// Twice the limit, for retransmissions.
    Double = 1,
}

impl Outbox {
    /// Destination of the packets that a device releases.
    fn released(&mut self) -> Released<'_> {
        Released { left: &mut self.packets, dropped: &mut self.dropped }
    }
}

impl Sender {
    /// Departure time of a packet that is sent now.
    #[inline]
    pub(super) fn departure(&self) -> Time {
        match &self.pacer {
            Some(pacer) if pacer.pacing == Pacing::Queue => pacer.next().max(self.flow.now),
            _ => self.flow.now,
        }
    }

    /// Sends a packet by the device of the host.
    #[inline]
    pub(super) fn emit(&mut self, packet: Packet, departure: Time, out: &mut Outbox) {
        match &mut self.device {
            None => out.send(packet),
            Some(device) => {
                device.send(Packet { hop: out.hop, ..packet }, departure, self.flow.now, &mut out.released());
            }
        }
    }

    /// Whether the sender must wait for its device before it sends packet `number`.
    #[inline]
    pub(super) fn waits_for_device(&mut self, number: u32, allowance: Allowance, out: &mut Outbox) -> bool {
        self.device.is_some() && (self.is_limit_reached(allowance) || self.is_dropped(number, out))
    }

    /// Whether the device holds as much of the flow as it may.
    fn is_limit_reached(&mut self, allowance: Allowance) -> bool {
        let (Some(device), Some(pacer)) = (&mut self.device, &self.pacer) else { return false };
        let Some(limit_output_bytes) = self.setup.host.limit_output_bytes else { return false };
        let full = Packet { size_bytes: HEADER_BYTES + self.setup.mss_bytes, ..Packet::new(Kind::Data, 0) };
        let rate_bit_per_s = pacer.bit_per_s(&self.control).unwrap_or(u64::MAX);
        let mut limit_bytes = (2 * memory_bytes(&full)).max((rate_bit_per_s / 8) >> LIMIT_SHIFT);
        if pacer.pacing == Pacing::Off {
            limit_bytes = limit_bytes.min(limit_output_bytes);
        }
        // Linux counts one byte for the connection itself.
        let is_reached = device.memory_bytes() + 1 > limit_bytes << allowance as u32;
        // With one packet or none outstanding, nothing else would make the sender continue.
        device.is_awaited |= is_reached && self.flow.packets_out() > 1;
        is_reached && self.flow.packets_out() > 1
    }

    /// Whether the queue of the device drops packet `number`. The sender learns of it, takes it for congestion, and sends
    /// the packet later, as if it had not tried.
    fn is_dropped(&mut self, number: u32, out: &mut Outbox) -> bool {
        let departure = self.departure();
        let is_dropped = self.device.as_ref().is_some_and(|device| device.refuses(departure, self.flow.now));
        if is_dropped {
            self.counts.sent_packets += 1;
            self.counts.retransmitted_packets += u64::from(number < self.flow.nxt);
            out.dropped.push(self.data_packet(number, departure));
            self.enter_cwr(out);
        }
        is_dropped
    }

    /// Whether the device still holds the last transmission of a packet, which then is not retransmitted.
    pub(super) fn is_in_device(&mut self, number: u32) -> bool {
        let Some(device) = &mut self.device else { return false };
        let held = device.holds(number);
        device.is_awaited |= held;
        held
    }

    /// Lets packets leave the device, and continues to send if the sender waits for that.
    pub(super) fn release_device(&mut self, out: &mut Outbox) {
        let Some(device) = &mut self.device else { return };
        if device.next() <= self.flow.now
            && device.release(self.flow.now, &mut out.released())
            && std::mem::take(&mut device.is_awaited)
        {
            self.retransmit_lost(out);
            self.transmit(out);
        }
    }

    /// Calls `visit` with every packet in the queue of the device.
    pub fn for_each_queued(&self, visit: &mut dyn FnMut(&Packet)) {
        if let Some(device) = &self.device {
            device.for_each(visit);
        }
    }
}
