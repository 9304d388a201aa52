//! Bandwidth in the fixed-point format of Linux's BBR, so that results agree to the last packet.

/// Fraction bits of a bandwidth: the unit is 2⁻²⁴ packets/µs.
const SCALE_BITS: u32 = 24;

/// Bandwidth in packets per µs. With packets of 1500 bytes the range is 715 bit/s to 3 Tbit/s, where it
/// saturates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Bandwidth(u32);

/// Factor in units of 1/256.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Gain(pub(super) u32);

impl Gain {
    pub(super) const ONE: Gain = Gain(256);

    /// The factor as a number, for `internals`.
    pub(super) fn to_f64(self) -> f64 {
        f64::from(self.0) / 256.0
    }
}

impl Bandwidth {
    pub(super) const ZERO: Bandwidth = Bandwidth(0);
    /// A bandwidth above every measured one.
    pub(super) const UNBOUNDED: Bandwidth = Bandwidth(u32::MAX);

    /// Bandwidth of `packets` in `us`, rounded down.
    pub(super) fn new(packets: u32, us: u64) -> Bandwidth {
        Bandwidth(saturate((u64::from(packets) << SCALE_BITS) / us.max(1)))
    }

    /// Packets transmitted in `us`, rounded down.
    pub(super) fn packets_in(self, us: u64) -> u32 {
        saturate(u64::from(self.0).saturating_mul(us) >> SCALE_BITS)
    }

    /// Packets transmitted in `us` at `gain` times this bandwidth, rounded up, so that the window is never
    /// below the product.
    pub(super) fn window(self, us: u64, gain: Gain) -> u32 {
        let scaled = u64::from(self.0).saturating_mul(us).saturating_mul(u64::from(gain.0)) >> 8;
        saturate(scaled.div_ceil(1 << SCALE_BITS))
    }

    /// Returns this bandwidth times `gain`, rounded down.
    pub(super) fn times(self, gain: Gain) -> Bandwidth {
        Bandwidth(saturate((u64::from(self.0) * u64::from(gain.0)) >> 8))
    }

    /// Mean of both bandwidths, rounded down.
    pub(super) fn midpoint(self, other: Bandwidth) -> Bandwidth {
        Bandwidth(u32::midpoint(self.0, other.0))
    }

    pub(super) fn abs_diff(self, other: Bandwidth) -> Bandwidth {
        Bandwidth(self.0.abs_diff(other.0))
    }

    /// Whether this bandwidth is at most `part` of `other`.
    pub(super) fn is_at_most(self, part: Gain, other: Bandwidth) -> bool {
        u64::from(self.0) * 256 <= u64::from(part.0) * u64::from(other.0)
    }

    /// Pacing rate in bytes/s at `gain` times this bandwidth for packets of `mss_bytes`, less the 1 % that
    /// BBR leaves unused.
    pub(super) fn paced_bytes_per_s(self, gain: Gain, mss_bytes: u32) -> u64 {
        let bytes = (u64::from(self.0) * u64::from(mss_bytes)).saturating_mul(u64::from(gain.0)) >> 8;
        bytes.saturating_mul(1_000_000 / 100 * 99) >> SCALE_BITS
    }

    /// Bandwidth in packets/s, for `internals`.
    pub(super) fn packets_per_s(self) -> f64 {
        f64::from(self.0) * 1e6 / f64::from(1 << SCALE_BITS)
    }
}

fn saturate(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1000 packets in 100 ms are 0.01 packets/µs: 300 in 30 ms, 600 at gain 2, rounded up as 0.01 × 2²⁴
    /// was rounded down.
    #[test]
    fn a_window_is_bandwidth_times_delay_times_gain() {
        let bw = Bandwidth::new(1000, 100_000);
        assert_eq!(bw.0, 167_772);
        assert_eq!((bw.packets_in(30_000), bw.window(30_000, Gain::ONE)), (299, 300));
        assert_eq!(bw.window(30_000, Gain(512)), 600);
    }

    /// One packet/µs of 1448 bytes: 1448 MB/s, less 1 %.
    #[test]
    fn pacing_leaves_one_percent() {
        assert_eq!(Bandwidth::new(1, 1).paced_bytes_per_s(Gain::ONE, 1448), 1_433_520_000);
    }

    #[test]
    fn no_time_and_endless_windows_saturate() {
        assert_eq!(Bandwidth::new(1 << 20, 0), Bandwidth(u32::MAX));
        assert_eq!(Bandwidth(u32::MAX).window(u64::MAX, Gain(739)), u32::try_from(u64::MAX >> 32).unwrap());
    }
}
