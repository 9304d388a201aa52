//! The application's writes through a send buffer.
//!
//! An application that finds the buffer full sleeps until a third of the used memory is free again. While it waits, the
//! buffer grows with the congestion window (Linux: `tcp_sndbuf_expand`).

use super::Sender;
use super::bursts::Push;
use crate::tcp::outbox::Outbox;

impl Sender {
    /// Sizes the buffer when the connection is established, and fills it.
    pub(super) fn open_buffer(&mut self, out: &mut Outbox) {
        self.expand_buffer();
        self.fill_buffer(out);
    }

    /// Lets a sleeping application continue if an ACK or a transmission has made room.
    #[inline(never)]
    pub(super) fn check_buffer(&mut self, out: &mut Outbox) {
        if let Some(pushes) = &mut self.pushes {
            pushes.on_window(self.offered.packets());
        }
        self.note_full_buffer();
        self.check_space();
        self.fill_buffer(out);
    }

    /// Accounts for new packets that have left the buffer, and lets the application continue if there is room.
    #[inline(never)]
    pub(super) fn after_sending_from_buffer(&mut self) {
        if let Some(buffer) = &mut self.send_buffer {
            buffer.has_sent = true;
            while buffer.unsent.front().is_some_and(|end| *end <= self.flow.nxt) {
                buffer.unsent.pop_front();
            }
        }
        self.check_space();
    }

    /// Grows the buffer if the application sleeps and the congestion window is not full; wakes the application if a third
    /// of the used memory is free (Linux: `tcp_new_space`).
    #[inline(never)]
    pub(super) fn check_space(&mut self) {
        if !self.send_buffer.as_ref().is_some_and(|buffer| buffer.sleeps) {
            return;
        }
        if self.flow.in_flight() < self.control.cwnd {
            self.expand_buffer();
            self.flow.usage.on_window_set(self.flow.now);
        }
        let used = self.used_bytes();
        if let Some(buffer) = &mut self.send_buffer
            && 3 * used <= 2 * buffer.size
        {
            buffer.sleeps = false;
            self.limits.on_room(self.flow.now);
        }
    }

    /// Takes what the application writes until the buffer is full, and sends it as the window allows.
    pub(super) fn fill_buffer(&mut self, out: &mut Outbox) {
        let most = self.buffer_limit();
        let mut sends = true;
        loop {
            let (used, nxt) = (self.used_bytes(), self.flow.nxt);
            let Some(buffer) = &mut self.send_buffer else { return };
            if buffer.sleeps || buffer.waiting == 0 {
                return;
            }
            let mut room = buffer.room_in_last(most, nxt);
            let begins = room == 0;
            if begins {
                if used >= buffer.size {
                    self.sleep(out);
                    continue;
                }
                room = most;
            }
            let to_write_end = buffer.write_packets - self.application.written % buffer.write_packets;
            let packets = room.min(buffer.waiting).min(to_write_end);
            buffer.waiting -= packets;
            self.application.closed = buffer.waiting == 0 && buffer.closes;
            self.application.written += packets;
            if begins {
                buffer.unsent.push_back(self.application.written);
            } else {
                let end = buffer.extend_last(packets);
                if let Some(pushes) = &mut self.pushes {
                    pushes.move_last(end, packets);
                }
            }
            let is_full = packets == room;
            let ends_write = packets == to_write_end || buffer.waiting == 0;
            let is_only = buffer.unsent.len() == 1;
            // The last packet of a write, and one in half of the largest window.
            let is_far = self.pushes.as_ref().is_some_and(|pushes| pushes.is_far(self.application.written));
            let is_pushed = ends_write || (is_full && is_far);
            if is_pushed {
                self.push_last();
            }
            if self.offload.is_none() {
                sends = sends && self.transmit_at_most(1, out) > 0;
            } else if is_pushed {
                self.transmit(out);
            } else if is_full && is_only {
                self.transmit_bursts(Push::Buffer, out);
            }
        }
    }

    /// Lets the application sleep until the buffer has room, and sends what it holds.
    fn sleep(&mut self, out: &mut Outbox) {
        if let Some(buffer) = &mut self.send_buffer {
            buffer.sleeps = true;
        }
        if self.flow.nxt < self.application.written {
            self.push_last();
        }
        self.transmit(out);
        if let Some(buffer) = &mut self.send_buffer {
            buffer.has_sent = true;
        }
        self.note_full_buffer();
    }

