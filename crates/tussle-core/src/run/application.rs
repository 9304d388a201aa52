//! Write schedules of applications, equal for every engine.
//!
//! Applications write whole segments: a chunk or a response is rounded up. Only the last write of a flow with
//! a byte count may be shorter.

use serde::{Deserialize, Serialize};

use crate::Time;
use crate::util::distribution::{Distribution, Sampler};
use crate::util::rng::Rng;

/// Longest random time: the duration of the longest run.
const MAX_SPAN: Time = Time::from_secs(30 * 24 * 3600);
/// Shortest on time, and shortest time between chunks; a shorter sample is raised to it.
const MIN_SPAN: Time = Time::from_us(100);
/// Highest rate, equal to that of the fastest link.
const MAX_RATE_BIT_PER_S: u64 = 400_000_000_000;

/// Unsent bytes at which an application sleeps where no send buffer limits it (Linux: `TCP_NOTSENT_LOWAT`): somewhat more
/// than one ACK can release. The application wakes when less than half of them are unsent.
pub const UNSENT_BYTES: u64 = 256 << 10;

/// Write pattern of an application that is not a bulk sender. It begins when its flow starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ApplicationSpec {
    /// One segment at a time, at a constant rate.
    Rate(RateSpec),
    /// Alternating on times, with writes at a constant rate, and off times.
    OnOff(OnOffSpec),
    /// Chunks at random intervals, as a player of recorded video requests them.
    Chunks(ChunksSpec),
    /// Responses to requests; each request follows a think time after the acknowledgement of the previous
    /// response.
    Requests(RequestsSpec),
}

/// Settings of `rate`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RateSpec {
    /// Rate of the payload.
    pub rate_bit_per_s: u64,
}

/// Settings of `on_off`. The application begins with an on time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OnOffSpec {
    /// Rate of the payload in an on time.
    pub rate_bit_per_s: u64,
    /// Distribution of on times.
    pub on: Distribution,
    /// Distribution of off times.
    pub off: Distribution,
}

/// Settings of `chunks`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChunksSpec {
    /// Payload of a chunk.
    pub chunk_bytes: u64,
    /// Distribution of the time from one chunk to the next.
    pub every: Distribution,
}

/// Settings of `requests`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestsSpec {
    /// Payload of a response.
    pub response_bytes: u64,
    /// Distribution of the think time: from the last acknowledgement of a response to the next response.
    pub think: Distribution,
}

/// The next action of an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Write; at once if the time has passed.
    Write {
        /// Time of the write.
        at: Time,
        /// Payload: whole segments, unless it is the last write.
        bytes: u64,
        /// Whether the application closes after this write.
        closes: bool,
    },
    /// Wait until everything written is acknowledged, then call [`Schedule::resume`].
    Wait,
    /// Write nothing more.
    Nothing,
}

/// Properties of a flow that its application's schedule depends on.
#[derive(Clone, Copy, Debug)]
pub struct ScheduleSetup {
    /// Start of the application.
    pub start: Time,
    /// Payload of a full segment.
    pub mss_bytes: u32,
    /// Payload of the whole flow; `None`: unlimited.
    pub bytes: Option<u64>,
    /// Seed of the application's random number generators.
    pub seed: u64,
}

/// Write schedule of a flow's application.
#[derive(Clone, Debug)]
pub struct Schedule {
    pattern: Pattern,
    mss_bytes: u64,
    /// Bytes that are not written yet; `None`: unlimited.
    left_bytes: Option<u64>,
}

#[derive(Clone, Debug)]
enum Pattern {
    Stream { stream: Stream, on_off: Option<OnOffTimes> },
    Chunks { segments: u64, at: Time, every: Sampler },
    Requests { segments: u64, at: Option<Time>, think: Sampler },
}

/// Random on times and off times.
#[derive(Clone, Debug)]
struct OnOffTimes {
    on: Sampler,
    off: Sampler,
}

