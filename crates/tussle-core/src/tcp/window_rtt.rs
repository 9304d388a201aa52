//! RTT estimate of a receiver without timestamps: the shortest time in which a whole receive window of data arrived.
//!
//! A sender has at most one window in the network, so that this time is at least a round trip. The rule is Linux's, for
//! connections without timestamps.

use crate::Time;

/// RTT estimate of a receiver without timestamps.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WindowRtt {
    /// First packet after the window that is being timed, and the time at which its first packet arrived.
    window: Option<(u32, Time)>,
    shortest: Option<Time>,
}

impl WindowRtt {
    /// Processes data in order: `next` is the first packet still missing, `window_packets` the advertised window.
    pub(crate) fn on_data(&mut self, next: u32, window_packets: u32, now: Time) {
        if let Some((end, since)) = self.window {
            if next < end {
                return;
            }
            let sample = now.since(since);
            self.shortest = Some(self.shortest.map_or(sample, |shortest| shortest.min(sample)));
        }
        self.window = Some((next + window_packets, now));
    }

    /// The estimate; zero before the first window has arrived.
    pub(crate) fn get(&self) -> Time {
        self.shortest.unwrap_or(Time::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A window of 10 packets, one packet per millisecond: packets 1 to 11 take 10 ms. The next 10 take 30 ms, which is no
    /// shorter; the last 10 take 5 ms.
    #[test]
    fn the_estimate_is_the_shortest_time_of_a_window() {
        let mut rtt = WindowRtt::default();
        let mut seen = Vec::new();
        for next in 1..=31 {
            let at_us = match next {
                1..=11 => 1000 * u64::from(next),
                12..=21 => 11_000 + 3000 * u64::from(next - 11),
                _ => 41_000 + 500 * u64::from(next - 21),
            };
            rtt.on_data(next, 10, Time::from_us(at_us));
            seen.push(rtt.get());
        }
        assert_eq!((seen[9], seen[10]), (Time::ZERO, Time::from_ms(10)));
        assert_eq!((seen[20], seen[30]), (Time::from_ms(10), Time::from_ms(5)));
    }
}
