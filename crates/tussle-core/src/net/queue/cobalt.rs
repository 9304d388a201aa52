//! COBALT: CoDel for flows that react to its signals, and BLUE for those that do not. Source:
//! Høiland-Jørgensen, Täht and Morton, "Piece of CAKE", IEEE LANMAN, 2018, which introduces the name; Feng,
//! Shin, Kandlur and Saha, "The BLUE Active Queue Management Algorithms", IEEE/ACM Transactions on Networking
//! 10(4), 2002. Agrees with: Linux 6.1 `cake`, in its constants and in the order of the steps. As there, a
//! new queue has no `drop_next` yet, so that its first signal comes with the second packet whose sojourn time
//! is too long; later signals wait for an interval, as in CoDel.

use super::can_be_marked;
use super::codel::spacing;
use super::packet_queue::Stamped;
use crate::Time;
use crate::net::packet::Ecn;
use crate::util::rng::Rng;

/// Steps of BLUE's probability, in units of 2⁻³²: 1/256 up when the limit is reached, 1/4096 down when the
/// queue is empty.
const BLUE_UP: u32 = 1 << 24;
const BLUE_DOWN: u32 = 1 << 20;

/// Settings of COBALT's control law, shared by any number of queues.
#[derive(Debug)]
pub(super) struct ControlLaw {
    /// Acceptable sojourn time; also the shortest time between two changes of BLUE's probability.
    pub(super) target: Time,
    /// Time for which the sojourn time may exceed the target.
    pub(super) interval: Time,
    /// Sojourn time up to which no signal is given, for a slow link.
    pub(super) min_sojourn: Time,
    pub(super) rng: Rng,
}

/// State of COBALT for one queue.
#[derive(Clone, Debug, Default)]
pub(super) struct Control {
    /// Whether sojourn times are too long. (Linux: `dropping`.)
    dropping: bool,
    /// Number of signals (drops and marks), which decays while sojourn times are short.
    count: u32,
    /// Time between two signals, `interval / √count`; zero before the first signal.
    spacing: Time,
    /// Time at which `count` changes next: up with a signal, down by decay. While `count` is 0, the time
    /// until which the queue counts as used. (Linux: `drop_next`.)
    drop_next: Time,
    /// BLUE's probability of a drop, in units of 2⁻³².
    blue_probability: u32,
    /// Time of the last change of that probability.
    blue_changed_at: Time,
}

/// Fate of a packet at the head of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Pass,
    Marked,
    Drop,
}

impl ControlLaw {
    /// Decides on a packet at its dequeue, and marks it if it can be marked.
    pub(super) fn decide(&mut self, control: &mut Control, stamped: &mut Stamped, now: Time) -> Fate {
        let mut is_late = now > control.drop_next;
        let is_due = control.count > 0 && now >= control.drop_next;
        let sojourn = now.since(stamped.arrived);
        if sojourn > self.target && sojourn > self.min_sojourn {
            control.on_long_sojourn(now);
        } else {
            control.dropping = false;
        }
        let is_signalled = is_due && control.dropping;
        if is_signalled {
            control.recount(control.count.saturating_add(1), self.interval);
            is_late = now > control.drop_next;
        } else if is_due {
            self.forget(control, now);
            is_late = now > control.drop_next;
        }
        let fate = if control.blue_probability > 0 && self.rng.next_u32() < control.blue_probability {
            Fate::Drop
        } else if !is_signalled {
            Fate::Pass
        } else if can_be_marked(&stamped.packet) {
            stamped.packet.ecn = Ecn::Ce;
            Fate::Marked
        } else {
            Fate::Drop
        };
        if control.count == 0 {
            control.drop_next = now + self.interval;
        } else if is_late && fate != Fate::Drop {
            control.drop_next = now;
        }
        fate
    }

    /// Handles a drop of a packet of this queue at the limit.
    pub(super) fn on_overflow(&self, control: &mut Control, now: Time) {
        if now.since(control.blue_changed_at) > self.target {
            control.blue_probability = control.blue_probability.saturating_add(BLUE_UP);
            control.blue_changed_at = now;
        }
        control.dropping = true;
        control.drop_next = now;
        control.count = control.count.max(1);
    }

    /// Handles the service of the queue while it is empty.
    pub(super) fn on_empty(&self, control: &mut Control, now: Time) {
        if control.blue_probability > 0 && now.since(control.blue_changed_at) > self.target {
            control.blue_probability = control.blue_probability.saturating_sub(BLUE_DOWN);
            control.blue_changed_at = now;
        }
        control.dropping = false;
        if control.count > 0 && now >= control.drop_next {
            control.recount(control.count - 1, self.interval);
        }
    }

    /// Lowers `count` at the intervals at which signals raised it, once sojourn times are short.
    fn forget(&self, control: &mut Control, now: Time) {
        while control.count > 0 && now >= control.drop_next {
            control.recount(control.count - 1, self.interval);
        }
    }
}

impl Control {
    /// Whether an empty queue has a `count` or a probability that still decays.
    pub(super) fn is_used(&self, now: Time) -> bool {
        self.blue_probability > 0 || self.count > 0 || now < self.drop_next
    }

