//! Processing: a host that handles packets one after another, each for a random time.
//!
//! A packet waits for those before it, so that the mean time bounds the rate: 100 µs are 10 000 packets/s.

use serde::{Deserialize, Serialize};

use super::link_parts::LinkParts;
use super::transmitter::{Fate, Sent, Transmitter};
use super::{
    Delays, Element, ElementSettings, Entry, LinkSettings, LoggedLink, MAX_DELAY, MAX_RATE_BIT_PER_S,
    QueueLog,
};
use crate::Time;
use crate::net::queue::{QueueContext, QueueSpec};
use crate::util::distribution::{Distribution, Sampler};
use crate::util::rng::Rng;

pub(super) const ENTRY: Entry = Entry {
    name: "processing",
    idea: "A host that handles packets one after another, each for a random time.",
};

/// Settings of `processing`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Distribution of the time that handling a packet takes.
    pub time: Distribution,
    /// Queue of the packets that wait (Linux: `net.core.netdev_max_backlog`).
    pub queue: QueueSpec,
}

impl ElementSettings for Spec {
    fn build(&self, seed: u64) -> Result<Box<dyn Element>, String> {
        self.parts(seed)?.build()
    }

    fn delays(&self) -> Delays {
        Delays::random(&self.time)
    }

    fn link(&self) -> Option<LinkSettings<'_>> {
        // Times do not depend on sizes: a short time makes any rate.
        Some(LinkSettings {
            queue: &self.queue,
            highest_rate_bit_per_s: MAX_RATE_BIT_PER_S,
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
    fn parts(&self, seed: u64) -> Result<LinkParts<'_, Processor>, String> {
        let time = Sampler::new(&self.time, MAX_DELAY, Rng::new(seed, ENTRY.name))
            .map_err(|problem| format!("time.{problem}"))?;
        let context = QueueContext { rate_bit_per_s: MAX_RATE_BIT_PER_S, seed };
        Ok(LinkParts { transmitter: Processor { time }, queue: &self.queue, context })
    }
}

/// A processor, which handles one packet at a time.
#[derive(Debug)]
pub(super) struct Processor {
    time: Sampler,
}

impl Transmitter for Processor {
    fn transmit(&mut self, start: Time, _size_bytes: u32) -> Sent {
        // A nanosecond at the least, so that simulated time advances.
        let end = start + self.time.sample().max(Time::from_ns(1));
        Sent { end, departure: end, fate: Fate::Delivered }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{departures, paced};
    use super::*;
    use crate::net::queue::FifoSpec;
    use crate::util::distribution::Uniform;

    fn spec(time: Distribution, limit_packets: Option<u64>) -> Spec {
        Spec { time, queue: QueueSpec::Fifo(FifoSpec { limit_packets, limit_bytes: None }) }
    }

    /// Packets arrive every 1 ms and take 3 ms each: the n-th leaves at 3 (n + 1) ms.
    #[test]
    fn a_packet_waits_for_those_before_it() {
        let constant = spec(Distribution::ConstantNs(3_000_000), None);
        let departed = departures(&mut *constant.build(1).unwrap(), paced(Time::from_ms(1), 3));
        assert_eq!(departed, [(Time::from_ms(3), 0), (Time::from_ms(6), 1), (Time::from_ms(9), 2)]);
    }

    /// 10 000 packets at once, each for 0 to 2 ms: 10 s in all. Tolerance: five standard deviations of
    /// 2 / sqrt(12) × sqrt(10 000) = 58 ms.
    #[test]
    fn the_mean_time_is_the_rate() {
        let random = spec(Distribution::Uniform(Uniform { least_ns: 0, most_ns: 2_000_000 }), None);
        let run = |seed| departures(&mut *random.build(seed).unwrap(), paced(Time::ZERO, 10_000));
        let departed = run(1);
        assert!(departed.is_sorted());
        let last_ms = departed.last().unwrap().0.as_secs_f64() * 1e3;
        assert!((last_ms - 10_000.0).abs() <= 290.0, "{last_ms}");
        assert_eq!(departed, run(1));
        assert_ne!(departed, run(2));
    }

    /// One packet is handled and two wait.
    #[test]
    fn packets_above_the_limit_are_dropped() {
        let limited = spec(Distribution::ConstantNs(1_000_000), Some(2));
        let departed = departures(&mut *limited.build(1).unwrap(), paced(Time::ZERO, 10));
        assert_eq!(departed.iter().map(|(_, number)| *number).collect::<Vec<_>>(), [0, 1, 2]);
    }

    #[test]
    fn a_time_of_zero_takes_a_nanosecond() {
        let none = spec(Distribution::ConstantNs(0), None);
        let departed = departures(&mut *none.build(1).unwrap(), paced(Time::ZERO, 2));
        assert_eq!(departed, [(Time::from_ns(1), 0), (Time::from_ns(2), 1)]);
    }
}
