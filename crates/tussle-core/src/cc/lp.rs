//! LP (low priority): use only the capacity that other flows leave. A growing forward delay indicates a
//! competing flow: halve the window, wait, and if the delay stays high, fall to one packet. Source:
//! Kuzmanovic and Knightly, "TCP-LP: A Distributed Algorithm for Low Priority Data Transfer", IEEE INFOCOM,
//! 2003. Agrees with: Linux 6.1 `lp`, which estimates the frequency of the receiver's timestamp clock, lets
//! the inference phase last for three of the RTTs that timestamps show, and restarts the measurement of the
//! smallest and the largest delay at each indication; the first delay is an indication. A window of one
//! packet makes the receiver delay its ACKs, which looks like a queue that comes and goes: Linux's LP may
//! stay there on an idle link.
//!
//! In Linux all this works only where timestamps have no random offset (`hosts.timestamps = "synchronised"`).
//! The forward delay contains the receiver's offset, 32 bits, and the smoothed delay is kept in eighths of a
//! millisecond in 32 bits. From 2^29 on, seven of eight offsets, the smoothed delay loses its upper bits and
//! is below every threshold: the flow is Reno. Below 2^29 the first delay is an indication; after it the
//! threshold is tens of thousands of seconds away for most offsets, and the flow is Reno with a halved first
//! window.
//!
//! Delays contain the receiver's timestamp times 1000 Hz over the estimated frequency of its clock, rounded
//! down: several times the timestamp while the estimate is young, and zero when it exceeds 1000 Hz. Such delays
//! are as long as the receiver has been up, which is 3.04 s when a run begins, and indications depend on
//! it. Departs: see docs/deviations/lp.toml (2 entries).

use super::{CongestionControl, Control, Entry, Needs};
use crate::net::packet::timestamp_ms;
use crate::tcp::{Ack, Flow};

pub(super) const ENTRY: Entry = Entry {
    name: "lp",
    idea: "Use only the capacity that other flows leave: yield when the forward delay grows.",
    source: "Kuzmanovic and Knightly, IEEE INFOCOM, 2003",
    agrees_with: "Linux 6.1",
    parameters: &[],
    build: |_, _| Box::new(Lp::default()),
};

/// Threshold of congestion between the smallest and the largest delay, in percent. (Paper: `δ`.)
const THRESHOLD_PERCENT: u32 = 15;
/// Duration of the inference phase in round trips. (Paper: `itt`.)
const INFERENCE_RTTS: u32 = 3;
/// Frequency of the sender's timestamp clock, which is the unit of delays: 1000 ticks per second.
const CLOCK_HZ: u32 = 1000;
/// Placeholder for an unmeasured delay; longer than any delay.
const NO_DELAY: u32 = u32::MAX;

#[derive(Debug, Default)]
struct Lp {
    clock: RemoteClock,
    delay: Delay,
    /// Time of the last early congestion indication, on the timestamp clock.
    indicated_ms: Option<u32>,
    /// Duration of the inference phase.
    inference_ms: u32,
    phase: Phase,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    /// Grow like Reno.
    #[default]
    Probe,
    /// Wait for the effect of an indication; the window does not grow.
    Inference,
}

/// Frequency estimate of the receiver's timestamp clock.
#[derive(Debug, Default)]
struct RemoteClock {
    /// Ticks per second; zero if unknown.
    hz: u32,
    /// Timestamps of the receiver and the sender in the previous ACK.
    before: Option<(u32, u32)>,
}

impl RemoteClock {
    /// Updates the estimate with the timestamps of an ACK: 63/64 of the estimate and 1/64 of the sample, in
    /// 32 bits as in Linux.
    fn update(&mut self, ack: &Ack) {
        let weighted = u64::from(self.hz.wrapping_mul(64));
        let old = weighted / 64;
        self.hz = truncated(match self.fresh(ack) {
            None => old,
            Some(hz) if weighted == 0 => hz,
            Some(hz) => (weighted - old + hz) / 64,
        });
        self.before =
            Some((ack.ts_val_ms, ack.ts_echo_ms)).filter(|&(remote, local)| remote > 0 && local > 0);
    }

    /// Sample from this ACK and the previous one; `None` if one of the clocks did not advance.
    fn fresh(&self, ack: &Ack) -> Option<u64> {
        let (remote, local) = self.before?;
        let [gone, gone_here] = [ack.ts_val_ms.wrapping_sub(remote), ack.ts_echo_ms.wrapping_sub(local)];
        (gone > 0 && gone_here > 0).then(|| u64::from(CLOCK_HZ.wrapping_mul(gone) / gone_here))
    }

