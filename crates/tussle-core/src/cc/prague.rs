//! Prague: DCTCP for the Internet. The window falls by half the fraction of marked packets and grows with
//! unmarked ones. The window has a fractional part, packets are paced, and flows with short RTTs behave as if their
//! RTT were 25 ms, so that they do not starve flows with long ones. Source: De Schepper, Tilmans, Briscoe and
//! Goel, draft-briscoe-iccrg-prague-congestion-control-04, July 2024, 2.3 and 2.4. Choices that the draft
//! leaves open: before a flow has lasted 500 round trips its virtual RTT is its RTT, for the average, the
//! reductions and the growth; growth stops during recovery; in recovery the window follows the data in flight
//! down to half. Departs: see docs/deviations/prague.toml.

use super::fraction::{Fraction, PACKET};
use super::{CongestionControl, Control, EcnMode, Entry, Needs, Parameter, Parameters, Recovery};
use crate::Time;
use crate::tcp::{Ack, Cause, Flow, State};

pub(super) const ENTRY: Entry = Entry {
    name: "prague",
    idea: "Reduce the window by half the marked fraction, and grow as if the RTT were at least 25 ms.",
    source: "draft-briscoe-iccrg-prague-congestion-control-04, 2.3 and 2.4",
    agrees_with: "draft -04 (July 2024)",
    parameters: &[
        Parameter {
            name: "rtt_virt_min_us",
            default: 25_000,
            min: 1,
            max: 1_000_000,
            meaning: "smallest virtual RTT, in µs: a flow with a shorter RTT behaves as if it had this one (RTT_virt_min)",
        },
        Parameter {
            name: "rtt_transition",
            default: 500,
            min: 0,
            max: 1 << 20,
            meaning: "round trips after slow start before the virtual RTT applies (D)",
        },
        Parameter {
            name: "gain_shift",
            default: 4,
            min: 0,
            max: 10,
            meaning: "weight of a new sample in the average of the marked fraction, as a power of 1/2 (g)",
        },
    ],
    build: |parameters, _| Box::new(Prague::new(parameters)),
};

/// Smallest window, in packets.
const CWND_MIN: u32 = 2;
/// Unit of the marked fraction.
const ALL: i64 = 1 << 30;

#[derive(Debug)]
struct Prague {
    rtt_virt_min_us: u32,
    rtt_transition: u32,
    gain_shift: i64,
    /// Average of the marked fraction, in units of 1/[`ALL`]; `None` before the first mark. (Draft: `alpha`.)
    alpha: Option<i64>,
    sample: Sample,
    /// Time of the last reduction for a mark.
    reduced: Option<Time>,
    /// First packet of the next round trip.
    round_end: u32,
    /// Round trips since slow start.
    rounds: u32,
    fraction: Fraction,
}

/// Start of the interval over which marks are counted.
#[derive(Clone, Copy, Debug)]
struct Sample {
    from: Time,
    /// Packets that the flow had delivered, and how many of them were marked.
    delivered: u32,
    marked: u32,
}

impl Sample {
    fn start(flow: &Flow) -> Sample {
        Sample { from: flow.now, delivered: flow.delivered, marked: flow.delivered_marked }
    }

    /// Marked fraction since then, in units of 1/[`ALL`]; `None` if nothing was delivered.
    fn marked_part(&self, flow: &Flow) -> Option<i64> {
        let delivered = i64::from(flow.delivered - self.delivered);
        let marked = i64::from(flow.delivered_marked - self.marked);
        (delivered > 0).then(|| marked * ALL / delivered)
    }
}

impl Prague {
    fn new(parameters: &Parameters) -> Prague {
        Prague {
            rtt_virt_min_us: parameters.get_u32("rtt_virt_min_us"),
            rtt_transition: parameters.get_u32("rtt_transition"),
            gain_shift: parameters.get("gain_shift"),
            alpha: None,
            sample: Sample { from: Time::ZERO, delivered: 0, marked: 0 },
            reduced: None,
            round_end: 0,
            rounds: 0,
            fraction: Fraction::default(),
        }
    }

