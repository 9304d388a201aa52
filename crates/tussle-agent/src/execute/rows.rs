//! Tables of a run, built row by row.

use tussle_core::table::{Labels, Table, Values};

use super::qdiscs::QdiscCounts;
use crate::columns::{column, finite, measured_ms, seconds};
use crate::tcp_info::TcpInfo;
use tussle_datapath::{Loss, LossKind};

/// The `samples` table.
#[derive(Debug, Default)]
pub(crate) struct Samples {
    flow: Vec<u32>,
    time_s: Vec<f64>,
    info: Vec<TcpInfo>,
    delivered_bytes: Vec<u64>,
    rtt_us: Vec<Option<u32>>,
    pacing: Vec<Option<f64>>,
    state: Labels,
}

/// State of a flow at an instant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    pub(crate) sender: TcpInfo,
    pub(crate) delivered_bytes: u64,
    pub(crate) rtt_us: Option<u32>,
    /// Whether the sender paces its packets. The kernel computes a pacing rate in any case.
    pub(crate) is_paced: bool,
}

impl Samples {
    /// Adds a row.
    #[expect(clippy::cast_precision_loss, reason = "rates are far below 2^53")]
    pub(crate) fn add(&mut self, flow: u32, time_ns: u64, sample: &Sample) {
        let rate = sample.sender.pacing_bytes_per_s;
        self.flow.push(flow);
        self.time_s.push(seconds(time_ns));
        self.info.push(sample.sender);
        self.delivered_bytes.push(sample.delivered_bytes);
        self.rtt_us.push(sample.rtt_us);
        self.pacing.push((sample.is_paced && rate < u64::MAX).then_some(rate as f64 * 8.0));
        self.state.push(sample.sender.state());
    }

    /// Builds the table; values that only a kernel reports are in the columns `tcp_info.…`.
    #[expect(clippy::cast_precision_loss, reason = "rates and times are far below 2^53")]
    pub(crate) fn table(self) -> Table {
        let u32s = |of: fn(&TcpInfo) -> u32| Values::U32(self.info.iter().map(of).collect());
        let own = |name: &str, of: fn(&TcpInfo) -> f64| {
            column(&format!("tcp_info.{name}"), Values::F64(self.info.iter().map(of).collect()))
        };
        let columns = vec![
            column("flow", Values::U32(self.flow)),
            column("time_s", Values::F64(self.time_s)),
            column("cwnd_packets", u32s(|info| info.cwnd)),
            column(
                "ssthresh_packets",
                Values::MaybeU32(self.info.iter().map(|info| finite(info.ssthresh)).collect()),
            ),
            column(
                "srtt_ms",
                Values::MaybeF64(self.info.iter().map(|info| measured_ms(info.rtt_us)).collect()),
            ),
            column(
                "rtt_ms",
                Values::MaybeF64(self.rtt_us.iter().map(|us| us.map(|us| f64::from(us) / 1e3)).collect()),
            ),
            column("in_flight_packets", u32s(TcpInfo::in_flight)),
            column("delivered_bytes", Values::U64(self.delivered_bytes)),
            column("retransmitted_packets", u32s(|info| info.total_retrans)),
            column("pacing_bit_per_s", Values::MaybeF64(self.pacing)),
            column("state", self.state.values()),
            column(
                "tcp_info.min_rtt_ms",
                Values::MaybeF64(self.info.iter().map(|info| measured_ms(info.min_rtt_us)).collect()),
            ),
            own("lost_packets", |info| f64::from(info.lost)),
            own("sacked_packets", |info| f64::from(info.sacked)),
            own("delivered_packets", |info| f64::from(info.delivered)),
            own("delivered_ce_packets", |info| f64::from(info.delivered_ce)),
            own("delivery_bit_per_s", |info| info.delivery_bytes_per_s as f64 * 8.0),
            own("acked_bytes", |info| info.bytes_acked as f64),
            own("busy_s", |info| info.busy_us as f64 / 1e6),
            own("rwnd_limited_s", |info| info.rwnd_limited_us as f64 / 1e6),
            own("sndbuf_limited_s", |info| info.sndbuf_limited_us as f64 / 1e6),
            own("dsack_duplicates", |info| f64::from(info.dsack_dups)),
            own("snd_wnd_bytes", |info| f64::from(info.snd_wnd_bytes)),
            own("reordering_seen", |info| f64::from(info.reordering_seen)),
        ];
        Table { name: "samples", columns }
    }
}

/// The `links` table.
#[derive(Debug, Default)]
pub(crate) struct Links {
    link: Labels,
    time_s: Vec<f64>,
    counts: Vec<QdiscCounts>,
    arrived_packets: Vec<u64>,
    mean_backlog: Vec<f64>,
    max_backlog: Vec<u64>,
    utilisation: Vec<f64>,
}

