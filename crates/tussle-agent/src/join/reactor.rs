//! Event loop of one thread that waits for many connections (epoll), and for a time.

use std::os::fd::AsFd;

use anyhow::Context;
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{self, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use nix::time::{ClockId, clock_gettime};

use crate::execute::clock::exact_timers;

/// Largest number of events handled at once.
const MAX_EVENTS: usize = 64;
/// Number of the timer, which no connection has.
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

/// Waits for connections, which the caller numbers, and for a time.
#[derive(Debug)]
pub(super) struct Reactor {
    epoll: Epoll,
    timer: TimerFd,
}

impl Reactor {
    pub(super) fn new() -> anyhow::Result<Reactor> {
        exact_timers().context("exact timers")?;
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).context("epoll")?;
        let flags = TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC;
        let timer = TimerFd::new(timerfd::ClockId::CLOCK_MONOTONIC, flags).context("a timer")?;
        epoll.add(&timer, EpollEvent::new(EpollFlags::EPOLLIN, TIMER)).context("a timer")?;
        Ok(Reactor { epoll, timer })
    }

    /// Waits for a connection, until it is closed.
    pub(super) fn add(&self, connection: impl AsFd, number: u64, interest: Interest) -> anyhow::Result<()> {
        self.epoll
            .add(connection, EpollEvent::new(interest.flags(), number))
            .context("waiting for a connection")
    }

    /// Changes the events of a connection.
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

    /// Stops waiting for a connection.
    pub(super) fn forget(&self, connection: impl AsFd) {
        // This fails only for an unknown connection.
        _ = self.epoll.delete(connection);
    }

    /// Waits for events, or until a time. Returns the numbers of connections that can be read or written, or
    /// that failed.
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

/// Reading of `CLOCK_MONOTONIC`, in ns.
pub(super) fn now_ns() -> u64 {
    nanoseconds(ClockId::CLOCK_MONOTONIC)
}

/// Time of day, in ns since 1970.
pub(super) fn wall_ns() -> u64 {
    nanoseconds(ClockId::CLOCK_REALTIME)
}

fn nanoseconds(clock: ClockId) -> u64 {
    let now = clock_gettime(clock).expect("every Linux has this clock");
    let part = |value: i64| u64::try_from(value).expect("the clock is past its origin");
    part(now.tv_sec()) * SECOND_NS + part(now.tv_nsec())
}