/// Segments at a constant rate over the concatenated on times.
#[derive(Clone, Debug)]
struct Stream {
    rate_bit_per_s: u64,
    written: u64,
    /// Start of the current on time, and sum of all on times before it.
    from: Time,
    before: Time,
    /// Sum of all on times, including the current one.
    until: Time,
}

impl Schedule {
    /// Creates the schedule of an application.
    ///
    /// # Errors
    /// A sentence that names the invalid setting.
    pub fn new(application: &ApplicationSpec, setup: ScheduleSetup) -> Result<Schedule, String> {
        let ScheduleSetup { start, bytes, seed, .. } = setup;
        let mss_bytes = u64::from(setup.mss_bytes);
        let sampler = |name: &str, distribution: &Distribution| {
            Sampler::new(distribution, MAX_SPAN, Rng::new(seed, name))
                .map_err(|problem| format!("{name}.{problem}"))
        };
        let long = |name: &str, distribution: &Distribution| {
            if distribution.longest_ns() < MIN_SPAN.ns() {
                return Err(format!("{name}: shorter than {MIN_SPAN}; give a longer one"));
            }
            sampler(name, distribution)
        };
        let segments = |name: &str, bytes: u64| {
            if bytes == 0 || bytes.div_ceil(mss_bytes) > u64::from(u32::MAX) {
                return Err(format!("{name}: {bytes} bytes; give at least 1, and fewer than 2^32 segments"));
            }
            Ok(bytes.div_ceil(mss_bytes))
        };
        let pattern = match application {
            ApplicationSpec::Rate(spec) => {
                Pattern::Stream { stream: Stream::new(spec.rate_bit_per_s, start)?, on_off: None }
            }
            ApplicationSpec::OnOff(spec) => {
                let (mut on, off) = (long("on", &spec.on)?, sampler("off", &spec.off)?);
                let mut stream = Stream::new(spec.rate_bit_per_s, start)?;
                stream.until = on.sample().max(MIN_SPAN);
                Pattern::Stream { stream, on_off: Some(OnOffTimes { on, off }) }
            }
            ApplicationSpec::Chunks(spec) => Pattern::Chunks {
                segments: segments("chunk_bytes", spec.chunk_bytes)?,
                at: start,
                every: long("every", &spec.every)?,
            },
            ApplicationSpec::Requests(spec) => Pattern::Requests {
                segments: segments("response_bytes", spec.response_bytes)?,
                at: Some(start),
                think: sampler("think", &spec.think)?,
            },
        };
        Ok(Schedule { pattern, mss_bytes, left_bytes: bytes })
    }

    /// Size of a message (chunk or response), of which the last may be smaller; `None` if the application
    /// writes a stream.
    pub fn message_bytes(&self) -> Option<u64> {
        match self.pattern {
            Pattern::Stream { .. } => None,
            Pattern::Chunks { segments, .. } | Pattern::Requests { segments, .. } => {
                Some(segments * self.mss_bytes)
            }
        }
    }

    /// Returns the next action.
    pub fn proceed(&mut self) -> Next {
        if self.left_bytes == Some(0) {
            return Next::Nothing;
        }
        let (at, segments) = match &mut self.pattern {
            Pattern::Stream { stream, on_off } => (stream.next(self.mss_bytes, on_off), 1),
            Pattern::Chunks { segments, at, every } => {
                let due = *at;
                *at += every.sample().max(MIN_SPAN);
                (due, *segments)
            }
            Pattern::Requests { segments, at, .. } => match at.take() {
                Some(due) => (due, *segments),
                None => return Next::Wait,
            },
        };
        let bytes = segments * self.mss_bytes;
        let bytes = self.left_bytes.map_or(bytes, |left| left.min(bytes));
        self.left_bytes = self.left_bytes.map(|left| left - bytes);
        Next::Write { at, bytes, closes: self.left_bytes == Some(0) }
    }

    /// Returns the next action after a wait: everything written is acknowledged at `now`.
    pub fn resume(&mut self, now: Time) -> Next {
        if let Pattern::Requests { at, think, .. } = &mut self.pattern {
            *at = Some(now + think.sample());
        }
        self.proceed()
    }
}

