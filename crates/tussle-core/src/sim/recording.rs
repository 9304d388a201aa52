//! Recording: the tables that a simulation fills, and the invariants that are checked at the same time.

use super::flow::SimulatedFlow;
use super::{Simulation, Violation};
use crate::Time;
use crate::net::packet::Packet;
use crate::record::{Events, Links, Samples, recorded_changes};
use crate::run::{ElementSpec, Run, Sampling};

/// The time series of a simulation.
#[derive(Debug)]
pub(super) struct Recording {
    pub(super) samples: Samples,
    pub(super) links: Links,
    pub(super) events: Events,
    pub(super) sampling: Sampling,
    /// Whether the `events` table is filled.
    pub(super) has_events: bool,
    /// Future link changes, as time and element index, the next one last.
    changes: Vec<(Time, u32)>,
    steady_begin: Time,
    steady_end: Time,
    pub(super) end: Time,
}

impl Recording {
    /// Creates empty tables for a run.
    pub(super) fn new(run: &Run) -> Recording {
        Recording {
            samples: Samples::default(),
            links: Links::default(),
            events: Events::default(),
            sampling: run.record.sampling,
            has_events: run.record.events,
            changes: recorded_changes(run),
            steady_begin: Time::from_ns(run.steady.from_ns),
            steady_end: Time::from_ns(run.steady.to_ns),
            end: Time::from_ns(run.duration_ns),
        }
    }

    /// Whether an instant is inside the steady interval.
    #[inline]
    pub(super) fn is_steady(&self, now: Time) -> bool {
        self.steady_begin <= now && now < self.steady_end
    }

    /// Length of the steady interval.
    pub(super) fn steady_span(&self) -> Time {
        self.steady_end - self.steady_begin
    }

    /// Records an event of a flow.
    pub(super) fn note(&mut self, now: Time, kind: &str, flow: &SimulatedFlow) {
        if self.has_events {
            self.events.add(now, kind, flow.index, flow.endpoints.window());
        }
    }

    /// Start and end of the steady interval, and end of the run.
    fn edges(&self) -> [Time; 3] {
        [self.steady_begin, self.steady_end, self.end]
    }

    /// Time of the recorder's next event after `now`.
    fn next(&self, now: Time) -> Time {
        let edges = self.edges().into_iter().filter(|&edge| edge > now);
        let tick = match self.sampling {
            Sampling::EveryNs(every) => Some(Time::from_ns((now.ns() / every + 1) * every)),
            Sampling::Off | Sampling::Change => None,
        };
        let change = self.changes.last().map(|(at, _)| *at);
        edges.chain(tick).chain(change).min().unwrap_or(Time::NEVER)
    }
}

impl Simulation {
    /// Records an event of the flow with an index.
    #[cold]
    pub(super) fn note(&mut self, index: usize, kind: &str) {
        self.recording.note(self.now, kind, &self.flows[index]);
    }

    /// Counts and records the packets that the queue of a sending host dropped. It is the queue in front of the flow's
    /// access link.
    #[cold]
    pub(super) fn note_dropped_by_host(&mut self, index: usize) {
        let access = &self.run.flows[index].forward[0];
        let is_access = |element: &ElementSpec| element.name == *access;
        let element = self.run.elements.iter().position(is_access).expect("a run's paths have elements");
        self.dropped.append(&mut self.outbox.dropped);
        self.note_dropped(element);
    }

    /// Records the events of a sender.
    #[cold]
    #[inline(never)]
    pub(super) fn note_events(&mut self, index: usize) {
        for event in self.outbox.events.drain(..) {
            self.recording.note(self.now, event.name(), &self.flows[index]);
        }
    }

    /// Counts and records the packets that an element dropped.
    #[cold]
    pub(super) fn note_dropped(&mut self, element: usize) {
        for packet in self.dropped.drain(..) {
            let flow = &mut self.flows[packet.flow as usize];
            flow.measures.dropped_packets += u64::from(packet.kind.has_payload());
            if self.recording.has_events {
                let element = u32::try_from(element).expect("there are fewer than 2^32 components");
                let window = flow.endpoints.window();
                self.recording.events.add_drop(self.now, element, &packet, window);
            }
        }
    }

