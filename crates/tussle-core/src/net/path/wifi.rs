//! Wi-Fi: a link of 802.11g that contends with saturated stations.
//!
//! A station waits until the medium has been idle for a DIFS and a random number of backoff slots; the
//! backoff pauses while others transmit. A frame that collides or is damaged is retransmitted after a longer
//! backoff, up to a limit. The signal changes at random at regular times, and the rate is the highest that
//! the previous signal supports.
//!
//! Sources: IEEE 802.11 (distributed coordination function) for medium access; for the attempt rate of the
//! other stations, G. Bianchi, "Performance Analysis of the IEEE 802.11 Distributed Coordination Function",
//! IEEE JSAC 18(3), 2000; for times, contention windows and sensitivities, IEEE 802.11a and g as tabulated by
//! CWNP and by vendors; for the retry limit, the default of `dot11ShortRetryLimit`. The tenfold error rate
//! per decibel of lost signal is our choice.

use serde::{Deserialize, Serialize};

use super::link_parts::LinkParts;
use super::transmitter::{Fate, NS_BITS, Sent, Transmitter};
use super::{Delays, Element, ElementSettings, Entry, LinkSettings, LoggedLink, QueueLog, checked_delay};
use crate::Time;
use crate::net::queue::{QueueContext, QueueSpec};
use crate::util::distribution::standard_normal;
use crate::util::rng::{Probability, Rng};

pub(super) const ENTRY: Entry = Entry {
    name: "wifi",
    idea: "A link of 802.11g with a given signal strength, shared with saturated stations.",
};

/// Rates in Mbit/s, each with its sensitivity: the signal in dBm at which a tenth of the frames of 1000 bytes
/// is damaged.
const RATES: [(u64, f64); 8] =
    [(6, -82.0), (9, -81.0), (12, -79.0), (18, -77.0), (24, -74.0), (36, -70.0), (48, -66.0), (54, -65.0)];
const BIT_PER_MBIT: u64 = 1_000_000;
const ERROR_AT_SENSITIVITY: f64 = 0.1;
/// A short slot.
const SLOT: Time = Time::from_us(9);
/// DIFS: SIFS and two slots.
const DIFS: Time = Time::from_us(28);
/// Overhead of a frame: preamble and PLCP header, SIFS, then preamble, PLCP header and 14 bytes of the
/// acknowledgement at 24 Mbit/s: 24 + 10 + 24 + 4.7 µs.
const FRAME_OVERHEAD: Time = Time::from_ns(62_667);
/// MAC header and checksum of a frame, and its LLC header: 28 + 8 bytes.
const FRAME_BYTES: u64 = 36;
/// Smallest and largest contention window, in slots.
const CW_MIN: u32 = 16;
const CW_MAX: u32 = 1024;
const DOUBLINGS: i32 = 6;
/// Largest number of transmissions of a frame.
const ATTEMPTS: u32 = 7;
/// Packet size of the other stations, which transmit at the highest rate.
const OTHER_STATIONS_BYTES: u64 = 1500;
const MAX_STATIONS: u32 = 1000;

/// Settings of `wifi`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Highest rate in use, at least 6 Mbit/s; the highest rate of the standard is 54 Mbit/s.
    pub rate_bit_per_s: u64,
    /// One-way delay in addition to the transmission.
    pub delay_ns: u64,
    /// Queue in front of the transmitter. A queue that depends on the rate uses the highest rate.
    pub queue: QueueSpec,
    /// Number of saturated stations: each always has a full packet to transmit at the highest rate.
    pub stations: u32,
    /// Mean received signal, in dBm.
    pub signal_dbm: f64,
    /// Standard deviation of the signal, in dB.
    #[serde(default)]
    pub fading_db: f64,
    /// Interval between changes of the signal; at least 1 ms.
    #[serde(default = "tenth_of_a_second")]
    pub fading_every_ns: u64,
}

fn tenth_of_a_second() -> u64 {
    100_000_000
}

