//! The receiver: in-order delivery and acknowledgements with the behaviour of Linux 6.1.

use std::cmp::Ordering;

use super::delack::{Decision, DelayedAck, Path, QUICK_ACKS};
use super::output::Outbox;
use super::ranges::Ranges;
use super::rtt::RttEstimator;
use super::sack_list::{SackList, Urgency};
use crate::Time;
use crate::cc::EcnMode;
use crate::net::packet::{Block, Ecn, Flags, HEADER_BYTES, Kind, Packet, Sacks, timestamp_ms};
use crate::run::{Host, MAX_WINDOW_PACKETS};

/// SACKs sent at once before they are spaced out (Linux: `TCP_FASTRETRANS_THRESH`).
const PROMPT_SACKS: u32 = 3;
/// Largest number of ACKs that one spaced-out ACK replaces (Linux: `tcp_comp_sack_nr`).
const MAX_COMPRESSED: u32 = 44;
/// Longest delay of SACKs (Linux: `tcp_comp_sack_delay_ns`).
const MAX_COMPRESSION_DELAY: Time = Time::from_ms(1);
/// First window: the largest value of the field in a SYN-ACK, which is never scaled.
const FIRST_WINDOW_BYTES: u64 = 65_535;
/// Slack of the timer of delayed SACKs, which always fires at its end (Linux: `tcp_comp_sack_slack_ns`).
const COMPRESSION_SLACK: Time = Time::from_us(100);
/// Packets acknowledged at once after a congestion mark, or after a packet that should have been ECN-capable.
const QUICK_ACKS_ON_MARK: u32 = 2;

/// Settings of a receiver.
#[derive(Clone, Copy, Debug)]
pub struct ReceiverSetup {
    /// Index of the flow, on every packet.
    pub flow: u32,
    /// Settings of the host.
    pub host: Host,
    /// Whether both ends negotiated SACK.
    pub sack: bool,
    /// Payload of a full packet.
    pub mss_bytes: u32,
    /// Largest window that the receiver advertises.
    pub window_bytes: u64,
    /// ECN feedback of the receiver.
    pub ecn: EcnMode,
    /// Offset of the receiver's timestamps (Linux: `tsoffset`).
    pub timestamp_offset_ms: u32,
}

/// ECN state of the receiver. [RFC 3168, 6.1.3](https://www.rfc-editor.org/rfc/rfc3168#section-6.1.3)
#[derive(Clone, Copy, Debug, Default)]
struct EcnReceiver {
    negotiated: bool,
    /// Whether ACKs carry the ECN-Echo flag: until the sender reports its reduction, or with per-packet
    /// feedback while marked packets arrive.
    echoing: bool,
    /// Whether an ECN-capable packet has arrived.
    seen: bool,
}

/// Whether processing this packet already sent an ACK. No other ACK follows then, even if the ACK did not
/// cover the packet (Linux forgets that one is due).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct AckSent(bool);

/// State of the connection. [RFC 9293, 3.3.2](https://www.rfc-editor.org/rfc/rfc9293#section-3.3.2)
#[derive(Clone, Copy, Debug)]
enum Connection {
    /// Waiting for a SYN.
    Listen,
    /// The first SYN-ACK was sent at `since`.
    SynReceived { since: Time },
    /// Open.
    Established,
}

