//! Vegas: keep two to four packets waiting in the queue, no more.
//! The RTT above the smallest one tells how many of the window's packets wait.
//! Source: Brakmo and Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global Internet", IEEE JSAC
//! 13(8), 1995. Agrees with: Linux 6.1 `vegas`, which leaves loss detection and recovery to the sender,
//! doubles the window every round trip in slow start, and takes the smallest RTT of a round trip as its RTT.
//! Departs: nowhere known.

use super::{CongestionControl, Entry, Knobs, Parameter, Parameters};
use crate::tcp::{Ack, Flow, State};

pub(super) const ENTRY: Entry = Entry {
    name: "vegas",
    idea: "Keep two to four packets waiting in the queue, no more.",
    source: "Brakmo and Peterson, IEEE JSAC 13(8), 1995",
    agrees_with: "Linux 6.1",
    parameters: &[
        Parameter {
            name: "alpha",
            default: 2,
            min: 0,
            max: 1 << 20,
            meaning: "with fewer packets waiting the window grows",
        },
        Parameter {
            name: "beta",
            default: 4,
            min: 0,
            max: 1 << 20,
            meaning: "with more packets waiting the window shrinks",
        },
        Parameter {
            name: "gamma",
            default: 1,
            min: 0,
            max: 1 << 20,
            meaning: "with more packets waiting slow start ends",
        },
    ],
    build: |parameters, _| Box::new(Vegas::new(parameters)),
};

/// No RTT measured: longer than any.
const NO_RTT_US: u32 = 0x7fff_ffff;
/// With fewer RTT samples in a round trip all may be of delayed ACKs.
const MIN_SAMPLES: u16 = 3;
/// A window never falls below this, in packets.
const CWND_MIN: u32 = 2;

#[derive(Debug)]
struct Vegas {
    alpha: u32,
    beta: u32,
    gamma: u32,
    mode: Mode,
    /// Smallest RTT since the flow began to send, in µs. (Paper: `BaseRTT`.)
    base_rtt_us: u32,
    round: Round,
    /// Packets waiting in the queue when last estimated. (Paper: `Diff × BaseRTT`.)
    diff: u32,
}

/// Who decides about the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Vegas,
    /// Recovery is under way: RTTs mean little.
    Reno,
}

/// One round trip: until a packet sent after its beginning is acknowledged.
#[derive(Debug)]
struct Round {
    /// First packet of the next round.
    end: u32,
    /// Smallest RTT, in µs.
    rtt_us: u32,
    /// Counted in 16 bits, as in Linux.
    samples: u16,
}

impl Round {
    fn start(flow: &Flow) -> Round {
        Round { end: flow.nxt, rtt_us: NO_RTT_US, samples: 0 }
    }
}

impl Vegas {
    fn new(parameters: &Parameters) -> Vegas {
        Vegas {
            alpha: parameters.get_u32("alpha"),
            beta: parameters.get_u32("beta"),
            gamma: parameters.get_u32("gamma"),
            mode: Mode::Vegas,
            base_rtt_us: NO_RTT_US,
            round: Round { end: 0, rtt_us: NO_RTT_US, samples: 0 },
            diff: 0,
        }
    }

    fn forget(&mut self, flow: &Flow) {
        self.base_rtt_us = NO_RTT_US;
        self.resume(flow);
    }

    /// Decides from the next full round trip on.
    fn resume(&mut self, flow: &Flow) {
        self.mode = Mode::Vegas;
        self.round = Round::start(flow);
    }

    /// Once a round trip. What waits is `(Expected - Actual) × BaseRTT`; the paper makes that
    /// `cwnd (RTT - BaseRTT) / RTT`, Linux divides by `BaseRTT`, which is more. (Paper: III.C)
    fn decide(&mut self, delivered: u32, knobs: &mut Knobs) {
        let (rtt, base) = (self.round.rtt_us, self.base_rtt_us);
        // In 32 bits, as in Linux: wraps where the window times the waiting time exceeds 4295 packets × s.
        self.diff = knobs.cwnd.wrapping_mul(rtt - base) / base;
        if knobs.in_slow_start() {
            if self.diff > self.gamma {
                let no_queue = u64::from(knobs.cwnd) * u64::from(base) / u64::from(rtt);
                // Rounding down would leave the link idle.
                knobs.cwnd = knobs.cwnd.min(u32::try_from(no_queue + 1).unwrap_or(u32::MAX));
                knobs.ssthresh = knobs.ssthresh.min(knobs.cwnd);
            } else {
                knobs.slow_start(delivered);
            }
        } else if self.diff > self.beta {
            knobs.cwnd -= 1;
            knobs.ssthresh = knobs.ssthresh.min(knobs.cwnd);
        } else if self.diff < self.alpha {
            knobs.cwnd += 1;
        }
        knobs.cwnd = knobs.cwnd.min(knobs.cwnd_clamp).max(CWND_MIN);
    }
}

impl CongestionControl for Vegas {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn on_start(&mut self, flow: &Flow, _knobs: &mut Knobs) {
        self.forget(flow);
    }

    fn on_restart(&mut self, flow: &Flow, _knobs: &mut Knobs) {
        self.forget(flow);
    }

    fn on_sample(&mut self, ack: &Ack, _flow: &Flow, _knobs: &mut Knobs) {
        if let Some(rtt_us) = ack.rtt_us {
            // No RTT is zero.
            let rtt_us = rtt_us.saturating_add(1);
            self.base_rtt_us = self.base_rtt_us.min(rtt_us);
            self.round.rtt_us = self.round.rtt_us.min(rtt_us);
            self.round.samples = self.round.samples.wrapping_add(1);
        }
    }

    fn on_ack(&mut self, ack: &Ack, flow: &Flow, knobs: &mut Knobs) {
        match self.mode {
            Mode::Reno => knobs.grow_like_reno(ack.delivered, flow),
            Mode::Vegas if flow.una > self.round.end => {
                if self.round.samples < MIN_SAMPLES {
                    knobs.grow_like_reno(ack.delivered, flow);
                } else {
                    self.decide(ack.delivered, knobs);
                    knobs.ssthresh = current_ssthresh(flow, knobs);
                }
                self.round = Round::start(flow);
            }
            Mode::Vegas => {
                if knobs.in_slow_start() {
                    knobs.slow_start(ack.delivered);
                }
            }
        }
    }

    fn on_state(&mut self, next: State, flow: &Flow, _knobs: &mut Knobs) {
        match next {
            State::Open => self.resume(flow),
            _ => self.mode = Mode::Reno,
        }
    }

    fn internals(&self, record: &mut dyn FnMut(&'static str, f64)) {
        if self.base_rtt_us < NO_RTT_US {
            record("base_rtt_ms", f64::from(self.base_rtt_us) / 1e3);
        }
        if self.round.rtt_us < NO_RTT_US {
            record("rtt_ms", f64::from(self.round.rtt_us) / 1e3);
        }
        record("diff_packets", f64::from(self.diff));
    }
}

/// ssthresh that keeps three quarters of the window, unless a reduction has just set it.
fn current_ssthresh(flow: &Flow, knobs: &Knobs) -> u32 {
    match flow.state {
        State::Cwr | State::Recovery => knobs.ssthresh,
        _ => knobs.ssthresh.max(knobs.cwnd / 2 + knobs.cwnd / 4),
    }
}
