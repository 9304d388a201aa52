//! Pacing of packets at an even rate, with Linux's gains.

use super::flow::Flow;
use crate::Time;
use crate::cc::Control;

/// Packets sent before pacing begins: the first gap follows the last of them (Linux:
/// `tcp_update_skb_after_send`).
const UNPACED_PACKETS: u64 = 10;
/// Gain in slow start, in percent (Linux: `tcp_pacing_ss_ratio`).
const SLOW_START_PERCENT: u64 = 200;
/// Gain in congestion avoidance, in percent (Linux: `tcp_pacing_ca_ratio`).
const AVOIDANCE_PERCENT: u64 = 120;

/// Mechanism that paces the packets of a sender (Linux: `sk_pacing_status`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pacing {
    /// No pacing; the pacing rate only limits the data in the device.
    Off,
    /// The sender waits before it sends.
    Socket,
    /// The sender gives packets a departure time, for which the queue of the device waits.
    Queue,
}

/// Pacing state of a sender.
#[derive(Clone, Debug)]
pub(crate) struct Pacer {
    pub(crate) pacing: Pacing,
    /// Whether the sender waits for the next departure time (Linux: whether `pacing_timer` is set).
    pub(crate) is_awaited: bool,
    next: Time,
    packets: u64,
    /// Rate of the window at the last ACK (Linux: `sk_pacing_rate`). Events between ACKs, such as idle time
    /// or a timeout, do not change it.
    window_bit_per_s: Option<u64>,
}

impl Pacer {
    /// A pacer without a rate.
    pub(crate) fn new(pacing: Pacing) -> Pacer {
        Pacer { pacing, is_awaited: false, next: Time::ZERO, packets: 0, window_bit_per_s: None }
    }

    /// Time at which the next packet may leave.
    pub(crate) fn next(&self) -> Time {
        self.next
    }

    /// Updates the rate after an ACK has set the window.
    pub(crate) fn on_ack(&mut self, flow: &Flow, control: &Control) {
        self.window_bit_per_s = window_rate_bit_per_s(flow, control);
    }

    /// Rate of the algorithm, or that of the window; `None` before there is one.
    pub(crate) fn bit_per_s(&self, control: &Control) -> Option<u64> {
        control.pacing_bit_per_s.or(self.window_bit_per_s)
    }

    /// Records the transmission of `packets` packets with `bytes` of payload at `now`.
    pub(crate) fn on_send(&mut self, packets: u32, bytes: u32, now: Time, bit_per_s: Option<u64>) {
        if self.pacing == Pacing::Off {
            return;
        }
        self.packets += u64::from(packets);
        let prior = self.next;
        let left = prior.max(now);
        self.next = left;
        let Some(rate) = bit_per_s.filter(|&rate| rate > 0) else { return };
        if self.packets >= UNPACED_PACKETS {
            let span_ns = u64::from(bytes) * 8 * 1_000_000_000 / rate;
            // The next gap compensates for a late packet, up to half of the gap.
            let credit_ns = left.since(prior).ns();
            self.next += Time::from_ns(span_ns - credit_ns.min(span_ns / 2));
        }
    }
}

/// Pacing rate for the window and the RTT; `None` before the first RTT.
pub(crate) fn window_rate_bit_per_s(flow: &Flow, control: &Control) -> Option<u64> {
    let srtt_8us = u64::from(flow.rtt.srtt_8us());
    if srtt_8us == 0 {
        return None;
    }
    let percent = if control.cwnd < control.ssthresh / 2 { SLOW_START_PERCENT } else { AVOIDANCE_PERCENT };
    let packets = u64::from(control.cwnd.max(flow.packets_out()));
    // bytes × packets × gain in one RTT of srtt_8us / 8 µs. Linux counts whole bytes per second.
    let bytes_per_s = u64::from(flow.mss_bytes) * packets * percent * 80_000 / srtt_8us;
    Some(8 * bytes_per_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 10 packets leave at once; then 1500 bytes at 12 Mbit/s take 1 ms each.
    #[test]
    fn packets_after_the_first_ten_are_spaced() {
        let mut pacer = Pacer::new(Pacing::Socket);
        let now = Time::from_ms(5);
        for _ in 0..10 {
            assert_eq!(pacer.next().max(now), now);
            pacer.on_send(1, 1500, now, Some(12_000_000));
        }
        assert_eq!(pacer.next(), Time::from_ms(6));
        // 0.3 ms late: the next gap is 0.7 ms.
        pacer.on_send(1, 1500, Time::from_us(6300), Some(12_000_000));
        assert_eq!(pacer.next(), Time::from_ms(7));
    }

    /// Ten packets of 1448 bytes in 30.1 ms (240 800 / 8 µs) with a gain of 2 are 962 126 bytes per second, and a part.
    #[test]
    fn the_rate_of_a_window_is_in_whole_bytes() {
        let mut flow = Flow::new(250, 1448);
        flow.rtt.update(30_100, 0, 0);
        let control = Control::new(10, u32::MAX);
        assert_eq!(window_rate_bit_per_s(&flow, &control), Some(8 * 962_126));
    }
}
