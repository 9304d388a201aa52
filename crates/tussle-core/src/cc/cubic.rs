//! CUBIC: after a loss the window follows a cubic function of time, flat around the window of the loss.
//! Growth does not depend on the RTT; where Reno would be faster, it grows like Reno.
//! Source: Ha, Rhee and Xu, "CUBIC: A New TCP-Friendly High-Speed TCP Variant", ACM SIGOPS Operating Systems
//! Review 42(5), 2008; RFC 9438. Agrees with: Linux 6.1 `cubic`.
//! Departs: see docs/deviations/cubic.toml (1 entry).

use super::hystart::{Delay, HyStart};
use super::{CongestionControl, Entry, Knobs, Parameter, Parameters};
use crate::tcp::{Ack, Cause, Flow, State};

pub(super) const ENTRY: Entry = Entry {
    name: "cubic",
    idea: "A cubic function of the time since the last loss, flat around the window where it happened.",
    source: "Ha, Rhee and Xu, ACM SIGOPS OSR 42(5), 2008; RFC 9438",
    agrees_with: "Linux 6.1",
    parameters: &[
        Parameter {
            name: "fast_convergence",
            default: 1,
            min: 0,
            max: 1,
            meaning: "1: a flow whose window of loss fell gives up more of it, for new flows",
        },
        Parameter {
            name: "beta",
            default: 717,
            min: 1,
            max: 1023,
            meaning: "what a loss leaves of the window, in 1/1024",
        },
        Parameter {
            name: "initial_ssthresh",
            default: 0,
            min: 0,
            max: 1 << 20,
            meaning: "ssthresh at the start, in packets, if hystart is 0; 0: infinite",
        },
        Parameter {
            name: "bic_scale",
            default: 41,
            min: 1,
            max: MAX_SCALE,
            meaning: "the constant C of the cubic function, in 10/1024 packets/s³",
        },
        Parameter {
            name: "tcp_friendliness",
            default: 1,
            min: 0,
            max: 1,
            meaning: "1: never slower than Reno would be",
        },
        Parameter { name: "hystart", default: 1, min: 0, max: 1, meaning: "1: hybrid slow start" },
        Parameter {
            name: "hystart_detect",
            default: 3,
            min: 0,
            max: 3,
            meaning: "what ends hybrid slow start: 1 long ACK trains, 2 rising delay, 3 either",
        },
        Parameter {
            name: "hystart_low_window",
            default: 16,
            min: 0,
            max: 1 << 20,
            meaning: "hybrid slow start acts from this window on, in packets",
        },
        Parameter {
            name: "hystart_ack_delta_us",
            default: 2000,
            min: 0,
            max: 1_000_000,
            meaning: "largest gap between the ACKs of a train, in µs",
        },
    ],
    build: |parameters, _| Box::new(Cubic::new(parameters)),
};

/// β is in 1/1024.
const BETA_ONE: u32 = 1024;
/// The cubic function counts time in 2^-10 s.
const CLOCK_BITS: u32 = 10;
/// C is a fraction of 2^10, over a cube of 2^-10 s.
const CUBE_BITS: u32 = 10 + 3 * CLOCK_BITS;
/// Largest `bic_scale`: the argument of [`cube_root`] stays above 64.
const MAX_SCALE: i64 = 1 << 16;
/// Growth before any loss is at least one packet for this many: 5 % a round trip.
const PER_BEFORE_LOSS: u32 = 20;
/// Growth is at most one packet for this many: 50 % a round trip.
const PER_MIN: u32 = 2;

/// The parameters, in the units of the arithmetic.
#[derive(Debug)]
struct Settings {
    fast_convergence: bool,
    friendliness: bool,
    /// β in 1/1024.
    beta: u32,
    initial_ssthresh: u32,
    /// C in 1/1024 packets/s³.
    c: u64,
    /// 8 × the packets that Reno with this β needs for one packet of growth, per packet of window.
    reno_per_8: u64,
}

#[derive(Debug)]
struct Cubic {
    settings: Settings,
    hystart: Option<HyStart>,
    /// Window of the last loss, after fast convergence; zero before the first. (Paper: `W_max`.)
    w_max: u32,
    /// Since growth began after the last reduction.
    epoch: Option<Epoch>,
    /// Smallest RTT since the start or the last timeout, in µs; zero before the first sample.
    delay_min_us: u32,
    /// Packets to deliver for one packet of growth.
    per: u32,
    /// The window and the tick for which `per` was last computed; no window before that.
    computed: (u32, u32),
}

/// One descent and climb of the cubic function.
#[derive(Debug)]
struct Epoch {
    /// Tick at which it began.
    start: u32,
    /// Time from the start to the plateau, in 2^-10 s. (Paper: K.)
    k: u32,
    /// Window of the plateau.
    origin: u32,
    /// The window that Reno would have. (RFC: `W_est`.)
    w_est: u32,
    /// Packets delivered towards the next packet of `w_est`.
    delivered: u32,
}

