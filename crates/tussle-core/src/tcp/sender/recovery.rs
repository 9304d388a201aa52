//! The congestion state machine: entry into recovery, repair, and undo.
//!
//! Source: RFC 6675 and RFC 8985 for loss detection, RFC 5682 for spurious timeouts, RFC 3522 and RFC 3708
//! for undo; the order of the steps is Linux's.

use super::Sender;
use super::ack_info::{AckInfo, NextTransmission, Trigger};
use super::early_retransmit::Early;
use crate::cc::Recovery;
use crate::run::Reduction;
use crate::tcp::flow::{Cause, State};
use crate::tcp::outbox::{Event, Outbox};
use crate::tcp::prr::{Progress, Prr};
use crate::tcp::timer::Alarm;
use crate::tcp::usage::current_ssthresh;

impl Sender {
    /// Processes an ACK that is not plain progress in the open state: detects losses, enters and leaves
    /// recovery (Linux: `tcp_fastretrans_alert`).
    pub(super) fn process_dubious_ack(&mut self, info: &mut AckInfo, out: &mut Outbox) -> NextTransmission {
        if info.ece {
            self.undo.prior_ssthresh = None;
        }
        if self.flow.state == State::Open {
            self.undo.forget_retransmissions();
        } else if self.flow.una >= self.flow.high_seq && !self.on_recovery_point(info, out) {
            return NextTransmission::Usual;
        }
        match self.flow.state {
            State::Recovery => self.process_in_recovery(info, out),
            State::Loss => self.process_after_timeout(info, out),
            State::Open | State::Disorder | State::Cwr => self.process_in_order(info, out),
        }
    }

    /// Processes the acknowledgement of everything sent before the episode began. Returns whether the ACK needs further
    /// processing.
    fn on_recovery_point(&mut self, info: &AckInfo, out: &mut Outbox) -> bool {
        match self.flow.state {
            // The state is held until the receiver has certainly seen the CWR flag.
            State::Cwr if self.flow.una != self.flow.high_seq => {
                self.end_reduction();
                self.enter(State::Open);
            }
            State::Recovery => {
                if !self.setup.sack {
                    self.forget_duplicates();
                }
                if !self.finish_recovery(info, out) {
                    return false;
                }
                self.end_reduction();
            }
            _ => {}
        }
        true
    }

    fn process_in_recovery(&mut self, info: &mut AckInfo, out: &mut Outbox) -> NextTransmission {
        let mut reveals_losses = self.reveals_losses(info);
        if info.una_advanced() {
            match self.undo_partially(info, out) {
                PartialAck::LateOriginal => return NextTransmission::Usual,
                PartialAck::Undone => {}
                PartialAck::Usual => reveals_losses = self.is_far_above(),
            }
        } else if !self.setup.sack && info.is_duplicate() {
            self.count_duplicate();
        }
        if self.undo_by_dsack(out) {
            self.open_unless_marked(info, out);
        }
        self.detect_losses(info);
        if self.flow.state != State::Recovery {
            if !self.must_recover() {
                return NextTransmission::Usual;
            }
            self.enter_recovery(Trigger::Ack { ece: info.ece }, out);
        }
        if !self.detects_by_time() && reveals_losses {
            self.mark_losses_by_count();
        }
        NextTransmission::Lost
    }

    fn process_after_timeout(&mut self, info: &mut AckInfo, out: &mut Outbox) -> NextTransmission {
        let next = self.repair_after_timeout(info, out);
        self.detect_losses(info);
        if self.flow.state != State::Open && !info.retransmission_lost {
            return next;
        }
        match self.process_in_order(info, out) {
            NextTransmission::Usual => next,
            found => found,
        }
    }

    fn process_in_order(&mut self, info: &mut AckInfo, out: &mut Outbox) -> NextTransmission {
        if !self.setup.sack {
            if info.una_advanced() {
                self.forget_duplicates();
            }
            if info.is_duplicate() {
                self.count_duplicate();
            }
        }
        if self.flow.state <= State::Disorder {
            self.undo_by_dsack(out);
        }
        self.detect_losses(info);
        if !self.must_recover() {
            let early = self.retransmit_early(info.ece);
            if early != Early::Now {
                info.set_timer &= early != Early::Later;
                self.open_unless_marked(info, out);
                return NextTransmission::Usual;
            }
            self.mark_oldest_lost();
        }
        self.enter_recovery(Trigger::Ack { ece: info.ece }, out);
        if !self.detects_by_time() && self.reveals_losses(info) {
            self.mark_first_losses();
        }
        NextTransmission::Lost
    }

