//! The `flows` table: one row per flow.

use serde::{Deserialize, Serialize};

use super::column;
use super::histogram::Histogram;
use crate::Time;
use crate::run::FlowSpec;
use crate::table::{Table, Values};

/// One row of the `flows` table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowRow {
    /// Name of the flow.
    pub name: String,
    /// Congestion control, as read back from the engine.
    pub algorithm: String,
    /// Names of the elements from the sender to the receiver.
    pub path: Vec<String>,
    /// Time at which the connection was opened.
    pub start_ns: u64,
    /// Time at which the application had to stop writing; `None`: at the end of the run.
    #[serde(default)]
    pub stop_ns: Option<u64>,
    /// Time from the start until the last byte reached the receiving application; `None`: it did not within
    /// the run.
    #[serde(default)]
    pub completion_ns: Option<u64>,
    /// Bytes that reached the receiving application, in order.
    pub delivered_bytes: u64,
    /// Counts over the whole run.
    #[serde(default)]
    pub counts: FlowCounts,
    /// Measurements over the steady interval.
    pub steady: SteadyCounts,
    /// RTTs in the steady interval; `None`: no RTT was measured.
    #[serde(default)]
    pub rtt: Option<RttSummary>,
}

/// Counts of a flow over the whole run; `None` where the engine does not report the count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FlowCounts {
    /// Data packets sent, retransmissions included.
    pub sent_packets: Option<u64>,
    /// Data packets retransmitted.
    pub retransmitted_packets: Option<u64>,
    /// Data packets that the sender detected as lost.
    pub lost_packets: Option<u64>,
    /// Data packets that the network dropped or damaged.
    pub dropped_packets: Option<u64>,
    /// Expiries of the retransmission timer.
    pub timeouts: Option<u64>,
    /// Timeouts found to be spurious.
    pub spurious_timeouts: Option<u64>,
    /// Episodes of fast recovery.
    pub recoveries: Option<u64>,
    /// Recoveries found to be spurious and undone.
    pub undone_recoveries: Option<u64>,
    /// ACKs that carried ECN-Echo.
    pub ecn_echoes: Option<u64>,
}

/// Counts of a flow over the steady interval; `None` where the engine does not report the count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SteadyCounts {
    /// Bytes that reached the receiving application, in order.
    pub delivered_bytes: u64,
    /// Data packets sent, retransmissions included.
    #[serde(default)]
    pub sent_packets: Option<u64>,
    /// Data packets retransmitted.
    #[serde(default)]
    pub retransmitted_packets: Option<u64>,
    /// Expiries of the retransmission timer.
    #[serde(default)]
    pub timeouts: Option<u64>,
    /// Time in which the receive window limited the sender, in ns.
    #[serde(default)]
    pub rwnd_limited_ns: Option<u64>,
    /// Time in which the send buffer limited the sender, in ns.
    #[serde(default)]
    pub sndbuf_limited_ns: Option<u64>,
}

/// RTTs of a flow in the steady interval, in ms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RttSummary {
    /// Smallest RTT.
    pub min_ms: f64,
    /// Mean RTT.
    pub mean_ms: f64,
    /// Percentiles of the RTT, in the order of [`RttSummary::PERCENTS`].
    pub percentiles_ms: [f64; RttSummary::PERCENTS.len()],
}

impl RttSummary {
    /// Percentiles in the table.
    pub const PERCENTS: [u64; 6] = [5, 25, 50, 75, 95, 99];

    /// Summarises RTTs given in µs; `None` if there are none.
    pub fn of(rtts_us: &Histogram) -> Option<RttSummary> {
        let mut percentiles_ms = [0.0; RttSummary::PERCENTS.len()];
        for (percentile_ms, percent) in percentiles_ms.iter_mut().zip(RttSummary::PERCENTS) {
            *percentile_ms = rtts_us.quantile(percent)? / 1e3;
        }
        let (min_us, mean_us) = (rtts_us.min()?, rtts_us.mean()?);
        Some(RttSummary { min_ms: f64::from(min_us) / 1e3, mean_ms: mean_us / 1e3, percentiles_ms })
    }
}

impl FlowRow {
    /// A row without measurements. `algorithm` is the name that the engine reports.
    pub fn new(spec: &FlowSpec, algorithm: &str) -> FlowRow {
        FlowRow {
            name: spec.name.clone(),
            algorithm: algorithm.to_owned(),
            path: spec.forward.clone(),
            start_ns: spec.start_ns,
            stop_ns: spec.stop_ns,
            ..FlowRow::default()
        }
    }
}

