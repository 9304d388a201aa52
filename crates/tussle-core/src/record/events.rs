//! The `events` table: events of flows and links, each with its time.

use super::samples::Window;
use super::{Labels, column, seconds};
use crate::Time;
use crate::net::packet::Packet;
use crate::run::Run;
use crate::table::{Table, Values};

/// Rows of the table so far.
#[derive(Debug, Default)]
pub(crate) struct Events {
    time: Vec<Time>,
    kind: Labels,
    flow: Vec<Option<u32>>,
    link: Vec<Option<u32>>,
    packet: Vec<Option<u32>>,
    cwnd: Vec<Option<u32>>,
    ssthresh: Vec<Option<u32>>,
}

impl Events {
    /// Adds an event of a flow, with the window after it.
    pub(crate) fn add(&mut self, now: Time, kind: &str, flow: u32, window: Window) {
        self.time.push(now);
        self.kind.push(kind);
        self.flow.push(Some(flow));
        self.link.push(None);
        self.packet.push(None);
        self.cwnd.push(Some(window.cwnd_packets));
        self.ssthresh.push(window.ssthresh_packets);
    }

    /// Adds the drop of a packet by the element with index `element`.
    pub(crate) fn add_drop(&mut self, now: Time, element: u32, packet: &Packet, window: Window) {
        self.add(now, "drop", packet.flow, window);
        *self.link.last_mut().expect("a row was added") = Some(element);
        *self.packet.last_mut().expect("a row was added") = Some(packet.number);
    }

    /// Adds the drop of a damaged packet by a host.
    pub(crate) fn add_corrupt(&mut self, now: Time, packet: &Packet, window: Window) {
        self.add(now, "corrupt", packet.flow, window);
        *self.packet.last_mut().expect("a row was added") = Some(packet.number);
    }

    /// Adds a change of the rate or delay of the element with index `element`.
    pub(crate) fn add_path_change(&mut self, now: Time, element: u32) {
        self.time.push(now);
        self.kind.push("path_change");
        self.flow.push(None);
        self.link.push(Some(element));
        self.packet.push(None);
        self.cwnd.push(None);
        self.ssthresh.push(None);
    }

    /// The table; `elements` are the names of the elements by index.
    pub(crate) fn table(self, elements: Vec<String>) -> Table {
        Table {
            name: "events",
            columns: vec![
                column("time_s", seconds(&self.time)),
                column("kind", self.kind.values()),
                column("flow", Values::MaybeU32(self.flow)),
                column("link", Values::MaybeLabel { codes: self.link, names: elements }),
                column("packet", Values::MaybeU32(self.packet)),
                column("cwnd_packets", Values::MaybeU32(self.cwnd)),
                column("ssthresh_packets", Values::MaybeU32(self.ssthresh)),
            ],
        }
    }
}

/// Times of link changes, with element indices, latest first; empty if events are not recorded.
pub(crate) fn recorded_changes(run: &Run) -> Vec<(Time, u32)> {
    if !run.record.events {
        return Vec::new();
    }
    let mut changes: Vec<_> = (0..)
        .zip(&run.elements)
        .flat_map(|(index, element)| element.kind.changes().iter().map(move |change| (change.at(), index)))
        .collect();
    changes.sort_unstable_by(|one, other| other.cmp(one));
    changes
}
