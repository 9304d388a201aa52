//! Early retransmit: with fewer than four packets outstanding and nothing more to send, three duplicate ACKs cannot come, and
//! fewer are enough.
//!
//! Source: [RFC 5827, 3](https://www.rfc-editor.org/rfc/rfc5827#section-3). Its mitigation of reordering is that of Linux 3.5 to
//! 4.13: the retransmission waits for a quarter of a round trip, and a sender that has seen reordering retransmits nothing
//! early.

use super::Sender;
use super::ack_info::Trigger;
use crate::Time;
use crate::cc::Recovery;
use crate::tcp::flow::State;
use crate::tcp::outbox::Outbox;
use crate::tcp::prr::Progress;
use crate::tcp::timer::Alarm;

/// Number of outstanding packets from which three duplicate ACKs can come.
const ENOUGH_PACKETS: u32 = 4;
/// Shortest wait for packets that may only be late (Linux: 2 ms).
const SHORTEST_WAIT: Time = Time::from_ms(2);

/// Time of an early retransmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Early {
    /// No early retransmission.
    Never,
    /// Retransmission when the timer fires, unless an ACK shows that the packet was late.
    Later,
    /// Retransmission at once.
    Now,
}

impl Sender {
    /// Whether the oldest packet is to be retransmitted early: all other outstanding packets have arrived.
    fn is_early_retransmit_due(&self) -> bool {
        let flow = &self.flow;
        let outstanding = flow.packets_out();
        let may_send = flow.nxt < self.application.written.min(self.window_end) && self.window_allows_next();
        flow.sacked_out > 0
            && flow.sacked_out + 1 >= outstanding
            && outstanding < ENOUGH_PACKETS
            && flow.retrans_out == 0
            && !self.rack.reordering_seen
            && !may_send
    }

    /// Decides whether an ACK begins recovery early, and sets the timer if it begins later.
    pub(super) fn retransmit_early(&mut self, ece: bool) -> Early {
        if !self.setup.host.early_retransmit || !self.is_early_retransmit_due() {
            return Early::Never;
        }
        let now = self.flow.now;
        let quarter = Time::from_us(u64::from(self.flow.rtt.srtt_8us() >> 5));
        let wait = quarter.max(SHORTEST_WAIT);
        if ece || quarter == Time::ZERO || self.timer.at() <= now + wait {
            return Early::Now;
        }
        self.timer.set(Alarm::EarlyRetransmit, now, wait);
        Early::Later
    }

    /// Begins recovery at the end of the wait.
    pub(super) fn on_early_retransmit_timeout(&mut self, out: &mut Outbox) {
        if self.flow.state < State::Recovery && self.is_early_retransmit_due() {
            self.enter_recovery(Trigger::Timer, out);
            self.mark_oldest_lost();
            if self.needs.recovery == Recovery::Prr {
                self.reduce(Progress { delivered: 1, safe_ack: false });
            }
            self.retransmit_lost(out);
        }
        if self.timer.pending() != Some(Alarm::Retransmit) {
            self.timer.rearm(&self.flow, &self.board);
        }
    }

    /// Marks the oldest packet as lost.
    pub(super) fn mark_oldest_lost(&mut self) {
        if !self.board.get(self.flow.una).is_lost() {
            self.board.mark_lost(self.flow.una, &mut self.flow);
        }
        self.report_losses();
    }
}
