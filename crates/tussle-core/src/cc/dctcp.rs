//! DCTCP: the fraction of packets that a queue marks determines the reduction of the window. Source: RFC
//! 8257; after Alizadeh et al., "Data Center TCP (DCTCP)", ACM SIGCOMM, 2010. Agrees with: Linux 6.1 `dctcp`,
//! which counts packets where the RFC counts bytes. Departs: see docs/deviations/dctcp.toml (2 entries).

use super::{CongestionControl, Control, EcnMode, Entry, Needs, Parameter, Parameters};
use crate::tcp::{Ack, Cause, Flow, State};

pub(super) const ENTRY: Entry = Entry {
    name: "dctcp",
    idea: "Reduce the window in proportion to the fraction of marked packets.",
    source: "RFC 8257",
    agrees_with: "Linux 6.1",
    parameters: &[
        Parameter {
            name: "dctcp_shift_g",
            default: 4,
            min: 0,
            max: 10,
            meaning: "weight of the latest round trip in the average of the fraction, as a power of 1/2",
        },
        Parameter {
            name: "dctcp_alpha_on_init",
            default: 1024,
            min: 0,
            max: 1024,
            meaning: "initial fraction of marked packets, in 1/1024",
        },
    ],
    build: |parameters, _| Box::new(Dctcp::new(parameters)),
};

/// Fraction bits of α: the unit is 1/1024.
const ALPHA_BITS: u32 = 10;
const ALPHA_ONE: u32 = 1 << ALPHA_BITS;
const CWND_MIN: u32 = 2;

#[derive(Debug)]
struct Dctcp {
    /// Weight of a new fraction, as a power of 1/2. (RFC: `DCTCP.g`.)
    shift_g: u32,
    /// Average fraction of marked packets, in 1/1024. (RFC: `DCTCP.Alpha`.)
    alpha: u32,
    window: Window,
    /// Window before the last reduction.
    prior_cwnd: u32,
}

/// One observation window. [RFC 8257, 3.3](https://www.rfc-editor.org/rfc/rfc8257#section-3.3)
#[derive(Debug, Default)]
struct Window {
    /// Packet whose acknowledgement ends the observation window. (RFC: `DCTCP.WindowEnd`.)
    end: u32,
    /// Packets delivered before the observation window.
    delivered: u32,
    /// Marked packets delivered before the observation window.
    marked: u32,
}

impl Window {
    fn start(flow: &Flow) -> Window {
        Window { end: flow.nxt, delivered: flow.delivered, marked: flow.delivered_marked }
    }
}

impl Dctcp {
    fn new(parameters: &Parameters) -> Dctcp {
        Dctcp {
            shift_g: parameters.get_u32("dctcp_shift_g"),
            alpha: parameters.get_u32("dctcp_alpha_on_init"),
            window: Window::default(),
            prior_cwnd: 0,
        }
    }

    /// Updates `α = (1 - g) α + g M`, where `M` is the marked fraction of the last observation window. An α
    /// too small for g to take a part of becomes zero.
    /// [RFC 8257, 3.3](https://www.rfc-editor.org/rfc/rfc8257#section-3.3)
    fn average(&mut self, flow: &Flow) {
        let forgotten = match self.alpha >> self.shift_g {
            0 => self.alpha,
            part => part,
        };
        self.alpha -= forgotten;
        let marked = u64::from(flow.delivered_marked - self.window.marked);
        let delivered = u64::from(flow.delivered - self.window.delivered).max(1);
        let part = (marked << (ALPHA_BITS - self.shift_g)) / delivered;
        self.alpha = u32::try_from(part).unwrap_or(ALPHA_ONE).saturating_add(self.alpha).min(ALPHA_ONE);
    }
}

fn half(control: &Control) -> u32 {
    (control.cwnd / 2).max(CWND_MIN)
}

impl CongestionControl for Dctcp {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn needs(&self) -> Needs {
        Needs { ecn: EcnMode::PerPacket, ..Needs::default() }
    }

    fn on_start(&mut self, flow: &Flow, _control: &mut Control) {
        self.window = Window::start(flow);
    }

    fn on_pkts_acked(&mut self, _ack: &Ack, flow: &Flow, _control: &mut Control) {
        if flow.una >= self.window.end {
            self.average(flow);
            self.window = Window::start(flow);
        }
    }

    /// Returns `cwnd (1 - α / 2)` for a mark and half the window for a loss. Without ECN the algorithm is
    /// Reno. [RFC 8257, 3.3](https://www.rfc-editor.org/rfc/rfc8257#section-3.3) and
    /// [RFC 8257, 3.5](https://www.rfc-editor.org/rfc/rfc8257#section-3.5)
    fn on_congestion(&mut self, cause: Cause, flow: &Flow, control: &Control) -> u32 {
        self.prior_cwnd = control.cwnd;
        if cause == Cause::Timeout || !flow.ecn {
            half(control)
        } else {
            (control.cwnd - control.cwnd_part(self.alpha, 2 * ALPHA_ONE)).max(CWND_MIN)
        }
    }

    /// Halves the window for a loss even during a reduction for a mark.
    fn on_state(&mut self, next: State, flow: &Flow, control: &mut Control) {
        if next == State::Recovery && flow.state != State::Recovery && flow.ecn {
            self.prior_cwnd = control.cwnd;
            control.ssthresh = half(control);
        }
    }

