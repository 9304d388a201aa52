//! The event loop: one pending event a component, the earliest first.
//!
//! Components are the elements of the network, then the senders, then the receivers, then the recorder;
//! at one instant they act in that order. A packet carries its place in the table of hops, where the
//! numbers of the components on its way stand in sequence, so that the loop knows no topology.

use std::collections::HashMap;

use crate::Time;
use crate::cc::CongestionControl;
use crate::net::packet::{Flags, Packet};
use crate::net::path::Placed;
use crate::record::{Events, Links, Samples, flows_table, recorded_changes};
use crate::run::application::{Next, Then};
use crate::run::check::RunError;
use crate::run::receive_window::receive_window_bytes;
use crate::run::{FlowSpec, ProfileName, Run, Sampling};
use crate::sim::capture::Capture;
use crate::table::Table;
use crate::tcp::{Outbox, TimestampOffsets};
use crate::util::calendar::Calendar;
use crate::util::rng::named_seed;

pub(crate) mod capture;
mod ends;
pub(crate) mod udp;

use ends::{Application, FlowEnds, Writer, is_to_move};

/// A rule that the simulation broke: a defect of Tussle, never of a run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invariant {name} is violated at {at}: {found}")]
pub struct Violation {
    /// The rule.
    pub name: &'static str,
    /// When it was found broken.
    pub at: Time,
    /// What was found.
    pub found: String,
}

/// Whether a simulation has more to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Call [`Simulation::advance`] again.
    Going,
    /// Call [`Simulation::finish`].
    Done,
}

/// What a run wrote down.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// One row a flow.
    pub flows: Table,
    /// Each flow over time.
    pub samples: Table,
    /// Each link over time.
    pub links: Table,
    /// What happened.
    pub events: Table,
}

/// A run being simulated.
#[derive(Debug)]
pub struct Simulation {
    run: Run,
    now: Time,
    calendar: Calendar,
    elements: Vec<Placed>,
    flows: Vec<FlowEnds>,
    /// The components on the way of each flow's packets, one after another.
    hops: Vec<u32>,
    outbox: Outbox,
    /// Room for an outbox, while the packets of another leave; kept to avoid allocation.
    leaving: Vec<Packet>,
    dropped: Vec<Packet>,
    samples: Samples,
    links: Links,
    events: Events,
    /// When links change, and which, the next one last.
    changes: Vec<(Time, u32)>,
    steady: (Time, Time),
    end: Time,
    progress: Progress,
}

/// Makes the algorithm of a flow, with a seed for its dice; `None`: the registry is to make it.
pub type Own<'a> = dyn FnMut(&FlowSpec, u64) -> Option<Box<dyn CongestionControl>> + 'a;

impl Simulation {
    /// Builds the network of a run.
    ///
    /// # Errors
    /// The first field that makes no sense.
    pub fn new(run: &Run) -> Result<Simulation, RunError> {
        Simulation::with_algorithms(run, &mut |_, _| None)
    }

    /// Builds the network of a run in which some flows have algorithms that no registry knows.
    ///
    /// # Errors
    /// The first field that makes no sense.
    pub fn with_algorithms(run: &Run, own: &mut Own) -> Result<Simulation, RunError> {
        Simulation::build(run, own, None)
    }

    /// The same, while `capture` sees every packet at the hosts.
    ///
    /// # Errors
    /// The first field that makes no sense.
    pub fn with_capture(run: &Run, own: &mut Own, capture: &Capture) -> Result<Simulation, RunError> {
        Simulation::build(run, own, Some(capture))
    }

