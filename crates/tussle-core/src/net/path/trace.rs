//! Trace: a link that transmits at the delivery opportunities of a recording, as Mahimahi does.
//!
//! Source: R. Netravali et al., "Mahimahi: Accurate Record-and-Replay for HTTP", USENIX ATC 2015, and its
//! program `mm-link`: at a millisecond of the recording, an opportunity carries an MTU of data, here 1500
//! bytes, in one packet or several small ones. An opportunity is lost if the queue is empty. After its last
//! millisecond the recording starts again.

use serde::{Deserialize, Serialize};

use super::link_parts::LinkParts;
use super::transmitter::{Fate, Sent, Transmitter};
use super::{
    Delays, Element, ElementSettings, Entry, LinkSettings, LoggedLink, MAX_RATE_BIT_PER_S, QueueLog,
    checked_delay,
};
use crate::Time;
use crate::net::queue::{QueueContext, QueueSpec};

pub(super) const ENTRY: Entry = Entry {
    name: "trace",
    idea: "A link that transmits at the delivery opportunities of a recording, as in Mahimahi.",
};

/// Bytes that an opportunity carries.
const OPPORTUNITY_BYTES: u32 = 1500;
const NS_PER_MS: u64 = 1_000_000;
/// Interval over which the highest rate is measured: about a base RTT, so that a spike of 1 ms has little
/// weight.
const BUSY_MS: u32 = 100;

/// Settings of `trace`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Times at which 1500 bytes may be transmitted, in ms since the recording began, in ascending order;
    /// equal times are allowed. The recording starts again at the last time.
    pub opportunities_ms: Vec<u32>,
    /// One-way propagation delay.
    pub delay_ns: u64,
    /// Queue in front of the transmitter. A queue that depends on the rate uses the mean rate.
    pub queue: QueueSpec,
}

impl ElementSettings for Spec {
    fn build(&self, seed: u64) -> Result<Box<dyn Element>, String> {
        self.parts(seed)?.build()
    }

    fn delays(&self) -> Delays {
        Delays::constant(self.delay_ns)
    }

    fn link(&self) -> Option<LinkSettings<'_>> {
        Some(LinkSettings {
            queue: &self.queue,
            highest_rate_bit_per_s: busiest_bit_per_s(&self.opportunities_ms),
            changes: &[],
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
    /// The transmitter and the queue of the link.
    fn parts(&self, seed: u64) -> Result<LinkParts<'_, Recorded>, String> {
        let opportunities = &self.opportunities_ms;
        if !opportunities.is_sorted() {
            return Err("opportunities_ms: a time is before the one above it; sort them".to_owned());
        }
        let Some(cycle_ms) = opportunities.last().copied().filter(|last| *last > 0) else {
            return Err("opportunities_ms: the recording lasts no time; give a time after 0".to_owned());
        };
        let bits = 8 * u64::from(OPPORTUNITY_BYTES) * opportunities.len() as u64;
        let rate_bit_per_s = (bits * 1000 / u64::from(cycle_ms)).clamp(1, MAX_RATE_BIT_PER_S);
        let recorded = Recorded {
            opportunities_ns: opportunities.iter().map(|ms| u64::from(*ms) * NS_PER_MS).collect(),
            cycle_ns: u64::from(cycle_ms) * NS_PER_MS,
            current: Opportunity { index: 0, cycle: 0 },
            left_bytes: OPPORTUNITY_BYTES,
            delay: checked_delay(self.delay_ns)?,
        };
        let context = QueueContext { rate_bit_per_s, seed };
        Ok(LinkParts { transmitter: recorded, queue: &self.queue, context })
    }
}

/// The rate of the busiest [`BUSY_MS`] of a recording.
fn busiest_bit_per_s(opportunities_ms: &[u32]) -> u64 {
    let mut first = 0;
    let within = opportunities_ms.iter().enumerate().map(|(last, at_ms)| {
        while at_ms.saturating_sub(opportunities_ms[first]) >= BUSY_MS {
            first += 1;
        }
        last + 1 - first
    });
    within.max().unwrap_or_default() as u64 * u64::from(OPPORTUNITY_BYTES) * 8 * 1000 / u64::from(BUSY_MS)
}

#[derive(Debug)]
pub(super) struct Recorded {
    opportunities_ns: Vec<u64>,
    cycle_ns: u64,
    current: Opportunity,
    /// Bytes that the current opportunity can still carry.
    left_bytes: u32,
    delay: Time,
}

/// An opportunity: its index in the recording, and the repetition of the recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Opportunity {
    index: usize,
    cycle: u64,
}

impl Recorded {
    fn time(&self, opportunity: Opportunity) -> Time {
        Time::from_ns(opportunity.cycle * self.cycle_ns + self.opportunities_ns[opportunity.index])
    }

