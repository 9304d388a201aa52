//! PIE (proportional integral controller enhanced): drops arriving packets with a probability that follows
//! the queueing delay and its trend. Source: Pan, Natarajan, Baker and White, RFC 8033, with its optional ECN
//! (5.1), derandomization (5.4) and capped increases (5.5). Agrees with: Linux 6.1 `pie` in its default
//! settings, which measures the sojourn time of each departing packet instead of the departure rate (5.2), is
//! always active (5.3), and reduces the burst allowance by the time between departures. Linux rounds the
//! update interval to timer ticks; here it is exact.

use serde::{Deserialize, Serialize};

use super::packet_queue::{PacketQueue, Stamped};
use super::updates::Updates;
use super::{Backlog, Entry, Limit, Limits, Queue, QueueContext, QueueSettings, can_be_marked};
use crate::Time;
use crate::net::packet::{Ecn, Packet};
use crate::util::rng::{Probability, Rng};

pub(super) const ENTRY: Entry = Entry {
    name: "pie",
    idea: "Drops or marks arriving packets with a probability that follows the queueing delay and its trend.",
    source: "RFC 8033",
};

/// Default limit in packets, as in Linux.
const LIMIT_PACKETS: u64 = 1000;
/// Backlog below which nothing is dropped or marked: two full packets. [RFC 8033, 4.1](https://www.rfc-editor.org/rfc/rfc8033#section-4.1)
const NO_QUEUE_BYTES: u64 = 2 * 1500;
/// Gains of the controller: per second of queueing delay above the target, and per second of its growth since
/// the last update. [RFC 8033, 4.2](https://www.rfc-editor.org/rfc/rfc8033#section-4.2)
const ALPHA_PER_S: f64 = 0.125;
const BETA_PER_S: f64 = 1.25;
/// Burst allowance: time without drops after the queueing delay was short.
/// [RFC 8033, 4.4](https://www.rfc-editor.org/rfc/rfc8033#section-4.4)
const BURST: Time = Time::from_ms(150);
/// Largest probability at which packets are marked rather than dropped. [RFC 8033, 5.1](https://www.rfc-editor.org/rfc/rfc8033#section-5.1)
const MAX_MARK_PROBABILITY: f64 = 0.1;
/// Bounds of the sum of probabilities between two drops or marks. [RFC 8033, 5.4](https://www.rfc-editor.org/rfc/rfc8033#section-5.4)
const SPACING: (f64, f64) = (0.85, 8.5);
/// Queueing delay above which every update raises the probability by [`STEP`].
/// [RFC 8033, 4.2](https://www.rfc-editor.org/rfc/rfc8033#section-4.2)
const LONG_DELAY: Time = Time::from_ms(250);
/// Largest increase of an update, from a probability of 10 % on. [RFC 8033, 5.5](https://www.rfc-editor.org/rfc/rfc8033#section-5.5)
const STEP: f64 = 0.02;
/// Factor of the probability at each update without a queue, as in Linux; 0.98 in the RFC.
const DECAY: f64 = 63.0 / 64.0;

/// The target, the update interval, and the limits, by default 1000 packets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Spec {
    /// Target queueing delay, in ns. (RFC: `QDELAY_REF`.)
    pub target_ns: u64,
    /// Interval between updates of the drop probability, in ns. (RFC: `T_UPDATE`.)
    pub update_ns: u64,
    /// Whether packets that can be marked are marked instead of dropped, while the probability is at most 10 %.
    pub ecn: bool,
    /// Largest number of queued packets.
    pub limit_packets: Option<u64>,
    /// Largest number of queued bytes.
    pub limit_bytes: Option<u64>,
}

/// Default of `target_ns`: 15 ms. [RFC 8033, 4.2](https://www.rfc-editor.org/rfc/rfc8033#section-4.2)
pub(super) const DEFAULT_TARGET_NS: u64 = 15_000_000;

