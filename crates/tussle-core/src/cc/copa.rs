//! Copa: send at the rate 1 / (δ × queueing delay), so that a flow keeps about 1/δ packets in the queue. The
//! window moves towards that rate by v/δ packets per round trip and oscillates around it, so that the queue
//! empties every few round trips. A queue that never empties belongs to other flows, and δ falls to compete.
//! Source: Arun and Balakrishnan, "Copa: Practical Delay-Based Congestion Control for the Internet", NSDI
//! 2018 (the corrected edition), 2 to 2.2. Choices that the paper leaves open: a step is at most the window
//! in a round trip, which bounds v; v falls to 1 as soon as the direction changes; the window grows only
//! while it is the limit; slow start doubles the window ACK by ACK, and returns after a timeout. Departs: see
//! docs/deviations/copa.toml.

use std::cmp::Reverse;

use super::fraction::{Fraction, PACKET};
use super::{CongestionControl, Control, Entry, Needs, Parameter, Parameters, Recovery};
use crate::Time;
use crate::tcp::{Ack, Cause, Flow, State};
use crate::util::windowed::WindowedMax;

pub(super) const ENTRY: Entry = Entry {
    name: "copa",
    idea: "Send at a rate inverse to the queueing delay, so that the queue stays short.",
    source: "Arun and Balakrishnan, NSDI 2018, 2",
    agrees_with: "the paper (April 2018)",
    parameters: &[
        Parameter {
            name: "delta_milli",
            default: 500,
            min: 1,
            max: 1000,
            meaning: "δ in the default mode, in thousandths: a flow keeps about 1/δ packets in the queue",
        },
        Parameter {
            name: "compete",
            default: 1,
            min: 0,
            max: 1,
            meaning: "1: compete with flows that fill the buffer; 0: stay in the default mode",
        },
    ],
    build: |parameters, _| Box::new(Copa::new(parameters)),
};

/// Smallest window, in packets.
const CWND_MIN: u32 = 2;
/// Time over which the smallest RTT is taken. (Paper, 2: `RTTmin`.)
const RTT_MIN_WINDOW: Time = Time::from_secs(10);
/// Round trips over which the largest RTT is taken. (Paper, 2.2.)
const RTT_MAX_ROUNDS: u64 = 4;
/// Round trips without a nearly empty queue after which other flows are assumed to fill it. (Paper, 2.2.)
const EMPTY_ROUNDS: u64 = 5;
/// Divisor of the longest queue: a queue below a tenth of it is nearly empty. (Paper, 2.2.)
const NEARLY_EMPTY: u32 = 10;
/// Round trips in the same direction before v doubles. (Paper, 2.1.)
const DOUBLING_AFTER: u32 = 3;
/// Largest 1/δ, in thousandths of a packet: 2^20 packets.
const INVERSE_MAX_MILLI: u32 = 1000 << 20;

#[derive(Debug)]
struct Copa {
    /// Value of 1/δ in the default mode, in thousandths of a packet.
    default_inverse_milli: u32,
    may_compete: bool,
    /// Current value of 1/δ, in thousandths of a packet.
    inverse_milli: u32,
    mode: Mode,
    rtts: Option<Rtts>,
    /// Time at which the queue was last nearly empty.
    emptied: Time,
    phase: Phase,
    round: Round,
    fraction: Fraction,
}

/// Mode, by the kind of the competing flows. (Paper, 2.2.)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Competing flows also keep the queue short.
    Default,
    /// Competing flows fill the buffer.
    Competitive,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    SlowStart,
    /// Movement by `v`/δ packets per round trip; `repeats` counts consecutive round trips in the same
    /// direction.
    Velocity {
        v: u32,
        direction: Direction,
        repeats: u32,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Up,
    Down,
}

/// A round trip, which ends when a packet sent after its start is acknowledged.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    /// `flow.delivered` at the start. A round trip by packet numbers would not end before losses are repaired.
    delivered: u32,
    /// Window at the start, in parts of a packet.
    window: i64,
    /// Whether a loss was detected in the round trip.
    lost: bool,
}