    fn build(run: &Run, own: &mut Own, capture: Option<&Capture>) -> Result<Simulation, RunError> {
        run.check()?;
        let algorithms = run.flows.iter().enumerate().map(|(i, spec)| {
            let seed = named_seed(run.seed, &spec.name);
            own(spec, seed)
                .map_or_else(|| spec.registered_algorithm(seed).map_err(|error| error.of_flow(i)), Ok)
        });
        let algorithms = algorithms.collect::<Result<Vec<_>, _>>()?;
        let elements = run.elements.iter().enumerate().map(|(i, element)| {
            let seed = named_seed(run.seed, &element.name);
            Placed::new(&element.kind, seed)
                .map_err(|problem| RunError::new(format!("elements.{i}"), problem))
        });
        let mut elements = elements.collect::<Result<Vec<_>, _>>()?;
        let component = |index: usize| u32::try_from(index).expect("there are fewer than 2^32 components");
        let index_of: HashMap<&str, u32> = run
            .elements
            .iter()
            .enumerate()
            .map(|(i, element)| (element.name.as_str(), component(i)))
            .collect();
        let ProfileName::Linux6_1 = run.profile;
        let near = capture.map(|_| component(elements.len()));
        let far = near.map(|near| near + 1);
        elements.extend(capture.into_iter().flat_map(Capture::taps).map(Placed::from));
        let mut hops = Vec::new();
        let mut flows = Vec::new();
        for (i, (spec, algorithm)) in run.flows.iter().zip(algorithms).enumerate() {
            let sender = component(elements.len() + i);
            let receiver = component(elements.len() + run.flows.len() + i);
            let path = spec.forward.iter().chain(&spec.reverse);
            let elements_of_path = path.map(|name| &run.elements[index_of[name.as_str()] as usize].kind);
            let window_bytes = receive_window_bytes(spec, elements_of_path);
            let offsets = TimestampOffsets::of(run.hosts, run.seed, &spec.name);
            let forward = component(hops.len());
            hops.extend(near);
            hops.extend(spec.forward.iter().map(|name| index_of[name.as_str()]));
            hops.extend(far);
            hops.push(receiver);
            let reverse = component(hops.len());
            hops.extend(far);
            hops.extend(spec.reverse.iter().map(|name| index_of[name.as_str()]));
            hops.extend(near);
            hops.push(sender);
            flows.push(FlowEnds {
                application: Application::Open { at: Time::from_ns(spec.start_ns) },
                writer: Writer::of(spec, run.seed).map_err(|error| error.of_flow(i))?,
                forward,
                reverse,
                ..FlowEnds::new(component(i), (window_bytes, offsets), (spec, algorithm))
            });
        }
        let mut simulation = Simulation {
            now: Time::ZERO,
            calendar: Calendar::new(elements.len() + 2 * flows.len() + 1),
            elements,
            flows,
            hops,
            outbox: Outbox::default(),
            leaving: Vec::new(),
            dropped: Vec::new(),
            samples: Samples::default(),
            links: Links::default(),
            events: Events::default(),
            changes: recorded_changes(run),
            steady: (Time::from_ns(run.steady.from_ns), Time::from_ns(run.steady.to_ns)),
            end: Time::from_ns(run.duration_ns),
            progress: Progress::Going,
            run: run.clone(),
        };
        for (flow, spec) in (0..).zip(&run.flows) {
            let start = Time::from_ns(spec.start_ns);
            simulation.flows[flow].sender_scheduled = start;
            simulation.calendar.set(simulation.sender_component(flow), start);
        }
        simulation.calendar.set(simulation.recorder_component(), Time::ZERO);
        Ok(simulation)
    }

    fn sender_component(&self, flow: usize) -> usize {
        self.elements.len() + flow
    }

    fn receiver_component(&self, flow: usize) -> usize {
        self.elements.len() + self.flows.len() + flow
    }

    fn recorder_component(&self) -> usize {
        self.receiver_component(self.flows.len())
    }

    /// Simulates up to `events` events.
    ///
    /// # Errors
    /// A broken invariant.
    pub fn advance(&mut self, events: u64) -> Result<Progress, Violation> {
        for _ in 0..events {
            if self.progress == Progress::Done {
                break;
            }
            let (at, component) = self.calendar.first();
            self.now = at;
            if component < self.elements.len() {
                self.release(component);
            } else if component < self.elements.len() + self.flows.len() {
                self.wake_sender(component - self.elements.len());
            } else if component < self.elements.len() + 2 * self.flows.len() {
                self.wake_receiver(component - self.elements.len() - self.flows.len());
            } else {
                self.record()?;
                if self.now == self.end {
                    self.progress = Progress::Done;
                }
            }
        }
        Ok(self.progress)
    }

    /// Runs to the end.
    ///
    /// # Errors
    /// A broken invariant.
    pub fn run_to_end(mut self) -> Result<Outcome, Violation> {
        while self.advance(u64::MAX)? == Progress::Going {}
        Ok(self.finish())
    }

    /// The tables.
    pub fn finish(self) -> Outcome {
        let row =
            |(spec, flow): (&FlowSpec, &FlowEnds)| flow.measures.row(spec, &flow.sender, &flow.receiver);
        let rows: Vec<_> = self.run.flows.iter().zip(&self.flows).map(row).collect();
        let flows = flows_table(&rows, self.steady.1 - self.steady.0);
        let names = self.run.elements.into_iter().map(|element| element.name).collect();
        Outcome {
            flows,
            samples: self.samples.table(),
            links: self.links.table(),
            events: self.events.table(names),
        }
    }

