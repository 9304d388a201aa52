//! Policer detection. A token bucket on the path passes bursts and then drops packets above its rate. Two
//! consecutive intervals of heavy loss and equal throughput indicate a policer; its rate then is the
//! bandwidth estimate. Source: Linux 6.1; for the idea, Flach et al., "An Internet-Wide Analysis of Traffic
//! Policing", SIGCOMM 2016.

use super::Round;
use crate::cc::bandwidth::{Bandwidth, Gain};
use crate::tcp::{Flow, Limit};

/// Smallest number of round trips in an interval; the largest is four times as many.
const INTERVAL_ROUNDS: u32 = 4;
/// Threshold of heavy loss: lost packets per delivered packet, in 1/256: 20 %.
const LOSS_256THS: u64 = 50;
/// Largest relative difference of equal throughputs: an eighth.
const EQUAL: Gain = Gain(256 / 8);
/// Largest absolute difference of equal throughputs, in bytes/s: 4 kbit/s.
const EQUAL_BYTES_PER_S: u64 = 4000 / 8;
/// Round trips after which a detected policer is no longer assumed and the path is probed again.
const POLICED_ROUNDS: u32 = 48;

/// State of policer detection.
#[derive(Debug, Default)]
pub(super) struct Policer {
    stage: Stage,
    /// Bandwidth of the last interval, or of the detected policer; `None` before.
    bw: Option<Bandwidth>,
    interval: Interval,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    /// No loss yet: the bucket may still have tokens.
    #[default]
    Waiting,
    /// Intervals are being measured.
    Sampling,
    /// A policer was detected.
    Policed,
}

/// Counters at the start of an interval.
#[derive(Debug, Default)]
struct Interval {
    at_ms: u64,
    delivered: u32,
    lost: u32,
    /// Round trips since the start.
    rounds: u32,
}

impl Interval {
    fn new(flow: &Flow) -> Interval {
        let at_ms = flow.delivered_at_us / 1000;
        Interval { at_ms, delivered: flow.delivered, lost: flow.lost, rounds: 0 }
    }
}

/// Input of policer detection from an ACK or a timeout.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample<'a> {
    pub(super) lost: u32,
    pub(super) limit: Limit,
    pub(super) round: &'a Round,
    /// Whether the ACK started a round trip that counts towards [`POLICED_ROUNDS`].
    pub(super) counts_round: bool,
}

/// Outcome of policer detection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Unchanged,
    /// A policer was detected: do not probe above its rate.
    Policed,
    /// The policer is no longer assumed: probe the path again.
    ProbeAgain,
}

impl Policer {
    /// Rate of the detected policer, if there is one.
    pub(super) fn bandwidth(&self) -> Option<Bandwidth> {
        self.bw.filter(|_| self.stage == Stage::Policed)
    }

    pub(super) fn reset(&mut self, flow: &Flow) {
        *self = Policer { interval: Interval::new(flow), ..Policer::default() };
    }

    pub(super) fn update(&mut self, sample: Sample, flow: &Flow) -> Verdict {
        if self.stage == Stage::Policed {
            return self.update_policed(sample, flow);
        }
        if self.stage == Stage::Waiting {
            if sample.lost == 0 {
                return Verdict::Unchanged;
            }
            self.interval = Interval::new(flow);
            self.stage = Stage::Sampling;
        }
        if sample.limit == Limit::Application {
            // The throughput would be the application's.
            self.reset(flow);
            return Verdict::Unchanged;
        }
        self.interval.rounds += u32::from(sample.round.started);
        if self.interval.rounds > 4 * INTERVAL_ROUNDS {
            self.reset(flow);
        } else if self.interval.rounds >= INTERVAL_ROUNDS && sample.lost > 0 {
            // An interval ends with a loss, when the bucket is empty again; otherwise the measured rate would
            // be too low.
            return self.end_interval(flow);
        }
        Verdict::Unchanged
    }

    fn update_policed(&mut self, sample: Sample, flow: &Flow) -> Verdict {
        self.interval.rounds += u32::from(sample.counts_round);
        if sample.counts_round && self.interval.rounds >= POLICED_ROUNDS {
            self.reset(flow);
            return Verdict::ProbeAgain;
        }
        Verdict::Unchanged
    }

    fn end_interval(&mut self, flow: &Flow) -> Verdict {
        let lost = u64::from(flow.lost - self.interval.lost);
        let delivered = flow.delivered - self.interval.delivered;
        let span_ms = (flow.delivered_at_us / 1000).saturating_sub(self.interval.at_ms);
        if delivered == 0 || lost * 256 < LOSS_256THS * u64::from(delivered) || span_ms == 0 {
            return Verdict::Unchanged;
        }
        let bw = Bandwidth::new(delivered, span_ms * 1000);
        if let Some(last) = self.bw.filter(|&last| last > Bandwidth::ZERO)
            && are_equal(bw, last, flow.mss_bytes)
        {
            self.bw = Some(bw.midpoint(last));
            self.stage = Stage::Policed;
            self.interval.rounds = 0;
            return Verdict::Policed;
        }
        self.bw = Some(bw);
        self.interval = Interval::new(flow);
        Verdict::Unchanged
    }
}

fn are_equal(bw: Bandwidth, last: Bandwidth, mss_bytes: u32) -> bool {
    let difference = bw.abs_diff(last);
    difference.is_at_most(EQUAL, last)
        || difference.paced_bytes_per_s(Gain::ONE, mss_bytes) <= EQUAL_BYTES_PER_S
}
