//! What a measurement writes down: rows as they become whole, in files that each are whole, so that nothing that ends
//! the program takes more than the latest of them along.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use anyhow::Context;
use tussle_core::table::{Labels, Table, Values};
use tussle_join::{Direction, GRID_NS, Row, Seen, Sender};

use super::flow::info;
use crate::execute::rows::{Paces, Sample, Samples, column, seconds};
use crate::execute::stream;
use crate::validity::{self, ClockOffset, Validity};

/// Rows of samples on the disk: about a gigabyte, and 139 hours of one flow.
const MOST_ROWS: usize = 5_000_000;
/// Rows of samples in memory.
const MOST_FRESH: usize = 20_000;
/// How often what is known is written, in instants: 10 s.
const CHECKPOINT: u32 = 100;
/// Instants that wait for what the other end saw; older ones are given up.
const MOST_PENDING: usize = 2_000;
/// A row may come from so many instants ahead: clocks differ by less.
const AHEAD: u32 = 50;

/// All that is known of a measurement.
#[derive(Debug)]
pub(super) struct Record {
    folder: PathBuf,
    pub(super) flows: Vec<FlowRecord>,
    fresh: Fresh,
    /// Files of samples so far, and rows in them.
    chunks: usize,
    rows: usize,
    checkpoint_at: u32,
}

/// What is known of a flow.
#[derive(Debug)]
pub(super) struct FlowRecord {
    pub(super) name: String,
    pub(super) algorithm: String,
    pub(super) direction: Direction,
    pub(super) start_ns: u64,
    /// When its application was to stop writing; `None`: after so many bytes.
    pub(super) stop_ns: Option<u64>,
    pub(super) end: Option<End>,
    pub(super) received_bytes: u64,
    pub(super) received_packets: u32,
    pub(super) sender: Sender,
    /// The latest round trip of its client's probe, and the shortest before it began.
    pub(super) probe_us: Option<u32>,
    pub(super) idle_us: Option<u32>,
    pub(super) sender_validity: Option<Validity>,
    pub(super) receiver_validity: Option<Validity>,
    pending: BTreeMap<u32, Pending>,
    closed: Closed,
    /// The latest instant that is a row, or was given up.
    done: Option<u32>,
}

/// How a flow ended, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct End {
    pub(super) at_ns: u64,
    pub(super) how: How,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    /// The last of the bytes asked for has arrived.
    Complete,
    /// Its time was over.
    Stopped,
    /// Its client, or the network, was gone.
    Lost,
}

/// Whether nothing more will be told of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Closed {
    No,
    Yes,
}

/// What is known of a flow at an instant.
#[derive(Debug, Default)]
struct Pending {
    sender: Option<Sender>,
    received_bytes: Option<u64>,
    probe_us: Option<u32>,
}

/// Rows that are not in a file yet.
#[derive(Debug, Default)]
struct Fresh {
    samples: Samples,
    sent_packets: Vec<f64>,
    timeouts: Vec<Option<f64>>,
    probe_ms: Vec<Option<f64>>,
    idle_ms: Vec<Option<f64>>,
}

impl FlowRecord {
    pub(super) fn new(name: String, algorithm: String, direction: Direction) -> FlowRecord {
        FlowRecord {
            name,
            algorithm,
            direction,
            start_ns: 0,
            stop_ns: None,
            end: None,
            received_bytes: 0,
            received_packets: 0,
            sender: Sender::default(),
            probe_us: None,
            idle_us: None,
            sender_validity: None,
            receiver_validity: None,
            pending: BTreeMap::new(),
            closed: Closed::No,
            done: None,
        }
    }

    /// What its client told of its own end; a later one takes an earlier one's place.
    pub(super) fn keep_validity(&mut self, told: Validity) {
        match self.direction {
            Direction::ToServer => self.sender_validity = Some(told),
            Direction::ToClient => self.receiver_validity = Some(told),
        }
    }

    /// Something was seen of it. What can be true only of the past or of a far future is left out.
    pub(super) fn see(&mut self, row: Row, now: u32) {
        let Row { instant, seen, .. } = row;
        if instant > now.saturating_add(AHEAD) {
            return;
        }
        if self.pending.len() >= MOST_PENDING {
            self.pending.pop_first();
        }
        let is_late = self.done.is_some_and(|done| instant <= done);
        let pending = (!is_late).then(|| self.pending.entry(instant).or_default());
        match seen {
            Seen::Sender(sender) => {
                self.sender = (*sender).clone();
                if let Some(pending) = pending {
                    pending.sender = Some(*sender);
                }
            }
            Seen::Receiver { bytes, packets } => {
                self.received_bytes = self.received_bytes.max(bytes);
                self.received_packets = self.received_packets.max(packets);
                if let Some(pending) = pending {
                    pending.received_bytes = Some(bytes);
                }
            }
            Seen::Probe(us) => {
                self.probe_us = Some(us);
                if let Some(pending) = pending {
                    pending.probe_us = Some(us);
                }
            }
        }
    }

