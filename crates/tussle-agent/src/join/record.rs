//! Files of a measurement. Rows are written as they become complete, and each file is replaced as a whole, so
//! that a crash loses the latest rows only.

use std::fs;
use std::path::PathBuf;

use anyhow::Context;
use tussle_core::table::{Labels, Table, Values};
use tussle_join::{Direction, GRID_NS};

use super::flow_record::{CompleteRow, End, EndReason, FlowRecord};
use crate::columns::{column, seconds};
use crate::execute::rows::Samples;
use crate::execute::stream;
use crate::validity::{self, ClockOffset};

/// Largest number of rows of samples on disk: about a gigabyte, or 139 hours of one flow.
const MAX_ROWS: usize = 5_000_000;
/// Largest number of rows of samples in memory.
const MAX_UNWRITTEN: usize = 20_000;
/// Interval between two writes, in instants: 10 s.
const CHECKPOINT: u32 = 100;

/// Record of a measurement.
#[derive(Debug)]
pub(super) struct Record {
    folder: PathBuf,
    pub(super) flows: Vec<FlowRecord>,
    unwritten: UnwrittenRows,
    /// Number of files of samples, and of rows in them.
    chunks: usize,
    rows: usize,
    checkpoint_at: u32,
}

/// Rows that are not written to a file yet.
#[derive(Debug, Default)]
struct UnwrittenRows {
    samples: Samples,
    sent_packets: Vec<f64>,
    timeouts: Vec<Option<f64>>,
    claimed_bytes: Vec<Option<f64>>,
    probe_ms: Vec<Option<f64>>,
    idle_ms: Vec<Option<f64>>,
}

impl Record {
    /// An empty record in an existing, empty folder.
    pub(super) fn new(folder: PathBuf) -> Record {
        Record {
            folder,
            flows: Vec::new(),
            unwritten: UnwrittenRows::default(),
            chunks: 0,
            rows: 0,
            checkpoint_at: 0,
        }
    }

    /// Whether the record is full, so that no more rows are written.
    pub(super) fn is_full(&self) -> bool {
        self.rows >= MAX_ROWS
    }

    /// Adds the complete rows of all flows, and writes files when it is time.
    pub(super) fn settle(&mut self, now: u32) -> anyhow::Result<()> {
        (0..self.flows.len()).try_for_each(|flow| self.settle_flow(flow, now))?;
        if !self.unwritten.is_empty() && now >= self.checkpoint_at {
            self.checkpoint_at = now + CHECKPOINT;
            self.write()?;
        }
        Ok(())
    }

    /// Adds the complete rows of a flow, and writes them when there are many.
    pub(super) fn settle_flow(&mut self, flow: usize, now: u32) -> anyhow::Result<()> {
        while let Some(whole) = self.flows[flow].next_row(now) {
            if self.rows >= MAX_ROWS {
                continue;
            }
            self.rows += 1;
            self.unwritten.add(u32::try_from(flow)?, &whole, self.flows[flow].idle_us);
            if self.unwritten.probe_ms.len() >= MAX_UNWRITTEN {
                self.write()?;
            }
        }
        Ok(())
    }

    /// Writes everything, replacing each file as a whole.
    pub(super) fn write(&mut self) -> anyhow::Result<()> {
        if self.flows.is_empty() {
            return Ok(());
        }
        if !self.unwritten.is_empty() {
            let table = std::mem::take(&mut self.unwritten).table();
            self.write_whole(&format!("samples-{:06}", self.chunks), table)?;
            self.chunks += 1;
        }
        self.write_whole("flows", self.flows_table())?;
        self.write_whole("validity", self.validity_table())
    }

    fn write_whole(&self, name: &str, table: Table) -> anyhow::Result<()> {
        let unfinished = self.folder.join(format!("{name}.part"));
        let finished = self.folder.join(format!("{name}.arrow"));
        fs::write(&unfinished, stream(table)?)
            .and_then(|()| fs::rename(&unfinished, &finished))
            .with_context(|| format!("writing {}", finished.display()))
    }