/// Extremes of the RTT, in µs.
#[derive(Clone, Copy, Debug)]
struct Rtts {
    min: WindowedMax<Reverse<u32>>,
    /// Smallest RTT in the last half of a smoothed RTT, so that late ACKs do not count. (Paper: `RTTstanding`.)
    standing: WindowedMax<Reverse<u32>>,
    max: WindowedMax<u32>,
}

impl Rtts {
    fn new(rtt_us: u32, now: Time) -> Rtts {
        let smallest = WindowedMax::new(Reverse(rtt_us), now.us());
        Rtts { min: smallest, standing: smallest, max: WindowedMax::new(rtt_us, now.us()) }
    }

    fn update(&mut self, rtt_us: u32, flow: &Flow) {
        let srtt_us = u64::from(flow.rtt.srtt_us().unwrap_or(rtt_us));
        let at_us = flow.now.us();
        self.min.update(Reverse(rtt_us), at_us, RTT_MIN_WINDOW.us());
        self.standing.update(Reverse(rtt_us), at_us, srtt_us / 2);
        self.max.update(rtt_us, at_us, RTT_MAX_ROUNDS * srtt_us);
    }

    fn standing_us(&self) -> u32 {
        self.standing.get().0
    }

    /// Queueing delay, in µs. (Paper: `d_q`.)
    fn queueing_us(&self) -> u32 {
        self.standing_us().saturating_sub(self.min.get().0)
    }

    fn is_queue_nearly_empty(&self) -> bool {
        self.queueing_us() <= self.max.get().saturating_sub(self.min.get().0) / NEARLY_EMPTY
    }
}

impl Copa {
    fn new(parameters: &Parameters) -> Copa {
        let default_inverse_milli = 1_000_000 / parameters.get_u32("delta_milli");
        Copa {
            default_inverse_milli,
            may_compete: parameters.get("compete") == 1,
            inverse_milli: default_inverse_milli,
            mode: Mode::Default,
            rtts: None,
            emptied: Time::ZERO,
            phase: Phase::SlowStart,
            round: Round::default(),
            fraction: Fraction::default(),
        }
    }

    fn begin_round(&mut self, flow: &Flow, control: &Control) {
        self.round = Round { delivered: flow.delivered, window: self.fraction.window(control), lost: false };
    }

    /// Chooses the mode by whether the queue still empties. (Paper, 2.2.)
    fn choose_mode(&mut self, rtts: &Rtts, flow: &Flow) {
        if rtts.is_queue_nearly_empty() || !self.may_compete {
            self.emptied = flow.now;
        }
        let empty_limit_us = EMPTY_ROUNDS * u64::from(flow.rtt.srtt_us().unwrap_or(u32::MAX));
        if flow.now.since(self.emptied).us() > empty_limit_us {
            self.mode = Mode::Competitive;
        } else {
            self.mode = Mode::Default;
            self.inverse_milli = self.default_inverse_milli;
        }
    }

    /// Direction of the target window, at which `cwnd / RTTstanding = 1 / (δ d_q)`. (Paper, 2.1, steps 2 and
    /// 3.)
    fn target(&self, rtts: &Rtts, cwnd: u32) -> Direction {
        let waiting = u128::from(cwnd) * u128::from(rtts.queueing_us()) * 1000;
        let wanted = u128::from(rtts.standing_us()) * u128::from(self.inverse_milli);
        if waiting <= wanted { Direction::Up } else { Direction::Down }
    }

    /// Updates v once per window, and 1/δ in competitive mode.
    fn end_round(&mut self, flow: &Flow, control: &Control) {
        let went =
            if self.fraction.window(control) > self.round.window { Direction::Up } else { Direction::Down };
        if let Phase::Velocity { v, direction, repeats } = &mut self.phase {
            if went == *direction {
                *repeats += 1;
                if *repeats >= DOUBLING_AFTER {
                    *v = v.saturating_mul(2);
                }
            } else {
                (*v, *direction, *repeats) = (1, went, 0);
            }
        }
        if self.mode == Mode::Competitive {
            let next = if self.round.lost { self.inverse_milli / 2 } else { self.inverse_milli + 1000 };
            self.inverse_milli = next.clamp(self.default_inverse_milli, INVERSE_MAX_MILLI);
        }
        self.begin_round(flow, control);
    }

