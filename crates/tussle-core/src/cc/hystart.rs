//! Hybrid slow start (`HyStart`): leave slow start when the queue begins to fill, before it overflows.
//! Either the ACKs of one flight come for longer than a one-way delay, or the RTT has risen.
//! Source: Ha and Rhee, "Taming the Elephants: New TCP Slow Start", NCSU technical report, 2008; the delay
//! test also in RFC 9406, 4.2. Agrees with: Linux 6.1, as part of `cubic`.
//! Departs: see docs/deviations/cubic.toml (1 entry).

use super::{Knobs, Parameters};
use crate::run::Switch;
use crate::tcp::Flow;

/// Bit of `hystart_detect`: leave when a train of close ACKs is long.
const DETECT_TRAIN: u32 = 1;
/// Bit of `hystart_detect`: leave when the RTT has risen.
const DETECT_DELAY: u32 = 2;
/// RTT samples of a round that are only collected. [RFC 9406, 4.3](https://www.rfc-editor.org/rfc/rfc9406#section-4.3)
const MIN_SAMPLES: u32 = 8;
/// The rise of the RTT that counts is an eighth of the smallest, but within these bounds, in µs.
/// [RFC 9406, 4.3](https://www.rfc-editor.org/rfc/rfc9406#section-4.3)
const RISE_US: std::ops::RangeInclusive<u32> = 4_000..=16_000;
/// Bytes that Linux hands a network card at once, the largest: 64 KiB less room for headers.
const OFFLOAD_BYTES: u64 = 65_215;
/// Most that offloading is believed to delay an ACK, in µs.
const OFFLOAD_DELAY_MAX_US: u64 = 1_000;

/// What a scenario may set.
#[derive(Clone, Copy, Debug)]
struct Settings {
    detect: u32,
    low_window: u32,
    ack_delta_us: u64,
}

/// The RTT of an ACK, and the smallest so far, in µs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delay {
    pub(super) now_us: u32,
    pub(super) min_us: u32,
}

/// The search for the end of slow start.
#[derive(Debug)]
pub(super) struct HyStart {
    settings: Settings,
    search: Search,
    round: Round,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Search {
    Looking,
    /// Slow start was left; looking again only after a timeout.
    Found,
}

/// One round trip: until a packet sent after its beginning is acknowledged.
#[derive(Clone, Copy, Debug)]
struct Round {
    /// First packet of the next round.
    end: u32,
    start_us: u64,
    /// The last ACK that came close behind the one before it.
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
    /// From the parameters of CUBIC that begin with `hystart`; `None` if it is turned off.
    pub(super) fn new(parameters: &Parameters) -> Option<HyStart> {
        let settings = Settings {
            detect: parameters.get_u32("hystart_detect"),
            low_window: parameters.get_u32("hystart_low_window"),
            ack_delta_us: u64::from(parameters.get_u32("hystart_ack_delta_us")),
        };
        let round = Round { end: 0, start_us: 0, train_us: 0, rtt_us: u32::MAX, samples: 0 };
        (parameters.get("hystart") != 0).then_some(HyStart { settings, search: Search::Looking, round })
    }

    /// Looks again from the beginning: at the start, and after a timeout.
    pub(super) fn restart(&mut self, flow: &Flow) {
        self.search = Search::Looking;
        self.round = Round::start(flow);
    }

    /// Takes the RTT of an ACK; the window at which slow start ends, if it ends now.
    pub(super) fn on_rtt(&mut self, delay: Delay, flow: &Flow, knobs: &Knobs) -> Option<u32> {
        if self.search == Search::Found || !knobs.in_slow_start() {
            return None;
        }
        if flow.una > self.round.end {
            self.round = Round::start(flow);
        }
        if knobs.cwnd < self.settings.low_window {
            return None;
        }
        let train_is_long =
            self.settings.detect & DETECT_TRAIN != 0 && self.train_is_long(delay, flow, knobs);
        let rtt_has_risen = self.settings.detect & DETECT_DELAY != 0 && self.round.rtt_has_risen(delay);
        (train_is_long || rtt_has_risen).then(|| {
            self.search = Search::Found;
            knobs.cwnd
        })
    }

    /// Packets sent back to back return as ACKs spaced by the bottleneck: a train as long as the one-way
    /// delay means that a window fills the path. A paced sender spreads its packets over half an RTT by
    /// itself, so its train must be as long as the RTT.
    fn train_is_long(&mut self, delay: Delay, flow: &Flow, knobs: &Knobs) -> bool {
        let now_us = flow.now.us();
        if now_us - self.round.train_us > self.settings.ack_delta_us {
            return false;
        }
        self.round.train_us = now_us;
        let long_us = u64::from(delay.min_us) + offload_delay_us(flow, knobs);
        let long_us = match flow.pacing {
            Switch::Off => long_us / 2,
            Switch::On => long_us,
        };
        now_us - self.round.start_us > long_us
    }
}

impl Round {
    fn rtt_has_risen(&mut self, delay: Delay) -> bool {
        self.rtt_us = self.rtt_us.min(delay.now_us);
        if self.samples < MIN_SAMPLES {
            self.samples += 1;
            return false;
        }
        let rise_us = (delay.min_us / 8).clamp(*RISE_US.start(), *RISE_US.end());
        self.rtt_us > delay.min_us.saturating_add(rise_us)
    }
}

/// How long hosts may hold back ACKs to handle packets in batches: four of the largest batches at the rate
/// at which the sender would pace (200 % of the window a round trip early in slow start, then 120 %).
fn offload_delay_us(flow: &Flow, knobs: &Knobs) -> u64 {
    let percent = if knobs.cwnd < knobs.ssthresh / 2 { 200 } else { 120 };
    let window_bytes = u64::from(flow.mss_bytes) * u64::from(knobs.cwnd.max(flow.packets_out()));
    let byte_per_s = window_bytes * 80_000 * percent / u64::from(flow.rtt.srtt_8us().max(1));
    (OFFLOAD_BYTES * 4 * 1_000_000 / byte_per_s.max(1)).min(OFFLOAD_DELAY_MAX_US)
}
