//! LEDBAT: keep the queueing delay at a target, and yield to other flows. The one-way delay above the
//! smallest one seen is the queueing delay; the window grows below the target and falls above it, never
//! faster than Reno's. Source: RFC 6817 (Shalunov, Hazel, Iyengar and Kuehlewind, December 2012), 2.4.
//! Choices that the RFC leaves open: the filter of current delays is the smallest of the last four
//! (`current_filter`); there is no slow start, as in the RFC's algorithm; the flight size is the sender's,
//! before the ACK, and bounds the window unless the window was full in the last flight.
//! Departs: see docs/deviations/ledbat.toml.

use std::collections::VecDeque;

use super::fraction::{Fraction, PACKET};
use super::{CongestionControl, Control, Entry, Needs, Parameter, Parameters};
use crate::Time;
use crate::tcp::{Ack, Flow};

pub(super) const ENTRY: Entry = Entry {
    name: "ledbat",
    idea: "Keep the queueing delay at a target, and yield to other flows.",
    source: "RFC 6817, 2.4",
    agrees_with: "RFC 6817 (December 2012)",
    parameters: &[
        Parameter {
            name: "target_ms",
            default: 100,
            min: 1,
            max: 100,
            meaning: "target of the queueing delay, in ms (TARGET)",
        },
        Parameter {
            name: "gain_percent",
            default: 100,
            min: 1,
            max: 100,
            meaning: "growth with an empty queue, in percent of a packet per round trip (GAIN)",
        },
        Parameter {
            name: "base_history_min",
            default: 10,
            min: 2,
            max: 60,
            meaning: "lifetime of the smallest delay, in minutes (BASE_HISTORY)",
        },
        Parameter {
            name: "current_filter",
            default: 4,
            min: 1,
            max: 64,
            meaning: "number of delays whose smallest is the current delay (CURRENT_FILTER)",
        },
        Parameter {
            name: "allowed_increase",
            default: 1,
            min: 1,
            max: 1 << 20,
            meaning: "packets by which a window that is not full may exceed the data in flight (ALLOWED_INCREASE)",
        },
    ],
    build: |parameters, _| Box::new(Ledbat::new(parameters)),
};

/// Smallest window, in packets. [RFC 6817, 2.5: MIN_CWND](https://www.rfc-editor.org/rfc/rfc6817#section-2.5)
const MIN_CWND: u32 = 2;
/// Time that one entry of the base history covers.
const HISTORY_STEP: Time = Time::from_secs(60);

#[derive(Debug)]
struct Ledbat {
    target_ms: i64,
    gain_percent: i64,
    base_history: usize,
    current_filter: usize,
    allowed_increase: u32,
    /// First measured delay, which contains the unknown offset between the clocks of the hosts. All other
    /// delays are relative to it, so that comparisons do not depend on where the 32 bits wrap.
    origin_ms: Option<u32>,
    /// Smallest delay of each minute, in ms, the newest last. (RFC: `base_delays`.)
    base_delays: VecDeque<i32>,
    /// Start of the newest minute. (RFC: `last_rollover`.)
    last_rollover: Time,
    /// Newest delays, the newest last. (RFC: `current_delays`.)
    current_delays: VecDeque<i32>,
    fraction: Fraction,
}

impl Ledbat {
    fn new(parameters: &Parameters) -> Ledbat {
        let count = |name| parameters.get_u32(name) as usize;
        Ledbat {
            target_ms: parameters.get("target_ms"),
            gain_percent: parameters.get("gain_percent"),
            base_history: count("base_history_min"),
            current_filter: count("current_filter"),
            allowed_increase: parameters.get_u32("allowed_increase"),
            origin_ms: None,
            base_delays: VecDeque::new(),
            last_rollover: Time::ZERO,
            current_delays: VecDeque::new(),
            fraction: Fraction::default(),
        }
    }

    /// Updates the base history.
    /// [RFC 6817, 2.4.2: update_base_delay](https://www.rfc-editor.org/rfc/rfc6817#section-2.4.2)
    fn update_base_delay(&mut self, delay_ms: i32, now: Time) {
        match self.base_delays.back_mut() {
            Some(newest) if now.since(self.last_rollover) < HISTORY_STEP => *newest = delay_ms.min(*newest),
            _ => {
                self.last_rollover = now;
                push_bounded(&mut self.base_delays, delay_ms, self.base_history);
            }
        }
    }

