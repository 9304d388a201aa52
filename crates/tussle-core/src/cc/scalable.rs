//! Scalable: a hundredth of a packet more for each delivered packet, an eighth of the window less after a
//! loss. Both are proportional to the window, so recovery from a loss takes the same number of round trips at
//! any rate. Source: Kelly, "Scalable TCP: Improving Performance in Highspeed Wide Area Networks", ACM
//! SIGCOMM CCR 33(2), 2003. Agrees with: Linux 6.1 `scalable`, which is never slower than Reno below 100
//! packets. Where the host corrects for delayed ACKs, a fiftieth for each ACK, as in Linux 2.6.
//! Departs: nowhere known.

use super::{CongestionControl, Control, Entry};
use crate::tcp::{Ack, Cause, Flow};

pub(super) const ENTRY: Entry = Entry {
    name: "scalable",
    idea: "A hundredth of a packet more per delivered packet, an eighth of the window less after a loss.",
    source: "Kelly, ACM SIGCOMM CCR 33(2), 2003",
    agrees_with: "Linux 6.1",
    parameters: &[],
    build: |_, _| Box::new(Scalable),
};

/// Packets to deliver for one packet of growth. (Paper: 1/a, with a = 0.01.)
const PER: u32 = 100;
/// ACKs for one packet of growth where the host corrects for delayed ACKs (Linux 2.6).
const PER_ACK: u32 = 50;
/// Divisor of the window that gives the reduction after a loss. (Paper: 1/b, with b = 0.125.)
const LOST_PART: u32 = 8;

#[derive(Debug)]
struct Scalable;

impl CongestionControl for Scalable {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn on_ack(&mut self, ack: &Ack, flow: &Flow, control: &mut Control) {
        if let Some(left) = control.past_slow_start(ack.delivered, flow) {
            let per = if ack.corrected > 0 { PER_ACK } else { PER };
            control.additive(control.cwnd.min(per), left);
        }
    }

    fn on_congestion(&mut self, _cause: Cause, _flow: &Flow, control: &Control) -> u32 {
        (control.cwnd - control.cwnd / LOST_PART).max(2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::WindowUse;

    /// Window after `round_trips` round trips, each with a whole window delivered and one packet per ACK.
    fn after_round_trips(cwnd: u32, round_trips: u32) -> u32 {
        let flow = Flow { usage: WindowUse::limited(), ..Flow::new(250, 1448) };
        let mut control = Control::new(cwnd, 2);
        for _ in 0..round_trips {
            for _ in 0..control.cwnd {
                Scalable.on_ack(&Ack { delivered: 1, ..Ack::default() }, &flow, &mut control);
            }
        }
        control.cwnd
    }

    fn after_loss(cwnd: u32) -> u32 {
        Scalable.on_congestion(Cause::Loss, &Flow::new(250, 1448), &Control::new(cwnd, 2))
    }

    /// 1000 / 100 = 10, 100 / 100 = 1: a = 0.01 packets for each delivered.
    #[test]
    fn growth_is_a_hundredth_of_the_window_per_round_trip() {
        assert_eq!(after_round_trips(1000, 1), 1010);
        assert_eq!(after_round_trips(10_000, 1), 10_100);
        assert_eq!(after_round_trips(100, 1), 101);
    }

    /// 50 / 100 would be half a packet, less than Reno's growth.
    #[test]
    fn below_a_hundred_packets_growth_is_renos() {
        assert_eq!(after_round_trips(50, 1), 51);
        assert_eq!(after_round_trips(50, 10), 60);
    }

    /// 500 ACKs of two packets each: 500 / 50 = 10 packets of growth, as for 1000 packets that are acknowledged one by one.
    #[test]
    fn growth_is_a_fiftieth_for_each_ack_where_delayed_acks_are_corrected() {
        let flow = Flow { usage: WindowUse::limited(), ..Flow::new(250, 1448) };
        let mut control = Control::new(1000, 2);
        let two = Ack { delivered: 1, corrected: 2, ..Ack::default() };
        (0..500).for_each(|_| Scalable.on_ack(&two, &flow, &mut control));
        assert_eq!(control.cwnd, 1010);
    }

    /// b = 0.125: 1000 - 125 = 875; 15 - 1 = 14.
    #[test]
    fn a_loss_takes_an_eighth() {
        assert_eq!([1000, 15, 8, 2, 1].map(after_loss), [875, 14, 7, 2, 2]);
    }

    /// Paper: log(1 - b) / log(1 + a) round trips, -ln 0.875 / ln 1.01 = 13.42, whatever the rate.
    #[test]
    fn recovery_takes_fourteen_round_trips_at_any_rate() {
        for cwnd in [2_000, 20_000, 200_000] {
            assert!(after_round_trips(after_loss(cwnd), 13) < cwnd, "{cwnd}");
            assert!(after_round_trips(after_loss(cwnd), 14) >= cwnd, "{cwnd}");
        }
    }
}