impl Cubic {
    fn new(parameters: &Parameters) -> Cubic {
        let beta = parameters.get_u32("beta");
        Cubic {
            settings: Settings {
                fast_convergence: parameters.get("fast_convergence") != 0,
                friendliness: parameters.get("tcp_friendliness") != 0,
                beta,
                initial_ssthresh: parameters.get_u32("initial_ssthresh"),
                c: u64::from(parameters.get_u32("bic_scale")) * 10,
                reno_per_8: u64::from(8 * (BETA_ONE + beta) / 3 / (BETA_ONE - beta)),
            },
            hystart: HyStart::new(parameters),
            w_max: 0,
            epoch: None,
            delay_min_us: 0,
            per: 0,
            computed: (0, 0),
        }
    }

    /// Forgets all but the parameters and the state of hybrid slow start.
    fn forget(&mut self) {
        self.w_max = 0;
        self.epoch = None;
        self.delay_min_us = 0;
        self.per = 0;
        self.computed = (0, 0);
    }

    /// Brings `per` up to date: at most once a tick, and for an unchanged window 32 times a second.
    fn update(&mut self, cwnd: u32, delivered: u32, flow: &Flow) {
        let now = flow.jiffies();
        if let Some(epoch) = &mut self.epoch {
            epoch.delivered = epoch.delivered.saturating_add(delivered);
        }
        let (last_cwnd, last) = self.computed;
        if last_cwnd == cwnd && now - last <= flow.hz / 32 {
            return;
        }
        if self.epoch.is_none() || now != last {
            self.computed = (cwnd, now);
            let delay = flow.us_to_jiffies(u64::from(self.delay_min_us));
            let epoch = self.epoch.get_or_insert_with(|| Epoch {
                start: now,
                delivered,
                ..Epoch::towards(self.w_max, cwnd, &self.settings)
            });
            let t = (u64::from(now - epoch.start) + u64::from(delay)) << CLOCK_BITS;
            let target = epoch.w_cubic(t / u64::from(flow.hz), &self.settings);
            self.per = if target > cwnd { cwnd / (target - cwnd) } else { cwnd.saturating_mul(100) };
            if self.w_max == 0 {
                self.per = self.per.min(PER_BEFORE_LOSS);
            }
        }
        if self.settings.friendliness
            && let Some(epoch) = &mut self.epoch
        {
            epoch.grow_like_reno(cwnd, &self.settings);
            if epoch.w_est > cwnd {
                self.per = self.per.min(cwnd / (epoch.w_est - cwnd));
            }
        }
        self.per = self.per.max(PER_MIN);
    }
}

impl Epoch {
    /// From `cwnd` to a plateau at `w_max`, or at once on the plateau if there is nothing to regain.
    /// [RFC 9438, 4.2](https://www.rfc-editor.org/rfc/rfc9438#section-4.2): `K = ∛((W_max - cwnd) / C)`
    fn towards(w_max: u32, cwnd: u32, settings: &Settings) -> Epoch {
        let (k, origin) = match w_max.saturating_sub(cwnd) {
            0 => (0, cwnd),
            lost => (cube_root(((1 << CUBE_BITS) / settings.c).saturating_mul(u64::from(lost))), w_max),
        };
        Epoch { start: 0, k, origin, w_est: cwnd, delivered: 0 }
    }

    /// `W(t) = C (t - K)³ + origin`, t in 2^-10 s. Wraps as Linux does, after 347 s on one side of K.
    /// [RFC 9438, 4.2](https://www.rfc-editor.org/rfc/rfc9438#section-4.2)
    fn w_cubic(&self, t: u64, settings: &Settings) -> u32 {
        let k = u64::from(self.k);
        let offset = t.abs_diff(k);
        let cube = settings.c.wrapping_mul(offset).wrapping_mul(offset).wrapping_mul(offset);
        let distance = (cube >> CUBE_BITS) as u32;
        if t < k { self.origin.wrapping_sub(distance) } else { self.origin.wrapping_add(distance) }
    }

    /// Moves `w_est` up by 3 (1 - β) / (1 + β) packets for each window delivered.
    /// [RFC 9438, 4.3](https://www.rfc-editor.org/rfc/rfc9438#section-4.3)
    #[expect(clippy::cast_possible_truncation, reason = "no more than `delivered`, which is a u32")]
    fn grow_like_reno(&mut self, cwnd: u32, settings: &Settings) {
        // With a β below 0.2 a window of 2 packets makes this zero, and Linux never leaves its loop.
        let per = ((u64::from(cwnd) * settings.reno_per_8) >> 3).max(1);
        let delivered = u64::from(self.delivered);
        // More than, not as many as: a remainder of a whole `per` waits for the next packet.
        if delivered > per {
            let grown = (delivered - 1) / per;
            self.delivered -= (grown * per) as u32;
            self.w_est = self.w_est.saturating_add(grown as u32);
        }
    }
}