/// Default of `update_ns`: 15 ms. [RFC 8033, 4.2](https://www.rfc-editor.org/rfc/rfc8033#section-4.2)
pub(super) const DEFAULT_UPDATE_NS: u64 = 15_000_000;

impl Default for Spec {
    fn default() -> Spec {
        Spec {
            target_ns: DEFAULT_TARGET_NS,
            update_ns: DEFAULT_UPDATE_NS,
            ecn: true,
            limit_packets: None,
            limit_bytes: None,
        }
    }
}

impl QueueSettings for Spec {
    fn build(&self, context: QueueContext) -> Result<Box<dyn Queue>, String> {
        let rng = Rng::new(context.seed, ENTRY.name);
        Ok(Box::new(Pie {
            limit: self.limits().checked()?.or_packets(LIMIT_PACKETS),
            updates: Updates::new(Time::from_ns(self.update_ns))?,
            law: ControlLaw { target: Time::from_ns(self.target_ns), ecn: self.ecn, rng, marked: 0 },
            control: Control::default(),
            waiting: PacketQueue::default(),
        }))
    }

    fn limits(&self) -> Limits {
        Limits { packets: self.limit_packets, bytes: self.limit_bytes }
    }
}

/// Settings of PIE's control law, shared by any number of queues.
#[derive(Debug)]
pub(super) struct ControlLaw {
    pub(super) target: Time,
    pub(super) ecn: bool,
    pub(super) rng: Rng,
    pub(super) marked: u64,
}

/// State of PIE for one queue.
#[derive(Clone, Debug)]
pub(super) struct Control {
    /// Probability of a drop or mark. (RFC: `PIE->drop_prob_`.)
    probability: f64,
    /// Sum of the probabilities since the last drop or mark. (RFC: `PIE->accu_prob_`.)
    sum: f64,
    /// Sojourn time of the last departing packet; zero if it left an empty queue. (RFC: `current_qdelay`.)
    queue_delay: Time,
    /// Value of `queue_delay` at the last update. (RFC: `PIE->qdelay_old_`.)
    previous_queue_delay: Time,
    /// Remaining burst allowance. (RFC: `PIE->burst_allowance_`.)
    burst: Time,
    /// Time of the last departure since the burst allowance was granted; `None` before the first.
    left_at: Option<Time>,
}

impl Default for Control {
    fn default() -> Control {
        Control {
            probability: 0.0,
            sum: 0.0,
            queue_delay: Time::ZERO,
            previous_queue_delay: Time::ZERO,
            burst: BURST,
            left_at: None,
        }
    }
}

impl ControlLaw {
    /// Decides on an arriving packet: returns it, marked or not, or `None` if it is dropped.
    pub(super) fn admit(
        &mut self,
        control: &mut Control,
        waiting_bytes: u64,
        mut packet: Packet,
    ) -> Option<Packet> {
        if !self.is_selected(control, waiting_bytes) {
            return Some(packet);
        }
        control.sum = 0.0;
        if !self.ecn || !can_be_marked(&packet) || control.probability > MAX_MARK_PROBABILITY {
            return None;
        }
        packet.ecn = Ecn::Ce;
        self.marked += 1;
        Some(packet)
    }

    /// Whether an arriving packet is selected for a mark or drop.
    /// [RFC 8033, 4.1](https://www.rfc-editor.org/rfc/rfc8033#section-4.1)
    fn is_selected(&mut self, control: &mut Control, waiting_bytes: u64) -> bool {
        let is_light = 2 * control.queue_delay.ns() < self.target.ns() && control.probability < 0.2;
        if control.burst > Time::ZERO || is_light || waiting_bytes < NO_QUEUE_BYTES {
            return false;
        }
        control.sum = if control.probability > 0.0 { control.sum + control.probability } else { 0.0 };
        let (least, most) = SPACING;
        let probability =
            Probability::new(control.probability).expect("the probability is clamped to 0 to 1");
        control.sum >= least && (control.sum >= most || self.rng.sample_bool(probability))
    }

