//! Monitor intervals: the outcome of packets sent at one rate, and its utility.
//!
//! An ACK belongs to the interval in which the newest packet that it acknowledges was sent. The sums are
//! integers, and the floating point is `+ - × ÷ √` only, which every machine rounds alike.

use crate::Time;

/// Slope of the RTT below which it counts as noise. (Paper, 4.4: latency filter.)
const GRADIENT_NOISE: f64 = 0.01;

/// Purpose of an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Send at twice the previous rate.
    Start,
    /// Send slightly above the rate.
    Up,
    /// Send slightly below the rate.
    Down,
    /// Send at the rate while the outcomes of a pair are outstanding.
    Wait,
}

/// Packets sent at one rate.
#[derive(Clone, Debug)]
pub(super) struct Interval {
    pub(super) purpose: Purpose,
    /// Rate of the payload, in Mbit/s.
    pub(super) rate: f64,
    pub(super) from: Time,
    /// End of the interval; `None` while packets are being sent.
    pub(super) to: Option<Time>,
    /// Packets that the flow sent before the interval.
    pub(super) sent_before: u32,
    /// Packets sent in the interval, once it is over.
    pub(super) sent: u32,
    pub(super) lost: u32,
    /// Whether something other than the rate limited the interval.
    pub(super) limited: bool,
    fit: LinearFit,
}

/// Measurements that determine a utility.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outcome {
    /// Sending rate in Mbit/s. (Paper: `x`.)
    pub(super) rate: f64,
    /// Slope of the RTT, in seconds per second. (Paper: `d(RTT)/dT`.)
    pub(super) gradient: f64,
    /// Fraction of lost packets. (Paper: `L`.)
    pub(super) loss: f64,
}

/// Weights of delay and loss in the utility.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weights {
    /// Weight of the RTT slope. (Paper: `b`.)
    pub(super) latency: f64,
    /// Weight of losses. (Paper: `c`.)
    pub(super) loss: f64,
}

/// Linear regression of RTTs over transmission times, both in µs and relative to the first.
#[derive(Clone, Debug, Default)]
struct LinearFit {
    first_rtt: Option<u32>,
    count: i128,
    t: i128,
    r: i128,
    tt: i128,
    tr: i128,
}

impl LinearFit {
    fn add(&mut self, at_us: i128, rtt_us: u32) {
        let first = *self.first_rtt.get_or_insert(rtt_us);
        let rtt_us = i128::from(rtt_us) - i128::from(first);
        self.count += 1;
        self.t += at_us;
        self.r += rtt_us;
        self.tt += at_us * at_us;
        self.tr += at_us * rtt_us;
    }

    /// Least-squares slope; zero if all packets were sent at the same time.
    #[expect(clippy::cast_precision_loss, reason = "the quotient needs no more digits than f64 has")]
    fn slope(&self) -> f64 {
        let spread = self.count * self.tt - self.t * self.t;
        if spread == 0 { 0.0 } else { (self.count * self.tr - self.t * self.r) as f64 / spread as f64 }
    }
}

impl Interval {
    pub(super) fn new(purpose: Purpose, rate: f64, from: Time, sent_before: u32) -> Interval {
        Interval {
            purpose,
            rate,
            from,
            to: None,
            sent_before,
            sent: 0,
            lost: 0,
            limited: false,
            fit: LinearFit::default(),
        }
    }

    /// Adds the RTT of a packet that was sent at `at`.
    pub(super) fn add_rtt(&mut self, at: Time, rtt_us: u32) {
        self.fit.add(i128::from(at.us()) - i128::from(self.from.us()), rtt_us);
    }

    /// Ends the interval, when the flow has sent `sent_total` packets.
    pub(super) fn close(&mut self, to: Time, sent_total: u32) {
        self.to = Some(to);
        self.sent = sent_total.saturating_sub(self.sent_before);
    }

    pub(super) fn outcome(&self) -> Outcome {
        let slope = self.fit.slope();
        Outcome {
            rate: self.rate,
            gradient: if slope.abs() < GRADIENT_NOISE { 0.0 } else { slope },
            loss: (f64::from(self.lost) / f64::from(self.sent.max(1))).min(1.0),
        }
    }
}

impl Outcome {
    /// Utility `x^0.9 - b x d(RTT)/dT - c x L`. (Paper, 3.1, equation 1.)
    pub(super) fn utility(&self, weights: Weights) -> f64 {
        let cost = weights.latency * self.gradient + weights.loss * self.loss;
        power_nine_tenths(self.rate) - self.rate * cost
    }
}