    /// Counts and records a packet that a host dropped because of its wrong checksum.
    #[cold]
    pub(super) fn note_corrupt(&mut self, packet: &Packet) {
        let flow = &mut self.flows[packet.flow as usize];
        flow.measures.dropped_packets += u64::from(packet.kind.has_payload());
        if self.recording.has_events {
            self.recording.events.add_corrupt(self.now, packet, flow.endpoints.window());
        }
    }

    /// Records the rows that are due at this instant, and checks the invariants.
    pub(super) fn record(&mut self) -> Result<(), Violation> {
        let (now, recording) = (self.now, &mut self.recording);
        let at_edge = recording.edges().contains(&now);
        let is_tick = match recording.sampling {
            Sampling::EveryNs(every) => now.ns().is_multiple_of(every),
            Sampling::Off | Sampling::Change => false,
        };
        while let Some((_, element)) = recording.changes.pop_if(|(at, _)| *at <= now) {
            recording.events.add_path_change(now, element);
        }
        if at_edge || is_tick {
            self.record_links();
        }
        for flow in &mut self.flows {
            if now == self.recording.steady_begin {
                flow.measures.begin_steady(flow.endpoints.counters(now));
            }
            if now == self.recording.steady_end {
                flow.measures.end_steady(flow.endpoints.counters(now));
            }
            if at_edge || is_tick {
                self.recording.samples.add(now, flow.index, &flow.endpoints.sample());
            }
        }
        if at_edge {
            self.check_invariants()?;
        }
        let next = self.recording.next(now);
        self.calendar.set(self.recorder_component(), next);
        Ok(())
    }

    /// Adds a row for a flow if its window, ssthresh or state has changed, and rows for the links at the same
    /// time.
    #[inline(never)]
    pub(super) fn record_change(&mut self, index: usize) {
        let flow = &self.flows[index];
        if self.recording.samples.has_changed(flow.index, flow.endpoints.window(), flow.endpoints.state()) {
            self.recording.samples.add(self.now, flow.index, &flow.endpoints.sample());
            self.record_links();
        }
    }

    fn record_links(&mut self) {
        for index in 0..self.elements.len() {
            if let Some(view) = self.elements[index].get_mut().observe(self.now, &mut self.dropped) {
                self.recording.links.add(self.now, index, &self.run.elements[index].name, view);
            }
            // A queue may drop packets while it is advanced to this instant.
            if !self.dropped.is_empty() {
                self.note_dropped(index);
            }
        }
    }

    /// Checks the conservation of packets, and the sums of each sender's scoreboard.
    fn check_invariants(&mut self) -> Result<(), Violation> {
        let at = self.now;
        let mut held = vec![0u64; self.flows.len()];
        for element in &self.elements {
            element
                .get()
                .for_each(&mut |packet| held[packet.flow as usize] += u64::from(packet.kind.has_payload()));
        }
        for flow in &mut self.flows {
            if let Some(tcp) = flow.endpoints.tcp() {
                let held = &mut held[flow.index as usize];
                tcp.sender.for_each_queued(&mut |packet| *held += u64::from(packet.kind.has_payload()));
            }
        }
        for (flow, &held) in self.flows.iter_mut().zip(&held) {
            let name = &self.run.flows[flow.index as usize].name;
            let violated = |rule, found| Err(Violation { name: rule, at, found: format!("{name}: {found}") });
            let sent = flow.endpoints.counters(self.now).counts.sent_packets;
            let copies: u64 = self.elements.iter().map(|element| element.get().copies(flow.index)).sum();
            let (received, dropped) = (flow.endpoints.received_packets(), flow.measures.dropped_packets);
            if sent + copies != received + dropped + held {
                let found = format!(
                    "sent {sent} and {copies} copies, received {received}, dropped {dropped}, in flight {held}"
                );
                return violated("packets are conserved", found);
            }
            let Some(tcp) = flow.endpoints.tcp() else { continue };
            if let Err(found) = tcp.sender.check() {
                return violated("the scoreboard adds up", found);
            }
            let (una, next) = (tcp.sender.flow.una, tcp.receiver.next());
            if una > next {
                return violated("only what arrived is acknowledged", format!("una {una}, received {next}"));
            }
        }
        Ok(())
    }
}