/// The receiving end of a connection.
#[derive(Debug)]
pub struct Receiver {
    setup: ReceiverSetup,
    /// First packet still missing (Linux: `rcv_nxt`).
    next: u32,
    /// Value of `next` in the last ACK (Linux: `rcv_wup`).
    acknowledged: u32,
    /// Packets that arrived out of order.
    out_of_order: Ranges,
    sack_list: SackList,
    dsack: Option<Block>,
    delack: DelayedAck,
    ecn: EcnReceiver,
    rtt: RttEstimator,
    /// Timestamp to echo, in ms (RFC 7323, 4.3).
    ts_recent_ms: u32,
    connection: Connection,
    /// Whether the next ACK is sent at once: a gap was filled, or the sender has finished or reduced its
    /// window.
    ack_now: bool,
    /// SACKs sent at once since `next` last changed.
    prompt_sacks: u32,
    prompt_sacks_at: u32,
    /// Number of delayed SACKs, and the end of their delay.
    compressed: u32,
    compressed_until: Time,
    delivered_bytes: u64,
    received_packets: u64,
    marks: u64,
    /// Number and payload of the last packet, if it arrived out of order.
    short_last: Option<(u32, u32)>,
    /// Advertised window, and its number of full packets.
    window_bytes: u64,
    window_packets: u32,
    finished: Option<Time>,
}

impl Receiver {
    /// A receiver that waits for a SYN.
    pub fn new(setup: ReceiverSetup) -> Receiver {
        let window_bytes = setup.window_bytes.min(FIRST_WINDOW_BYTES);
        Receiver {
            setup,
            next: 0,
            acknowledged: 0,
            out_of_order: Ranges::default(),
            sack_list: SackList::default(),
            dsack: None,
            delack: DelayedAck::new(setup.host.hz),
            ecn: EcnReceiver::default(),
            rtt: RttEstimator::new(setup.host.hz),
            ts_recent_ms: 0,
            connection: Connection::Listen,
            ack_now: false,
            prompt_sacks: 0,
            prompt_sacks_at: 0,
            compressed: 0,
            compressed_until: Time::NEVER,
            delivered_bytes: 0,
            received_packets: 0,
            marks: 0,
            short_last: None,
            window_bytes,
            window_packets: full_packets(window_bytes, setup.mss_bytes),
            finished: None,
        }
    }

    /// Bytes delivered to the application, in order.
    pub fn delivered_bytes(&self) -> u64 {
        self.delivered_bytes
    }

    /// Data packets that arrived, duplicates included.
    pub fn received_packets(&self) -> u64 {
        self.received_packets
    }

    /// Received congestion marks.
    pub fn marks(&self) -> u64 {
        self.marks
    }

    /// First packet still missing.
    pub fn next(&self) -> u32 {
        self.next
    }

    /// Time at which the last byte of a finite flow was delivered.
    pub fn finished(&self) -> Option<Time> {
        self.finished
    }

    /// Time of the next call of [`Receiver::on_timer`]; [`Time::NEVER`] if none is needed.
    #[inline]
    pub fn wake(&self) -> Time {
        self.delack.fires().min(self.compressed_until)
    }

    /// Processes a packet from the sender that arrived at `now`.
    #[inline]
    pub fn on_packet(&mut self, packet: &Packet, now: Time, out: &mut Outbox) {
        match packet.kind {
            Kind::Syn => self.on_syn(packet, now, out),
            Kind::Data => self.on_data(packet, now, out),
            Kind::Ack => {
                self.establish(now);
                self.ts_recent_ms = packet.ts_val_ms;
            }
            Kind::SynAck | Kind::Datagram => {}
        }
    }

    fn on_syn(&mut self, syn: &Packet, now: Time, out: &mut Outbox) {
        match self.connection {
            Connection::Listen => self.connection = Connection::SynReceived { since: now },
            Connection::SynReceived { .. } => {}
            // A duplicate SYN that later packets have overtaken.
            Connection::Established => return,
        }
        self.ts_recent_ms = syn.ts_val_ms;
        self.ecn.negotiated = self.setup.ecn > EcnMode::Off && syn.flags.has(Flags::ECE.with(Flags::CWR));
        let mut syn_ack = Packet::new(Kind::SynAck, self.setup.flow);
        syn_ack.ts_val_ms = self.timestamp(now);
        syn_ack.ts_echo_ms = syn.ts_val_ms;
        syn_ack.window_packets = self.window_packets;
        if self.ecn.negotiated {
            syn_ack.flags = Flags::ECE;
        }
        out.send(syn_ack);
    }

