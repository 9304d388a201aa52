//! Hybrid slow start (`HyStart`): leave slow start when the queue begins to fill, before it overflows. The
//! signal is that the ACKs of one flight arrive for longer than a one-way delay, or that the RTT has risen.
//! Source: Ha and Rhee, "Taming the Elephants: New TCP Slow Start", NCSU technical report, 2008; the delay
//! test also in RFC 9406, 4.2. Agrees with: Linux 6.1, as part of `cubic`. Departs: see
//! docs/deviations/cubic.toml (the first entry).

use super::{Control, Parameters};
use crate::tcp::{Flow, window_rate_bit_per_s};

/// Bit of `hystart_detect`: leave slow start when a train of close ACKs is long.
const DETECT_TRAIN: u32 = 1;
/// Bit of `hystart_detect`: leave slow start when the RTT has risen.
const DETECT_DELAY: u32 = 2;
/// RTT samples of a round before the first delay test.
/// [RFC 9406, 4.3](https://www.rfc-editor.org/rfc/rfc9406#section-4.3)
const MIN_SAMPLES: u32 = 8;
/// Bounds of the significant rise of the RTT, which is an eighth of the smallest RTT, in µs.
/// [RFC 9406, 4.3](https://www.rfc-editor.org/rfc/rfc9406#section-4.3)
const RISE_US: std::ops::RangeInclusive<u32> = 4_000..=16_000;
/// Largest burst that Linux passes to a network card, in bytes: 64 KiB less room for headers.
const OFFLOAD_BYTES: u64 = 65_215;
/// Longest delay of an ACK by offloading, in µs.
const OFFLOAD_DELAY_MAX_US: u64 = 1_000;

/// Parameters.
#[derive(Clone, Copy, Debug)]
struct Settings {
    detect: u32,
    low_window: u32,
    ack_delta_us: u64,
}

/// RTTs that hybrid slow start compares.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delay {
    /// RTT of this ACK, in µs.
    pub(super) rtt_us: u32,
    /// Smallest RTT so far, in µs.
    pub(super) min_us: u32,
}

/// Search for the end of slow start.
#[derive(Debug)]
pub(super) struct HyStart {
    settings: Settings,
    /// Whether slow start was left; the search starts again after a timeout only.
    found: bool,
    round: Round,
}

/// One round trip: it ends when a packet sent after its start is acknowledged.
#[derive(Clone, Copy, Debug)]
struct Round {
    /// First packet of the next round.
    end: u32,
    start_us: u64,
    /// Time of the last ACK that came close behind the previous one, in µs.
    train_us: u64,
    /// Smallest RTT of the round.
    rtt_us: u32,
    samples: u32,
}

impl Round {
    fn start(flow: &Flow) -> Round {
        let now_us = flow.now.us();
        Round { end: flow.nxt, start_us: now_us, train_us: now_us, rtt_us: u32::MAX, samples: 0 }
    }
}

impl HyStart {
    /// Reads the parameters of CUBIC that begin with `hystart`; `None` if it is switched off.
    pub(super) fn new(parameters: &Parameters) -> Option<HyStart> {
        let settings = Settings {
            detect: parameters.get_u32("hystart_detect"),
            low_window: parameters.get_u32("hystart_low_window"),
            ack_delta_us: u64::from(parameters.get_u32("hystart_ack_delta_us")),
        };
        let round = Round { end: 0, start_us: 0, train_us: 0, rtt_us: u32::MAX, samples: 0 };
        (parameters.get("hystart") != 0).then_some(HyStart { settings, found: false, round })
    }

    /// Restarts the search: at the start, and after a timeout.
    pub(super) fn restart(&mut self, flow: &Flow) {
        self.found = false;
        self.round = Round::start(flow);
    }