    /// Smoothed RTT and virtual RTT of the flow, in µs. (Draft, 2.4.4.)
    fn rtts_us(&self, flow: &Flow) -> (u32, u32) {
        let srtt_us = flow.rtt.srtt_us().unwrap_or(0).max(1);
        let is_old = self.rounds >= self.rtt_transition;
        (srtt_us, if is_old { srtt_us.max(self.rtt_virt_min_us) } else { srtt_us })
    }

    fn rtt_virt(&self, flow: &Flow) -> Time {
        Time::from_us(u64::from(self.rtts_us(flow).1))
    }

    /// Updates alpha once per virtual RTT, from the first mark on, which counts as if all packets were
    /// marked. (Draft, 2.4.2.)
    fn update_alpha(&mut self, flow: &Flow) {
        let Some(alpha) = self.alpha else {
            if flow.delivered_marked > self.sample.marked {
                self.alpha = Some(ALL);
                self.sample = Sample::start(flow);
            }
            return;
        };
        if flow.now.since(self.sample.from) >= self.rtt_virt(flow)
            && let Some(part) = self.sample.marked_part(flow)
        {
            self.alpha = Some(alpha + ((part - alpha) >> self.gain_shift));
            self.sample = Sample::start(flow);
        }
    }

    /// Grows by one packet per round trip, and by less if the RTT is shorter than the virtual one: by the
    /// square of the ratio, because a virtual RTT contains several round trips but only one reduction. (Draft, 2.4.3
    /// and 2.4.4.)
    fn grow(&mut self, delivered: u32, flow: &Flow, control: &mut Control) {
        let (rtt_us, virtual_us) = self.rtts_us(flow);
        let square = |us: u32| i128::from(us) * i128::from(us);
        let parts = i128::from(delivered) * i128::from(PACKET) * square(rtt_us)
            / (square(virtual_us) * i128::from(control.cwnd));
        let parts = i64::try_from(parts).expect("at most 2^32 packets are delivered, of 2^20 parts each");
        self.fraction.set(self.fraction.window(control) + parts, CWND_MIN, control);
    }

    /// Reduces the window by half the marked fraction, once per virtual RTT. (Draft, 2.4.3.)
    fn reduce_for_mark(&mut self, flow: &Flow, control: &Control) -> u32 {
        if self.reduced.is_some_and(|at| flow.now.since(at) < self.rtt_virt(flow)) {
            return control.cwnd.max(CWND_MIN);
        }
        self.reduced = Some(flow.now);
        let window = i128::from(self.fraction.window(control));
        let less = window * i128::from(self.alpha.unwrap_or(ALL)) / i128::from(2 * ALL);
        let window = i64::try_from(window - less).expect("a part of a window is at most the window");
        self.fraction.split(window.max(i64::from(CWND_MIN) * PACKET))
    }

    fn count_round(&mut self, flow: &Flow, control: &Control) {
        if flow.una > self.round_end {
            self.round_end = flow.nxt;
            if !control.in_slow_start() {
                self.rounds = self.rounds.saturating_add(1);
            }
        }
    }

    /// Paces at a window per smoothed RTT, and at twice that rate in slow start. (Draft, 2.4.5.)
    fn pace(&self, flow: &Flow, control: &mut Control) {
        let (rtt_us, _) = self.rtts_us(flow);
        let gain = if control.in_slow_start() { 2 } else { 1 };
        let bits = i128::from(self.fraction.window(control)) * i128::from(flow.mss_bytes) * 8_000_000 * gain;
        let rate = bits / (i128::from(PACKET) * i128::from(rtt_us));
        control.pacing_bit_per_s = Some(u64::try_from(rate).unwrap_or(u64::MAX).max(1));
    }
}

impl CongestionControl for Prague {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn needs(&self) -> Needs {
        Needs { recovery: Recovery::Own, ecn: EcnMode::L4s, pacing: true, ..Needs::default() }
    }

    fn on_start(&mut self, flow: &Flow, control: &mut Control) {
        self.sample = Sample::start(flow);
        self.pace(flow, control);
    }

    fn on_pkts_acked(&mut self, _ack: &Ack, flow: &Flow, _control: &mut Control) {
        self.update_alpha(flow);
    }

