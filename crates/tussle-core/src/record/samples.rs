//! The `samples` table: each flow over time.

use super::{Labels, column, ms, seconds};
use crate::Time;
use crate::table::{Table, Values};
use crate::tcp::{Receiver, Sender, State};

/// The rows so far.
#[derive(Debug, Default)]
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
    /// The algorithms' inner quantities; a column shorter than the others lacks its last rows.
    internals: Vec<(String, Vec<Option<f64>>)>,
    /// The last window, ssthresh and state of each flow.
    last: Vec<Option<(u32, u32, State)>>,
}

impl Samples {
    /// Whether the window, ssthresh or state of a flow changed since its last row.
    pub(crate) fn has_changed(&self, flow: u32, sender: &Sender) -> bool {
        self.last.get(flow as usize).copied().flatten() != Some(key(sender))
    }

    /// Adds a row for a flow.
    pub(crate) fn add(&mut self, now: Time, (flow, sender, receiver): (u32, &Sender, &Receiver)) {
        if self.last.len() <= flow as usize {
            self.last.resize(flow as usize + 1, None);
        }
        self.last[flow as usize] = Some(key(sender));
        let rtt = &sender.flow.rtt;
        self.flow.push(flow);
        self.time.push(now);
        self.cwnd.push(sender.control.cwnd);
        self.ssthresh.push(sender.control.has_ssthresh().then_some(sender.control.ssthresh));
        self.srtt.push(rtt.srtt_us().map(ms));
        self.rtt.push(rtt.latest_us().map(ms));
        self.in_flight.push(sender.flow.in_flight());
        self.delivered.push(receiver.delivered_bytes());
        self.retransmitted.push(sender.counts.retransmitted_packets);
        self.pacing.push(sender.pacing_bit_per_s());
        self.state.push(sender.flow.state.name());
        let row = self.flow.len() - 1;
        let algorithm = sender.algorithm();
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

fn key(sender: &Sender) -> (u32, u32, State) {
    (sender.control.cwnd, sender.control.ssthresh, sender.flow.state)
}
