//! Time since a run began, on the guest's clock.

use std::time::Duration;

use anyhow::Context;
use nix::sys::prctl;
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, ClockNanosleepFlags, clock_gettime, clock_nanosleep};

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

    /// Creates a clock that starts at a tick whose number is a multiple of [`COARSEST_TICKS`], so that coarse timers have the
    /// same phase in every run, which is the simulator's. At least one such interval passes before it. The kernel has `hz`
    /// ticks per second.
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
        let next = (tick / COARSEST_TICKS + 2) * COARSEST_TICKS;
        Ok(Clock { zero_ns: (ticked + next - tick) * tick_ns })
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