impl ElementSettings for Spec {
    fn build(&self, seed: u64) -> Result<Box<dyn Element>, String> {
        self.parts(seed)?.build()
    }

    fn delays(&self) -> Delays {
        Delays::constant(self.delay_ns)
    }

    fn link(&self) -> Option<LinkSettings<'_>> {
        Some(LinkSettings {
            queue: &self.queue,
            highest_rate_bit_per_s: self.rate_bit_per_s,
            changes: &[],
            logged: self,
        })
    }
}

impl LoggedLink for Spec {
    fn build_logged(&self, seed: u64, log: &QueueLog) -> Result<Box<dyn Element>, String> {
        self.parts(seed)?.build_logged(log)
    }
}

impl Spec {
    /// The transmitter and the queue of the link.
    fn parts(&self, seed: u64) -> Result<LinkParts<'_, Station>, String> {
        let rates = RATES.iter().filter(|(mbit, _)| mbit * BIT_PER_MBIT <= self.rate_bit_per_s).count();
        if rates == 0 {
            return Err(format!("rate_bit_per_s: {} bit/s; give at least 6000000", self.rate_bit_per_s));
        }
        if self.stations > MAX_STATIONS {
            return Err(format!("stations: {}; give at most {MAX_STATIONS}", self.stations));
        }
        if !(-100.0..=0.0).contains(&self.signal_dbm) {
            return Err(format!("signal_dbm: {}; give -100 to 0", self.signal_dbm));
        }
        if !(0.0..=30.0).contains(&self.fading_db) {
            return Err(format!("fading_db: {}; give 0 to 30", self.fading_db));
        }
        if self.fading_every_ns < 1_000_000 {
            return Err(format!("fading_every_ns: {} ns; give at least 1 ms", self.fading_every_ns));
        }
        let station = Station {
            delay: checked_delay(self.delay_ns)?,
            rates: &RATES[..rates],
            others: probability(1.0 - power(1.0 - attempt_rate(self.stations), self.stations)),
            spec: self.clone(),
            signal_dbm: self.signal_dbm,
            reported_dbm: self.signal_dbm,
            next_fading: Time::ZERO,
            rng: Rng::new(seed, ENTRY.name),
        };
        let context = QueueContext { rate_bit_per_s: self.rate_bit_per_s, seed };
        Ok(LinkParts { transmitter: station, queue: &self.queue, context })
    }
}

/// Probability that a station among `others` transmits in a slot. (Bianchi: `τ`.)
fn attempt_rate(others: u32) -> f64 {
    let window = f64::from(CW_MIN);
    let rate_at = |collision: f64| {
        let twice = 2.0 * collision;
        // 1 + 2p + … + (2p)^(m-1), which equals (1 - (2p)^m) / (1 - 2p) except at p = 1/2.
        let stages: f64 = (0..DOUBLINGS).map(|stage| power(twice, stage.unsigned_abs())).sum();
        2.0 / (1.0 + window + collision * window * stages)
    };
    // The attempt rate falls with the collision probability, which grows with the attempt rate: bisection.
    let (mut least, mut most) = (0.0, 1.0);
    for _ in 0..60 {
        let rate = f64::midpoint(least, most);
        if rate_at(1.0 - power(1.0 - rate, others)) > rate {
            least = rate;
        } else {
            most = rate;
        }
    }
    least
}

/// Integer power by multiplication: equal on every platform.
fn power(base: f64, exponent: u32) -> f64 {
    (0..exponent).fold(1.0, |product, _| product * base)
}

fn probability(probability: f64) -> Probability {
    Probability::new(probability.clamp(0.0, 1.0)).expect("the probability is clamped to 0 to 1")
}

/// Time for which a frame occupies the medium, including DIFS and acknowledgement.
fn frame_time(bytes: u64, mbit: u64) -> Time {
    DIFS + FRAME_OVERHEAD + Time::from_ns((bytes + FRAME_BYTES) * NS_BITS / (mbit * BIT_PER_MBIT))
}

