//! Time since a run began, on the guest's clock.

use std::time::Duration;

use anyhow::Context;
use nix::sys::prctl;
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, ClockNanosleepFlags, clock_gettime, clock_nanosleep};
use tussle_core::net::packet::UPTIME_MS;

/// Nanoseconds in a second.
const SECOND_NS: u64 = 1_000_000_000;
/// Granularity in ticks of the timers that expire up to two minutes ahead.
const COARSEST_TICKS: u64 = 512;

/// Time by which a thread's timers may be late: the least that Linux grants. In virtual time they are always that late.
const TIMER_SLACK_NS: u64 = 1;

/// Makes this thread's timers as exact as Linux allows: by default they may be 50 µs late.
pub(crate) fn exact_timers() -> nix::Result<()> {
    prctl::set_timerslack(TIMER_SLACK_NS)
}

/// Time by which the timers of a thread are late.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Slack {
    /// [`TIMER_SLACK_NS`]: the thread has [`exact_timers`].
    Least,
    /// None: the thread has real-time priority.
    None,
}

impl Slack {
    fn ns(self) -> u64 {
        match self {
            Slack::Least => TIMER_SLACK_NS,
            Slack::None => 0,
        }
    }
}

/// A clock that starts with a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    /// Reading of `CLOCK_MONOTONIC` at the start, in ns.
    zero_ns: u64,
}

impl Clock {
    /// Creates a clock that starts at the next whole second, so that the kernel's ticks have the same phase
    /// in every run.
    pub(crate) fn from_next_second() -> nix::Result<Clock> {
        Ok(Clock { zero_ns: (monotonic_ns()? / SECOND_NS + 1) * SECOND_NS })
    }

    /// Creates a clock that starts at a reading of `CLOCK_MONOTONIC`, in ns.
    pub(crate) fn starting_at(monotonic_ns: u64) -> Clock {
        Clock { zero_ns: monotonic_ns }
    }

    /// Creates a clock that starts at the [`start_tick`] of a kernel with `hz` ticks per second.
    pub(crate) fn from_coarse_tick(hz: u32) -> anyhow::Result<Clock> {
        let timers = std::fs::read_to_string("/proc/timer_list").context("the kernel's timers")?;
        let tick = timers
            .lines()
            .find_map(|line| line.strip_prefix("jiffies: "))
            .context("/proc/timer_list has no jiffies")?;
        let tick: u64 = tick.trim().parse().context("the number of a tick")?;
        let tick_ns = SECOND_NS / u64::from(hz);
        // Ticks are at multiples of their length; the coarse clock is set some nanoseconds after each.
        let ticked = nanoseconds(ClockId::CLOCK_MONOTONIC_COARSE)? / tick_ns;
        Ok(Clock { zero_ns: start_tick(hz, tick, ticked) * tick_ns })
    }

    /// Reading of `CLOCK_MONOTONIC` at a time of the run.
    pub(crate) fn monotonic(self, run_ns: u64) -> Duration {
        Duration::from_nanos(self.zero_ns + run_ns)
    }

    /// Time since the run began, in ns, at a reading of `CLOCK_MONOTONIC`; 0 before the run.
    pub(crate) fn of_monotonic(self, monotonic_ns: u64) -> u64 {
        monotonic_ns.saturating_sub(self.zero_ns)
    }

    /// Time since the run began, in ns.
    pub(crate) fn now_ns(self) -> nix::Result<u64> {
        Ok(self.of_monotonic(monotonic_ns()?))
    }

    /// Sleeps until a time of the run; with [`exact_timers`] until [`TIMER_SLACK_NS`] later, when everything else that is due
    /// at that time is done.
    pub(crate) fn sleep_until(self, run_ns: u64) -> nix::Result<()> {
        sleep(self.zero_ns + run_ns)
    }

    /// Sleeps until a time of the run, to the nanosecond.
    pub(crate) fn sleep_exactly_until(self, run_ns: u64, slack: Slack) -> nix::Result<()> {
        let at = self.zero_ns + run_ns;
        // A sleep until the past takes time, too.
        if at <= monotonic_ns()? { Ok(()) } else { sleep(at - slack.ns()) }
    }
}

/// Ticks since the kernel booted at which a run begins; `tick` is the number of the tick `ticked` ticks after that.
///
/// The number of that tick is a multiple of [`COARSEST_TICKS`], so that coarse timers have the same phase in every run, which
/// is the simulator's. A second at least passes before it, and the kernel has been up for [`UPTIME_MS`] at least. As Linux
/// begins to count ticks five minutes before zero, both are the same time with 100, 250, 300 and 1000 ticks per second.
fn start_tick(hz: u32, tick: u64, ticked: u64) -> u64 {
    let hz = u64::from(hz);
    let earliest = (UPTIME_MS * hz).div_ceil(1000).max(ticked + hz);
    (tick - ticked + earliest).next_multiple_of(COARSEST_TICKS) - (tick - ticked)
}

/// Sleeps until a reading of `CLOCK_MONOTONIC`, in ns.
fn sleep(at: u64) -> nix::Result<()> {
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

/// Reading of `CLOCK_MONOTONIC`, in ns.
pub(crate) fn monotonic_ns() -> nix::Result<u64> {
    nanoseconds(ClockId::CLOCK_MONOTONIC)
}

/// Time of day, in ns since 1970.
pub(crate) fn realtime_ns() -> nix::Result<u64> {
    nanoseconds(ClockId::CLOCK_REALTIME)
}

fn nanoseconds(clock: ClockId) -> nix::Result<u64> {
    let now = clock_gettime(clock)?;
    let part = |value: i64| u64::try_from(value).expect("the clock is past its origin");
    Ok(part(now.tv_sec()) * SECOND_NS + part(now.tv_nsec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Number of the tick at which a kernel of `hz` ticks per second boots: five minutes before the 32 bits wrap around.
    fn first(hz: u32) -> u64 {
        (1 << 32) - 300 * u64::from(hz)
    }

    /// With 250 ticks per second the run begins 760 ticks after the kernel booted; the tick has the number
    /// 2^32 - 75 000 + 760 = 2^32 - 145 × 512.
    #[test]
    fn a_run_begins_when_the_kernel_has_been_up_for_as_long_as_the_simulators_hosts() {
        for hz in [100, 250, 300, 1000] {
            let start = start_tick(hz, first(hz) + 5, 5);
            assert_eq!(1000 * start, UPTIME_MS * u64::from(hz), "{hz} ticks per second");
            assert_eq!((first(hz) + start) % COARSEST_TICKS, 0);
        }
    }

    /// 800 ticks and a second are 1050; the next coarse tick after it is 760 + 512 = 1272.
    #[test]
    fn a_run_whose_network_took_long_begins_later_and_at_the_same_phase() {
        assert_eq!(start_tick(250, first(250) + 800, 800), 1272);
    }
}
