//! CUBIC: after a loss the window follows a cubic function of time, flat around the window of the loss.
//! Growth does not depend on the RTT; where Reno would be faster, the window grows like Reno's. Source: Ha,
//! Rhee and Xu, "CUBIC: A New TCP-Friendly High-Speed TCP Variant", ACM SIGOPS Operating Systems Review
//! 42(5), 2008; RFC 9438. Agrees with: Linux 6.1 `cubic`. Departs: see docs/deviations/cubic.toml (3
//! entries).

use super::hystart::{Delay, HyStart};
use super::{CongestionControl, Control, Entry, Parameter, Parameters};
use crate::tcp::{Ack, Cause, Flow, State};

pub(super) const ENTRY: Entry = Entry {
    name: "cubic",
    idea: "The window is a cubic function of the time since the last loss, flat around the window of that loss.",
    source: "Ha, Rhee and Xu, ACM SIGOPS OSR 42(5), 2008; RFC 9438",
    agrees_with: "Linux 6.1",
    parameters: &[
        Parameter {
            name: "fast_convergence",
            default: 1,
            min: 0,
            max: 1,
            meaning: "1: fast convergence: aim below the window of a loss that is smaller than that of the loss before",
        },
        Parameter {
            name: "beta",
            default: 717,
            min: 1,
            max: 1023,
            meaning: "fraction of the window kept after a loss, in 1/1024",
        },
        Parameter {
            name: "initial_ssthresh",
            default: 0,
            min: 0,
            max: 1 << 20,
            meaning: "initial ssthresh, in packets, if hystart is 0; 0: infinite",
        },
        Parameter {
            name: "bic_scale",
            default: 41,
            min: 1,
            max: MAX_SCALE,
            meaning: "constant C of the cubic function, in 10/1024 packets/s³",
        },
        Parameter {
            name: "tcp_friendliness",
            default: 1,
            min: 0,
            max: 1,
            meaning: "1: grow at least as fast as Reno",
        },
        Parameter { name: "hystart", default: 1, min: 0, max: 1, meaning: "1: hybrid slow start" },
        Parameter {
            name: "hystart_detect",
            default: 3,
            min: 0,
            max: 3,
            meaning: "end of hybrid slow start: 1: by ACK train length, 2: by rising delay, 3: by either",
        },
        Parameter {
            name: "hystart_low_window",
            default: 16,
            min: 0,
            max: 1 << 20,
            meaning: "smallest window of hybrid slow start, in packets",
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

/// Unit of β: 1/1024.
const BETA_ONE: u32 = 1024;
/// Fraction bits of the time of the cubic function: the unit is 2^-10 s.
const CLOCK_BITS: u32 = 10;
/// Fraction bits of a product of C, in 2^-10, and a cube of times in 2^-10 s.
const CUBE_BITS: u32 = 10 + 3 * CLOCK_BITS;
/// Largest `bic_scale`, so that the argument of [`cube_root`] stays above 64.
const MAX_SCALE: i64 = 1 << 16;
/// Largest number of delivered packets per packet of growth before any loss: 5 % per round trip.
const PER_BEFORE_LOSS: u32 = 20;
/// Smallest number of delivered packets per packet of growth: 50 % per round trip.
const PER_MIN: u32 = 2;

/// Parameters, in the units of the arithmetic.
#[derive(Debug)]
struct Settings {
    fast_convergence: bool,
    friendliness: bool,
    /// β in 1/1024.
    beta: u32,
    initial_ssthresh: u32,
    /// C in 1/1024 packets/s³.
    c: u64,
    /// Eight times the packets that Reno with this β needs for one packet of growth, per packet of window.
    reno_per_8: u64,
}

#[derive(Debug)]
struct Cubic {
    settings: Settings,
    hystart: Option<HyStart>,
    /// Window of the last loss, after fast convergence; zero before the first. (Paper: `W_max`.)
    w_max: u32,
    /// Growth since the last reduction.
    epoch: Option<Epoch>,
    /// Smallest RTT since the start or the last timeout, in µs; zero before the first sample.
    delay_min_us: u32,
    /// Packets to deliver for one packet of growth.
    per: u32,
    /// Window and tick at the last computation of `per`; a zero window before the first.
    computed: (u32, u32),
}

/// One period of growth along the cubic function.
#[derive(Debug)]
struct Epoch {
    /// Tick at its start.
    start: u32,
    /// Time from the start to the plateau, in 2^-10 s. (Paper: K.)
    k: u32,
    /// Window of the plateau.
    origin: u32,
    /// Window that Reno would have. (RFC: `W_est`.)
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

    /// Resets everything but the parameters and hybrid slow start.
    fn reset(&mut self) {
        self.w_max = 0;
        self.epoch = None;
        self.delay_min_us = 0;
        self.per = 0;
        self.computed = (0, 0);
    }

    /// Updates `per`: at most once per tick, and 32 times per second for an unchanged window.
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
    /// An epoch that starts at `cwnd` and has its plateau at `w_max`, or at `cwnd` if that is larger.
    /// [RFC 9438, 4.2](https://www.rfc-editor.org/rfc/rfc9438#section-4.2): `K = ∛((W_max - cwnd) / C)`
    fn towards(w_max: u32, cwnd: u32, settings: &Settings) -> Epoch {
        let (k, origin) = match w_max.saturating_sub(cwnd) {
            0 => (0, cwnd),
            lost => (cube_root(((1 << CUBE_BITS) / settings.c).saturating_mul(u64::from(lost))), w_max),
        };
        Epoch { start: 0, k, origin, w_est: cwnd, delivered: 0 }
    }

    /// The cubic function `W(t) = C (t - K)³ + origin`, with t in 2^-10 s. The arithmetic wraps as in Linux,
    /// after 347 s on one side of K. [RFC 9438, 4.2](https://www.rfc-editor.org/rfc/rfc9438#section-4.2)
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
        // With β below 0.2 and a window of 2 packets the quotient would be zero, and Linux never leaves its
        // loop.
        let per = ((u64::from(cwnd) * settings.reno_per_8) >> 3).max(1);
        let delivered = u64::from(self.delivered);
        // Strictly more: a remainder of a whole `per` waits for the next packet.
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

    fn on_start(&mut self, flow: &Flow, control: &mut Control) {
        match &mut self.hystart {
            Some(hystart) => hystart.restart(flow),
            None if self.settings.initial_ssthresh > 0 => control.ssthresh = self.settings.initial_ssthresh,
            None => {}
        }
    }

    /// Shifts the epoch by the idle time. [RFC 9438, 5.8](https://www.rfc-editor.org/rfc/rfc9438#section-5.8)
    fn on_tx_start(&mut self, flow: &Flow, _control: &mut Control) {
        if let Some(epoch) = &mut self.epoch {
            let now = flow.jiffies();
            let idle = now - flow.jiffies_at(flow.last_sent);
            epoch.start = epoch.start.saturating_add(idle).min(now);
        }
    }

    fn on_pkts_acked(&mut self, ack: &Ack, flow: &Flow, control: &mut Control) {
        let Some(rtt_us) = ack.rtt_us else { return };
        let rtt_us = rtt_us.max(1);
        let is_shortest = self.delay_min_us == 0 || rtt_us < self.delay_min_us;
        // In most cases there is nothing to update, and the tick need not be computed.
        if !is_shortest && !control.in_slow_start() {
            return;
        }
        // In the second after growth began, the queue of the loss may still be there.
        if self.epoch.as_ref().is_some_and(|epoch| flow.jiffies() - epoch.start < flow.hz) {
            return;
        }
        if is_shortest {
            self.delay_min_us = rtt_us;
        }
        let delay = Delay { rtt_us, min_us: self.delay_min_us };
        if let Some(exit) = self.hystart.as_mut().and_then(|hystart| hystart.on_rtt(delay, flow, control)) {
            control.ssthresh = exit;
        }
    }

    fn on_ack(&mut self, ack: &Ack, flow: &Flow, control: &mut Control) {
        if let Some(left) = control.past_slow_start(ack.delivered, flow) {
            self.update(control.cwnd, left, flow);
            control.additive(self.per, left.max(ack.corrected));
        }
    }

    /// Sets `w_max` below the window of this loss if the window of the last loss was larger, so that a new flow finds room.
    /// [RFC 9438, 4.7](https://www.rfc-editor.org/rfc/rfc9438#section-4.7)
    fn on_congestion(&mut self, _cause: Cause, _flow: &Flow, control: &Control) -> u32 {
        self.epoch = None;
        self.w_max = if control.cwnd < self.w_max && self.settings.fast_convergence {
            control.cwnd_part(BETA_ONE + self.settings.beta, 2 * BETA_ONE)
        } else {
            control.cwnd
        };
        control.cwnd_part(self.settings.beta, BETA_ONE).max(2)
    }

    fn on_state(&mut self, next: State, flow: &Flow, _control: &mut Control) {
        if next == State::Loss {
            self.reset();
            if let Some(hystart) = &mut self.hystart {
                hystart.restart(flow);
            }
        }
    }

    fn internals(&self, record: &mut dyn FnMut(&'static str, f64)) {
        let known = |value: u32| if value == 0 { f64::NAN } else { f64::from(value) };
        record("w_max_packets", known(self.w_max));
        record("delay_min_ms", known(self.delay_min_us) / 1e3);
        let of_epoch = |part: fn(&Epoch) -> u32| self.epoch.as_ref().map_or(f64::NAN, |e| f64::from(part(e)));
        record("k_s", of_epoch(|epoch| epoch.k) / f64::from(1 << CLOCK_BITS));
        record("origin_packets", of_epoch(|epoch| epoch.origin));
        record("w_est_packets", of_epoch(|epoch| epoch.w_est));
    }
}

/// Start values of the iteration: about 64 ∛i for i from 8 to 63. They are Linux's, by W. Tarreau: a few per
/// cent high, so that one step from them ends near the root of the whole argument.
const CUBE_ROOT_STARTS: [u16; 56] = [
    133, 139, 144, 148, 153, 157, 161, 166, 167, 171, 174, 178, 180, 183, 186, 189, 191, 195, 197, 200, 202,
    204, 207, 209, 210, 212, 214, 216, 219, 221, 223, 225, 227, 229, 231, 232, 234, 235, 237, 239, 241, 242,
    244, 246, 247, 249, 250, 252, 254, 255, 256, 258, 260, 261, 262, 264,
];

/// Cube root of `a`, at least 64, to 0.2 % on average: the leading bits give a start value for one step of
/// Newton's method.
#[expect(clippy::cast_possible_truncation, reason = "the root of a u64 is below 2^22")]
fn cube_root(a: u64) -> u32 {
    let bits = (((u64::BITS - a.leading_zeros()) * 84) >> 8) - 1;
    let leading = (a >> (3 * bits)) as usize;
    let start = (u64::from(CUBE_ROOT_STARTS[leading - 8]) << bits) >> 6;
    let three_roots = 2 * start + a / (start * (start - 1));
    // 341/1024 approximates a third.
    ((three_roots * 341) >> 10) as u32
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::Time;
    use crate::cc::control::INFINITE_SSTHRESH;
    use crate::tcp::WindowUse;

    const FAST_CONVERGENCE_OFF: (&str, i64) = ("fast_convergence", 0);
    const FRIENDLINESS_OFF: (&str, i64) = ("tcp_friendliness", 0);

    fn cubic(set: &[(&str, i64)]) -> Cubic {
        let given: BTreeMap<_, _> = set.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
        Cubic::new(&ENTRY.parameters(&given).expect("the test sets what the entry declares"))
    }

    fn flow() -> Flow {
        Flow { usage: WindowUse::limited(), now: Time::from_secs(100), ..Flow::new(1000, 1448) }
    }

    /// A window in congestion avoidance.
    fn window(cwnd: u32) -> Control {
        Control::new(cwnd, cwnd)
    }

    /// CUBIC 100 s after the start, after a loss at 1000 packets: the window is 700, and one packet has been
    /// delivered.
    fn after_loss_at_1000(set: &[(&str, i64)]) -> (Cubic, Flow) {
        let (mut cubic, flow) = (cubic(set), flow());
        assert_eq!(cubic.on_congestion(Cause::Loss, &flow, &window(1000)), 700);
        cubic.update(700, 1, &flow);
        (cubic, flow)
    }

    fn epoch(cubic: &Cubic) -> &Epoch {
        cubic.epoch.as_ref().expect("growth has begun")
    }

    /// 1000 × 717 / 1024 = 700.2; 2 × 717 / 1024 = 1.4, raised to the smallest ssthresh of 2.
    #[test]
    fn a_loss_leaves_seven_tenths_and_at_least_two_packets() {
        let mut cubic = cubic(&[]);
        assert_eq!(cubic.on_congestion(Cause::Loss, &flow(), &window(1000)), 700);
        assert_eq!(cubic.on_congestion(Cause::Loss, &flow(), &window(2)), 2);
    }

    /// `W_max` is 1000, also after another loss at 1000; a loss at 800 makes it 800 × (1024 + 717) / 2048 =
    /// 680.08, without fast convergence 800.
    #[test]
    fn fast_convergence_remembers_less_than_the_window_of_a_lower_loss() {
        for (set, w_max) in [(&[][..], 680), (&[FAST_CONVERGENCE_OFF][..], 800)] {
            let mut cubic = cubic(set);
            cubic.on_congestion(Cause::Loss, &flow(), &window(1000));
            cubic.on_congestion(Cause::Loss, &flow(), &window(1000));
            assert_eq!(cubic.w_max, 1000);
            assert_eq!(cubic.on_congestion(Cause::Loss, &flow(), &window(800)), 560);
            assert_eq!(cubic.w_max, w_max);
        }
    }

    /// The roots are 4, 10, 100, 10321.3 and 2642245.9; Linux's are within 0.02 % of them.
    #[test]
    fn cube_root_is_that_of_linux() {
        let roots = [64, 1_000, 1_000_000, 1_099_511_627_776, u64::MAX].map(cube_root);
        assert_eq!(roots, [4, 10, 100, 10_323, 2_641_850]);
    }

    /// K = ∛((1000 - 700) / (410/1024)) = ∛749.27 = 9.0827 s = 9300.6 / 1024 s; Linux's root is 9294.
    #[test]
    fn k_is_the_time_back_to_the_window_of_the_loss() {
        let (cubic, _) = after_loss_at_1000(&[]);
        let Epoch { k, origin, w_est, .. } = *epoch(&cubic);
        assert_eq!((k, origin, w_est), (9294, 1000, 700));
    }

    /// K = 10 s, C = 410/1024. 10 s from the plateau: 0.4004 × 1000 = 400.4 packets; 5 s: 50.05; 1 s: 0.4.
    #[test]
    fn window_is_flat_at_the_plateau_and_steep_far_from_it() {
        let settings = cubic(&[]).settings;
        let epoch = Epoch { start: 0, k: 10 << CLOCK_BITS, origin: 1000, w_est: 0, delivered: 0 };
        let w = [0, 5, 9, 10, 11, 15, 20].map(|seconds| epoch.w_cubic(seconds << CLOCK_BITS, &settings));
        assert_eq!(w, [600, 950, 1000, 1000, 1000, 1050, 1400]);
    }

    /// The curve is read one smallest RTT ahead: at 0 s + 100 ms (102 / 1024 s) it is at
    /// 1000 - 410 (9294 - 102)³ / 2^40 = 1000 - 289 = 711: 11 packets to grow over 700 delivered.
    #[test]
    fn growth_reaches_the_curve_one_round_trip_ahead() {
        let (mut cubic, flow) = (cubic(&[]), flow());
        cubic.delay_min_us = 100_000;
        cubic.on_congestion(Cause::Loss, &flow, &window(1000));
        cubic.update(700, 1, &flow);
        assert_eq!(cubic.per, 63);
    }

    /// At the plateau the window grows by one packet per 100 windows, here per 100 × 1000 packets.
    #[test]
    fn growth_almost_stops_at_the_plateau() {
        let (mut cubic, mut flow) = after_loss_at_1000(&[FRIENDLINESS_OFF]);
        flow.now += Time::from_ms(9080);
        cubic.update(1000, 1, &flow);
        assert_eq!(cubic.per, 100_000);
    }

    /// 20 s after the loss the curve is at 1000 + 0.4 × 10.9³ = 1522: 522 above 1000; growth is limited to
    /// one packet per two delivered.
    #[test]
    fn growth_is_at_most_half_the_window_per_round_trip() {
        let (mut cubic, mut flow) = after_loss_at_1000(&[]);
        flow.now += Time::from_secs(20);
        cubic.update(1000, 1, &flow);
        assert_eq!(cubic.per, 2);
    }

    /// Before any loss, at a window of 1000: the plateau would be here, with one packet of growth per 100 000
    /// packets; the limit of 20 applies.
    #[test]
    fn growth_before_any_loss_is_at_least_a_twentieth() {
        let mut cubic = cubic(&[]);
        cubic.update(1000, 1, &flow());
        assert_eq!(cubic.per, 20);
    }

    /// Before any loss a packet of growth needs 20 delivered: 100 ACKs of two packets give 200 / 20 = 10.
    #[test]
    fn growth_is_corrected_for_delayed_acks() {
        let (mut cubic, flow, mut control) = (cubic(&[]), flow(), Control::new(1000, 2));
        let two = Ack { delivered: 1, corrected: 2, ..Ack::default() };
        (0..100).for_each(|_| cubic.on_ack(&two, &flow, &mut control));
        assert_eq!(control.cwnd, 1010);
    }

    /// On the plateau the cubic function needs 100 × 100 packets for one packet of growth. Reno needs 8 ×
    /// 1741 / 3 / 307 = 15 eighths of a window, 100 × 15 / 8 = 187 packets. The 188th delivered packet raises
    /// `W_est` to 101, and growth to it takes 100 / 1 packets. After 1 + 373 = 2 × 187 packets the second
    /// step is due with the next packet: `W_est` is 102, and growth takes 100 / 2 = 50 packets; then 103, and
    /// 100 / 3 = 33.
    #[test]
    fn growth_is_never_slower_than_renos() {
        let (mut cubic, mut flow) = (cubic(&[]), flow());
        cubic.on_congestion(Cause::Loss, &flow, &window(100));
        cubic.update(100, 1, &flow);
        for (delivered, w_est, per) in [(186, 100, 10_000), (1, 101, 100), (373, 102, 50), (1, 103, 33)] {
            flow.now += Time::from_ms(40);
            cubic.update(100, delivered, &flow);
            assert_eq!((epoch(&cubic).w_est, cubic.per), (w_est, per));
        }
    }

    /// 1000 / 32 = 31 ticks: for an unchanged window, `per` is not computed before the 32nd tick.
    #[test]
    fn growth_for_an_unchanged_window_is_computed_32_times_a_second() {
        let (mut cubic, mut flow) = after_loss_at_1000(&[]);
        cubic.per = 77;
        flow.now += Time::from_ms(31);
        cubic.update(700, 1, &flow);
        assert_eq!(cubic.per, 77);
        flow.now += Time::from_ms(1);
        cubic.update(700, 1, &flow);
        assert_ne!(cubic.per, 77);
    }

    /// Transmissions at 101 s and at 104 s: the start of the epoch moves from 100 s to 103 s.
    #[test]
    fn idle_time_does_not_count() {
        let (mut cubic, mut flow) = after_loss_at_1000(&[]);
        flow.last_sent = Time::from_secs(101);
        flow.now = Time::from_secs(104);
        cubic.on_tx_start(&flow, &mut window(700));
        assert_eq!(epoch(&cubic).start, 103_000);
    }

    #[test]
    fn timeout_forgets_the_path() {
        let (mut cubic, flow) = after_loss_at_1000(&[]);
        cubic.delay_min_us = 1;
        cubic.on_state(State::Loss, &flow, &mut window(700));
        assert!(cubic.epoch.is_none());
        assert_eq!((cubic.w_max, cubic.delay_min_us, cubic.per), (0, 0, 0));
    }

    /// 999 ms into the epoch, and 1000 ms.
    #[test]
    fn rtt_in_the_second_after_growth_began_is_not_measured() {
        let (mut cubic, mut flow) = after_loss_at_1000(&[]);
        let ack = Ack { rtt_us: Some(50_000), ..Ack::default() };
        flow.now += Time::from_ms(999);
        cubic.on_pkts_acked(&ack, &flow, &mut window(700));
        assert_eq!(cubic.delay_min_us, 0);
        flow.now += Time::from_ms(1);
        cubic.on_pkts_acked(&ack, &flow, &mut window(700));
        assert_eq!(cubic.delay_min_us, 50_000);
    }

    #[test]
    fn initial_ssthresh_is_for_slow_start_without_hystart() {
        for (given, hystart, ssthresh) in
            [(100, 0, 100), (100, 1, INFINITE_SSTHRESH), (0, 0, INFINITE_SSTHRESH)]
        {
            let mut control = Control::default();
            cubic(&[("initial_ssthresh", given), ("hystart", hystart)]).on_start(&flow(), &mut control);
            assert_eq!(control.ssthresh, ssthresh);
        }
    }

    #[test]
    fn internals_are_unknown_until_measured() {
        let recorded = |cubic: &Cubic| {
            let mut values = BTreeMap::new();
            cubic.internals(&mut |name, value| {
                values.insert(name, value);
            });
            values
        };
        assert!(recorded(&cubic(&[])).values().all(|value| value.is_nan()));
        let after_loss = recorded(&after_loss_at_1000(&[]).0);
        assert!((after_loss["k_s"] - 9.08).abs() < 0.01);
        assert!((after_loss["w_max_packets"] - 1000.0).abs() < f64::EPSILON);
        assert!((after_loss["w_est_packets"] - 700.0).abs() < f64::EPSILON);
    }
}
