//! Timestamp offsets. RFC 7323, 7.1, advises a random one for each connection, and Linux adds one.

use crate::run::{Hosts, Timestamps};
use crate::util::rng::Rng;

/// Timestamp offsets of one connection, in ms. Each end adds its own offset to the timestamps that it sends
/// and subtracts it from those echoed to it, so that it sees only the offset of the other end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TimestampOffsets {
    /// Offset of the sender.
    pub(crate) sender_ms: u32,
    /// Offset of the receiver.
    pub(crate) receiver_ms: u32,
}

impl TimestampOffsets {
    /// Samples the offsets of the flow called `name` in a run with that seed.
    pub(crate) fn of(hosts: Hosts, seed: u64, name: &str) -> TimestampOffsets {
        match hosts.timestamps {
            Timestamps::Synchronised => TimestampOffsets::default(),
            Timestamps::Random => {
                let mut random = Rng::new(seed, &format!("{name} timestamps"));
                TimestampOffsets { sender_ms: random.next_u32(), receiver_ms: random.next_u32() }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random(seed: u64, name: &str) -> TimestampOffsets {
        TimestampOffsets::of(Hosts { timestamps: Timestamps::Random }, seed, name)
    }

    #[test]
    fn offsets_differ_between_ends_and_flows_and_seeds() {
        let first = random(1, "a");
        assert_ne!(first.sender_ms, first.receiver_ms);
        assert_ne!(first, random(1, "b"));
        assert_ne!(first, random(2, "a"));
        assert_eq!(first, random(1, "a"));
    }

    #[test]
    fn synchronised_clocks_have_no_offset() {
        let hosts = Hosts { timestamps: Timestamps::Synchronised };
        assert_eq!(TimestampOffsets::of(hosts, 1, "a"), TimestampOffsets { sender_ms: 0, receiver_ms: 0 });
    }

    /// 8000 offsets: an eighth of them, 1000, is below 2^29; Tolerance: five standard deviations of sqrt(8000
    /// × 1/8 × 7/8) = 30.
    #[test]
    fn one_offset_in_eight_is_below_two_to_the_29() {
        let small = (0..8000).filter(|&seed| random(seed, "a").receiver_ms < 1 << 29).count();
        assert!((850..=1150).contains(&small), "{small} of 8000");
    }
}
