//! COBALT: CoDel for flows that react to its signals, and BLUE for those that do not.
//! Source: Høiland-Jørgensen, Täht and Morton, "Piece of CAKE", IEEE LANMAN, 2018, which names it; Feng, Shin,
//! Kandlur and Saha, "The BLUE Active Queue Management Algorithms", IEEE/ACM Transactions on Networking 10(4), 2002.
//! Agrees with: Linux 6.1 `cake`, in its constants and in the order in which things happen. There the first signal
//! that a queue ever gives comes with the second packet that waited too long, as nothing has set the time before
//! it yet; while packets go on leaving, they may wait too long for an interval before later ones, as in CoDel.

use super::can_be_marked;
use super::codel::spacing;
use super::packet_queue::Stamped;
use crate::Time;
use crate::net::packet::Ecn;
use crate::util::rng::Rng;

/// Steps of BLUE's probability: up when the limit is reached, down when the queue is empty; 1/256 and 1/4096, in units
/// of 2⁻³².
const BLUE_UP: u32 = 1 << 24;
const BLUE_DOWN: u32 = 1 << 20;

/// COBALT's control law: its settings, for any number of queues.
#[derive(Debug)]
pub(super) struct ControlLaw {
    /// Acceptable waiting time, and the least time between two changes of BLUE's probability.
    pub(super) target: Time,
    /// Time for which the wait may exceed the target.
    pub(super) interval: Time,
    /// Waiting time that is acceptable on a slow link, too.
    pub(super) least_wait: Time,
    pub(super) rng: Rng,
}

/// State of COBALT for one queue.
#[derive(Clone, Debug, Default)]
pub(super) struct Control {
    /// Whether packets wait too long. (Linux: `dropping`.)
    dropping: bool,
    /// Signals so far, less those that were forgotten since.
    count: u32,
    /// `interval / √count`, once there was a signal.
    spacing: Time,
    /// Time of the next signal, or of the next one to forget; without signals, the time until which the queue counts as
    /// used. (Linux: `drop_next`.)
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
    /// Decides on a packet that would leave, and marks it.
    pub(super) fn decide(&mut self, control: &mut Control, stamped: &mut Stamped, now: Time) -> Fate {
        let mut is_late = now > control.drop_next;
        let is_due = control.count > 0 && now >= control.drop_next;
        let wait = now.since(stamped.arrived);
        if wait > self.target && wait > self.least_wait {
            control.on_long_wait(now);
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

    /// Notes that a packet of this queue was dropped at the limit.
    pub(super) fn on_overflow(&self, control: &mut Control, now: Time) {
        if now.since(control.blue_changed_at) > self.target {
            control.blue_probability = control.blue_probability.saturating_add(BLUE_UP);
            control.blue_changed_at = now;
        }
        control.dropping = true;
        control.drop_next = now;
        control.count = control.count.max(1);
    }

    /// Notes that it was the queue's turn while it was empty.
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

    /// Forgets the signals, as slowly as they came, once packets no longer wait too long.
    fn forget(&self, control: &mut Control, now: Time) {
        while control.count > 0 && now >= control.drop_next {
            control.recount(control.count - 1, self.interval);
        }
    }
}

impl Control {
    /// Whether an empty queue still has signals or a probability to forget.
    pub(super) fn is_used(&self, now: Time) -> bool {
        self.blue_probability > 0 || self.count > 0 || now < self.drop_next
    }

    fn on_long_wait(&mut self, now: Time) {
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
        let [target, interval, least_wait] = [5, 100, 0].map(Time::from_ms);
        ControlLaw { target, interval, least_wait, rng: Rng::new(1, "test") }
    }

    /// When packets are marked, in ms: one leaves each millisecond from 1000 to 1600, after such a wait.
    fn marks_ms(control: &mut Control, wait: impl Fn(u64) -> u64) -> Vec<u64> {
        let mut law = law();
        let is_marked = |ms: &u64| {
            let arrived = Time::from_ms(ms - wait(*ms));
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

    /// The signals are forgotten at 1128.4, 1199.1 and 1299.1. From 1350 on packets wait too long again: for an
    /// interval, and then 70.7 ms later.
    #[test]
    fn later_signals_wait_for_an_interval() {
        let mut control = Control::default();
        let marks = marks_ms(&mut control, |ms| if (1100..1350).contains(&ms) { 0 } else { 20 });
        assert_eq!(marks[..4], [1001, 1071, 1450, 1521]);
    }

    #[test]
    fn a_wait_up_to_the_target_or_the_least_wait_is_no_harm() {
        assert!(marks_ms(&mut Control::default(), |_| 5).is_empty());
        let mut law = ControlLaw { least_wait: Time::from_ms(30), ..law() };
        for (wait, expected) in [(30, Fate::Pass), (31, Fate::Marked)] {
            let mut control = Control { dropping: true, count: 1, ..Control::default() };
            let mut stamped = Stamped { arrived: Time::from_ms(100 - wait), packet: packet(0, Ecn::Ect0) };
            assert_eq!(law.decide(&mut control, &mut stamped, Time::from_ms(100)), expected);
        }
    }

    /// An overflow each millisecond: the probability rises by 1/256 when more than 5 ms have passed, so each 6 ms:
    /// 16 times in 96 ms, to 1/16.
    #[test]
    fn blue_rises_by_a_256th_at_most_once_a_target() {
        let (law, mut control) = (law(), Control::default());
        (10..106).for_each(|ms| law.on_overflow(&mut control, Time::from_ms(ms)));
        assert_eq!(control.blue_probability, u32::MAX / 16 + 1);
        (106..202).for_each(|ms| law.on_empty(&mut control, Time::from_ms(ms)));
        assert_eq!(control.blue_probability, u32::MAX / 16 + 1 - 16 * BLUE_DOWN);
    }

    /// A quarter of 10 000 packets; the deviation is sqrt(10 000 × 3/16) = 43, five of those. What can be marked is
    /// dropped, too.
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
