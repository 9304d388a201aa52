//! Window validation: a window grows, and is kept, only as far as it is used (RFC 7661, as Linux does it).

use super::flow::{Flow, State};
use crate::Time;
use crate::cc::Control;

/// Window that a connection starts with, and restarts with after idle.
/// [RFC 6928, 2](https://www.rfc-editor.org/rfc/rfc6928#section-2)
pub const INITIAL_WINDOW_PACKETS: u32 = 10;

/// How much of the window was used in the current flight.
#[derive(Clone, Debug, Default)]
pub struct WindowUse {
    /// Whether the window was the limit at some time in the flight (Linux: `is_cwnd_limited`).
    limited: bool,
    /// Most packets outstanding in the flight while it was not (Linux: `max_packets_out`).
    max_packets_out: u32,
    /// `nxt` when the flight began: it ends when this is acknowledged.
    flight_end: u32,
    /// Most packets outstanding since the window was last fully used (Linux: `snd_cwnd_used`).
    used_packets: u32,
    /// When the window was last fully used or changed (Linux: `snd_cwnd_stamp`).
    at: Time,
}

/// What limits a sender at the end of a burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bound {
    /// The window is full.
    Window,
    /// The application, the receiver or pacing.
    Other,
}

impl WindowUse {
    /// A flight that the window limits: what tests of an algorithm start from.
    pub fn limited() -> WindowUse {
        WindowUse { limited: true, ..WindowUse::default() }
    }

    /// Whether the window may grow: it was the limit, or slow start has not doubled what was used.
    pub fn cwnd_limited(&self, control: &Control) -> bool {
        self.limited || (control.in_slow_start() && control.cwnd < 2 * self.max_packets_out)
    }

    /// Whether the window was the limit at some time in the last flight.
    pub(crate) fn filled(&self) -> bool {
        self.limited
    }

    /// The window was set at `now`.
    #[inline]
    pub(crate) fn on_window_set(&mut self, now: Time) {
        self.at = now;
    }

    /// Starts again after idle.
    pub(crate) fn on_tx_start(&mut self, now: Time) {
        self.at = now;
        self.used_packets = 0;
    }
}

/// How the window fits what is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    /// It is used, or was lately.
    Tight,
    /// The application used less than it for a whole timeout.
    Loose,
}

/// A burst was sent and ended at `bound`; how the window fits.
#[inline]
pub(crate) fn validate(flow: &mut Flow, control: &Control, bound: Bound) -> Fit {
    let (una, nxt, packets_out) = (flow.una, flow.nxt, flow.packets_out());
    let usage = &mut flow.usage;
    let limited = bound == Bound::Window;
    if una >= usage.flight_end || limited || (!usage.limited && packets_out > usage.max_packets_out) {
        usage.limited = limited;
        usage.max_packets_out = packets_out;
        usage.flight_end = nxt;
    }
    if usage.cwnd_limited(control) {
        usage.used_packets = 0;
        usage.at = flow.now;
    } else {
        usage.used_packets = usage.used_packets.max(packets_out);
        let since = usage.at;
        if flow.ticked_since(since) >= flow.rtt.rto() {
            return Fit::Loose;
        }
    }
    Fit::Tight
}

/// The application used less than the window for a whole timeout: go half the way to what it used.
/// [RFC 2861, 3.2](https://www.rfc-editor.org/rfc/rfc2861#section-3.2)
pub(crate) fn decay(flow: &mut Flow, control: &mut Control) {
    if flow.state == State::Open {
        let used = flow.usage.used_packets.max(INITIAL_WINDOW_PACKETS);
        if used < control.cwnd {
            control.ssthresh = current_ssthresh(flow, control);
            control.cwnd = u32::midpoint(control.cwnd, used);
        }
        flow.usage.used_packets = 0;
    }
    flow.usage.at = flow.now;
}

/// Halves the window for each timeout that the connection was idle, down to the initial window.
/// [RFC 5681, 4.1](https://www.rfc-editor.org/rfc/rfc5681#section-4.1), as RFC 2861 softens it
pub(crate) fn restart_after_idle(flow: &mut Flow, control: &mut Control) {
    let rto = flow.rtt.rto();
    control.ssthresh = current_ssthresh(flow, control);
    let floor = INITIAL_WINDOW_PACKETS.min(control.cwnd);
    let mut idle = flow.ticked_since(flow.last_sent);
    while idle > rto && control.cwnd > floor {
        idle = idle - rto;
        control.cwnd /= 2;
    }
    control.cwnd = control.cwnd.max(floor);
    flow.usage.on_tx_start(flow.now);
}

/// ssthresh that keeps three quarters of the window, unless a reduction has just set it.
pub(crate) fn current_ssthresh(flow: &Flow, control: &Control) -> u32 {
    if matches!(flow.state, State::Cwr | State::Recovery) {
        control.ssthresh
    } else {
        control.ssthresh.max(control.cwnd / 2 + control.cwnd / 4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The timeout is 1 s before any RTT sample.
    #[test]
    fn a_window_is_loose_after_a_timeout_in_which_it_was_not_filled() {
        let mut flow = Flow { nxt: 10, ..Flow::new(250, 1448) };
        let control = Control::new(100, 50);
        for (ms, fit) in [(0, Fit::Tight), (999, Fit::Tight), (1000, Fit::Loose)] {
            flow.now = Time::from_ms(ms);
            assert_eq!(validate(&mut flow, &control, Bound::Other), fit, "after {ms} ms");
        }
        assert_eq!(validate(&mut flow, &control, Bound::Window), Fit::Tight);
        assert!(flow.cwnd_filled());
    }
}
