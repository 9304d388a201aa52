//! What an ACK tells the sender: packets that arrived, round-trip times, and then what recovery and the
//! algorithm make of it.

use super::flow::{Ack, Cause, Echo, Header, State};
use super::output::{Event, Outbox};
use super::prr::{Course, Progress, Target};
use super::rack::age_us;
use super::scoreboard::Sent;
use super::sender::{ProbeContent, Sender};
use crate::cc::Recovery;
use crate::net::packet::{Block, Flags, Packet, timestamp_ms};

/// What one ACK brought, as it is found out.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent findings, each read by its name")]
pub(super) struct AckInfo {
    /// `una` before it.
    pub(super) prior_una: u32,
    /// Timestamp that it echoes, in ms.
    pub(super) echo_ms: u32,
    /// Packets acknowledged cumulatively.
    pub(super) acked: u32,
    /// Packets newly sacked.
    pub(super) sacked: u32,
    /// It carried a DSACK that is believed.
    pub(super) dsack: bool,
    /// That DSACK answers the tail loss probe.
    pub(super) dsack_of_probe: bool,
    /// It echoed a congestion mark.
    pub(super) echo: Echo,
    /// A packet of before the recovery point that was never sent again arrived.
    pub(super) original_arrived: bool,
    /// A retransmission was found lost.
    pub(super) retransmission_lost: bool,
    /// The timer is to be set anew.
    pub(super) set_timer: bool,
    /// A packet that was sent again was acknowledged cumulatively (Karn's ambiguity).
    ambiguous: bool,
    /// When the first and the last of the packets never sent again that it acknowledged were sent, in µs.
    acked_sent_us: Option<(u64, u64)>,
    /// The same for those that it sacked.
    sacked_sent_us: Option<(u64, u64)>,
    /// The lowest packet never sent again that was acknowledged.
    lowest_original: Option<u32>,
    /// The lowest packet sacked after a higher one.
    lowest_sacked_late: Option<u32>,
    /// The end of the highest packet sacked before.
    prior_highest: u32,
}

impl AckInfo {
    pub(super) fn una_advanced(&self) -> bool {
        self.acked > 0
    }

    /// It brought nothing at all: a duplicate in the sense of RFC 5681.
    pub(super) fn is_duplicate(&self) -> bool {
        self.acked == 0 && self.sacked == 0 && !self.dsack
    }

    fn is_dubious(&self, state: State) -> bool {
        self.acked == 0 || self.sacked > 0 || self.dsack || self.echo == Echo::Marked || state != State::Open
    }
}

/// What is to be sent once the algorithm has set the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Resend {
    Nothing,
    /// Lost packets.
    Lost,
    /// New packets, to learn whether a timeout was spurious; if none can be sent, lost ones.
    New,
}

impl Sender {
    #[inline]
    pub(super) fn on_ack(&mut self, packet: &Packet, out: &mut Outbox) {
        // RFC 9293, 3.10.7.4: an ACK of what was never sent is dropped.
        if packet.number > self.flow.nxt {
            return;
        }
        let prior_una = self.flow.una;
        let mut news = AckInfo {
            prior_una,
            prior_highest: self.board.highest_sacked_end(&self.flow),
            echo_ms: self.echoed_ms(packet),
            ..AckInfo::default()
        };
        let prior_delivered = self.flow.delivered;
        let prior_lost = self.flow.lost;
        let prior_in_flight = self.flow.in_flight();
        let had_packets_out = self.flow.packets_out() > 0;
        let header = self.header(packet);
        if packet.number >= prior_una {
            self.take_window(packet);
            if self.ecn.negotiated && packet.flags.has(Flags::ECE) {
                news.echo = Echo::Marked;
            }
        }
        if !packet.sacks.as_slice().is_empty() {
            self.take_sacks(packet, &mut news);
        }
        if packet.number < prior_una {
            return self.on_old_ack(&mut news, out);
        }
        if !had_packets_out {
            if news.dsack {
                let resend = self.judge(&mut news, out);
                debug_assert!(resend != Resend::New, "nothing is outstanding");
            }
            return self.answer_probe(packet.number, &news, out);
        }
        if packet.number > prior_una {
            self.unanswered_timeouts = 0;
            self.take_cumulative(packet.number, &mut news);
        }
        if news.echo == Echo::Marked {
            self.flow.delivered_marked += self.flow.delivered - prior_delivered;
        }
        let rtt_us = self.measure_rtt(&mut news);
        self.note_reordering(&news);
        let mut ack = Ack {
            acked: news.acked,
            sacked: news.sacked,
            rtt_us,
            in_flight: self.rate.prior_delivered().map_or(0, |prior| self.flow.delivered - prior),
            echo: news.echo,
            header,
            ts_val_ms: packet.ts_val_ms,
            ts_echo_ms: self.echoed_ms(packet),
            ..Ack::default()
        };
        self.cc.on_pkts_acked(&ack, &self.flow, &mut self.control);
        self.rack.adjust_window(self.rate.prior_delivered(), &self.flow);
        self.answer_probe(packet.number, &news, out);
        let resend =
            if news.is_dubious(self.flow.state) { self.judge(&mut news, out) } else { Resend::Nothing };
        if news.set_timer {
            // New packets, which usually follow, set the timer anyway.
            if resend == Resend::Nothing && matches!(self.flow.state, State::Open | State::Cwr) {
                self.timer_due = true;
            } else {
                self.set_timer();
            }
        }
        ack.delivered = self.flow.delivered - prior_delivered;
        ack.lost = self.flow.lost - prior_lost;
        ack.rate = self.rate.sample(ack.delivered, &mut self.flow);
        ack.rate.prior_in_flight = prior_in_flight;
        self.control(&ack, &news, out);
        self.send_after_judgement(resend, out);
    }

