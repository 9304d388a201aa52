//! Delayed ACKs. The receiver acknowledges at once while the connection is young or something is wrong,
//! otherwise every second packet or when a timer expires. The rules are Linux's, which go beyond
//! [RFC 1122, 4.2.3.2](https://www.rfc-editor.org/rfc/rfc1122#section-4.2.3.2).

use super::ticks::Ticks;
use crate::Time;

/// Shortest delay of an ACK (Linux: `TCP_DELACK_MIN`, `TCP_ATO_MIN`).
const MIN_WAIT: Time = Time::from_ms(40);
/// Longest delay of an ACK (Linux: `TCP_DELACK_MAX`).
const MAX_WAIT: Time = Time::from_ms(200);
/// Largest number of packets acknowledged at once at the start and when something is wrong (Linux:
/// `TCP_MAX_QUICKACKS`).
pub(crate) const QUICK_ACKS: u32 = 16;

/// Delayed-ACK state of a receiver. Times are in timer ticks, as in Linux.
#[derive(Clone, Debug)]
pub(crate) struct DelayedAck {
    /// ACKs still to be sent at once (Linux: `icsk_ack.quick`).
    quick: u32,
    /// Delay of an ACK, derived from the gaps between packets (Linux: `icsk_ack.ato`); zero at first.
    wait: u64,
    /// Tick of the last packet in order, or of the end of the handshake.
    last_data: u64,
    /// Tick at which the delayed ACK is due.
    due: Option<u64>,
    /// Time at which the delayed ACK is sent; [`Time::NEVER`] if there is none.
    fires: Time,
    /// Tick for which the timer was set, and the time at which it expires: it is not stopped when an ACK is sent (Linux:
    /// `INET_CSK_CLEAR_TIMERS` is undefined).
    set_for: u64,
    expires: Time,
    ticks: Ticks,
    /// Shortest delay, in ticks.
    shortest: u64,
}

/// Properties of the connection that delays depend on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Path {
    /// Retransmission timeout of the receiver.
    pub(crate) rto: Time,
    /// Smoothed RTT of the receiver, from the handshake.
    pub(crate) srtt: Time,
    /// Packets acknowledged at once at the start and after a pause.
    pub(crate) quick_acks: u32,
}

impl DelayedAck {
    pub(crate) fn new(hz: u32) -> DelayedAck {
        let ticks = Ticks::new(hz);
        let shortest = ticks.span(MIN_WAIT);
        DelayedAck {
            quick: 0,
            wait: 0,
            last_data: 0,
            due: None,
            fires: Time::NEVER,
            set_for: 0,
            expires: Time::ZERO,
            ticks,
            shortest,
        }
    }

    /// Time at which the delayed ACK is due; [`Time::NEVER`] if there is none.
    pub(crate) fn fires(&self) -> Time {
        self.fires
    }

    /// Time at which the timer expires after `now`, whether an ACK is delayed or not; [`Time::NEVER`] if it is not set.
    pub(crate) fn expires_after(&self, now: Time) -> Time {
        if self.expires > now { self.expires } else { Time::NEVER }
    }

    /// Whether the timer expires at `now`, whether an ACK is delayed or not.
    pub(crate) fn expires_at(&self, now: Time) -> bool {
        self.expires == now
    }

    /// Processes the end of the handshake, from which the first gap is counted.
    pub(crate) fn on_established(&mut self, now: Time) {
        self.last_data = self.ticks.at(now);
    }

    /// Processes a packet that arrived in order.
    #[inline]
    pub(crate) fn on_data(&mut self, now: Time, path: Path) {
        let shortest = self.shortest;
        let tick = self.ticks.at(now);
        if self.wait == 0 {
            self.acknowledge_quickly(path.quick_acks);
            self.wait = shortest;
        } else {
            let gap = tick - self.last_data;
            if gap <= shortest / 2 {
                self.wait = self.wait / 2 + shortest / 2;
            } else if gap < self.wait {
                self.wait = (self.wait / 2 + gap).min(self.ticks.span(path.rto));
            } else if gap > self.ticks.span(path.rto) {
                // The sender probably restarts.
                self.acknowledge_quickly(path.quick_acks);
            }
        }
        self.last_data = tick;
    }

    /// Acknowledges the next `packets` at once.
    fn acknowledge_quickly(&mut self, packets: u32) {
        self.quick = self.quick.max(packets);
    }

    /// Acknowledges the next `packets` at once, after a sign of loss or congestion (Linux: `tcp_enter_quickack_mode`).
    pub(crate) fn enter_quick_ack_mode(&mut self, packets: u32) {
        self.acknowledge_quickly(packets);
        self.wait = self.shortest;
    }

    /// Acknowledges the next packet at once, because the advertised window grows (Linux sets the lowest bit
    /// of its count).
    pub(crate) fn on_window_growth(&mut self) {
        self.quick |= 1;
    }

    /// Ends quick ACKs, because most of the receive buffer is in use.
    pub(crate) fn on_scarce_buffer(&mut self) {
        self.quick = 0;
    }

