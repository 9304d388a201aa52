//! Timestamp offsets. RFC 7323, 7.1, advises a random one for each connection, and Linux adds one.

use crate::run::{Ends, Timestamps};
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
    pub(crate) fn of(ends: &Ends, seed: u64, name: &str) -> TimestampOffsets {
        let mut random = Rng::new(seed, &format!("{name} timestamps"));
        let [sender_ms, receiver_ms] = [ends.sender, ends.receiver].map(|host| {
            let offset_ms = random.next_u32();
            let of_connection_ms = match host.timestamps {
                Timestamps::Random => offset_ms,
                Timestamps::Synchronised | Timestamps::Off => 0,
            };
            of_connection_ms.wrapping_add(host.clock_offset_ms)
        });
        TimestampOffsets { sender_ms, receiver_ms }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Host;

    fn random(seed: u64, name: &str) -> TimestampOffsets {
        TimestampOffsets::of(&Ends::default(), seed, name)
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
        let host = Host { timestamps: Timestamps::Synchronised, ..Host::default() };
        let one = Ends { sender: host, ..Ends::default() };
        let of = |ends| TimestampOffsets::of(&ends, 1, "a");
        assert_eq!(of(Ends { receiver: host, ..one }), TimestampOffsets { sender_ms: 0, receiver_ms: 0 });
        assert_eq!(of(one), TimestampOffsets { sender_ms: 0, ..random(1, "a") });
    }

    #[test]
    fn the_offset_of_a_clock_adds_to_that_of_the_connection() {
        let ahead = |timestamps| Host { timestamps, clock_offset_ms: 5000, ..Host::default() };
        let of = |timestamps| {
            let ends = Ends { receiver: ahead(timestamps), ..Ends::default() };
            TimestampOffsets::of(&ends, 1, "a").receiver_ms
        };
        assert_eq!(of(Timestamps::Synchronised), 5000);
        assert_eq!(of(Timestamps::Random), random(1, "a").receiver_ms.wrapping_add(5000));
    }

    /// 8000 offsets: an eighth of them, 1000, is below 2^29; Tolerance: five standard deviations of sqrt(8000
    /// × 1/8 × 7/8) = 30.
    #[test]
    fn one_offset_in_eight_is_below_two_to_the_29() {
        let small = (0..8000).filter(|&seed| random(seed, "a").receiver_ms < 1 << 29).count();
        assert!((850..=1150).contains(&small), "{small} of 8000");
    }
}
