//! Westwood+: after a loss, keep the window that the path was measured to carry, which is the bandwidth times
//! the smallest RTT, instead of half. A loss without congestion then costs little. Source: Grieco and
//! Mascolo, "Performance Evaluation and Comparison of Westwood+, New Reno, and Vegas TCP Congestion Control",
//! ACM CCR 34(2), 2004; after Mascolo et al., "TCP Westwood: Bandwidth Estimation for Enhanced Transport over
//! Wireless Links", ACM MobiCom, 2001. Agrees with: Linux 6.1 `westwood`, which measures time in timer ticks
//! and filters twice. Departs: see docs/deviations/westwood.toml (2 entries).

use super::{CongestionControl, Control, Entry};
use crate::tcp::{Ack, Cause, Flow};

pub(super) const ENTRY: Entry = Entry {
    name: "westwood",
    idea: "After a loss, the window is the measured bandwidth times the smallest RTT.",
    source: "Grieco and Mascolo, ACM CCR 34(2), 2004",
    agrees_with: "Linux 6.1",
    parameters: &[],
    build: |_, _| Box::new(Westwood::default()),
};

/// Largest number of bandwidth samples per second: a sample lasts longer than 50 ms, and longer than an RTT.
const SAMPLES_PER_S: u32 = 20;
/// RTT before the first measurement, in s.
const INITIAL_RTT_S: u32 = 20;
/// Eighths of the old value that a filter keeps.
const KEPT: u64 = 7;
const WHOLE: u64 = 8;
const CWND_MIN: u32 = 2;

#[derive(Debug, Default)]
struct Westwood {
    rtt: Rtt,
    sample: Sample,
    bandwidth: Bandwidth,
    counted: Counted,
    /// Timer ticks per second.
    hz: u32,
}

/// RTTs in timer ticks.
#[derive(Debug, Default)]
struct Rtt {
    latest: u32,
    min: u32,
    /// Whether the smallest RTT must be replaced: at the start and after a timeout.
    min_is_stale: bool,
}

/// One measurement of the bandwidth. (Paper: `b_k = d_k / Δ_k`.)
#[derive(Debug, Default)]
struct Sample {
    /// Timer tick at its start.
    since: u32,
    bytes: u64,
}

/// Bandwidth in bytes per timer tick; zero before the first measurement.
#[derive(Debug, Default)]
struct Bandwidth {
    /// Bandwidth, filtered once.
    coarse: u64,
    /// Bandwidth, filtered twice. (Paper: `BWE`, filtered once.)
    smooth: u64,
}

/// Count of delivered packets.
#[derive(Debug, Default)]
struct Counted {
    /// Packets that ACKs acknowledged cumulatively, from the first ACK on.
    una: Option<u32>,
    /// Packets counted for duplicate ACKs, which the following cumulative ACK covers again.
    ahead: u32,
}

impl Counted {
    /// Packets that an ACK newly reports as delivered. (Paper: algorithm `AckedCount`.)
    fn packets(&mut self, ack: &Ack, flow: &Flow) -> u32 {
        let advanced = flow.una - self.una.unwrap_or(flow.una);
        self.una = Some(flow.una);
        match (ack.slow_path, advanced) {
            (false, _) => advanced,
            // A duplicate ACK: some packet above a hole has arrived.
            (true, 0) => {
                self.ahead += 1;
                1
            }
            (true, 1) => 1,
            (true, _) if self.ahead >= advanced => {
                self.ahead -= advanced;
                1
            }
            (true, _) => advanced - std::mem::take(&mut self.ahead),
        }
    }
}

impl Bandwidth {
    fn filter(&mut self, measured: u64) {
        let filtered = |kept: u64, new: u64| (KEPT * kept + new) / WHOLE;
        *self = if self.coarse == 0 && self.smooth == 0 {
            Bandwidth { coarse: measured, smooth: measured }
        } else {
            let coarse = filtered(self.coarse, measured);
            Bandwidth { coarse, smooth: filtered(self.smooth, coarse) }
        };
    }
}

