//! Distributions of random times.
//!
//! Logarithms and powers come from `libm`, whose results do not depend on the platform.

use serde::{Deserialize, Serialize};

use crate::Time;
use crate::util::rng::Rng;

/// Distribution of a random time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Distribution {
    /// A constant time, in ns.
    ConstantNs(u64),
    /// Uniform distribution between two times.
    Uniform(Uniform),
    /// Normal distribution; a negative time becomes zero.
    Normal(Normal),
    /// Exponential distribution, with this mean in ns.
    ExponentialNs(u64),
    /// Pareto distribution, which is heavy-tailed.
    Pareto(Pareto),
    /// Empirical distribution: quantiles in ns, ascending, evenly spaced from 0 to 100 %, with linear
    /// interpolation.
    QuantilesNs(Vec<u64>),
    /// Delays of a Wi-Fi network with collisions, with a mean of about this many ns, 1 to 91 ms. A Poisson
    /// number of retries takes up to 1 ms each; a few packets are also retransmitted a Poisson number of
    /// times, 7.5 ms each: (mean - 1 ms) / 90 ms of them. Source: draft-huitema-ccwg-c4-test, Handling of
    /// High Jitter Environments, a model of measured RTTs.
    WifiNs(u64),
}

/// Bounds of a uniform distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Uniform {
    /// Shortest time.
    pub least_ns: u64,
    /// Longest time.
    pub most_ns: u64,
}

/// Moments of a normal distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Normal {
    /// Mean.
    pub mean_ns: u64,
    /// Standard deviation.
    pub deviation_ns: u64,
}

/// Parameters of a Pareto distribution: a time is longer than t with probability (least / t)^shape.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pareto {
    /// Shortest time.
    pub least_ns: u64,
    /// Shape: a smaller value gives a heavier tail. The mean is finite above 1, the variance above 2.
    pub shape: f64,
}

/// Moments and steps of the model of Wi-Fi.
mod wifi {
    /// Mean number of retries, and the longest time of one.
    pub(super) const RETRIES: f64 = 1.0;
    pub(super) const RETRY_NS: u64 = 1_000_000;
    /// Mean number of retransmissions of a packet that has any, and the time of one.
    pub(super) const RETRANSMISSIONS: f64 = 12.0;
    pub(super) const RETRANSMISSION_NS: u64 = 7_500_000;
    /// Least and largest mean delay.
    pub(super) const LEAST_NS: u64 = 1_000_000;
    pub(super) const MOST_NS: u64 = 91_000_000;

    /// The share of packets that are retransmitted.
    pub(super) fn retransmitted(mean_ns: u64) -> f64 {
        super::float(mean_ns.saturating_sub(LEAST_NS)) / super::float(MOST_NS - LEAST_NS)
    }
}

/// Sampler of a distribution.
#[derive(Clone, Debug)]
pub(crate) struct Sampler {
    distribution: Distribution,
    most: Time,
    rng: Rng,
}

impl Sampler {
    /// Creates a sampler; samples above `most` are cut to it.
    pub(crate) fn new(distribution: &Distribution, most: Time, rng: Rng) -> Result<Sampler, String> {
        match distribution {
            Distribution::Uniform(Uniform { least_ns, most_ns }) if least_ns > most_ns => {
                return Err(format!("uniform: from {least_ns} to {most_ns} ns; give the shorter first"));
            }
            Distribution::Pareto(Pareto { shape, .. }) if !(shape.is_finite() && *shape > 0.0) => {
                return Err(format!("pareto.shape: {shape}; give more than 0"));
            }
            Distribution::QuantilesNs(quantiles) if quantiles.len() < 2 || !quantiles.is_sorted() => {
                return Err("quantiles_ns: give at least 2, ascending".to_owned());
            }
            Distribution::WifiNs(mean_ns) if !(wifi::LEAST_NS..=wifi::MOST_NS).contains(mean_ns) => {
                return Err(format!(
                    "wifi_ns: a mean of {mean_ns} ns; give {} to {}",
                    wifi::LEAST_NS,
                    wifi::MOST_NS
                ));
            }
            _ => {}
        }
        if distribution.shortest_ns() > most.ns() {
            return Err(format!(
                "{} at the least; give at most {most}",
                Time::from_ns(distribution.shortest_ns())
            ));
        }
        // A constant uses no random numbers, and its state must be equal with every seed.
        let rng = if let Distribution::ConstantNs(_) = distribution { Rng::new(0, "none") } else { rng };
        Ok(Sampler { distribution: distribution.clone(), most, rng })
    }

