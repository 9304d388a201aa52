//! Measurements of a simulated flow during the run.

use super::flows::{FlowCounts, FlowRow, RttSummary, SteadyCounts};
use super::histogram::Histogram;
use crate::Time;
use crate::run::FlowSpec;
use crate::tcp::{Counts, LimitedTimes};

/// Measurements of a flow during the run.
#[derive(Clone, Debug, Default)]
pub(crate) struct FlowMeasures {
    /// Data packets of the flow that the path dropped, or that the receiver dropped because they were
    /// damaged.
    pub(crate) dropped_packets: u64,
    /// RTTs in the steady interval, in µs.
    pub(crate) rtts_us: Histogram,
    steady_begin: FlowCounters,
    steady_end: FlowCounters,
}

/// Counters of a flow at an instant.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FlowCounters {
    pub(crate) delivered_bytes: u64,
    pub(crate) counts: Counts,
    /// Time in which buffers limited the sender.
    pub(crate) limited: LimitedTimes,
}

/// Results of a flow's endpoints at the end of the run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlowTotals<'a> {
    pub(crate) algorithm: &'a str,
    /// Time at which the last byte of a finite flow was delivered; `None` before.
    pub(crate) finished: Option<Time>,
    /// Data packets that the sender detected as lost.
    pub(crate) lost_packets: u64,
    pub(crate) counters: FlowCounters,
}

impl FlowMeasures {
    /// Records the counters at the start of the steady interval.
    pub(crate) fn begin_steady(&mut self, counters: FlowCounters) {
        self.steady_begin = counters;
    }

    /// Records the counters at the end of the steady interval.
    pub(crate) fn end_steady(&mut self, counters: FlowCounters) {
        self.steady_end = counters;
    }

    /// The flow's row in the `flows` table, at the end of the run.
    pub(crate) fn row(&self, spec: &FlowSpec, totals: &FlowTotals) -> FlowRow {
        let FlowCounters { delivered_bytes, counts, .. } = totals.counters;
        let (begin, end) = (&self.steady_begin, &self.steady_end);
        let limited = |of: fn(&LimitedTimes) -> Time| Some(of(&end.limited).since(of(&begin.limited)).ns());
        FlowRow {
            completion_ns: totals.finished.map(|at| at.ns() - spec.start_ns),
            delivered_bytes,
            counts: FlowCounts {
                sent_packets: Some(counts.sent_packets),
                retransmitted_packets: Some(counts.retransmitted_packets),
                lost_packets: Some(totals.lost_packets),
                dropped_packets: Some(self.dropped_packets),
                timeouts: Some(counts.timeouts.into()),
                spurious_timeouts: Some(counts.spurious_timeouts.into()),
                recoveries: Some(counts.recoveries.into()),
                undone_recoveries: Some(counts.undone_recoveries.into()),
                ecn_echoes: Some(counts.ecn_echoes.into()),
            },
            steady: SteadyCounts {
                delivered_bytes: end.delivered_bytes - begin.delivered_bytes,
                sent_packets: Some(end.counts.sent_packets - begin.counts.sent_packets),
                retransmitted_packets: Some(
                    end.counts.retransmitted_packets - begin.counts.retransmitted_packets,
                ),
                timeouts: Some((end.counts.timeouts - begin.counts.timeouts).into()),
                rwnd_limited_ns: limited(|times| times.receive_window),
                sndbuf_limited_ns: limited(|times| times.send_buffer),
            },
            rtt: RttSummary::of(&self.rtts_us),
            ..FlowRow::new(spec, totals.algorithm)
        }
    }
}