    fn timestamp(&self, now: Time) -> u32 {
        timestamp_ms(now).wrapping_add(self.setup.timestamp_offset_ms)
    }

    /// Establishes the connection by the third packet of the handshake, or by data that prove its
    /// transmission.
    fn establish(&mut self, now: Time) {
        if let Connection::SynReceived { since } = self.connection {
            let rtt_us = u32::try_from(now.since(since).us()).unwrap_or(u32::MAX);
            self.rtt.update(rtt_us, 0, 0);
            self.connection = Connection::Established;
        }
    }

    fn path(&self) -> Path {
        Path {
            rto: self.rtt.rto(),
            srtt: Time::from_us(u64::from(self.rtt.srtt_us().unwrap_or(0))),
            // Half the window, but at least two.
            quick_acks: (self.window_packets / 2).clamp(2, QUICK_ACKS),
        }
    }

    #[inline]
    fn on_data(&mut self, packet: &Packet, now: Time, out: &mut Outbox) {
        self.establish(now);
        self.received_packets += 1;
        if packet.number <= self.acknowledged {
            self.ts_recent_ms = packet.ts_val_ms;
        }
        if self.ecn.negotiated {
            // The window may be one packet now, whose ACK must not be delayed.
            self.ack_now |= packet.flags.has(Flags::CWR);
            match self.setup.ecn {
                EcnMode::PerPacket | EcnMode::L4s => self.reflect_mark(packet, now, out),
                EcnMode::Classic | EcnMode::Off => self.process_mark(packet),
            }
        }
        match packet.number.cmp(&self.next) {
            Ordering::Less => {
                self.report_duplicate(packet.number);
                self.delack.on_trouble(self.path().quick_acks);
            }
            Ordering::Equal => self.process_in_order(packet, now),
            Ordering::Greater => {
                if self.process_out_of_order(packet, now, out) == AckSent(true) {
                    return;
                }
            }
        }
        self.acknowledge(now, out);
    }

    #[inline]
    fn process_in_order(&mut self, packet: &Packet, now: Time) {
        self.delack.on_data(now, self.path());
        self.grow_window();
        self.next += 1;
        self.delivered_bytes += u64::from(packet.size_bytes - HEADER_BYTES);
        if packet.flags.has(Flags::FIN) {
            self.finish(now);
        }
        if self.out_of_order.is_empty() {
            return;
        }
        if let Some(block) = self.out_of_order.take_from(self.next) {
            self.next = block.end;
            self.delivered_bytes += self.bytes_of(block);
            if self.short_last.is_some_and(|(number, _)| number < self.next) {
                self.finish(now);
            }
        }
        self.sack_list.remove_below(self.next);
        // RFC 5681, 4.2: acknowledge at once when a gap is filled.
        self.ack_now |= self.out_of_order.is_empty();
    }

    /// Grows the window by two segments for each new packet, as long as the buffer has room (Linux:
    /// `tcp_grow_window`).
    #[inline]
    fn grow_window(&mut self) {
        if self.window_bytes < self.setup.window_bytes {
            let grown = self.window_bytes + 2 * u64::from(self.setup.mss_bytes);
            self.window_bytes = grown.min(self.setup.window_bytes);
            self.window_packets = full_packets(self.window_bytes, self.setup.mss_bytes);
            self.delack.on_window_growth();
        }
    }

    /// Reports a duplicate with the next ACK. [RFC 2883](https://www.rfc-editor.org/rfc/rfc2883)
    fn report_duplicate(&mut self, number: u32) {
        if self.setup.sack && self.setup.host.dsack {
            self.dsack = Some(Block { start: number, end: number + 1 });
        }
    }

    fn bytes_of(&self, block: Block) -> u64 {
        let full = u64::from(block.packets()) * u64::from(self.setup.mss_bytes);
        match self.short_last {
            Some((number, bytes)) if block.end > number => full - u64::from(self.setup.mss_bytes - bytes),
            _ => full,
        }
    }