    /// Data packets that reached their receivers so far.
    pub fn delivered_packets(&self) -> u64 {
        self.flows.iter().map(|flow| flow.receiver.received_packets()).sum()
    }

    /// The head of an element leaves it.
    #[inline]
    fn release(&mut self, element: usize) {
        let mut released = self.elements[element].release(self.now, &mut self.dropped);
        if !self.dropped.is_empty() {
            self.note_dropped(element);
        }
        self.reschedule_element(element);
        if let Some(packet) = &mut released {
            packet.hop += 1;
            self.forward(packet);
            self.send_outbox();
        }
    }

    #[inline]
    fn reschedule_element(&mut self, element: usize) {
        let placed = &mut self.elements[element];
        let next = placed.next();
        if placed.scheduled != next {
            placed.scheduled = next;
            self.calendar.set(element, next);
        }
    }

    /// Takes a packet as far as it gets now.
    #[inline]
    fn forward(&mut self, packet: &Packet) {
        if let Some(through) = self.enter(packet) {
            self.forward_through(through);
        }
    }

    /// Takes a packet on that an element let through.
    fn forward_through(&mut self, packet: Packet) {
        let mut through = Some(packet);
        while let Some(packet) = &mut through {
            packet.hop += 1;
            through = self.enter(packet);
        }
    }

    /// A packet reaches the next place on its way; returned if it goes on at once.
    #[inline]
    fn enter(&mut self, packet: &Packet) -> Option<Packet> {
        let component = self.hops[packet.hop as usize] as usize;
        let Some(element) = self.elements.get_mut(component) else {
            self.arrive(component - self.elements.len(), packet);
            return None;
        };
        let passed = element.accept(packet, self.now, &mut self.dropped);
        if !self.dropped.is_empty() {
            self.note_dropped(component);
        }
        if passed.is_none() {
            self.reschedule_element(component);
        }
        passed
    }

    /// A packet reaches a host: the sender of a flow, or beyond all senders the receiver.
    #[inline]
    fn arrive(&mut self, host: usize, packet: &Packet) {
        if packet.flags.has(Flags::CORRUPT) {
            self.note_corrupt(packet);
        } else if host < self.flows.len() {
            self.arrive_at_sender(host, packet);
        } else {
            self.arrive_at_receiver(host - self.flows.len(), packet);
        }
    }

    // Apart, so that a packet which only passes through elements pays nothing for what hosts do.
    #[inline(never)]
    fn arrive_at_sender(&mut self, index: usize, packet: &Packet) {
        let flow = &mut self.flows[index];
        self.outbox.hop = flow.forward;
        flow.sender.on_packet(packet, self.now, &mut self.outbox);
        if let Some(rtt_us) = flow.sender.take_rtt_us()
            && self.steady.0 <= self.now
            && self.now < self.steady.1
        {
            flow.measures.rtts_us.add(rtt_us);
        }
        self.after_sender(index);
    }

    #[inline(never)]
    fn arrive_at_receiver(&mut self, index: usize, packet: &Packet) {
        let flow = &mut self.flows[index];
        self.outbox.hop = flow.reverse;
        flow.receiver.on_packet(packet, self.now, &mut self.outbox);
        if flow.receiver.next() >= flow.message_end {
            self.note_messages(index);
        }
        self.reschedule_receiver(index);
    }

    /// Sends what hosts want sent, and what that makes others send at this instant.
    #[inline]
    fn send_outbox(&mut self) {
        while !self.outbox.packets.is_empty() {
            let room = std::mem::take(&mut self.leaving);
            let mut leaving = std::mem::replace(&mut self.outbox.packets, room);
            for packet in &leaving {
                self.forward(packet);
            }
            leaving.clear();
            self.leaving = leaving;
        }
    }

