//! The receiver: in-order delivery and acknowledgements with the behaviour of Linux 6.1.

use std::cmp::Ordering;

use super::delack::{Decision, DelayedAck, Path, QUICK_ACKS};
use super::merging::Merged;
use super::out_of_order::Memory;
use super::outbox::Outbox;
use super::ranges::Ranges;
use super::receive_buffer::{ReceiveBuffer, window_scale};
use super::receiver_rtt::ReceiverRtt;
use super::rtt::RttEstimator;
use super::sack_list::{SackList, Urgency};
use crate::Time;
use crate::cc::EcnMode;
use crate::net::packet::{Block, Ecn, Flags, Kind, Packet, ReceiveWindow, Sacks, header_bytes, timestamp_ms};
use crate::run::Host;

/// SACKs sent at once before they are spaced out (Linux: `TCP_FASTRETRANS_THRESH`).
const PROMPT_SACKS: u32 = 3;
/// Largest number of ACKs that one spaced-out ACK replaces (Linux: `tcp_comp_sack_nr`).
const MAX_COMPRESSED: u32 = 44;
/// Longest delay of SACKs (Linux: `tcp_comp_sack_delay_ns`).
const MAX_COMPRESSION_DELAY: Time = Time::from_ms(1);
/// First window: the largest value of the field in a SYN-ACK, which is never scaled.
pub(crate) const FIRST_WINDOW_BYTES: u64 = 65_535;
/// Smallest packet in order for which the window grows (Linux: `tcp_event_data_recv`).
const GROWTH_BYTES: u32 = 128;
/// Slack of the timer of delayed SACKs, which always fires at its end (Linux: `tcp_comp_sack_slack_ns`).
const COMPRESSION_SLACK: Time = Time::from_us(100);
/// `number` of an ACK that is a window probe; the ACK of the handshake has number 0.
pub(super) const WINDOW_PROBE: u32 = 1;
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
    /// Whether both ends negotiated timestamps.
    pub timestamps: bool,
    /// Payload of a full packet.
    pub mss_bytes: u32,
    /// Largest window that the receiver advertises.
    pub window: LargestWindow,
    /// ECN feedback of the receiver.
    pub ecn: EcnMode,
    /// Offset of the receiver's timestamps (Linux: `tsoffset`).
    pub timestamp_offset_ms: u32,
    /// Whether the application reads each packet at once, and not many together; it does where the window is that of a buffer.
    pub reads_at_once: bool,
}

/// Largest window of a receiver.
#[derive(Clone, Copy, Debug)]
pub enum LargestWindow {
    /// A number of bytes, up to which the window grows by two segments for each packet.
    Bytes(u64),
    /// The window of the receive buffer in the host's settings.
    FromBuffer {
        /// Window that the application set, which ends autotuning.
        fixed_bytes: Option<u64>,
    },
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

/// What a packet leaves to acknowledge. Of several packets that are processed as one, the greatest value counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Left {
    /// Nothing, because the packet is below the last ACK. It is answered nevertheless.
    Unasked,
    /// The packet, now or later.
    Packet,
    /// Nothing: an ACK was sent, and no other one follows, even if it did not cover the packet (Linux forgets that one is
    /// due).
    Nothing,
}