    fn finish(&mut self, now: Time) {
        self.finished.get_or_insert(now);
        self.ack_now = true;
    }

    fn process_out_of_order(&mut self, packet: &Packet, now: Time, out: &mut Outbox) -> AckSent {
        let block = Block { start: packet.number, end: packet.number + 1 };
        if self.out_of_order.contains(packet.number) {
            self.report_duplicate(packet.number);
        } else {
            self.out_of_order.insert(block, |_| ());
            // Without SACK an ACK with another window would not count as a duplicate.
            if self.setup.sack {
                self.grow_window();
            }
        }
        if packet.flags.has(Flags::FIN) {
            self.short_last = Some((packet.number, packet.size_bytes - HEADER_BYTES));
        }
        if !self.setup.sack {
            return AckSent(false);
        }
        let held_back = self.compressed > 0;
        let urgency = if held_back { self.sack_list.urgency(packet.number) } else { Urgency::None };
        if urgency == Urgency::ReportBefore {
            self.send_ack(now, out);
        }
        self.sack_list.add(packet.number);
        if urgency == Urgency::ReportAfter {
            self.send_ack(now, out);
        }
        AckSent(urgency != Urgency::None)
    }

    fn process_mark(&mut self, packet: &Packet) {
        if packet.flags.has(Flags::CWR) {
            self.ecn.echoing = false;
        }
        match packet.ecn {
            Ecn::Ce => {
                self.marks += 1;
                if !self.ecn.echoing {
                    self.delack.on_trouble(QUICK_ACKS_ON_MARK);
                }
                self.ecn.echoing = true;
                self.ecn.seen = true;
            }
            Ecn::Ect0 | Ecn::Ect1 => self.ecn.seen = true,
            // Probably a retransmission: the sender waits for feedback.
            Ecn::NotEct if self.ecn.seen => self.delack.on_trouble(QUICK_ACKS_ON_MARK),
            Ecn::NotEct => {}
        }
    }

    /// Reflects marks so that one ACK covers only marked or only unmarked packets.
    /// [RFC 8257, 3.2](https://www.rfc-editor.org/rfc/rfc8257#section-3.2)
    fn reflect_mark(&mut self, packet: &Packet, now: Time, out: &mut Outbox) {
        let marked = packet.ecn == Ecn::Ce;
        self.marks += u64::from(marked);
        if marked != self.ecn.echoing {
            if self.delack.fires() < Time::NEVER {
                self.send_ack(now, out);
            }
            self.ecn.echoing = marked;
            self.ack_now = true;
        }
    }

    /// Decides when the current packet is acknowledged.
    #[inline]
    fn acknowledge(&mut self, now: Time, out: &mut Outbox) {
        // More than one full packet is unacknowledged (RFC 1122, 4.2.3.2), or there is a reason for an
        // immediate ACK.
        if self.next - self.acknowledged > 1 || self.delack.is_quick() || self.ack_now {
            return self.send_ack(now, out);
        }
        if self.out_of_order.is_empty() {
            if self.delack.delay(now, self.path()) == Decision::Now {
                self.send_ack(now, out);
            }
            return;
        }
        if !self.setup.sack || self.compressed >= MAX_COMPRESSED {
            return self.send_ack(now, out);
        }
        if self.prompt_sacks_at != self.next {
            self.prompt_sacks_at = self.next;
            self.prompt_sacks = 0;
        }
        if self.prompt_sacks < PROMPT_SACKS {
            self.prompt_sacks += 1;
            return self.send_ack(now, out);
        }
        self.compressed += 1;
        if self.compressed_until == Time::NEVER {
            // A twentieth of a round trip spaces SACKs but does not slow down recovery.
            let twentieth = Time::from_ns(self.path().srtt.ns() / 20);
            self.compressed_until = now + twentieth.min(MAX_COMPRESSION_DELAY) + COMPRESSION_SLACK;
        }
    }

