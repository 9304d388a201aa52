//! Link: a queue, a transmitter with a rate, and a propagation delay.

use serde::{Deserialize, Serialize};

use super::change::checked_changes;
use super::fifo_link::FifoLink;
use super::link_parts::LinkParts;
use super::transmitter::{Fate, NS_BITS, Sent, Transmitter};
use super::{
    Change, Delays, Element, ElementSettings, Entry, LinkSettings, LoggedLink, QueueLog, checked_delay,
    checked_rate, highest_rate,
};
use crate::Time;
use crate::net::queue::{QueueContext, QueueSpec};

pub(super) const ENTRY: Entry =
    Entry { name: "link", idea: "A queue, a transmitter with a rate, and a propagation delay." };

/// Settings of `link`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Rate of the transmitter, in bits of IP packets per second.
    pub rate_bit_per_s: u64,
    /// One-way propagation delay.
    pub delay_ns: u64,
    /// Queue in front of the transmitter.
    pub queue: QueueSpec,
    /// Changes of rate and delay, in order of time. A queue that depends on the rate uses the first one.
    #[serde(default)]
    pub changes: Vec<Change>,
}

impl ElementSettings for Spec {
    fn build(&self, seed: u64) -> Result<Box<dyn Element>, String> {
        self.parts(seed)?.build()
    }

    fn delays(&self) -> Delays {
        Delays::changing(self.delay_ns, &self.changes)
    }

    fn link(&self) -> Option<LinkSettings<'_>> {
        Some(LinkSettings {
            queue: &self.queue,
            highest_rate_bit_per_s: highest_rate(self.rate_bit_per_s, &self.changes),
            changes: &self.changes,
            logged: self,
        })
    }
}

impl LoggedLink for Spec {
    fn build_logged(&self, seed: u64, log: &QueueLog) -> Result<Box<dyn Element>, String> {
        self.parts(seed)?.build_logged(log)
    }
}

impl Spec {
    /// The link as a [`FifoLink`]; `None` unless the queue is a FIFO.
    pub(super) fn with_fifo(&self) -> Option<Result<FifoLink<Rated>, String>> {
        let QueueSpec::Fifo(fifo) = &self.queue else { return None };
        Some(self.transmitter().and_then(|rated| FifoLink::new(rated, fifo)))
    }

    /// The transmitter and the queue of the link.
    fn parts(&self, seed: u64) -> Result<LinkParts<'_, Rated>, String> {
        let context = QueueContext { rate_bit_per_s: self.rate_bit_per_s, seed };
        Ok(LinkParts { transmitter: self.transmitter()?, queue: &self.queue, context })
    }

    fn transmitter(&self) -> Result<Rated, String> {
        Rated::new(self.rate_bit_per_s, self.delay_ns, &self.changes)
    }
}

/// A transmitter whose rate may change.
#[derive(Debug)]
pub(crate) struct Rated {
    pub(super) rate_bit_per_s: u64,
    pub(super) delay: Time,
    /// Rounding error of the transmission times so far, in units of 1/`rate_bit_per_s` ns, so that the
    /// long-run rate is exact.
    remainder: u64,
    /// Size of the last packet, whose transmission time is cached because most packets have the same size.
    size_bytes: u32,
    whole_ns: u64,
    parts: u64,
    /// Future changes, the next one last.
    changes: Vec<Change>,
    next_change: Time,
}

impl Transmitter for Rated {
    #[inline]
    fn transmit(&mut self, start: Time, size_bytes: u32) -> Sent {
        self.apply_changes(start);
        if size_bytes != self.size_bytes {
            self.measure(size_bytes);
        }
        let mut end = start + Time::from_ns(self.whole_ns);
        self.remainder += self.parts;
        if self.remainder >= self.rate_bit_per_s {
            self.remainder -= self.rate_bit_per_s;
            end += Time::from_ns(1);
        }
        Sent { end, departure: end + self.delay, fate: Fate::Delivered }
    }

    #[inline]
    fn after_idle(&mut self) {
        self.remainder = 0;
    }
}

