//! Policer: a token bucket that drops the packets that exceed it, and delays nothing.
//! Source: [RFC 2698, 3](https://www.rfc-editor.org/rfc/rfc2698#section-3), its bucket for the committed rate.

use serde::{Deserialize, Serialize};

use super::{Delays, Element, ElementSettings, Entry, LinkSettings, checked_rate};
use crate::Time;
use crate::net::packet::Packet;

pub(super) const ENTRY: Entry =
    Entry { name: "policer", idea: "A token bucket: what exceeds its rate and burst is dropped." };

/// Nanosecond-bits in a byte-second.
const NS_BITS: u128 = 8 * 1_000_000_000;

/// Settings of `policer`, whose bucket begins full.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Rate at which the bucket fills, over IP packet sizes.
    pub rate_bit_per_s: u64,
    /// Capacity of the bucket; a larger packet never passes.
    pub burst_bytes: u64,
}

impl ElementSettings for Spec {
    fn build(&self, _seed: u64) -> Result<Box<dyn Element>, String> {
        if self.burst_bytes == 0 {
            return Err("burst_bytes: 0; give at least one packet".to_owned());
        }
        let full = u128::from(self.burst_bytes) * NS_BITS;
        let rate_bit_per_s = u128::from(checked_rate(self.rate_bit_per_s)?);
        Ok(Box::new(Policer { rate_bit_per_s, full, tokens: full, at: Time::ZERO }))
    }

    fn delays(&self) -> Delays {
        Delays::NONE
    }

    fn link(&self) -> Option<LinkSettings<'_>> {
        None
    }
}

#[derive(Debug)]
struct Policer {
    rate_bit_per_s: u128,
    /// Tokens of a full bucket, in nanosecond-bits per second.
    full: u128,
    tokens: u128,
    /// Time up to which the bucket was filled.
    at: Time,
}

impl Element for Policer {
    fn accept(&mut self, packet: Packet, now: Time, dropped: &mut Vec<Packet>) -> Option<Packet> {
        self.tokens += self.rate_bit_per_s * u128::from((now - self.at).ns());
        self.tokens = self.tokens.min(self.full);
        self.at = now;
        let Some(left) = self.tokens.checked_sub(u128::from(packet.size_bytes) * NS_BITS) else {
            dropped.push(packet);
            return None;
        };
        self.tokens = left;
        Some(packet)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{departures, paced};
    use super::*;

    /// 12 Mbit/s, 1000 packets of 1500 bytes a second, and a burst of 10. Offered 4000 a second for 10 s:
    /// 10 + 10 000 pass, less than one more or less.
    #[test]
    fn in_the_long_run_it_lets_its_rate_and_one_burst_pass() {
        let spec = Spec { rate_bit_per_s: 12_000_000, burst_bytes: 15_000 };
        let left = departures(&mut *spec.build(0).unwrap(), paced(Time::from_us(250), 40_000));
        assert!(left.len().abs_diff(10_010) <= 1, "{}", left.len());
    }

    /// In the first instant the burst of 10 passes; each ms one more.
    #[test]
    fn a_burst_passes_at_once_and_then_the_rate() {
        let spec = Spec { rate_bit_per_s: 12_000_000, burst_bytes: 15_000 };
        let mut policer = spec.build(0).unwrap();
        let burst = departures(&mut *policer, paced(Time::ZERO, 12));
        assert_eq!(burst.len(), 10);
        let later = departures(&mut *policer, [999, 1000, 1001].map(Time::from_us).to_vec());
        assert_eq!(later, [(Time::from_ms(1), 1)]);
    }

    #[test]
    fn what_is_within_the_rate_passes() {
        let spec = Spec { rate_bit_per_s: 12_000_000, burst_bytes: 1500 };
        let left = departures(&mut *spec.build(0).unwrap(), paced(Time::from_ms(1), 1000));
        assert_eq!(left.len(), 1000);
    }
}
