//! Veno: a loss while few packets are queued is a transmission error, not congestion, and takes a fifth of
//! the window instead of half. Vegas' estimate gives the number of queued packets. Source: Fu and Liew, "TCP
//! Veno: TCP Enhancement for Transmission over Wireless Access Networks", IEEE JSAC 21(2), 2003. Agrees with:
//! Linux 6.1 `veno`, which estimates at each ACK, from its RTT, rather than once per round trip. Departs:
//! nowhere known.

use super::{CongestionControl, Control, Entry};
use crate::tcp::{Ack, Cause, Flow, State};

pub(super) const ENTRY: Entry = Entry {
    name: "veno",
    idea: "A loss while few packets are queued is a transmission error, and takes only a fifth of the window.",
    source: "Fu and Liew, IEEE JSAC 21(2), 2003",
    agrees_with: "Linux 6.1",
    parameters: &[],
    build: |_, _| Box::new(Veno::default()),
};

/// Unit of queued packets: a half.
const HALVES: u32 = 2;
/// Queued packets, in halves, from which on there is congestion. (Paper: β = 3 packets.)
const BETA: u32 = 3 * HALVES;
/// Placeholder for no measured RTT; longer than any RTT.
const NO_RTT_US: u32 = 0x7fff_ffff;
/// Number of RTT samples from which on at least one did not come from a delayed ACK.
const MIN_SAMPLES: u16 = 3;
/// Smallest window, in packets.
const CWND_MIN: u32 = 2;

#[derive(Debug)]
struct Veno {
    mode: Mode,
    /// Smallest RTT since the flow began to send, in µs. (Paper: `BaseRTT`.)
    base_rtt_us: u32,
    /// Smallest RTT since the last estimate, in µs.
    rtt_us: u32,
    /// RTT samples since the start, in 16 bits as in Linux, so that the algorithm is Reno for three of 65536.
    samples: u16,
    /// Queued packets at the last estimate, in halves. (Paper: N.)
    waiting: u32,
    /// Whether the window grows at the next window of delivered packets; under congestion it grows at every
    /// other one (Linux: `inc`).
    grows: bool,
}

/// Algorithm that sets the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Veno,
    /// Reno outside the open state, where RTTs are unreliable.
    Reno,
}

impl Default for Veno {
    fn default() -> Veno {
        let (base_rtt_us, rtt_us) = (NO_RTT_US, NO_RTT_US);
        Veno { mode: Mode::Veno, base_rtt_us, rtt_us, samples: 0, waiting: 0, grows: true }
    }
}

impl Veno {
    /// Estimates the queued packets: `N = cwnd - cwnd × BaseRTT / RTT`. Without a new RTT all packets seem to
    /// be queued. (Paper: `N = Actual × (RTT - BaseRTT)`.)
    #[expect(clippy::cast_possible_truncation, reason = "no more than twice the window")]
    fn estimate(&mut self, cwnd: u32) {
        let window = cwnd * HALVES;
        let on_the_way = u64::from(window) * u64::from(self.base_rtt_us) / u64::from(self.rtt_us);
        self.waiting = window - on_the_way as u32;
    }

    fn is_congested(&self) -> bool {
        self.waiting >= BETA
    }

    /// Grows by one packet every other round trip. (Paper: refined additive increase.)
    fn grow_under_congestion(&mut self, delivered: u32, control: &mut Control) {
        if control.credit < control.cwnd {
            control.credit += delivered;
            return;
        }
        control.credit = 0;
        if self.grows && control.cwnd < control.cwnd_clamp {
            control.cwnd += 1;
            self.grows = false;
        } else {
            self.grows = true;
        }
    }
}

impl CongestionControl for Veno {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    /// Resets the RTTs, because the path may have changed during idle time.
    fn on_tx_start(&mut self, _flow: &Flow, _control: &mut Control) {
        *self = Veno { samples: self.samples, waiting: self.waiting, ..Veno::default() };
    }

    fn on_pkts_acked(&mut self, ack: &Ack, _flow: &Flow, _control: &mut Control) {
        if let Some(rtt_us) = ack.rtt_us {
            // No RTT is zero.
            let rtt_us = rtt_us.saturating_add(1);
            self.base_rtt_us = self.base_rtt_us.min(rtt_us);
            self.rtt_us = self.rtt_us.min(rtt_us);
            self.samples = self.samples.wrapping_add(1);
        }
    }

