//! Periodic updates of a queue without events of their own: whenever a packet arrives or leaves, the queue
//! first performs the updates that have become due.

use crate::Time;

/// Times of periodic updates: the multiples of an interval.
#[derive(Debug)]
pub(super) struct Updates {
    next: Time,
    interval: Time,
}

impl Updates {
    /// Creates updates at every multiple of `interval`. An error names the setting `update_ns`.
    pub(super) fn new(interval: Time) -> Result<Updates, String> {
        if interval == Time::ZERO {
            return Err("update_ns: 0 ns; give a time like 15 ms".to_owned());
        }
        Ok(Updates { next: interval, interval })
    }

    /// Takes the next update that is due by `now`, and returns the time at which it was due.
    pub(super) fn due(&mut self, now: Time) -> Option<Time> {
        let due = self.next;
        (due <= now).then(|| {
            self.next = due + self.interval;
            due
        })
    }

    /// Skips the updates that are due by `now`, for a queue whose state they would not change.
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

    /// The updates of an hour without packets are skipped; the next one is at a multiple of the interval.
    #[test]
    fn updates_without_effect_are_skipped() {
        let mut updates = Updates::new(Time::from_ms(15)).unwrap();
        let hour = Time::from_secs(3600);
        assert_eq!(updates.due(hour), Some(Time::from_ms(15)));
        updates.skip(hour);
        assert_eq!(updates.due(hour), Some(hour));
        assert_eq!(updates.due(hour), None);
    }
}
