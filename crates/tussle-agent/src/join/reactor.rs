//! One thread that waits for many connections (epoll), and for the time.

use std::os::fd::AsFd;

use anyhow::Context;
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::prctl;
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{self, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use nix::time::{ClockId, clock_gettime};

/// Events taken at once.
const MAX_EVENTS: usize = 64;
/// The number of the timer, which no connection has.
const TIMER: u64 = u64::MAX;
const SECOND_NS: u64 = 1_000_000_000;

/// Events of a connection that the reactor waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Interest {
    /// Data to read.
    Read,
    /// Data to read, or buffer space to write.
    ReadWrite,
}

impl Interest {
    fn flags(self) -> EpollFlags {
        match self {
            Interest::Read => EpollFlags::EPOLLIN,
            Interest::ReadWrite => EpollFlags::EPOLLIN | EpollFlags::EPOLLOUT,
        }
    }
}

/// Waits for connections, which have numbers of the caller's, and for a time.
#[derive(Debug)]
pub(super) struct Reactor {
    epoll: Epoll,
    timer: TimerFd,
}

impl Reactor {
    pub(super) fn new() -> anyhow::Result<Reactor> {
        // Without that, a timer may fire 50 µs late.
        prctl::set_timerslack(1).context("exact timers")?;
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).context("epoll")?;
        let flags = TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC;
        let timer = TimerFd::new(timerfd::ClockId::CLOCK_MONOTONIC, flags).context("a timer")?;
        epoll.add(&timer, EpollEvent::new(EpollFlags::EPOLLIN, TIMER)).context("a timer")?;
        Ok(Reactor { epoll, timer })
    }

    /// Waits for a connection from now on, until it is closed.
    pub(super) fn add(&self, connection: impl AsFd, number: u64, interest: Interest) -> anyhow::Result<()> {
        self.epoll
            .add(connection, EpollEvent::new(interest.flags(), number))
            .context("waiting for a connection")
    }

    /// Waits for something else of it.
    pub(super) fn change(
        &self,
        connection: impl AsFd,
        number: u64,
        interest: Interest,
    ) -> anyhow::Result<()> {
        self.epoll
            .modify(connection, &mut EpollEvent::new(interest.flags(), number))
            .context("waiting for a connection")
    }

    /// Waits for a connection no more.
    pub(super) fn forget(&self, connection: impl AsFd) {
        // It fails only where it was not waited for.
        _ = self.epoll.delete(connection);
    }

    /// Waits until something happens, or the clock reads so much: numbers of connections that have something to
    /// read, have room, or failed.
    pub(super) fn wait_until(&self, at_ns: u64) -> anyhow::Result<Vec<u64>> {
        let part = |ns: u64| i64::try_from(ns).expect("a reading of the clock");
        let at = TimeSpec::new(part(at_ns / SECOND_NS), part(at_ns % SECOND_NS));
        self.timer
            .set(Expiration::OneShot(at), TimerSetTimeFlags::TFD_TIMER_ABSTIME)
            .context("setting a timer")?;
        let mut events = [EpollEvent::empty(); MAX_EVENTS];
        match self.epoll.wait(&mut events, EpollTimeout::NONE) {
            Ok(count) => {
                Ok(events[..count].iter().map(EpollEvent::data).filter(|one| *one != TIMER).collect())
            }
            Err(Errno::EINTR) => Ok(Vec::new()),
            Err(problem) => Err(problem).context("waiting for connections"),
        }
    }
}

/// The reading of `CLOCK_MONOTONIC`, in ns.
pub(super) fn now_ns() -> u64 {
    nanoseconds(ClockId::CLOCK_MONOTONIC)
}

/// The time of day, in ns since 1970.
pub(super) fn wall_ns() -> u64 {
    nanoseconds(ClockId::CLOCK_REALTIME)
}

fn nanoseconds(clock: ClockId) -> u64 {
    let now = clock_gettime(clock).expect("every Linux has this clock");
    let part = |value: i64| u64::try_from(value).expect("the clock is past its origin");
    part(now.tv_sec()) * SECOND_NS + part(now.tv_nsec())
}
