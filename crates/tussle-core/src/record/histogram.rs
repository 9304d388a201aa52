//! A histogram of RTTs: the width of a bucket is at most 1/128 of its value, so that quantiles are accurate.

/// Number of values, from 0 on, with a bucket each.
const LINEAR: u32 = 256;
/// Number of buckets per octave above `LINEAR`.
const STEPS: u32 = 128;
/// Binary logarithms of `LINEAR` and `STEPS`.
const LINEAR_BITS: u32 = 8;
const STEP_BITS: u32 = 7;

/// Number of buckets that are added at once; small, so that a flow with similar RTTs takes little memory.
const SPARE_BUCKETS: usize = 16;

/// Counts of values in µs.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    /// Counts of the buckets, starting with bucket `first`.
    counts: Vec<u32>,
    first: usize,
    count: u64,
    sum: u64,
    min: Option<u32>,
}

impl Histogram {
    /// Adds a value.
    #[inline]
    pub fn add(&mut self, value: u32) {
        let index = bucket(value).wrapping_sub(self.first);
        match self.counts.get_mut(index) {
            Some(count) => *count += 1,
            None => self.extend_to(bucket(value)),
        }
        self.count += 1;
        self.sum += u64::from(value);
        self.min = Some(self.min.map_or(value, |min| min.min(value)));
    }

    /// Adds buckets up to `bucket`, and counts its first value.
    #[cold]
    fn extend_to(&mut self, bucket: usize) {
        if self.counts.is_empty() {
            self.first = bucket;
        }
        let first = if bucket < self.first { bucket.saturating_sub(SPARE_BUCKETS) } else { self.first };
        let end = (bucket + 1).max(self.first + self.counts.len()) + SPARE_BUCKETS;
        let mut counts = vec![0; end - first];
        counts[self.first - first..][..self.counts.len()].copy_from_slice(&self.counts);
        counts[bucket - first] += 1;
        (self.counts, self.first) = (counts, first);
    }

    /// Smallest value, exact.
    pub fn min(&self) -> Option<u32> {
        self.min
    }

    /// Mean, exact.
    #[expect(clippy::cast_precision_loss, reason = "a sum of 2^53 µs are 285 years of round trips")]
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// Percentile (nearest rank), with a relative error of at most 1/256.
    pub fn quantile(&self, percent: u64) -> Option<f64> {
        let rank = (self.count * percent).div_ceil(100).max(1);
        let mut seen = 0;
        let bucket = self.counts.iter().position(|&count| {
            seen += u64::from(count);
            seen >= rank
        })?;
        Some(middle(self.first + bucket))
    }
}

fn bucket(value: u32) -> usize {
    if value < LINEAR {
        return value as usize;
    }
    let octave = value.ilog2() - LINEAR_BITS;
    let step = (value >> (octave + LINEAR_BITS - STEP_BITS)) & (STEPS - 1);
    (LINEAR + octave * STEPS + step) as usize
}

/// Midpoint of a bucket.
fn middle(bucket: usize) -> f64 {
    let bucket = u32::try_from(bucket).expect("there are few buckets");
    if bucket < LINEAR {
        return f64::from(bucket);
    }
    let (octave, step) = ((bucket - LINEAR) / STEPS, (bucket - LINEAR) % STEPS);
    let width = 1u64 << (octave + LINEAR_BITS - STEP_BITS);
    let low = u64::from(STEPS + step) * width;
    #[expect(clippy::cast_precision_loss, reason = "below 2^33")]
    let middle = low as f64 + (width - 1) as f64 / 2.0;
    middle
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The 50th percentile of 1 to 1000 is 500 and the 95th 950, within 1/256.
    #[test]
    fn quantiles_are_within_half_a_bucket() {
        let mut histogram = Histogram::default();
        (1..=1000).for_each(|value| histogram.add(value));
        for (percent, expected) in [(1, 10.0), (50, 500.0), (95, 950.0), (100, 1000.0)] {
            let found = histogram.quantile(percent).unwrap();
            assert!((found - expected).abs() <= expected / 256.0, "{percent}: {found}");
        }
        assert_eq!(histogram.mean(), Some(500.5));
        assert_eq!(histogram.min(), Some(1));
    }

    /// The values 1000, 500 and 2000 µs, in this order: the median is 1000, within 1/256.
    #[test]
    fn values_below_the_first_one_count() {
        let mut histogram = Histogram::default();
        for value in [1000, 500, 2000] {
            histogram.add(value);
        }
        for (percent, expected) in [(33, 500.0), (50, 1000.0), (100, 2000.0)] {
            let found = histogram.quantile(percent).unwrap();
            assert!((found - expected).abs() <= expected / 256.0, "{percent}: {found}");
        }
    }

    /// 128 buckets for the octave from 100 to 200 ms, and spare buckets at both ends.
    #[test]
    fn round_trips_of_an_octave_take_little_memory() {
        let mut histogram = Histogram::default();
        (100_000..200_000).for_each(|value| histogram.add(value));
        assert!(histogram.counts.len() <= 128 + 3 * SPARE_BUCKETS, "{} buckets", histogram.counts.len());
    }

    #[test]
    fn every_value_is_close_to_the_middle_of_its_bucket() {
        for value in (0..32).flat_map(|bits| [1u32 << bits, (1u32 << bits) + 1, u32::MAX >> bits]) {
            let middle = middle(bucket(value));
            assert!((middle - f64::from(value)).abs() <= f64::from(value) / 256.0 + 0.5, "{value}: {middle}");
        }
    }

    #[test]
    fn an_empty_histogram_has_no_quantile() {
        assert_eq!(Histogram::default().quantile(50), None);
    }
}
