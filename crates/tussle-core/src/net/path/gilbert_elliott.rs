//! Gilbert-Elliott: burst losses of a channel with a good and a bad state.
//!
//! Sources: E. N. Gilbert, "Capacity of a Burst-Noise Channel", Bell System Technical Journal 39(5), 1960 (no
//! losses in the good state); E. O. Elliott, "Estimates of Error Rates for Codes on Burst-Noise Channels",
//! Bell System Technical Journal 42(5), 1963 (losses in both states). Time is counted in packets. On average
//! the channel is bad for a fraction p / (p + r) of the packets, and a bad period lasts 1 / r packets.

use serde::{Deserialize, Serialize};

use super::{Delays, Element, ElementSettings, Entry, LinkSettings, checked_probability};
use crate::Time;
use crate::net::packet::Packet;
use crate::util::rng::{Probability, Rng};

pub(super) const ENTRY: Entry = Entry {
    name: "gilbert_elliott",
    idea: "Drops packets in bursts: a channel alternates between a good and a bad state with different loss.",
};

/// Settings of `gilbert_elliott`: probabilities for each packet, each 0 to 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Probability that a good channel turns bad. (Paper: `P`.)
    pub p: f64,
    /// Probability that a bad channel turns good. (Gilbert: `p`, Elliott: `p`.)
    pub r: f64,
    /// Probability that a packet is lost while the channel is good. (Elliott: `1 - k`.)
    #[serde(default)]
    pub loss_good: f64,
    /// Probability that a packet is lost while the channel is bad. (Elliott: `1 - h`.)
    #[serde(default = "always")]
    pub loss_bad: f64,
}

fn always() -> f64 {
    1.0
}

impl ElementSettings for Spec {
    fn build(&self, seed: u64) -> Result<Box<dyn Element>, String> {
        Ok(Box::new(GilbertElliott {
            to_bad: checked_probability("p", self.p)?,
            to_good: checked_probability("r", self.r)?,
            loss_good: checked_probability("loss_good", self.loss_good)?,
            loss_bad: checked_probability("loss_bad", self.loss_bad)?,
            state: State::Good,
            rng: Rng::new(seed, ENTRY.name),
        }))
    }

    fn delays(&self) -> Delays {
        Delays::NONE
    }

    fn link(&self) -> Option<LinkSettings<'_>> {
        None
    }
}

#[derive(Clone, Copy, Debug)]
enum State {
    Good,
    Bad,
}

#[derive(Debug)]
struct GilbertElliott {
    to_bad: Probability,
    to_good: Probability,
    loss_good: Probability,
    loss_bad: Probability,
    state: State,
    rng: Rng,
}

impl Element for GilbertElliott {
    fn accept(&mut self, packet: Packet, _now: Time, dropped: &mut Vec<Packet>) -> Option<Packet> {
        let (turns, other) = match self.state {
            State::Good => (self.to_bad, State::Bad),
            State::Bad => (self.to_good, State::Good),
        };
        if self.rng.sample_bool(turns) {
            self.state = other;
        }
        let loss = match self.state {
            State::Good => self.loss_good,
            State::Bad => self.loss_bad,
        };
        if self.rng.sample_bool(loss) {
            dropped.push(packet);
            return None;
        }
        Some(packet)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::fates;
    use super::*;

    /// Fraction of lost packets, and mean length of loss bursts, in packets.
    #[expect(clippy::cast_precision_loss, reason = "counts of a test are far below 2^53")]
    fn loss_and_burst(spec: &Spec) -> (f64, f64) {
        let lost = fates(&mut *spec.build(1).unwrap(), 1_000_000);
        let losses = lost.iter().filter(|&&lost| lost).count();
        let bursts = lost.windows(2).filter(|pair| pair[0] && !pair[1]).count();
        (losses as f64 / lost.len() as f64, losses as f64 / bursts as f64)
    }

    /// p = 0.01, r = 0.25: bad for 0.01 / 0.26 = 3.85 % of packets, 1 / 0.25 = 4 in a row. A million packets
    /// have 10^6 × 0.0385 × 0.25 = 9615 bursts with a standard deviation of sqrt(0.75) / 0.25 = 3.5 each: the
    /// standard deviation of the mean burst is 3.5 / sqrt(9615) = 0.035, and that of the loss is about 1 % as
    /// well. Tolerance: five standard deviations.
    #[test]
    fn loss_and_burst_length_are_those_of_gilbert() {
        let (loss, burst) = loss_and_burst(&Spec { p: 0.01, r: 0.25, loss_good: 0.0, loss_bad: 1.0 });
        assert!((loss - 0.01 / 0.26).abs() <= 0.05 * 0.0385, "{loss}");
        assert!((burst - 4.0).abs() <= 5.0 * 0.035, "{burst}");
    }

    /// Bad for 0.02 / 0.12 = 1/6 of packets: a loss of 5/6 × 0.001 + 1/6 × 0.5 = 8.4 %. A burst in the bad
    /// state continues if the channel stays bad and loses the next packet: 0.9 × 0.5 = 0.45, so that its mean
    /// length is 1 / 0.55 = 1.82. The few losses in the good state (0.083 % of packets, beside 4.6 % of
    /// bursts) shorten the mean by 1.5 %.
    #[test]
    fn loss_and_burst_length_are_those_of_elliott() {
        let (loss, burst) = loss_and_burst(&Spec { p: 0.02, r: 0.1, loss_good: 0.001, loss_bad: 0.5 });
        assert!((loss - (5.0 / 6.0 * 0.001 + 1.0 / 6.0 * 0.5)).abs() <= 0.05 * 0.084, "{loss}");
        assert!((burst - 1.0 / 0.55).abs() <= 0.03 * 1.82, "{burst}");
    }

    /// With p + r = 1 the next state does not depend on the current one: losses are independent.
    #[test]
    fn a_channel_without_memory_has_independent_losses() {
        let (loss, burst) = loss_and_burst(&Spec { p: 0.1, r: 0.9, loss_good: 0.0, loss_bad: 1.0 });
        assert!((loss - 0.1).abs() <= 5.0 * 0.0003, "{loss}");
        assert!((burst - 1.0 / 0.9).abs() <= 0.01, "{burst}");
    }
}