    pub(crate) fn is_quick(&self) -> bool {
        self.quick > 0
    }

    /// Counts the ACK of a packet as one of those that are sent at once.
    #[inline]
    pub(crate) fn count_ack(&mut self) {
        if self.quick > 0 {
            self.quick -= 1;
            if self.quick == 0 {
                self.wait = self.shortest;
            }
        }
    }

    /// Forgets the delayed ACK, because an ACK is sent.
    #[inline]
    pub(crate) fn cancel(&mut self) {
        self.due = None;
        self.fires = Time::NEVER;
    }

    /// Delays an ACK; returns `Now` if a delayed ACK is almost due.
    #[expect(
        clippy::inline_always,
        reason = "a second caller, for merged packets, must not slow down the first"
    )]
    #[inline(always)]
    pub(crate) fn delay(&mut self, now: Time, path: Path) -> Decision {
        let shortest = self.shortest;
        let mut wait = self.wait;
        if wait > shortest {
            let longest =
                if path.srtt > Time::ZERO { path.srtt.max(MIN_WAIT).min(MAX_WAIT) } else { MAX_WAIT };
            wait = wait.min(self.ticks.span(longest));
        }
        let tick = self.ticks.at(now);
        let mut due = tick + wait;
        if let Some(waiting) = self.due {
            if waiting <= tick + wait / 4 {
                return Decision::Now;
            }
            due = due.min(waiting);
        }
        self.due = Some(due);
        // Set to the same tick again, the timer stays in its place of the wheel.
        if due != self.set_for || self.expires < now {
            self.set_for = due;
            self.expires = self.ticks.fires(now, due);
        }
        self.fires = self.expires;
        Decision::Wait
    }

    /// Adapts the delay after the timer fired: the sender is slower than expected.
    pub(crate) fn on_timer(&mut self, path: Path) {
        self.wait = (2 * self.wait).min(self.ticks.span(path.rto));
        self.due = None;
        self.fires = Time::NEVER;
    }
}

/// Time of the next ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    Now,
    Wait,
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: Path = Path { rto: Time::from_ms(300), srtt: Time::from_ms(100), quick_acks: QUICK_ACKS };

    #[test]
    fn the_first_sixteen_acks_are_sent_at_once() {
        let mut delack = DelayedAck::new(250);
        let mut quick = 0;
        for packet in 0..40 {
            delack.on_data(Time::from_ms(packet), PATH);
            if delack.is_quick() {
                quick += 1;
                delack.count_ack();
            }
        }
        assert_eq!(quick, 16);
    }

    /// 40 ms are 10 ticks of 4 ms; the wheel adds one: 44 ms after the tick of 8 ms.
    #[test]
    fn an_ack_waits_about_forty_milliseconds() {
        let mut delack = DelayedAck::new(250);
        delack.on_data(Time::from_ms(8), PATH);
        assert_eq!(delack.delay(Time::from_ms(8), PATH), Decision::Wait);
        assert_eq!(delack.fires(), Time::from_ms(52));
    }

    /// 200 ms are 50 ticks; the wheel adds one: 204 ms after the tick of 8 ms.
    #[test]
    fn an_ack_waits_for_at_most_two_hundred_milliseconds() {
        let unknown = Path { srtt: Time::ZERO, ..PATH };
        let mut delack = DelayedAck::new(250);
        delack.on_data(Time::from_ms(8), unknown);
        delack.wait = 75;
        assert_eq!(delack.delay(Time::from_ms(8), unknown), Decision::Wait);
        assert_eq!(delack.fires(), Time::from_ms(212));
    }

    /// A packet out of order came first, so that the delay is set. The next packet comes 12 ms after the handshake.
    #[test]
    fn the_first_gap_begins_with_the_handshake() {
        let mut delack = DelayedAck::new(250);
        delack.on_established(Time::from_secs(5));
        delack.on_window_growth();
        delack.count_ack();
        delack.on_data(Time::from_ms(5012), PATH);
        assert!(!delack.is_quick());
    }

    #[test]
    fn an_ack_that_is_almost_due_is_sent_with_the_next_packet() {
        let mut delack = DelayedAck::new(250);
        delack.on_data(Time::from_ms(8), PATH);
        delack.delay(Time::from_ms(8), PATH);
        assert_eq!(delack.delay(Time::from_ms(30), PATH), Decision::Wait);
        assert_eq!(delack.delay(Time::from_ms(40), PATH), Decision::Now);
    }

    #[test]
    fn the_timer_outlives_the_ack() {
        let mut delack = DelayedAck::new(250);
        delack.on_data(Time::from_ms(8), PATH);
        delack.delay(Time::from_ms(8), PATH);
        delack.cancel();
        assert_eq!(delack.fires(), Time::NEVER);
        assert_eq!(delack.expires_after(Time::from_ms(51)), Time::from_ms(52));
        assert_eq!(delack.expires_after(Time::from_ms(52)), Time::NEVER);
    }
}
