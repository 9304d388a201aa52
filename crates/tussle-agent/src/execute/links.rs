//! State of links during a run, and their rows in the `links` table.

use tussle_core::Run;
use tussle_core::net::path::{ElementKind, LinkSpec, LinkView};

use super::qdiscs::QdiscCounts;
use super::rows::{LinkRow, Links};
use super::simulated::SimulatedElements;
use crate::columns::seconds;
use crate::network::Network;

/// A link, with its state since its last row.
pub(crate) struct Link {
    name: String,
    last_row_ns: u64,
    source: Source,
}

/// Source of a link's counters.
enum Source {
    /// A queue discipline of Linux.
    Queue(Queue),
    /// Index of an element of the simulator, and its view at the last row.
    Element(usize, LinkView),
}

/// State of a queue of Linux, which reports cumulative counters only.
struct Queue {
    /// Index of the queue's veth pair.
    veth: usize,
    /// Rates in bit/s, each with the time in ns from which it holds, in ascending order.
    rates: Vec<(u64, u64)>,
    last_look: (u64, QdiscCounts),
    last_row: QdiscCounts,
    backlog_packet_ns: f64,
    max_backlog_packets: u64,
    capacity_bits: f64,
}

/// Links of a run.
pub(crate) fn links(run: &Run, network: &Network) -> Vec<Link> {
    let elements = run.elements.iter().enumerate().filter(|(_, element)| element.kind.is_link());
    elements
        .map(|(index, element)| {
            let veth = (0..network.veth_pairs.len())
                .find(|veth| is_queue(network, *veth) && network.veth_pairs[*veth].element() == Some(index));
            let source = match (&element.kind, veth) {
                (ElementKind::Link(link), Some(veth)) => Source::Queue(Queue::new(veth, link)),
                _ => Source::Element(index, LinkView::default()),
            };
            Link { name: element.name.clone(), last_row_ns: 0, source }
        })
        .collect()
}

/// Whether a veth pair holds the queue of a link.
pub(crate) fn is_queue(network: &Network, veth: usize) -> bool {
    network.veth_pairs[veth].hop.as_ref().is_some_and(|hop| hop.is_queue)
}

impl Link {
    /// Processes the counters of the queue at a veth pair, if the queue belongs to this link.
    pub(crate) fn observe(&mut self, now_ns: u64, veth: usize, counts: QdiscCounts) {
        if let Source::Queue(queue) = &mut self.source
            && queue.veth == veth
        {
            queue.observe(now_ns, counts);
        }
    }

    /// Adds the link's row, unless the link has a row for this instant.
    pub(crate) fn row(
        &mut self,
        now_ns: u64,
        rows: &mut Links,
        elements: &SimulatedElements,
    ) -> anyhow::Result<()> {
        let span_ns = now_ns - std::mem::replace(&mut self.last_row_ns, now_ns);
        if span_ns == 0 && now_ns > 0 {
            return Ok(());
        }
        let row = match &mut self.source {
            Source::Queue(queue) => Some(queue.row(span_ns)),
            Source::Element(index, before) => elements.observe(*index, now_ns)?.map(|view| {
                let before = std::mem::replace(before, view);
                row_of_views(before, view, span_ns)
            }),
        };
        if let Some(row) = row {
            rows.add(&self.name, now_ns, &row);
        }
        Ok(())
    }
}

/// Rates of a link, each with the time from which it holds.
fn rates(link: &LinkSpec) -> Vec<(u64, u64)> {
    let changes = link.changes.iter().filter_map(|change| Some((change.at_ns, change.rate_bit_per_s?)));
    std::iter::once((0, link.rate_bit_per_s)).chain(changes).collect()
}

#[expect(clippy::cast_precision_loss, reason = "packets and times of a run are far below 2^53")]
impl Queue {
    fn new(veth: usize, link: &LinkSpec) -> Queue {
        Queue {
            veth,
            rates: rates(link),
            last_look: Default::default(),
            last_row: QdiscCounts::default(),
            backlog_packet_ns: 0.0,
            max_backlog_packets: 0,
            capacity_bits: 0.0,
        }
    }

    /// Processes counters. The backlog is interpolated linearly between two observations.
    fn observe(&mut self, now_ns: u64, counts: QdiscCounts) {
        let (then_ns, before) = std::mem::replace(&mut self.last_look, (now_ns, counts));
        let backlogs = (before.backlog_packets + counts.backlog_packets) as f64;
        self.capacity_bits += self.rate_bit_per_s(then_ns) as f64 * seconds(now_ns - then_ns);
        self.backlog_packet_ns += backlogs / 2.0 * (now_ns - then_ns) as f64;
        self.max_backlog_packets = self.max_backlog_packets.max(counts.backlog_packets);
    }

    /// Rate at a time. It is constant between two observations.
    fn rate_bit_per_s(&self, at_ns: u64) -> u64 {
        self.rates
            .iter()
            .rev()
            .find(|(from_ns, _)| *from_ns <= at_ns)
            .expect("the first rate holds from 0 on")
            .1
    }

    /// Row for the time since the last row.
    fn row(&mut self, span_ns: u64) -> LinkRow {
        let counts = self.last_look.1;
        let before = std::mem::replace(&mut self.last_row, counts);
        let sent_bits = (counts.sent_bytes - before.sent_bytes) as f64 * 8.0;
        let capacity_bits = std::mem::take(&mut self.capacity_bits).max(1.0);
        LinkRow {
            counts,
            arrived_packets: counts.sent_packets + counts.dropped_packets + counts.backlog_packets,
            mean_backlog_packets: std::mem::take(&mut self.backlog_packet_ns) / span_ns.max(1) as f64,
            max_backlog_packets: std::mem::replace(&mut self.max_backlog_packets, counts.backlog_packets),
            // Linux counts a packet when its transmission begins.
            utilisation: (sent_bits / capacity_bits).min(1.0),
        }
    }
}

/// Row of an element from two views, as the simulator computes it.
#[expect(clippy::cast_precision_loss, reason = "packets and times of a run are far below 2^53")]
fn row_of_views(before: LinkView, view: LinkView, span_ns: u64) -> LinkRow {
    let per_ns = 1.0 / span_ns.max(1) as f64;
    LinkRow {
        counts: QdiscCounts {
            sent_bytes: view.delivered_bytes,
            sent_packets: view.delivered_packets,
            dropped_packets: view.dropped_packets,
            backlog_packets: view.backlog_packets,
            backlog_bytes: view.backlog_bytes,
            marked_packets: view.marked_packets,
            classified_packets: 0,
        },
        arrived_packets: view.arrived_packets,
        mean_backlog_packets: (view.backlog_packet_ns - before.backlog_packet_ns) as f64 * per_ns,
        max_backlog_packets: view.max_backlog_packets,
        utilisation: (view.busy_ns - before.busy_ns) as f64 * per_ns,
    }
}