    /// Its client is gone: nothing more will be told of it. If it is lost, so is the flow, unless all of it was there.
    pub(super) fn close(&mut self, how: How, bytes: Option<u64>) {
        self.closed = Closed::Yes;
        if let Some(end) = &mut self.end {
            if bytes.is_some_and(|bytes| self.received_bytes >= bytes) {
                end.how = How::Complete;
            } else if how == How::Lost {
                end.how = How::Lost;
            }
        }
    }

    /// Takes the next row that is whole: what both ends saw at one instant. Of the last instant, what its sender saw
    /// will do: by then everything has arrived that will.
    fn next_row(&mut self) -> Option<(u32, Sample, Pending)> {
        let is_closed = self.closed == Closed::Yes;
        let last = self.pending.last_key_value().map(|(instant, _)| *instant);
        let whole = self.pending.iter().find(|(instant, each)| {
            let is_last = is_closed && Some(**instant) == last;
            each.sender.is_some() && (each.received_bytes.is_some() || is_last)
        });
        let instant = *whole?.0;
        // What is older will not become whole: both ends tell in order.
        self.pending = self.pending.split_off(&instant);
        let pending = self.pending.pop_first().expect("it was found").1;
        self.done = Some(instant);
        let sender = pending.sender.clone().expect("it was asked for");
        let delivered_bytes = pending.received_bytes.unwrap_or(self.received_bytes);
        let paces = if self.algorithm.starts_with("bbr") { Paces::Yes } else { Paces::No };
        Some((instant, Sample { sender: info(&sender), delivered_bytes, rtt_us: None, paces }, pending))
    }
}

impl Record {
    /// Nothing so far; the folder exists and is empty.
    pub(super) fn new(folder: PathBuf) -> Record {
        Record { folder, flows: Vec::new(), fresh: Fresh::default(), chunks: 0, rows: 0, checkpoint_at: 0 }
    }

    /// Whether no more rows are written down.
    pub(super) fn is_full(&self) -> bool {
        self.rows >= MOST_ROWS
    }

    /// Turns what was seen into rows, and writes files when it is time.
    pub(super) fn settle(&mut self, now: u32) -> anyhow::Result<()> {
        for (index, flow) in (0..).zip(&mut self.flows) {
            while let Some((instant, sample, pending)) = flow.next_row() {
                if self.rows >= MOST_ROWS {
                    continue;
                }
                self.rows += 1;
                let since_ns = u64::from(instant) * GRID_NS;
                self.fresh.samples.add(index, since_ns, &sample);
                let sender = pending.sender.unwrap_or_default();
                self.fresh.sent_packets.push(f64::from(sender.data_segs_out));
                self.fresh.timeouts.push(sender.total_rto.map(f64::from));
                let ms = |us: u32| f64::from(us) / 1e3;
                self.fresh.probe_ms.push(pending.probe_us.map(ms));
                self.fresh.idle_ms.push(flow.idle_us.map(ms));
            }
        }
        let fresh = self.fresh.probe_ms.len();
        if fresh >= MOST_FRESH || (fresh > 0 && now >= self.checkpoint_at) {
            self.checkpoint_at = now + CHECKPOINT;
            self.write()?;
        }
        Ok(())
    }