    /// Samples a time.
    pub(crate) fn sample(&mut self) -> Time {
        let sample_ns = match &self.distribution {
            Distribution::ConstantNs(ns) => *ns,
            Distribution::Uniform(Uniform { least_ns, most_ns }) => {
                least_ns + part(most_ns - least_ns, bits(&mut self.rng))
            }
            Distribution::Normal(Normal { mean_ns, deviation_ns }) => {
                whole_ns(float(*mean_ns) + float(*deviation_ns) * standard_normal(&mut self.rng))
            }
            Distribution::ExponentialNs(mean_ns) => {
                whole_ns(-float(*mean_ns) * libm::log(above_zero(bits(&mut self.rng))))
            }
            Distribution::Pareto(Pareto { least_ns, shape }) => {
                let power = libm::pow(above_zero(bits(&mut self.rng)), -1.0 / shape);
                whole_ns(float(*least_ns) * power)
            }
            Distribution::QuantilesNs(quantiles) => between(quantiles, bits(&mut self.rng)),
            Distribution::WifiNs(mean_ns) => wifi_ns(wifi::retransmitted(*mean_ns), &mut self.rng),
        };
        Time::from_ns(sample_ns).min(self.most)
    }
}

impl Distribution {
    /// Longest possible time, in ns; `u64::MAX` if the distribution has no bound.
    pub(crate) fn longest_ns(&self) -> u64 {
        match self {
            Distribution::ConstantNs(ns) => *ns,
            Distribution::Uniform(Uniform { most_ns, .. }) => *most_ns,
            Distribution::Normal(_)
            | Distribution::ExponentialNs(_)
            | Distribution::Pareto(_)
            | Distribution::WifiNs(_) => u64::MAX,
            Distribution::QuantilesNs(quantiles) => quantiles.last().copied().unwrap_or(0),
        }
    }

    /// The 99.99th percentile, in ns, or the longest time if there is one.
    pub(crate) fn rarely_exceeded_ns(&self) -> u64 {
        /// The 99.99th percentile of a normal distribution, in standard deviations above the mean.
        const DEVIATIONS: f64 = 3.72;
        const RARE: f64 = 1e-4;
        match self {
            Distribution::Normal(normal) => {
                whole_ns(float(normal.mean_ns) + DEVIATIONS * float(normal.deviation_ns))
            }
            Distribution::ExponentialNs(mean_ns) => whole_ns(-float(*mean_ns) * libm::log(RARE)),
            Distribution::Pareto(pareto) => {
                whole_ns(float(pareto.least_ns) * libm::pow(RARE, -1.0 / pareto.shape))
            }
            // The sum of two percentiles, which is exceeded more rarely.
            Distribution::WifiNs(mean_ns) => {
                let retransmitted = wifi::retransmitted(*mean_ns);
                let retransmissions = poisson_exceeded(wifi::RETRANSMISSIONS, RARE / retransmitted);
                wifi::RETRY_NS * poisson_exceeded(wifi::RETRIES, RARE)
                    + wifi::RETRANSMISSION_NS * retransmissions
            }
            bounded => bounded.longest_ns(),
        }
    }

    /// Shortest possible time, in ns.
    pub(crate) fn shortest_ns(&self) -> u64 {
        match self {
            Distribution::ConstantNs(ns) => *ns,
            Distribution::Uniform(Uniform { least_ns, .. })
            | Distribution::Pareto(Pareto { least_ns, .. }) => *least_ns,
            Distribution::Normal(_) | Distribution::ExponentialNs(_) | Distribution::WifiNs(_) => 0,
            Distribution::QuantilesNs(quantiles) => quantiles.first().copied().unwrap_or(0),
        }
    }
}

