//! Window validation: a window grows, and is kept, only as far as it is used (RFC 7661, with Linux's
//! refinements).

use super::flow::{Flow, State};
use crate::cc::Control;

/// Records the end of a burst of transmissions (Linux: `tcp_cwnd_validate`). Returns whether the application
/// left part of the window unused for a whole retransmission timeout.
#[inline]
pub(crate) fn validate(flow: &mut Flow, control: &Control, is_cwnd_limited: bool) -> bool {
    let (una, nxt, packets_out) = (flow.una, flow.nxt, flow.packets_out());
    let usage = &mut flow.usage;
    if una >= usage.flight_end || is_cwnd_limited || (!usage.limited && packets_out > usage.max_packets_out) {
        usage.limited = is_cwnd_limited;
        usage.max_packets_out = packets_out;
        usage.flight_end = nxt;
    }
    if usage.cwnd_limited(control) {
        usage.used_packets = 0;
        usage.at = flow.now;
    } else {
        usage.used_packets = usage.used_packets.max(packets_out);
        let since = usage.at;
        return flow.ticked_since(since) >= flow.rtt.rto();
    }
    false
}

/// Reduces a window that the application did not use for a whole timeout halfway to the used window.
/// [RFC 2861, 3.2](https://www.rfc-editor.org/rfc/rfc2861#section-3.2)
pub(crate) fn decay(flow: &mut Flow, control: &mut Control) {
    if flow.state == State::Open {
        let used = flow.usage.used_packets.max(flow.initial_cwnd);
        if used < control.cwnd {
            control.ssthresh = current_ssthresh(flow, control);
            control.cwnd = u32::midpoint(control.cwnd, used);
        }
        flow.usage.used_packets = 0;
    }
    flow.usage.at = flow.now;
}

/// Halves the window for each timeout of idle time, down to the initial window.
/// [RFC 5681, 4.1](https://www.rfc-editor.org/rfc/rfc5681#section-4.1), softened by RFC 2861
pub(crate) fn restart_after_idle(flow: &mut Flow, control: &mut Control) {
    let rto = flow.rtt.rto();
    control.ssthresh = current_ssthresh(flow, control);
    let floor = flow.initial_cwnd.min(control.cwnd);
    let mut idle = flow.ticked_since(flow.last_sent);
    while idle > rto && control.cwnd > floor {
        idle = idle - rto;
        control.cwnd /= 2;
    }
    control.cwnd = control.cwnd.max(floor);
    flow.usage.on_tx_start(flow.now);
}

/// Value of ssthresh that keeps three quarters of the window, unless a reduction has just set it.
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
    use crate::Time;

    /// The timeout is 1 s before any RTT sample.
    #[test]
    fn a_window_that_is_not_filled_for_a_timeout_is_unused() {
        let mut flow = Flow { nxt: 10, ..Flow::new(250, 1448) };
        let control = Control::new(100, 50);
        for (ms, is_unused) in [(0, false), (999, false), (1000, true)] {
            flow.now = Time::from_ms(ms);
            let is_cwnd_limited = false;
            assert_eq!(validate(&mut flow, &control, is_cwnd_limited), is_unused, "after {ms} ms");
        }
        let is_cwnd_limited = true;
        assert!(!validate(&mut flow, &control, is_cwnd_limited));
        assert!(flow.cwnd_filled());
    }
}