#[derive(Debug)]
pub(super) struct Station {
    spec: Spec,
    delay: Time,
    rates: &'static [(u64, f64)],
    /// Probability that another station transmits in a slot.
    others: Probability,
    signal_dbm: f64,
    /// The previous signal, by which the rate is chosen.
    reported_dbm: f64,
    next_fading: Time,
    rng: Rng,
}

impl Station {
    fn fade(&mut self, now: Time) {
        while self.next_fading <= now {
            self.reported_dbm = self.signal_dbm;
            self.signal_dbm = self.spec.signal_dbm + self.spec.fading_db * standard_normal(&mut self.rng);
            self.next_fading += Time::from_ns(self.spec.fading_every_ns);
        }
    }

    /// The rate in use, and the probability that a frame is damaged.
    fn rate(&self) -> (u64, Probability) {
        let strong_enough = self.rates.iter().rev().find(|(_, needed_dbm)| *needed_dbm <= self.reported_dbm);
        let (mbit, needed_dbm) = *strong_enough.unwrap_or(&self.rates[0]);
        let error = ERROR_AT_SENSITIVITY * libm::pow(10.0, needed_dbm - self.signal_dbm);
        (mbit, probability(error))
    }

    /// Duration of a backoff: its slots, and the frames that other stations transmit meanwhile.
    fn back_off(&mut self, window: u32) -> Time {
        let slots = self.rng.below(window);
        let busy = (0..slots).filter(|_| self.rng.sample_bool(self.others)).count() as u64;
        let idle = u64::from(slots) - busy;
        Time::from_ns(idle * SLOT.ns() + busy * others_time().ns())
    }
}

fn others_time() -> Time {
    frame_time(OTHER_STATIONS_BYTES, RATES[RATES.len() - 1].0)
}

impl Transmitter for Station {
    const LOSES: bool = true;