/// The `flows` table of a run whose steady interval lasts `steady`; rows are in the order of the run's flows.
#[expect(clippy::cast_precision_loss, reason = "bytes of a run are far below 2^53")]
pub fn flows_table(rows: &[FlowRow], steady: Time) -> Table {
    fn each<T>(rows: &[FlowRow], value: impl Fn(&FlowRow) -> T) -> Vec<T> {
        rows.iter().map(value).collect()
    }
    let text = |value: fn(&FlowRow) -> String| Values::Text(each(rows, value));
    let known = |value: fn(&FlowRow) -> u64| Values::U64(each(rows, value));
    let optional = |value: fn(&FlowRow) -> Option<u64>| Values::MaybeU64(each(rows, value));
    let rtt =
        |value: &dyn Fn(&RttSummary) -> f64| Values::MaybeF64(each(rows, |row| row.rtt.as_ref().map(value)));
    let seconds = |ns: u64| Time::from_ns(ns).as_secs_f64();
    let limited =
        |value: fn(&FlowRow) -> Option<u64>| Values::MaybeF64(each(rows, |row| value(row).map(seconds)));
    let goodput = |row: &FlowRow| row.steady.delivered_bytes as f64 * 8.0 / steady.as_secs_f64();
    let mut columns = vec![
        column("flow", Values::U32((0..).take(rows.len()).collect())),
        column("name", text(|row| row.name.clone())),
        column("algorithm", text(|row| row.algorithm.clone())),
        column("path", text(|row| row.path.join(" > "))),
        column("start_s", Values::F64(each(rows, |row| seconds(row.start_ns)))),
        column("stop_s", Values::MaybeF64(each(rows, |row| row.stop_ns.map(seconds)))),
        column("completion_s", Values::MaybeF64(each(rows, |row| row.completion_ns.map(seconds)))),
        column("delivered_bytes", known(|row| row.delivered_bytes)),
        column("sent_packets", optional(|row| row.counts.sent_packets)),
        column("retransmitted_packets", optional(|row| row.counts.retransmitted_packets)),
        column("lost_packets", optional(|row| row.counts.lost_packets)),
        column("dropped_packets", optional(|row| row.counts.dropped_packets)),
        column("timeouts", optional(|row| row.counts.timeouts)),
        column("spurious_timeouts", optional(|row| row.counts.spurious_timeouts)),
        column("recoveries", optional(|row| row.counts.recoveries)),
        column("undone_recoveries", optional(|row| row.counts.undone_recoveries)),
        column("ecn_echoes", optional(|row| row.counts.ecn_echoes)),
        column("steady_delivered_bytes", known(|row| row.steady.delivered_bytes)),
        column("goodput_bit_per_s", Values::F64(each(rows, goodput))),
        column("steady_sent_packets", optional(|row| row.steady.sent_packets)),
        column("steady_retransmitted_packets", optional(|row| row.steady.retransmitted_packets)),
        column("steady_timeouts", optional(|row| row.steady.timeouts)),
        column("steady_rwnd_limited_s", limited(|row| row.steady.rwnd_limited_ns)),
        column("steady_sndbuf_limited_s", limited(|row| row.steady.sndbuf_limited_ns)),
        column("rtt_min_ms", rtt(&|rtt| rtt.min_ms)),
        column("rtt_mean_ms", rtt(&|rtt| rtt.mean_ms)),
    ];
    columns.extend(RttSummary::PERCENTS.iter().enumerate().map(|(index, percent)| {
        column(&format!("rtt_p{percent:02}_ms"), rtt(&|rtt| rtt.percentiles_ms[index]))
    }));
    Table { name: "flows", columns }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values<'a>(table: &'a Table, name: &str) -> &'a Values {
        &table.columns.iter().find(|column| column.name == name).unwrap().values
    }

    /// 2 500 000 bytes in 2 s are 10 Mbit/s.
    #[test]
    fn goodput_is_measured_over_the_steady_interval() {
        let steady = SteadyCounts { delivered_bytes: 2_500_000, ..SteadyCounts::default() };
        let table = flows_table(&[FlowRow { steady, ..FlowRow::default() }], Time::from_secs(2));
        assert_eq!(values(&table, "goodput_bit_per_s"), &Values::F64(vec![1e7]));
        assert_eq!(values(&table, "sent_packets"), &Values::MaybeU64(vec![None]));
        assert_eq!(values(&table, "rtt_min_ms"), &Values::MaybeF64(vec![None]));
    }

    /// Values of less than 256 µs have a bucket each, so that percentiles of 1 to 100 are exact.
    #[test]
    fn round_trip_times_are_summarised_in_ms() {
        let mut rtts_us = Histogram::default();
        assert_eq!(RttSummary::of(&rtts_us), None);
        (1..=100).for_each(|us| rtts_us.add(us));
        let summary = RttSummary::of(&rtts_us).unwrap();
        let expected = RttSummary {
            min_ms: 0.001,
            mean_ms: 0.0505,
            percentiles_ms: [0.005, 0.025, 0.05, 0.075, 0.095, 0.099],
        };
        assert_eq!(summary, expected);
    }
}
