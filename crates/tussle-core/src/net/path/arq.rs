//! ARQ (automatic repeat request): a radio link that retransmits damaged blocks, so that loss becomes delay
//! and a varying rate.
//!
//! A packet is cut into blocks. Each transmission of a block is damaged with some probability. The block is
//! retransmitted, and occupies the transmitter each time, until it arrives undamaged or the limit of attempts
//! is reached; then the packet is lost. Before each retransmission the link waits for the negative
//! acknowledgement of the previous attempt. Meanwhile it transmits other packets, but the receiver delivers
//! in order, so that they are held until this packet is complete.
//!
//! Source: [RFC 3366, 1.4](https://www.rfc-editor.org/rfc/rfc3366#section-1.4), on ARQ techniques of links.

use serde::{Deserialize, Serialize};

use super::link::Rated;
use super::link_parts::LinkParts;
use super::transmitter::{Fate, NS_BITS, Sent, Transmitter};
use super::{
    Change, Delays, Element, ElementSettings, Entry, LinkSettings, LoggedLink, QueueLog, checked_delay,
    checked_probability, highest_rate,
};
use crate::Time;
use crate::net::queue::{QueueContext, QueueSpec};
use crate::util::rng::{Probability, Rng};

pub(super) const ENTRY: Entry =
    Entry { name: "arq", idea: "A radio link that retransmits damaged blocks and delivers in order." };

/// Largest setting of `attempts`.
const MAX_ATTEMPTS: u32 = 1000;

/// Settings of `arq`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Rate of the transmitter, in bits of IP packets per second, retransmissions included.
    pub rate_bit_per_s: u64,
    /// One-way propagation delay.
    pub delay_ns: u64,
    /// Queue in front of the transmitter.
    pub queue: QueueSpec,
    /// Probability that a transmission of a block is damaged, 0 to 1.
    pub block_error: f64,
    /// Size of a block; the last block of a packet may be smaller. `None`: each packet is one block.
    #[serde(default)]
    pub block_bytes: Option<u32>,
    /// Largest number of transmissions of a block; at least 1.
    pub attempts: u32,
    /// Time from the end of a damaged transmission until the next attempt of that block.
    #[serde(default)]
    pub retry_delay_ns: u64,
    /// Time that each transmission of a block takes in addition to its bits: medium access, preamble,
    /// acknowledgement.
    #[serde(default)]
    pub overhead_ns: u64,
    /// Changes of rate and delay, in order of time.
    #[serde(default)]
    pub changes: Vec<Change>,
}

impl ElementSettings for Spec {
    fn build(&self, seed: u64) -> Result<Box<dyn Element>, String> {
        self.parts(seed)?.build()
    }

    fn delays(&self) -> Delays {
        let Delays { shortest_ns, longest_ns } = Delays::changing(self.delay_ns, &self.changes);
        let retries_ns = u64::from(self.attempts).saturating_mul(self.retry_delay_ns);
        Delays { shortest_ns, longest_ns: longest_ns.saturating_add(retries_ns) }
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
    /// The transmitter and the queue of the link.
    fn parts(&self, seed: u64) -> Result<LinkParts<'_, Radio>, String> {
        if !(1..=MAX_ATTEMPTS).contains(&self.attempts) {
            return Err(format!("attempts: {}; give 1 to {MAX_ATTEMPTS}", self.attempts));
        }
        if self.block_bytes == Some(0) {
            return Err("block_bytes: 0; give at least 1".to_owned());
        }
        let radio = Radio {
            rated: Rated::new(self.rate_bit_per_s, self.delay_ns, &self.changes)?,
            error: checked_probability("block_error", self.block_error)?,
            block_bytes: self.block_bytes.unwrap_or(u32::MAX),
            attempts: self.attempts,
            retry_delay: checked_delay(self.retry_delay_ns).map_err(|problem| format!("retry_{problem}"))?,
            overhead: checked_delay(self.overhead_ns)
                .map_err(|_| "overhead_ns: give at most 100 s".to_owned())?,
            rng: Rng::new(seed, ENTRY.name),
        };
        let context = QueueContext { rate_bit_per_s: self.rate_bit_per_s, seed };
        Ok(LinkParts { transmitter: radio, queue: &self.queue, context })
    }
}

#[derive(Debug)]
pub(super) struct Radio {
    rated: Rated,
    error: Probability,
    block_bytes: u32,
    attempts: u32,
    retry_delay: Time,
    overhead: Time,
    rng: Rng,
}