impl Rated {
    /// Creates a transmitter with an initial rate and delay.
    pub(super) fn new(rate_bit_per_s: u64, delay_ns: u64, changes: &[Change]) -> Result<Rated, String> {
        let changes = checked_changes(changes)?;
        Ok(Rated {
            rate_bit_per_s: checked_rate(rate_bit_per_s)?,
            delay: checked_delay(delay_ns)?,
            remainder: 0,
            size_bytes: 0,
            whole_ns: 0,
            parts: 0,
            next_change: changes.last().map_or(Time::NEVER, Change::at),
            changes,
        })
    }

    /// Applies the changes that are due by `now`.
    #[inline]
    pub(super) fn apply_changes(&mut self, now: Time) {
        if now >= self.next_change {
            self.change(now);
        }
    }

    fn measure(&mut self, size_bytes: u32) {
        let work = u64::from(size_bytes) * NS_BITS;
        self.size_bytes = size_bytes;
        (self.whole_ns, self.parts) = (work / self.rate_bit_per_s, work % self.rate_bit_per_s);
    }

    #[cold]
    fn change(&mut self, now: Time) {
        while let Some(change) = self.changes.pop_if(|change| change.at() <= now) {
            if let Some(rate_bit_per_s) = change.rate_bit_per_s {
                self.rate_bit_per_s = rate_bit_per_s;
                self.remainder = 0;
                self.measure(self.size_bytes);
            }
            if let Some(delay_ns) = change.delay_ns {
                self.delay = Time::from_ns(delay_ns);
            }
        }
        self.next_change = self.changes.last().map_or(Time::NEVER, Change::at);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::packet;
    use super::*;
    use crate::net::queue::FifoSpec;

    fn link(rate_bit_per_s: u64, delay: Time) -> Box<dyn Element> {
        let queue = QueueSpec::Fifo(FifoSpec { limit_packets: Some(2), limit_bytes: None });
        Spec { rate_bit_per_s, delay_ns: delay.ns(), queue, changes: Vec::new() }.build(0).unwrap()
    }

    /// A link of 12 Mbit/s, 1500 bytes per millisecond, with a delay of 10 ms and an unlimited queue.
    fn changing(changes: &[Change]) -> Spec {
        let queue = QueueSpec::Fifo(FifoSpec::default());
        Spec { rate_bit_per_s: 12_000_000, delay_ns: 10_000_000, queue, changes: changes.to_vec() }
    }

    fn change_at(at: Time) -> Change {
        Change { at_ns: at.ns(), rate_bit_per_s: None, delay_ns: None }
    }

    /// Departure times, in ms, of `count` full packets that arrive at once.
    fn departures_ms(mut link: Box<dyn Element>, count: u32) -> Vec<u64> {
        let mut dropped = Vec::new();
        (0..count).for_each(|number| assert_eq!(link.accept(packet(number), Time::ZERO, &mut dropped), None));
        let mut departed = Vec::new();
        while link.next() != Time::NEVER {
            let now = link.next();
            assert_eq!(link.release(now, &mut dropped).unwrap().number as usize, departed.len());
            departed.push(now.ms());
        }
        departed
    }

    /// 1500 bytes at 12 Mbit/s take 1 ms. Four packets arrive at once: one is transmitted, two are queued,
    /// one is dropped.
    #[test]
    fn packets_leave_a_transmission_time_apart_after_the_delay() {
        let mut link = link(12_000_000, Time::from_ms(10));
        let mut dropped = Vec::new();
        for number in 0..4 {
            assert_eq!(link.accept(packet(number), Time::ZERO, &mut dropped), None);
        }
        assert_eq!(dropped, [packet(3)]);
        let mut departed = Vec::new();
        while link.next() != Time::NEVER {
            let now = link.next();
            departed.extend(link.release(now, &mut dropped).map(|packet| (now.ms(), packet.number)));
        }
        assert_eq!(departed, [(11, 0), (12, 1), (13, 2)]);
    }

    /// 1500 bytes at 7 Mbit/s take 1714285.71… ns: seven packets take exactly 12 ms.
    #[test]
    fn the_long_run_rate_is_exact() {
        let mut link = link(7_000_000, Time::ZERO);
        let mut dropped = Vec::new();
        let mut now = Time::ZERO;
        for number in 0..7 {
            link.accept(packet(number), now, &mut dropped);
            if number > 0 {
                now = link.next();
                link.release(now, &mut dropped);
            }
        }
        assert_eq!(link.next(), Time::from_ms(12));
    }

    /// A packet takes 1 ms; from 1.5 ms on 4 ms. The second packet, in transmission since 1 ms, still ends at
    /// 2 ms, the third at 6, the fourth at 10 ms. From 9 ms on a packet takes 2 ms: the fifth ends at 12, the
    /// sixth at 14 ms.
    #[test]
    fn a_packet_in_transmission_finishes_at_the_old_rate() {
        let slower = Change { rate_bit_per_s: Some(3_000_000), ..change_at(Time::from_us(1500)) };
        let faster = Change { rate_bit_per_s: Some(6_000_000), ..change_at(Time::from_ms(9)) };
        let link = changing(&[slower, faster]).build(0).unwrap();
        assert_eq!(departures_ms(link, 6), [11, 12, 16, 20, 22, 24]);
    }

    /// The first two packets leave at 1 + 10 and 2 + 10 ms. With a delay of 2 ms from 2 ms on, the next ones
    /// would leave at 3 + 2 … 10 + 2 ms: all but the last before the second packet, so that they leave with
    /// it.
    #[test]
    fn a_shorter_delay_lets_no_packet_overtake() {
        let shorter = Change { delay_ns: Some(2_000_000), ..change_at(Time::from_ms(2)) };
        let link = changing(&[shorter]).build(0).unwrap();
        assert_eq!(departures_ms(link, 12), [11, 12, 12, 12, 12, 12, 12, 12, 12, 12, 13, 14]);
    }

    /// The first packet after a change of the idle link has the new rate and delay: 2 + 30 ms.
    #[test]
    fn a_change_applies_to_an_idle_link() {
        let at = Time::from_ms(5);
        let both = Change { rate_bit_per_s: Some(6_000_000), delay_ns: Some(30_000_000), ..change_at(at) };
        let mut link = changing(&[both]).build(0).unwrap();
        link.accept(packet(0), at, &mut Vec::new());
        assert_eq!(link.next(), Time::from_ms(5 + 2 + 30));
    }

    /// 1 s at 1 packet/ms, 1 s at half of it, 1 s at 1 packet/ms: 1000 + 500 + 1000 packets, and one more for
    /// the transmission in progress at each change; the link is always busy.
    #[test]
    fn a_link_carries_the_sum_of_its_rates_over_time() {
        let slower = Change { rate_bit_per_s: Some(6_000_000), ..change_at(Time::from_secs(1)) };
        let again = Change { rate_bit_per_s: Some(12_000_000), ..change_at(Time::from_secs(2)) };
        let mut link = changing(&[slower, again]).build(0).unwrap();
        (0..4000).for_each(|number| {
            link.accept(packet(number), Time::ZERO, &mut Vec::new());
        });
        let view = link.observe(Time::from_secs(3), &mut Vec::new()).unwrap();
        assert_eq!((view.delivered_packets, view.busy_ns), (2500, 3_000_000_000));
    }

    #[test]
    fn invalid_changes_are_refused() {
        let refusal = |changes: &[Change]| changing(changes).build(0).unwrap_err();
        let at = |ms, rate_bit_per_s| Change { rate_bit_per_s, ..change_at(Time::from_ms(ms)) };
        assert_eq!(refusal(&[at(1, Some(0))]), "changes.0.rate_bit_per_s: 0 bit/s; give 1 to 400000000000");
        assert_eq!(
            refusal(&[at(1, Some(1)), at(2, None)]),
            "changes.1.at_ns: nothing changes; give rate_bit_per_s, delay_ns or both"
        );
        assert_eq!(
            refusal(&[at(2, Some(1)), at(2, Some(2))]),
            "changes.1.at_ns: 0.002000000 s; give more than 0.002000000 s"
        );
    }

    /// Three packets arrive at once at 12 Mbit/s: two are queued for 1 ms, one for another: 3
    /// packet-milliseconds.
    #[test]
    fn the_backlog_is_summed_over_time() {
        let mut link = link(12_000_000, Time::from_ms(10));
        let mut dropped = Vec::new();
        for number in 0..3 {
            link.accept(packet(number), Time::ZERO, &mut dropped);
        }
        let view = link.observe(Time::from_ms(4), &mut dropped).unwrap();
        assert_eq!(view.backlog_packet_ns, 3_000_000);
        assert_eq!(view.busy_ns, 3_000_000);
        assert_eq!((view.max_backlog_packets, view.backlog_packets, view.delivered_packets), (2, 0, 3));
    }
}