    fn flows_table(&self) -> Table {
        let flows = &self.flows;
        let u64s = |of: &dyn Fn(&FlowRecord) -> u64| Values::U64(flows.iter().map(of).collect());
        let ends = |of: &dyn Fn(End) -> bool| {
            let at = |flow: &FlowRecord| flow.end.filter(|end| of(*end)).map(|end| seconds(end.at_ns));
            Values::MaybeF64(flows.iter().map(at).collect())
        };
        let mut how = Labels::default();
        for flow in flows {
            how.push(match flow.end.map(|end| end.reason) {
                Some(EndReason::Complete) => "complete",
                Some(EndReason::Stopped) => "stopped",
                Some(EndReason::Lost) => "lost",
                None => "under way",
            });
        }
        let mut direction = Labels::default();
        for flow in flows {
            direction.push(match flow.direction {
                Direction::ToServer => "forward",
                Direction::ToClient => "reverse",
            });
        }
        let text = |of: &dyn Fn(&FlowRecord) -> String| Values::Text(flows.iter().map(of).collect());
        let columns = vec![
            column("flow", Values::U32((0..).take(flows.len()).collect())),
            column("name", text(&|flow| flow.name.clone())),
            column("algorithm", text(&|flow| flow.algorithm.clone())),
            column("direction", direction.values()),
            column("start_s", Values::F64(flows.iter().map(|flow| seconds(flow.start_ns)).collect())),
            column("stop_s", Values::MaybeF64(flows.iter().map(|flow| flow.stop_ns.map(seconds)).collect())),
            column("end_s", ends(&|_| true)),
            column("complete_s", ends(&|end| end.reason == EndReason::Complete)),
            column("ended", how.values()),
            column("delivered_bytes", u64s(&|flow| flow.received_bytes)),
            column("arrived_packets", u64s(&|flow| flow.received_packets.into())),
            column("sent_packets", u64s(&|flow| flow.sender.data_segs_out.into())),
            column("retransmitted_packets", u64s(&|flow| flow.sender.total_retrans.into())),
            column(
                "timeouts",
                Values::MaybeU32(flows.iter().map(|flow| flow.sender.total_rto.map(u32::from)).collect()),
            ),
            column("contradiction", text(&|flow| flow.contradiction().unwrap_or_default())),
        ];
        Table { name: "flows", columns }
    }

    fn validity_table(&self) -> Table {
        let rows: Vec<validity::Row> = (0..)
            .zip(&self.flows)
            .filter_map(|(index, flow)| {
                let (mut sender, receiver) = (flow.sender_validity.clone()?, flow.receiver_validity.clone());
                // The client has compared the clocks, from its own side.
                let measured = receiver.as_ref().and_then(|receiver| receiver.clock);
                let ahead = |clock: ClockOffset| ClockOffset { offset_s: -clock.offset_s, ..clock };
                sender.clock = sender.clock.or(measured.map(ahead));
                Some(validity::Row { flow: index, sender, receiver })
            })
            .collect();
        validity::table(&rows)
    }
}

impl UnwrittenRows {
    fn is_empty(&self) -> bool {
        self.probe_ms.is_empty()
    }

    #[expect(clippy::cast_precision_loss, reason = "bytes of a measurement are far below 2^53")]
    fn add(&mut self, flow: u32, whole: &CompleteRow, idle_us: Option<u32>) {
        let ms = |us: u32| f64::from(us) / 1e3;
        self.samples.add(flow, u64::from(whole.instant) * GRID_NS, &whole.sample);
        self.sent_packets.push(f64::from(whole.sender.data_segs_out));
        self.timeouts.push(whole.sender.total_rto.map(f64::from));
        self.claimed_bytes.push(whole.claimed_bytes.map(|bytes| bytes as f64));
        self.probe_ms.push(whole.probe_us.map(ms));
        self.idle_ms.push(idle_us.map(ms));
    }

    fn table(self) -> Table {
        let mut table = self.samples.table();
        table.columns.push(column("tcp_info.sent_packets", Values::F64(self.sent_packets)));
        table.columns.push(column("tcp_info.timeouts", Values::MaybeF64(self.timeouts)));
        table.columns.push(column("client.claimed_bytes", Values::MaybeF64(self.claimed_bytes)));
        table.columns.push(column("probe.rtt_ms", Values::MaybeF64(self.probe_ms)));
        table.columns.push(column("probe.idle_rtt_ms", Values::MaybeF64(self.idle_ms)));
        table
    }
}