/// State of the connection. [RFC 9293, 3.3.2](https://www.rfc-editor.org/rfc/rfc9293#section-3.3.2)
#[derive(Clone, Copy, Debug)]
enum Connection {
    /// Waiting for a SYN.
    Listen,
    /// The first SYN-ACK was sent at `since`; `repeated`: more than one was sent.
    SynReceived { since: Time, repeated: bool },
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
    /// RTT of the handshake.
    rtt: RttEstimator,
    /// RTT from data that arrive.
    data_rtt: ReceiverRtt,
    /// Timestamp to echo, in ms (RFC 7323, 4.3).
    ts_recent_ms: u32,
    connection: Connection,
    /// Whether the next ACK is sent at once: a gap was filled, or the sender has finished or reduced its
    /// window.
    ack_now: bool,
    /// SACKs sent at once since `next` last changed, and the value of `next` then.
    prompt_sacks: u32,
    prompt_sacks_at: u32,
    /// Number of delayed SACKs, the arrival of the last one's packet, and the end of their delay.
    compressed: u32,
    compressed_at: Time,
    compressed_until: Time,
    delivered_bytes: u64,
    received_packets: u64,
    marks: u64,
    /// Number and payload of the last packet, if it arrived out of order.
    short_last: Option<(u32, u32)>,
    /// Advertised window, and as ACKs report it.
    window_bytes: u64,
    window: ReceiveWindow,
    /// Size up to which the window grows; with a buffer, the window is the buffer's.
    largest_window_bytes: u64,
    /// Unit in which ACKs report the window, a power of two. [RFC 7323, 2.3](https://www.rfc-editor.org/rfc/rfc7323#section-2.3)
    window_unit_bytes: u64,
    buffer: Option<Box<ReceiveBuffer>>,
    /// Whether reading may send an ACK.
    reads: bool,
    finished: Option<Time>,
    /// Packets that arrived at this instant and are to be processed, on a host with offloads.
    merged: Option<Merged>,
}

impl Receiver {
    /// A receiver that waits for a SYN.
    pub fn new(setup: ReceiverSetup) -> Receiver {
        let buffer = ReceiveBuffer::of(&setup).map(Box::new);
        let largest_window_bytes = match setup.window {
            LargestWindow::Bytes(bytes) if buffer.is_none() => bytes,
            _ => u64::MAX,
        };
        let first_bytes = setup
            .host
            .initial_rwnd
            .map_or(FIRST_WINDOW_BYTES, |packets| u64::from(packets * setup.mss_bytes));
        let window_bytes =
            buffer.as_ref().map_or(largest_window_bytes.min(first_bytes).min(FIRST_WINDOW_BYTES), |buffer| {
                buffer.first_window_bytes().into()
            });
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
            data_rtt: ReceiverRtt::default(),
            ts_recent_ms: 0,
            connection: Connection::Listen,
            ack_now: false,
            prompt_sacks: 0,
            prompt_sacks_at: 0,
            compressed: 0,
            compressed_at: Time::ZERO,
            compressed_until: Time::NEVER,
            delivered_bytes: 0,
            received_packets: 0,
            marks: 0,
            short_last: None,
            window_bytes,
            window: ReceiveWindow::of_bytes(window_bytes, setup.mss_bytes),
            largest_window_bytes,
            window_unit_bytes: 1 << window_scale(largest_window_bytes),
            reads: buffer.is_some() || setup.reads_at_once,
            buffer,
            finished: None,
            merged: None,
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
        if packet.kind == Kind::Data {
            if self.data_rtt.is_new(packet.ts_echo_ms) {
                self.measure_echo(packet, now);
            }
            let (prior_next, reads) = (self.next, self.reads);
            if reads {
                self.before_data(packet, now);
            }
            self.on_data(packet, now, out);
            if reads {
                let is_pushed = packet.number == prior_next && packet.flags.has(Flags::PSH);
                self.read(prior_next, is_pushed, now, out);
            }
        } else {
            self.on_control(packet, now, out);
        }
    }

    /// Processes a packet without data.
    #[inline(never)]
    fn on_control(&mut self, packet: &Packet, now: Time, out: &mut Outbox) {
        match packet.kind {
            Kind::Syn => self.on_syn(packet, now, out),
            Kind::Ack => {
                self.establish(now);
                self.ts_recent_ms = packet.ts_val_ms;
                if packet.number == WINDOW_PROBE {
                    self.send_unasked_ack(now, out);
                }
            }
            Kind::Data | Kind::SynAck | Kind::Datagram => {}
        }
    }

    /// Whether packets that arrive at one instant are processed as one.
    #[inline]
    pub fn merges(&self) -> bool {
        self.setup.host.offloads
    }

    /// Takes a packet that arrived at `now`, to be processed by [`Receiver::process_merged`] at the end of this instant.
    /// Packets that wait already are processed first if this packet does not continue them.
    pub fn merge(&mut self, packet: &Packet, now: Time, out: &mut Outbox) {
        // Linux processes packets that may be merged after the timers of an instant, and other packets before.
        self.expire(now, out);
        if self.merged.as_mut().is_some_and(|merged| merged.add(packet)) {
            return;
        }
        self.process_merged(now, out);
        self.merged = Some(Merged::new(packet));
    }