    /// Change of the window for `delivered` packets, in parts of a packet: v / (δ cwnd) each.
    fn step(&mut self, target: Direction, delivered: u32, cwnd: u32) -> i64 {
        let Phase::Velocity { v, direction, repeats } = &mut self.phase else { return 0 };
        if *direction != target && *v > 1 {
            (*v, *direction, *repeats) = (1, target, 0);
        }
        // The step is at most the whole window in a round trip.
        *v =
            (*v).min((u64::from(cwnd) * 1000 / u64::from(self.inverse_milli)).try_into().unwrap_or(u32::MAX));
        *v = (*v).max(1);
        let a_round_milli = i128::from(*v) * i128::from(self.inverse_milli);
        let parts = a_round_milli * i128::from(delivered) * i128::from(PACKET) / (1000 * i128::from(cwnd));
        i64::try_from(parts).unwrap_or(i64::MAX / 2)
    }

    fn move_window(&mut self, target: Direction, delivered: u32, control: &mut Control) {
        if self.phase == Phase::SlowStart && target == Direction::Down {
            self.phase = Phase::Velocity { v: 1, direction: Direction::Up, repeats: 0 };
        }
        let step = match self.phase {
            Phase::SlowStart => i64::from(delivered) * PACKET,
            Phase::Velocity { .. } => self.step(target, delivered, control.cwnd),
        };
        let window = self.fraction.window(control);
        match target {
            Direction::Up => self.fraction.set(window + step, CWND_MIN, control),
            Direction::Down => self.fraction.set(window - step, CWND_MIN, control),
        }
    }
}

impl CongestionControl for Copa {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn needs(&self) -> Needs {
        Needs { recovery: Recovery::Own, pacing: true, ..Needs::default() }
    }

    fn on_start(&mut self, flow: &Flow, control: &mut Control) {
        self.emptied = flow.now;
        self.begin_round(flow, control);
    }

    fn on_tx_start(&mut self, flow: &Flow, control: &mut Control) {
        self.on_start(flow, control);
    }

    fn on_ack(&mut self, ack: &Ack, flow: &Flow, control: &mut Control) {
        if let Some(rtt_us) = ack.rtt_us {
            // No RTT is zero.
            let rtt_us = rtt_us.max(1);
            self.rtts.get_or_insert_with(|| Rtts::new(rtt_us, flow.now)).update(rtt_us, flow);
        }
        let Some(rtts) = self.rtts else { return };
        self.choose_mode(&rtts, flow);
        let target = self.target(&rtts, control.cwnd);
        if target == Direction::Down || flow.cwnd_limited(control) {
            self.move_window(target, ack.delivered, control);
        }
        if ack.rate.prior_delivered >= self.round.delivered {
            self.end_round(flow, control);
        }
        // Twice the window per round trip, so that the window is the limit. (Paper, 2.1, step 4.)
        let bits = u64::from(control.cwnd).saturating_mul(u64::from(flow.mss_bytes) * 16_000_000);
        control.pacing_bit_per_s = Some((bits / u64::from(rtts.standing_us())).max(1));
    }

    fn on_congestion(&mut self, cause: Cause, _flow: &Flow, control: &Control) -> u32 {
        self.round.lost |= cause != Cause::Ecn;
        control.cwnd.max(CWND_MIN)
    }

    fn on_state(&mut self, next: State, flow: &Flow, control: &mut Control) {
        if next == State::Loss {
            self.phase = Phase::SlowStart;
            let lost = self.round.lost;
            self.begin_round(flow, control);
            self.round.lost = lost;
        }
    }

