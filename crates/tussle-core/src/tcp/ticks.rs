//! Linux's timer wheel: timers fire on ticks, never early, and long ones on coarser ticks.
//!
//! Source: T. Gleixner, "timers: Switch to a non-cascading wheel", 2016. A wheel of level n holds timers up
//! to 63 × 8ⁿ ticks ahead and fires them on multiples of 8ⁿ ticks.

use crate::Time;

/// Timer ticks of a kernel (Linux: `jiffies`).
#[derive(Clone, Debug)]
pub(crate) struct Ticks {
    tick_ns: u64,
    /// Last computed tick, and its start. Most calls ask for the same tick.
    current: u64,
    began_ns: u64,
    /// First tick whose timers have not fired. While the timers of a tick fire, the wheel is one tick ahead.
    next: u64,
}

impl Ticks {
    /// Ticks of a kernel with `hz` ticks per second.
    pub(crate) fn new(hz: u32) -> Ticks {
        Ticks { tick_ns: 1_000_000_000 / u64::from(hz), current: 0, began_ns: 0, next: 0 }
    }

    /// Tick that contains `now`.
    #[inline]
    pub(crate) fn at(&mut self, now: Time) -> u64 {
        if now.ns().wrapping_sub(self.began_ns) >= self.tick_ns {
            self.current = now.ns() / self.tick_ns;
            self.began_ns = self.current * self.tick_ns;
        }
        self.current
    }

    /// Duration in ticks, rounded up.
    pub(crate) fn span(&self, span: Time) -> u64 {
        span.ns().div_ceil(self.tick_ns)
    }

    /// Duration of `ticks` ticks.
    pub(crate) fn time(&self, ticks: u64) -> Time {
        Time::from_ns(ticks * self.tick_ns)
    }

    /// Records that a timer fires at `now`.
    pub(crate) fn on_fired(&mut self, now: Time) {
        self.next = self.at(now) + 1;
    }

    /// Time at which a timer fires that was set at `now` for tick number `expires`.
    pub(crate) fn fires(&mut self, now: Time, expires: u64) -> Time {
        let ahead = expires.saturating_sub(self.at(now).max(self.next));
        let mut shift = 0;
        while ahead >= 63 << shift {
            shift += 3;
        }
        self.time(((expires >> shift) + 1) << shift)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 250 ticks a second, 4 ms each. At 10 ms (tick 2), 50 ticks ahead: tick 52, fired on 53: 212 ms.
    #[test]
    fn a_short_timer_fires_one_tick_late_at_most() {
        let mut ticks = Ticks::new(250);
        assert_eq!(ticks.fires(Time::from_ms(10), 52), Time::from_ms(212));
    }

    /// 75 ticks ahead is past 63: multiples of 8 ticks. Tick 77 becomes 80: 320 ms.
    #[test]
    fn a_longer_timer_fires_on_a_coarser_tick() {
        let mut ticks = Ticks::new(250);
        assert_eq!(ticks.fires(Time::from_ms(10), 77), Time::from_ms(320));
    }

    /// 63 ticks ahead, at tick 2: tick 65, on a multiple of 8, is 72. Set when tick 2 fires, it is 62 ticks
    /// ahead of the wheel: tick 66.
    #[test]
    fn a_timer_set_by_a_timer_is_a_tick_less_ahead() {
        let mut ticks = Ticks::new(250);
        assert_eq!(ticks.fires(Time::from_ms(8), 65), Time::from_ms(288));
        ticks.on_fired(Time::from_ms(8));
        assert_eq!(ticks.fires(Time::from_ms(8), 65), Time::from_ms(264));
        assert_eq!(ticks.fires(Time::from_ms(12), 66), Time::from_ms(288));
    }

    #[test]
    fn a_timer_never_fires_early() {
        let mut ticks = Ticks::new(250);
        for ms in 0..2000 {
            for ahead in [1, 5, 62, 63, 64, 503, 504, 4031, 4032, 30_000] {
                let now = Time::from_ms(ms);
                let expires = ticks.at(now) + ahead;
                assert!(ticks.fires(now, expires) > ticks.time(expires), "{ms} ms + {ahead} ticks");
            }
        }
    }
}