    /// Sets the push flag of the last packet written.
    fn push_last(&mut self) {
        if let Some(pushes) = &mut self.pushes {
            pushes.add(self.application.written - 1, self.flow.una);
        }
    }

    /// Records that the buffer limits the sender, if all of its packets were sent and the congestion window is not full.
    pub(super) fn note_full_buffer(&mut self) {
        let Some(buffer) = &mut self.send_buffer else { return };
        let (has_sent, sleeps) = (std::mem::take(&mut buffer.has_sent), buffer.sleeps);
        if has_sent
            && sleeps
            && self.flow.nxt == self.application.written
            && !self.flow.cwnd_limited(&self.control)
        {
            self.limits.on_full_buffer(self.flow.now);
        }
    }

    fn expand_buffer(&mut self) {
        let packets = self.control.cwnd.max(self.rack.reordering + 1);
        if let Some(buffer) = &mut self.send_buffer {
            buffer.expand(packets);
        }
    }

    /// Memory of the data that the socket holds. Sacked neighbours share a buffer (Linux: `tcp_shift_skb_data`).
    fn used_bytes(&self) -> u64 {
        let Some(buffer) = &self.send_buffer else { return 0 };
        let held = self.application.written - self.flow.una;
        let sent_buffers = if self.offload.is_some() {
            self.board.buffers(&self.flow)
        } else if self.setup.sack {
            self.flow.packets_out() - self.flow.sacked_out + self.board.sacked_ranges()
        } else {
            self.flow.packets_out()
        };
        let unsent_buffers = u32::try_from(buffer.unsent.len()).unwrap_or(u32::MAX);
        buffer.memory_bytes(held, unsent_buffers + sent_buffers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Time;
    use crate::cc::Entry;
    use crate::net::packet::{Kind, Packet, ReceiveWindow};
    use crate::run::{Host, Qdisc, SocketBuffer};
    use crate::tcp::LimitedTimes;
    use crate::tcp::sender::{Setup, tests_setup};

    const SHIPPED: SocketBuffer =
        SocketBuffer { min_bytes: 4096, default_bytes: 16_384, max_bytes: 4_194_304 };

    /// A bulk sender that opens its connection at 0.
    fn opening(host: Host, device_rate_bit_per_s: Option<u64>) -> (Sender, Outbox) {
        let entry = Entry::find("reno").unwrap();
        let setup = tests_setup(Host { qdisc: Qdisc::PfifoFast, ..host });
        let setup = Setup { device_rate_bit_per_s, ..setup };
        let parameters = entry.parameters(&std::collections::BTreeMap::new()).unwrap();
        let (mut sender, mut out) = (Sender::new(setup, (entry.build)(&parameters, 0)), Outbox::default());
        sender.write(u32::MAX, &mut out);
        sender.open(Time::ZERO, &mut out);
        (sender, out)
    }

    /// A bulk sender with the send buffer `wmem`.
    fn sender(wmem: SocketBuffer) -> (Sender, Outbox) {
        established(Host { wmem: Some(wmem), ..Host::default() })
    }

    /// A bulk sender whose connection was established 100 ms ago.
    fn established(host: Host) -> (Sender, Outbox) {
        let (mut sender, mut out) = opening(host, None);
        sender.on_packet(
            &Packet { window: ReceiveWindow::of_packets(5000), ..Packet::new(Kind::SynAck, 0) },
            Time::from_ms(100),
            &mut out,
        );
        out.packets.clear();
        (sender, out)
    }

    fn acknowledge(sender: &mut Sender, number: u32, at_ms: u64, out: &mut Outbox) -> usize {
        let ack = Packet { number, window: ReceiveWindow::of_packets(5000), ..Packet::new(Kind::Ack, 0) };
        sender.on_packet(&ack, Time::from_ms(at_ms), out);
        std::mem::take(&mut out.packets).len()
    }

    /// The SYN leaves the device at 1 Gbit/s within a microsecond, its answer takes 100 ms.
    #[test]
    fn no_data_are_sent_before_the_connection_is_established() {
        let (mut sender, mut out) =
            opening(Host { wmem: Some(SHIPPED), ..Host::default() }, Some(1_000_000_000));
        let mut woken = 0;
        while sender.wake() < Time::from_ms(100) {
            sender.on_timer(sender.wake(), &mut out);
            woken += 1;
        }
        assert!(woken > 0, "the device never released the SYN");
        let sent: Vec<_> = out.packets.iter().map(|packet| packet.kind).collect();
        assert_eq!((sent, sender.flow.nxt), (vec![Kind::Syn], 0));
    }

    /// Two windows of ten packets, of 4352 bytes each: 1460 bytes and room for headers and metadata, rounded up to 4096, and
    /// 256 more. Packets take 2728 bytes, so that 32 fit.
    #[test]
    fn the_first_buffer_holds_two_windows() {
        let (sender, _) = sender(SHIPPED);
        assert_eq!(sender.send_buffer.as_ref().unwrap().size, 2 * 10 * 4352);
        assert_eq!((sender.application.written, sender.flow.nxt), (32, 10));
    }

    /// A buffer of 40 000 bytes takes packets of 2728 bytes until 15 are in it. Ten are sent. The ACK of one lets the window
    /// send two more; those of three leave 12, more than two thirds of the buffer; after that of six, 9 packets remain, and the
    /// application fills the buffer up again.
    #[test]
    fn the_application_continues_when_a_third_of_the_used_memory_is_free() {
        let (mut sender, mut out) =
            sender(SocketBuffer { default_bytes: 40_000, max_bytes: 40_000, ..SHIPPED });
        assert_eq!((sender.application.written, sender.flow.nxt), (15, 10));
        assert_eq!(acknowledge(&mut sender, 1, 200, &mut out), 2);
        assert_eq!(acknowledge(&mut sender, 3, 201, &mut out), 3);
        assert_eq!((sender.application.written, sender.flow.nxt), (15, 15));
        assert_eq!(acknowledge(&mut sender, 6, 202, &mut out), 6);
        assert_eq!(sender.application.written, 21);
    }

    /// The window of 30 packets counts as used until the flight that filled the old one is acknowledged, at 260 ms. From then on
    /// the buffer of 15 packets limits.
    #[test]
    fn time_with_a_full_buffer_and_room_in_the_window_is_counted() {
        let (mut sender, mut out) =
            sender(SocketBuffer { default_bytes: 40_000, max_bytes: 40_000, ..SHIPPED });
        (sender.control.ssthresh, sender.control.cwnd) = (10, 30);
        acknowledge(&mut sender, 1, 200, &mut out);
        assert_eq!(sender.limited(Time::from_ms(260)), LimitedTimes::default());
        assert_eq!(acknowledge(&mut sender, 15, 260, &mut out), 15);
        let limited = LimitedTimes { send_buffer: Time::from_ms(40), ..LimitedTimes::default() };
        assert_eq!(sender.limited(Time::from_ms(300)), limited);
    }

    #[test]
    fn the_buffer_follows_the_window_up_to_its_maximum() {
        let (mut sender, mut out) = sender(SHIPPED);
        sender.control.cwnd = 500;
        acknowledge(&mut sender, 10, 200, &mut out);
        assert_eq!(sender.send_buffer.as_ref().unwrap().size, 4_194_304);
        // 1538 packets of 2728 bytes are the first that fill it.
        assert_eq!(sender.application.written - sender.flow.una, 1538);
    }

    /// A buffer of the queue takes 45 packets, 65 160 bytes, more than the 40 000 of the whole buffer, but what has begun is
    /// filled up: five bursts of two packets leave, and the application writes as many again each time. 55 packets and the
    /// metadata of six buffers remain. The ACK of a packet frees its payload; the next one ends the burst, and another leaves.
    #[test]
    fn with_offloads_buffers_of_the_queue_are_filled_up_and_take_metadata_once() {
        let wmem = SocketBuffer { default_bytes: 40_000, max_bytes: 40_000, ..SHIPPED };
        let (mut sender, mut out) = established(Host { wmem: Some(wmem), offloads: true, ..Host::default() });
        assert_eq!((sender.application.written, sender.flow.nxt), (55, 10));
        assert_eq!(sender.used_bytes(), 55 * 1448 + 6 * 1280);
        let used = [1, 2].map(|number| {
            acknowledge(&mut sender, number, 200, &mut out);
            (sender.flow.nxt, sender.used_bytes())
        });
        assert_eq!(used, [(12, 54 * 1448 + 7 * 1280), (14, 53 * 1448 + 7 * 1280)]);
    }
}