    /// Queueing delay in ms: the smallest current delay above the smallest ever; `None` before the first.
    fn queuing_delay_ms(&self) -> Option<i64> {
        let current = self.current_delays.iter().min()?;
        let base = self.base_delays.iter().min()?;
        Some(i64::from(*current) - i64::from(*base))
    }

    /// Change of the window for `delivered` packets, in parts of a packet: `GAIN × off_target × delivered /
    /// cwnd`.
    fn step(&self, queuing_delay_ms: i64, delivered: u32, cwnd: u32) -> i64 {
        let off_target_ms = i128::from(self.target_ms - queuing_delay_ms);
        let parts =
            off_target_ms * i128::from(self.gain_percent) * i128::from(delivered) * i128::from(PACKET)
                / (100 * i128::from(self.target_ms) * i128::from(cwnd.max(1)));
        i64::try_from(parts).unwrap_or(i64::MIN / 2)
    }
}

impl CongestionControl for Ledbat {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn needs(&self) -> Needs {
        Needs { timestamps: true, ..Needs::default() }
    }

    fn on_pkts_acked(&mut self, ack: &Ack, flow: &Flow, _control: &mut Control) {
        // Modulo 2^32, as the clocks count.
        let measured_ms = ack.ts_val_ms.wrapping_sub(ack.ts_echo_ms);
        let delay_ms = measured_ms.wrapping_sub(*self.origin_ms.get_or_insert(measured_ms)).cast_signed();
        self.update_base_delay(delay_ms, flow.now);
        push_bounded(&mut self.current_delays, delay_ms, self.current_filter);
    }

    fn on_ack(&mut self, ack: &Ack, flow: &Flow, control: &mut Control) {
        let Some(queuing_delay_ms) = self.queuing_delay_ms() else { return };
        let step = self.step(queuing_delay_ms, ack.delivered, control.cwnd);
        self.fraction.set(self.fraction.window(control).saturating_add(step), MIN_CWND, control);
        // The RFC bounds the window of a sender without enough data. One that waits for a large segment, or whose
        // receiver merges ACKs, uses its window and yet has less in flight when an ACK arrives.
        if flow.cwnd_filled() {
            return;
        }
        let max_allowed_cwnd = ack.rate.prior_in_flight.saturating_add(self.allowed_increase).max(MIN_CWND);
        if control.cwnd >= max_allowed_cwnd {
            self.fraction.clear();
            control.cwnd = max_allowed_cwnd;
        }
    }

