//! YeAH ("Yet Another Highspeed" TCP): grow fast while the queue is short; otherwise grow like Reno and drain
//! this flow's packets from the queue. Source: Baiocchi, Castellani and Vacirca, "YeAH-TCP: Yet Another
//! Highspeed TCP", PFLDnet, 2007. Agrees with: Linux 6.1 `yeah`, which measures as Linux's Vegas, grows by
//! 1/100 of the window where the paper uses Scalable TCP, and takes the smallest RTT of a round trip for the
//! paper's. Departs: nowhere known.

use super::vegas::{Round, Vegas};
use super::{CongestionControl, Control, Entry};
use crate::tcp::{Ack, Cause, Flow, State};

pub(super) const ENTRY: Entry = Entry {
    name: "yeah",
    idea: "Grow fast while the queue is short; otherwise grow like Reno and drain the flow's own packets from the queue.",
    source: "Baiocchi, Castellani and Vacirca, PFLDnet, 2007",
    agrees_with: "Linux 6.1",
    parameters: &[],
    build: |_, _| Box::new(Yeah::default()),
};

/// Largest number of packets of this flow in the queue. (Paper: `Q_max`.)
const MAX_QUEUE: u32 = 80;
/// Divisor of the smallest RTT that gives the largest queueing delay: 1/8. (Paper: `1/φ`.)
const MAX_DELAY_PART: u32 = 8;
/// Delivered packets per packet of growth in fast mode (Scalable TCP).
const FAST_PER: u32 = 100;
/// Divisor of the window that bounds decongestion in a round trip: half. (Paper: `1/ε`.)
const MAX_DECONGESTION_PART: u32 = 2;
/// Divisor of the window that gives the smallest reduction after a loss: an eighth. (Paper: `1/δ`.)
const MIN_LOSS_PART: u32 = 8;
/// Consecutive slow round trips after which the flow competes with loss-based flows. (Paper: `ρ`.)
const COMPETING_ROUNDS: u32 = 16;
/// Fast round trips after which loss-based flows are no longer assumed.
const FORGETTING_ROUNDS: u32 = 50;
const CWND_MIN: u32 = 2;
/// Largest window for which the products do not overflow.
const CWND_MAX: u32 = u32::MAX / 128;

#[derive(Debug, Default)]
struct Yeah {
    /// Measurement of round trips.
    vegas: Vegas,
    /// Packets of this flow in the queue at the last estimate. (Paper: `Q`.)
    queue: u32,
    mode: Mode,
    greedy: Greedy,
}

/// Mode chosen at the last round trip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Mode {
    /// Grow like Scalable TCP.
    #[default]
    Fast,
    /// Grow like Reno, for `rounds` consecutive round trips so far.
    Slow { rounds: u32 },
}

/// Estimate of Reno flows at the same bottleneck.
#[derive(Debug)]
struct Greedy {
    /// Window of one of the Reno flows, which bounds decongestion. (Paper: `cwnd_reno`.)
    cwnd: u32,
    /// Fast round trips since the last loss or the last reset.
    fast_rounds: u32,
}

impl Default for Greedy {
    fn default() -> Greedy {
        Greedy { cwnd: CWND_MIN, fast_rounds: 0 }
    }
}

impl Greedy {
    /// Processes a slow round trip, in which the Reno flows grew by a packet. They start at half of this
    /// flow's window.
    fn grow(&mut self, cwnd: u32) {
        self.cwnd = if self.cwnd <= CWND_MIN { (cwnd / 2).max(CWND_MIN) } else { self.cwnd + 1 };
    }

    /// Processes a fast round trip, in which no flow filled the queue.
    fn fade(&mut self) {
        self.fast_rounds += 1;
        if self.fast_rounds > FORGETTING_ROUNDS {
            *self = Greedy::default();
        }
    }
}

