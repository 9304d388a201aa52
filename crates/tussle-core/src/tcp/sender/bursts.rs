//! Segmentation offload of a sender: bursts of packets that leave the host at one instant.
//!
//! Linux's TCP hands several segments to its device at once, which splits them into packets (TSO, GSO). A burst lasts about
//! a millisecond at the pacing rate, and is longer on short paths. A sender whose window has room for a part of a burst
//! waits for the next ACK if that is near. The rules are those of Linux 6.1 (`tcp_write_xmit`).

use super::Sender;
use super::device_queue::Allowance;
use crate::Time;
use crate::cc::EcnMode;
use crate::net::packet::Flags;
use crate::run::application::UNSENT_BYTES;
use crate::tcp::flow::State;
use crate::tcp::offload::Buffers;
use crate::tcp::outbox::Outbox;
use crate::tcp::pacer::{Pacer, Pacing, window_rate_bit_per_s};

/// Largest burst: 64 KiB less the largest header (Linux: `sk_gso_max_size`).
const MAX_BYTES: u64 = 65_215;
/// A burst lasts 2^-10 s at the pacing rate (Linux: `sk_pacing_shift`).
const SECOND_SHIFT: u32 = 10;
/// The allowance for short paths, a whole burst, halves with each 2^9 µs of the smallest RTT (Linux: `tcp_tso_rtt_log`).
const RTT_SHIFT: u32 = 9;
/// Smallest limit of a burst in packets (Linux: `tcp_min_tso_segs`).
const MIN_PACKETS: u32 = 2;
/// Rate below which algorithms with [`Needs::single_packets`](crate::cc::Needs) send single packets.
const SINGLES_BIT_PER_S: u64 = 1_200_000;
/// A sender does not wait if this part of the window has room (Linux: `tcp_tso_win_divisor`).
const WINDOW_PARTS: u32 = 3;
/// Longest time since the last transmission, and until the next ACK, for which a sender waits.
const MAX_DEFERRAL: Time = Time::from_ms(1);

/// Cause of a transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Push {
    /// The application has filled a buffer: one burst, which never waits.
    Buffer,
    /// The window or pacing may have room.
    Pending,
    /// The timer of a tail loss probe: one burst, at least a packet.
    Probe,
}

/// Reason why a burst waits for the next ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wait {
    ForWindow,
    ForReceiver,
}

impl Sender {
    /// Updates the rate after an ACK has set the window.
    #[inline]
    pub(super) fn update_offload(&mut self) {
        if let Some(offload) = &mut self.offload {
            offload.window_bit_per_s = window_rate_bit_per_s(&self.flow, &self.control);
        }
    }

    /// Fills buffers with what the application has written after packet `before`, and sends bursts.
    pub(super) fn push_written(&mut self, before: u32, out: &mut Outbox) {
        self.note_receive_window();
        let packets = self.buffer_limit();
        // The oldest buffer is filled if it is also the last one.
        if self.offload.as_ref().is_some_and(|offload| offload.buffer_end >= before) {
            self.fill_oldest(Buffers { packets, end: self.application.written });
        }
        // While a whole buffer of packets is unsent: after each burst, the rest of the oldest buffer is filled up again.
        while self.application.written - self.flow.nxt >= packets
            && self.transmit_bursts(Push::Buffer, out) > 0
        {
            self.fill_oldest(Buffers { packets, end: self.application.written });
        }
        // A bulk sender writes no further ahead, and later fills its last buffer as far as the window allows then.
        let ahead = packets_in(UNSENT_BYTES, self.setup.mss_bytes) / packets * packets;
        let end = self.flow.nxt.saturating_add(ahead).min(self.application.written);
        self.offload.as_mut().expect("only senders with offload have buffers").buffers =
            Buffers { packets, end };
        self.transmit_bursts(Push::Pending, out);
    }

    fn fill_oldest(&mut self, buffers: Buffers) {
        let offload = self.offload.as_mut().expect("only senders with offload have buffers");
        offload.buffers = buffers;
        offload.buffer_end = self.flow.nxt;
    }