impl Stream {
    fn new(rate_bit_per_s: u64, start: Time) -> Result<Stream, String> {
        if !(1..=MAX_RATE_BIT_PER_S).contains(&rate_bit_per_s) {
            return Err(format!("rate_bit_per_s: {rate_bit_per_s} bit/s; give 1 to {MAX_RATE_BIT_PER_S}"));
        }
        Ok(Stream { rate_bit_per_s, written: 0, from: start, before: Time::ZERO, until: Time::NEVER })
    }

    /// Time of the next segment, which is due after the time that the previous segments take at the rate.
    fn next(&mut self, mss_bytes: u64, on_off: &mut Option<OnOffTimes>) -> Time {
        let bits_ns = u128::from(self.written) * u128::from(mss_bytes) * 8 * 1_000_000_000;
        let due_ns = u64::try_from(bits_ns / u128::from(self.rate_bit_per_s)).unwrap_or(u64::MAX);
        let due = Time::from_ns(due_ns);
        self.written += 1;
        if let Some(OnOffTimes { on, off }) = on_off {
            while self.until <= due && self.from < Time::NEVER {
                self.from += (self.until - self.before) + off.sample();
                self.before = self.until;
                self.until += on.sample().max(MIN_SPAN);
            }
        }
        self.from + (due - self.before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::FlowSpec;

    const MS: u64 = 1_000_000;

    fn schedule(application: &serde_json::Value, bytes: Option<u64>) -> Schedule {
        flow(application, bytes).schedule(1).unwrap().unwrap()
    }

    /// A flow of segments of 1000 bytes that starts at 5 ms.
    fn flow(application: &serde_json::Value, bytes: Option<u64>) -> FlowSpec {
        serde_json::from_value(serde_json::json!({
            "name": "a", "algorithm": "reno", "start_ns": 5 * MS, "mss_bytes": 1000, "bytes": bytes,
            "forward": [], "reverse": [], "application": application,
        }))
        .unwrap()
    }

    fn writes(schedule: &mut Schedule, count: usize) -> Vec<(f64, u64)> {
        let next = |_| match schedule.proceed() {
            Next::Write { at, bytes, .. } => (at.as_secs_f64() * 1e3, bytes),
            other => panic!("{other:?}"),
        };
        (0..count).map(next).collect()
    }

    /// 1000 bytes at 4 Mbit/s take 8000 / 4 000 000 s = 2 ms.
    #[test]
    fn a_constant_rate_spaces_segments_by_their_transmission_time() {
        let application = serde_json::json!({"kind": "rate", "rate_bit_per_s": 4_000_000});
        let expected = [(5.0, 1000), (7.0, 1000), (9.0, 1000)];
        assert_eq!(writes(&mut schedule(&application, None), 3), expected);
    }

    /// A third of 1 Mbit/s: 24 ms per segment, and 24 s after 1000 segments, without accumulated rounding
    /// errors.
    #[test]
    fn rounding_errors_of_a_rate_do_not_accumulate() {
        let application = serde_json::json!({"kind": "rate", "rate_bit_per_s": 333_333});
        let last = *writes(&mut schedule(&application, None), 1001).last().unwrap();
        // 1000 × 8000 bits / 333 333 bit/s = 24.000 024 s; the flow starts at 5 ms.
        assert!((last.0 - 24_005.024).abs() < 0.001, "{last:?}");
    }

    /// On for 5 ms, off for 10 ms: segments are due after 0, 2, 4, 6 and 8 ms of on time. The fourth is
    /// written 1 ms into the second on time, which begins 15 ms after the first.
    #[test]
    fn a_segment_that_does_not_fit_an_on_time_continues_in_the_next() {
        let application = serde_json::json!({"kind": "on_off", "rate_bit_per_s": 4_000_000,
            "on": {"constant_ns": 5 * MS}, "off": {"constant_ns": 10 * MS}});
        let times: Vec<_> = writes(&mut schedule(&application, None), 6).iter().map(|each| each.0).collect();
        assert_eq!(times, [5.0, 7.0, 9.0, 21.0, 23.0, 35.0]);
    }

    /// Mean on and off times of 1 s at 4 Mbit/s, 500 segments per second: over 1000 s the on times add up to
    /// 500 s. Tolerance: five standard deviations of sqrt(500 × 2 / 4) = 16 s.
    #[test]
    fn random_on_times_have_their_mean() {
        let application = serde_json::json!({"kind": "on_off", "rate_bit_per_s": 4_000_000,
            "on": {"exponential_ns": 1000 * MS}, "off": {"exponential_ns": 1000 * MS}});
        let writes = writes(&mut schedule(&application, None), 400_000);
        let within = writes.iter().filter(|each| each.0 < 1_000_000.0).count();
        assert!((500 * 420..=500 * 580).contains(&within), "{within}");
    }

    #[test]
    fn chunks_are_whole_segments_and_the_last_is_the_remainder() {
        let application = serde_json::json!({"kind": "chunks", "chunk_bytes": 2500,
            "every": {"constant_ns": 4 * MS}});
        let mut schedule = schedule(&application, Some(7100));
        assert_eq!(schedule.message_bytes(), Some(3000));
        assert_eq!(writes(&mut schedule, 3), [(5.0, 3000), (9.0, 3000), (13.0, 1100)]);
        assert_eq!(schedule.proceed(), Next::Nothing);
    }

    #[test]
    fn the_last_write_closes() {
        let application = serde_json::json!({"kind": "rate", "rate_bit_per_s": 4_000_000});
        let mut schedule = schedule(&application, Some(1500));
        let closes = |next| matches!(next, Next::Write { closes: true, .. });
        assert_eq!([closes(schedule.proceed()), closes(schedule.proceed())], [false, true]);
    }

    #[test]
    fn a_response_follows_the_previous_one_after_a_think_time() {
        let application = serde_json::json!({"kind": "requests", "response_bytes": 2000,
            "think": {"constant_ns": 30 * MS}});
        let mut schedule = schedule(&application, None);
        assert_eq!(writes(&mut schedule, 1), [(5.0, 2000)]);
        assert_eq!(schedule.proceed(), Next::Wait);
        let resumed = schedule.resume(Time::from_ns(50 * MS));
        assert_eq!(resumed, Next::Write { at: Time::from_ns(80 * MS), bytes: 2000, closes: false });
        assert_eq!(schedule.proceed(), Next::Wait);
    }

    #[test]
    fn each_flow_has_its_own_random_numbers() {
        let application = serde_json::json!({"kind": "chunks", "chunk_bytes": 1,
            "every": {"exponential_ns": 4 * MS}});
        let one = flow(&application, None);
        let other = FlowSpec { name: "b".to_owned(), ..one.clone() };
        let sampled = |flow: &FlowSpec| writes(&mut flow.schedule(1).unwrap().unwrap(), 10);
        assert_eq!(sampled(&one), sampled(&one));
        assert_ne!(sampled(&one), sampled(&other));
    }

    #[test]
    fn invalid_settings_are_refused() {
        let refusal = |application| flow(&application, None).schedule(1).unwrap_err();
        let rate = serde_json::json!({"kind": "rate", "rate_bit_per_s": 0});
        assert_eq!(refusal(rate), "rate_bit_per_s: 0 bit/s; give 1 to 400000000000");
        let zero = serde_json::json!({"constant_ns": 0});
        let never_on = serde_json::json!({"kind": "on_off", "rate_bit_per_s": 1, "on": zero, "off": zero});
        assert_eq!(refusal(never_on), "on: shorter than 0.000100000 s; give a longer one");
        let empty = serde_json::json!({"kind": "chunks", "chunk_bytes": 0, "every": zero});
        assert_eq!(refusal(empty), "chunk_bytes: 0 bytes; give at least 1, and fewer than 2^32 segments");
    }
}