    /// Updates the probability from the queueing delay and its trend.
    /// [RFC 8033, 4.2](https://www.rfc-editor.org/rfc/rfc8033#section-4.2)
    pub(super) fn update(&self, control: &mut Control, waiting: Backlog) {
        let Control { probability, queue_delay, previous_queue_delay, .. } = *control;
        let (now_s, before_s) = (queue_delay.as_secs_f64(), previous_queue_delay.as_secs_f64());
        let beyond = ALPHA_PER_S * (now_s - self.target.as_secs_f64()) + BETA_PER_S * (now_s - before_s);
        let mut step = beyond / damping(probability);
        if probability >= 0.1 {
            step = step.min(STEP);
        }
        if queue_delay > LONG_DELAY {
            step += STEP;
        }
        control.probability = (probability + step).clamp(0.0, 1.0);
        if queue_delay == Time::ZERO && previous_queue_delay == Time::ZERO && waiting.packets == 0 {
            control.probability *= DECAY;
        }
        let is_short = |queue_delay: Time| 2 * queue_delay.ns() < self.target.ns();
        if is_short(queue_delay) && is_short(previous_queue_delay) && control.probability <= 0.0 {
            (control.burst, control.left_at, control.sum) = (BURST, None, 0.0);
        }
        control.previous_queue_delay = queue_delay;
    }
}

/// Divisor of the changes of a small probability.
/// [RFC 8033, 4.2](https://www.rfc-editor.org/rfc/rfc8033#section-4.2)
fn damping(probability: f64) -> f64 {
    match probability {
        p if p < 0.000_001 => 2048.0,
        p if p < 0.000_01 => 512.0,
        p if p < 0.000_1 => 128.0,
        p if p < 0.001 => 32.0,
        p if p < 0.01 => 8.0,
        p if p < 0.1 => 2.0,
        _ => 1.0,
    }
}

impl Control {
    /// Handles a drop at the limit.
    pub(super) fn on_overflow(&mut self) {
        self.sum = 0.0;
    }

    /// Handles the departure of a packet that arrived at `arrived` and leaves the backlog `left` behind.
    pub(super) fn on_leave(&mut self, arrived: Time, now: Time, left: Backlog) {
        self.queue_delay = if left.packets > 0 { now.since(arrived) } else { Time::ZERO };
        let since = self.left_at.replace(now).map_or(Time::ZERO, |before| now.since(before));
        self.burst = self.burst.since(since);
    }

    /// Whether further updates of an empty queue change nothing.
    pub(super) fn is_at_rest(&self) -> bool {
        self.probability <= 0.0 && self.queue_delay == Time::ZERO && self.previous_queue_delay == Time::ZERO
    }
}

#[derive(Debug)]
struct Pie {
    limit: Limit,
    updates: Updates,
    law: ControlLaw,
    control: Control,
    waiting: PacketQueue<Stamped>,
}

impl Pie {
    /// Performs the updates that are due. Their inputs change only when packets arrive or leave.
    fn catch_up(&mut self, now: Time) {
        while self.updates.due(now).is_some() {
            let was_at_rest = self.control.is_at_rest();
            self.law.update(&mut self.control, self.waiting.backlog());
            if was_at_rest {
                self.updates.skip(now);
            }
        }
    }
}

impl Queue for Pie {
    fn enqueue(&mut self, packet: Packet, now: Time, dropped: &mut Vec<Packet>) {
        self.catch_up(now);
        let waiting = self.backlog();
        if !self.limit.has_room_for(packet.size_bytes, waiting) {
            self.control.on_overflow();
            dropped.push(packet);
        } else if let Some(packet) = self.law.admit(&mut self.control, waiting.bytes, packet) {
            self.waiting.push(Stamped { arrived: now, packet });
        } else {
            dropped.push(packet);
        }
    }