    fn on_ack(&mut self, ack: &Ack, flow: &Flow, control: &mut Control) {
        if flow.state == State::Recovery {
            // One packet for a newly detected loss, so that it is retransmitted at once.
            let kept = flow.in_flight() + u32::from(ack.lost > 0);
            control.cwnd = control.cwnd.min(kept.max(control.ssthresh));
        } else {
            let unmarked = if ack.ece { 0 } else { ack.delivered };
            if let Some(left) = control.past_slow_start(unmarked, flow) {
                self.grow(left, flow, control);
            }
        }
        self.count_round(flow, control);
        self.pace(flow, control);
    }

    fn on_congestion(&mut self, cause: Cause, flow: &Flow, control: &Control) -> u32 {
        match cause {
            Cause::Ecn => self.reduce_for_mark(flow, control),
            Cause::Loss | Cause::Timeout => (control.cwnd / 2).max(CWND_MIN),
        }
    }

    fn on_state(&mut self, next: State, flow: &Flow, control: &mut Control) {
        match (flow.state, next) {
            // The reduction takes effect at once, not over a round trip.
            (_, State::Cwr) => control.cwnd = control.cwnd.min(control.ssthresh),
            // A loss in the round trip of a mark halves the window from before the mark.
            (State::Cwr, State::Recovery) => {
                control.ssthresh = control.ssthresh.min((flow.prior_cwnd / 2).max(CWND_MIN));
            }
            _ => {}
        }
    }

