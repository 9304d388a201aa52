//! The one timer of a sender, which Linux shares between three uses.

use super::flow::{Flow, State};
use super::rtt::RTO_MIN_US;
use super::scoreboard::Scoreboard;
use super::ticks::Ticks;
use crate::Time;

/// What the timer is set for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Alarm {
    /// Retransmission timeout. [RFC 6298](https://www.rfc-editor.org/rfc/rfc6298)
    Retransmit,
    /// Tail loss probe. [RFC 8985, 7](https://www.rfc-editor.org/rfc/rfc8985#section-7)
    Probe,
    /// The reordering window ends. [RFC 8985, 6.3](https://www.rfc-editor.org/rfc/rfc8985#section-6.3)
    Reordering,
}

/// Added to a probe timeout and a reordering wait, so that they do not run out at once
/// (Linux: `TCP_TIMEOUT_MIN_US`).
const MARGIN: Time = Time::from_ms(2);

/// The timer.
#[derive(Clone, Debug)]
pub(crate) struct Timer {
    pending: Option<Alarm>,
    at: Time,
    ticks: Ticks,
}

impl Timer {
    pub(crate) fn new(hz: u32) -> Timer {
        Timer { pending: None, at: Time::NEVER, ticks: Ticks::new(hz) }
    }

    /// When it fires; [`Time::NEVER`] if it is not set.
    pub(crate) fn at(&self) -> Time {
        self.at
    }

    pub(crate) fn pending(&self) -> Option<Alarm> {
        self.pending
    }

    /// It fires at `now`.
    pub(crate) fn on_fired(&mut self, now: Time) {
        self.ticks.on_fired(now);
    }

    pub(crate) fn clear(&mut self) {
        self.pending = None;
        self.at = Time::NEVER;
    }

    pub(crate) fn set(&mut self, alarm: Alarm, now: Time, span: Time) {
        self.pending = Some(alarm);
        let expires = self.ticks.at(now) + self.ticks.span(span);
        self.at = self.ticks.fires(now, expires);
    }

    /// Sets the retransmission timeout anew, or clears it if nothing is outstanding.
    pub(crate) fn rearm(&mut self, flow: &Flow, board: &Scoreboard) {
        if flow.packets_out() == 0 {
            return self.clear();
        }
        // The other uses delayed the timeout; it goes on from where it stood.
        let span = match self.pending {
            Some(Alarm::Probe | Alarm::Reordering) => until_timeout(flow, board).max(Time::from_us(1)),
            Some(Alarm::Retransmit) | None => flow.rtt.rto(),
        };
        self.set(Alarm::Retransmit, flow.now, span);
    }

    /// Sets the timer for a tail loss probe if one is called for, and returns whether it did.
    /// [RFC 8985, 7.2](https://www.rfc-editor.org/rfc/rfc8985#section-7.2)
    pub(crate) fn schedule_probe(&mut self, flow: &Flow, timeout: Time) -> bool {
        if flow.packets_out() == 0 || !matches!(flow.state, State::Open | State::Cwr) {
            return false;
        }
        let span = match flow.rtt.srtt_8us() {
            0 => Time::from_secs(1),
            srtt_8us => {
                // One packet alone may wait for the receiver's delayed ACK.
                let wait =
                    if flow.packets_out() == 1 { Time::from_us(u64::from(RTO_MIN_US)) } else { MARGIN };
                Time::from_us(u64::from(srtt_8us >> 2)) + wait
            }
        };
        let span = if timeout > Time::ZERO { span.min(timeout) } else { span };
        self.set(Alarm::Probe, flow.now, span);
        true
    }

    /// Sets the wait for packets that may only be late.
    pub(crate) fn await_reordering(&mut self, now: Time, wait_us: u32) {
        self.set(Alarm::Reordering, now, Time::from_us(u64::from(wait_us)) + MARGIN);
    }
}

/// How long until the oldest packet times out; zero if it should have.
pub(crate) fn until_timeout(flow: &Flow, board: &Scoreboard) -> Time {
    let sent = Time::from_us(board.get(flow.una).at_us);
    (sent + flow.rtt.rto()).since(Time::from_us(flow.now.us()))
}
