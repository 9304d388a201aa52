//! Time since a run began, on the guest's clock.

use nix::sys::time::TimeSpec;
use nix::time::{ClockId, ClockNanosleepFlags, clock_gettime, clock_nanosleep};

/// Nanoseconds in a second.
const SECOND_NS: u64 = 1_000_000_000;

/// A clock that starts when a run does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    /// Reading of `CLOCK_MONOTONIC` at the start, in ns.
    zero_ns: u64,
}

impl Clock {
    /// A clock that starts at the next whole second: ticks of the kernel fall alike in every run.
    pub(crate) fn from_next_second() -> nix::Result<Clock> {
        Ok(Clock { zero_ns: (monotonic_ns()? / SECOND_NS + 1) * SECOND_NS })
    }

    /// Time since the run began, in ns; 0 before.
    pub(crate) fn of_monotonic(self, monotonic_ns: u64) -> u64 {
        monotonic_ns.saturating_sub(self.zero_ns)
    }

    /// Time since the run began, in ns.
    pub(crate) fn now_ns(self) -> nix::Result<u64> {
        Ok(self.of_monotonic(monotonic_ns()?))
    }

    /// Sleeps until a time of the run.
    pub(crate) fn sleep_until(self, run_ns: u64) -> nix::Result<()> {
        let at = self.zero_ns + run_ns;
        let at = TimeSpec::new(
            i64::try_from(at / SECOND_NS).expect("small"),
            i64::try_from(at % SECOND_NS).expect("small"),
        );
        loop {
            match clock_nanosleep(ClockId::CLOCK_MONOTONIC, ClockNanosleepFlags::TIMER_ABSTIME, &at) {
                Err(nix::errno::Errno::EINTR) => {}
                other => return other.map(drop),
            }
        }
    }
}

fn monotonic_ns() -> nix::Result<u64> {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC)?;
    let part = |value: i64| u64::try_from(value).expect("the clock is past its origin");
    Ok(part(now.tv_sec()) * SECOND_NS + part(now.tv_nsec()))
}