impl CongestionControl for Cubic {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn on_start(&mut self, flow: &Flow, knobs: &mut Knobs) {
        match &mut self.hystart {
            Some(hystart) => hystart.restart(flow),
            None if self.settings.initial_ssthresh > 0 => knobs.ssthresh = self.settings.initial_ssthresh,
            None => {}
        }
    }

    /// Time spent idle is not time spent on the curve. [RFC 9438, 5.8](https://www.rfc-editor.org/rfc/rfc9438#section-5.8)
    fn on_restart(&mut self, flow: &Flow, _knobs: &mut Knobs) {
        if let Some(epoch) = &mut self.epoch {
            let now = flow.jiffies();
            let idle = now - flow.jiffies_at(flow.last_sent);
            epoch.start = epoch.start.saturating_add(idle).min(now);
        }
    }

    fn on_sample(&mut self, ack: &Ack, flow: &Flow, knobs: &mut Knobs) {
        let Some(rtt_us) = ack.rtt_us else { return };
        // In the second after growth began, the queue of the loss may still be there.
        if self.epoch.as_ref().is_some_and(|epoch| flow.jiffies() - epoch.start < flow.hz) {
            return;
        }
        let now_us = rtt_us.max(1);
        if self.delay_min_us == 0 || now_us < self.delay_min_us {
            self.delay_min_us = now_us;
        }
        let delay = Delay { now_us, min_us: self.delay_min_us };
        if let Some(exit) = self.hystart.as_mut().and_then(|hystart| hystart.on_rtt(delay, flow, knobs)) {
            knobs.ssthresh = exit;
        }
    }

    fn on_ack(&mut self, ack: &Ack, flow: &Flow, knobs: &mut Knobs) {
        if let Some(left) = knobs.past_slow_start(ack.delivered, flow) {
            self.update(knobs.cwnd, left, flow);
            knobs.additive(self.per, left);
        }
    }

    /// Fast convergence: [RFC 9438, 4.7](https://www.rfc-editor.org/rfc/rfc9438#section-4.7)
    fn on_congestion(&mut self, _cause: Cause, _flow: &Flow, knobs: &Knobs) -> u32 {
        self.epoch = None;
        self.w_max = if knobs.cwnd < self.w_max && self.settings.fast_convergence {
            scaled(knobs.cwnd, BETA_ONE + self.settings.beta, 2 * BETA_ONE)
        } else {
            knobs.cwnd
        };
        scaled(knobs.cwnd, self.settings.beta, BETA_ONE).max(2)
    }

    fn on_state(&mut self, next: State, flow: &Flow, _knobs: &mut Knobs) {
        if next == State::Loss {
            self.forget();
            if let Some(hystart) = &mut self.hystart {
                hystart.restart(flow);
            }
        }
    }

    fn internals(&self, record: &mut dyn FnMut(&'static str, f64)) {
        record("w_max_packets", f64::from(self.w_max));
        record("delay_min_ms", f64::from(self.delay_min_us) / 1e3);
        let (k, origin, w_est) = self.epoch.as_ref().map_or((0, 0, 0), |e| (e.k, e.origin, e.w_est));
        record("k_s", f64::from(k) / f64::from(1 << CLOCK_BITS));
        record("origin_packets", f64::from(origin));
        record("w_est_packets", f64::from(w_est));
    }
}

/// `window` × `part` / `whole`, for a part no larger than the whole.
#[expect(clippy::cast_possible_truncation, reason = "no larger than `window`, which is a u32")]
fn scaled(window: u32, part: u32, whole: u32) -> u32 {
    (u64::from(window) * u64::from(part) / u64::from(whole)) as u32
}

/// About 64 ∛i for i from 8 to 63, where the iteration starts. The values are Linux's, by W. Tarreau: a few
/// per cent high, so that the one step taken from them ends near the root of the whole argument.
const CUBE_ROOT_STARTS: [u16; 56] = [
    133, 139, 144, 148, 153, 157, 161, 166, 167, 171, 174, 178, 180, 183, 186, 189, 191, 195, 197, 200, 202,
    204, 207, 209, 210, 212, 214, 216, 219, 221, 223, 225, 227, 229, 231, 232, 234, 235, 237, 239, 241, 242,
    244, 246, 247, 249, 250, 252, 254, 255, 256, 258, 260, 261, 262, 264,
];

/// ∛a for `a` of at least 64, to 0.2 % on average: the leading bits give a start, one step of Newton's method
/// the rest.
#[expect(clippy::cast_possible_truncation, reason = "the root of a u64 is below 2^22")]
fn cube_root(a: u64) -> u32 {
    let bits = (((u64::BITS - a.leading_zeros()) * 84) >> 8) - 1;
    let leading = (a >> (3 * bits)) as usize;
    let start = (u64::from(CUBE_ROOT_STARTS[leading - 8]) << bits) >> 6;
    let three_roots = 2 * start + a / (start * (start - 1));
    // 341/1024 for a third.
    ((three_roots * 341) >> 10) as u32
}
