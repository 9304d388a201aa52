//! The single timer of a sender, which has one of several purposes at a time, as in Linux.

use super::flow::{Flow, State};
use super::rtt::RTO_MIN_US;
use super::scoreboard::Scoreboard;
use super::ticks::Ticks;
use crate::Time;

/// Purpose of the timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Alarm {
    /// Retransmission timeout. [RFC 6298](https://www.rfc-editor.org/rfc/rfc6298)
    Retransmit,
    /// Tail loss probe. [RFC 8985, 7](https://www.rfc-editor.org/rfc/rfc8985#section-7)
    Probe,
    /// End of the reordering window. [RFC 8985, 6.3](https://www.rfc-editor.org/rfc/rfc8985#section-6.3)
    Reordering,
    /// End of the wait for packets that may only be late. [RFC 5827, A](https://www.rfc-editor.org/rfc/rfc5827#appendix-A)
    EarlyRetransmit,
    /// Probe of a closed receive window. [RFC 9293, 3.8.6.1](https://www.rfc-editor.org/rfc/rfc9293#section-3.8.6.1)
    Window,
}

/// Margin of a probe timeout and of a reordering wait, so that they do not expire at once (Linux:
/// `TCP_TIMEOUT_MIN_US`).
const MARGIN: Time = Time::from_ms(2);

/// Timer of a sender.
#[derive(Clone, Debug)]
pub(crate) struct Timer {
    pending: Option<Alarm>,
    at: Time,
    /// Tick for which the timer was last set, and the time at which it expires: it stays in the wheel when nothing is pending
    /// any more (Linux: `INET_CSK_CLEAR_TIMERS` is undefined).
    set_for: u64,
    expires: Time,
    ticks: Ticks,
}

impl Timer {
    pub(crate) fn new(hz: u32) -> Timer {
        Timer { pending: None, at: Time::NEVER, set_for: 0, expires: Time::ZERO, ticks: Ticks::new(hz) }
    }

    /// Time at which the timer fires; [`Time::NEVER`] if it is not set.
    pub(crate) fn at(&self) -> Time {
        self.at
    }

    pub(crate) fn pending(&self) -> Option<Alarm> {
        self.pending
    }

    /// Records that the timer fires at `now`.
    pub(crate) fn on_fired(&mut self, now: Time) {
        self.ticks.on_fired(now);
    }

    pub(crate) fn clear(&mut self) {
        self.pending = None;
        self.at = Time::NEVER;
    }

    pub(crate) fn set(&mut self, alarm: Alarm, now: Time, span: Time) {
        self.pending = Some(alarm);
        let set_for = self.ticks.at(now) + self.ticks.span(span);
        // A timer in the wheel that is set for the same tick stays where it is, and may fire on a coarser tick.
        if set_for != self.set_for || self.expires <= now {
            self.set_for = set_for;
            self.expires = self.ticks.fires(now, set_for);
        }
        self.at = self.expires;
    }

    /// Sets the retransmission timeout, or clears the timer if nothing is outstanding.
    pub(crate) fn rearm(&mut self, flow: &Flow, board: &Scoreboard) {
        if flow.packets_out() == 0 {
            return self.clear();
        }
        // The other purposes delayed the timeout, which continues from its old value.
        let span = match self.pending {
            Some(Alarm::Probe | Alarm::Reordering | Alarm::EarlyRetransmit) => {
                until_timeout(flow, board).max(Time::from_us(1))
            }
            Some(Alarm::Retransmit | Alarm::Window) | None => flow.rtt.rto(),
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
                // The ACK of a single packet may be delayed by the receiver.
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

/// Time until the oldest packet times out; zero if that time has passed.
pub(crate) fn until_timeout(flow: &Flow, board: &Scoreboard) -> Time {
    let sent = Time::from_us(board.get(flow.una).at_us);
    (sent + flow.rtt.rto()).since(Time::from_us(flow.now.us()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 250 ticks a second. Tick 75 is more than 63 ticks after 0, so that the timer fires on a multiple of 8, tick 80. Set for
    /// the same tick again it stays there, although 25 ticks after tick 50 it would fire on tick 76.
    #[test]
    fn a_timer_that_is_set_for_the_same_tick_stays_on_its_coarse_tick() {
        let mut timer = Timer::new(250);
        timer.set(Alarm::Retransmit, Time::ZERO, Time::from_ms(300));
        assert_eq!(timer.at(), Time::from_ms(320));
        timer.clear();
        assert_eq!(timer.at(), Time::NEVER);
        timer.set(Alarm::Probe, Time::from_ms(200), Time::from_ms(100));
        assert_eq!(timer.at(), Time::from_ms(320));
        timer.set(Alarm::Probe, Time::from_ms(200), Time::from_ms(96));
        assert_eq!(timer.at(), Time::from_ms(300));
    }
}
