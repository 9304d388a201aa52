//! Simulated time in whole nanoseconds, so that a run gives equal bytes on every platform.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

/// An instant since the start of the run, or the time between two instants, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time(u64);

impl Time {
    /// The start of the run; a duration of zero.
    pub const ZERO: Time = Time(0);
    /// An instant later than every event.
    pub const NEVER: Time = Time(u64::MAX);

    /// Creates a time from nanoseconds.
    pub const fn from_ns(ns: u64) -> Time {
        Time(ns)
    }

    /// Creates a time from microseconds.
    pub const fn from_us(us: u64) -> Time {
        Time(us * 1_000)
    }

    /// Creates a time from milliseconds.
    pub const fn from_ms(ms: u64) -> Time {
        Time(ms * 1_000_000)
    }

    /// Creates a time from seconds.
    pub const fn from_secs(secs: u64) -> Time {
        Time(secs * 1_000_000_000)
    }

    /// Whole nanoseconds.
    pub const fn ns(self) -> u64 {
        self.0
    }

    /// Whole microseconds, rounded down as Linux rounds its clock.
    pub const fn us(self) -> u64 {
        self.0 / 1_000
    }

    /// Whole milliseconds, rounded down.
    pub const fn ms(self) -> u64 {
        self.0 / 1_000_000
    }

    /// Seconds, as the nearest `f64`.
    #[expect(clippy::cast_precision_loss, reason = "2^53 ns are 104 days; a run is shorter")]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The time since `earlier`; zero if `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Time) -> Time {
        Time(self.0.saturating_sub(earlier.0))
    }
}

impl Add for Time {
    type Output = Time;
    fn add(self, span: Time) -> Time {
        Time(self.0.saturating_add(span.0))
    }
}

impl AddAssign for Time {
    fn add_assign(&mut self, span: Time) {
        *self = *self + span;
    }
}

impl Sub for Time {
    type Output = Time;
    fn sub(self, earlier: Time) -> Time {
        debug_assert!(self >= earlier, "time runs backwards: {self} - {earlier}");
        self.since(earlier)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09} s", self.0 / 1_000_000_000, self.0 % 1_000_000_000)
    }
}
