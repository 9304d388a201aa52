//! Round-trip time estimation: smoothed RTT, smallest RTT, and retransmission timeout (RFC 6298, with Linux's
//! refinements: the variance has the smallest timeout as lower bound, and falls once per flight).

use std::cmp::Reverse;

use crate::Time;
use crate::util::windowed::WindowedMax;

/// Smallest variance term of the timeout, and hence almost the smallest timeout: 200 ms (Linux:
/// `TCP_RTO_MIN`).
pub(crate) const RTO_MIN_US: u32 = 200_000;
/// Largest timeout (Linux: `TCP_RTO_MAX`).
const RTO_MAX: Time = Time::from_secs(120);
/// Timeout before the first sample. [RFC 6298, 2.1](https://www.rfc-editor.org/rfc/rfc6298#section-2)
const RTO_INITIAL: Time = Time::from_secs(1);
/// Timeout of the first data if a SYN was retransmitted, so that the handshake gave no sample.
/// [RFC 6298, 5.7](https://www.rfc-editor.org/rfc/rfc6298#section-5)
const RTO_WITHOUT_HANDSHAKE: Time = Time::from_secs(3);
/// Largest RTT sample: twice the largest timeout, so that eighths of it fit 32 bits.
const MAX_RTT_US: u32 = 240_000_000;
/// Lifetime of a smallest RTT (Linux: `tcp_min_rtt_wlen`, 300 s).
const MIN_RTT_WINDOW_US: u64 = 300_000_000;

/// RTT estimator of one flow.
#[derive(Clone, Debug)]
pub struct RttEstimator {
    /// Smoothed RTT in eighths of a µs; zero before the first sample.
    srtt_8us: u32,
    /// Mean deviation in quarters of a µs.
    mdev_4us: u32,
    /// Largest deviation of the current flight, at least the smallest timeout.
    mdev_max_4us: u32,
    /// Variance term of the timeout.
    rttvar_us: u32,
    /// Value of `nxt` at the start of the current flight.
    flight_end: u32,
    /// Smallest RTT; `None` before the first sample.
    min_us: Option<WindowedMax<Reverse<u32>>>,
    latest_us: Option<u32>,
    tick_us: u32,
    /// Timeout of the last sample, in whole ticks, before its upper bound is applied.
    ticked_us: u32,
    rto: Time,
}

impl RttEstimator {
    /// An estimator without samples, on a host with `hz` timer ticks per second.
    pub fn new(hz: u32) -> RttEstimator {
        RttEstimator {
            srtt_8us: 0,
            mdev_4us: 0,
            mdev_max_4us: 0,
            rttvar_us: 0,
            flight_end: 0,
            min_us: None,
            latest_us: None,
            tick_us: 1_000_000 / hz,
            ticked_us: 0,
            rto: RTO_INITIAL,
        }
    }

    /// Smoothed RTT in µs; `None` before the first sample.
    pub fn srtt_us(&self) -> Option<u32> {
        (self.srtt_8us > 0).then_some(self.srtt_8us >> 3)
    }

    /// Smoothed RTT in eighths of a µs, as in Linux; zero before the first sample.
    pub fn srtt_8us(&self) -> u32 {
        self.srtt_8us
    }

    /// Smallest RTT of the last 300 s, in µs; `None` before the first sample.
    pub fn min_us(&self) -> Option<u32> {
        self.min_us.map(|min| min.get().0)
    }

    /// Last RTT sample of the smoothed RTT, in µs.
    pub fn latest_us(&self) -> Option<u32> {
        self.latest_us
    }

    /// Retransmission timeout in whole timer ticks.
    pub fn rto(&self) -> Time {
        self.rto
    }

    /// Updates the smoothed RTT with a sample; `una` and `nxt` bound the current flight.
    pub fn update(&mut self, rtt_us: u32, una: u32, nxt: u32) {
        let rtt_us = rtt_us.min(MAX_RTT_US);
        self.latest_us = Some(rtt_us);
        if self.srtt_8us == 0 {
            self.srtt_8us = (rtt_us << 3).max(1);
            self.mdev_4us = rtt_us << 1;
            self.rttvar_us = self.mdev_4us.max(RTO_MIN_US);
            self.mdev_max_4us = self.rttvar_us;
            self.flight_end = nxt;
        } else {
            let error = i64::from(rtt_us) - i64::from(self.srtt_8us >> 3);
            let excess = error.abs() - i64::from(self.mdev_4us >> 2);
            // A falling RTT must not raise the timeout, so its deviation counts an eighth as much.
            let step = if error < 0 && excess > 0 { excess >> 3 } else { excess };
            self.srtt_8us = clamp(i64::from(self.srtt_8us) + error).max(1);
            self.mdev_4us = clamp(i64::from(self.mdev_4us) + step);
            self.mdev_max_4us = self.mdev_max_4us.max(self.mdev_4us);
            self.rttvar_us = self.rttvar_us.max(self.mdev_max_4us);
            if una > self.flight_end {
                if self.mdev_max_4us < self.rttvar_us {
                    self.rttvar_us -= (self.rttvar_us - self.mdev_max_4us) >> 2;
                }
                self.flight_end = nxt;
                self.mdev_max_4us = RTO_MIN_US;
            }
        }
        self.set_rto();
    }