    /// An ACK overtaken by a later one: only its SACKs count.
    fn on_old_ack(&mut self, news: &mut AckInfo, out: &mut Outbox) {
        if news.sacked > 0 || news.dsack {
            let resend = self.judge(news, out);
            self.send_after_judgement(resend, out);
        }
    }

    /// Takes the SACK option into the scoreboard. [RFC 6675, 4](https://www.rfc-editor.org/rfc/rfc6675#section-4)
    fn take_sacks(&mut self, packet: &Packet, news: &mut AckInfo) {
        let duplicate = duplicate_block(packet.number, packet.sacks.as_slice());
        if let Some(block) = duplicate {
            self.take_dsack(block, news);
        }
        let mut sacks = packet.sacks;
        sacks.sort();
        let mut new = std::mem::take(&mut self.newly_sacked);
        for &block in sacks.as_slice() {
            // Beyond what was sent, empty, acknowledged by now, as a duplicate may be, or the very next packet, which
            // only a confused receiver reports.
            let acknowledged = packet.number.max(self.flow.una);
            if block.end <= self.flow.nxt && block.start < block.end && block.start > acknowledged {
                self.board.sack_range(block, &mut new);
            }
        }
        for &number in &new {
            self.take_newly_sacked(number, news);
        }
        if let Some(block) = duplicate.filter(|_| news.dsack && !new.is_empty())
            && sacks.as_slice().iter().any(|other| other.contains(block) && other.end == self.flow.nxt)
        {
            // Linux has come to the end of what was sent, and looks for the duplicate from the start again.
            self.take_late_duplicates(block, news);
        }
        news.sacked = u32::try_from(new.len()).expect("a window is below 2^32 packets");
        self.flow.delivered += news.sacked;
        new.clear();
        self.newly_sacked = new;
        // After a timeout without hope of undo, retransmissions cannot be told from late originals.
        if self.flow.state != State::Loss || self.undo.is_possible() {
            self.note_displaced(news.lowest_sacked_late);
        }
    }

    fn take_newly_sacked(&mut self, number: u32, news: &mut AckInfo) {
        let sent = self.board.mark_sacked(number, &mut self.flow);
        self.rack.on_arrival(number, sent, &self.flow);
        self.rate.on_delivered(number, sent);
        if !sent.was_retransmitted() {
            if number < news.prior_highest {
                news.lowest_sacked_late = Some(lowest(news.lowest_sacked_late, number));
            }
            news.original_arrived |= number < self.flow.high_seq;
            news.sacked_sent_us = Some(span(news.sacked_sent_us, sent.at_us));
        }
    }

    /// A retransmission was not needed. [RFC 2883](https://www.rfc-editor.org/rfc/rfc2883)
    fn take_dsack(&mut self, block: Block, news: &mut AckInfo) {
        let packets = block.packets();
        self.dsacked += u64::from(packets);
        // More duplicates than were ever sent again come from the network, not from this sender.
        if packets == 0 || self.dsacked > self.counts.retransmitted_packets {
            return;
        }
        news.dsack = true;
        news.dsack_of_probe = packets == 1 && self.probe.is_some_and(|probe| probe.high == block.end);
        if self.rack.reordering_seen && !news.dsack_of_probe {
            self.rack.dsack_seen = true;
        }
        // A spurious retransmission was delivered, too.
        self.flow.delivered += packets;
        if block.end <= news.prior_una {
            self.undo.on_dsack(block.end, packets);
            return;
        }
        self.take_late_duplicates(block, news);
    }

