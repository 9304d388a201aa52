//! Policer: a token bucket that drops excess packets, and delays none. Source:
//! [RFC 2698, 3](https://www.rfc-editor.org/rfc/rfc2698#section-3), the bucket of the committed rate.

use serde::{Deserialize, Serialize};

use super::{Delays, Element, ElementSettings, Entry, LinkSettings, checked_rate};
use crate::Time;
use crate::net::packet::Packet;

pub(super) const ENTRY: Entry =
    Entry { name: "policer", idea: "A token bucket: packets beyond its rate and burst are dropped." };

/// Conversion from bytes to tokens, which are in bit/s × ns.
const NS_BITS: u128 = 8 * 1_000_000_000;

/// Settings of `policer`. The bucket is full at the start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Rate at which the bucket fills, in bits of IP packets per second.
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
    /// Tokens of a full bucket, in bit/s × ns.
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
        let Some(remaining) = self.tokens.checked_sub(u128::from(packet.size_bytes) * NS_BITS) else {
            dropped.push(packet);
            return None;
        };
        self.tokens = remaining;
        Some(packet)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{departures, paced};
    use super::*;

    /// A rate of 12 Mbit/s, 1000 packets of 1500 bytes per second, and a burst of 10 packets. Of 4000 packets
    /// per second over 10 s, 10 + 10 000 pass, within one packet.
    #[test]
    fn in_the_long_run_the_rate_and_one_burst_pass() {
        let spec = Spec { rate_bit_per_s: 12_000_000, burst_bytes: 15_000 };
        let departed = departures(&mut *spec.build(0).unwrap(), paced(Time::from_us(250), 40_000));
        assert!(departed.len().abs_diff(10_010) <= 1, "{}", departed.len());
    }

    /// A burst of 10 packets passes at once, then one packet per millisecond.
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
    fn packets_within_the_rate_pass() {
        let spec = Spec { rate_bit_per_s: 12_000_000, burst_bytes: 1500 };
        let departed = departures(&mut *spec.build(0).unwrap(), paced(Time::from_ms(1), 1000));
        assert_eq!(departed.len(), 1000);
    }
}