    fn dequeue(&mut self, now: Time, _dropped: &mut Vec<Packet>) -> Option<Packet> {
        self.catch_up(now);
        let Stamped { arrived, packet } = self.waiting.pop()?;
        self.control.on_leave(arrived, now, self.waiting.backlog());
        Some(packet)
    }

    fn backlog(&self) -> Backlog {
        self.waiting.backlog()
    }

    fn marked_packets(&self) -> u64 {
        self.law.marked
    }

    fn for_each(&self, visit: &mut dyn FnMut(&Packet)) {
        self.waiting.for_each(visit);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{context, full_packet_of, packet};
    use super::*;

    fn law() -> ControlLaw {
        ControlLaw { target: Time::from_ms(15), ecn: false, rng: Rng::new(1, "test"), marked: 0 }
    }

    fn waiting(packets: u64) -> Backlog {
        Backlog { packets, bytes: 1500 * packets }
    }

    /// The probability after an update, for the current and the previous queueing delay in ms.
    fn updated(probability: f64, queue_delay: u64, previous_queue_delay: u64) -> f64 {
        let (queue_delay, previous_queue_delay) =
            (Time::from_ms(queue_delay), Time::from_ms(previous_queue_delay));
        let mut control = Control { probability, queue_delay, previous_queue_delay, ..Control::default() };
        law().update(&mut control, waiting(10));
        assert_eq!(control.previous_queue_delay, queue_delay);
        control.probability
    }

    fn assert_near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-12, "{found}, not {expected}");
    }

    /// 0.125 (0.035 - 0.015) + 1.25 (0.035 - 0.025) = 0.0025 + 0.0125 = 0.015.
    #[test]
    fn the_probability_follows_the_queueing_delay_and_its_trend() {
        assert_near(updated(0.15, 35, 25), 0.165);
        // 0.125 (0.005 - 0.015) + 1.25 (0.005 - 0.025) = -0.00125 - 0.025.
        assert_near(updated(0.15, 5, 25), 0.12375);
        assert_near(updated(0.15, 15, 15), 0.15);
    }

    /// A step of 0.015, divided by the RFC's table.
    #[test]
    fn a_small_probability_moves_in_small_steps() {
        for (probability, damping) in [
            (0.0, 2048.0),
            (0.000_005, 512.0),
            (0.000_05, 128.0),
            (0.000_5, 32.0),
            (0.005, 8.0),
            (0.05, 2.0),
            (0.1, 1.0),
        ] {
            assert_near(updated(probability, 35, 25), probability + 0.015 / damping);
        }
    }

    /// 0.125 (0.2 - 0.015) + 1.25 (0.2 - 0.1) = 0.148; below 10 %, half of it.
    #[test]
    fn from_ten_percent_on_the_probability_grows_by_at_most_two_percent() {
        assert_near(updated(0.1, 200, 100), 0.12);
        assert_near(updated(0.09, 200, 100), 0.09 + 0.148_125 / 2.0);
    }

    /// 0.125 (0.251 - 0.015) = 0.0295, capped at 0.02, and 0.02 more.
    #[test]
    fn a_queueing_delay_above_250_ms_adds_two_percent() {
        assert_near(updated(0.5, 251, 251), 0.54);
        assert_near(updated(0.99, 251, 251), 1.0);
    }

    /// 0.125 × -0.015 = -0.001875, then 63/64.
    #[test]
    fn without_a_queue_the_probability_decays() {
        let mut control = Control { probability: 0.5, ..Control::default() };
        law().update(&mut control, waiting(0));
        assert_near(control.probability, (0.5 - 0.001_875) * 63.0 / 64.0);
    }

    /// Control state of a queue whose burst allowance is used up.
    fn busy(probability: f64) -> Control {
        Control { probability, queue_delay: Time::from_ms(20), burst: Time::ZERO, ..Control::default() }
    }

    fn selected(law: &mut ControlLaw, control: &mut Control, packets: u32) -> Vec<u32> {
        (0..packets).filter(|_| law.admit(control, 30_000, full_packet_of(0, 0)).is_none()).collect()
    }

    /// At 1/8 the sum reaches 0.85 with the seventh packet (0.875) and 8.5 with the 68th; between them each
    /// packet is selected with probability 1/8. Six packets pass and then 8 on average, 14 in total: 7143 of
    /// 100 000 are selected. The standard deviation of the gap is sqrt(7/8) × 8 = 7.5, that of the count 7.5
    /// / 14 × sqrt(7143) = 45. Tolerance: five standard deviations.
    #[test]
    fn drops_are_neither_close_together_nor_far_apart() {
        let mut control = busy(0.125);
        let numbers = selected(&mut law(), &mut control, 100_000);
        assert!((6918..=7368).contains(&numbers.len()), "{}", numbers.len());
        assert!(numbers.windows(2).all(|pair| (7..=68).contains(&(pair[1] - pair[0]))));
    }

    #[test]
    fn nothing_is_dropped_in_a_burst_at_a_short_delay_or_without_a_queue() {
        let mut law = law();
        let burst = Control { burst: Time::from_ns(1), ..busy(1.0) };
        let light = Control { queue_delay: Time::from_ms(7), ..busy(0.19) };
        for mut control in [burst, light] {
            assert!(selected(&mut law, &mut control, 100).is_empty());
        }
        assert!((0..100).all(|_| law.admit(&mut busy(1.0), 2999, full_packet_of(0, 0)).is_some()));
        assert_eq!(
            selected(&mut law, &mut Control { queue_delay: Time::from_ms(7), ..busy(1.0) }, 9).len(),
            9
        );
    }

    #[test]
    fn marks_become_drops_above_ten_percent() {
        for (probability, ecn, switch, is_marked) in [
            (0.1, Ecn::Ect0, true, true),
            (0.11, Ecn::Ect0, true, false),
            (0.1, Ecn::NotEct, true, false),
            (0.1, Ecn::Ect0, false, false),
        ] {
            let mut law = ControlLaw { ecn: switch, ..law() };
            let mut control = Control { sum: 8.5, ..busy(probability) };
            let admitted = law.admit(&mut control, 30_000, packet(0, ecn));
            assert_eq!(admitted.map(|packet| packet.ecn), is_marked.then_some(Ecn::Ce));
            assert_eq!(law.marked, u64::from(is_marked));
            assert_near(control.sum, 0.0);
        }
    }

    /// A packet leaves every 10 ms: time counts from the first one, and the sixteenth is 150 ms later.
    #[test]
    fn a_burst_of_150_ms_is_allowed() {
        let mut control = Control::default();
        let lasts = (0..20).take_while(|&packet| {
            control.on_leave(Time::ZERO, Time::from_ms(10 * packet), waiting(50));
            control.burst > Time::ZERO
        });
        assert_eq!(lasts.count(), 15);
    }

    #[test]
    fn the_burst_allowance_returns_after_two_updates_with_a_short_delay() {
        let mut control =
            Control { previous_queue_delay: Time::from_ms(20), queue_delay: Time::from_ms(7), ..busy(0.0) };
        let law = law();
        law.update(&mut control, waiting(1));
        assert_eq!(control.burst, Time::ZERO);
        control.probability = 0.0;
        law.update(&mut control, waiting(1));
        assert_eq!(control.burst, BURST);
    }

    #[test]
    fn the_default_limit_is_1000_packets() {
        let mut queue = Spec::default().build(context()).unwrap();
        let mut dropped = Vec::new();
        (0..1001).for_each(|number| queue.enqueue(full_packet_of(0, number), Time::ZERO, &mut dropped));
        assert_eq!((dropped.len(), queue.backlog().packets), (1, 1000));
    }

    #[test]
    fn invalid_settings_are_refused() {
        let error = Spec { update_ns: 0, ..Spec::default() }.build(context()).unwrap_err();
        assert!(error.starts_with("update_ns"), "{error}");
    }
}