    /// Forward delay of the packet that caused the ACK, up to a constant; `None` if unknown. The sender's clock
    /// is `ahead_ms` ahead of the timestamp that the ACK echoes.
    fn forward_delay(&self, ack: &Ack, ahead_ms: u32) -> Option<u32> {
        // An estimate above 1000 makes the quotient zero, and the delay meaningless.
        let ms = CLOCK_HZ.checked_div(self.hz)?;
        let sent_ms = ack.ts_echo_ms.wrapping_add(ahead_ms);
        Some(ack.ts_val_ms.wrapping_mul(ms).wrapping_sub(sent_ms)).filter(|&delay| delay > 0)
    }
}

#[expect(clippy::cast_possible_truncation, reason = "wraps where Linux wraps")]
fn truncated(value: u64) -> u32 {
    value as u32
}

/// Forward delays, in ms, with the receiver's offset. They wrap around as in Linux.
#[derive(Debug)]
struct Delay {
    /// Average in eighths; zero before the first measurement. (Paper: `sd`, `γ` = 1/8.)
    smoothed_8ms: u32,
    /// Smallest delay. (Paper: `d_min`.)
    min_ms: u32,
    /// Second largest delay, so that a single outlier does not matter. (Paper: `d_max`.)
    max_ms: u32,
    largest_ms: u32,
}

impl Default for Delay {
    fn default() -> Delay {
        Delay { smoothed_8ms: 0, min_ms: NO_DELAY, max_ms: 0, largest_ms: 0 }
    }
}

impl Delay {
    fn smoothed_ms(&self) -> u32 {
        self.smoothed_8ms / 8
    }

    fn take(&mut self, delay_ms: u32) {
        self.min_ms = self.min_ms.min(delay_ms);
        if self.largest_ms == 0 {
            (self.max_ms, self.largest_ms) = (delay_ms, delay_ms);
        } else if delay_ms > self.largest_ms {
            (self.max_ms, self.largest_ms) = (self.largest_ms, delay_ms);
        } else {
            self.max_ms = self.max_ms.max(delay_ms);
        }
        self.smoothed_8ms = if self.smoothed_8ms == 0 {
            delay_ms.wrapping_mul(8)
        } else {
            self.smoothed_8ms.wrapping_add(delay_ms.wrapping_sub(self.smoothed_ms()))
        };
    }

    /// Whether the delay indicates early congestion: `sd > d_min + (d_max - d_min) δ`. (Paper: early
    /// congestion indication.)
    fn indicates_congestion(&self) -> bool {
        let span = self.max_ms.wrapping_sub(self.min_ms);
        let threshold = self.min_ms.wrapping_add(THRESHOLD_PERCENT.wrapping_mul(span) / 100);
        self.smoothed_ms() >= threshold
    }

    /// Restarts the measurement at the present delay, with up to twice the delay as the largest.
    fn restart(&mut self) {
        let smoothed_ms = self.smoothed_ms();
        let twice = self.smoothed_8ms / 4;
        *self =
            Delay { smoothed_8ms: self.smoothed_8ms, min_ms: smoothed_ms, max_ms: twice, largest_ms: twice };
    }
}

impl CongestionControl for Lp {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn needs(&self) -> Needs {
        Needs { timestamp_offset: true, ..Needs::default() }
    }

    fn on_pkts_acked(&mut self, ack: &Ack, flow: &Flow, control: &mut Control) {
        if ack.rtt_us > Some(0) {
            self.clock.update(ack);
            if let Some(delay_ms) = self.clock.forward_delay(ack, flow.clock_offset_ms) {
                self.delay.take(delay_ms);
            }
        }
        let now_ms = timestamp_ms(flow.now);
        if now_ms > ack.ts_echo_ms {
            self.inference_ms = INFERENCE_RTTS.wrapping_mul(now_ms - ack.ts_echo_ms);
        }
        let waits = self.indicated_ms.is_some_and(|since| now_ms - since < self.inference_ms);
        self.phase = if waits { Phase::Inference } else { Phase::Probe };
        if self.delay.indicates_congestion() {
            self.delay.restart();
            control.cwnd = if waits { 1 } else { (control.cwnd / 2).max(1) };
            self.indicated_ms = Some(now_ms);
        }
    }

    fn on_ack(&mut self, ack: &Ack, flow: &Flow, control: &mut Control) {
        if self.phase == Phase::Probe {
            control.grow_like_reno(ack.delivered, flow);
        }
    }