    fn on_undo(&mut self, _flow: &Flow, control: &Control) -> u32 {
        control.cwnd.max(self.prior_cwnd)
    }

    fn internals(&self, record: &mut dyn FnMut(&'static str, f64)) {
        record("alpha", f64::from(self.alpha) / f64::from(ALPHA_ONE));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn dctcp(set: &[(&str, i64)]) -> Dctcp {
        let given: BTreeMap<_, _> = set.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
        Dctcp::new(&ENTRY.parameters(&given).expect("the test sets what the entry declares"))
    }

    fn flow() -> Flow {
        Flow { ecn: true, nxt: 100, ..Flow::new(1000, 1448) }
    }

    /// Value of α after a window of 100 packets, `marked` of them with a mark.
    fn alpha_after(mut dctcp: Dctcp, marked: u32) -> u32 {
        let mut flow = flow();
        dctcp.on_start(&flow, &mut Control::default());
        (flow.una, flow.delivered, flow.delivered_marked) = (100, 100, marked);
        dctcp.on_pkts_acked(&Ack::default(), &flow, &mut Control::default());
        dctcp.alpha
    }

    /// g = 1/16: 512 - 32 = 480; 25 marks in 100 packets add (25 × 64) / 100 = 16: 496. With all packets
    /// marked: 480 + 64.
    #[test]
    fn alpha_moves_a_sixteenth_towards_the_fraction_of_marked_packets() {
        for (marked, alpha) in [(0, 480), (25, 496), (50, 512), (100, 544)] {
            assert_eq!(alpha_after(dctcp(&[("dctcp_alpha_on_init", 512)]), marked), alpha, "{marked} marked");
        }
    }

    /// g = 1: α is the fraction of the last window: 25 × 1024 / 100 = 256.
    #[test]
    fn g_of_one_forgets_all_earlier_windows() {
        assert_eq!(alpha_after(dctcp(&[("dctcp_shift_g", 0)]), 25), 256);
    }

    /// 15 / 16 is 0 in integer arithmetic, so that α becomes zero.
    #[test]
    fn alpha_reaches_zero() {
        assert_eq!(alpha_after(dctcp(&[("dctcp_alpha_on_init", 15)]), 0), 0);
        assert_eq!(alpha_after(dctcp(&[("dctcp_alpha_on_init", 16)]), 0), 15);
    }

    #[test]
    fn alpha_is_one_at_most() {
        assert_eq!(alpha_after(dctcp(&[]), 100), 1024);
    }

    #[test]
    fn the_fraction_is_taken_once_a_window() {
        let (mut dctcp, mut flow) = (dctcp(&[]), flow());
        dctcp.on_start(&flow, &mut Control::default());
        flow.una = 99;
        dctcp.on_pkts_acked(&Ack::default(), &flow, &mut Control::default());
        assert_eq!(dctcp.alpha, 1024);
        flow.una = 100;
        dctcp.on_pkts_acked(&Ack::default(), &flow, &mut Control::default());
        assert_eq!(dctcp.alpha, 960);
    }

    /// α = 1: the window of 100 is halved. α = 1/2: it shrinks by 100 × 512 / 2048 = 25. α = 1/128: 100 × 8 /
    /// 2048 is 0.
    #[test]
    fn a_mark_takes_half_of_alpha_of_the_window() {
        for (alpha, left) in [(1024, 50), (512, 75), (8, 100)] {
            let mut dctcp = dctcp(&[("dctcp_alpha_on_init", alpha)]);
            assert_eq!(dctcp.on_congestion(Cause::Ecn, &flow(), &Control::new(100, 100)), left);
        }
    }

    /// The fraction α does not matter, neither after SACK nor after a timeout.
    #[test]
    fn a_loss_takes_half_the_window() {
        let (mut dctcp, flow) = (dctcp(&[("dctcp_alpha_on_init", 8)]), flow());
        let mut control = Control::new(100, 100);
        assert_eq!(dctcp.on_congestion(Cause::Timeout, &flow, &control), 50);
        control.ssthresh = dctcp.on_congestion(Cause::Loss, &flow, &control);
        dctcp.on_state(State::Recovery, &flow, &mut control);
        assert_eq!(control.ssthresh, 50);
    }

    /// The window is 100 before and 60 during the reduction: a loss then leaves 30, and an undo restores 60.
    #[test]
    fn a_loss_during_a_reduction_for_marks_halves_the_current_window() {
        let (mut dctcp, mut flow, mut control) = (dctcp(&[]), flow(), Control::new(100, 100));
        dctcp.on_congestion(Cause::Ecn, &flow, &control);
        flow.state = State::Cwr;
        control.cwnd = 60;
        dctcp.on_state(State::Recovery, &flow, &mut control);
        assert_eq!((control.ssthresh, dctcp.on_undo(&flow, &Control::new(30, 30))), (30, 60));
    }

    #[test]
    fn without_ecn_it_is_reno() {
        let (mut dctcp, flow) = (dctcp(&[("dctcp_alpha_on_init", 8)]), Flow::new(1000, 1448));
        assert_eq!(dctcp.on_congestion(Cause::Ecn, &flow, &Control::new(101, 100)), 50);
        let mut control = Control::new(100, 70);
        dctcp.on_state(State::Recovery, &flow, &mut control);
        assert_eq!(control.ssthresh, 70);
    }
}