    fn on_long_sojourn(&mut self, now: Time) {
        if !self.dropping {
            self.dropping = true;
            self.drop_next = now + self.spacing;
        }
        self.count = self.count.max(1);
    }

    fn recount(&mut self, count: u32, interval: Time) {
        self.count = count;
        self.spacing = spacing(interval, count.max(1));
        self.drop_next += self.spacing;
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::packet;
    use super::*;

    fn law() -> ControlLaw {
        let [target, interval, min_sojourn] = [5, 100, 0].map(Time::from_ms);
        ControlLaw { target, interval, min_sojourn, rng: Rng::new(1, "test") }
    }

    /// Times of marks, in ms. One packet per millisecond leaves from 1000 to 1600 ms, after a given sojourn
    /// time in ms.
    fn marks_ms(control: &mut Control, sojourn: impl Fn(u64) -> u64) -> Vec<u64> {
        let mut law = law();
        let is_marked = |ms: &u64| {
            let arrived = Time::from_ms(ms - sojourn(*ms));
            let mut stamped = Stamped { arrived, packet: packet(0, Ecn::Ect0) };
            law.decide(control, &mut stamped, Time::from_ms(*ms)) == Fate::Marked
        };
        (1000..1600).filter(is_marked).collect()
    }

    /// The second packet is marked, one millisecond late; then 100/√2 = 70.7, 100/√3 = 57.7, 50, 44.7, 40.8, 37.8,
    /// 35.4, 33.3 ms: 1000, 1070.7, 1128.4, 1178.4, 1223.2, 1264.0, 1301.8, 1337.1, 1370.5.
    #[test]
    fn the_first_signal_of_a_queue_comes_at_once_and_then_by_the_inverse_square_root() {
        let marks = marks_ms(&mut Control::default(), |_| 20);
        assert_eq!(marks[..9], [1001, 1071, 1129, 1179, 1224, 1264, 1302, 1338, 1371]);
    }

    /// The count falls at 1128.4, 1199.1 and 1299.1 ms. From 1350 ms on sojourn times are too long again: the
    /// first mark follows after an interval, the second 70.7 ms later.
    #[test]
    fn later_signals_wait_for_an_interval() {
        let mut control = Control::default();
        let marks = marks_ms(&mut control, |ms| if (1100..1350).contains(&ms) { 0 } else { 20 });
        assert_eq!(marks[..4], [1001, 1071, 1450, 1521]);
    }

    #[test]
    fn a_sojourn_time_up_to_the_target_or_the_minimum_gives_no_signal() {
        assert!(marks_ms(&mut Control::default(), |_| 5).is_empty());
        let mut law = ControlLaw { min_sojourn: Time::from_ms(30), ..law() };
        for (sojourn, expected) in [(30, Fate::Pass), (31, Fate::Marked)] {
            let mut control = Control { dropping: true, count: 1, ..Control::default() };
            let mut stamped = Stamped { arrived: Time::from_ms(100 - sojourn), packet: packet(0, Ecn::Ect0) };
            assert_eq!(law.decide(&mut control, &mut stamped, Time::from_ms(100)), expected);
        }
    }

    /// An overflow every millisecond raises the probability by 1/256 whenever more than 5 ms have passed,
    /// that is, every 6 ms: 16 times in 96 ms, to 1/16.
    #[test]
    fn blue_rises_by_a_256th_at_most_once_per_target() {
        let (law, mut control) = (law(), Control::default());
        (10..106).for_each(|ms| law.on_overflow(&mut control, Time::from_ms(ms)));
        assert_eq!(control.blue_probability, u32::MAX / 16 + 1);
        (106..202).for_each(|ms| law.on_empty(&mut control, Time::from_ms(ms)));
        assert_eq!(control.blue_probability, u32::MAX / 16 + 1 - 16 * BLUE_DOWN);
    }

    /// A quarter of 10 000 packets; tolerance: five standard deviations of sqrt(10 000 × 3/16) = 43. BLUE
    /// also drops packets that could be marked.
    #[test]
    fn blue_drops_by_its_probability() {
        let mut law = law();
        let mut control = Control { blue_probability: 1 << 30, ..Control::default() };
        let mut stamped = Stamped { arrived: Time::ZERO, packet: packet(0, Ecn::Ect0) };
        let drops =
            (0..10_000).filter(|_| law.decide(&mut control, &mut stamped, Time::ZERO) == Fate::Drop).count();
        assert!((2284..=2716).contains(&drops), "{drops}");
    }

    #[test]
    fn a_queue_counts_as_used_for_an_interval_after_its_last_packet() {
        let (mut law, mut control) = (law(), Control::default());
        let mut stamped = Stamped { arrived: Time::ZERO, packet: packet(0, Ecn::Ect0) };
        law.decide(&mut control, &mut stamped, Time::from_ms(1));
        assert!(control.is_used(Time::from_ms(100)));
        assert!(!control.is_used(Time::from_ms(101)));
    }
}