    /// Sends bursts of new packets while the window, the receiver and pacing allow; returns the number of packets.
    #[inline(never)]
    pub(super) fn transmit_bursts(&mut self, push: Push, out: &mut Outbox) -> u32 {
        self.note_receive_window();
        let has_more = self.flow.nxt < self.application.written;
        let longest = self.burst_limit();
        let mut sent = 0;
        let mut waits = None;
        let mut by_window = false;
        while self.flow.nxt < self.application.written && !self.is_paced_out() {
            let is_first = self.flow.packets_out() == 0 && self.flow.nxt < self.window_end;
            if is_first {
                self.on_first_of_flight(out);
            }
            let Some(quota) = self.burst_quota(push) else { break };
            let room = self.window_end.saturating_sub(self.flow.nxt);
            if room == 0 {
                by_window = true;
                break;
            }
            if self.waits_for_device(self.flow.nxt, Allowance::Whole, out) {
                break;
            }
            let buffered = self.buffered();
            if buffered > 1 && push == Push::Pending {
                waits = self.waits(buffered, longest);
                if waits.is_some() {
                    break;
                }
            }
            let packets = buffered.min(quota).min(longest).min(room);
            self.send_burst(packets, out);
            sent += packets;
            if push != Push::Pending {
                break;
            }
        }
        if has_more {
            if by_window || self.limits.is_limited() {
                self.limits.on_transmission(by_window, self.flow.now);
            }
            let is_cwnd_limited = waits == Some(Wait::ForWindow) || self.fills_window();
            self.after_transmission(sent, is_cwnd_limited);
        }
        if push != Push::Probe {
            self.set_timer_after_transmission(sent);
            if by_window {
                self.await_window();
            }
        }
        sent
    }

    fn note_receive_window(&mut self) {
        if let Some(offload) = &mut self.offload {
            offload.largest_window = offload.largest_window.max(self.offered.packets());
        }
    }

    /// Largest burst in packets (Linux: `tcp_tso_segs`).
    fn burst_limit(&self) -> u32 {
        let window_rate = self.offload.as_ref().and_then(|offload| offload.window_bit_per_s);
        let Some(rate) = self.control.pacing_bit_per_s.or(window_rate) else {
            return packets_in(MAX_BYTES, self.setup.mss_bytes).max(MIN_PACKETS);
        };
        let halvings = self.flow.rtt.min_us().unwrap_or(u32::MAX) >> RTT_SHIFT;
        let allowance = MAX_BYTES.checked_shr(halvings).unwrap_or(0);
        let bytes = ((rate / 8) >> SECOND_SHIFT).saturating_add(allowance).min(MAX_BYTES);
        let least = if self.needs.single_packets && rate < SINGLES_BIT_PER_S { 1 } else { MIN_PACKETS };
        packets_in(bytes, self.setup.mss_bytes).max(least)
    }

    /// Packets that the window allows at once, at most half of it; `None` if it is full. A buffer that holds the last packet
    /// alone leaves in any case.
    fn burst_quota(&self, push: Push) -> Option<u32> {
        let (cwnd, in_flight) = (self.control.cwnd, self.flow.in_flight());
        if in_flight < cwnd {
            Some((cwnd / 2).max(1).min(cwnd - in_flight))
        } else {
            (push == Push::Probe || self.window_allows_next()).then_some(1)
        }
    }

    /// Packets that fill a buffer: those of the longest burst, and at most half of the largest window (Linux:
    /// `tcp_xmit_size_goal`).
    pub(super) fn buffer_limit(&self) -> u32 {
        let largest_window = self.offload.as_ref().map_or(0, |offload| offload.largest_window);
        let half_window = u64::from(largest_window) * u64::from(self.setup.mss_bytes) / 2;
        packets_in(MAX_BYTES.min(half_window), self.setup.mss_bytes).max(1)
    }

    /// Unsent packets of the oldest buffer of the send queue.
    fn buffered(&mut self) -> u32 {
        if let Some(buffer) = &self.send_buffer {
            return buffer.unsent.front().map_or(0, |end| end - self.flow.nxt);
        }
        let (nxt, limit) = (self.flow.nxt, self.buffer_limit());
        let offload = self.offload.as_mut().expect("only senders with offload send bursts");
        if offload.buffer_end <= nxt {
            let Buffers { packets, end } = offload.buffers;
            offload.buffer_end = nxt.saturating_add(if nxt < end { packets } else { limit });
        }
        offload.buffer_end.min(self.application.written) - nxt
    }