impl Westwood {
    /// Ends the sample if it lasted long enough.
    fn measure(&mut self, flow: &Flow) {
        let now = flow.jiffies();
        let lasted = now - self.sample.since;
        if lasted > self.rtt.latest.max(flow.hz / SAMPLES_PER_S) {
            self.bandwidth.filter(self.sample.bytes / u64::from(lasted));
            self.sample = Sample { since: now, bytes: 0 };
        }
    }

    /// Packets that the path carries without a queue. (Paper: `BWE × RTTmin / seg_size`.)
    fn carried(&self, flow: &Flow) -> u32 {
        let bytes = self.bandwidth.smooth.saturating_mul(u64::from(self.rtt.min));
        let packets = bytes / u64::from(flow.mss_bytes);
        u32::try_from(packets).unwrap_or(u32::MAX).max(CWND_MIN)
    }
}

impl CongestionControl for Westwood {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn on_start(&mut self, flow: &Flow, _control: &mut Control) {
        let initial = INITIAL_RTT_S * flow.hz;
        *self = Westwood {
            rtt: Rtt { latest: initial, min: initial, min_is_stale: true },
            sample: Sample { since: flow.jiffies(), bytes: 0 },
            hz: flow.hz,
            ..Westwood::default()
        };
    }

    fn on_pkts_acked(&mut self, ack: &Ack, flow: &Flow, _control: &mut Control) {
        // In Linux 6.1 of 2022 an ACK was counted with the RTT of the previous ACK; in 6.1.192 with its own.
        if let Some(rtt_us @ 1..) = ack.rtt_us {
            self.rtt.latest = flow.us_to_jiffies(u64::from(rtt_us));
        }
        self.measure(flow);
        self.sample.bytes += u64::from(self.counted.packets(ack, flow)) * u64::from(flow.mss_bytes);
        let Rtt { latest, min, .. } = self.rtt;
        self.rtt.min = if std::mem::take(&mut self.rtt.min_is_stale) { latest } else { min.min(latest) };
    }

    /// Halves the window like Reno; after a timeout it returns the packets that the path carries.
    fn on_congestion(&mut self, cause: Cause, flow: &Flow, control: &Control) -> u32 {
        if cause == Cause::Timeout {
            self.rtt.min_is_stale = true;
            self.carried(flow)
        } else {
            (control.cwnd / 2).max(CWND_MIN)
        }
    }

    fn on_cwr_complete(&mut self, flow: &Flow, control: &mut Control) {
        control.ssthresh = self.carried(flow);
        control.cwnd = control.ssthresh.min(control.cwnd_clamp);
    }