    /// Updates the windowed minimum with a sample.
    pub fn update_min(&mut self, rtt_us: u32, now: Time) {
        let sample = Reverse(rtt_us.max(1));
        self.min_us.get_or_insert_with(|| WindowedMax::new(sample, now.us())).update(
            sample,
            now.us(),
            MIN_RTT_WINDOW_US,
        );
    }

    /// Takes the timeout of a connection whose handshake gave no sample, until the first one.
    pub(crate) fn on_unknown_handshake(&mut self) {
        self.rto = RTO_WITHOUT_HANDSHAKE;
    }

    /// Whether the timeout has doubled since the last sample.
    pub(crate) fn is_backed_off(&self) -> bool {
        self.rto > Time::from_us(u64::from(self.ticked_us))
    }

    /// Takes the first timeout from an RTT of earlier connections, in eighths of a µs, if it is larger than the sample of
    /// the handshake.
    pub(crate) fn seed_timeout(&mut self, rtt_8us: u32) {
        if rtt_8us > self.srtt_8us {
            let ticks_us = rtt_8us / 8 / self.tick_us * self.tick_us;
            let deviation_us = (2 * ticks_us).max(RTO_MIN_US);
            self.rto = Time::from_us(u64::from(ticks_us) + u64::from(deviation_us));
        }
    }

    /// Doubles the timeout until the next sample.
    /// [RFC 6298, 5.5](https://www.rfc-editor.org/rfc/rfc6298#section-5)
    pub(crate) fn back_off(&mut self) {
        self.rto = (self.rto + self.rto).min(RTO_MAX);
    }

    fn set_rto(&mut self) {
        let exact_us = (self.srtt_8us >> 3) + self.rttvar_us;
        // Most samples leave the timeout in the same tick.
        if self.ticked_us.wrapping_sub(exact_us) >= self.tick_us {
            self.ticked_us = exact_us.div_ceil(self.tick_us) * self.tick_us;
        }
        self.rto = Time::from_us(u64::from(self.ticked_us)).min(RTO_MAX);
    }
}

fn clamp(value: i64) -> u32 {
    u32::try_from(value.max(0)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// srtt 100 ms, variance max(2 × 100 ms, 200 ms) = 200 ms: timeout 300 ms, 75 ticks of 4 ms.
    #[test]
    fn first_sample_sets_the_timeout_to_three_round_trips() {
        let mut rtt = RttEstimator::new(250);
        rtt.update(100_000, 0, 10);
        assert_eq!(rtt.srtt_us(), Some(100_000));
        assert_eq!(rtt.rto(), Time::from_ms(300));
    }

    /// A steady 10 ms: the variance never falls below 200 ms, so 210 ms in 4 ms ticks are 212 ms.
    #[test]
    fn timeout_of_a_short_path_is_bounded_below() {
        let mut rtt = RttEstimator::new(250);
        for flight in 0..100 {
            rtt.update(10_000, flight * 10 + 1, flight * 10 + 10);
        }
        assert_eq!(rtt.rto(), Time::from_ms(212));
    }

    /// srtt 100 ms, sample 60 ms: srtt 100 - 40/8 = 95 ms; deviation 50 ms (in quarters 200), excess
    /// 40 - 50 < 0 is taken whole: 200 - 10 = 190 quarters.
    #[test]
    fn a_falling_rtt_does_not_raise_the_variance() {
        let mut rtt = RttEstimator::new(1000);
        rtt.update(100_000, 0, 10);
        rtt.update(60_000, 1, 10);
        assert_eq!(rtt.srtt_us(), Some(95_000));
        assert_eq!(rtt.mdev_4us, 190_000);
    }

    #[test]
    fn back_off_doubles_to_two_minutes_and_ends_with_a_sample() {
        let mut rtt = RttEstimator::new(250);
        rtt.update(100_000, 0, 10);
        rtt.back_off();
        assert_eq!(rtt.rto(), Time::from_ms(600));
        (0..20).for_each(|_| rtt.back_off());
        assert_eq!(rtt.rto(), Time::from_secs(120));
        rtt.update(100_000, 0, 10);
        assert!(rtt.rto() <= Time::from_ms(300));
    }

    #[test]
    fn minimum_is_forgotten_after_its_window() {
        let mut rtt = RttEstimator::new(250);
        rtt.update_min(10, Time::ZERO);
        for second in 1..=301 {
            rtt.update_min(50, Time::from_secs(second));
            assert_eq!(rtt.min_us(), Some(if second <= 300 { 10 } else { 50 }));
        }
    }
}