    /// Processes the RTT of an ACK; returns the window at which slow start ends, if it ends now.
    pub(super) fn on_rtt(&mut self, delay: Delay, flow: &Flow, control: &Control) -> Option<u32> {
        if self.found || !control.in_slow_start() {
            return None;
        }
        if flow.una > self.round.end {
            self.round = Round::start(flow);
        }
        if control.cwnd < self.settings.low_window {
            return None;
        }
        let train_is_long =
            self.settings.detect & DETECT_TRAIN != 0 && self.train_is_long(delay, flow, control);
        let rtt_has_risen = self.settings.detect & DETECT_DELAY != 0 && self.round.rtt_has_risen(delay);
        (train_is_long || rtt_has_risen).then(|| {
            self.found = true;
            control.cwnd
        })
    }

    /// Whether the ACK train is long. Packets sent back to back return as ACKs spaced by the bottleneck: a
    /// train as long as the one-way delay means that a window fills the path. A paced sender spreads its
    /// packets over half an RTT by itself, so its train must be as long as the RTT.
    fn train_is_long(&mut self, delay: Delay, flow: &Flow, control: &Control) -> bool {
        let now_us = flow.now.us();
        if now_us - self.round.train_us > self.settings.ack_delta_us {
            return false;
        }
        self.round.train_us = now_us;
        let long_us = u64::from(delay.min_us) + offload_delay_us(flow, control);
        let long_us = if flow.pacing { long_us } else { long_us / 2 };
        now_us - self.round.start_us > long_us
    }
}

impl Round {
    fn rtt_has_risen(&mut self, delay: Delay) -> bool {
        self.rtt_us = self.rtt_us.min(delay.rtt_us);
        if self.samples < MIN_SAMPLES {
            self.samples += 1;
            return false;
        }
        let rise_us = (delay.min_us / 8).clamp(*RISE_US.start(), *RISE_US.end());
        self.rtt_us > delay.min_us.saturating_add(rise_us)
    }
}