impl Yeah {
    /// Chooses the mode of the next round trip. (Paper: `Q > Q_max` or `L > 1/φ`, where `L` is the queueing
    /// delay by the smallest RTT.)
    fn decide(&mut self, control: &mut Control) {
        let (rtt, base) = (self.vegas.round.rtt_us, self.vegas.base_rtt_us);
        self.queue = control.cwnd_part(rtt - base, rtt);
        if self.queue > MAX_QUEUE || rtt - base > base / MAX_DELAY_PART {
            if self.queue > MAX_QUEUE && control.cwnd > self.greedy.cwnd {
                self.decongest(control);
            }
            self.greedy.grow(control.cwnd);
            let before = if let Mode::Slow { rounds } = self.mode { rounds } else { 0 };
            self.mode = Mode::Slow { rounds: before + 1 };
        } else {
            self.greedy.fade();
            self.mode = Mode::Fast;
        }
    }

    /// Performs precautionary decongestion: the flow's packets leave the queue, but the window stays above
    /// that of a Reno flow.
    fn decongest(&self, control: &mut Control) {
        let most = control.cwnd / MAX_DECONGESTION_PART;
        control.cwnd = (control.cwnd - self.queue.min(most)).max(self.greedy.cwnd);
        control.ssthresh = control.cwnd;
    }
}

impl CongestionControl for Yeah {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn on_start(&mut self, flow: &Flow, control: &mut Control) {
        self.vegas.on_start(flow, control);
        control.cwnd_clamp = control.cwnd_clamp.min(CWND_MAX);
    }

    fn on_tx_start(&mut self, flow: &Flow, control: &mut Control) {
        self.vegas.on_tx_start(flow, control);
    }

    fn on_pkts_acked(&mut self, ack: &Ack, flow: &Flow, control: &mut Control) {
        self.vegas.on_pkts_acked(ack, flow, control);
    }

    fn on_ack(&mut self, ack: &Ack, flow: &Flow, control: &mut Control) {
        if !flow.cwnd_limited(control) {
            return;
        }
        if let Some(left) = control.past_slow_start(ack.delivered, flow) {
            if self.mode == Mode::Fast {
                control.additive(control.cwnd.min(FAST_PER), left.max(ack.corrected));
            } else {
                control.additive(control.cwnd, left);
            }
        }
        if flow.una > self.vegas.round.end {
            if self.vegas.round.has_enough_samples() {
                self.decide(control);
            }
            self.vegas.round = Round::start(flow);
        }
    }

    /// Reduces the window: without loss-based flows by the packets in the queue; with them by half, as they
    /// do.
    fn on_congestion(&mut self, _cause: Cause, _flow: &Flow, control: &Control) -> u32 {
        let half = (control.cwnd / 2).max(CWND_MIN);
        let reduction = match self.mode {
            Mode::Slow { rounds: COMPETING_ROUNDS.. } => half,
            _ => self.queue.min(half).max(control.cwnd / MIN_LOSS_PART),
        };
        self.greedy = Greedy { cwnd: (self.greedy.cwnd / 2).max(CWND_MIN), fast_rounds: 0 };
        control.cwnd.saturating_sub(reduction).max(CWND_MIN)
    }

    fn on_state(&mut self, next: State, flow: &Flow, control: &mut Control) {
        self.vegas.on_state(next, flow, control);
    }

