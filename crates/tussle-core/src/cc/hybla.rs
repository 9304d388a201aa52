//! Hybla: grow as a flow with an RTT of 25 ms would, however long the RTT is. With ρ = RTT / RTT₀ an ACK adds
//! 2^ρ - 1 packets in slow start and ρ² / W in congestion avoidance. Source: Caini and Firrincieli, "TCP
//! Hybla: a TCP enhancement for heterogeneous networks", International Journal of Satellite Communications
//! and Networking 22(5), 2004. Agrees with: Linux 6.1 `hybla`, which counts ACKs rather than packets, starts
//! with ρ packets, has no more than 65535, and uses the smallest smoothed RTT. Departs: see
//! docs/deviations/hybla.toml (1 entry).

use super::{CongestionControl, Control, Entry, Parameter, Parameters};
use crate::tcp::{Ack, Flow, State};

pub(super) const ENTRY: Entry = Entry {
    name: "hybla",
    idea: "Grow as a flow with an RTT of 25 ms would, however long the RTT is.",
    source: "Caini and Firrincieli, Int. J. Satellite Communications and Networking 22(5), 2004",
    agrees_with: "Linux 6.1",
    parameters: &[Parameter {
        name: "rtt0",
        default: 25,
        min: 1,
        max: 60_000,
        meaning: "RTT of the reference flow, in ms (the paper's RTT₀)",
    }],
    build: |parameters, _| Box::new(Hybla::new(parameters)),
};

/// Largest window, in packets.
const CWND_MAX: u32 = 65_535;
/// Fraction bits of ρ: the unit is an eighth.
const RHO_BITS: u32 = 3;
/// Unit of growth: 1/128 packet.
const PACKET: u32 = 128;
/// Powers 2^(k/8) in 1/128, for the fraction of ρ.
const POWERS: [u32; 8] = [128, 139, 152, 165, 181, 197, 215, 234];
/// Largest whole part of ρ in slow start: 2^16 packets per ACK are more than any window.
const RHO_MAX: u32 = 16;

#[derive(Debug)]
struct Hybla {
    /// RTT₀ in µs.
    rtt0_us: u32,
    mode: Mode,
    /// RTT / RTT₀, at least 1, in 1/8. (Paper: ρ.)
    rho: u32,
    /// Smallest smoothed RTT, in 1/8 µs, from which ρ was computed.
    rtt_8us: u32,
    /// Growth below a packet, in 1/128.
    fraction: u32,
}

/// Algorithm that sets the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Hybla,
    /// Reno, outside the open state.
    Reno,
}

impl Hybla {
    fn new(parameters: &Parameters) -> Hybla {
        let rtt0_us = parameters.get_u32("rtt0") * 1000;
        Hybla { rtt0_us, mode: Mode::Hybla, rho: 1 << RHO_BITS, rtt_8us: 0, fraction: 0 }
    }

    /// Updates ρ. A flow with a shorter RTT than RTT₀ keeps ρ = 1. (Paper: `ρ_min` = 1.)
    fn measure(&mut self, rtt_8us: u32) {
        self.rtt_8us = rtt_8us;
        self.rho = (rtt_8us / self.rtt0_us).max(1 << RHO_BITS);
    }

    /// Growth for an ACK in slow start, in 1/128 packets. (Paper: 2^ρ - 1.)
    fn growth_in_slow_start(&self) -> u32 {
        let (whole, eighths) = (self.rho >> RHO_BITS, self.rho % (1 << RHO_BITS));
        (POWERS[eighths as usize] << whole.min(RHO_MAX)) - PACKET
    }

    /// Growth for an ACK in congestion avoidance, in 1/128 packets. (Paper: ρ² / W.)
    fn growth_in_avoidance(&self, cwnd: u32) -> u32 {
        let rho_squared = self.rho.saturating_mul(self.rho).saturating_mul(PACKET >> (2 * RHO_BITS));
        rho_squared / cwnd
    }