    /// Retransmissions of packets that are still outstanding came twice.
    fn take_late_duplicates(&mut self, block: Block, news: &mut AckInfo) {
        for number in block.start.max(self.flow.una)..block.end.min(self.flow.nxt) {
            let sent = self.board.get(number);
            if sent.was_retransmitted() {
                self.undo.on_dsack(number + 1, 1);
                if sent.is_sacked() {
                    news.lowest_sacked_late = Some(lowest(news.lowest_sacked_late, number));
                }
            }
            self.board.retransmission_arrived(number, &mut self.flow);
        }
    }

    /// Takes every packet below `number` off the scoreboard.
    #[inline]
    fn take_cumulative(&mut self, number: u32, news: &mut AckInfo) {
        while self.flow.una < number {
            let una = self.flow.una;
            let sent = self.board.pop(&mut self.flow);
            if sent.was_retransmitted() {
                news.ambiguous = true;
            } else if !sent.is_sacked() {
                news.acked_sent_us = Some(span(news.acked_sent_us, sent.at_us));
                news.lowest_original = Some(lowest(news.lowest_original, una));
                news.original_arrived |= una < self.flow.high_seq;
            }
            if !sent.is_sacked() {
                self.flow.delivered += 1;
                if !is_answer_to_earlier(sent, news.echo_ms) {
                    self.rack.on_arrival(una, sent, &self.flow);
                }
            }
            self.rate.on_delivered(una, sent);
        }
        news.acked = number - news.prior_una;
        news.set_timer = true;
        self.board.trim(&self.flow);
    }

    /// Updates the RTT estimates; the raw RTT of the newest packet, for the algorithm.
    /// [RFC 6298, 3](https://www.rfc-editor.org/rfc/rfc6298#section-3)
    #[inline]
    fn measure_rtt(&mut self, news: &mut AckInfo) -> Option<u32> {
        let now_us = self.flow.now.us();
        let acked = news.acked_sent_us.filter(|_| !news.ambiguous);
        let sacked = news.sacked_sent_us;
        let mut first = acked.or(sacked).map(|(first, _)| age_us(first, now_us));
        let mut last = sacked.or(acked).map(|(_, last)| age_us(last, now_us));
        if first.is_none() && news.acked > 0 && news.echo_ms != 0 {
            let ms = timestamp_ms(self.flow.now).saturating_sub(news.echo_ms).max(1);
            first = Some(ms.saturating_mul(1000));
            last = first;
        }
        let (Some(first), Some(last)) = (first, last) else { return last };
        self.flow.rtt.update_min(last, self.flow.now);
        self.flow.rtt.update(first, self.flow.una, self.flow.nxt);
        self.rtt_sample_us = Some(first);
        // A SACK moves the timeout only if it was caused by data sent before the oldest packet: else the
        // timeout of a lost packet would be put off for ever.
        if news.acked == 0 && sacked.is_some() && self.flow.packets_out() > 0 {
            let oldest_us = age_us(self.board.get(self.flow.una).at_us, now_us);
            news.set_timer |= sacked.is_some_and(|(first, _)| age_us(first, now_us) > oldest_us);
        }
        Some(last)
    }

    /// A hole was filled by a packet that was never sent again: reordering.
    #[inline]
    fn note_reordering(&mut self, news: &AckInfo) {
        if news.lowest_original.is_some_and(|lowest| lowest < news.prior_highest) {
            self.note_displaced(news.lowest_original);
        }
    }

    /// Packet `number` came after packets that were sent later.
    pub(super) fn note_displaced(&mut self, number: Option<u32>) {
        let highest = self.board.highest_sacked_end(&self.flow);
        if let Some(number) = number.filter(|&number| number < highest) {
            self.rack.on_reordering(highest - number);
        }
    }