    /// Sends the delayed ACK or SACK that is due.
    pub fn on_timer(&mut self, now: Time, out: &mut Outbox) {
        if self.delack.fires() <= now {
            self.delack.on_timer(self.path());
            self.send_ack(now, out);
        } else if self.compressed_until <= now {
            self.send_ack(now, out);
        }
    }

    fn send_ack(&mut self, now: Time, out: &mut Outbox) {
        let mut ack = Packet::new(Kind::Ack, self.setup.flow);
        ack.number = self.next;
        ack.window_packets = self.window_packets;
        ack.ts_val_ms = self.timestamp(now);
        ack.ts_echo_ms = self.ts_recent_ms;
        if self.ecn.echoing {
            ack.flags = Flags::ECE;
        }
        let mut sacks = Sacks::default();
        if let Some(block) = self.dsack.take() {
            sacks.push(block);
        }
        if self.setup.sack && !self.out_of_order.is_empty() {
            self.sack_list.fill(&mut sacks);
        }
        ack.set_sacks(sacks);
        out.send(ack);
        self.acknowledged = self.next;
        self.ack_now = false;
        self.compressed = 0;
        self.compressed_until = Time::NEVER;
        self.delack.on_ack_sent();
    }
}

/// Number of full packets in a window.
fn full_packets(window_bytes: u64, mss_bytes: u32) -> u32 {
    let packets = window_bytes / u64::from(mss_bytes);
    u32::try_from(packets).map_or(MAX_WINDOW_PACKETS, |packets| packets.min(MAX_WINDOW_PACKETS))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Test fixture that delivers data packets to a receiver and returns its ACKs.
    struct Fixture {
        receiver: Receiver,
        out: Outbox,
    }

    impl Fixture {
        fn new(ecn: EcnMode) -> Fixture {
            let setup = ReceiverSetup {
                flow: 0,
                host: Host::default(),
                sack: true,
                mss_bytes: 1448,
                window_bytes: 65_535,
                ecn,
                timestamp_offset_ms: 0,
            };
            let mut receiver = Receiver::new(setup);
            let mut out = Outbox::default();
            let mut syn = Packet::new(Kind::Syn, 0);
            syn.flags = Flags::ECE.with(Flags::CWR);
            receiver.on_packet(&syn, Time::ZERO, &mut out);
            receiver.on_packet(&Packet::new(Kind::Ack, 0), Time::from_ms(100), &mut out);
            out.packets.clear();
            Fixture { receiver, out }
        }

        /// A receiver after the quick ACKs of the start: packets 0 to 15 have arrived, one per millisecond.
        fn settled() -> Fixture {
            let mut fixture = Fixture::new(EcnMode::Off);
            for number in 0..16 {
                fixture.data(number, 200.0 + f64::from(number));
            }
            fixture
        }

        fn data(&mut self, number: u32, at_ms: f64) -> Vec<Packet> {
            self.packet(Packet { number, size_bytes: 1500, ..Packet::new(Kind::Data, 0) }, at_ms)
        }

        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "times of a test")]
        fn packet(&mut self, packet: Packet, at_ms: f64) -> Vec<Packet> {
            self.receiver.on_packet(&packet, Time::from_us((at_ms * 1000.0) as u64), &mut self.out);
            std::mem::take(&mut self.out.packets)
        }

        fn wait(&mut self) -> (Time, Vec<Packet>) {
            let at = self.receiver.wake();
            self.receiver.on_timer(at, &mut self.out);
            (at, std::mem::take(&mut self.out.packets))
        }
    }

    fn acknowledged(acks: &[Packet]) -> Vec<u32> {
        acks.iter().map(|ack| ack.number).collect()
    }

    fn blocks(ack: &Packet) -> Vec<(u32, u32)> {
        ack.sacks.as_slice().iter().map(|block| (block.start, block.end)).collect()
    }

    /// With the RTT of a satellite link, the first SYN-ACK is still in the network when the SYN is
    /// retransmitted.
    #[test]
    fn the_handshake_is_timed_from_its_first_answer() {
        let setup = ReceiverSetup {
            flow: 0,
            host: Host::default(),
            sack: true,
            mss_bytes: 1448,
            window_bytes: 65_535,
            ecn: EcnMode::Off,
            timestamp_offset_ms: 0,
        };
        let mut fixture = Fixture { receiver: Receiver::new(setup), out: Outbox::default() };
        let syn = Packet::new(Kind::Syn, 0);
        assert_eq!(fixture.packet(syn, 650.0).len(), 1);
        assert_eq!(fixture.packet(syn, 1650.0).len(), 1, "the answer may be lost");
        fixture.packet(Packet::new(Kind::Ack, 0), 1950.0);
        assert_eq!(fixture.receiver.path().srtt, Time::from_ms(1300));
        assert_eq!(fixture.packet(syn, 2650.0), [], "a duplicate that later packets have overtaken");
    }

    /// From 65 535 bytes, 45 packets, by two for each packet, to 65 535 + 20 × 2896 = 123 455 bytes, 85
    /// packets. The sixteen quick ACKs are left over: growing does not use them up.
    #[test]
    fn the_window_grows_by_two_for_each_packet_and_every_one_is_acknowledged() {
        let mut fixture = Fixture::new(EcnMode::Off);
        fixture.receiver.setup.window_bytes = 123_455;
        let acks: Vec<_> =
            (0..44).flat_map(|number| fixture.data(number, 200.0 + f64::from(number))).collect();
        let windows: Vec<_> = acks.iter().map(|ack| ack.window_packets).collect();
        assert_eq!(windows[..4], [47, 49, 51, 53]);
        assert_eq!(windows[18..21], [83, 85, 85]);
        assert_eq!(acknowledged(&acks)[34..], [35, 36, 38, 40, 42, 44]);
    }

    #[test]
    fn after_sixteen_quick_acks_every_second_packet_is_acknowledged() {
        let mut fixture = Fixture::settled();
        let acks: Vec<_> = (16..24)
            .flat_map(|number| acknowledged(&fixture.data(number, 220.0 + f64::from(number))))
            .collect();
        assert_eq!(acks, [18, 20, 22, 24]);
    }

    /// Received at 232 ms, tick 58; 40 ms are 10 ticks, fired one later: 276 ms.
    #[test]
    fn a_lone_packet_is_acknowledged_after_forty_milliseconds() {
        let mut fixture = Fixture::settled();
        assert_eq!(fixture.data(16, 232.0), []);
        let (at, acks) = fixture.wait();
        assert_eq!((at, acknowledged(&acks)), (Time::from_ms(276), vec![17]));
    }

    /// At 240 ms, 7 ticks after the packet before (tick 53): it may wait 10 / 2 + 7 = 12 ticks, from tick 60.
    #[test]
    fn acks_are_delayed_longer_for_a_slower_sender() {
        let mut fixture = Fixture::settled();
        assert_eq!(fixture.data(16, 240.0), []);
        assert_eq!(fixture.wait().0, Time::from_ms(292));
    }

    #[test]
    fn a_gap_is_reported_at_once_and_its_filling_too() {
        let mut fixture = Fixture::settled();
        let ack = fixture.data(17, 240.0);
        assert_eq!((acknowledged(&ack), blocks(&ack[0])), (vec![16], vec![(17, 18)]));
        let ack = fixture.data(16, 241.0);
        assert_eq!((acknowledged(&ack), blocks(&ack[0])), (vec![18], vec![]));
    }

    /// Three SACKs are sent at once; then one for all packets that arrive within min(1 ms, 100 ms / 20) and
    /// 100 µs of slack.
    #[test]
    fn many_sacks_are_spaced_by_a_millisecond() {
        let mut fixture = Fixture::settled();
        let at_once: usize = (17..30).map(|number| fixture.data(number, 240.0).len()).sum();
        assert_eq!(at_once, 3);
        let (at, acks) = fixture.wait();
        assert_eq!(at, Time::from_us(241_100));
        assert_eq!(blocks(&acks[0]), [(17, 30)]);
    }

    #[test]
    fn a_duplicate_packet_is_reported_by_dsack() {
        let mut fixture = Fixture::settled();
        let ack = fixture.data(3, 240.0);
        assert_eq!((acknowledged(&ack), blocks(&ack[0])), (vec![16], vec![(3, 4)]));
        fixture.data(18, 241.0);
        let ack = fixture.data(18, 242.0);
        assert_eq!(blocks(&ack[0]), [(18, 19), (18, 19)]);
    }

    #[test]
    fn the_last_packet_is_acknowledged_at_once_and_its_short_payload_counts() {
        let mut fixture = Fixture::settled();
        let last = Packet { number: 17, size_bytes: 152, flags: Flags::FIN, ..Packet::new(Kind::Data, 0) };
        fixture.packet(last, 240.0);
        assert_eq!(fixture.receiver.finished(), None, "16 is missing");
        let ack = fixture.data(16, 241.0);
        assert_eq!(acknowledged(&ack), [18]);
        assert_eq!(fixture.receiver.delivered_bytes(), 17 * 1448 + 100);
        assert_eq!(fixture.receiver.finished(), Some(Time::from_ms(241)));
    }

    #[test]
    fn a_mark_is_echoed_until_the_sender_has_reduced() {
        let mut fixture = Fixture::new(EcnMode::Classic);
        let mark = Packet { number: 0, size_bytes: 1500, ecn: Ecn::Ce, ..Packet::new(Kind::Data, 0) };
        assert!(fixture.packet(mark, 200.0)[0].flags.has(Flags::ECE));
        let plain = Packet { number: 1, ecn: Ecn::Ect0, ..mark };
        assert!(fixture.packet(plain, 201.0)[0].flags.has(Flags::ECE));
        let reduced = Packet { number: 2, flags: Flags::CWR, ..plain };
        assert!(!fixture.packet(reduced, 202.0)[0].flags.has(Flags::ECE));
        assert_eq!(fixture.receiver.marks(), 1);
    }

    /// Packets 0 to 15 are acknowledged by quick ACKs. Packet 16 is not marked and its ACK is delayed; 17 is
    /// marked: the ACK of 16 is sent first, without ECE, then that of 17 with ECE.
    #[test]
    fn with_feedback_for_each_packet_an_ack_never_mixes_marked_and_unmarked() {
        let mut fixture = Fixture::new(EcnMode::PerPacket);
        let data = |number, ecn| Packet { number, ecn, size_bytes: 1500, ..Packet::new(Kind::Data, 0) };
        for number in 0..16 {
            fixture.packet(data(number, Ecn::Ect0), 200.0 + f64::from(number));
        }
        assert_eq!(fixture.packet(data(16, Ecn::Ect0), 220.0), []);
        let acks = fixture.packet(data(17, Ecn::Ce), 220.5);
        let found: Vec<_> = acks.iter().map(|ack| (ack.number, ack.flags.has(Flags::ECE))).collect();
        assert_eq!(found, [(17, false), (18, true)]);
    }

    /// RFC 7323, 4.3: with packets 16 and 17 acknowledged together, the timestamp of 16 is echoed.
    #[test]
    fn a_delayed_ack_echoes_the_older_timestamp() {
        let mut fixture = Fixture::settled();
        let data =
            |number, ts_val_ms| Packet { number, ts_val_ms, size_bytes: 1500, ..Packet::new(Kind::Data, 0) };
        assert_eq!(fixture.packet(data(16, 500), 240.0), []);
        assert_eq!(fixture.packet(data(17, 501), 240.5)[0].ts_echo_ms, 500);
    }
}
