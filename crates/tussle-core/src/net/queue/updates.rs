//! Periodic updates of a queue. They need no event of their own: when a packet comes or leaves, the queue first makes
//! the updates that have become due since the last packet did.

use crate::Time;

/// Times of periodic updates: the multiples of an interval.
#[derive(Debug)]
pub(super) struct Updates {
    next: Time,
    interval: Time,
}

impl Updates {
    /// Updates at every multiple of `interval`; an error names the setting `update_ns`.
    pub(super) fn new(interval: Time) -> Result<Updates, String> {
        if interval == Time::ZERO {
            return Err("update_ns: 0 ns; give a time like 15 ms".to_owned());
        }
        Ok(Updates { next: interval, interval })
    }

    /// Takes the next update that is due by `now`; returns when it was due.
    pub(super) fn due(&mut self, now: Time) -> Option<Time> {
        let due = self.next;
        (due <= now).then(|| {
            self.next = due + self.interval;
            due
        })
    }

    /// Skips the updates that are due by `now`, for a queue that they would not change.
    pub(super) fn skip(&mut self, now: Time) {
        let skipped = now.since(self.next).ns() / self.interval.ns();
        self.next += Time::from_ns(skipped * self.interval.ns());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_multiple_is_due_once() {
        let mut updates = Updates::new(Time::from_ms(15)).unwrap();
        let due_ms = [14, 31, 31, 31, 45].map(|now| updates.due(Time::from_ms(now)).map(Time::ms));
        assert_eq!(due_ms, [None, Some(15), Some(30), None, Some(45)]);
    }

    /// An hour without a packet is over at once, and the next one is at a multiple of the interval.
    #[test]
    fn those_that_change_nothing_are_skipped() {
        let mut updates = Updates::new(Time::from_ms(15)).unwrap();
        let hour = Time::from_secs(3600);
        assert_eq!(updates.due(hour), Some(Time::from_ms(15)));
        updates.skip(hour);
        assert_eq!(updates.due(hour), Some(hour));
        assert_eq!(updates.due(hour), None);
    }
}
