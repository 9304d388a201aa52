//! The `links` table: the queue of each link over time.

use super::{Labels, column, seconds};
use crate::Time;
use crate::net::path::LinkView;
use crate::table::{Table, Values};

/// Rows of the table so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Links {
    link: Labels,
    time: Vec<Time>,
    views: Vec<LinkView>,
    mean_backlog: Vec<f64>,
    utilisation: Vec<f64>,
    /// Time and view of the last row of each element, by its index.
    last: Vec<(Time, LinkView)>,
}

impl Links {
    /// Adds a row for the link with element index `index`, unless the link has a row for this instant.
    #[expect(clippy::cast_precision_loss, reason = "2^53 ns are 104 days, and a backlog is far smaller")]
    pub(crate) fn add(&mut self, now: Time, index: usize, name: &str, view: LinkView) {
        if self.last.len() <= index {
            self.last.resize(index + 1, (Time::ZERO, LinkView::default()));
        }
        let (since, before) = std::mem::replace(&mut self.last[index], (now, view));
        let span_ns = (now - since).ns();
        if span_ns == 0 && now > Time::ZERO {
            return;
        }
        let per_ns = 1.0 / span_ns.max(1) as f64;
        self.link.push(name);
        self.time.push(now);
        self.views.push(view);
        self.mean_backlog.push((view.backlog_packet_ns - before.backlog_packet_ns) as f64 * per_ns);
        self.utilisation.push((view.busy_ns - before.busy_ns) as f64 * per_ns);
    }

    /// The table.
    pub(crate) fn table(self) -> Table {
        let counts = |of: fn(&LinkView) -> u64| Values::U64(self.views.iter().map(of).collect());
        let columns = vec![
            column("time_s", seconds(&self.time)),
            column("backlog_packets", counts(|view| view.backlog_packets)),
            column("backlog_bytes", counts(|view| view.backlog_bytes)),
            column("mean_backlog_packets", Values::F64(self.mean_backlog)),
            column("max_backlog_packets", counts(|view| view.max_backlog_packets)),
            column("arrived_packets", counts(|view| view.arrived_packets)),
            column("delivered_packets", counts(|view| view.delivered_packets)),
            column("dropped_packets", counts(|view| view.dropped_packets)),
            column("marked_packets", counts(|view| view.marked_packets)),
            column("delivered_bytes", counts(|view| view.delivered_bytes)),
            column("utilisation", Values::F64(self.utilisation)),
        ];
        let link = column("link", self.link.values());
        Table { name: "links", columns: std::iter::once(link).chain(columns).collect() }
    }
}