    fn transmit(&mut self, start: Time, size_bytes: u32) -> Sent {
        let mut end = start;
        let mut window = CW_MIN;
        for _ in 0..ATTEMPTS {
            self.fade(end);
            let (mbit, damage) = self.rate();
            end += self.back_off(window);
            let own = frame_time(u64::from(size_bytes), mbit);
            let collides = self.rng.sample_bool(self.others);
            end += if collides { own.max(others_time()) } else { own };
            if !collides && !self.rng.sample_bool(damage) {
                return Sent { end, departure: end + self.delay, fate: Fate::Delivered };
            }
            window = (2 * window).min(CW_MAX);
        }
        Sent { end, departure: end + self.delay, fate: Fate::Dropped }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{departures, paced};
    use super::*;
    use crate::net::queue::FifoSpec;

    fn spec(stations: u32, signal_dbm: f64) -> Spec {
        Spec {
            rate_bit_per_s: 54_000_000,
            delay_ns: 0,
            queue: QueueSpec::Fifo(FifoSpec::default()),
            stations,
            signal_dbm,
            fading_db: 0.0,
            fading_every_ns: 100_000_000,
        }
    }

    /// Number of delivered packets among `count` that are queued at once, and mean time per packet, in µs.
    fn saturated(spec: &Spec, count: u32) -> (usize, f64) {
        let departed = departures(&mut *spec.build(1).unwrap(), paced(Time::ZERO, u64::from(count)));
        let last_us = departed.last().map_or(f64::NAN, |(at, _)| at.as_secs_f64() * 1e6);
        (departed.len(), last_us / f64::from(count))
    }

    /// Without other stations: 7.5 slots of 9 µs on average and 28 + 62.667 + (1536 × 8) / 54 = 318.2 µs:
    /// 385.7 µs, or 31.1 Mbit/s. The standard deviation of the mean of 10 000 is 4.6 × 9 / 100 = 0.4 µs.
    #[test]
    fn a_single_station_uses_all_of_the_medium() {
        let (arrived, mean_us) = saturated(&spec(0, -50.0), 10_000);
        assert_eq!(arrived, 10_000);
        assert!((mean_us - 385.7).abs() <= 2.0, "{mean_us}");
    }

    /// Bianchi's throughput of n stations: in a slot at least one station transmits with P = 1 - (1 - τ)^n,
    /// and exactly one, successfully, with n τ (1 - τ)^(n-1). A slot lasts 9 µs, or 318.2 µs with a
    /// transmission. A transmission collides with p = 1 - (1 - τ)^(n-1), and a packet is lost after seven
    /// collisions, with p⁷.
    #[test]
    fn saturated_stations_get_bianchis_throughput() {
        for others in [1, 4, 9] {
            let n = f64::from(others + 1);
            let tau = attempt_rate(others);
            let idle = power(1.0 - tau, others + 1);
            let alone = n * tau * power(1.0 - tau, others);
            let theory_us = n * (idle * 9.0 + (1.0 - idle) * others_time().as_secs_f64() * 1e6) / alone;
            let (arrived, mean_us) = saturated(&spec(others, -50.0), 20_000);
            let lost = 20_000.0 * power(1.0 - power(1.0 - tau, others), ATTEMPTS);
            let found = f64::from(u32::try_from(20_000 - arrived).unwrap());
            assert!((found - lost).abs() <= 5.0 * lost.sqrt() + 1.0, "{others}: {found} lost, theory {lost}");
            assert!((mean_us / theory_us - 1.0).abs() <= 0.04, "{others}: {mean_us}, theory {theory_us}");
        }
    }

    /// Bianchi's τ for W = 16 and m = 6 without other stations: 2 / (W + 1).
    #[test]
    fn the_attempt_rate_of_a_single_station_is_bianchis() {
        assert!((attempt_rate(0) - 2.0 / 17.0).abs() < 1e-9);
        assert!(attempt_rate(9) < attempt_rate(1));
    }

    /// -76 dBm is 1 dB above the sensitivity of 18 Mbit/s, the highest possible rate: 1 % of the frames is
    /// damaged. Without other stations: (67.5 + 90.667 + 1536 × 8 / 18) × 1.01 = 849.2 µs, and slightly more
    /// for the longer backoffs.
    #[test]
    fn a_weak_signal_lowers_the_rate() {
        let (arrived, mean_us) = saturated(&spec(0, -76.0), 10_000);
        assert_eq!(arrived, 10_000);
        assert!((mean_us - 850.0).abs() <= 5.0, "{mean_us}");
    }

    /// 9 dB below the sensitivity of 6 Mbit/s, all seven transmissions of every frame are damaged.
    #[test]
    fn without_a_signal_nothing_arrives() {
        assert_eq!(saturated(&spec(0, -91.0), 100).0, 0);
    }

    /// The rate follows the signal with a delay: with fading, more frames are damaged and retransmitted than
    /// with a steady signal.
    #[test]
    fn fading_costs_time_and_packets() {
        let (steady, steady_us) = saturated(&spec(0, -76.0), 20_000);
        let (faded, faded_us) = saturated(&Spec { fading_db: 4.0, ..spec(0, -76.0) }, 20_000);
        assert!(faded < steady, "{faded} of {steady}");
        assert!(faded_us > 1.2 * steady_us, "{faded_us} after {steady_us}");
    }

    #[test]
    fn invalid_settings_are_refused() {
        let refusal = |spec: Spec| spec.build(1).unwrap_err();
        let slow = Spec { rate_bit_per_s: 1_000_000, ..spec(0, -50.0) };
        assert_eq!(refusal(slow), "rate_bit_per_s: 1000000 bit/s; give at least 6000000");
        assert_eq!(refusal(spec(1001, -50.0)), "stations: 1001; give at most 1000");
        assert_eq!(refusal(spec(0, 20.0)), "signal_dbm: 20; give -100 to 0");
        assert_eq!(refusal(Spec { fading_db: -1.0, ..spec(0, -50.0) }), "fading_db: -1; give 0 to 30");
        assert_eq!(
            refusal(Spec { fading_every_ns: 1, ..spec(0, -50.0) }),
            "fading_every_ns: 1 ns; give at least 1 ms"
        );
    }
}
