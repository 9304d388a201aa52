//! Properties of an element that follow from its settings alone.

use std::fmt::Debug;

use super::{Change, Element, QueueLog};
use crate::net::queue::QueueSpec;
use crate::util::distribution::Distribution;

/// Settings of one kind of element. No method has a default: an element that does not state its delays or its link
/// does not compile.
pub(super) trait ElementSettings {
    /// Builds the element; `seed` seeds its random number generator.
    ///
    /// # Errors
    /// A sentence that names the invalid setting.
    fn build(&self, seed: u64) -> Result<Box<dyn Element>, String>;

    /// Delay that the element adds to a packet, without queueing delay.
    fn delays(&self) -> Delays;

    /// The queue and the transmitter; `None` if the element is not a link.
    fn link(&self) -> Option<LinkSettings<'_>>;
}

/// Bounds of the delay that an element adds to a packet, without queueing and transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delays {
    /// Shortest delay of a packet that is not lost.
    pub shortest_ns: u64,
    /// Longest delay; for a random delay without a bound, its 99.99th percentile.
    pub longest_ns: u64,
}

impl Delays {
    /// Delays of an element that forwards every packet at once, or drops it.
    pub(super) const NONE: Delays = Delays::constant(0);

    /// Delays of an element that delays every packet by the same time.
    pub(super) const fn constant(delay_ns: u64) -> Delays {
        Delays { shortest_ns: delay_ns, longest_ns: delay_ns }
    }

    /// Delays of an element that delays each packet by a random time.
    pub(super) fn random(distribution: &Distribution) -> Delays {
        Delays { shortest_ns: distribution.shortest_ns(), longest_ns: distribution.rarely_exceeded_ns() }
    }

    /// Delays of an element with a delay that `changes` replace during the run.
    pub(super) fn changing(first_ns: u64, changes: &[Change]) -> Delays {
        let later_ns = || changes.iter().filter_map(|change| change.delay_ns);
        Delays {
            shortest_ns: later_ns().fold(first_ns, u64::min),
            longest_ns: later_ns().fold(first_ns, u64::max),
        }
    }
}

/// The queue and the transmitter of a link.
#[derive(Clone, Copy, Debug)]
pub struct LinkSettings<'a> {
    /// The queue in front of the transmitter.
    pub queue: &'a QueueSpec,
    /// Highest rate of the transmitter over the whole run.
    pub highest_rate_bit_per_s: u64,
    /// Changes of rate and delay, in order of time.
    pub changes: &'a [Change],
    pub(super) logged: &'a dyn LoggedLink,
}

/// A link that can be built with a log of its packets.
pub(super) trait LoggedLink: Debug {
    /// Builds the link with a log of its packets; `seed` seeds its random number generator.
    ///
    /// # Errors
    /// A sentence that names the invalid setting.
    fn build_logged(&self, seed: u64, log: &QueueLog) -> Result<Box<dyn Element>, String>;
}

/// The highest rate of a transmitter with a rate that `changes` replace during the run.
pub(super) fn highest_rate(first_bit_per_s: u64, changes: &[Change]) -> u64 {
    changes.iter().filter_map(|change| change.rate_bit_per_s).fold(first_bit_per_s, u64::max)
}