    /// Writes all that is known, each file whole or not at all.
    pub(super) fn write(&mut self) -> anyhow::Result<()> {
        if self.flows.is_empty() {
            return Ok(());
        }
        if !self.fresh.probe_ms.is_empty() {
            let table = std::mem::take(&mut self.fresh).table();
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
            how.push(match flow.end.map(|end| end.how) {
                Some(How::Complete) => "complete",
                Some(How::Stopped) => "stopped",
                Some(How::Lost) => "lost",
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
        let text = |of: &dyn Fn(&FlowRecord) -> &str| {
            Values::Text(flows.iter().map(|flow| of(flow).to_owned()).collect())
        };
        let columns = vec![
            column("flow", Values::U32((0..).take(flows.len()).collect())),
            column("name", text(&|flow| &flow.name)),
            column("algorithm", text(&|flow| &flow.algorithm)),
            column("direction", direction.values()),
            column("start_s", Values::F64(flows.iter().map(|flow| seconds(flow.start_ns)).collect())),
            column("stop_s", Values::MaybeF64(flows.iter().map(|flow| flow.stop_ns.map(seconds)).collect())),
            column("end_s", ends(&|_| true)),
            column("complete_s", ends(&|end| end.how == How::Complete)),
            column("ended", how.values()),
            column("delivered_bytes", u64s(&|flow| flow.received_bytes)),
            column("arrived_packets", u64s(&|flow| flow.received_packets.into())),
            column("sent_packets", u64s(&|flow| flow.sender.data_segs_out.into())),
            column("retransmitted_packets", u64s(&|flow| flow.sender.total_retrans.into())),
            column(
                "timeouts",
                Values::MaybeU32(flows.iter().map(|flow| flow.sender.total_rto.map(u32::from)).collect()),
            ),
        ];
        Table { name: "flows", columns }
    }

    fn validity_table(&self) -> Table {
        let rows: Vec<validity::Row> = (0..)
            .zip(&self.flows)
            .filter_map(|(index, flow)| {
                let (mut sender, receiver) = (flow.sender_validity.clone()?, flow.receiver_validity.clone());
                // It is the client that has compared the clocks, from its own side.
                let told = receiver.as_ref().and_then(|receiver| receiver.clock);
                let ahead = |clock: ClockOffset| ClockOffset { offset_s: -clock.offset_s, ..clock };
                sender.clock = sender.clock.or(told.map(ahead));
                Some((index, sender, receiver))
            })
            .collect();
        validity::table(&rows)
    }
}

impl Fresh {
    fn table(self) -> Table {
        let mut table = self.samples.table();
        table.columns.push(column("tcp_info.sent_packets", Values::F64(self.sent_packets)));
        table.columns.push(column("tcp_info.timeouts", Values::MaybeF64(self.timeouts)));
        table.columns.push(column("probe.rtt_ms", Values::MaybeF64(self.probe_ms)));
        table.columns.push(column("probe.idle_rtt_ms", Values::MaybeF64(self.idle_ms)));
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow() -> FlowRecord {
        FlowRecord::new("client-1".to_owned(), "reno".to_owned(), Direction::ToServer)
    }

    fn sent(instant: u32, packets: u32) -> Row {
        let sender = Sender { data_segs_out: packets, ..Sender::default() };
        Row { instant, flow: 0, seen: Seen::Sender(Box::new(sender)) }
    }

    fn received(instant: u32, bytes: u64) -> Row {
        Row { instant, flow: 0, seen: Seen::Receiver { bytes, packets: 1 } }
    }

    /// Instants and bytes of the rows that are whole.
    fn rows(flow: &mut FlowRecord) -> Vec<(u32, u64)> {
        std::iter::from_fn(|| flow.next_row())
            .map(|(instant, sample, _)| (instant, sample.delivered_bytes))
            .collect()
    }

    #[test]
    fn a_row_is_what_both_ends_saw_at_one_instant() {
        let mut flow = flow();
        for (row, now) in
            [(received(1, 10), 1), (received(2, 20), 2), (sent(1, 1), 3), (sent(2, 2), 3), (sent(3, 3), 3)]
        {
            flow.see(row, now);
        }
        assert_eq!(rows(&mut flow), [(1, 10), (2, 20)]);
        flow.see(received(3, 30), 4);
        assert_eq!(rows(&mut flow), [(3, 30)]);
    }

    #[test]
    fn what_is_told_too_late_counts_but_is_no_row() {
        let mut flow = flow();
        for row in [received(5, 50), sent(5, 5), received(6, 60)] {
            flow.see(row, 6);
        }
        assert_eq!(rows(&mut flow), [(5, 50)]);
        flow.see(sent(4, 7), 6);
        assert_eq!(rows(&mut flow), []);
        assert_eq!(flow.sender.data_segs_out, 7);
    }

    #[test]
    fn at_the_end_the_senders_last_row_has_all_that_arrived() {
        let mut flow = flow();
        for row in [sent(1, 1), received(2, 20), sent(3, 3)] {
            flow.see(row, 3);
        }
        assert_eq!(rows(&mut flow), []);
        flow.close(How::Stopped, None);
        assert_eq!(rows(&mut flow), [(3, 20)]);
    }

    #[test]
    fn a_client_that_tells_of_the_future_or_of_too_much_fills_no_memory() {
        let mut flow = flow();
        flow.see(sent(u32::MAX, 1), 0);
        assert!(flow.pending.is_empty());
        (0..10_000).for_each(|instant| flow.see(sent(instant, 1), 10_000));
        assert_eq!(flow.pending.len(), MOST_PENDING);
    }

    #[test]
    fn a_flow_of_a_lost_client_is_lost_unless_all_of_it_was_there() {
        let ended = |how, bytes| {
            let mut flow = flow();
            flow.see(received(1, 100), 1);
            flow.end = Some(End { at_ns: 1, how: How::Stopped });
            flow.close(how, bytes);
            flow.end.map(|end| end.how)
        };
        assert_eq!(ended(How::Lost, None), Some(How::Lost));
        assert_eq!(ended(How::Lost, Some(101)), Some(How::Lost));
        assert_eq!(ended(How::Lost, Some(100)), Some(How::Complete));
        assert_eq!(ended(How::Stopped, Some(101)), Some(How::Stopped));
    }
}