    /// Whether enough is known to begin recovery.
    fn must_recover(&self) -> bool {
        self.flow.lost_out > 0 || self.has_enough_above()
    }

    /// Detects losses by duplicate ACKs without SACK, and otherwise by RACK if something arrived.
    fn detect_losses(&mut self, info: &mut AckInfo) {
        if self.flow.packets_out() == 0 {
            return;
        }
        if !self.setup.sack {
            self.detect_loss_by_duplicates(info.una_advanced());
            info.set_timer &= !self.is_timer_kept();
            return self.report_losses();
        }
        if !self.detects_by_time() || !std::mem::take(&mut self.rack.advanced) {
            return;
        }
        let prior_retrans_out = self.flow.retrans_out;
        if let Some(wait_us) = self.rack.detect_losses(&mut self.board, &mut self.flow) {
            self.timer.await_reordering(self.flow.now, wait_us);
            info.set_timer = false;
        }
        info.retransmission_lost |= self.flow.retrans_out < prior_retrans_out;
        self.report_losses();
    }

    /// Reports newly detected losses to the algorithm.
    pub(super) fn report_losses(&mut self) {
        for lost in self.board.newly_lost.drain(..) {
            self.cc.on_lost(&lost, &self.flow, &mut self.control);
        }
    }

    /// Processes the end of the wait for packets that may only have been late.
    /// [RFC 8985, 6.3](https://www.rfc-editor.org/rfc/rfc8985#section-6.3)
    pub(super) fn on_reordering_timeout(&mut self, out: &mut Outbox) {
        let prior_in_flight = self.flow.in_flight();
        // Linux drops the wait for packets that are still too recent; the timeout takes over.
        let _ = self.rack.detect_losses(&mut self.board, &mut self.flow);
        self.report_losses();
        if self.flow.in_flight() != prior_in_flight {
            if self.flow.state != State::Recovery {
                self.enter_recovery(Trigger::Timer, out);
                if self.needs.recovery == Recovery::Prr {
                    self.reduce(Progress { delivered: 1, safe_ack: false });
                }
            }
            self.retransmit_lost(out);
        }
        if self.timer.pending() != Some(Alarm::Retransmit) {
            self.timer.rearm(&self.flow, &self.board);
        }
    }

    /// Enters fast recovery; with an ECN-Echo congestion is proven, and the reduction cannot be undone.
    pub(super) fn enter_recovery(&mut self, trigger: Trigger, out: &mut Outbox) {
        if self.nothing_retransmitted() {
            self.undo.forget_retransmissions();
        }
        self.undo.prior_ssthresh = None;
        self.begin_undo();
        if !self.in_reduction() {
            if trigger != (Trigger::Ack { ece: true }) {
                self.undo.prior_ssthresh = Some(current_ssthresh(&self.flow, &self.control));
            }
            self.begin_reduction(Cause::Loss);
        }
        self.enter(State::Recovery);
        self.partial_acks = 0;
        self.counts.recoveries += 1;
        out.events.push(Event::Recovery);
    }

    /// Reduces the window for an ECN mark or a request of the algorithm; such a reduction cannot be undone.
    pub(super) fn enter_cwr(&mut self, out: &mut Outbox) {
        self.undo.prior_ssthresh = None;
        if self.flow.state < State::Cwr {
            self.undo.end();
            self.begin_reduction(Cause::Ecn);
            self.enter(State::Cwr);
            self.counts.ecn_echoes += 1;
            out.events.push(Event::Reduction);
        }
    }

    pub(super) fn begin_reduction(&mut self, cause: Cause) {
        self.flow.high_seq = self.flow.nxt;
        self.probe = None;
        self.control.clear_credit();
        self.flow.prior_cwnd = self.control.cwnd;
        self.prr = Prr::default();
        self.control.ssthresh = self.cc.on_congestion(cause, &self.flow, &self.control);
        self.ecn.cwr_due = self.ecn.negotiated;
    }

    /// Ends a reduction: the window becomes ssthresh.
    pub(super) fn end_reduction(&mut self) {
        if self.needs.recovery == Recovery::Own {
            return;
        }
        let reduced = self.flow.state == State::Cwr || self.undo.is_possible();
        if reduced && self.control.has_ssthresh() {
            // Rate halving never enlarges the window.
            let halves = self.setup.host.reduction == Reduction::RateHalving;
            let most = if halves { self.control.cwnd } else { u32::MAX };
            self.control.cwnd = self.control.ssthresh.min(most);
            self.flow.usage.on_window_set(self.flow.now);
        }
        self.cc.on_cwr_complete(&self.flow, &mut self.control);
    }