    /// Whether packets wait to be processed.
    pub fn holds_packets(&self) -> bool {
        self.merged.is_some()
    }

    /// Processes the packets that have arrived at this instant.
    #[inline(never)]
    pub fn process_merged(&mut self, now: Time, out: &mut Outbox) {
        let Some(merged) = self.merged.take() else { return };
        let mut left = Left::Unasked;
        let mut arrived = 0;
        let (mut prior_next, mut is_pushed) = (self.next, false);
        for packet in merged.packets() {
            if packet.kind == Kind::Data {
                if arrived == 0 && self.reads {
                    self.establish(now);
                    prior_next = self.next;
                }
                if arrived == 0 && self.data_rtt.is_new(packet.ts_echo_ms) {
                    self.measure_echo(&packet, now);
                }
                let memory = if arrived == 0 { Memory::Own } else { Memory::Shared };
                arrived += 1;
                self.hold_in_order(&packet, memory);
                is_pushed = packet.number == self.next && packet.flags.has(Flags::PSH);
                let before = self.dsack;
                left = left.max(self.take_data(&packet, now, out));
                // Duplicates that are processed as one are reported together.
                if let (Some(before), Some(dsack)) = (before, &mut self.dsack)
                    && before.end == dsack.start
                {
                    dsack.start = before.start;
                }
            } else {
                self.on_control(&packet, now, out);
            }
        }
        if arrived > 0 {
            self.answer(left, now, out);
        }
        if self.reads {
            self.read(prior_next, is_pushed, now, out);
        }
    }

    fn on_syn(&mut self, syn: &Packet, now: Time, out: &mut Outbox) {
        match self.connection {
            Connection::Listen => {
                self.connection = Connection::SynReceived { since: now, repeated: false };
            }
            Connection::SynReceived { since, .. } => {
                self.connection = Connection::SynReceived { since, repeated: true };
            }
            // A duplicate SYN that later packets have overtaken.
            Connection::Established => return,
        }
        self.ts_recent_ms = syn.ts_val_ms;
        self.ecn.negotiated = self.setup.ecn > EcnMode::Off && syn.flags.has(Flags::ECE.with(Flags::CWR));
        let mut syn_ack = Packet::new(Kind::SynAck, self.setup.flow);
        if self.setup.timestamps {
            syn_ack.ts_val_ms = self.timestamp(now);
            syn_ack.ts_echo_ms = syn.ts_val_ms;
        } else {
            syn_ack.omit_timestamps();
            if self.setup.sack {
                syn_ack.permit_sack();
            }
        }
        syn_ack.window = self.window;
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
        if let Connection::SynReceived { since, repeated } = self.connection {
            // Without timestamps nothing shows which of several answers arrived.
            if repeated && !self.setup.timestamps {
                self.rtt.on_unknown_handshake();
            } else {
                // Both times in whole microseconds, as Linux keeps them: their difference may be one
                // more than that of the exact times.
                let rtt_us = u32::try_from(now.us() - since.us()).unwrap_or(u32::MAX);
                self.rtt.update(rtt_us, 0, 0);
            }
            self.connection = Connection::Established;
            self.delack.on_established(now);
            if let Some(buffer) = &mut self.buffer {
                buffer.on_established(now);
            }
        }
    }

    fn path(&self) -> Path {
        Path {
            rto: self.rtt.rto(),
            srtt: Time::from_us(u64::from(self.rtt.srtt_us().unwrap_or(0))),
            // Half the window; two if it is a single packet.
            quick_acks: match self.window.packets() {
                ..2 => 2,
                packets => (packets / 2).min(QUICK_ACKS),
            },
        }
    }