/// Longest time, in µs, for which hosts hold back ACKs to handle packets in batches: four of the largest
/// batches at the rate at which the sender would pace.
fn offload_delay_us(flow: &Flow, control: &Control) -> u64 {
    match window_rate_bit_per_s(flow, control) {
        Some(rate) => (OFFLOAD_BYTES * 4 * 1_000_000 / (rate / 8).max(1)).min(OFFLOAD_DELAY_MAX_US),
        None => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Time;
    use crate::cc::control::INFINITE_SSTHRESH;

    /// Hybrid slow start with CUBIC's default parameters and `detect`.
    fn hystart(detect: u32) -> HyStart {
        let settings = Settings { detect, low_window: 16, ack_delta_us: 2000 };
        HyStart { settings, found: false, round: Round::start(&flow()) }
    }

    /// A flow at 1 s, at the start of a round trip of 16 packets.
    fn flow() -> Flow {
        Flow { now: Time::from_secs(1), nxt: 16, ..Flow::new(1000, 1448) }
    }

    fn window(cwnd: u32) -> Control {
        Control::new(cwnd, INFINITE_SSTHRESH)
    }

    /// Number of ACKs with these RTTs, in ms, until the end of slow start.
    fn acks_until_exit(min_ms: u32, rtts_ms: &[u32]) -> Option<usize> {
        let mut hystart = hystart(DETECT_DELAY);
        rtts_ms.iter().position(|&now_ms| {
            let delay = Delay { rtt_us: now_ms * 1000, min_us: min_ms * 1000 };
            hystart.on_rtt(delay, &flow(), &window(64)) == Some(64)
        })
    }

    /// Smallest RTT 40 ms: slow start ends if the RTT rises by more than 40 / 8 = 5 ms, after 8 samples.
    #[test]
    fn a_risen_delay_ends_slow_start_at_the_ninth_sample() {
        assert_eq!(acks_until_exit(40, &[46; 20]), Some(8));
        assert_eq!(acks_until_exit(40, &[45; 20]), None);
    }

    /// 8 ms / 8 = 1 ms is raised to 4 ms; 400 ms / 8 = 50 ms is lowered to 16 ms.
    #[test]
    fn the_threshold_of_the_rise_lies_between_4_and_16_ms() {
        assert_eq!(acks_until_exit(8, &[12; 20]), None);
        assert_eq!(acks_until_exit(8, &[13; 20]), Some(8));
        assert_eq!(acks_until_exit(400, &[416; 20]), None);
        assert_eq!(acks_until_exit(400, &[417; 20]), Some(8));
    }

    #[test]
    fn one_short_rtt_in_a_round_keeps_slow_start_going() {
        assert_eq!(acks_until_exit(40, &[60, 60, 60, 41, 60, 60, 60, 60, 60, 60, 60, 60]), None);
    }

    /// Packet 17 is the first of those sent after the round began.
    #[test]
    fn samples_of_an_earlier_round_do_not_count() {
        let (mut hystart, mut flow) = (hystart(DETECT_DELAY), flow());
        flow.nxt = 100;
        let delay = Delay { rtt_us: 60_000, min_us: 40_000 };
        for una in 10..17 {
            flow.una = una;
            assert_eq!(hystart.on_rtt(delay, &flow, &window(64)), None);
        }
        flow.una = 17;
        assert_eq!(hystart.on_rtt(delay, &flow, &window(64)), None);
        assert_eq!(hystart.round.samples, 1);
    }

    /// Time, in ms, after which ACKs every `gap_ms` end slow start, for an RTT of 40 ms.
    fn train_until_exit(gap_ms: u64, mut flow: Flow) -> Option<u64> {
        let mut hystart = hystart(DETECT_TRAIN);
        flow.rtt.update(40_000, 0, 16);
        let delay = Delay { rtt_us: 40_000, min_us: 40_000 };
        (1..100).map(|ack| ack * gap_ms).find(|&after_ms| {
            flow.now = Time::from_secs(1) + Time::from_ms(after_ms);
            hystart.on_rtt(delay, &flow, &window(64)).is_some()
        })
    }

    /// At 64 packets per 40 ms, the offloading delay is 1 ms: a train longer than (40 + 1) / 2 = 20.5 ms has
    /// 21 ACKs.
    #[test]
    fn a_train_longer_than_half_the_rtt_ends_slow_start() {
        assert_eq!(train_until_exit(1, flow()), Some(21));
    }

    /// The threshold is 40 + 1 ms, which the 42nd ACK exceeds.
    #[test]
    fn the_train_of_a_paced_sender_must_be_twice_as_long() {
        assert_eq!(train_until_exit(1, Flow { pacing: true, ..flow() }), Some(42));
    }

    #[test]
    fn acks_more_than_2_ms_apart_do_not_form_a_train() {
        assert_eq!(train_until_exit(3, flow()), None);
        assert_eq!(train_until_exit(2, flow()), Some(22));
    }

    /// 200 % of 10000 packets of 1448 bytes in 40 ms are 724 MB/s: 4 × 65215 bytes take 360 µs.
    #[test]
    fn offloading_delays_a_fast_flow_less() {
        let mut flow = flow();
        flow.rtt.update(40_000, 0, 16);
        assert_eq!(offload_delay_us(&flow, &window(10_000)), 360);
        assert_eq!(offload_delay_us(&flow, &window(64)), 1_000);
    }

    #[test]
    fn a_window_below_16_packets_is_left_alone() {
        let mut hystart = hystart(DETECT_DELAY);
        let delay = Delay { rtt_us: 400_000, min_us: 40_000 };
        for _ in 0..20 {
            assert_eq!(hystart.on_rtt(delay, &flow(), &window(15)), None);
        }
        assert!((0..20).any(|_| hystart.on_rtt(delay, &flow(), &window(16)) == Some(16)));
    }

    #[test]
    fn slow_start_ends_once_until_a_timeout() {
        let mut hystart = hystart(DETECT_DELAY);
        let delay = Delay { rtt_us: 400_000, min_us: 40_000 };
        let exits = |hystart: &mut HyStart| {
            (0..30).filter(|_| hystart.on_rtt(delay, &flow(), &window(64)).is_some()).count()
        };
        assert_eq!(exits(&mut hystart), 1);
        hystart.restart(&flow());
        assert_eq!(exits(&mut hystart), 1);
    }
}
