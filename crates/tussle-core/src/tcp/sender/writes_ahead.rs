//! The writes of an application where no send buffer limits them, and the push flags of those of a bulk sender.
//!
//! Linux sets the flag of the last packet before the application sleeps. A receiver whose application has read everything
//! acknowledges such a packet alone.

use super::{Connection, Sender, Setup};

impl Setup {
    /// Whether the push flags of a bulk sender without a send buffer matter and are known. With offloads they depend on how the
    /// host divides what is written.
    pub(super) fn pushes_ahead(&self) -> bool {
        self.reads_at_once && !self.has_application && self.host.wmem.is_none() && !self.host.offloads
    }

    /// Whether it matters how far the application has written ahead: what it has written is still sent after its end.
    pub(super) fn is_written_ahead(&self) -> bool {
        (self.ends && self.host.wmem.is_none()) || self.pushes_ahead()
    }
}

impl Sender {
    /// Sets the flags of the packets that a bulk sender's socket sends while it takes them.
    pub(super) fn push_first_window(&mut self) {
        if let Some(pushes) = &mut self.pushes
            && self.setup.pushes_ahead()
        {
            let sendable = self.control.cwnd.min(self.window_end);
            pushes.write_on(self.application.written.min(sendable), 0);
        }
    }

    /// Takes what the application writes, until it sleeps.
    pub(super) fn write_ahead(&mut self) {
        let Some(ahead) = &mut self.ahead else { return };
        if self.connection != Connection::Established {
            return;
        }
        ahead.fill(self.flow.nxt, self.application.written, self.setup.mss_bytes);
        if let Some(pushes) = &mut self.pushes
            && self.setup.pushes_ahead()
        {
            pushes.on_window(self.offered.packets());
            pushes.write(ahead.end(0), self.flow.una);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Time;
    use crate::cc::Entry;
    use crate::net::packet::{Flags, Kind, Packet, ReceiveWindow};
    use crate::run::Host;
    use crate::tcp::outbox::Outbox;
    use crate::tcp::sender::tests_setup;

    /// A bulk sender whose connection is established with a window of `window` packets, and what it has sent.
    fn established(host: Host, window: u32) -> (Sender, Outbox) {
        let setup = Setup { reads_at_once: true, ..tests_setup(host) };
        let entry = Entry::find("reno").unwrap();
        let parameters = entry.parameters(&std::collections::BTreeMap::new()).unwrap();
        let (mut sender, mut out) = (Sender::new(setup, (entry.build)(&parameters, 0)), Outbox::default());
        sender.write(u32::MAX, &mut out);
        sender.open(Time::ZERO, &mut out);
        acknowledge(&mut sender, Kind::SynAck, 0, window, &mut out);
        (sender, out)
    }

    fn acknowledge(sender: &mut Sender, kind: Kind, number: u32, window: u32, out: &mut Outbox) {
        let ack = Packet { number, window: ReceiveWindow::of_packets(window), ..Packet::new(kind, 0) };
        sender.on_packet(&ack, Time::from_ms(100 + u64::from(number)), out);
    }

    /// Numbers of the data packets with the flag.
    fn pushed(out: &Outbox) -> Vec<u32> {
        let data = out.packets.iter().filter(|packet| packet.kind == Kind::Data);
        data.filter(|packet| packet.flags.has(Flags::PSH)).map(|packet| packet.number).collect()
    }

    /// Half of 45 packets are 22, so that each 23rd packet has the flag until the application sleeps: ten packets are sent and
    /// 182 take 256 KiB, so that it has written 192. It continues at the ACK that leaves 90 of them unsent, and writes up to
    /// 182: 92 more.
    #[test]
    fn packets_before_which_a_bulk_sender_sleeps_are_pushed() {
        let (mut sender, mut out) = established(Host::default(), 45);
        for number in (2..300).step_by(2) {
            acknowledge(&mut sender, Kind::Ack, number, 1000, &mut out);
        }
        let flags = pushed(&out);
        assert_eq!(flags[..9], [22, 45, 68, 91, 114, 137, 160, 183, 191]);
        assert!(flags[9..].windows(2).all(|pair| [92, 93].contains(&(pair[1] - pair[0]))), "{flags:?}");
    }

    /// Half of 13 packets are 6. The other flags come after the ten packets of the first window.
    #[test]
    fn packets_of_the_first_window_are_pushed_too() {
        assert_eq!(pushed(&established(Host::default(), 13).1), [6]);
    }

    /// The receive window ends the first flight before the congestion window does. Half of 40 packets are 20, and 40 + 182 are
    /// written.
    #[test]
    fn a_first_window_larger_than_the_receive_window_has_the_flags_of_what_is_written() {
        let (sender, out) = established(Host { initial_cwnd: 1000, ..Host::default() }, 40);
        assert_eq!((pushed(&out), sender.flow.nxt), (vec![20], 40));
        assert_eq!(sender.ahead.unwrap().end(0), 222);
        assert!(sender.pushes.as_ref().unwrap().has(221));
    }

    #[test]
    fn with_offloads_no_flags_are_known() {
        let (mut sender, mut out) = established(Host { offloads: true, ..Host::default() }, 13);
        acknowledge(&mut sender, Kind::Ack, 10, 13, &mut out);
        assert!(sender.pushes.is_none());
    }
}