    /// What an ACK says of the tail loss probe.
    /// [RFC 8985, 7.4.2](https://www.rfc-editor.org/rfc/rfc8985#section-7.4.2)
    #[inline]
    fn answer_probe(&mut self, number: u32, news: &AckInfo, out: &mut Outbox) {
        let Some(probe) = self.probe.filter(|probe| number >= probe.high) else { return };
        if probe.content == ProbeContent::New || news.dsack_of_probe {
            self.probe = None;
        } else if number > probe.high {
            // The probe repaired the only loss, so nothing else will show the congestion.
            self.begin_reduction(Cause::Loss);
            self.enter(State::Cwr);
            self.end_reduction();
            self.keep_open();
            out.notices.push(Event::Reduction);
        } else if !news.una_advanced() && news.sacked == 0 {
            self.probe = None;
        }
    }

    /// Lets recovery or the algorithm set the window.
    #[inline]
    fn control(&mut self, ack: &Ack, news: &AckInfo, out: &mut Outbox) {
        if self.needs.recovery == Recovery::Own {
            self.cc.on_ack(ack, &self.flow, &mut self.control);
        } else if self.in_reduction() {
            let good = news.una_advanced() && ack.lost == 0;
            let course = if good { Course::Good } else { Course::Uncertain };
            self.reduce(Progress { delivered: ack.delivered, course });
        } else if news.acked > 0 || (self.rack.reordering_is_high() && news.sacked > 0) {
            self.cc.on_ack(ack, &self.flow, &mut self.control);
            self.flow.usage.on_window_set(self.flow.now);
        }
        if self.control.take_reduction_request() {
            self.enter_cwr(out);
        }
        if self.control.take_application_limit() {
            self.rate.on_application_limited(&mut self.flow);
        }
        if let Some(pacer) = &mut self.pacer {
            pacer.on_ack(&self.flow, &self.control);
        }
    }

    /// One step of the reduction.
    pub(super) fn reduce(&mut self, progress: Progress) {
        let target = Target {
            prior_cwnd: self.flow.prior_cwnd,
            ssthresh: self.control.ssthresh,
            in_flight: self.flow.in_flight(),
        };
        if let Some(cwnd) = self.prr.on_ack(progress, target) {
            self.control.cwnd = cwnd;
        }
    }

    fn send_after_judgement(&mut self, resend: Resend, out: &mut Outbox) {
        if resend == Resend::Nothing {
            return;
        }
        if resend == Resend::New {
            self.transmit(out);
            if self.flow.nxt > self.flow.high_seq {
                return;
            }
            self.frto = false;
        }
        self.retransmit_lost(out);
    }

    /// As the kernel's header prediction sees an ACK: nothing but what is acknowledged may differ from the one
    /// before. The window of a SYN-ACK is never scaled, so that of the first ACK after it comes unexpected.
    fn header(&self, packet: &Packet) -> Header {
        let is_plain = packet.sacks.as_slice().is_empty() && !packet.flags.has(Flags::ECE);
        let is_same_window = packet.window_packets == self.offered_packets && self.flow.una > 0;
        if is_plain && is_same_window { Header::Predicted } else { Header::Unpredicted }
    }

    /// Takes the window of an ACK that is not older than others. [RFC 9293, 3.10.7.4](https://www.rfc-editor.org/rfc/rfc9293#section-3.10.7.4)
    fn take_window(&mut self, packet: &Packet) {
        self.window_end = self.window_end.max(packet.number.saturating_add(packet.window_packets));
        if packet.number > self.flow.una || packet.window_packets > self.offered_packets {
            self.offered_packets = packet.window_packets;
        }
    }
}

/// The first block if it is a DSACK: below the ACK, or inside the second.
/// [RFC 2883, 4](https://www.rfc-editor.org/rfc/rfc2883#section-4)
fn duplicate_block(number: u32, blocks: &[Block]) -> Option<Block> {
    match blocks {
        [first, ..] if first.start < number => Some(*first),
        [first, second, ..] if second.contains(*first) => Some(*first),
        _ => None,
    }
}

/// Whether the ACK answers a transmission before the last one: it echoes an older timestamp.
fn is_answer_to_earlier(sent: Sent, echo_ms: u32) -> bool {
    sent.was_retransmitted() && echo_ms != 0 && u64::from(echo_ms) < sent.at_us / 1000 + 1
}

fn lowest(so_far: Option<u32>, number: u32) -> u32 {
    so_far.map_or(number, |lowest| lowest.min(number))
}

fn span(so_far: Option<(u64, u64)>, sent_us: u64) -> (u64, u64) {
    (so_far.map_or(sent_us, |(first, _)| first), sent_us)
}
