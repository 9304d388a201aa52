//! Handover: at regular times the path pauses, and its delay changes.

use serde::{Deserialize, Serialize};

use super::wire::{Scheduled, Scheduler, Wire};
use super::{Delays, Element, ElementSettings, Entry, LinkSettings, MAX_DELAY, checked_delay};
use crate::Time;
use crate::net::packet::Packet;
use crate::util::distribution::{Distribution, Sampler};
use crate::util::rng::Rng;

pub(super) const ENTRY: Entry =
    Entry { name: "handover", idea: "Changes the delay at regular times, each time with a pause." };

/// Settings of `handover`. Packets leave in order of arrival.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Interval between handovers, at least 1 ms; the first handover is one interval after the start of the
    /// run.
    pub every_ns: u64,
    /// Distribution of the one-way delay between two handovers.
    pub delay: Distribution,
    /// Time after a handover during which packets are held; less than `every_ns`.
    #[serde(default)]
    pub pause_ns: u64,
}

impl ElementSettings for Spec {
    fn build(&self, seed: u64) -> Result<Box<dyn Element>, String> {
        if self.every_ns < 1_000_000 {
            return Err(format!("every_ns: {} ns; give at least 1 ms", self.every_ns));
        }
        if self.pause_ns >= self.every_ns {
            return Err(format!(
                "pause_ns: {} ns; give less than every_ns, {}",
                self.pause_ns, self.every_ns
            ));
        }
        let mut delays = Sampler::new(&self.delay, MAX_DELAY, Rng::new(seed, ENTRY.name))
            .map_err(|problem| format!("delay.{problem}"))?;
        Ok(Scheduled::boxed(Handover {
            every: Time::from_ns(self.every_ns),
            pause: checked_delay(self.pause_ns).map_err(|_| "pause_ns: give at most 100 s".to_owned())?,
            delay: delays.sample(),
            delays,
            open: Time::ZERO,
            upcoming: Time::from_ns(self.every_ns),
        }))
    }

    fn delays(&self) -> Delays {
        let Delays { shortest_ns, longest_ns } = Delays::random(&self.delay);
        Delays { shortest_ns, longest_ns: longest_ns.saturating_add(self.pause_ns) }
    }

    fn link(&self) -> Option<LinkSettings<'_>> {
        None
    }
}

#[derive(Debug)]
struct Handover {
    every: Time,
    pause: Time,
    delays: Sampler,
    delay: Time,
    /// End of the pause after the last handover.
    open: Time,
    upcoming: Time,
}

impl Scheduler for Handover {
    fn schedule(
        &mut self,
        packet: Packet,
        now: Time,
        wire: &mut Wire,
        _dropped: &mut Vec<Packet>,
    ) -> Option<Packet> {
        while self.upcoming <= now {
            self.delay = self.delays.sample();
            self.open = self.upcoming + self.pause;
            self.upcoming += self.every;
        }
        wire.push(packet, now.max(self.open) + self.delay);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{departures, paced};
    use super::*;
    use crate::util::distribution::Uniform;

    /// A handover every 100 ms to a delay of 0 to 15 ms, and a packet every 20 ms: five packets in a row have
    /// the same delay. Packets are held for 10 ms after a handover, so that the first of the five is 10 ms
    /// later.
    #[test]
    fn the_delay_is_constant_between_handovers_and_the_first_packet_is_held() {
        let delay = Distribution::Uniform(Uniform { least_ns: 0, most_ns: 15_000_000 });
        let spec = Spec { every_ns: 100_000_000, delay, pause_ns: 10_000_000 };
        let departed = departures(&mut *spec.build(1).unwrap(), paced(Time::from_ms(20), 50));
        let delays_us: Vec<u64> =
            departed.iter().map(|(at, number)| at.us() - 20_000 * u64::from(*number)).collect();
        let intervals: Vec<_> = delays_us.chunks(5).collect();
        assert!(
            intervals.iter().all(|interval| interval[1..].iter().all(|delay| *delay == interval[4])),
            "{delays_us:?}"
        );
        assert!(intervals[1..].iter().all(|interval| interval[0] == interval[4] + 10_000), "{delays_us:?}");
        assert!(intervals.windows(2).all(|pair| pair[0][4] != pair[1][4]), "{delays_us:?}");
    }
}