impl Radio {
    /// Transmits a block; returns the number of attempts, and the state of the block after the last one.
    fn attempts(&mut self) -> (u32, Block) {
        for attempt in 1..=self.attempts {
            if !self.rng.sample_bool(self.error) {
                return (attempt, Block::Right);
            }
        }
        (self.attempts, Block::Damaged)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Block {
    Right,
    Damaged,
}

impl Transmitter for Radio {
    const LOSES: bool = true;

    fn transmit(&mut self, start: Time, size_bytes: u32) -> Sent {
        self.rated.apply_changes(start);
        let mut fate = Fate::Delivered;
        let (mut left_bytes, mut sent_bytes, mut blocks, mut rounds) = (size_bytes, 0, 0, 1);
        while left_bytes > 0 {
            let block_bytes = left_bytes.min(self.block_bytes);
            left_bytes -= block_bytes;
            let (attempts, block) = self.attempts();
            sent_bytes += u64::from(attempts) * u64::from(block_bytes);
            blocks += u64::from(attempts);
            rounds = rounds.max(attempts);
            if block == Block::Damaged {
                fate = Fate::Dropped;
            }
        }
        let bits_ns = u128::from(sent_bytes) * u128::from(NS_BITS) / u128::from(self.rated.rate_bit_per_s);
        let bits = Time::from_ns(u64::try_from(bits_ns).unwrap_or(u64::MAX));
        let end = start + bits + Time::from_ns(blocks.saturating_mul(self.overhead.ns()));
        let repairs = Time::from_ns(u64::from(rounds - 1) * self.retry_delay.ns());
        Sent { end, departure: end + repairs + self.rated.delay, fate }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{departures, paced};
    use super::*;
    use crate::net::queue::FifoSpec;

    /// A link of 12 Mbit/s, 1500 bytes per millisecond, without delay; each packet is one block.
    fn spec(block_error: f64, attempts: u32) -> Spec {
        Spec {
            rate_bit_per_s: 12_000_000,
            delay_ns: 0,
            queue: QueueSpec::Fifo(FifoSpec::default()),
            block_error,
            block_bytes: None,
            attempts,
            retry_delay_ns: 0,
            overhead_ns: 0,
            changes: Vec::new(),
        }
    }

    fn at_once(spec: &Spec, count: u64) -> Vec<(Time, u32)> {
        departures(&mut *spec.build(1).unwrap(), paced(Time::ZERO, count))
    }

    #[test]
    fn without_errors_arq_equals_a_link() {
        let departed = at_once(&spec(0.0, 4), 3);
        assert_eq!(departed, [(Time::from_ms(1), 0), (Time::from_ms(2), 1), (Time::from_ms(3), 2)]);
    }

    /// At a block error of 30 % a packet takes 1 / 0.7 = 1.43 transmissions: 10 000 take 14.3 s. Tolerance:
    /// five standard deviations of sqrt(0.3) / 0.7 × sqrt(10 000) ms = 78 ms. No packet is lost: 10^4 ×
    /// 0.3^100 = 0.
    #[test]
    fn persistence_turns_loss_into_a_lower_rate() {
        let departed = at_once(&spec(0.3, 100), 10_000);
        assert_eq!(departed.len(), 10_000);
        let last_ms = departed.last().unwrap().0.as_secs_f64() * 1e3;
        assert!((last_ms - 10_000.0 / 0.7).abs() <= 390.0, "{last_ms}");
    }

    /// Three attempts at 30 %: 0.3³ = 2.7 % of 100 000 packets are lost. Tolerance: five standard deviations
    /// of 51 packets.
    #[test]
    fn packets_damaged_in_the_last_attempt_are_lost() {
        let departed = at_once(&spec(0.3, 3), 100_000);
        assert!(departed.len().abs_diff(97_300) <= 255, "{}", departed.len());
        assert!(departed.is_sorted_by_key(|(_, number)| *number));
    }

    /// A packet arrives if all of its three blocks of 500 bytes do, in one attempt each: 0.9³ = 72.9 % of 100
    /// 000. Tolerance: five standard deviations of 141 packets.
    #[test]
    fn a_packet_needs_all_its_blocks() {
        let departed = at_once(&Spec { block_bytes: Some(500), ..spec(0.1, 1) }, 100_000);
        assert!(departed.len().abs_diff(72_900) <= 705, "{}", departed.len());
    }

    /// Every attempt fails, and the second follows after 50 ms: the first packet delays those behind it until
    /// 2 + 50 ms, although it is lost; the next one is complete at 4 + 50 ms, and lost as well.
    #[test]
    fn a_damaged_packet_blocks_the_packets_behind_it() {
        let mut link = Spec { retry_delay_ns: 50_000_000, ..spec(1.0, 2) }.build(1).unwrap();
        let mut dropped = Vec::new();
        (0..2).for_each(|number| {
            link.accept(super::super::tests::packet(number), Time::ZERO, &mut dropped);
        });
        assert_eq!(link.next(), Time::from_ms(52));
        assert_eq!(link.release(Time::from_ms(52), &mut dropped), None);
        assert_eq!((dropped.len(), link.next()), (1, Time::from_ms(54)));
    }

    /// Each transmission takes 1 ms for the bits and 0.5 ms of overhead.
    #[test]
    fn each_transmission_has_its_overhead() {
        let departed = at_once(&Spec { overhead_ns: 500_000, ..spec(0.0, 1) }, 4);
        assert_eq!(departed.last().unwrap().0, Time::from_ms(6));
    }

    /// The rate halves at 2 ms: from the third packet on, a transmission takes 2 ms.
    #[test]
    fn the_rate_may_change() {
        let slower = Change { at_ns: 2_000_000, rate_bit_per_s: Some(6_000_000), delay_ns: None };
        let departed = at_once(&Spec { changes: vec![slower], ..spec(0.0, 1) }, 4);
        assert_eq!(departed.last().unwrap().0, Time::from_ms(1 + 1 + 2 + 2));
    }

    #[test]
    fn invalid_settings_are_refused() {
        let refusal = |spec: Spec| spec.build(1).unwrap_err();
        assert_eq!(refusal(spec(0.1, 0)), "attempts: 0; give 1 to 1000");
        assert_eq!(refusal(spec(1.1, 1)), "block_error: 1.1; give 0 to 1");
        assert_eq!(refusal(Spec { block_bytes: Some(0), ..spec(0.1, 1) }), "block_bytes: 0; give at least 1");
    }
}
