//! The `flows` table: one row a flow.

use super::histogram::Histogram;
use super::{column, ms};
use crate::Time;
use crate::run::FlowSpec;
use crate::table::{Table, Values};
use crate::tcp::{Counts, Receiver, Sender};

/// What is measured of a flow while it runs.
#[derive(Clone, Debug, Default)]
pub(crate) struct FlowMeasures {
    /// Its data packets that the path dropped, or damaged so that the receiver did.
    pub(crate) dropped_packets: u64,
    /// Round-trip times in the steady interval, in µs.
    pub(crate) rtt: Histogram,
    from: Snapshot,
    to: Snapshot,
}

/// What a flow had done by some instant.
#[derive(Clone, Copy, Debug, Default)]
struct Snapshot {
    delivered_bytes: u64,
    counts: Counts,
}

impl FlowMeasures {
    /// The steady interval begins.
    pub(crate) fn begin(&mut self, sender: &Sender, receiver: &Receiver) {
        self.from = snapshot(sender, receiver);
    }

    /// The steady interval ends.
    pub(crate) fn end(&mut self, sender: &Sender, receiver: &Receiver) {
        self.to = snapshot(sender, receiver);
    }
}

fn snapshot(sender: &Sender, receiver: &Receiver) -> Snapshot {
    Snapshot { delivered_bytes: receiver.delivered_bytes(), counts: sender.counts }
}

/// A flow at the end of its run.
pub(crate) struct Finished<'a> {
    pub(crate) spec: &'a FlowSpec,
    pub(crate) sender: &'a Sender,
    pub(crate) receiver: &'a Receiver,
    pub(crate) measures: &'a FlowMeasures,
}

impl Finished<'_> {
    fn quantile_ms(&self, percent: u64) -> Option<f64> {
        self.measures.rtt.quantile(percent).map(|us| us / 1e3)
    }
}

/// The table of flows that were measured over `steady`.
#[expect(clippy::cast_precision_loss, reason = "bytes of a run are far below 2^53")]
pub(crate) fn table(flows: &[Finished], steady: Time) -> Table {
    fn of<'a, T>(flows: &[Finished<'a>], value: impl Fn(&Finished<'a>) -> T) -> Vec<T> {
        flows.iter().map(value).collect()
    }
    let text = |value: fn(&Finished) -> String| Values::Text(of(flows, value));
    let u64s = |value: fn(&Finished) -> u64| Values::U64(of(flows, value));
    let u32s = |value: fn(&Finished) -> u32| Values::U32(of(flows, value));
    let maybe = |value: fn(&Finished) -> Option<f64>| Values::MaybeF64(of(flows, value));
    let start = |spec: &FlowSpec| Time::from_ns(spec.start_ns);
    let goodput = |flow: &Finished| {
        (flow.measures.to.delivered_bytes - flow.measures.from.delivered_bytes) as f64 * 8.0
            / steady.as_secs_f64()
    };
    let indices = (0..).take(flows.len()).collect();
    Table {
        name: "flows",
        columns: vec![
            column("flow", Values::U32(indices)),
            column("name", text(|flow| flow.spec.name.clone())),
            column("algorithm", text(|flow| flow.sender.algorithm().name().to_owned())),
            column("path", text(|flow| flow.spec.forward.join(" > "))),
            column("start_s", Values::F64(of(flows, |flow| start(flow.spec).as_secs_f64()))),
            column("stop_s", maybe(|flow| flow.spec.stop_ns.map(|ns| Time::from_ns(ns).as_secs_f64()))),
            column(
                "completion_s",
                Values::MaybeF64(of(flows, |flow| {
                    flow.receiver.finished().map(|at| (at - start(flow.spec)).as_secs_f64())
                })),
            ),
            column("delivered_bytes", u64s(|flow| flow.receiver.delivered_bytes())),
            column("sent_packets", u64s(|flow| flow.sender.counts.sent_packets)),
            column("retransmitted_packets", u64s(|flow| flow.sender.counts.retransmitted_packets)),
            column("lost_packets", u64s(|flow| u64::from(flow.sender.flow.lost))),
            column("dropped_packets", u64s(|flow| flow.measures.dropped_packets)),
            column("timeouts", u32s(|flow| flow.sender.counts.timeouts)),
            column("spurious_timeouts", u32s(|flow| flow.sender.counts.spurious_timeouts)),
            column("recoveries", u32s(|flow| flow.sender.counts.recoveries)),
            column("undone_recoveries", u32s(|flow| flow.sender.counts.undone_recoveries)),
            column("ecn_echoes", u32s(|flow| flow.sender.counts.ecn_echoes)),
            column(
                "steady_delivered_bytes",
                u64s(|flow| flow.measures.to.delivered_bytes - flow.measures.from.delivered_bytes),
            ),
            column("goodput_bit_per_s", Values::F64(of(flows, goodput))),
            column(
                "steady_sent_packets",
                u64s(|flow| flow.measures.to.counts.sent_packets - flow.measures.from.counts.sent_packets),
            ),
            column(
                "steady_retransmitted_packets",
                u64s(|flow| {
                    flow.measures.to.counts.retransmitted_packets
                        - flow.measures.from.counts.retransmitted_packets
                }),
            ),
            column(
                "steady_timeouts",
                u32s(|flow| flow.measures.to.counts.timeouts - flow.measures.from.counts.timeouts),
            ),
            column("rtt_min_ms", maybe(|flow| flow.measures.rtt.min().map(ms))),
            column("rtt_mean_ms", maybe(|flow| flow.measures.rtt.mean().map(|us| us / 1e3))),
            column("rtt_p05_ms", maybe(|flow| flow.quantile_ms(5))),
            column("rtt_p25_ms", maybe(|flow| flow.quantile_ms(25))),
            column("rtt_p50_ms", maybe(|flow| flow.quantile_ms(50))),
            column("rtt_p75_ms", maybe(|flow| flow.quantile_ms(75))),
            column("rtt_p95_ms", maybe(|flow| flow.quantile_ms(95))),
            column("rtt_p99_ms", maybe(|flow| flow.quantile_ms(99))),
        ],
    }
}