    #[expect(clippy::cast_precision_loss, reason = "a bandwidth in bit/s is far below 2^53")]
    fn internals(&self, record: &mut dyn FnMut(&'static str, f64)) {
        let Bandwidth { coarse, smooth } = self.bandwidth;
        let bit_per_s = |per_tick: u64| {
            let known = coarse > 0 || smooth > 0;
            if known { (8 * u64::from(self.hz) * per_tick) as f64 } else { f64::NAN }
        };
        record("bwe_bit_per_s", bit_per_s(smooth));
        record("sample_bit_per_s", bit_per_s(coarse));
        let rtt_min = if self.rtt.min_is_stale { f64::NAN } else { f64::from(self.rtt.min) };
        record("rtt_min_ms", rtt_min * 1e3 / f64::from(self.hz));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Time;

    const MSS_BYTES: u32 = 1000;

    /// A flow with 1000 ticks per second after its first ACK, without duplicate ACKs.
    fn started() -> (Westwood, Flow) {
        let mut westwood = Westwood::default();
        let mut flow = Flow::new(1000, MSS_BYTES);
        westwood.on_start(&flow, &mut Control::default());
        flow.nxt = 1_000_000;
        westwood.on_pkts_acked(&Ack::default(), &flow, &mut Control::default());
        (westwood, flow)
    }

    /// Acknowledges `packets` after `ms`, with an RTT of the same length.
    fn acked((westwood, flow): &mut (Westwood, Flow), ms: u32, packets: u32) {
        flow.now += Time::from_ms(u64::from(ms));
        flow.una += packets;
        let ack = Ack { acked: packets, rtt_us: Some(ms * 1000), ..Ack::default() };
        westwood.on_pkts_acked(&ack, flow, &mut Control::default());
    }

    fn filters(pair: &(Westwood, Flow)) -> (u64, u64) {
        (pair.0.bandwidth.coarse, pair.0.bandwidth.smooth)
    }

    /// 100 packets of 1000 bytes in 100 ticks, which the ACK of tick 201 finds complete: 100 000 / 201 = 497.
    /// Then 300 000 / 102 = 2941: (7 × 497 + 2941) / 8 = 802, and (7 × 497 + 802) / 8 = 535.
    #[test]
    fn bandwidth_is_filtered_twice_with_seven_eighths() {
        let mut pair = started();
        acked(&mut pair, 100, 100);
        assert_eq!(filters(&pair), (0, 0), "a sample lasts longer than an RTT");
        acked(&mut pair, 101, 300);
        assert_eq!(filters(&pair), (497, 497));
        acked(&mut pair, 101, 0);
        assert_eq!(filters(&pair), (497, 497), "101 ticks are no more than an RTT");
        acked(&mut pair, 1, 0);
        assert_eq!(filters(&pair), (802, 535));
    }

    /// RTT 10 ms: no sample before 51 ticks.
    #[test]
    fn a_sample_lasts_longer_than_50_ms() {
        let mut pair = started();
        (0..5).for_each(|_| acked(&mut pair, 10, 10));
        assert_eq!(filters(&pair), (0, 0));
        acked(&mut pair, 10, 10);
        assert_eq!(filters(&pair), (50_000 / 60, 50_000 / 60));
    }

    /// 2000 bytes per tick × 50 ticks = 100 packets, whatever the window was.
    #[test]
    fn after_a_loss_the_window_is_bandwidth_times_smallest_rtt() {
        let (mut westwood, flow) = started();
        westwood.bandwidth = Bandwidth { coarse: 0, smooth: 2000 };
        westwood.rtt.min = 50;
        let mut control = Control::new(400, 400);
        assert_eq!(westwood.on_congestion(Cause::Loss, &flow, &control), 200, "Reno's half during recovery");
        westwood.on_cwr_complete(&flow, &mut control);
        assert_eq!((control.cwnd, control.ssthresh), (100, 100));
        assert_eq!(westwood.on_congestion(Cause::Timeout, &flow, &control), 100);
    }

    #[test]
    fn without_a_bandwidth_the_window_is_two_packets() {
        let (mut westwood, flow) = started();
        let mut control = Control::new(400, 400);
        westwood.on_cwr_complete(&flow, &mut control);
        assert_eq!(control.cwnd, 2);
    }

    #[test]
    fn a_timeout_makes_the_smallest_rtt_stale() {
        let mut pair = started();
        acked(&mut pair, 10, 1);
        acked(&mut pair, 30, 1);
        assert_eq!(pair.0.rtt.min, 10);
        pair.0.on_congestion(Cause::Timeout, &pair.1, &Control::default());
        acked(&mut pair, 50, 1);
        assert_eq!(pair.0.rtt.min, 50, "the RTT of the next ACK replaces it");
    }

    /// Three duplicate ACKs count 3 packets; the following ACK of 5 packets counts the other 2. After ten
    /// duplicate ACKs, partial ACKs of 4 packets count one each until the 10 are used up: 10 - 4 - 4 = 2, and
    /// 4 - 2 = 2.
    #[test]
    fn packets_are_counted_once_after_duplicate_acks() {
        let (_, mut flow) = started();
        let slow = Ack { slow_path: true, ..Ack::default() };
        let mut counted = Counted { una: Some(0), ahead: 0 };
        let total: u32 = (0..3).map(|_| counted.packets(&slow, &flow)).sum();
        flow.una += 5;
        assert_eq!((total, counted.packets(&slow, &flow)), (3, 2));
        (0..10).for_each(|_| assert_eq!(counted.packets(&slow, &flow), 1));
        for packets in [1, 1, 2] {
            flow.una += 4;
            assert_eq!(counted.packets(&slow, &flow), packets);
        }
    }

    #[test]
    fn a_predicted_ack_is_counted_in_full_as_in_linux() {
        let (_, mut flow) = started();
        let mut counted = Counted { una: Some(0), ahead: 3 };
        flow.una += 5;
        assert_eq!(counted.packets(&Ack::default(), &flow), 5);
        assert_eq!(counted.ahead, 3);
    }
}
