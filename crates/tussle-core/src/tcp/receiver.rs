//! The receiver: puts packets in order, and acknowledges as Linux 6.1 does.

use std::cmp::Ordering;

use super::delack::{Decision, DelayedAck, Path, QUICK_ACKS};
use super::output::Outbox;
use super::ranges::Ranges;
use super::rtt::RttEstimator;
use super::sack_list::{SackList, Urgency};
use crate::Time;
use crate::cc::EcnMode;
use crate::net::packet::{Block, Ecn, Flags, HEADER_BYTES, Kind, Packet, Sacks, timestamp_ms};
use crate::run::MAX_WINDOW_PACKETS;

/// SACKs that go at once before they are spaced out (Linux: `TCP_FASTRETRANS_THRESH`).
const PROMPT_SACKS: u32 = 3;
/// Most ACKs that one spaced-out ACK stands for (Linux: `tcp_comp_sack_nr`).
const MOST_COMPRESSED: u32 = 44;
/// Longest time that SACKs are held back (Linux: `tcp_comp_sack_delay_ns`).
const MOST_COMPRESSION: Time = Time::from_ms(1);
/// First window: what fits into the field of a SYN-ACK, which no scale applies to.
const FIRST_WINDOW_BYTES: u64 = 65_535;
/// How much later their timer may fire, and does (Linux: `tcp_comp_sack_slack_ns`).
const COMPRESSION_SLACK: Time = Time::from_us(100);
/// Packets acknowledged at once after a congestion mark, or a packet that should have been markable.
const QUICK_ACKS_ON_MARK: u32 = 2;

/// How a receiver is set up.
#[derive(Clone, Copy, Debug)]
pub struct ReceiverSetup {
    /// Index of the flow, on every packet.
    pub flow: u32,
    /// Timer ticks a second.
    pub hz: u32,
    /// Payload of full packets.
    pub mss_bytes: u32,
    /// Window that it offers in the end.
    pub window_bytes: u64,
    /// What ECN feedback it gives.
    pub ecn: EcnMode,
    /// Offset of its timestamps (Linux: `tsoffset`).
    pub timestamp_offset_ms: u32,
}

/// ECN at the receiver. [RFC 3168, 6.1.3](https://www.rfc-editor.org/rfc/rfc3168#section-6.1.3)
#[derive(Clone, Copy, Debug, Default)]
struct EcnReceiver {
    negotiated: bool,
    /// ACKs carry ECE: until the sender says that it has reduced its window or, with feedback for each
    /// packet, while marked packets arrive.
    echoing: bool,
    /// A markable packet has arrived.
    seen: bool,
}

/// Whether an ACK went for a packet while it was taken in: then none follows for it, even one without it (Linux
/// forgets that one is due).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    Now,
    Later,
}

/// How far the connection is open.
#[derive(Clone, Copy, Debug)]
enum Opening {
    Listening,
    /// The first SYN-ACK was sent at that time.
    Answered {
        at: Time,
    },
    Established,
}

/// The receiving end of a connection.
#[derive(Debug)]
pub struct Receiver {
    setup: ReceiverSetup,
    /// First packet still missing (Linux: `rcv_nxt`).
    next: u32,
    /// `next` in the last ACK (Linux: `rcv_wup`).
    acknowledged: u32,
    beyond: Ranges,
    sack_list: SackList,
    dsack: Option<Block>,
    delack: DelayedAck,
    ecn: EcnReceiver,
    rtt: RttEstimator,
    /// Timestamp to echo, in ms (RFC 7323, 4.3).
    ts_recent_ms: u32,
    opening: Opening,
    /// A gap was filled, or the sender is finished or has reduced: the next ACK goes at once.
    ack_now: bool,
    /// SACKs that went at once since `next` last moved.
    prompt_sacks: u32,
    prompt_sacks_at: u32,
    /// SACKs held back, and until when.
    compressed: u32,
    compressed_until: Time,
    delivered_bytes: u64,
    received_packets: u64,
    marks: u64,
    /// Payload of the last packet, once it has arrived out of order.
    short_last: Option<(u32, u32)>,
    /// Window that it offers now, and how many full packets that are.
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
            beyond: Ranges::default(),
            sack_list: SackList::default(),
            dsack: None,
            delack: DelayedAck::new(setup.hz),
            ecn: EcnReceiver::default(),
            rtt: RttEstimator::new(setup.hz),
            ts_recent_ms: 0,
            opening: Opening::Listening,
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

    /// Bytes handed to the application, in order.
    pub fn delivered_bytes(&self) -> u64 {
        self.delivered_bytes
    }