    fn wake_sender(&mut self, index: usize) {
        let spec = &self.run.flows[index];
        let flow = &mut self.flows[index];
        self.outbox.hop = flow.forward;
        if flow.application.at() <= self.now {
            match flow.application {
                Application::Open { .. } => {
                    match (&mut flow.writer, spec.bytes) {
                        (Some(writer), _) => writer.next = writer.schedule.proceed(),
                        (None, Some(bytes)) => flow.sender.write_all(bytes, &mut self.outbox),
                        (None, None) => flow.sender.write(u32::MAX, &mut self.outbox),
                    }
                    if !spec.is_udp() {
                        flow.sender.open(self.now, &mut self.outbox);
                    }
                    flow.application = flow.next_action(spec.stop_ns);
                    self.note(index, "start");
                }
                Application::Write { .. } => self.write(index),
                Application::Stop { .. } => {
                    flow.sender.stop();
                    if let Some(writer) = &mut flow.writer {
                        writer.next = Next::Nothing;
                    }
                    flow.application = Application::Nothing;
                    self.note(index, "stop");
                }
                Application::Nothing => {}
            }
        }
        let flow = &mut self.flows[index];
        if flow.sender.wake() <= self.now {
            flow.sender.on_timer(self.now, &mut self.outbox);
        }
        self.after_sender(index);
        self.send_outbox();
    }

    /// The application writes what is due.
    fn write(&mut self, index: usize) {
        let spec = &self.run.flows[index];
        let flow = &mut self.flows[index];
        let writer = flow.writer.as_mut().expect("only applications with a schedule write later");
        if let Next::Write { bytes, then, .. } = writer.next {
            let packets = u32::try_from(bytes / u64::from(spec.mss_bytes)).unwrap_or(u32::MAX);
            flow.sender.flow.now = self.now;
            match then {
                _ if spec.is_udp() => udp::send(packets, (&mut flow.sender, spec), &mut self.outbox),
                Then::Close => flow.sender.write_all(bytes, &mut self.outbox),
                Then::More => flow.sender.write(packets, &mut self.outbox),
            }
        }
        writer.next = writer.schedule.proceed();
        let is_message = writer.schedule.message_bytes().is_some() && !spec.is_udp();
        if is_message && self.run.record.events {
            writer.message_ends.push_back(flow.sender.written());
            flow.message_end = writer.message_ends[0];
            self.note(index, "request");
        }
        let flow = &mut self.flows[index];
        flow.application = flow.next_action(self.run.flows[index].stop_ns);
    }

    /// The application hears that all is acknowledged, if it waits for that.
    fn resume(&mut self, index: usize) {
        let flow = &mut self.flows[index];
        if let Some(writer) = &mut flow.writer
            && writer.next == Next::Wait
            && flow.sender.is_all_acknowledged()
        {
            writer.next = writer.schedule.resume(self.now);
            flow.application = flow.next_action(self.run.flows[index].stop_ns);
        }
    }

    /// Messages have arrived.
    #[cold]
    fn note_messages(&mut self, index: usize) {
        let flow = &mut self.flows[index];
        let next = flow.receiver.next();
        let mut arrived = 0;
        if let Some(writer) = &mut flow.writer {
            while writer.message_ends.front().is_some_and(|end| *end <= next) {
                writer.message_ends.pop_front();
                arrived += 1;
            }
            flow.message_end = writer.message_ends.front().copied().unwrap_or(u32::MAX);
        }
        (0..arrived).for_each(|_| self.note(index, "response"));
    }

    fn wake_receiver(&mut self, index: usize) {
        let flow = &mut self.flows[index];
        self.outbox.hop = flow.reverse;
        flow.receiver.on_timer(self.now, &mut self.outbox);
        self.reschedule_receiver(index);
        self.send_outbox();
    }

    #[inline]
    fn after_sender(&mut self, index: usize) {
        let flow = &mut self.flows[index];
        if !self.outbox.notices.is_empty() {
            if self.run.record.events {
                for notice in &self.outbox.notices {
                    let of = (flow.sender.index(), &flow.sender);
                    self.events.add(self.now, notice.name(), of);
                }
            }
            self.outbox.notices.clear();
        }
        if flow.writer.is_some() {
            self.resume(index);
        }
        let flow = &mut self.flows[index];
        let wake = flow.sender.wake().min(flow.application.at());
        if !flow.completed && flow.sender.is_complete() {
            flow.completed = true;
            self.note(index, "complete");
        }
        if self.run.record.sampling == Sampling::Change {
            self.record_change(index);
        }
        let flow = &mut self.flows[index];
        if is_to_move(flow.sender_scheduled, wake, self.now) {
            flow.sender_scheduled = wake;
            self.calendar.set(self.sender_component(index), wake);
        }
    }

    #[inline]
    fn reschedule_receiver(&mut self, index: usize) {
        let flow = &mut self.flows[index];
        let wake = flow.receiver.wake();
        if is_to_move(flow.receiver_scheduled, wake, self.now) {
            flow.receiver_scheduled = wake;
            self.calendar.set(self.receiver_component(index), wake);
        }
    }