    /// Records that packet `number` arrived after packets that were sent later.
    pub(super) fn note_displaced(&mut self, number: Option<u32>) {
        let highest = self.board.highest_sacked_end(&self.flow);
        if let Some(number) = number.filter(|&number| number < highest) {
            self.rack.on_reordering(highest - number);
        }
    }

    pub(super) fn begin_undo(&mut self) {
        let probes = self.probe.is_some_and(|probe| probe.is_retransmission);
        self.undo.begin(self.flow.una, self.flow.retrans_out + u32::from(probes));
    }

    pub(super) fn nothing_retransmitted(&self) -> bool {
        self.flow.retrans_out == 0
            && !(self.flow.packets_out() > 0 && self.board.get(self.flow.una).was_retransmitted())
    }

    /// Enters the open state, or Disorder while something is missing.
    pub(super) fn keep_open(&mut self) {
        let missing = self.flow.sacked_out + self.flow.lost_out > 0 || !self.nothing_retransmitted();
        let state = if missing { State::Disorder } else { State::Open };
        if self.flow.state != state {
            self.enter(state);
            self.flow.high_seq = self.flow.nxt;
        }
    }

    fn open_unless_marked(&mut self, info: &AckInfo, out: &mut Outbox) {
        if self.nothing_retransmitted() {
            self.undo.forget_retransmissions();
        }
        if info.ece {
            self.enter_cwr(out);
        }
        if self.flow.state != State::Cwr {
            self.keep_open();
        }
    }

    /// Undoes the reduction, and counts it as that of a timeout or that of a recovery.
    fn undo_reduction(&mut self, out: &mut Outbox) {
        if let Some(prior_ssthresh) = self.undo.prior_ssthresh {
            self.control.cwnd = self.cc.on_undo(&self.flow, &self.control);
            if prior_ssthresh > self.control.ssthresh {
                self.control.ssthresh = prior_ssthresh;
                self.ecn.cwr_due = false;
            }
        }
        self.flow.usage.on_window_set(self.flow.now);
        self.undo.end();
        self.rack.advanced = true;
        if self.flow.state == State::Loss {
            self.counts.spurious_timeouts += 1;
        } else {
            self.counts.undone_recoveries += 1;
        }
        out.events.push(Event::Undo);
    }

    /// Whether a late original, not a retransmission, caused the ACK.
    fn original_was_late(&self, info: &AckInfo) -> bool {
        // Without SACK the time of the first retransmission is forgotten at the recovery point.
        let is_forgotten = !self.setup.sack && self.flow.una >= self.flow.high_seq;
        self.undo.was_late(info.echo_ms).unwrap_or(!is_forgotten)
    }

    fn unmark_losses(&mut self) {
        self.board.unmark_losses(&mut self.flow);
    }

    /// Ends recovery, when all data outstanding at its start has arrived. Returns whether it has ended.
    fn finish_recovery(&mut self, info: &AckInfo, out: &mut Outbox) -> bool {
        if self.undo.is_proven(self.original_was_late(info)) {
            self.undo_reduction(out);
        } else {
            self.rack.on_recovered();
        }
        if self.must_await_duplicates() {
            return false;
        }
        self.enter(State::Open);
        out.events.push(Event::Recovered);
        true
    }

    /// Undoes the reduction if a DSACK answered every retransmission.
    /// [RFC 3708](https://www.rfc-editor.org/rfc/rfc3708)
    fn undo_by_dsack(&mut self, out: &mut Outbox) -> bool {
        let proven = self.undo.proven_by_dsack();
        if proven {
            self.rack.on_dsack_undo();
            self.undo_reduction(out);
        }
        proven
    }

    /// Undoes the reduction if a late original, not its retransmission, filled the oldest hole.
    /// [RFC 3522](https://www.rfc-editor.org/rfc/rfc3522)
    fn undo_partially(&mut self, info: &AckInfo, out: &mut Outbox) -> PartialAck {
        if !self.undo.is_possible() || !self.original_was_late(info) {
            return PartialAck::Usual;
        }
        self.note_displaced(Some(info.prior_una));
        if self.flow.retrans_out > 0 {
            return PartialAck::LateOriginal;
        }
        if self.nothing_retransmitted() {
            self.undo.forget_retransmissions();
        }
        self.unmark_losses();
        self.undo_reduction(out);
        self.keep_open();
        PartialAck::Undone
    }

