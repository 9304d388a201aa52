//! Handover: at regular times, and after a pause, the delay of the path changes.

use serde::{Deserialize, Serialize};

use super::wire::{Scheduled, Scheduler, Wire};
use super::{Delays, Element, ElementSettings, Entry, LinkSettings, MAX_DELAY, checked_delay};
use crate::Time;
use crate::net::packet::Packet;
use crate::util::distribution::{Distribution, Sampler};
use crate::util::rng::Rng;

pub(super) const ENTRY: Entry = Entry {
    name: "handover",
    idea: "At regular times, and after a pause, another delay, which stays until the next time.",
};

/// Settings of `handover`. Packets leave in the order in which they came.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Time from one handover to the next; the first is as long after the start of the run. At least 1 ms.
    pub every_ns: u64,
    /// Distribution of the one-way delay between two handovers.
    pub delay: Distribution,
    /// Time after a handover in which packets wait; less than `every_ns`.
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

    /// Each 100 ms one of 0 to 15 ms, which stays: a packet each 20 ms meets five times the same delay. In the
    /// first 10 ms after a handover packets wait: the packet of that instant is 10 ms later.
    #[test]
    fn the_delay_stays_between_two_handovers_and_the_first_packet_waits_for_the_pause() {
        let delay = Distribution::Uniform(Uniform { least_ns: 0, most_ns: 15_000_000 });
        let spec = Spec { every_ns: 100_000_000, delay, pause_ns: 10_000_000 };
        let left = departures(&mut *spec.build(1).unwrap(), paced(Time::from_ms(20), 50));
        let late_us: Vec<u64> =
            left.iter().map(|(at, number)| at.us() - 20_000 * u64::from(*number)).collect();
        let turns: Vec<_> = late_us.chunks(5).collect();
        assert!(turns.iter().all(|turn| turn[1..].iter().all(|late| *late == turn[4])), "{late_us:?}");
        assert!(turns[1..].iter().all(|turn| turn[0] == turn[4] + 10_000), "{late_us:?}");
        assert!(turns.windows(2).all(|pair| pair[0][4] != pair[1][4]), "{late_us:?}");
    }
}
