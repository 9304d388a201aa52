//! ARQ: a radio link that retransmits what was damaged, so that loss becomes delay and a varying rate.
//!
//! A packet is cut into blocks. Each transmission of a block is damaged with some probability. The block is
//! retransmitted, and the transmitter is busy with every attempt, until the block is right or the limit of attempts is
//! reached: then the packet is lost. Before each further attempt the link waits for the answer that the attempt before
//! was damaged. Meanwhile it transmits other packets, but the receiver delivers in order, so they wait for this one.
//!
//! Source: [RFC 3366, 1.4](https://www.rfc-editor.org/rfc/rfc3366#section-1.4), on the techniques that links use.

use serde::{Deserialize, Serialize};

use super::link::Rated;
use super::queued_link::link;
use super::transmitter::{Fate, NS_BITS, Sent, Transmitter};
use super::{
    Change, Delays, Element, ElementSettings, Entry, LinkSettings, checked_delay, checked_probability,
    highest_rate,
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
    /// Rate of the transmitter, retransmissions included, over IP packet sizes.
    pub rate_bit_per_s: u64,
    /// One-way propagation delay of the wire.
    pub delay_ns: u64,
    /// Queue in front of the transmitter.
    pub queue: QueueSpec,
    /// Probability that a transmission of a block is damaged, 0 to 1.
    pub block_error: f64,
    /// Size of a block; the last block of a packet may be smaller. `None`: each packet is one block.
    #[serde(default)]
    pub block_bytes: Option<u32>,
    /// Most transmissions of a block; at least 1.
    pub attempts: u32,
    /// Time from the end of a damaged transmission until the next attempt of that block.
    #[serde(default)]
    pub retry_delay_ns: u64,
    /// Time of each transmission of a block beside its bits: access to the medium, preambles, answers.
    #[serde(default)]
    pub overhead_ns: u64,
    /// Changes of rate and delay, in order of time.
    #[serde(default)]
    pub changes: Vec<Change>,
}

impl ElementSettings for Spec {
    fn build(&self, seed: u64) -> Result<Box<dyn Element>, String> {
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
        link(radio, &self.queue, QueueContext { rate_bit_per_s: self.rate_bit_per_s, seed })
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
        })
    }
}

#[derive(Debug)]
struct Radio {
    rated: Rated,
    error: Probability,
    block_bytes: u32,
    attempts: u32,
    retry_delay: Time,
    overhead: Time,
    rng: Rng,
}

impl Radio {
    /// Transmits a block: the number of attempts, and the block at last.
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
        self.rated.keep_up(start);
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
        Sent { end, arrival: end + repairs + self.rated.delay, fate }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{departures, paced};
    use super::*;
    use crate::net::queue::FifoSpec;

    /// 12 Mbit/s, 1500 bytes a millisecond, no delay, packets as blocks.
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
    fn without_errors_it_is_a_link() {
        let left = at_once(&spec(0.0, 4), 3);
        assert_eq!(left, [(Time::from_ms(1), 0), (Time::from_ms(2), 1), (Time::from_ms(3), 2)]);
    }

    /// At 30 % a packet takes 1 / 0.7 = 1.43 transmissions: 10 000 take 14.3 s, of deviation
    /// sqrt(0.3) / 0.7 × sqrt(10 000) ms = 78 ms; five of those. None is lost: 10^6 × 0.3^100 = 0.
    #[test]
    fn persistence_turns_loss_into_a_lower_rate() {
        let left = at_once(&spec(0.3, 100), 10_000);
        assert_eq!(left.len(), 10_000);
        let last_ms = left.last().unwrap().0.as_secs_f64() * 1e3;
        assert!((last_ms - 10_000.0 / 0.7).abs() <= 390.0, "{last_ms}");
    }

    /// Three attempts at 30 %: 0.3³ = 2.7 % are lost; of 100 000 known to 51 packets, five of those.
    #[test]
    fn what_the_last_attempt_does_not_save_is_lost() {
        let left = at_once(&spec(0.3, 3), 100_000);
        assert!(left.len().abs_diff(97_300) <= 255, "{}", left.len());
        assert!(left.is_sorted_by_key(|(_, number)| *number));
    }

    /// A packet is right if all its three blocks of 500 bytes are, with one attempt: 0.9³ = 72.9 %; of 100 000
    /// known to 141 packets, five of those.
    #[test]
    fn a_packet_needs_all_its_blocks() {
        let left = at_once(&Spec { block_bytes: Some(500), ..spec(0.1, 1) }, 100_000);
        assert!(left.len().abs_diff(72_900) <= 705, "{}", left.len());
    }

    /// Certain errors, two attempts, and 50 ms until the second: the packet, lost or not, holds up those
    /// behind it until 2 + 50 ms; the next is done at 4 + 50 ms. Nothing arrives, in order.
    #[test]
    fn a_damaged_packet_holds_up_those_behind_it() {
        let mut link = Spec { retry_delay_ns: 50_000_000, ..spec(1.0, 2) }.build(1).unwrap();
        let mut dropped = Vec::new();
        (0..2).for_each(|number| {
            link.accept(super::super::tests::packet(number), Time::ZERO, &mut dropped);
        });
        assert_eq!(link.next(), Time::from_ms(52));
        assert_eq!(link.release(Time::from_ms(52), &mut dropped), None);
        assert_eq!((dropped.len(), link.next()), (1, Time::from_ms(54)));
    }

    /// 1 ms for the bits and 0.5 ms beyond them, each time.
    #[test]
    fn each_transmission_has_its_overhead() {
        let left = at_once(&Spec { overhead_ns: 500_000, ..spec(0.0, 1) }, 4);
        assert_eq!(left.last().unwrap().0, Time::from_ms(6));
    }

    /// At half the rate from 2 ms on, the third packet and those after it take 2 ms.
    #[test]
    fn its_rate_may_change() {
        let slower = Change { at_ns: 2_000_000, rate_bit_per_s: Some(6_000_000), delay_ns: None };
        let left = at_once(&Spec { changes: vec![slower], ..spec(0.0, 1) }, 4);
        assert_eq!(left.last().unwrap().0, Time::from_ms(1 + 1 + 2 + 2));
    }

    #[test]
    fn settings_that_make_no_sense_are_named() {
        let said = |spec: Spec| spec.build(1).unwrap_err();
        assert_eq!(said(spec(0.1, 0)), "attempts: 0; give 1 to 1000");
        assert_eq!(said(spec(1.1, 1)), "block_error: 1.1; give 0 to 1");
        assert_eq!(said(Spec { block_bytes: Some(0), ..spec(0.1, 1) }), "block_bytes: 0; give at least 1");
    }
}