    /// Advances to the next opportunity.
    fn step(&mut self) {
        self.current.index += 1;
        if self.current.index == self.opportunities_ns.len() {
            self.current = Opportunity { index: 0, cycle: self.current.cycle + 1 };
        }
        self.left_bytes = OPPORTUNITY_BYTES;
    }

    /// Skips the opportunities before `start`, when the queue was empty.
    fn skip(&mut self, start: Time) {
        if self.time(self.current) >= start {
            return;
        }
        // A repetition ends when the next begins, so that the previous one may have an opportunity at
        // `start`.
        let cycle = (start.ns() / self.cycle_ns).saturating_sub(1).max(self.current.cycle);
        let within = start.ns() - cycle * self.cycle_ns;
        let index = self.opportunities_ns.partition_point(|at| *at < within);
        self.current = Opportunity { index, cycle };
        self.left_bytes = OPPORTUNITY_BYTES;
        if index == self.opportunities_ns.len() {
            self.current = Opportunity { index: 0, cycle: cycle + 1 };
            self.skip(start);
        }
    }
}

impl Transmitter for Recorded {
    fn transmit(&mut self, start: Time, size_bytes: u32) -> Sent {
        self.skip(start);
        let mut bytes = size_bytes;
        while bytes > self.left_bytes {
            bytes -= self.left_bytes;
            self.step();
        }
        self.left_bytes -= bytes;
        let end = self.time(self.current);
        Sent { end, departure: end + self.delay, fate: Fate::Delivered }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{departures, paced, packet};
    use super::*;
    use crate::net::packet::Packet;
    use crate::net::queue::FifoSpec;

    fn trace(opportunities_ms: &[u32]) -> Result<Box<dyn Element>, String> {
        let queue = QueueSpec::Fifo(FifoSpec::default());
        Spec { opportunities_ms: opportunities_ms.to_vec(), delay_ns: 0, queue }.build(0)
    }

    fn departures_ms(opportunities_ms: &[u32], arrivals: Vec<Time>) -> Vec<u64> {
        let departed = departures(&mut *trace(opportunities_ms).unwrap(), arrivals);
        departed.iter().map(|(at, _)| at.ms()).collect()
    }

    /// Opportunities at 1, 1, 4 and 6 ms; the next repetition has 7, 7, 10 and 12 ms, the one after it 13 ms.
    #[test]
    fn packets_leave_at_the_opportunities_of_a_repeated_recording() {
        assert_eq!(departures_ms(&[1, 1, 4, 6], paced(Time::ZERO, 9)), [1, 1, 4, 6, 7, 7, 10, 12, 13]);
    }

    /// The queue is empty until 5 ms: the opportunities at 1, 1 and 4 ms are lost. The 17th repetition begins
    /// at 96 ms: its opportunities at 97 and 97 ms are lost, too; the next one is at 96 + 4 ms.
    #[test]
    fn opportunities_of_an_empty_queue_are_lost() {
        let arrivals = [5, 5, 100, 100].map(Time::from_ms).to_vec();
        assert_eq!(departures_ms(&[1, 1, 4, 6], arrivals), [6, 7, 100, 102]);
    }

    /// 1500 bytes carry two packets of 700 bytes and 100 bytes of the third, which the next opportunity
    /// completes.
    #[test]
    fn small_packets_share_an_opportunity() {
        let mut link = trace(&[2, 4]).unwrap();
        let mut dropped = Vec::new();
        for number in 0..3 {
            link.accept(Packet { size_bytes: 700, ..packet(number) }, Time::ZERO, &mut dropped);
        }
        let mut departed_ms = Vec::new();
        while link.next() != Time::NEVER {
            let now = link.next();
            departed_ms.extend(link.release(now, &mut dropped).map(|_| now.ms()));
        }
        assert_eq!(departed_ms, [2, 2, 4]);
    }

    /// Three opportunities per 10 ms: 3 × 12 000 bit / 10 ms = 3.6 Mbit/s, 300 packets per second.
    #[test]
    fn a_busy_link_carries_the_mean_rate() {
        let departed = departures_ms(&[1, 5, 10], paced(Time::ZERO, 3000));
        assert_eq!(departed.last(), Some(&10_000));
    }

    #[test]
    fn invalid_recordings_are_refused() {
        let refusal = |opportunities: &[u32]| trace(opportunities).unwrap_err();
        assert_eq!(refusal(&[]), "opportunities_ms: the recording lasts no time; give a time after 0");
        assert_eq!(refusal(&[0, 0]), "opportunities_ms: the recording lasts no time; give a time after 0");
        assert_eq!(refusal(&[3, 2]), "opportunities_ms: a time is before the one above it; sort them");
    }
}