    /// Data packets that arrived, duplicates included.
    pub fn received_packets(&self) -> u64 {
        self.received_packets
    }

    /// Congestion marks that arrived.
    pub fn marks(&self) -> u64 {
        self.marks
    }

    /// First packet still missing.
    pub fn next(&self) -> u32 {
        self.next
    }

    /// When the last byte of a finite flow was delivered.
    pub fn finished(&self) -> Option<Time> {
        self.finished
    }

    /// When [`Receiver::on_timer`] is to be called next; [`Time::NEVER`] if not.
    #[inline]
    pub fn wake(&self) -> Time {
        self.delack.fires().min(self.compressed_until)
    }

    /// A packet arrived from the sender at `now`.
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
        match self.opening {
            Opening::Listening => self.opening = Opening::Answered { at: now },
            Opening::Answered { .. } => {}
            // A copy that was overtaken.
            Opening::Established => return,
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

    /// The third packet of the handshake arrived, or data that prove that it was sent.
    fn establish(&mut self, now: Time) {
        if let Opening::Answered { at } = self.opening {
            let rtt_us = u32::try_from(now.since(at).us()).unwrap_or(u32::MAX);
            self.rtt.update(rtt_us, 0, 0);
            self.opening = Opening::Established;
        }
    }

    fn path(&self) -> Path {
        Path {
            rto: self.rtt.rto(),
            srtt: Time::from_us(u64::from(self.rtt.srtt_us().unwrap_or(0))),
            // As many as half the window, but two at least.
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
            // The window may be one packet now, which then must not wait.
            self.ack_now |= packet.flags.has(Flags::CWR);
            match self.setup.ecn {
                EcnMode::PerPacket | EcnMode::L4s => self.reflect_mark(packet, now, out),
                EcnMode::Classic | EcnMode::Off => self.take_mark(packet),
            }
        }
        match packet.number.cmp(&self.next) {
            Ordering::Less => {
                self.dsack = Some(Block { start: packet.number, end: packet.number + 1 });
                self.delack.on_trouble(self.path().quick_acks);
            }
            Ordering::Equal => self.take_in_order(packet, now),
            Ordering::Greater => {
                if self.take_beyond(packet, now, out) == Told::Now {
                    return;
                }
            }
        }
        self.acknowledge(now, out);
    }

    #[inline]
    fn take_in_order(&mut self, packet: &Packet, now: Time) {
        self.delack.on_data(now, self.path());
        self.grow_window();
        self.next += 1;
        self.delivered_bytes += u64::from(packet.size_bytes - HEADER_BYTES);
        if packet.flags.has(Flags::FIN) {
            self.finish(now);
        }
        if self.beyond.is_empty() {
            return;
        }
        if let Some(block) = self.beyond.take_from(self.next) {
            self.next = block.end;
            self.delivered_bytes += self.bytes_of(block);
            if self.short_last.is_some_and(|(number, _)| number < self.next) {
                self.finish(now);
            }
        }
        self.sack_list.remove_below(self.next);
        // RFC 5681, 4.2: acknowledge at once when a gap is filled.
        self.ack_now |= self.beyond.is_empty();
    }

    /// The window grows by two segments with each packet that was missing, as long as the buffer has room
    /// (Linux: `tcp_grow_window`).
    #[inline]
    fn grow_window(&mut self) {
        if self.window_bytes < self.setup.window_bytes {
            let grown = self.window_bytes + 2 * u64::from(self.setup.mss_bytes);
            self.window_bytes = grown.min(self.setup.window_bytes);
            self.window_packets = full_packets(self.window_bytes, self.setup.mss_bytes);
            self.delack.on_window_growth();
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

    fn take_beyond(&mut self, packet: &Packet, now: Time, out: &mut Outbox) -> Told {
        let block = Block { start: packet.number, end: packet.number + 1 };
        if self.beyond.contains(packet.number) {
            self.dsack = Some(block);
        } else {
            self.beyond.insert(block, |_| ());
            self.grow_window();
        }
        if packet.flags.has(Flags::FIN) {
            self.short_last = Some((packet.number, packet.size_bytes - HEADER_BYTES));
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
        if urgency == Urgency::None { Told::Later } else { Told::Now }
    }

    fn take_mark(&mut self, packet: &Packet) {
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
            // Probably a retransmission: the sender waits for news.
            Ecn::NotEct if self.ecn.seen => self.delack.on_trouble(QUICK_ACKS_ON_MARK),
            Ecn::NotEct => {}
        }
    }

    /// An ACK stands for packets that were all marked or all not.
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

    /// Decides when the packet that just came is acknowledged.
    #[inline]
    fn acknowledge(&mut self, now: Time, out: &mut Outbox) {
        // More than one full packet waits (RFC 1122, 4.2.3.2), or there is a reason to hurry.
        if self.next - self.acknowledged > 1 || self.delack.is_quick() || self.ack_now {
            return self.send_ack(now, out);
        }
        if self.beyond.is_empty() {
            if self.delack.delay(now, self.path()) == Decision::Now {
                self.send_ack(now, out);
            }
            return;
        }
        if self.compressed >= MOST_COMPRESSED {
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
            // A twentieth of a round trip, so that SACKs are spaced but recovery is not slowed.
            let twentieth = Time::from_ns(self.path().srtt.ns() / 20);
            self.compressed_until = now + twentieth.min(MOST_COMPRESSION) + COMPRESSION_SLACK;
        }
    }

    /// A delayed or held-back ACK is due.
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
        if !self.beyond.is_empty() {
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

/// How many full packets a window is.
fn full_packets(window_bytes: u64, mss_bytes: u32) -> u32 {
    let packets = window_bytes / u64::from(mss_bytes);
    u32::try_from(packets).map_or(MAX_WINDOW_PACKETS, |packets| packets.min(MAX_WINDOW_PACKETS))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Plays data packets to a receiver and tells what it acknowledges.
    struct Story {
        receiver: Receiver,
        out: Outbox,
    }

    impl Story {
        fn new(ecn: EcnMode) -> Story {
            let setup = ReceiverSetup {
                flow: 0,
                hz: 250,
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
            Story { receiver, out }
        }

        /// After the quick ACKs of the start: packets 0 to 15 have arrived, one a millisecond.
        fn settled() -> Story {
            let mut story = Story::new(EcnMode::Off);
            for number in 0..16 {
                story.data(number, 200.0 + f64::from(number));
            }
            story
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

    /// Over a satellite the first SYN-ACK is still on its way when the SYN is sent again.
    #[test]
    fn the_handshake_is_timed_from_its_first_answer() {
        let setup = ReceiverSetup {
            flow: 0,
            hz: 250,
            mss_bytes: 1448,
            window_bytes: 65_535,
            ecn: EcnMode::Off,
            timestamp_offset_ms: 0,
        };
        let mut story = Story { receiver: Receiver::new(setup), out: Outbox::default() };
        let syn = Packet::new(Kind::Syn, 0);
        assert_eq!(story.packet(syn, 650.0).len(), 1);
        assert_eq!(story.packet(syn, 1650.0).len(), 1, "the answer may be lost");
        story.packet(Packet::new(Kind::Ack, 0), 1950.0);
        assert_eq!(story.receiver.path().srtt, Time::from_ms(1300));
        assert_eq!(story.packet(syn, 2650.0), [], "a copy that was overtaken");
    }

    /// From 65 535 bytes, 45 packets, by two for each packet, to 65 535 + 20 × 2896 = 123 455 bytes, 85 packets.
    /// The sixteen quick ACKs are left over: growing does not use them up.
    #[test]
    fn the_window_grows_by_two_for_each_packet_and_every_one_is_acknowledged() {
        let mut story = Story::new(EcnMode::Off);
        story.receiver.setup.window_bytes = 123_455;
        let acks: Vec<_> = (0..44).flat_map(|number| story.data(number, 200.0 + f64::from(number))).collect();
        let windows: Vec<_> = acks.iter().map(|ack| ack.window_packets).collect();
        assert_eq!(windows[..4], [47, 49, 51, 53]);
        assert_eq!(windows[18..21], [83, 85, 85]);
        assert_eq!(acknowledged(&acks)[34..], [35, 36, 38, 40, 42, 44]);
    }

    #[test]
    fn after_sixteen_quick_acks_every_second_packet_is_acknowledged() {
        let mut story = Story::settled();
        let acks: Vec<_> = (16..24)
            .flat_map(|number| acknowledged(&story.data(number, 220.0 + f64::from(number))))
            .collect();
        assert_eq!(acks, [18, 20, 22, 24]);
    }

    /// Received at 232 ms, tick 58; 40 ms are 10 ticks, fired one later: 276 ms.
    #[test]
    fn a_lone_packet_is_acknowledged_after_forty_milliseconds() {
        let mut story = Story::settled();
        assert_eq!(story.data(16, 232.0), []);
        let (at, acks) = story.wait();
        assert_eq!((at, acknowledged(&acks)), (Time::from_ms(276), vec![17]));
    }

    /// At 240 ms, 7 ticks after the packet before (tick 53): it may wait 10 / 2 + 7 = 12 ticks, from tick 60.
    #[test]
    fn a_slower_sender_lets_acks_wait_longer() {
        let mut story = Story::settled();
        assert_eq!(story.data(16, 240.0), []);
        assert_eq!(story.wait().0, Time::from_ms(292));
    }

    #[test]
    fn a_gap_is_reported_at_once_and_its_filling_too() {
        let mut story = Story::settled();
        let ack = story.data(17, 240.0);
        assert_eq!((acknowledged(&ack), blocks(&ack[0])), (vec![16], vec![(17, 18)]));
        let ack = story.data(16, 241.0);
        assert_eq!((acknowledged(&ack), blocks(&ack[0])), (vec![18], vec![]));
    }

    /// Three go at once; then one for all that come within min(1 ms, 100 ms / 20) and 100 µs of slack.
    #[test]
    fn many_sacks_are_spaced_by_a_millisecond() {
        let mut story = Story::settled();
        let at_once: usize = (17..30).map(|number| story.data(number, 240.0).len()).sum();
        assert_eq!(at_once, 3);
        let (at, acks) = story.wait();
        assert_eq!(at, Time::from_us(241_100));
        assert_eq!(blocks(&acks[0]), [(17, 30)]);
    }

    #[test]
    fn a_packet_that_comes_twice_is_reported_as_a_duplicate() {
        let mut story = Story::settled();
        let ack = story.data(3, 240.0);
        assert_eq!((acknowledged(&ack), blocks(&ack[0])), (vec![16], vec![(3, 4)]));
        story.data(18, 241.0);
        let ack = story.data(18, 242.0);
        assert_eq!(blocks(&ack[0]), [(18, 19), (18, 19)]);
    }

    #[test]
    fn the_last_packet_is_acknowledged_at_once_and_its_short_payload_counts() {
        let mut story = Story::settled();
        let last = Packet { number: 17, size_bytes: 152, flags: Flags::FIN, ..Packet::new(Kind::Data, 0) };
        story.packet(last, 240.0);
        assert_eq!(story.receiver.finished(), None, "16 is missing");
        let ack = story.data(16, 241.0);
        assert_eq!(acknowledged(&ack), [18]);
        assert_eq!(story.receiver.delivered_bytes(), 17 * 1448 + 100);
        assert_eq!(story.receiver.finished(), Some(Time::from_ms(241)));
    }

    #[test]
    fn a_mark_is_echoed_until_the_sender_has_reduced() {
        let mut story = Story::new(EcnMode::Classic);
        let mark = Packet { number: 0, size_bytes: 1500, ecn: Ecn::Ce, ..Packet::new(Kind::Data, 0) };
        assert!(story.packet(mark, 200.0)[0].flags.has(Flags::ECE));
        let plain = Packet { number: 1, ecn: Ecn::Ect0, ..mark };
        assert!(story.packet(plain, 201.0)[0].flags.has(Flags::ECE));
        let reduced = Packet { number: 2, flags: Flags::CWR, ..plain };
        assert!(!story.packet(reduced, 202.0)[0].flags.has(Flags::ECE));
        assert_eq!(story.receiver.marks(), 1);
    }

    /// Packets 0 to 15 go by quick ACKs. 16 is not marked and its ACK waits; 17 is marked: the ACK of 16 goes
    /// first, without ECE, then that of 17 with it.
    #[test]
    fn with_feedback_for_each_packet_an_ack_never_mixes_marked_and_unmarked() {
        let mut story = Story::new(EcnMode::PerPacket);
        let data = |number, ecn| Packet { number, ecn, size_bytes: 1500, ..Packet::new(Kind::Data, 0) };
        for number in 0..16 {
            story.packet(data(number, Ecn::Ect0), 200.0 + f64::from(number));
        }
        assert_eq!(story.packet(data(16, Ecn::Ect0), 220.0), []);
        let acks = story.packet(data(17, Ecn::Ce), 220.5);
        let found: Vec<_> = acks.iter().map(|ack| (ack.number, ack.flags.has(Flags::ECE))).collect();
        assert_eq!(found, [(17, false), (18, true)]);
    }

    /// RFC 7323, 4.3: with packets 16 and 17 acknowledged together, the timestamp of 16 is echoed.
    #[test]
    fn a_delayed_ack_echoes_the_older_timestamp() {
        let mut story = Story::settled();
        let data =
            |number, ts_val_ms| Packet { number, ts_val_ms, size_bytes: 1500, ..Packet::new(Kind::Data, 0) };
        assert_eq!(story.packet(data(16, 500), 240.0), []);
        assert_eq!(story.packet(data(17, 501), 240.5)[0].ts_echo_ms, 500);
    }
}
