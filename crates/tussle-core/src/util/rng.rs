//! Random number generators. Each use has its own generator, seeded by the run's seed and the name of the
//! use, so that a new element does not change the random numbers of the others.

use rand_core::{Rng as _, SeedableRng};
use rand_xoshiro::{SplitMix64, Xoshiro256PlusPlus};

/// A seeded random number generator, equal on every platform.
#[derive(Clone, Debug)]
pub struct Rng(Xoshiro256PlusPlus);

impl Rng {
    /// Creates the generator of `name` in a run with `seed`.
    pub fn new(seed: u64, name: &str) -> Rng {
        let mut bytes = [0; 32];
        for (place, word) in bytes.chunks_exact_mut(8).zip(initial_state(seed, name)) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        Rng(Xoshiro256PlusPlus::from_seed(bytes))
    }

    /// A uniform random number of 32 bits.
    pub fn next_u32(&mut self) -> u32 {
        // The upper bits of this generator have the better quality.
        u32::try_from(self.0.next_u64() >> 32).expect("32 bits are left")
    }

    /// True with the given probability.
    pub fn sample_bool(&mut self, probability: Probability) -> bool {
        let bits = self.0.next_u64();
        probability.bound().is_none_or(|bound| bits < bound)
    }

    /// A uniform random number from zero to `bound - 1`.
    pub fn below(&mut self, bound: u32) -> u32 {
        let scaled = (u64::from(self.next_u32()) * u64::from(bound)) >> 32;
        u32::try_from(scaled).expect("less than the bound, which is a u32")
    }
}

/// Initial state of the generator of `name`, for other implementations of xoshiro256++: seeded by
/// `SplitMix64`, as its authors advise.
pub fn initial_state(seed: u64, name: &str) -> [u64; 4] {
    let mut words = SplitMix64::seed_from_u64(named_seed(seed, name));
    [0; 4].map(|_| words.next_u64())
}

/// Seed of `name` in a run with `seed`.
pub fn named_seed(seed: u64, name: &str) -> u64 {
    // FNV-1a, because the hashes of the standard library may change.
    name.bytes().fold(seed ^ 0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// A probability in units of 2⁻⁶⁴.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probability(u64);

impl Probability {
    /// Upper bound of 64 random bits with which the event happens; `None`: always.
    pub fn bound(self) -> Option<u64> {
        (self.0 < u64::MAX).then_some(self.0)
    }

    /// Converts a number to the nearest probability; `None` unless it is between 0 and 1.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 2^64, saturating")]
    pub fn new(probability: f64) -> Option<Probability> {
        (0.0..=1.0).contains(&probability).then(|| Probability((probability * 2f64.powi(64)) as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 10 000 samples at 1 %: 100 expected. Tolerance: five standard deviations of sqrt(10 000 × 0.01 × 0.99)
    /// = 10.
    #[test]
    fn an_event_happens_with_its_probability() {
        let mut rng = Rng::new(7, "loss");
        let probability = Probability::new(0.01).unwrap();
        let hits = (0..10_000).filter(|_| rng.sample_bool(probability)).count();
        assert!((50..=150).contains(&hits), "{hits} of 10 000");
    }

    /// Half of 10 000 numbers have the highest bit. Tolerance: five standard deviations of sqrt(10 000 / 4) =
    /// 50.
    #[test]
    fn both_halves_of_the_range_are_equally_likely() {
        let mut rng = Rng::new(7, "cdg");
        let high = (0..10_000).filter(|_| rng.next_u32() > u32::MAX / 2).count();
        assert!((4750..=5250).contains(&high), "{high} of 10 000");
    }

    #[test]
    fn never_and_always_are_exact() {
        let mut rng = Rng::new(7, "loss");
        assert!((0..1000).all(|_| rng.sample_bool(Probability::new(1.0).unwrap())));
        assert!(!(0..1000).any(|_| rng.sample_bool(Probability::new(0.0).unwrap())));
    }

    #[test]
    fn a_probability_outside_zero_to_one_is_refused() {
        assert_eq!([-0.1, 1.1, f64::NAN].map(Probability::new), [None; 3]);
    }

    /// 7000 numbers below seven: 1000 of each. Tolerance: five standard deviations of sqrt(7000 × 1/7 × 6/7)
    /// = 29.
    #[test]
    fn all_numbers_below_the_bound_are_equally_likely() {
        let mut rng = Rng::new(7, "phase");
        let mut counts = [0u32; 7];
        (0..7000).for_each(|_| counts[rng.below(7) as usize] += 1);
        assert!(counts.iter().all(|count| (854..=1146).contains(count)), "{counts:?}");
    }

    #[test]
    fn seeds_depend_on_the_name_and_the_seed() {
        assert_ne!(named_seed(7, "a"), named_seed(7, "b"));
        assert_ne!(named_seed(7, "a"), named_seed(8, "a"));
    }
}
