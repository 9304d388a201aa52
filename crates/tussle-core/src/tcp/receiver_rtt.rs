//! RTT estimate of a host that only receives.
//!
//! It follows the timestamps that the sender echoes. A whole receive window of data takes at least a round trip to arrive,
//! because the sender has at most one window in the network, and lowers the estimate. The rules are Linux's
//! (`rcv_rtt_est`).

use crate::Time;

/// RTT estimate of a receiver.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ReceiverRtt {
    /// Smoothed RTT in eighths of a µs; zero before the first sample.
    rtt_8us: u32,
    /// Last timestamp that the sender echoed.
    echoed_ms: u32,
    /// First packet after the window that is being timed; zero before the first one.
    window_end: u32,
    /// Time at which the first packet of that window arrived.
    window_began: Time,
}

/// Origin of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sample {
    /// A timestamp that the sender echoed.
    Echo,
    /// The time in which a window of data arrived, which is an upper bound.
    Window,
}

impl ReceiverRtt {
    /// Whether a packet echoes another timestamp than the one before it.
    #[inline]
    pub(crate) fn is_new(&self, echoed_ms: u32) -> bool {
        echoed_ms != self.echoed_ms
    }

    /// Processes a new timestamp that an arriving packet echoes: `sample_ms` ago, or `None` if the packet is not a full one.
    pub(crate) fn on_echo(&mut self, echoed_ms: u32, sample_ms: Option<u32>) {
        self.echoed_ms = echoed_ms;
        if let Some(sample_ms) = sample_ms {
            self.update(sample_ms.max(1) * 1000, Sample::Echo);
        }
    }

    /// Whether a window of data has arrived once `next` is the first packet still missing.
    #[inline]
    pub(crate) fn is_window_complete(&self, next: u32) -> bool {
        next >= self.window_end
    }

    /// Processes the end of a window of data, and begins with the next one, of `window_packets` from packet `next` on.
    pub(crate) fn on_window(&mut self, next: u32, window_packets: u32, now: Time) {
        if self.window_end > 0 {
            let us = u32::try_from(now.us() - self.window_began.us()).unwrap_or(u32::MAX >> 3);
            self.update(us.max(1), Sample::Window);
        }
        (self.window_end, self.window_began) = (next.saturating_add(window_packets), now);
    }

    fn update(&mut self, sample_us: u32, origin: Sample) {
        let scaled = sample_us.saturating_mul(8);
        if self.rtt_8us == 0 || scaled < self.rtt_8us {
            self.rtt_8us = scaled;
        } else if origin == Sample::Echo {
            self.rtt_8us = self.rtt_8us - (self.rtt_8us >> 3) + sample_us;
        }
    }

    /// The estimate in eighths of a µs; `None` before the first sample.
    pub(crate) fn get_8us(&self) -> Option<u32> {
        (self.rtt_8us > 0).then_some(self.rtt_8us)
    }

    /// RTT in eighths of a µs by which SACKs are spaced: the smaller one of the estimate and of `handshake_8us`, which is zero
    /// without one. Without timestamps it is zero until a window of data has arrived, as in Linux.
    pub(crate) fn for_spacing_8us(&self, handshake_8us: u32, timestamps: bool) -> u32 {
        match self.get_8us() {
            Some(data) if handshake_8us > 0 => data.min(handshake_8us),
            Some(data) => data,
            None if timestamps => handshake_8us,
            None => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get_us(rtt: &ReceiverRtt) -> Option<u32> {
        rtt.get_8us().map(|rtt_8us| rtt_8us / 8)
    }

    /// A window of 10 packets, one packet per millisecond: packets 1 to 11 take 10 ms. The next 10 take 30 ms, which is no
    /// shorter; the last 10 take 5 ms.
    #[test]
    fn without_timestamps_the_estimate_is_the_shortest_time_of_a_window() {
        let mut rtt = ReceiverRtt::default();
        let mut seen = Vec::new();
        for next in 1..=31 {
            let at_us = match next {
                1..=11 => 1000 * u64::from(next),
                12..=21 => 11_000 + 3000 * u64::from(next - 11),
                _ => 41_000 + 500 * u64::from(next - 21),
            };
            if rtt.is_window_complete(next) {
                rtt.on_window(next, 10, Time::from_us(at_us));
            }
            seen.push(get_us(&rtt));
        }
        assert_eq!((seen[9], seen[10]), (None, Some(10_000)));
        assert_eq!((seen[20], seen[30]), (Some(10_000), Some(5000)));
    }

    /// A shorter time counts at once, a longer one for an eighth: (7 × 40 + 48) / 8 = 41 ms.
    #[test]
    fn echoed_timestamps_are_smoothed() {
        let mut rtt = ReceiverRtt::default();
        for (echoed_ms, sample_ms) in [(1, Some(50)), (2, None), (3, Some(40)), (4, Some(48))] {
            assert!(rtt.is_new(echoed_ms));
            rtt.on_echo(echoed_ms, sample_ms);
            assert!(!rtt.is_new(echoed_ms));
        }
        assert_eq!(get_us(&rtt), Some(41_000));
    }

    #[test]
    fn an_echo_within_a_millisecond_counts_as_one() {
        let mut rtt = ReceiverRtt::default();
        rtt.on_echo(7, Some(0));
        assert_eq!(get_us(&rtt), Some(1000));
    }
}