    /// Reason why a burst from `buffered` packets waits for the next ACK, which makes room for more of it (Linux:
    /// `tcp_tso_should_defer`).
    fn waits(&self, buffered: u32, longest: u32) -> Option<Wait> {
        let flow = &self.flow;
        let paced = self.pacer.as_ref().filter(|pacer| pacer.pacing != Pacing::Off);
        let last_sent = paced.map_or(flow.last_sent, Pacer::next);
        if flow.state >= State::Recovery || flow.now > last_sent + MAX_DEFERRAL {
            return None;
        }
        let window = self.control.cwnd - flow.in_flight();
        let receiver = self.window_end - flow.nxt;
        let room = window.min(receiver);
        let is_last = flow.nxt + buffered == self.application.written;
        let is_sendable = room >= longest || (!is_last && room >= buffered);
        let usable = self.offered.packets().min(self.control.cwnd);
        if is_sendable || u64::from(room) * u64::from(WINDOW_PARTS) >= u64::from(usable) {
            return None;
        }
        if flow.packets_out() == 0 || self.is_next_ack_far() {
            return None;
        }
        if window < receiver && window <= buffered {
            Some(Wait::ForWindow)
        } else if is_last && self.application.closed {
            None
        } else {
            Some(Wait::ForReceiver)
        }
    }

    /// Whether the ACK of the oldest packet is expected later than in a millisecond, or half a round trip.
    fn is_next_ack_far(&self) -> bool {
        let flow = &self.flow;
        let srtt = Time::from_ns(u64::from(flow.rtt.srtt_8us()) * 125);
        let expected = self.board.get(flow.una).at() + srtt;
        expected.since(flow.now) > MAX_DEFERRAL.min(Time::from_ns(srtt.ns() / 2))
    }

    /// Sends the next `packets` packets together.
    fn send_burst(&mut self, packets: u32, out: &mut Outbox) {
        let numbers = self.flow.nxt..self.flow.nxt + packets;
        let payload_bytes = numbers.clone().map(|number| self.payload_bytes(number)).sum();
        let departure = self.departure();
        self.before_sending(packets, payload_bytes);
        let in_flight = self.flow.in_flight() + packets;
        let end = numbers.end;
        for number in numbers.clone() {
            let mut packet = self.data_packet(number, departure);
            if self.ecn.negotiated {
                packet.ecn = self.needs.ecn.max(EcnMode::Classic).code_point();
                if std::mem::take(&mut self.ecn.cwr_due) {
                    packet.flags = packet.flags.with(Flags::CWR);
                }
            }
            if packets > 1 && number + 1 == end {
                packet.flags = packet.flags.with(Flags::PSH);
            }
            let mut sent = self.rate.on_send(&mut self.flow, departure);
            sent.in_flight = in_flight;
            self.board.push(&mut self.flow, sent);
            self.emit(packet, departure, out);
        }
        self.board.begin_burst(numbers.start, &self.flow);
        if self.send_buffer.is_some() {
            self.after_sending_from_buffer();
        }
    }

    /// Retransmits lost packets from `first` on that were sent together, as the window allows; returns their number. A
    /// burst leaves at once, and pacing counts it as a whole.
    #[inline(never)]
    pub(super) fn retransmit_burst(&mut self, first: u32, out: &mut Outbox) -> u32 {
        let most = self.burst_limit().min(self.control.cwnd - self.flow.in_flight());
        let end = self.board.split_burst(first, most, &self.flow);
        let payload_bytes = (first..end).map(|number| self.payload_bytes(number)).sum();
        let departure = self.departure();
        self.before_sending(end - first, payload_bytes);
        for number in first..end {
            let ends_burst = end - first > 1 && number + 1 == end;
            let flags = if ends_burst { Flags::PSH } else { Flags::NONE };
            self.retransmit_begun(number, flags, departure, out);
            self.count_retransmission(number, departure);
        }
        end - first
    }
}

/// Full packets in a number of bytes.
fn packets_in(bytes: u64, mss_bytes: u32) -> u32 {
    u32::try_from(bytes / u64::from(mss_bytes)).unwrap_or(u32::MAX)
}