/// 64 uniform random bits.
fn bits(rng: &mut Rng) -> u64 {
    u64::from(rng.next_u32()) << 32 | u64::from(rng.next_u32())
}

/// The product `whole` × `bits` / 2⁶⁴, rounded down.
fn part(whole: u64, bits: u64) -> u64 {
    let scaled = ((u128::from(whole) + 1) * u128::from(bits)) >> 64;
    u64::try_from(scaled).expect("a part of a u64")
}

/// Uniform number above 0 and up to 1: (n + 1) / 2⁵³ for 53 random bits.
fn above_zero(bits: u64) -> f64 {
    float((bits >> 11) + 1) / float(1 << 53)
}

/// Sample of the standard normal distribution. Source: G. Marsaglia and T. A. Bray, "A Convenient Method for
/// Generating Normal Variables", SIAM Review 6(3), 1964 (the polar method).
pub(crate) fn standard_normal(rng: &mut Rng) -> f64 {
    loop {
        let (x, y) = (2.0 * above_zero(bits(rng)) - 1.0, 2.0 * above_zero(bits(rng)) - 1.0);
        let square = x * x + y * y;
        if square > 0.0 && square < 1.0 {
            return x * (-2.0 * libm::log(square) / square).sqrt();
        }
    }
}

/// Sample of a delay over Wi-Fi, in ns: the last retry takes a part of its time.
fn wifi_ns(retransmitted: f64, rng: &mut Rng) -> u64 {
    let retries = poisson(wifi::RETRIES, rng);
    let rest_ns = if retries == 0 { 0 } else { part(wifi::RETRY_NS, bits(rng)) };
    let is_retransmitted = above_zero(bits(rng)) <= retransmitted;
    let retransmissions = if is_retransmitted { poisson(wifi::RETRANSMISSIONS, rng) } else { 0 };
    retries * wifi::RETRY_NS - rest_ns + retransmissions * wifi::RETRANSMISSION_NS
}

/// Sample of a Poisson distribution with a small mean. Source: D. E. Knuth, The Art of Computer Programming,
/// volume 2, 3.4.1, algorithm Q.
fn poisson(mean: f64, rng: &mut Rng) -> u64 {
    let least = libm::exp(-mean);
    let mut count = 0;
    let mut product = above_zero(bits(rng));
    while product > least {
        count += 1;
        product *= above_zero(bits(rng));
    }
    count
}

/// The smallest number that a Poisson variable exceeds with at most this probability.
fn poisson_exceeded(mean: f64, probability: f64) -> u64 {
    let (mut number, mut term) = (0, libm::exp(-mean));
    let mut below = term;
    while 1.0 - below > probability {
        number += 1;
        term *= mean / float(number);
        below += term;
    }
    number
}

/// The value of the quantile function at `bits` / 2⁶⁴.
fn between(quantiles: &[u64], bits: u64) -> u64 {
    let place = (quantiles.len() as u128 - 1) * u128::from(bits);
    let below = usize::try_from(place >> 64).expect("an index of the slice");
    #[expect(clippy::cast_possible_truncation, reason = "the lower 64 bits are wanted")]
    let rest = place as u64;
    quantiles[below] + part(quantiles[below + 1] - quantiles[below], rest)
}