    fn internals(&self, record: &mut dyn FnMut(&'static str, f64)) {
        let ms = |delay: Option<&i32>| delay.map_or(f64::NAN, |&ms| f64::from(ms));
        let queuing = self.queuing_delay_ms().map(|delay| i32::try_from(delay).unwrap_or(i32::MAX));
        record("base_delay_ms", ms(self.base_delays.iter().min()));
        record("current_delay_ms", ms(self.current_delays.iter().min()));
        record("queuing_delay_ms", ms(queuing.as_ref()));
    }
}

/// Adds `value`, and drops the oldest values beyond `most`.
fn push_bounded(values: &mut VecDeque<i32>, value: i32, most: usize) {
    while values.len() >= most {
        values.pop_front();
    }
    values.push_back(value);
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::tcp::{RateSample, WindowUse};

    fn ledbat() -> Ledbat {
        Ledbat::new(&ENTRY.parameters(&BTreeMap::new()).expect("the defaults are valid"))
    }

    fn sample(ledbat: &mut Ledbat, now: Time, delay_ms: u32) {
        let flow = Flow { now, ..Flow::new(1000, 1448) };
        let ack = Ack { ts_val_ms: 5_000 + delay_ms, ts_echo_ms: 5_000, ..Ack::default() };
        ledbat.on_pkts_acked(&ack, &flow, &mut Control::default());
    }

    /// Window in hundredths of a packet after `delivered` packets with `cwnd` in flight and a queueing delay
    /// of `queue_ms`.
    fn after(queue_ms: u32, cwnd: u32, delivered: u32) -> i64 {
        let (mut ledbat, mut control) = (ledbat(), Control::new(cwnd, 2));
        sample(&mut ledbat, Time::ZERO, 20);
        ledbat.current_delays.clear();
        sample(&mut ledbat, Time::ZERO, 20 + queue_ms);
        let rate = RateSample { prior_in_flight: cwnd, ..RateSample::default() };
        ledbat.on_ack(&Ack { delivered, rate, ..Ack::default() }, &Flow::new(1000, 1448), &mut control);
        ledbat.fraction.window(&control) * 100 / PACKET
    }

    /// Change per window of packets at a target of 100 ms: queueing delay 0 ms: +1 packet; 50 ms: +1/2; 100
    /// ms: 0; 150 ms: -1/2; 300 ms: -2.
    #[test]
    fn a_round_trip_changes_the_window_by_the_distance_to_the_target() {
        for (queue_ms, hundredths) in [(0, 2100), (50, 2050), (100, 2000), (150, 1950), (300, 1800)] {
            assert_eq!(after(queue_ms, 20, 20), hundredths, "{queue_ms} ms");
        }
    }

    /// 2 of 8 packets are delivered at half the target: 2/8 × 1/2 = 0.125.
    #[test]
    fn each_acknowledgement_counts_for_what_it_delivers() {
        assert_eq!(after(50, 8, 2), 812);
    }

    /// The computed window 2 - 29 × 2 / 2 is below the minimum of 2.
    #[test]
    fn the_window_is_at_least_two_packets() {
        assert_eq!(after(3000, 2, 2), 200);
    }

    /// With 10 packets in flight the window is at most 11.
    #[test]
    fn the_window_exceeds_the_data_in_flight_by_one_packet() {
        let (mut ledbat, mut control) = (ledbat(), Control::new(50, 2));
        sample(&mut ledbat, Time::ZERO, 20);
        let rate = RateSample { prior_in_flight: 10, ..RateSample::default() };
        ledbat.on_ack(&Ack { delivered: 1, rate, ..Ack::default() }, &Flow::new(1000, 1448), &mut control);
        assert_eq!(control.cwnd, 11);
    }

    /// The window of 50 packets is full, 10 of them in flight when the ACK arrives: it grows by a fiftieth, to 50.02.
    #[test]
    fn a_full_window_grows_although_the_next_large_segment_waits() {
        let (mut ledbat, mut control) = (ledbat(), Control::new(50, 2));
        sample(&mut ledbat, Time::ZERO, 20);
        let rate = RateSample { prior_in_flight: 10, ..RateSample::default() };
        let flow = Flow { usage: WindowUse::limited(), ..Flow::new(1000, 1448) };
        ledbat.on_ack(&Ack { delivered: 1, rate, ..Ack::default() }, &flow, &mut control);
        assert_eq!(ledbat.fraction.window(&control), 50 * PACKET + PACKET / 50);
    }

    #[test]
    fn a_single_late_packet_is_not_a_queue() {
        let mut ledbat = ledbat();
        for delay_ms in [20, 20, 20, 90] {
            sample(&mut ledbat, Time::ZERO, delay_ms);
        }
        assert_eq!(ledbat.queuing_delay_ms(), Some(0));
        for _ in 0..3 {
            sample(&mut ledbat, Time::ZERO, 90);
        }
        assert_eq!(ledbat.queuing_delay_ms(), Some(70));
    }

    /// Delays of 20 ms in the first minute and of 30 ms later: in the eleventh minute the first one is
    /// outside the history of ten minutes.
    #[test]
    fn the_smallest_delay_is_forgotten_after_ten_minutes() {
        let mut ledbat = ledbat();
        for minute in 0..=10 {
            assert_eq!(ledbat.base_delays.iter().min(), (minute > 0).then_some(&0));
            sample(&mut ledbat, Time::from_secs(60 * minute), if minute == 0 { 20 } else { 30 });
        }
        assert_eq!(ledbat.base_delays.iter().min(), Some(&10));
        assert_eq!(ledbat.base_delays.len(), 10);
    }

    /// Receiver's clock 1000 ms behind: the delays are -980 and -950 ms, and the queueing delay is 30 ms.
    /// Receiver's clock 2^31 - 31 ms ahead: the delays are 2^31 - 11 ms and 30 ms more, which changes the
    /// sign of the 32 bits.
    #[test]
    fn the_difference_of_the_clocks_does_not_matter() {
        for offset_ms in [-1000_i32, 0, i32::MAX - 30, i32::MIN] {
            let mut ledbat = ledbat();
            for delay_ms in [20, 50_u32] {
                let ts_val_ms = 5_000_u32.wrapping_add(delay_ms).wrapping_add_signed(offset_ms);
                let ack = Ack { ts_val_ms, ts_echo_ms: 5_000, ..Ack::default() };
                ledbat.current_delays.clear();
                ledbat.on_pkts_acked(&ack, &Flow::new(1000, 1448), &mut Control::default());
            }
            assert_eq!(ledbat.queuing_delay_ms(), Some(30), "offset of {offset_ms} ms");
        }
    }
}
