//! The use of the metrics of ended connections by a sender (RFC 9040, temporal sharing).
//!
//! The rules are those of Linux with `tcp_no_metrics_save = 0` and `tcp_no_ssthresh_metrics_save = 0`, the only ones before
//! 5.6: the slow start threshold, the RTT, which affects the first timeout alone, and the reordering.

use super::Sender;
use crate::Time;
use crate::tcp::flow::State;
use crate::tcp::metrics::{Metrics, SharedMetrics};
use crate::tcp::rack::DUP_THRESHOLD;

/// Age from which a record is not used (Linux: `TCP_METRICS_TIMEOUT`).
const LIFETIME: Time = Time::from_secs(3600);

impl Sender {
    /// Shares a record of ended connections with other senders of the same host.
    pub(crate) fn share(&mut self, metrics: SharedMetrics) {
        self.metrics = Some(metrics);
    }

    /// Begins with what the host kept of earlier connections (Linux: `tcp_init_metrics`).
    pub(super) fn use_kept_metrics(&mut self) {
        let now = self.flow.now;
        let kept = self.metrics.as_ref().and_then(|metrics| metrics.with(|kept| *kept));
        let Some(kept) = kept.filter(|kept| now.since(kept.at) <= LIFETIME) else { return };
        if kept.ssthresh > 0 {
            self.control.ssthresh = kept.ssthresh.min(self.control.cwnd_clamp);
        }
        if kept.reordering > 0 {
            self.rack.reordering = kept.reordering;
            // FACK and early retransmit, which a sender gives up once it has seen reordering, are given up from the
            // start. RACK, whose behaviour depends on whether reordering was seen, takes only the number of packets.
            self.rack.reordering_seen |= !self.detects_by_time();
        }
        self.flow.rtt.seed_timeout(kept.rtt_8us);
    }

    /// Keeps the metrics of this connection, which has ended (Linux: `tcp_update_metrics`).
    pub(crate) fn keep_metrics(&self) {
        let Some(metrics) = &self.metrics else { return };
        let now = self.flow.now;
        let first = Metrics { ssthresh: self.setup.host.initial_ssthresh.unwrap_or(0), ..Metrics::default() };
        metrics.with(|kept| {
            if self.flow.rtt.is_backed_off() || self.flow.rtt.srtt_8us() == 0 {
                // Nothing was measured, which puts the record in doubt.
                if let Some(kept) = kept {
                    kept.rtt_8us = 0;
                }
                return;
            }
            let before = kept.filter(|kept| now.since(kept.at) <= LIFETIME).unwrap_or(first);
            *kept = Some(self.updated(before));
        });
    }

    fn updated(&self, before: Metrics) -> Metrics {
        let (cwnd, ssthresh) = (self.control.cwnd, self.control.ssthresh);
        let srtt_8us = self.flow.rtt.srtt_8us();
        let mut kept = Metrics { at: self.flow.now, ..before };
        // A longer RTT counts at once, a shorter one for an eighth: a timeout that is too long does less harm.
        kept.rtt_8us = if srtt_8us >= before.rtt_8us {
            srtt_8us
        } else {
            before.rtt_8us - ((before.rtt_8us - srtt_8us) >> 3)
        };
        if !self.control.has_ssthresh() {
            // The first slow start has not ended: half its window is only a lower bound.
            if before.ssthresh > 0 {
                kept.ssthresh = before.ssthresh.max(cwnd / 2);
            }
        } else if !self.control.in_slow_start() && self.flow.state == State::Open {
            kept.ssthresh = ssthresh.max(cwnd / 2);
        } else {
            if before.ssthresh > 0 {
                kept.ssthresh = before.ssthresh.max(ssthresh);
            }
            if self.rack.reordering != DUP_THRESHOLD {
                kept.reordering = before.reordering.max(self.rack.reordering);
            }
        }
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::Entry;
    use crate::run::Host;
    use crate::tcp::Setup;
    use crate::tcp::sender::tests_setup;

    fn sender(setup: Setup, metrics: &SharedMetrics) -> Sender {
        let mut sender = Sender::new(setup, Entry::find("reno").expect("an algorithm").build_default());
        sender.share(metrics.clone());
        sender
    }

    /// Ends a connection with that window, threshold and RTT at that time.
    fn end(metrics: &SharedMetrics, cwnd: u32, ssthresh: Option<u32>, rtt_ms: u32, at: Time) {
        let mut ended = sender(tests_setup(Host::default()), metrics);
        ended.control.cwnd = cwnd;
        ended.control.ssthresh = ssthresh.unwrap_or(ended.control.ssthresh);
        ended.flow.now = at;
        ended.flow.rtt.update(rtt_ms * 1000, 0, 0);
        ended.keep_metrics();
    }

    /// Threshold of a connection that begins at that time; `None` for none.
    fn begin(metrics: &SharedMetrics, at: Time) -> Option<u32> {
        let mut begun = sender(tests_setup(Host::default()), metrics);
        begun.flow.now = at;
        begun.use_kept_metrics();
        begun.control.has_ssthresh().then_some(begun.control.ssthresh)
    }

    #[test]
    fn a_threshold_is_kept_for_an_hour() {
        let metrics = SharedMetrics::default();
        assert_eq!(begin(&metrics, Time::ZERO), None);
        end(&metrics, 30, Some(20), 10, Time::from_secs(1));
        assert_eq!(begin(&metrics, Time::from_secs(3601)), Some(20));
        assert_eq!(begin(&metrics, Time::from_secs(3602)), None);
        // In congestion avoidance half of a window above twice the threshold counts.
        end(&metrics, 50, Some(20), 10, Time::from_secs(2));
        assert_eq!(begin(&metrics, Time::from_secs(3)), Some(25));
    }

    #[test]
    fn a_first_slow_start_that_did_not_end_raises_a_threshold_and_makes_none() {
        let metrics = SharedMetrics::default();
        end(&metrics, 100, None, 10, Time::from_secs(1));
        assert_eq!(begin(&metrics, Time::from_secs(2)), None);
        end(&metrics, 30, Some(20), 10, Time::from_secs(3));
        end(&metrics, 38, None, 10, Time::from_secs(4));
        assert_eq!(begin(&metrics, Time::from_secs(5)), Some(20));
        end(&metrics, 100, None, 10, Time::from_secs(6));
        assert_eq!(begin(&metrics, Time::from_secs(7)), Some(50));
    }

    /// 100 ms, then 20 ms: 100 - 80/8 = 90 ms.
    #[test]
    fn a_shorter_rtt_counts_for_an_eighth() {
        let metrics = SharedMetrics::default();
        end(&metrics, 30, Some(20), 100, Time::from_secs(1));
        end(&metrics, 30, Some(20), 20, Time::from_secs(2));
        assert_eq!(metrics.with(|kept| kept.map(|kept| kept.rtt_8us)), Some(90_000 * 8));
    }
}