    fn note(&mut self, index: usize, kind: &str) {
        if self.run.record.events {
            let sender = &self.flows[index].sender;
            self.events.add(self.now, kind, (sender.index(), sender));
        }
    }

    #[cold]
    fn note_dropped(&mut self, element: usize) {
        for packet in self.dropped.drain(..) {
            let flow = &mut self.flows[packet.flow as usize];
            flow.measures.dropped_packets += u64::from(packet.kind.has_payload());
            if self.run.record.events {
                let element = u32::try_from(element).expect("there are fewer than 2^32 components");
                self.events.add_drop(self.now, (element, packet.number), (packet.flow, &flow.sender));
            }
        }
    }

    /// A host drops a packet whose checksum is wrong.
    #[cold]
    fn note_corrupt(&mut self, packet: &Packet) {
        let flow = &mut self.flows[packet.flow as usize];
        flow.measures.dropped_packets += u64::from(packet.kind.has_payload());
        if self.run.record.events {
            self.events.add_corrupt(self.now, packet.number, (packet.flow, &flow.sender));
        }
    }

    /// Writes down what this instant calls for, and checks the invariants.
    fn record(&mut self) -> Result<(), Violation> {
        let now = self.now;
        let at_edge = [self.steady.0, self.steady.1, self.end].contains(&now);
        let sampled = match self.run.record.sampling {
            Sampling::EveryNs(every) => now.ns().is_multiple_of(every),
            Sampling::Off | Sampling::Change => false,
        };
        while let Some((_, element)) = self.changes.pop_if(|(at, _)| *at <= now) {
            self.events.add_path_change(now, element);
        }
        if at_edge || sampled {
            self.record_links();
        }
        for (index, flow) in (0..).zip(&mut self.flows) {
            if now == self.steady.0 {
                flow.measures.begin_steady(&flow.sender, &flow.receiver);
            }
            if now == self.steady.1 {
                flow.measures.end_steady(&flow.sender, &flow.receiver);
            }
            if at_edge || sampled {
                self.samples.add(now, (index, &flow.sender, &flow.receiver));
            }
        }
        if at_edge {
            self.check_invariants()?;
        }
        let next = self.next_record();
        self.calendar.set(self.recorder_component(), next);
        Ok(())
    }

    /// Adds a row for a flow whose window, ssthresh or state changed, and for the links beside it.
    fn record_change(&mut self, index: usize) {
        let flow = &self.flows[index];
        if self.samples.has_changed(flow.sender.index(), &flow.sender) {
            self.samples.add(self.now, (flow.sender.index(), &flow.sender, &flow.receiver));
            self.record_links();
        }
    }

    fn record_links(&mut self) {
        for index in 0..self.elements.len() {
            if let Some(view) = self.elements[index].get_mut().observe(self.now, &mut self.dropped) {
                self.links.add(self.now, (index, &self.run.elements[index].name), view);
            }
            // A queue may give up packets while it catches up.
            if !self.dropped.is_empty() {
                self.note_dropped(index);
            }
        }
    }

    fn next_record(&self) -> Time {
        let edges = [self.steady.0, self.steady.1, self.end].into_iter().filter(|&edge| edge > self.now);
        let tick = match self.run.record.sampling {
            Sampling::EveryNs(every) => Some(Time::from_ns((self.now.ns() / every + 1) * every)),
            Sampling::Off | Sampling::Change => None,
        };
        let change = self.changes.last().map(|(at, _)| *at);
        edges.chain(tick).chain(change).min().unwrap_or(Time::NEVER)
    }