    /// Measures the RTT by the timestamp that a full packet echoes.
    // Not inlined, so that packets which echo the same timestamp as the one before do not pay for it.
    #[inline(never)]
    fn measure_echo(&mut self, packet: &Packet, now: Time) {
        if self.is_old(packet) {
            return;
        }
        let is_full = packet.size_bytes == self.setup.mss_bytes + header_bytes(self.setup.timestamps);
        let echoed_ms = packet.ts_echo_ms.wrapping_sub(self.setup.timestamp_offset_ms);
        let sample_ms = timestamp_ms(now).saturating_sub(echoed_ms);
        self.data_rtt.on_echo(packet.ts_echo_ms, is_full.then_some(sample_ms));
    }

    /// Measures the RTT by the time in which a window of data arrived.
    // Not inlined, so that packets inside of a window do not pay for it.
    #[inline(never)]
    fn measure_window(&mut self, now: Time) {
        let last_packets =
            self.buffer.as_ref().map(|buffer| buffer.last_window_bytes().div_ceil(self.setup.mss_bytes));
        self.data_rtt.on_window(self.next + 1, last_packets.unwrap_or(self.window.packets()), now);
    }

    #[inline]
    fn on_data(&mut self, packet: &Packet, now: Time, out: &mut Outbox) {
        let left = self.take_data(packet, now, out);
        self.answer(left, now, out);
    }