    fn internals(&self, record: &mut dyn FnMut(&'static str, f64)) {
        let known = |ms: u32| if self.delay.smoothed_8ms == 0 { f64::NAN } else { f64::from(ms) };
        record("sd_ms", known(self.delay.smoothed_8ms) / 8.0);
        record("d_min_ms", known(self.delay.min_ms));
        record("d_max_ms", known(self.delay.max_ms));
        record("remote_hz", if self.clock.hz == 0 { f64::NAN } else { f64::from(self.clock.hz) });
        record("in_inference", f64::from(u8::from(self.phase == Phase::Inference)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Time;
    use crate::tcp::WindowUse;

    /// One-way delay in each direction, in ms.
    const ONE_WAY_MS: u32 = 10;

    /// A flow whose ACKs have arrived for long enough to compare both clocks.
    fn started() -> (Lp, Flow, Control) {
        let now = Time::from_secs(1);
        let flow = Flow { usage: WindowUse::limited(), now, ..Flow::new(1000, 1448) };
        let mut all = (Lp::default(), flow, Control::new(64, 2));
        (0..3).for_each(|_| acked(&mut all, 1, 0));
        assert_eq!(all.0.clock.hz, 1000);
        (all.0.indicated_ms, all.2.cwnd) = (None, 64);
        all
    }

    /// Processes an ACK after `after_ms`; the packet that caused it waited `queue_ms` on the forward path.
    fn acked((lp, flow, control): &mut (Lp, Flow, Control), after_ms: u32, queue_ms: u32) {
        flow.now += Time::from_ms(u64::from(after_ms));
        let ts_val_ms = timestamp_ms(flow.now) - ONE_WAY_MS;
        let ts_echo_ms = ts_val_ms - ONE_WAY_MS - queue_ms;
        let ack = Ack { acked: 1, rtt_us: Some(20_000), ts_val_ms, ts_echo_ms, ..Ack::default() };
        lp.on_pkts_acked(&ack, flow, control);
    }

    fn delays(min_ms: u32, max_ms: u32, smoothed_ms: u32) -> Delay {
        Delay { smoothed_8ms: smoothed_ms * 8, min_ms, max_ms, largest_ms: max_ms }
    }

    /// Between 10 and 110 ms: 10 + 15 % of 100 = 25 ms.
    #[test]
    fn congestion_is_indicated_at_15_percent_between_the_smallest_and_the_largest_delay() {
        assert!(!delays(10, 110, 24).indicates_congestion());
        assert!(delays(10, 110, 25).indicates_congestion());
        assert!(!Delay::default().indicates_congestion(), "nothing is known");
    }

    /// 8 × 10 = 80, then 80 - 10 + 50 = 120: 15 ms.
    #[test]
    fn the_delay_is_smoothed_by_an_eighth() {
        let mut delay = Delay::default();
        delay.take(10);
        delay.take(50);
        assert_eq!((delay.smoothed_8ms, delay.smoothed_ms()), (120, 15));
    }

    /// 10; then 90 and 70: 70 is above 10. Then 100: 90 is the largest before it.
    #[test]
    fn one_long_delay_is_not_yet_the_largest() {
        let mut delay = Delay::default();
        let largest = [10, 90, 70, 100].map(|delay_ms| {
            delay.take(delay_ms);
            delay.max_ms
        });
        assert_eq!(largest, [10, 10, 70, 90]);
        assert_eq!(delay.min_ms, 10);
    }

    /// The smallest, the largest and the smoothed delay are equal.
    #[test]
    fn the_first_delay_is_an_indication_as_in_linux() {
        let mut delay = Delay::default();
        delay.take(10);
        assert!(delay.indicates_congestion());
    }

    /// From 40 ms on: between 40 and 80, so the next indication is at 40 + 15 % of 40 = 46.
    #[test]
    fn an_indication_restarts_the_measurement() {
        let mut delay = delays(10, 110, 40);
        delay.restart();
        assert_eq!((delay.min_ms, delay.max_ms), (40, 80));
        delay.smoothed_8ms = 46 * 8 - 1;
        assert!(!delay.indicates_congestion());
        delay.smoothed_8ms = 46 * 8;
        assert!(delay.indicates_congestion());
    }

    /// 64 / 2 = 32; again after 3 × (20 + 2 × 30) ms and more, 16.
    #[test]
    fn an_early_congestion_indication_halves_the_window() {
        let mut all = started();
        all.0.delay = delays(10, 110, 25);
        acked(&mut all, 1, 30);
        assert_eq!(all.2.cwnd, 32);
        all.0.delay = delays(10, 110, 25);
        acked(&mut all, 500, 30);
        assert_eq!(all.2.cwnd, 16);
    }

    /// The latest packet was sent 20 + 30 = 50 ms ago: for 150 ms a second indication leaves one packet.
    #[test]
    fn a_second_indication_within_three_round_trips_leaves_one_packet() {
        for (after_ms, cwnd) in [(149, 1), (150, 16)] {
            let mut all = started();
            all.0.delay = delays(10, 110, 25);
            acked(&mut all, 1, 30);
            all.0.delay = delays(10, 110, 25);
            acked(&mut all, after_ms, 30);
            assert_eq!(all.2.cwnd, cwnd, "after {after_ms} ms");
        }
    }

    /// 32 packets delivered are a packet of growth, but not in the 3 × 35 ms of the inference phase.
    #[test]
    fn the_window_does_not_grow_in_the_inference_phase() {
        let mut all = started();
        all.0.delay = delays(10, 110, 25);
        acked(&mut all, 1, 30);
        let delivered = Ack { delivered: 32, ..Ack::default() };
        for (after_ms, phase, cwnd) in [(100, Phase::Inference, 32), (100, Phase::Probe, 33)] {
            acked(&mut all, after_ms, 15);
            assert_eq!(all.0.phase, phase);
            all.0.on_ack(&delivered, &all.1, &mut all.2);
            assert_eq!(all.2.cwnd, cwnd);
        }
    }

    /// (63 × 1000 + 2000) / 64 = 1015.6: the receiver's clock went 2 ms in 1.
    #[test]
    fn the_receivers_clock_is_averaged_over_64_acks() {
        let ack = Ack { ts_val_ms: 502, ts_echo_ms: 101, ..Ack::default() };
        let mut clock = RemoteClock { hz: 1000, before: Some((500, 100)) };
        clock.update(&ack);
        assert_eq!(clock.hz, 1015);
        clock.update(&ack);
        assert_eq!(clock.hz, 1015, "no clock went on");
    }

    /// The smoothed delay is 8 × (2^29 + 10) modulo 2^32 = 80 eighths, 10 ms; the smallest is 2^29 + 10.
    #[test]
    fn an_offset_of_two_to_the_29_hides_every_queue() {
        let mut delay = Delay::default();
        for queue_ms in [10, 500, 1000, 5000] {
            delay.take((1 << 29) + queue_ms);
            assert!(!delay.indicates_congestion(), "queue of {queue_ms} ms");
        }
    }

    /// The first delay, 400 000 010, is an indication. After it the largest is twice the smallest, and 15 of
    /// their difference are 6 000 000 150 modulo 2^32 = 1 705 032 854: the threshold is 17 050 328 ms away,
    /// 4.7 hours.
    #[test]
    fn a_smaller_offset_hides_every_queue_after_the_first_indication() {
        let mut delay = Delay::default();
        delay.take(400_000_010);
        assert!(delay.indicates_congestion());
        delay.restart();
        for queue_ms in [10, 500, 1000, 5000] {
            delay.take(400_000_000 + queue_ms);
            assert!(!delay.indicates_congestion(), "queue of {queue_ms} ms");
        }
        delay.smoothed_8ms = 8 * (400_000_010 + 17_050_328);
        assert!(delay.indicates_congestion());
    }

    /// The receiver's clock is 5000 ms ahead: 100 + 5000 - 60 ms. With the same offset at the sender it cancels
    /// out.
    #[test]
    fn only_the_difference_of_clock_offsets_remains() {
        let clock = RemoteClock { hz: 1000, before: None };
        let ack = Ack { ts_val_ms: 5100, ts_echo_ms: 60, ..Ack::default() };
        assert_eq!(clock.forward_delay(&ack, 0), Some(5040));
        assert_eq!(clock.forward_delay(&ack, 5000), Some(40));
    }

    /// 64 packets delivered are a packet of growth; a queue that grows by a millisecond with each ACK changes
    /// nothing.
    #[test]
    fn with_an_offset_the_window_grows_as_reno_does() {
        let (mut lp, mut flow, mut control) = (Lp::default(), Flow::new(1000, 1448), Control::new(64, 2));
        flow.usage = WindowUse::limited();
        for queue_ms in 0..300 {
            flow.now = Time::from_ms(u64::from(1000 + 2 * queue_ms));
            let now_ms = timestamp_ms(flow.now);
            let (ts_val_ms, ts_echo_ms) =
                ((3 << 30) + now_ms - ONE_WAY_MS, now_ms - 2 * ONE_WAY_MS - queue_ms);
            let ack = Ack { acked: 1, rtt_us: Some(20_000), ts_val_ms, ts_echo_ms, ..Ack::default() };
            lp.on_pkts_acked(&ack, &flow, &mut control);
            assert_eq!((control.cwnd, lp.phase), (64, Phase::Probe));
        }
        lp.on_ack(&Ack { delivered: 64, ..Ack::default() }, &flow, &mut control);
        assert_eq!(control.cwnd, 65);
    }

    #[test]
    fn acks_without_an_rtt_sample_change_nothing() {
        let mut lp = Lp::default();
        let ack = Ack { ts_val_ms: 2, ts_echo_ms: 1, ..Ack::default() };
        lp.on_pkts_acked(&ack, &Flow::new(1000, 1448), &mut Control::default());
        assert_eq!(lp.clock.before, None);
    }
}