    /// Every packet is somewhere, and the sender's sums agree with its scoreboard.
    fn check_invariants(&self) -> Result<(), Violation> {
        let violated = |name, found| Err(Violation { name, at: self.now, found });
        let mut held = vec![0u64; self.flows.len()];
        for element in &self.elements {
            element
                .get()
                .for_each(&mut |packet| held[packet.flow as usize] += u64::from(packet.kind.has_payload()));
        }
        for (flow, &held) in self.flows.iter().zip(&held) {
            let name = &self.run.flows[flow.sender.index() as usize].name;
            let sent = flow.sender.counts.sent_packets;
            let copies: u64 =
                self.elements.iter().map(|element| element.get().copies(flow.sender.index())).sum();
            let (received, dropped) = (flow.receiver.received_packets(), flow.measures.dropped_packets);
            if sent + copies != received + dropped + held {
                let found = format!(
                    "{name}: sent {sent} and {copies} copies, \
                     received {received}, dropped {dropped}, in flight {held}"
                );
                return violated("packets are conserved", found);
            }
            if let Err(found) = flow.sender.check() {
                return violated("the scoreboard adds up", format!("{name}: {found}"));
            }
            let (una, next) = (flow.sender.flow.una, flow.receiver.next());
            if una > next {
                return violated(
                    "only what arrived is acknowledged",
                    format!("{name}: una {una}, received {next}"),
                );
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Values;

    fn described(flow: &serde_json::Value, sampling: &str) -> Run {
        let mut fields = serde_json::json!({"name": "a", "algorithm": "reno", "start_ns": 0, "mss_bytes": 1448,
                                            "forward": ["link"], "reverse": ["back"]});
        let extra = flow.as_object().unwrap().clone();
        fields.as_object_mut().unwrap().extend(extra);
        let run = serde_json::json!({
            "format": 1, "profile": "linux-6.1", "seed": 1, "duration_ns": 5_000_000_000u64,
            "steady": {"from_ns": 1_000_000_000u64, "to_ns": 5_000_000_000u64},
            "record": {"sampling": sampling, "events": true},
            "elements": [
                {"name": "link", "kind": "link", "rate_bit_per_s": 10_000_000, "delay_ns": 10_000_000,
                 "queue": {"kind": "fifo", "limit_packets": 20}},
                {"name": "back", "kind": "delay", "delay_ns": 10_000_000},
            ],
            "flows": [fields],
        });
        serde_json::from_value(run).unwrap()
    }

    fn run(flow: &serde_json::Value, sampling: &str) -> Outcome {
        Simulation::new(&described(flow, sampling)).unwrap().run_to_end().unwrap()
    }

    fn values<'a>(table: &'a Table, name: &str) -> &'a Values {
        &table.columns.iter().find(|column| column.name == name).unwrap().values
    }

    fn kinds(outcome: &Outcome) -> Vec<String> {
        match values(&outcome.events, "kind") {
            Values::Label { codes, names } => {
                codes.iter().map(|&code| names[code as usize].clone()).collect()
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_flow_stopped_before_its_last_byte_never_completes() {
        let outcome = run(&serde_json::json!({"bytes": 50_000_000, "stop_ns": 2_000_000_000u64}), "off");
        assert_eq!(values(&outcome.flows, "completion_s"), &Values::MaybeF64(vec![None]));
        assert!(!kinds(&outcome).contains(&"complete".to_owned()));
    }

    #[test]
    fn a_finite_flow_delivers_exactly_its_bytes() {
        let outcome = run(&serde_json::json!({"bytes": 100_001}), "off");
        assert_eq!(values(&outcome.flows, "delivered_bytes"), &Values::U64(vec![100_001]));
        assert_eq!(kinds(&outcome).first().map(String::as_str), Some("start"));
        assert_eq!(kinds(&outcome).last().map(String::as_str), Some("complete"));
    }

    #[test]
    fn on_change_each_row_of_a_flow_has_a_row_of_the_link_beside_it() {
        let outcome = run(&serde_json::json!({}), "change");
        let (Values::F64(samples), Values::F64(links)) =
            (values(&outcome.samples, "time_s"), values(&outcome.links, "time_s"))
        else {
            panic!("times are numbers");
        };
        assert!(samples.len() > 100, "only {} changes", samples.len());
        assert!(samples.iter().all(|time| links.contains(time)));
    }

    /// Reno by another name.
    #[derive(Debug)]
    struct Stubborn;

    impl CongestionControl for Stubborn {
        fn name(&self) -> &'static str {
            "stubborn"
        }
    }

    #[test]
    fn an_algorithm_brought_along_needs_no_place_in_the_registry() {
        let run = described(&serde_json::json!({"algorithm": "mine"}), "off");
        let refused = Simulation::new(&run).unwrap_err().to_string();
        assert!(refused.starts_with("flows.0.algorithm: no algorithm is called mine"), "{refused}");
        let mut seeds = Vec::new();
        let simulation = Simulation::with_algorithms(&run, &mut |spec, seed| {
            seeds.push(seed);
            (spec.algorithm == "mine").then(|| Box::new(Stubborn) as Box<dyn CongestionControl>)
        });
        let flows = simulation.unwrap().run_to_end().unwrap().flows;
        assert_eq!(values(&flows, "algorithm"), &Values::Text(vec!["stubborn".to_owned()]));
        assert_eq!(seeds, [named_seed(1, "a")]);
    }
}