    #[expect(
        clippy::inline_always,
        reason = "a second caller, for merged packets, must not slow down the first"
    )]
    #[inline(always)]
    fn answer(&mut self, left: Left, now: Time, out: &mut Outbox) {
        match left {
            Left::Packet => self.acknowledge(now, out),
            Left::Unasked => self.send_unasked_ack(now, out),
            Left::Nothing => {}
        }
    }

    #[expect(
        clippy::inline_always,
        reason = "a second caller, for merged packets, must not slow down the first"
    )]
    #[inline(always)]
    fn take_data(&mut self, packet: &Packet, now: Time, out: &mut Outbox) -> Left {
        self.establish(now);
        self.received_packets += 1;
        if packet.number <= self.acknowledged {
            if self.is_old(packet) {
                self.take_duplicate(packet);
                return Left::Unasked;
            }
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
            Ordering::Less => self.take_duplicate(packet),
            Ordering::Equal => self.process_in_order(packet, now),
            Ordering::Greater => return self.process_out_of_order(packet, now, out),
        }
        Left::Packet
    }

    #[expect(
        clippy::inline_always,
        reason = "a second caller, for merged packets, must not slow down the first"
    )]
    #[inline(always)]
    fn process_in_order(&mut self, packet: &Packet, now: Time) {
        self.delack.on_data(now, self.path());
        if self.data_rtt.is_window_complete(self.next + 1) {
            self.measure_window(now);
        }
        let payload_bytes = self.payload_bytes(packet);
        if payload_bytes >= GROWTH_BYTES {
            // In order a packet joins the one before it, so that its payload alone counts.
            self.grow_window(Memory::Shared);
        }
        self.next += 1;
        self.delivered_bytes += u64::from(payload_bytes);
        if packet.flags.has(Flags::FIN) {
            self.finish(now);
        }
        if self.out_of_order.is_empty() {
            return;
        }
        if let Some(block) = self.out_of_order.take_from(self.next) {
            self.next = block.end;
            self.delivered_bytes += self.bytes_of(block);
            if let Some(buffer) = &mut self.buffer {
                buffer.join(packet.number, self.next);
            }
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
    fn grow_window(&mut self, memory: Memory) {
        if self.window_bytes < self.largest_window_bytes {
            self.grow_small_window(memory);
        }
    }

    // Not inlined, so that packets do not pay for it once the window is as large as it may be.
    #[inline(never)]
    fn grow_small_window(&mut self, memory: Memory) {
        if let Some(buffer) = &mut self.buffer {
            if buffer.grow_window(memory) {
                self.delack.on_window_growth();
            }
            return;
        }
        let grown = self.window_bytes + 2 * u64::from(self.setup.mss_bytes);
        self.window_bytes = grown.min(self.largest_window_bytes);
        // Linux rounds the window up, so that none of it is scaled away.
        let reported_bytes = (self.window_bytes + self.window_unit_bytes - 1) & !(self.window_unit_bytes - 1);
        self.window = ReceiveWindow::of_bytes(reported_bytes, self.setup.mss_bytes);
        self.delack.on_window_growth();
    }

    /// Whether a packet is below the last ACK, so that nothing but its duplication counts, not even its timestamp.
    /// [RFC 7323, 5.3](https://www.rfc-editor.org/rfc/rfc7323#section-5.3)
    fn is_old(&self, packet: &Packet) -> bool {
        packet.number + 1 < self.acknowledged
    }

    fn take_duplicate(&mut self, packet: &Packet) {
        self.report_duplicate(packet.number);
        self.delack.enter_quick_ack_mode(self.path().quick_acks);
    }

    /// Reports a duplicate with the next ACK. [RFC 2883](https://www.rfc-editor.org/rfc/rfc2883)
    fn report_duplicate(&mut self, number: u32) {
        if self.setup.sack && self.setup.host.dsack {
            self.dsack = Some(Block { start: number, end: number + 1 });
        }
    }

    #[inline]
    fn payload_bytes(&self, packet: &Packet) -> u32 {
        packet.size_bytes - header_bytes(self.setup.timestamps)
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

    fn process_out_of_order(&mut self, packet: &Packet, now: Time, out: &mut Outbox) -> Left {
        let block = Block { start: packet.number, end: packet.number + 1 };
        if self.out_of_order.contains(packet.number) {
            self.report_duplicate(packet.number);
        } else {
            self.out_of_order.insert(block, |_| ());
            let mut memory = Memory::Own;
            if let Some(buffer) = &mut self.buffer {
                if buffer.make_room() {
                    self.delack.on_scarce_buffer();
                }
                memory = buffer.memory_out_of_order(packet.number);
                if memory == Memory::Shared {
                    buffer.hold_out_of_order(packet.number, memory);
                }
            }
            // Without SACK an ACK with another window would not count as a duplicate.
            if self.setup.sack {
                self.grow_window(memory);
            }
            // A packet with metadata of its own counts once the window has grown.
            if let Some(buffer) = &mut self.buffer
                && memory == Memory::Own
            {
                buffer.hold_out_of_order(packet.number, memory);
            }
        }
        if packet.flags.has(Flags::FIN) {
            self.short_last = Some((packet.number, self.payload_bytes(packet)));
        }
        if !self.setup.sack {
            return Left::Packet;
        }
        let held_back = self.compressed > 0;
        let urgency = if held_back { self.sack_list.urgency(packet.number) } else { Urgency::None };
        if urgency == Urgency::ReportExtended {
            self.sack_list.extend(packet.number);
        }
        if urgency != Urgency::None {
            self.send_ack(now, out);
        }
        self.sack_list.add(packet.number);
        if urgency == Urgency::None { Left::Packet } else { Left::Nothing }
    }

    fn process_mark(&mut self, packet: &Packet) {
        if packet.flags.has(Flags::CWR) {
            self.ecn.echoing = false;
        }
        match packet.ecn {
            Ecn::Ce => {
                self.marks += 1;
                if !self.ecn.echoing {
                    self.delack.enter_quick_ack_mode(QUICK_ACKS_ON_MARK);
                }
                self.ecn.echoing = true;
                self.ecn.seen = true;
            }
            Ecn::Ect0 | Ecn::Ect1 => self.ecn.seen = true,
            // Probably a retransmission: the sender waits for feedback.
            Ecn::NotEct if self.ecn.seen => self.delack.enter_quick_ack_mode(QUICK_ACKS_ON_MARK),
            Ecn::NotEct => {}
        }
    }

    /// Reflects marks so that one ACK covers only marked or only unmarked packets.
    /// [RFC 8257, 3.2](https://www.rfc-editor.org/rfc/rfc8257#section-3.2)
    fn reflect_mark(&mut self, packet: &Packet, now: Time, out: &mut Outbox) {
        let marked = packet.ecn == Ecn::Ce;
        self.marks += u64::from(marked);
        if marked != self.ecn.echoing {
            // The ACK of this packet follows. Linux counts that one alone.
            if self.delack.fires() < Time::NEVER {
                self.transmit_ack(now, out);
            }
            self.ecn.echoing = marked;
            self.ack_now = true;
        }
    }

    /// Decides when the current packet is acknowledged.
    #[expect(
        clippy::inline_always,
        reason = "a second caller, for merged packets, must not slow down the first"
    )]
    #[inline(always)]
    fn acknowledge(&mut self, now: Time, out: &mut Outbox) {
        // More than one full packet is unacknowledged (RFC 1122, 4.2.3.2), or there is a reason for an
        // immediate ACK.
        if (self.next - self.acknowledged > 1 && self.keeps_window())
            || self.delack.is_quick()
            || self.ack_now
            || self.setup.host.quickack
        {
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
        self.compressed_at = now;
        if self.compressed_until == Time::NEVER {
            let delayed_until = now + self.compression_delay() + COMPRESSION_SLACK;
            self.compressed_until = delayed_until.min(self.delack.expires_after(now));
        }
    }

    /// Delay of SACKs: a twentieth of a round trip, which does not slow down recovery.
    fn compression_delay(&self) -> Time {
        let rtt_8us = self.data_rtt.for_spacing_8us(self.rtt.srtt_8us(), self.setup.timestamps);
        Time::from_ns(u64::from(rtt_8us) * 125 / 20).min(MAX_COMPRESSION_DELAY)
    }

    /// Sends the delayed ACK or SACK that is due.
    pub fn on_timer(&mut self, now: Time, out: &mut Outbox) {
        self.expire(now, out);
        self.process_merged(now, out);
    }

    fn expire(&mut self, now: Time, out: &mut Outbox) {
        if self.delack.fires() <= now {
            self.delack.on_timer(self.path());
            self.send_ack(now, out);
        } else if self.compressed_until <= now {
            // Linux reads its clock again for the timestamp of such an ACK only where the timer of delayed ACKs ends the delay.
            let stamped = if self.delack.expires_at(now) { now } else { self.compressed_at };
            self.send_ack(stamped, out);
        }
    }

    /// The SACK option of the next ACK.
    #[inline(never)]
    fn take_sacks(&mut self) -> Sacks {
        let mut sacks = Sacks::default();
        let most = Sacks::most(self.setup.timestamps);
        if let Some(block) = self.dsack.take() {
            sacks.push(block, most);
        }
        if self.setup.sack && !self.out_of_order.is_empty() {
            self.sack_list.fill(&mut sacks, most);
        }
        sacks
    }

    /// Sends an ACK of packets, which may use up one of those that are sent at once.
    fn send_ack(&mut self, now: Time, out: &mut Outbox) {
        self.transmit_ack(now, out);
        self.delack.count_ack();
    }

    /// Sends an ACK that counts as one of packets only if one of those was due (Linux: `tcp_dec_quickack_mode`).
    #[inline(never)]
    fn send_unasked_ack(&mut self, now: Time, out: &mut Outbox) {
        let is_due = self.next > self.acknowledged || self.compressed > 0;
        self.transmit_ack(now, out);
        if is_due {
            self.delack.count_ack();
        }
    }

    /// Sends an ACK, of packets or not, and forgets what was delayed.
    fn transmit_ack(&mut self, now: Time, out: &mut Outbox) {
        if self.buffer.is_some() {
            self.select_window();
        }
        let mut ack = Packet::new(Kind::Ack, self.setup.flow);
        ack.number = self.next;
        ack.window = self.window;
        if self.setup.timestamps {
            ack.ts_val_ms = self.timestamp(now);
            ack.ts_echo_ms = self.ts_recent_ms;
        } else {
            ack.omit_timestamps();
        }
        if self.ecn.echoing {
            ack.flags = Flags::ECE;
        }
        if self.dsack.is_some() || !self.out_of_order.is_empty() {
            ack.set_sacks(self.take_sacks());
        }
        out.send(ack);
        self.acknowledged = self.next;
        self.ack_now = false;
        self.compressed = 0;
        self.compressed_until = Time::NEVER;
        self.delack.cancel();
    }
}

mod reading;
#[cfg(test)]
mod tests;