/// Measurements of a link since its last row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkRow {
    pub(crate) counts: QdiscCounts,
    pub(crate) arrived_packets: u64,
    pub(crate) mean_backlog_packets: f64,
    pub(crate) max_backlog_packets: u64,
    pub(crate) utilisation: f64,
}

impl Links {
    /// Adds a row.
    pub(crate) fn add(&mut self, link: &str, time_ns: u64, row: &LinkRow) {
        self.link.push(link);
        self.time_s.push(seconds(time_ns));
        self.counts.push(row.counts);
        self.arrived_packets.push(row.arrived_packets);
        self.mean_backlog.push(row.mean_backlog_packets);
        self.max_backlog.push(row.max_backlog_packets);
        self.utilisation.push(row.utilisation);
    }

    /// Builds the table.
    pub(crate) fn table(self) -> Table {
        let counts = |of: fn(&QdiscCounts) -> u64| Values::U64(self.counts.iter().map(of).collect());
        let columns = vec![
            column("link", self.link.values()),
            column("time_s", Values::F64(self.time_s)),
            column("backlog_packets", counts(|counts| counts.backlog_packets)),
            column("backlog_bytes", counts(|counts| counts.backlog_bytes)),
            column("mean_backlog_packets", Values::F64(self.mean_backlog)),
            column("max_backlog_packets", Values::U64(self.max_backlog)),
            column("arrived_packets", Values::U64(self.arrived_packets)),
            column("delivered_packets", counts(|counts| counts.sent_packets)),
            column("dropped_packets", counts(|counts| counts.dropped_packets)),
            column("marked_packets", counts(|counts| counts.marked_packets)),
            column("delivered_bytes", counts(|counts| counts.sent_bytes)),
            column("utilisation", Values::F64(self.utilisation)),
        ];
        Table { name: "links", columns }
    }
}

/// The `events` table.
#[derive(Debug, Default)]
pub(crate) struct Events {
    rows: Vec<Row>,
}

/// A row of the `events` table.
#[derive(Clone, Copy, Debug)]
struct Row {
    time_ns: u64,
    kind: &'static str,
    flow: Option<usize>,
    element: Option<usize>,
    packet: Option<u32>,
    after: Option<Window>,
}

/// The window of a flow, in packets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    pub(crate) cwnd: u32,
    pub(crate) ssthresh: u32,
}

/// An event of a flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    pub(crate) time_ns: u64,
    pub(crate) kind: &'static str,
    pub(crate) flow: usize,
    /// Window just after the event, once it is known.
    pub(crate) after: Option<Window>,
}

impl Events {
    /// Adds a row, and returns its index.
    pub(crate) fn add(&mut self, event: Event) -> usize {
        let Event { time_ns, kind, flow, after } = event;
        self.rows.push(Row { time_ns, kind, flow: Some(flow), element: None, packet: None, after });
        self.rows.len() - 1
    }

    /// Adds the loss or the corruption of a packet.
    pub(crate) fn add_loss(&mut self, loss: &Loss) {
        let Loss { at, kind, flow, element, packet } = *loss;
        let kind = match kind {
            LossKind::Dropped => "drop",
            LossKind::Damaged => "corrupt",
        };
        self.rows.push(Row { time_ns: at.ns(), kind, flow: Some(flow), element, packet, after: None });
    }

    /// Adds a change of an element's rate or delay.
    pub(crate) fn add_path_change(&mut self, time_ns: u64, element: usize) {
        let (kind, element) = ("path_change", Some(element));
        self.rows.push(Row { time_ns, kind, flow: None, element, packet: None, after: None });
    }

    /// Sets the window after the event with this index.
    pub(crate) fn set_window(&mut self, index: usize, after: Window) {
        self.rows[index].after = Some(after);
    }

    /// Builds the table. `elements` are the names of the elements, by index.
    pub(crate) fn table(mut self, elements: Vec<String>) -> Table {
        self.rows.sort_by_key(|event| event.time_ns);
        let mut kind = Labels::default();
        self.rows.iter().for_each(|event| kind.push(event.kind));
        let after = |of: fn(Window) -> Option<u32>| {
            Values::MaybeU32(self.rows.iter().map(|event| event.after.and_then(of)).collect())
        };
        let index = |index: usize| u32::try_from(index).expect("there are few flows and elements");
        let indices = |of: fn(&Row) -> Option<usize>| -> Vec<_> {
            self.rows.iter().map(|event| of(event).map(index)).collect()
        };
        let columns = vec![
            column("time_s", Values::F64(self.rows.iter().map(|event| seconds(event.time_ns)).collect())),
            column("kind", kind.values()),
            column("flow", Values::MaybeU32(indices(|event| event.flow))),
            column("link", Values::MaybeLabel { codes: indices(|event| event.element), names: elements }),
            column("packet", Values::MaybeU32(self.rows.iter().map(|event| event.packet).collect())),
            column("cwnd_packets", after(|window| Some(window.cwnd))),
            column("ssthresh_packets", after(|window| finite(window.ssthresh))),
        ];
        Table { name: "events", columns }
    }
}