    fn on_ack(&mut self, ack: &Ack, flow: &Flow, control: &mut Control) {
        if self.mode == Mode::Reno {
            control.grow_like_reno(ack.delivered, flow);
            return;
        }
        if !flow.cwnd_limited(control) {
            return;
        }
        if self.samples < MIN_SAMPLES {
            control.grow_like_reno(ack.delivered, flow);
        } else {
            self.estimate(control.cwnd);
            if let Some(left) = control.past_slow_start(ack.delivered, flow) {
                if self.is_congested() {
                    self.grow_under_congestion(left, control);
                } else {
                    control.additive(control.cwnd, left);
                }
            }
            control.cwnd = control.cwnd.min(control.cwnd_clamp).max(CWND_MIN);
        }
        self.rtt_us = NO_RTT_US;
    }

    /// Reduces the window by a fifth, or by half under congestion. (Paper: refined multiplicative decrease.)
    fn on_congestion(&mut self, _cause: Cause, _flow: &Flow, control: &Control) -> u32 {
        let left = if self.is_congested() { control.cwnd / 2 } else { control.cwnd_part(4, 5) };
        left.max(CWND_MIN)
    }

    fn on_state(&mut self, next: State, _flow: &Flow, _control: &mut Control) {
        if next == State::Open {
            self.mode = Mode::Veno;
            self.rtt_us = NO_RTT_US;
        } else {
            self.mode = Mode::Reno;
        }
    }