    fn internals(&self, record: &mut dyn FnMut(&'static str, f64)) {
        #[expect(clippy::cast_precision_loss, reason = "at most 2^30")]
        let part = |part: i64| part as f64 / ALL as f64;
        record("alpha", self.alpha.map_or(f64::NAN, part));
        record("rounds", f64::from(self.rounds));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::tcp::WindowUse;

    /// Prague after slow start, on a path with this RTT, with alpha 1/8.
    fn on_path(rtt_us: u32) -> (Prague, Flow) {
        let mut prague = Prague::new(&ENTRY.parameters(&BTreeMap::new()).expect("the defaults are valid"));
        let mut flow = Flow { usage: WindowUse::limited(), now: Time::from_secs(1), ..Flow::new(1000, 1448) };
        flow.rtt.update(rtt_us, 0, 0);
        prague.on_start(&flow, &mut Control::new(20, 20));
        prague.alpha = Some(ALL / 8);
        (prague, flow)
    }

    fn ack(delivered: u32) -> Ack {
        Ack { acked: delivered, delivered, ..Ack::default() }
    }

    /// Window in hundredths of a packet.
    fn hundredths(prague: &Prague, control: &Control) -> i64 {
        prague.fraction.window(control) * 100 / PACKET
    }

    /// With a marked fraction of 1/4, alpha moves from 1/8 by a sixteenth of the difference: 1/8 + 1/128.
    /// Then half of the packets of a virtual RTT are marked.
    #[test]
    fn alpha_follows_the_marked_fraction_once_per_round_trip() {
        let (mut prague, mut flow) = on_path(40_000);
        (flow.delivered, flow.delivered_marked) = (100, 25);
        flow.now += Time::from_ms(39);
        prague.update_alpha(&flow);
        assert_eq!(prague.alpha, Some(ALL / 8));
        flow.now += Time::from_ms(1);
        prague.update_alpha(&flow);
        assert_eq!(prague.alpha, Some(ALL / 8 + ALL / 128));
    }

    #[test]
    fn the_first_mark_counts_as_if_all_were_marked() {
        let (mut prague, mut flow) = on_path(40_000);
        prague.alpha = None;
        (flow.delivered, flow.delivered_marked) = (100, 1);
        prague.update_alpha(&flow);
        assert_eq!(prague.alpha, Some(ALL));
        assert_eq!(prague.on_congestion(Cause::Ecn, &flow, &Control::new(20, 20)), 10);
    }

    /// alpha = 1/8: 20 × (1 - 1/16) = 18.75 packets; the fraction of 0.75 is kept.
    #[test]
    fn a_mark_reduces_the_window_by_half_of_alpha_at_once() {
        let (mut prague, flow) = on_path(40_000);
        let mut control = Control::new(20, 20);
        control.ssthresh = prague.on_congestion(Cause::Ecn, &flow, &control);
        prague.on_state(State::Cwr, &flow, &mut control);
        assert_eq!((control.cwnd, hundredths(&prague, &control)), (18, 1875));
    }

    /// After 500 round trips of 5 ms reductions are 25 ms apart.
    #[test]
    fn reductions_are_a_virtual_round_trip_apart() {
        let (mut prague, mut flow) = on_path(5_000);
        prague.rounds = 500;
        let control = Control::new(20, 20);
        assert_eq!(prague.on_congestion(Cause::Ecn, &flow, &control), 18);
        flow.now += Time::from_ms(24);
        assert_eq!(prague.on_congestion(Cause::Ecn, &flow, &control), 20);
        flow.now += Time::from_ms(1);
        assert!(prague.on_congestion(Cause::Ecn, &flow, &control) < 20);
    }

    /// A window of 20 packets, 5 of them marked: 15/20 of a packet.
    #[test]
    fn only_unmarked_packets_grow_the_window() {
        let (mut prague, flow) = on_path(40_000);
        let mut control = Control::new(20, 20);
        prague.on_ack(&Ack { ece: true, ..ack(5) }, &flow, &mut control);
        assert_eq!(hundredths(&prague, &control), 2000);
        prague.on_ack(&ack(15), &flow, &mut control);
        assert_eq!(hundredths(&prague, &control), 2075);
    }

    /// An RTT of 5 ms is a fifth of 25 ms: after 500 round trips, one window of packets adds 1/25 of a
    /// packet. An RTT of 50 ms exceeds 25 ms.
    #[test]
    fn a_long_lived_flow_grows_as_if_its_rtt_were_25_ms() {
        for (rtt_us, rounds, grown) in [(5_000, 499, 100), (5_000, 500, 4), (50_000, 500, 100)] {
            let (mut prague, flow) = on_path(rtt_us);
            prague.rounds = rounds;
            let mut control = Control::new(10, 10);
            prague.on_ack(&ack(10), &flow, &mut control);
            // Rounding removes a small fraction.
            assert!(
                (1000 + grown - hundredths(&prague, &control)).abs() <= 1,
                "{rtt_us} µs, {rounds} rounds"
            );
        }
    }

    /// 20 / 2, not 18 / 2.
    #[test]
    fn a_loss_after_a_mark_halves_the_window_from_before_the_mark() {
        let (mut prague, mut flow) = on_path(40_000);
        let mut control = Control::new(18, 18);
        (flow.state, flow.prior_cwnd) = (State::Cwr, 20);
        prague.on_state(State::Recovery, &flow, &mut control);
        assert_eq!(control.ssthresh, 10);
        flow.prior_cwnd = 100;
        prague.on_state(State::Recovery, &flow, &mut control);
        assert_eq!(control.ssthresh, 10);
    }

    /// 20 packets are outstanding and 4 arrived after a hole: 15 are in flight, and one is retransmitted.
    /// Then no new packet leaves until 10 are in flight.
    #[test]
    fn in_recovery_the_window_follows_the_data_in_flight_down_to_half() {
        let (mut prague, mut flow) = on_path(40_000);
        let mut control = Control::new(20, 10);
        (flow.nxt, flow.sacked_out, flow.lost_out, flow.state) = (20, 4, 1, State::Recovery);
        prague.on_ack(&Ack { lost: 1, ..Ack::default() }, &flow, &mut control);
        assert_eq!(control.cwnd, 16);
        (flow.sacked_out, flow.retrans_out) = (6, 1);
        prague.on_ack(&Ack::default(), &flow, &mut control);
        assert_eq!(control.cwnd, 14);
        flow.sacked_out = 15;
        prague.on_ack(&Ack::default(), &flow, &mut control);
        assert_eq!(control.cwnd, 10);
    }

    /// 20 packets of 1448 bytes in 40 ms are 5.792 Mbit/s.
    #[test]
    fn the_pacing_rate_is_the_window_per_rtt() {
        let (mut prague, flow) = on_path(40_000);
        for (ssthresh, rate) in [(20, 5_792_000), (100, 11_584_000)] {
            let mut control = Control::new(20, ssthresh);
            prague.on_ack(&ack(0), &flow, &mut control);
            assert_eq!(control.pacing_bit_per_s, Some(rate));
        }
    }
}