    /// Grows the window by `growth`.
    fn grow(&mut self, growth: u32, control: &mut Control) {
        let sum = self.fraction + growth % PACKET;
        self.fraction = sum % PACKET;
        control.cwnd += growth / PACKET;
        if sum >= PACKET {
            control.cwnd += 1;
            control.credit = 0;
        }
        // Growth below 1/128 packet per ACK becomes one packet per window, as with Reno.
        if growth == 0 && control.credit >= control.cwnd {
            control.cwnd += 1;
            control.credit = 0;
        }
    }
}

impl CongestionControl for Hybla {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn on_start(&mut self, flow: &Flow, control: &mut Control) {
        self.measure(flow.rtt.srtt_8us());
        control.cwnd_clamp = CWND_MAX.min(control.cwnd_clamp);
        control.cwnd = self.rho >> RHO_BITS;
    }

    fn on_ack(&mut self, ack: &Ack, flow: &Flow, control: &mut Control) {
        let rtt_8us = flow.rtt.srtt_8us();
        if rtt_8us < self.rtt_8us {
            self.measure(rtt_8us);
        }
        if self.mode == Mode::Reno {
            control.grow_like_reno(ack.delivered, flow);
        } else if flow.cwnd_limited(control) {
            if control.in_slow_start() {
                self.grow(self.growth_in_slow_start(), control);
                control.cwnd = control.cwnd.min(control.ssthresh);
            } else {
                let growth = self.growth_in_avoidance(control.cwnd);
                control.credit += u32::from(growth < PACKET);
                self.grow(growth, control);
            }
            control.cwnd = control.cwnd.min(control.cwnd_clamp);
        }
    }

    fn on_state(&mut self, next: State, _flow: &Flow, _control: &mut Control) {
        self.mode = if next == State::Open { Mode::Hybla } else { Mode::Reno };
    }