    fn internals(&self, record: &mut dyn FnMut(&'static str, f64)) {
        let known_ms = |us: u32| if us == NO_RTT_US { f64::NAN } else { f64::from(us) / 1e3 };
        record("base_rtt_ms", known_ms(self.base_rtt_us));
        record("n_packets", f64::from(self.waiting) / f64::from(HALVES));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::cc::control::INFINITE_SSTHRESH;
    use crate::tcp::WindowUse;

    const BASE_RTT_US: u32 = 100_000;

    fn flow() -> Flow {
        Flow { usage: WindowUse::limited(), ..Flow::new(250, 1448) }
    }

    /// Veno with a smallest RTT of 100 ms and enough samples.
    fn started() -> Veno {
        Veno { base_rtt_us: BASE_RTT_US, samples: MIN_SAMPLES, ..Veno::default() }
    }

    /// Processes an ACK of one packet with this RTT.
    fn ack(veno: &mut Veno, rtt_us: u32, control: &mut Control) {
        let ack = Ack { acked: 1, delivered: 1, rtt_us: Some(rtt_us - 1), ..Ack::default() };
        veno.on_pkts_acked(&ack, &flow(), control);
        veno.on_ack(&ack, &flow(), control);
    }

    /// Value of ssthresh after a loss at 50 packets with this RTT.
    fn after_loss(rtt_us: u32) -> u32 {
        let (mut veno, mut control) = (started(), Control::new(50, 2));
        ack(&mut veno, rtt_us, &mut control);
        veno.on_congestion(Cause::Loss, &flow(), &Control::new(50, 2))
    }

    /// N = 50 - 50 × 100 / RTT: 0 packets are queued at 100 ms, 2.4 at 105 ms: the window is reduced to 4/5
    /// of 50, 40.
    #[test]
    fn a_loss_with_fewer_than_three_queued_packets_is_random_and_takes_a_fifth() {
        assert_eq!([100_000, 105_000].map(after_loss), [40, 40]);
    }

    /// 50 - 46.7 = 3.3 packets are queued at 107 ms, 25 at 200 ms.
    #[test]
    fn a_loss_with_three_or_more_queued_packets_is_congestion_and_takes_half() {
        assert_eq!([107_000, 200_000].map(after_loss), [25, 25]);
    }

    /// 30 × 100 / 111 = 27.03 and 30 × 100 / 112 = 26.8: 2.97 and 3.2 queued packets are 6 and 7 halves,
    /// rounded up. With 30 × 100 / 109 = 27.5, 2.48 queued packets are 5 halves.
    #[test]
    fn queued_packets_are_counted_in_halves_rounded_up() {
        for (rtt_us, halves) in [(100_000, 0), (109_000, 5), (111_000, 6), (112_000, 7)] {
            let mut veno = started();
            ack(&mut veno, rtt_us, &mut Control::new(30, 2));
            assert_eq!(veno.waiting, halves, "{rtt_us} µs");
        }
    }

    /// Paper: the window grows by one packet per round trip while fewer than β packets are queued, else every
    /// other round trip. 20 delivered packets are one round trip; under congestion the algorithm needs one
    /// more ACK to check the window.
    #[test]
    fn growth_under_congestion_is_half_of_renos() {
        let windows = |rtt_us| {
            let (mut veno, mut control) = (started(), Control::new(20, 2));
            let mut acked = |acks| {
                (0..acks).for_each(|_| ack(&mut veno, rtt_us, &mut control));
                control.cwnd
            };
            [20, 1, 21, 22, 22].map(&mut acked)
        };
        assert_eq!(windows(100_000), [21, 21, 22, 23, 24]);
        assert_eq!(windows(150_000), [20, 21, 21, 21, 22]);
    }

    #[test]
    fn slow_start_is_not_slower_under_congestion() {
        let mut control = Control::new(20, INFINITE_SSTHRESH);
        ack(&mut started(), 200_000, &mut control);
        assert_eq!(control.cwnd, 21);
    }

    /// 100 × 100 / 200 = 50 packets are queued; the ACK ends slow start, and no delivered packets remain for
    /// congestion avoidance.
    #[test]
    fn the_ack_that_reaches_ssthresh_adds_nothing_in_congestion_avoidance() {
        let mut control = Control::new(100, 101);
        ack(&mut started(), 200_000, &mut control);
        assert_eq!((control.cwnd, control.credit), (101, 0));
    }

    /// The RTT of the second ACK determines its estimate, although that of the first was shorter.
    #[test]
    fn each_ack_is_evaluated_by_its_own_rtt() {
        let (mut veno, mut control) = (started(), Control::new(50, 2));
        ack(&mut veno, 100_000, &mut control);
        ack(&mut veno, 200_000, &mut control);
        assert_eq!(veno.waiting, 50);
    }

    /// As in Linux: without a new RTT all 50 packets in flight count as queued.
    #[test]
    fn without_a_new_rtt_all_packets_count_as_queued() {
        let (mut veno, mut control) = (started(), Control::new(50, 2));
        veno.on_ack(&Ack { acked: 1, delivered: 1, ..Ack::default() }, &flow(), &mut control);
        assert!(veno.is_congested());
        assert_eq!(veno.waiting, 100);
    }

    #[test]
    fn two_samples_are_too_few() {
        let (mut veno, mut control) = (Veno::default(), Control::new(50, 2));
        for (rtt_us, waiting) in [(100_000, 0), (200_000, 0), (200_000, 50)] {
            ack(&mut veno, rtt_us, &mut control);
            assert_eq!(veno.waiting, waiting);
        }
    }

    /// Half of the RTT is queueing delay; the window grows by one packet per 50 delivered. Back in Open the
    /// RTTs are reset.
    #[test]
    fn outside_the_open_state_growth_is_renos() {
        let (mut veno, mut control) = (started(), Control::new(50, 2));
        veno.on_state(State::Recovery, &flow(), &mut control);
        (0..50).for_each(|_| ack(&mut veno, 200_000, &mut control));
        assert_eq!((control.cwnd, veno.waiting), (51, 0));
        veno.on_state(State::Open, &flow(), &mut control);
        assert_eq!((veno.mode, veno.rtt_us), (Mode::Veno, NO_RTT_US));
    }

    #[test]
    fn idle_forgets_the_smallest_rtt_and_keeps_the_estimate() {
        let (mut veno, mut control) = (started(), Control::new(50, 2));
        ack(&mut veno, 200_000, &mut control);
        veno.on_tx_start(&flow(), &mut control);
        assert_eq!((veno.base_rtt_us, veno.waiting, veno.samples), (NO_RTT_US, 50, MIN_SAMPLES + 1));
    }

    #[test]
    fn the_window_never_falls_below_two_packets() {
        assert_eq!(started().on_congestion(Cause::Timeout, &flow(), &Control::new(2, 2)), 2);
        let mut control = Control::new(1, 2);
        started().on_ack(&Ack::default(), &flow(), &mut control);
        assert_eq!(control.cwnd, 2);
    }

    #[test]
    fn an_unused_window_does_not_grow() {
        let mut control = Control::new(50, INFINITE_SSTHRESH);
        let idle = Flow { usage: WindowUse::default(), ..flow() };
        started().on_ack(&Ack { delivered: 50, ..Ack::default() }, &idle, &mut control);
        assert_eq!(control.cwnd, 50);
    }

    #[test]
    fn the_smallest_rtt_is_unknown_until_measured() {
        let recorded = |veno: &Veno| {
            let mut values = BTreeMap::new();
            veno.internals(&mut |name, value| {
                values.insert(name, value);
            });
            values
        };
        assert!(recorded(&Veno::default())["base_rtt_ms"].is_nan());
        assert!((recorded(&started())["base_rtt_ms"] - 100.0).abs() < f64::EPSILON);
        let waiting = Veno { waiting: 5, ..Veno::default() };
        assert!((recorded(&waiting)["n_packets"] - 2.5).abs() < f64::EPSILON);
    }
}