#[expect(clippy::cast_precision_loss, reason = "a nanosecond in 104 days")]
fn float(number: u64) -> f64 {
    number as f64
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturating, and 0 if negative")]
fn whole_ns(ns: f64) -> u64 {
    ns.round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNT: usize = 100_000;
    const MS: u64 = 1_000_000;

    /// Sorted samples, in ms.
    fn samples_ms(distribution: &Distribution) -> Vec<f64> {
        let mut sampler = Sampler::new(distribution, Time::from_secs(1000), Rng::new(1, "test")).unwrap();
        let mut times_ms: Vec<_> = (0..COUNT).map(|_| sampler.sample().as_secs_f64() * 1e3).collect();
        times_ms.sort_by(f64::total_cmp);
        times_ms
    }

    #[expect(clippy::cast_precision_loss, reason = "100 000")]
    fn mean(values: &[f64]) -> f64 {
        values.iter().sum::<f64>() / values.len() as f64
    }

    fn deviation(values: &[f64]) -> f64 {
        let mean_ = mean(values);
        mean(&values.iter().map(|value| (value - mean_).powi(2)).collect::<Vec<_>>()).sqrt()
    }

    /// Mean 3 ms, standard deviation 4 / sqrt(12) = 1.155 ms; the standard error of the mean of 100 000
    /// samples is 0.0037 ms.
    #[test]
    fn uniform_samples_fill_the_interval() {
        let samples = samples_ms(&Distribution::Uniform(Uniform { least_ns: MS, most_ns: 5 * MS }));
        assert!((mean(&samples) - 3.0).abs() <= 5.0 * 0.0037, "{}", mean(&samples));
        assert!((deviation(&samples) - 1.155).abs() <= 0.01, "{}", deviation(&samples));
        assert!(samples[0] >= 1.0 && samples[COUNT - 1] <= 5.0);
    }

    /// Mean 20 ms, standard deviation 2 ms; 97.72 % are below 24 ms. The standard error of the mean is 2 /
    /// sqrt(100 000) = 0.0063 ms.
    #[test]
    fn normal_samples_have_their_moments_and_tails() {
        let samples = samples_ms(&Distribution::Normal(Normal { mean_ns: 20 * MS, deviation_ns: 2 * MS }));
        assert!((mean(&samples) - 20.0).abs() <= 5.0 * 0.0063, "{}", mean(&samples));
        assert!((deviation(&samples) - 2.0).abs() <= 5.0 * 0.0045, "{}", deviation(&samples));
        assert!((samples[97_725] - 24.0).abs() <= 0.1, "{}", samples[97_725]);
    }

    /// Half are below ln 2 × 10 = 6.93 ms, and e⁻³ = 4.98 % above 30 ms.
    #[test]
    fn exponential_samples_have_their_mean_and_quantiles() {
        let samples = samples_ms(&Distribution::ExponentialNs(10 * MS));
        assert!((mean(&samples) - 10.0).abs() <= 5.0 * 0.032, "{}", mean(&samples));
        assert!((samples[COUNT / 2] - 6.93).abs() <= 0.2, "{}", samples[COUNT / 2]);
        assert!((samples[95_021] - 30.0).abs() <= 1.0, "{}", samples[95_021]);
    }

    /// Shape 2.5 from 4 ms on: mean 2.5 × 4 / 1.5 = 6.67 ms, half are below 4 × 2^(1/2.5) = 5.28 ms, and 1 %
    /// above 4 × 100^(1/2.5) = 25.2 ms.
    #[test]
    fn pareto_samples_have_a_heavy_tail() {
        let samples = samples_ms(&Distribution::Pareto(Pareto { least_ns: 4 * MS, shape: 2.5 }));
        assert!((mean(&samples) - 6.67).abs() <= 0.15, "{}", mean(&samples));
        assert!((samples[COUNT / 2] - 5.28).abs() <= 0.05, "{}", samples[COUNT / 2]);
        assert!((samples[99_000] - 25.2).abs() <= 1.5, "{}", samples[99_000]);
        assert!(samples[0] >= 4.0);
    }

    /// Half of the samples between 1 and 2 ms, half between 2 and 10: mean (1.5 + 6) / 2 = 3.75 ms.
    #[test]
    fn quantiles_are_interpolated_linearly() {
        let samples = samples_ms(&Distribution::QuantilesNs(vec![MS, 2 * MS, 10 * MS]));
        assert!((mean(&samples) - 3.75).abs() <= 0.05, "{}", mean(&samples));
        assert!((samples[COUNT / 2] - 2.0).abs() <= 0.1, "{}", samples[COUNT / 2]);
        assert!((samples[COUNT * 3 / 4] - 6.0).abs() <= 0.1, "{}", samples[COUNT * 3 / 4]);
        assert!(samples[0] >= 1.0 && samples[COUNT - 1] <= 10.0);
    }

    /// Mean 1 - 0.632 / 2 + 90 / 15 = 6.68 ms: one retry less a half of it if there is one, and 12 × 7.5 =
    /// 90 ms for one packet in 15. No retry and no retransmission have e⁻¹ × 14 / 15 = 34.3 %. Of the
    /// retransmitted ones, P(N ≥ 12) = 0.538 take 90 ms or more, 3.59 % of all. Variance of the
    /// retransmissions: 7.5² × (12 + 144) / 15 - 36 = 549 ms², a standard error of the mean of 0.074 ms.
    #[test]
    fn wifi_samples_have_the_mean_and_the_spikes_of_the_model() {
        let samples = samples_ms(&Distribution::WifiNs(7 * MS));
        assert!((mean(&samples) - 6.68).abs() <= 5.0 * 0.074, "{}", mean(&samples));
        assert!((deviation(&samples) - 549.0_f64.sqrt()).abs() <= 0.5, "{}", deviation(&samples));
        let at_once = samples.iter().filter(|sample| **sample <= 0.0).count();
        assert!((33_500..=35_100).contains(&at_once), "{at_once}");
        let spikes = samples.iter().filter(|sample| **sample >= 90.0).count();
        assert!((3400..=3800).contains(&spikes), "{spikes}");
    }

    /// 10 of 100 000 samples are expected above the percentile. Tolerance: five standard deviations of
    /// sqrt(10).
    #[test]
    fn one_sample_in_ten_thousand_exceeds_the_percentile() {
        for distribution in [
            Distribution::ConstantNs(MS),
            Distribution::Uniform(Uniform { least_ns: MS, most_ns: 5 * MS }),
            Distribution::Normal(Normal { mean_ns: 20 * MS, deviation_ns: 2 * MS }),
            Distribution::ExponentialNs(MS),
            Distribution::Pareto(Pareto { least_ns: MS, shape: 1.5 }),
            Distribution::QuantilesNs(vec![MS, 2 * MS]),
            Distribution::WifiNs(MS),
            Distribution::WifiNs(7 * MS),
            Distribution::WifiNs(91 * MS),
        ] {
            #[expect(clippy::cast_precision_loss, reason = "far below 2^53 ns")]
            let long_ms = distribution.rarely_exceeded_ns() as f64 / 1e6;
            let beyond = samples_ms(&distribution).iter().filter(|sample| **sample > long_ms).count();
            let bounded = distribution.longest_ns() != u64::MAX;
            assert!(
                if bounded { beyond == 0 } else { (1..=26).contains(&beyond) },
                "{distribution:?}: {beyond}"
            );
        }
    }

    #[test]
    fn invalid_distributions_are_refused() {
        let refusal =
            |distribution| Sampler::new(&distribution, Time::from_secs(1), Rng::new(1, "test")).unwrap_err();
        let uniform = Distribution::Uniform(Uniform { least_ns: 2, most_ns: 1 });
        assert_eq!(refusal(uniform), "uniform: from 2 to 1 ns; give the shorter first");
        let pareto = Distribution::Pareto(Pareto { least_ns: 2, shape: 0.0 });
        assert_eq!(refusal(pareto), "pareto.shape: 0; give more than 0");
        assert_eq!(refusal(Distribution::QuantilesNs(vec![1])), "quantiles_ns: give at least 2, ascending");
        let wifi = Distribution::WifiNs(100 * MS);
        assert_eq!(refusal(wifi), "wifi_ns: a mean of 100000000 ns; give 1000000 to 91000000");
        let constant = Distribution::ConstantNs(2_000_000_000);
        assert_eq!(refusal(constant), "2.000000000 s at the least; give at most 1.000000000 s");
    }
}