    fn internals(&self, record: &mut dyn FnMut(&'static str, f64)) {
        record("rho", f64::from(self.rho) / f64::from(1 << RHO_BITS));
        record("rtt_ms", if self.rtt_8us == 0 { f64::NAN } else { f64::from(self.rtt_8us) / 8e3 });
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::cc::control::INFINITE_SSTHRESH;
    use crate::tcp::WindowUse;

    /// Hybla after its start, and a flow with this smoothed RTT.
    fn started(rtt_ms: u32) -> (Hybla, Flow, Control) {
        let mut hybla = Hybla::new(&ENTRY.parameters(&BTreeMap::new()).expect("the defaults are valid"));
        let mut flow = Flow { usage: WindowUse::limited(), ..Flow::new(250, 1448) };
        flow.rtt.update(rtt_ms * 1000, 0, 0);
        let mut control = Control::default();
        hybla.on_start(&flow, &mut control);
        (hybla, flow, control)
    }

    fn rho_eighths(rtt_ms: u32) -> u32 {
        started(rtt_ms).0.rho
    }

    /// Window after `acks` ACKs of two packets each.
    fn after_acks(acks: u32, (hybla, flow, control): &mut (Hybla, Flow, Control)) -> u32 {
        for _ in 0..acks {
            hybla.on_ack(&Ack { delivered: 2, ..Ack::default() }, flow, control);
        }
        control.cwnd
    }

    fn avoiding(rtt_ms: u32, cwnd: u32) -> (Hybla, Flow, Control) {
        let (hybla, flow, mut control) = started(rtt_ms);
        (control.cwnd, control.ssthresh) = (cwnd, 2);
        (hybla, flow, control)
    }

    /// 600 / 25 = 24, 60 / 25 = 2.4 of which eighths give 2.375, 25 / 25 = 1; 10 / 25 is less than 1.
    #[test]
    fn rho_is_the_rtt_over_25_ms_and_at_least_one() {
        assert_eq!([600, 60, 25, 10].map(rho_eighths), [24 * 8, 19, 8, 8]);
    }

    #[test]
    fn the_first_window_is_rho() {
        assert_eq!([600, 60, 25, 10].map(|rtt_ms| started(rtt_ms).2.cwnd), [24, 2, 1, 1]);
    }

    /// ρ = 1: 2 - 1 = 1, standard slow start. ρ = 4: 16 - 1 = 15.
    #[test]
    fn an_ack_in_slow_start_is_worth_two_to_the_rho_less_one() {
        assert_eq!(after_acks(3, &mut started(25)), 1 + 3);
        assert_eq!(after_acks(3, &mut started(100)), 4 + 3 * 15);
    }

    /// RTT 60 ms, ρ = 2.375: 2^2.375 = 5.187, in 1/128: 4 × 165 = 660 less 128 is 532 = 4 × 128 + 20.
    /// From 2 packets, 7 ACKs: 2 + 7 × 4 = 30, and 140 / 128 = 1 more.
    #[test]
    fn fractions_of_packets_are_kept_in_slow_start() {
        let mut flow = started(60);
        assert_eq!(after_acks(7, &mut flow), 31);
        assert_eq!(flow.0.fraction, 12);
    }

    /// 128 × 2^(k/8), rounded down.
    #[test]
    fn powers_are_those_of_two() {
        for (eighths, power) in (0..).zip(POWERS) {
            let exact = 128.0 * (f64::from(eighths) / 8.0).exp2();
            assert!((0.0..1.0).contains(&(exact - f64::from(power))), "{eighths}: {exact}");
        }
    }

    /// ρ = 4, W = 100: ρ² / W = 0.16 packets an ACK, in 1/128: 16 × 128 / 100 = 20. 100 ACKs: 2000 / 128 =
    /// 15.6; without rounding and growth of W it would be ρ² = 16.
    #[test]
    fn congestion_avoidance_grows_by_rho_squared_per_window_of_acks() {
        assert_eq!(after_acks(100, &mut avoiding(100, 100)), 114);
    }

    /// ρ = 1, W = 200: the growth per ACK is below 1/128 packet. The window grows by one packet per 200 ACKs,
    /// with the next ACK.
    #[test]
    fn a_large_window_still_grows_by_one_packet_for_a_window_of_acks() {
        let mut flow = avoiding(25, 200);
        assert_eq!(after_acks(199, &mut flow), 200);
        assert_eq!(after_acks(1, &mut flow), 201);
    }

    /// Slow start would reach 4 + 15 = 19.
    #[test]
    fn slow_start_stops_at_ssthresh() {
        let (hybla, flow, mut control) = started(100);
        control.ssthresh = 10;
        assert_eq!(after_acks(1, &mut (hybla, flow, control)), 10);
    }

    /// ρ = 24 is limited to 16: 2^16 - 1 packets per ACK reach the largest window at once.
    #[test]
    fn the_window_stops_at_65535_packets() {
        assert_eq!(started(600).0.growth_in_slow_start(), 65_535 * 128);
        assert_eq!(after_acks(1, &mut started(600)), 65_535);
    }

    /// RTTs of 100 and 60 ms: the smoothed RTT is (7 × 100 + 60) / 8 = 95 ms, and ρ = 3.8, 30 eighths. A
    /// longer RTT changes nothing.
    #[test]
    fn rho_follows_the_smallest_smoothed_rtt() {
        let mut flow = started(100);
        for (rtt_ms, rho) in [(500, 32), (60, 32)] {
            flow.1.rtt.update(rtt_ms * 1000, 0, 0);
            after_acks(1, &mut flow);
            assert_eq!(flow.0.rho, rho, "{rtt_ms} ms");
        }
        let mut flow = started(100);
        flow.1.rtt.update(60_000, 0, 0);
        after_acks(1, &mut flow);
        assert_eq!(flow.0.rho, 30);
    }

    /// Reno: 2 packets an ACK, 50 ACKs for a window of 100.
    #[test]
    fn outside_the_open_state_growth_is_that_of_reno() {
        let mut flow = avoiding(100, 100);
        flow.0.on_state(State::Disorder, &flow.1, &mut flow.2);
        assert_eq!(after_acks(50, &mut flow), 101);
        flow.0.on_state(State::Open, &flow.1, &mut flow.2);
        assert!(after_acks(50, &mut flow) > 105);
    }

    #[test]
    fn an_unused_window_does_not_grow() {
        let (hybla, mut flow, mut control) = started(100);
        flow.usage = WindowUse::default();
        (control.cwnd, control.ssthresh) = (10, INFINITE_SSTHRESH);
        assert_eq!(after_acks(10, &mut (hybla, flow, control)), 10);
    }
}
