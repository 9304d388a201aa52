//! What a receiver holds, what its application reads, and the windows that follow from it.

use super::{LargestWindow, Receiver, ReceiverSetup};
use crate::Time;
use crate::net::packet::{Packet, ReceiveWindow};
use crate::tcp::out_of_order::Memory;
use crate::tcp::outbox::Outbox;
use crate::tcp::receive_buffer::{ReceiveBuffer, ReceiveBufferSetup};

impl Receiver {
    /// Processes the arrival of a packet that takes room in the buffer.
    #[inline(never)]
    pub(super) fn before_data(&mut self, packet: &Packet, now: Time) {
        self.establish(now);
        self.hold_in_order(packet, Memory::Own);
    }

    /// Puts a packet that arrives in order into the buffer.
    pub(super) fn hold_in_order(&mut self, packet: &Packet, memory: Memory) {
        if let Some(buffer) = &mut self.buffer
            && packet.number == self.next
        {
            buffer.hold(memory);
        }
    }

    /// Processes the application's reading of all packets from `prior_next` on.
    /// `is_pushed`: the last one of those carries the push flag.
    #[inline(never)]
    pub(super) fn read(&mut self, prior_next: u32, is_pushed: bool, now: Time, out: &mut Outbox) {
        let packets = self.next - prior_next;
        if packets == 0 {
            return;
        }
        let next = self.next_byte();
        let (is_larger, is_empty) = match &mut self.buffer {
            Some(buffer) => (buffer.on_read(packets, next, now, &self.data_rtt), buffer.is_empty()),
            None => (false, self.out_of_order.is_empty()),
        };
        let unacknowledged = self.next - self.acknowledged;
        if is_larger || unacknowledged > 1 || (unacknowledged > 0 && is_pushed && is_empty) {
            self.send_unasked_ack(now, out);
        }
    }

    /// First byte still missing, as a position in the stream of the buffer.
    pub(super) fn next_byte(&self) -> u64 {
        u64::from(self.next) * u64::from(self.setup.mss_bytes)
    }

    /// Whether an ACK at this moment would report a window that is no smaller than the last one.
    #[inline]
    pub(super) fn keeps_window(&self) -> bool {
        self.buffer.as_ref().is_none_or(|buffer| buffer.keeps_window(self.next_byte()))
    }

    /// Sets the window of an ACK to what the buffer offers.
    #[inline(never)]
    pub(super) fn select_window(&mut self) {
        let next = self.next_byte();
        let Some(buffer) = &mut self.buffer else { return };
        let selected = buffer.select(next);
        if selected.is_scarce {
            self.delack.on_scarce_buffer();
        }
        self.window = ReceiveWindow::of_bytes(selected.window_bytes.into(), self.setup.mss_bytes);
    }
}

impl ReceiveBuffer {
    /// The buffer of a receiver; `None` if its window has a size of its own.
    pub(super) fn of(setup: &ReceiverSetup) -> Option<ReceiveBuffer> {
        let LargestWindow::FromBuffer { fixed_bytes } = setup.window else { return None };
        setup.host.rmem.map(|sizes| {
            ReceiveBuffer::new(ReceiveBufferSetup {
                host: setup.host,
                sizes,
                mss_bytes: setup.mss_bytes,
                fixed_window_bytes: fixed_bytes,
            })
        })
    }
}