    fn internals(&self, record: &mut dyn FnMut(&'static str, f64)) {
        let ms = |of: fn(&Rtts) -> u32| self.rtts.as_ref().map_or(f64::NAN, |rtts| f64::from(of(rtts)) / 1e3);
        record("rtt_min_ms", ms(|rtts| rtts.min.get().0));
        record("rtt_standing_ms", ms(Rtts::standing_us));
        record("queueing_delay_ms", ms(Rtts::queueing_us));
        record("delta", 1e3 / f64::from(self.inverse_milli));
        let v = if let Phase::Velocity { v, .. } = self.phase { f64::from(v) } else { f64::NAN };
        record("velocity", v);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::tcp::{RateSample, WindowUse};

    const UP: Direction = Direction::Up;
    const DOWN: Direction = Direction::Down;

    /// Copa with δ = 1/2 past slow start, a smallest RTT of 100 ms, and 20 packets outstanding.
    fn moving(v: u32, direction: Direction, repeats: u32) -> (Copa, Flow) {
        let mut flow = Flow { usage: WindowUse::limited(), now: Time::from_secs(1), ..Flow::new(1000, 1448) };
        flow.nxt = 20;
        flow.rtt.update(100_000, 0, 20);
        let mut copa = Copa::new(&ENTRY.parameters(&BTreeMap::new()).expect("the defaults are valid"));
        copa.on_start(&flow, &mut Control::new(20, 2));
        copa.phase = Phase::Velocity { v, direction, repeats };
        copa.rtts = Some(Rtts::new(100_000, flow.now));
        (copa, flow)
    }

    /// Processes an ACK of `delivered` packets that were sent after the previous ACK; 200 ms later, so that
    /// the given RTT is the standing one.
    fn ack(pair: &mut (Copa, Flow), rtt_us: u32, delivered: u32, control: &mut Control) {
        let (copa, flow) = pair;
        flow.now += Time::from_ms(200);
        copa.emptied = flow.now;
        let rate = RateSample { prior_delivered: flow.delivered, ..RateSample::default() };
        flow.delivered += delivered;
        let ack = Ack { delivered, rtt_us: Some(rtt_us), rate, ..Ack::default() };
        copa.on_ack(&ack, flow, control);
    }

    fn velocity(copa: &Copa) -> u32 {
        let Phase::Velocity { v, .. } = copa.phase else { panic!("Copa is in slow start") };
        v
    }

    /// Queueing delay 10 ms: the target rate is 1 / (0.5 × 10 ms) = 200 packets/s, 22 packets per RTT of 110
    /// ms.
    #[test]
    fn the_target_is_the_inverse_of_the_queueing_delay() {
        let (copa, _) = moving(1, UP, 0);
        let mut rtts = Rtts::new(100_000, Time::ZERO);
        assert_eq!(copa.target(&rtts, 1_000_000), UP);
        rtts.standing = WindowedMax::new(Reverse(110_000), 0);
        assert_eq!((copa.target(&rtts, 22), copa.target(&rtts, 23)), (UP, DOWN));
    }

    /// v/δ = 1 × 2: one window of 20 delivered packets moves the window by 2 packets; with v = 3 by 6.
    #[test]
    fn a_round_trip_moves_the_window_by_v_over_delta() {
        for (v, cwnd) in [(1, 22), (3, 26)] {
            let mut control = Control::new(20, 2);
            ack(&mut moving(v, UP, 0), 100_000, 20, &mut control);
            assert_eq!(control.cwnd, cwnd);
        }
    }

    /// Queueing delay 100 ms: the target is 20 packets/s, 4 packets per RTT; a window of 20 shrinks by 2.
    #[test]
    fn a_long_queue_shrinks_the_window() {
        let mut control = Control::new(20, 2);
        ack(&mut moving(1, DOWN, 0), 200_000, 20, &mut control);
        assert_eq!(control.cwnd, 18);
    }

    /// v = 1 in the round trip that changes the direction and in the next three; then v doubles.
    #[test]
    fn velocity_doubles_after_three_round_trips_in_one_direction() {
        let mut pair = moving(1, DOWN, 0);
        let mut control = Control::new(1000, 2);
        let seen: Vec<_> = (0..6)
            .map(|_| {
                ack(&mut pair, 100_000, 20, &mut control);
                velocity(&pair.0)
            })
            .collect();
        assert_eq!(seen, [1, 1, 1, 2, 4, 8]);
    }

    #[test]
    fn velocity_for_the_other_direction_is_not_used() {
        let mut pair = moving(8, UP, 6);
        let mut control = Control::new(20, 2);
        ack(&mut pair, 200_000, 20, &mut control);
        assert_eq!((velocity(&pair.0), control.cwnd), (1, 18));
    }

    /// v/δ = 64 × 2 = 128 packets exceeds the window of 20; the step is limited to 10 × 2, which doubles the
    /// window.
    #[test]
    fn a_round_trip_at_most_doubles_the_window() {
        let mut control = Control::new(20, 2);
        ack(&mut moving(64, UP, 9), 100_000, 20, &mut control);
        assert_eq!(control.cwnd, 40);
    }

    #[test]
    fn slow_start_ends_when_the_rate_exceeds_the_target() {
        let mut pair = moving(1, UP, 0);
        pair.0.phase = Phase::SlowStart;
        let mut control = Control::new(20, 2);
        ack(&mut pair, 100_000, 5, &mut control);
        assert_eq!((control.cwnd, pair.0.phase), (25, Phase::SlowStart));
        ack(&mut pair, 200_000, 5, &mut control);
        assert_eq!((control.cwnd, velocity(&pair.0)), (24, 1));
    }

    /// 20 packets of 1448 bytes in 100 ms are 2.3168 Mbit/s.
    #[test]
    fn the_pacing_rate_is_twice_the_window_per_rtt() {
        let mut control = Control::new(20, 2);
        ack(&mut moving(1, UP, 0), 100_000, 0, &mut control);
        assert_eq!(control.pacing_bit_per_s, Some(2 * 2_316_800));
    }

    #[test]
    fn a_loss_does_not_move_the_window() {
        let (mut copa, flow) = moving(1, UP, 0);
        assert_eq!(copa.on_congestion(Cause::Loss, &flow, &Control::new(20, 2)), 20);
    }

    /// Five round trips of 100 ms with queueing delays of 50 to 60 ms: other flows fill the buffer. Then 1/δ
    /// grows by one packet per round trip, and halves after a loss, but not below the default.
    #[test]
    fn a_queue_that_never_empties_starts_the_competitive_mode() {
        let (mut copa, mut flow) = moving(1, UP, 0);
        let mut rtts = Rtts::new(100_000, flow.now);
        rtts.standing = WindowedMax::new(Reverse(150_000), 0);
        rtts.max = WindowedMax::new(160_000, 0);
        flow.now += Time::from_ms(500);
        copa.choose_mode(&rtts, &flow);
        assert_eq!(copa.mode, Mode::Default);
        flow.now += Time::from_ms(1);
        copa.choose_mode(&rtts, &flow);
        assert_eq!(copa.mode, Mode::Competitive);
        let control = Control::new(20, 2);
        for (lost, inverse_milli) in [(false, 3000), (false, 4000), (false, 5000), (true, 2500), (true, 2000)]
        {
            copa.round.lost = lost;
            copa.end_round(&flow, &control);
            assert_eq!(copa.inverse_milli, inverse_milli);
        }
    }

    /// A queueing delay of 6 ms is a tenth of the longest delay of 60 ms.
    #[test]
    fn a_queue_that_empties_brings_the_default_mode_back() {
        let (mut copa, mut flow) = moving(1, UP, 0);
        (copa.mode, copa.inverse_milli) = (Mode::Competitive, 9000);
        flow.now += Time::from_secs(9);
        let mut rtts = Rtts::new(100_000, flow.now);
        rtts.standing = WindowedMax::new(Reverse(106_000), 0);
        rtts.max = WindowedMax::new(160_000, 0);
        copa.choose_mode(&rtts, &flow);
        assert_eq!((copa.mode, copa.inverse_milli), (Mode::Default, 2000));
    }
}