/// Power `x^0.9` of a positive number, as x over its tenth root, to a relative error of 10^-14. (Paper: t =
/// 0.9.)
pub(super) fn power_nine_tenths(x: f64) -> f64 {
    debug_assert!(x > 0.0, "{x} is no rate");
    x / fifth_root(x.sqrt())
}

/// Fifth root by Newton's method on `z^5 = s`, from above, with s scaled between 1 and 32 by powers of 2^5.
fn fifth_root(s: f64) -> f64 {
    let (mut s, mut scale) = (s, 1.0);
    while s >= 32.0 {
        (s, scale) = (s / 32.0, scale * 2.0);
    }
    while s < 1.0 {
        (s, scale) = (s * 32.0, scale / 2.0);
    }
    // Once the error is small, each step squares it: it is 1/5 after 3 steps at worst.
    let mut z = 2.0;
    for _ in 0..10 {
        z = (4.0 * z + s / (z * z * z * z)) / 5.0;
    }
    z * scale
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAPER: Weights = Weights { latency: 900.0, loss: 11.35 };

    /// Powers known to 16 digits; and (x^0.9)^10 must be x^9 from 1 bit/s to 1 Tbit/s.
    #[test]
    fn the_power_is_right_to_thirteen_digits() {
        let known = [
            (1.0, 1.0),
            (2.0, 1.866_065_983_073_614_8),
            (10.0, 7.943_282_347_242_816),
            (1e6, 251_188.643_150_958),
        ];
        for (x, power) in known {
            assert!((power_nine_tenths(x) / power - 1.0).abs() < 1e-14, "{x}^0.9");
        }
        for step in 0..4000 {
            let x = 1e-6 * f64::from(1 + step % 997) * f64::from(1 << (step % 30));
            let (power, mut ratio) = (power_nine_tenths(x), 1.0);
            for _ in 0..9 {
                ratio *= power / x;
            }
            assert!((ratio * power - 1.0).abs() < 1e-13, "{x}^0.9");
        }
    }

    /// 100 Mbit/s: 63.1. A loss of 10 % costs 11.35 × 100 × 0.1 = 113.5; an RTT that grows by 50 ms per
    /// second costs 900 × 100 × 0.05 = 4500.
    #[test]
    fn utility_weighs_rate_against_loss_and_growing_delay() {
        let calm = Outcome { rate: 100.0, gradient: 0.0, loss: 0.0 };
        assert!((calm.utility(PAPER) - 63.0957).abs() < 1e-4);
        assert!((Outcome { loss: 0.1, ..calm }.utility(PAPER) - (63.0957 - 113.5)).abs() < 1e-4);
        assert!((Outcome { gradient: 0.05, ..calm }.utility(PAPER) - (63.0957 - 4500.0)).abs() < 1e-4);
    }

    /// An interval whose RTT starts at 40 ms and grows by `per_ms` µs each ms.
    fn growing(per_ms: u32) -> Interval {
        let mut interval = Interval::new(Purpose::Up, 10.0, Time::from_secs(3), 100);
        for ms in 0..20 {
            interval.add_rtt(
                Time::from_secs(3) + Time::from_ms(ms),
                40_000 + per_ms * u32::try_from(ms).unwrap(),
            );
        }
        interval
    }

    /// 50 µs per ms are a slope of 0.05; 9 µs per ms, 0.009, are below 0.01.
    #[test]
    fn the_gradient_is_the_slope_of_the_rtt_unless_it_is_noise() {
        assert!((growing(50).outcome().gradient - 0.05).abs() < 1e-12);
        assert!(growing(9).outcome().gradient.abs() < f64::EPSILON);
    }

    #[test]
    fn packets_sent_at_once_have_no_gradient() {
        let mut interval = Interval::new(Purpose::Up, 10.0, Time::ZERO, 0);
        interval.add_rtt(Time::ZERO, 10_000);
        interval.add_rtt(Time::ZERO, 90_000);
        assert!(interval.outcome().gradient.abs() < f64::EPSILON);
    }

    /// 5 of 50 packets.
    #[test]
    fn loss_is_a_fraction_of_the_packets_sent() {
        let mut interval = growing(0);
        interval.lost = 5;
        interval.close(Time::from_secs(4), 150);
        assert!((interval.outcome().loss - 0.1).abs() < f64::EPSILON);
    }
}
