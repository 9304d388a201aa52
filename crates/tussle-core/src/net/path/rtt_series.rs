//! RTT series: the delay of a recording of RTTs.

use serde::{Deserialize, Serialize};

use super::wire::{Scheduled, Scheduler, Wire};
use super::{Delays, Element, ElementSettings, Entry, LinkSettings, checked_delay};
use crate::Time;
use crate::net::packet::Packet;

pub(super) const ENTRY: Entry = Entry {
    name: "rtt_series",
    idea: "A recording of RTTs as a delay: the amount by which each exceeds the smallest of them.",
};

/// Settings of `rtt_series`. Packets leave in order of arrival.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// The delays, in the order of their times. After the last one the recording starts again.
    pub steps: Vec<Step>,
}

/// A delay, and the time from the start of the recording until which it lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// End of the step.
    pub until_ns: u64,
    /// One-way delay.
    pub delay_ns: u64,
}

impl ElementSettings for Spec {
    fn build(&self, _seed: u64) -> Result<Box<dyn Element>, String> {
        if self.steps.is_empty() {
            return Err("steps: there are none; give at least one".to_owned());
        }
        let mut begin_ns = 0;
        for (index, step) in self.steps.iter().enumerate() {
            if step.until_ns <= begin_ns {
                return Err(format!("steps.{index}.until_ns: {}; give more than {begin_ns}", step.until_ns));
            }
            checked_delay(step.delay_ns).map_err(|problem| format!("steps.{index}.{problem}"))?;
            begin_ns = step.until_ns;
        }
        Ok(Scheduled::boxed(RttSeries {
            steps: self.steps.clone(),
            cycle_ns: begin_ns,
            began_ns: 0,
            index: 0,
        }))
    }

    fn delays(&self) -> Delays {
        let delays_ns = || self.steps.iter().map(|step| step.delay_ns);
        Delays {
            shortest_ns: delays_ns().min().unwrap_or_default(),
            longest_ns: delays_ns().max().unwrap_or_default(),
        }
    }

    fn link(&self) -> Option<LinkSettings<'_>> {
        None
    }
}

#[derive(Debug)]
struct RttSeries {
    steps: Vec<Step>,
    /// Length of the recording.
    cycle_ns: u64,
    /// Start of the current repetition of the recording.
    began_ns: u64,
    /// The step of the last packet.
    index: usize,
}

impl RttSeries {
    /// The delay of a packet that arrives at `now`, which is not before the last one.
    fn delay(&mut self, now: Time) -> Time {
        let cycles = (now.ns() - self.began_ns) / self.cycle_ns;
        if cycles > 0 {
            self.began_ns += cycles * self.cycle_ns;
            self.index = 0;
        }
        let within_ns = now.ns() - self.began_ns;
        while self.steps[self.index].until_ns <= within_ns {
            self.index += 1;
        }
        Time::from_ns(self.steps[self.index].delay_ns)
    }
}

impl Scheduler for RttSeries {
    fn schedule(
        &mut self,
        packet: Packet,
        now: Time,
        wire: &mut Wire,
        _dropped: &mut Vec<Packet>,
    ) -> Option<Packet> {
        let delay = self.delay(now);
        wire.push(packet, now + delay);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{departures, paced};
    use super::*;

    fn spec(steps: &[(u64, u64)]) -> Spec {
        let step =
            |&(until_ms, delay_ms)| Step { until_ns: until_ms * 1_000_000, delay_ns: delay_ms * 1_000_000 };
        Spec { steps: steps.iter().map(step).collect() }
    }

    /// 10 ms for 2 s, 30 ms for 1 s, 0 ms for 1 s, and again.
    #[test]
    fn each_delay_lasts_until_the_next_and_the_recording_repeats() {
        let recorded = spec(&[(2_000, 10), (3_000, 30), (4_000, 0)]);
        let departed = departures(&mut *recorded.build(0).unwrap(), paced(Time::from_secs(1), 10));
        let delays_ms: Vec<_> =
            departed.iter().map(|(at, number)| at.ms() - 1000 * u64::from(*number)).collect();
        assert_eq!(delays_ms, [10, 10, 30, 0, 10, 10, 30, 0, 10, 10]);
    }

    /// A packet every 2.5 s jumps over whole repetitions of 1 s: it arrives 0, 0.5, 0, 0.5 s after a start.
    #[test]
    fn a_pause_longer_than_the_recording_continues_at_its_time() {
        let recorded = spec(&[(500, 10), (1_000, 20)]);
        let departed = departures(&mut *recorded.build(0).unwrap(), paced(Time::from_ms(2_500), 4));
        let delays_ms: Vec<_> =
            departed.iter().map(|(at, number)| at.ms() - 2500 * u64::from(*number)).collect();
        assert_eq!(delays_ms, [10, 20, 10, 20]);
    }

    #[test]
    fn a_delay_that_falls_lets_no_packet_overtake() {
        let recorded = spec(&[(5, 1_000), (60_000, 0)]);
        let departed = departures(&mut *recorded.build(0).unwrap(), paced(Time::from_ms(1), 20));
        assert!(departed.iter().all(|(at, number)| *at >= Time::from_secs(1) && *number < 20));
        assert!(departed.is_sorted_by_key(|(_, number)| *number));
    }

    #[test]
    fn steps_out_of_order_are_refused() {
        let refused = |steps: &[(u64, u64)]| spec(steps).build(0).err().unwrap();
        assert_eq!(refused(&[]), "steps: there are none; give at least one");
        assert_eq!(refused(&[(0, 1)]), "steps.0.until_ns: 0; give more than 0");
        assert_eq!(refused(&[(2, 1), (1, 1)]), "steps.1.until_ns: 1000000; give more than 2000000");
    }
}
