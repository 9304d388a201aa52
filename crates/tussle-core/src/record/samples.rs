//! The `samples` table: the state of each flow over time.

use super::{Labels, column, ms, seconds};
use crate::Time;
use crate::cc::CongestionControl;
use crate::table::{Table, Values};
use crate::tcp::State;

/// Rows of the table so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Samples {
    flow: Vec<u32>,
    time: Vec<Time>,
    cwnd: Vec<u32>,
    ssthresh: Vec<Option<u32>>,
    srtt: Vec<Option<f64>>,
    rtt: Vec<Option<f64>>,
    in_flight: Vec<u32>,
    delivered: Vec<u64>,
    retransmitted: Vec<u64>,
    pacing: Vec<Option<f64>>,
    state: Labels,
    /// Internal quantities of the algorithms. A column that is shorter than the others has no values in the
    /// last rows.
    internals: Vec<(String, Vec<Option<f64>>)>,
    /// The last window, ssthresh and state of each flow.
    last: Vec<Option<(Window, State)>>,
}

/// The congestion window and ssthresh of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) cwnd_packets: u32,
    /// The slow-start threshold; `None` while it is infinite.
    pub(crate) ssthresh_packets: Option<u32>,
}

/// State of a flow at an instant.
#[derive(Debug)]
pub(crate) struct Sample<'a> {
    pub(crate) window: Window,
    pub(crate) state: State,
    pub(crate) srtt_us: Option<u32>,
    pub(crate) rtt_us: Option<u32>,
    pub(crate) in_flight_packets: u32,
    pub(crate) delivered_bytes: u64,
    pub(crate) retransmitted_packets: u64,
    pub(crate) pacing_bit_per_s: Option<f64>,
    /// The algorithm whose internal quantities are recorded.
    pub(crate) algorithm: Option<&'a dyn CongestionControl>,
}

impl Samples {
    /// Whether the window, ssthresh or state of a flow differs from its last row.
    pub(crate) fn has_changed(&self, flow: u32, window: Window, state: State) -> bool {
        self.last.get(flow as usize).copied().flatten() != Some((window, state))
    }

    /// Adds a row for a flow.
    pub(crate) fn add(&mut self, now: Time, flow: u32, sample: &Sample) {
        if self.last.len() <= flow as usize {
            self.last.resize(flow as usize + 1, None);
        }
        self.last[flow as usize] = Some((sample.window, sample.state));
        self.flow.push(flow);
        self.time.push(now);
        self.cwnd.push(sample.window.cwnd_packets);
        self.ssthresh.push(sample.window.ssthresh_packets);
        self.srtt.push(sample.srtt_us.map(ms));
        self.rtt.push(sample.rtt_us.map(ms));
        self.in_flight.push(sample.in_flight_packets);
        self.delivered.push(sample.delivered_bytes);
        self.retransmitted.push(sample.retransmitted_packets);
        self.pacing.push(sample.pacing_bit_per_s);
        self.state.push(sample.state.name());
        if let Some(algorithm) = sample.algorithm {
            self.add_internals(algorithm);
        }
    }

    fn add_internals(&mut self, algorithm: &dyn CongestionControl) {
        let row = self.flow.len() - 1;
        algorithm.internals(&mut |name, value| {
            let found = self.internals.iter().position(|(full, _)| {
                full.strip_prefix(algorithm.name()).and_then(|rest| rest.strip_prefix('.')) == Some(name)
            });
            let index = found.unwrap_or_else(|| {
                self.internals.push((format!("{}.{name}", algorithm.name()), Vec::new()));
                self.internals.len() - 1
            });
            let values = &mut self.internals[index].1;
            values.resize(row, None);
            values.push(Some(value).filter(|value| !value.is_nan()));
        });
    }

    /// The table.
    pub(crate) fn table(mut self) -> Table {
        let rows = self.flow.len();
        let mut columns = vec![
            column("flow", Values::U32(self.flow)),
            column("time_s", seconds(&self.time)),
            column("cwnd_packets", Values::U32(self.cwnd)),
            column("ssthresh_packets", Values::MaybeU32(self.ssthresh)),
            column("srtt_ms", Values::MaybeF64(self.srtt)),
            column("rtt_ms", Values::MaybeF64(self.rtt)),
            column("in_flight_packets", Values::U32(self.in_flight)),
            column("delivered_bytes", Values::U64(self.delivered)),
            column("retransmitted_packets", Values::U64(self.retransmitted)),
            column("pacing_bit_per_s", Values::MaybeF64(self.pacing)),
            column("state", self.state.values()),
        ];
        self.internals.sort_by(|a, b| a.0.cmp(&b.0));
        columns.extend(self.internals.into_iter().map(|(name, mut values)| {
            values.resize(rows, None);
            column(&name, Values::MaybeF64(values))
        }));
        Table { name: "samples", columns }
    }
}