    fn internals(&self, record: &mut dyn FnMut(&'static str, f64)) {
        let slow_rounds = if let Mode::Slow { rounds } = self.mode { rounds } else { 0 };
        record("q_packets", f64::from(self.queue));
        record("cwnd_reno_packets", f64::from(self.greedy.cwnd));
        record("slow_rounds", f64::from(slow_rounds));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::control::INFINITE_SSTHRESH;
    use crate::tcp::WindowUse;

    /// A flow with a smallest RTT of 100 ms.
    fn started() -> (Yeah, Flow) {
        let (mut yeah, mut control) = (Yeah::default(), Control::default());
        let flow = Flow { usage: WindowUse::limited(), ..Flow::new(1000, 1448) };
        yeah.on_start(&flow, &mut control);
        yeah.vegas.base_rtt_us = 100_000;
        (yeah, flow)
    }

    /// Window after a round trip of three RTTs that ends with an ACK that delivers nothing.
    fn round((yeah, flow): &mut (Yeah, Flow), rtt_us: u32, control: &mut Control) -> u32 {
        flow.una = yeah.vegas.round.end + 1;
        flow.nxt = flow.una + control.cwnd;
        let ack = Ack { acked: 1, rtt_us: Some(rtt_us - 1), ..Ack::default() };
        (0..3).for_each(|_| yeah.on_pkts_acked(&ack, flow, control));
        yeah.on_ack(&ack, flow, control);
        control.cwnd
    }

    /// Growth of the window for 200 packets delivered within a round trip.
    fn growth((yeah, flow): &mut (Yeah, Flow), cwnd: u32) -> u32 {
        let mut control = Control::new(cwnd, 2);
        flow.una = 0;
        yeah.on_ack(&Ack { delivered: 200, ..Ack::default() }, flow, &mut control);
        control.cwnd - cwnd
    }

    fn avoiding(cwnd: u32) -> Control {
        Control::new(cwnd, 2)
    }

    /// 1000 × 5 / 105 = 47 packets are queued, and 5 ms are below 100 / 8 = 12.5 ms: fast mode. 1000 × 13 /
    /// 113 = 115 packets are queued: slow mode. Only 100 × 13 / 113 = 11 packets are queued, but 13 ms are
    /// too long: slow mode.
    #[test]
    fn fast_mode_needs_few_packets_in_the_queue_and_little_delay() {
        for (cwnd, rtt_us, mode) in [
            (1000, 105_000, Mode::Fast),
            (1000, 113_000, Mode::Slow { rounds: 1 }),
            (100, 112_500, Mode::Fast),
            (100, 113_000, Mode::Slow { rounds: 1 }),
        ] {
            let mut pair = started();
            round(&mut pair, rtt_us, &mut avoiding(cwnd));
            assert_eq!(pair.0.mode, mode, "{cwnd} packets, {rtt_us} µs");
        }
    }

    /// 200 packets are delivered: fast mode grows by one packet per 100; slow mode by one per 1000, which is
    /// none here. Below 100 packets both modes are Reno.
    #[test]
    fn fast_mode_grows_like_scalable_and_slow_mode_like_reno() {
        let mut pair = started();
        assert_eq!(growth(&mut pair, 1000), 2);
        assert_eq!(growth(&mut pair, 50), 4);
        pair.0.mode = Mode::Slow { rounds: 1 };
        assert_eq!(growth(&mut pair, 1000), 0);
        assert_eq!(growth(&mut pair, 50), 4);
    }

    /// 100 ACKs of two packets each: 200 / 100 = 2 packets of growth in fast mode, where all of their packets count. In slow
    /// mode 100 ACKs are 100 / 100 = 1 packet of growth.
    #[test]
    fn fast_mode_corrects_for_delayed_acks() {
        let two = Ack { delivered: 1, corrected: 2, ..Ack::default() };
        for (mode, growth) in [(Mode::Fast, 2), (Mode::Slow { rounds: 1 }, 1)] {
            let (mut yeah, flow) = started();
            yeah.mode = mode;
            let mut control = avoiding(100);
            (0..100).for_each(|_| yeah.on_ack(&two, &flow, &mut control));
            assert_eq!(control.cwnd - 100, growth, "{mode:?}");
        }
    }

    /// 1000 × 25 / 125 = 200 packets are queued: the window falls to 800. 1000 × 300 / 400 = 750 packets are
    /// queued: the window falls by at most half.
    #[test]
    fn precautionary_decongestion_takes_the_queue_but_at_most_half() {
        for (rtt_us, cwnd) in [(125_000, 800), (400_000, 500)] {
            let (mut pair, mut control) = (started(), avoiding(1000));
            assert_eq!(round(&mut pair, rtt_us, &mut control), cwnd);
            assert_eq!(control.ssthresh, cwnd);
        }
    }

    /// 400 × 25 / 125 = 80 queued packets are not more than 80.
    #[test]
    fn decongestion_needs_more_than_80_packets_in_the_queue() {
        assert_eq!(round(&mut started(), 125_000, &mut avoiding(400)), 400);
        assert_eq!(round(&mut started(), 125_000, &mut avoiding(405)), 405 - 81);
    }

    /// The first slow round trip leaves 800, and the estimated window of greedy flows is 400; then 640 and
    /// 401; 512 and 402; 410 and 403. The next one would remove 82 of 410 and leave 328, less than the 403 of
    /// a greedy flow.
    #[test]
    fn decongestion_stops_at_the_window_of_a_greedy_flow() {
        let (mut pair, mut control) = (started(), avoiding(1000));
        let windows = [(); 5].map(|()| (round(&mut pair, 125_000, &mut control), pair.0.greedy.cwnd));
        assert_eq!(windows, [(800, 400), (640, 401), (512, 402), (410, 403), (403, 404)]);
    }

    /// 51 fast rounds.
    #[test]
    fn greedy_flows_are_forgotten_after_50_fast_rounds() {
        let mut pair = started();
        pair.0.greedy.cwnd = 400;
        (0..50).for_each(|_| assert_eq!(round(&mut pair, 100_001, &mut avoiding(100)), 100));
        assert_eq!(pair.0.greedy.cwnd, 400);
        round(&mut pair, 100_001, &mut avoiding(100));
        assert_eq!(pair.0.greedy.cwnd, 2);
    }

    /// 60 queued packets: 400 - 60. 10 queued packets: at least 400 / 8 = 50. 300 queued packets: at most 400
    /// / 2.
    #[test]
    fn a_loss_takes_the_queue_between_an_eighth_and_half_of_the_window() {
        for (queue, left) in [(60, 340), (10, 350), (300, 200)] {
            let (mut yeah, flow) = started();
            yeah.queue = queue;
            assert_eq!(yeah.on_congestion(Cause::Loss, &flow, &avoiding(400)), left);
        }
    }

    #[test]
    fn after_16_slow_rounds_a_loss_takes_half() {
        for (rounds, left) in [(15, 340), (16, 200)] {
            let (mut yeah, flow) = started();
            yeah.queue = 60;
            yeah.mode = Mode::Slow { rounds };
            assert_eq!(yeah.on_congestion(Cause::Loss, &flow, &avoiding(400)), left);
        }
    }

    #[test]
    fn a_loss_halves_the_estimated_window_of_greedy_flows() {
        let (mut yeah, flow) = started();
        yeah.greedy = Greedy { cwnd: 101, fast_rounds: 7 };
        yeah.on_congestion(Cause::Loss, &flow, &avoiding(400));
        assert_eq!((yeah.greedy.cwnd, yeah.greedy.fast_rounds), (50, 0));
    }

    #[test]
    fn slow_start_is_that_of_reno() {
        let (mut yeah, flow) = started();
        let mut control = Control::new(20, INFINITE_SSTHRESH);
        yeah.on_ack(&Ack { delivered: 7, ..Ack::default() }, &flow, &mut control);
        assert_eq!(control.cwnd, 27);
    }

    #[test]
    fn an_unused_window_does_not_change() {
        let (mut yeah, flow) = started();
        let flow = Flow { usage: WindowUse::default(), una: 1, ..flow };
        let mut control = avoiding(400);
        yeah.on_ack(&Ack { delivered: 400, ..Ack::default() }, &flow, &mut control);
        assert_eq!((control.cwnd, yeah.vegas.round.end), (400, 0));
    }
}