    /// Undoes a spurious timeout.
    fn undo_timeout(&mut self, evidence: Evidence, out: &mut Outbox) {
        self.unmark_losses();
        self.undo_reduction(out);
        self.unanswered_timeouts = 0;
        if !self.must_await_duplicates() && (self.setup.sack || evidence == Evidence::Frto) {
            self.enter(State::Open);
            out.events.push(Event::Recovered);
        }
    }

    /// Processes an ACK after a timeout: undoes a spurious timeout, otherwise continues the repair.
    /// [RFC 5682, 3.1](https://www.rfc-editor.org/rfc/rfc5682#section-3.1)
    fn repair_after_timeout(&mut self, info: &AckInfo, out: &mut Outbox) -> NextTransmission {
        let recovered = self.flow.una >= self.flow.high_seq;
        if info.una_advanced() && self.undo.is_proven(self.original_was_late(info)) {
            self.undo_timeout(Evidence::TimestampOrDsack, out);
            return NextTransmission::Usual;
        }
        if self.frto {
            if info.original_arrived {
                self.undo_timeout(Evidence::Frto, out);
                return NextTransmission::Usual;
            }
            if self.flow.nxt > self.flow.high_seq {
                if info.sacked > 0 || info.is_duplicate() {
                    self.frto = false;
                }
            } else if info.una_advanced() && !recovered {
                self.flow.high_seq = self.flow.nxt;
                if self.flow.nxt < self.application.written && self.flow.nxt < self.window_end {
                    return NextTransmission::New;
                }
                self.frto = false;
            }
        }
        if recovered {
            self.finish_recovery(info, out);
            return NextTransmission::Usual;
        }
        if !self.setup.sack {
            // A duplicate ACK now shows that new data have arrived.
            if self.flow.nxt > self.flow.high_seq && info.is_duplicate() {
                self.count_duplicate();
            } else if info.una_advanced() {
                self.forget_duplicates();
            }
        }
        NextTransmission::Lost
    }

    /// Processes the expiry of the retransmission timer.
    /// [RFC 6298, 5](https://www.rfc-editor.org/rfc/rfc6298#section-5)
    pub(super) fn on_timeout(&mut self, out: &mut Outbox) {
        if self.flow.packets_out() == 0 {
            return self.timer.clear();
        }
        self.enter_loss();
        self.unanswered_timeouts += 1;
        self.counts.timeouts += 1;
        out.events.push(Event::Timeout);
        self.retransmit(self.flow.una, out);
        self.flow.rtt.back_off();
        self.timer.set(Alarm::Retransmit, self.flow.now, self.flow.rtt.rto());
    }

    fn enter_loss(&mut self) {
        let new_episode = self.flow.state < State::Recovery;
        if !self.setup.sack {
            self.forget_duplicates();
        }
        let spares_recent = self.setup.sack && self.detects_by_time();
        let rack = &self.rack;
        let clock = self.flow.now;
        self.board.mark_timed_out(&mut self.flow, |sent| spares_recent && rack.is_recent(sent, clock));
        self.report_losses();
        let first = self.flow.state == State::Loss && self.unanswered_timeouts == 0;
        if self.flow.state <= State::Disorder || self.flow.una >= self.flow.high_seq || first {
            self.undo.prior_ssthresh = Some(current_ssthresh(&self.flow, &self.control));
            self.flow.prior_cwnd = self.control.cwnd;
            self.control.ssthresh = self.cc.on_congestion(Cause::Timeout, &self.flow, &self.control);
            self.begin_undo();
        }
        self.control.cwnd = self.flow.in_flight() + 1;
        self.control.clear_credit();
        self.flow.usage.on_window_set(self.flow.now);
        self.rack.on_timeout_in_disorder(&self.flow);
        self.enter(State::Loss);
        self.flow.high_seq = self.flow.nxt;
        self.probe = None;
        self.ecn.cwr_due = self.ecn.negotiated;
        self.frto = self.setup.host.frto && (new_episode || self.unanswered_timeouts > 0);
    }
}

/// Evidence that a timeout was spurious.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Evidence {
    /// F-RTO: a packet arrived that was never retransmitted. [RFC 5682](https://www.rfc-editor.org/rfc/rfc5682)
    Frto,
    /// The timestamp of an original, or a DSACK for every retransmission.
    TimestampOrDsack,
}

/// Meaning of an ACK that advances `una` in recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PartialAck {
    /// A retransmission filled the hole.
    Usual,
    /// A late original filled it, and retransmissions are still in the network: the ACK needs no further processing.
    LateOriginal,
    /// A late original filled it, and the reduction is undone.
    Undone,
}
