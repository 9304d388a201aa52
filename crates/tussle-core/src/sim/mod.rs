//! The simulation: an event loop with one pending event per component.
//!
//! Components are the elements of the network, then the senders, then the receivers, then the recorder; at
//! equal times they act in this order. A packet carries its index in the table of hops, which lists the
//! components on each flow's path in sequence, so that the event loop does not depend on the topology.

use crate::Time;
use crate::net::packet::{Flags, Kind, Packet};
use crate::net::path::ElementSlot;
use crate::record::flows_table;
use crate::run::application::Next;
use crate::run::check::RunError;
use crate::run::{Run, Sampling};
use crate::table::Table;
use crate::tcp::Outbox;
use crate::util::calendar::Calendar;

mod algorithms;
mod build;
pub(crate) mod capture;
mod endpoints;
mod flow;
mod random_parts;
mod recording;
mod steering;
mod udp;

pub use algorithms::AlgorithmFactory;
pub use build::SimulationBuilder;

use endpoints::Endpoints;
use flow::{Action, SimulatedFlow, must_move};
use recording::Recording;

/// Violation of an invariant of the simulator: a defect of Tussle, not of the run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invariant {name} is violated at {at}: {found}")]
pub struct Violation {
    /// The invariant.
    pub name: &'static str,
    /// Time at which the violation was found.
    pub at: Time,
    /// Description of the violation.
    pub found: String,
}

/// Whether a simulation continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The run continues: call [`Simulation::advance`] again.
    Going,
    /// The run is over: call [`Simulation::finish`].
    Done,
}

/// The tables of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// One row per flow.
    pub flows: Table,
    /// State of each flow over time.
    pub samples: Table,
    /// State of each link over time.
    pub links: Table,
    /// Events of flows and links.
    pub events: Table,
}

/// Simulation of a run.
#[derive(Debug)]
pub struct Simulation {
    run: Run,
    now: Time,
    calendar: Calendar,
    elements: Vec<ElementSlot>,
    flows: Vec<SimulatedFlow>,
    /// Components on the path of each flow, concatenated.
    hops: Vec<u32>,
    outbox: Outbox,
    dropped: Vec<Packet>,
    recording: Recording,
    is_done: bool,
}

impl Simulation {
    /// Creates the simulation of a run, with algorithms of the registry.
    ///
    /// # Errors
    /// The first invalid field of the run.
    pub fn new(run: &Run) -> Result<Simulation, RunError> {
        Simulation::builder(run).build()
    }

    /// Creates a builder for the simulation of a run.
    pub fn builder(run: &Run) -> SimulationBuilder<'_> {
        SimulationBuilder::new(run)
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
    /// An invariant is violated.
    pub fn advance(&mut self, events: u64) -> Result<Progress, Violation> {
        for _ in 0..events {
            if self.is_done {
                return Ok(Progress::Done);
            }
            self.step()?;
        }
        Ok(self.progress())
    }

    /// Simulates all events before `until`. How a run is divided does not change its results.
    ///
    /// # Errors
    /// An invariant is violated.
    pub fn advance_to(&mut self, until: Time) -> Result<Progress, Violation> {
        while !self.is_done && self.calendar.first().0 < until {
            self.step()?;
        }
        Ok(self.progress())
    }

    fn progress(&self) -> Progress {
        if self.is_done { Progress::Done } else { Progress::Going }
    }

    /// Simulates the next event.
    #[inline]
    fn step(&mut self) -> Result<(), Violation> {
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
            self.is_done = self.now == self.recording.end;
        }
        Ok(())
    }

    /// Simulates to the end, and returns the tables.
    ///
    /// # Errors
    /// An invariant is violated.
    pub fn run_to_end(mut self) -> Result<Outcome, Violation> {
        while self.advance(u64::MAX)? == Progress::Going {}
        Ok(self.finish())
    }

    /// Returns the tables.
    pub fn finish(self) -> Outcome {
        let specs_and_flows = self.run.flows.iter().zip(&self.flows);
        let rows: Vec<_> = specs_and_flows
            .map(|(spec, flow)| flow.measures.row(spec, &flow.endpoints.totals(self.now)))
            .collect();
        let flows = flows_table(&rows, self.recording.steady_span());
        let names = self.run.elements.into_iter().map(|element| element.name).collect();
        Outcome {
            flows,
            samples: self.recording.samples.table(),
            links: self.recording.links.table(),
            events: self.recording.events.table(names),
        }
    }

    /// Time of the last event.
    pub fn now(&self) -> Time {
        self.now
    }

    /// The `samples` and `links` tables so far.
    pub fn time_series(&self) -> [Table; 2] {
        [self.recording.samples.clone().table(), self.recording.links.clone().table()]
    }

    /// Data packets that reached their receivers so far.
    pub fn delivered_packets(&self) -> u64 {
        self.flows.iter().map(|flow| flow.endpoints.received_packets()).sum()
    }

    /// Releases the first packet of an element.
    #[inline]
    fn release(&mut self, element: usize) {
        let mut packet = Packet::new(Kind::Data, 0);
        let is_released = self.elements[element].release_into(&mut packet, self.now, &mut self.dropped);
        if !self.dropped.is_empty() {
            self.note_dropped(element);
        }
        self.reschedule_element(element);
        if is_released {
            packet.hop += 1;
            self.forward(&packet);
            self.send_outbox();
        }
    }

    #[inline]
    fn reschedule_element(&mut self, element: usize) {
        if let Some(next) = self.elements[element].reschedule() {
            self.calendar.set(element, next);
        }
    }

    /// Forwards a packet through all elements that it passes at this instant.
    #[inline]
    fn forward(&mut self, packet: &Packet) {
        if let Some(through) = self.enter(packet) {
            self.forward_through(through);
        }
    }

    /// Forwards a packet that has passed an element.
    fn forward_through(&mut self, packet: Packet) {
        let mut through = Some(packet);
        while let Some(packet) = &mut through {
            packet.hop += 1;
            through = self.enter(packet);
        }
    }

    /// Delivers a packet to its next hop; returns the packet if it passes at once.
    #[inline]
    fn enter(&mut self, packet: &Packet) -> Option<Packet> {
        let component = self.hops[packet.hop as usize] as usize;
        let Some(element) = self.elements.get_mut(component) else {
            self.arrive(component - self.elements.len(), packet);
            return None;
        };
        let passed = element.accept(packet, self.now, &mut self.dropped);
        self.after_entry(component, passed.is_some());
        passed
    }

    /// Records what the entry of a packet has changed in an element.
    #[inline]
    fn after_entry(&mut self, element: usize, has_passed: bool) {
        if !self.dropped.is_empty() {
            self.note_dropped(element);
        }
        if !has_passed && let Some(next) = self.elements[element].reschedule_after_entry() {
            self.calendar.set(element, next);
        }
    }

    /// Delivers a packet to a host. Senders are numbered by flow from 0 on; receivers follow.
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

    // Not inlined, so that packets which only pass elements do not pay for the code of hosts.
    #[inline(never)]
    fn arrive_at_sender(&mut self, index: usize, packet: &Packet) {
        let flow = &mut self.flows[index];
        let Endpoints::Tcp(tcp) = &mut flow.endpoints else { return };
        self.outbox.hop = flow.forward_hop;
        if let Some(rtt_us) = tcp.on_packet_at_sender(packet, self.now, &mut self.outbox)
            && self.recording.is_steady(self.now)
        {
            flow.measures.rtts_us.add(rtt_us);
        }
        self.after_sender(index);
    }

    #[inline(never)]
    fn arrive_at_receiver(&mut self, index: usize, packet: &Packet) {
        let flow = &mut self.flows[index];
        let tcp = match &mut flow.endpoints {
            Endpoints::Tcp(tcp) => tcp,
            Endpoints::Udp(udp) => return udp.sink.on_packet(packet),
        };
        self.outbox.hop = flow.reverse_hop;
        let wake = if tcp.receiver.merges() {
            let is_last = self.calendar.first().0 > self.now;
            tcp.merge_at_receiver(packet, self.now, is_last, &mut self.outbox)
        } else {
            tcp.receiver.on_packet(packet, self.now, &mut self.outbox);
            tcp.receiver.wake()
        };
        if tcp.receiver.next() >= flow.message_end {
            self.note_messages(index);
        }
        self.reschedule_receiver(index, wake);
    }

    /// Sends the packets of the outbox, and the packets that other hosts send in response at this instant.
    #[inline]
    fn send_outbox(&mut self) {
        if !self.outbox.packets.is_empty() {
            self.send_packets();
        }
    }

    #[inline(never)]
    fn send_packets(&mut self) {
        let mut sent = 0;
        while let Some(packet) = self.outbox.packets.get(sent) {
            sent += 1;
            let component = self.hops[packet.hop as usize] as usize;
            if let Some(element) = self.elements.get_mut(component) {
                // Unlike in `enter`, the packet stays in the outbox: copying a packet that has just been written is slow.
                let passed = element.accept(packet, self.now, &mut self.dropped);
                self.after_entry(component, passed.is_some());
                if let Some(through) = passed {
                    self.forward_through(through);
                }
            } else {
                let packet = *packet;
                self.arrive(component - self.elements.len(), &packet);
            }
        }
        self.outbox.packets.clear();
    }

    fn wake_sender(&mut self, index: usize) {
        self.outbox.hop = self.flows[index].forward_hop;
        if self.flows[index].action.at() <= self.now {
            match self.flows[index].action {
                Action::Open { .. } => self.open(index),
                Action::Write { .. } => self.write(index),
                Action::Stop { .. } => self.stop(index),
                Action::Nothing => {}
            }
        }
        if let Endpoints::Tcp(tcp) = &mut self.flows[index].endpoints
            && tcp.sender.wake() <= self.now
        {
            tcp.sender.on_timer(self.now, &mut self.outbox);
        }
        self.after_sender(index);
        self.send_outbox();
    }

    /// Opens the connection of a flow; a bulk sender also writes all its data.
    fn open(&mut self, index: usize) {
        let spec = &self.run.flows[index];
        let flow = &mut self.flows[index];
        if let Some(writer) = &mut flow.writer {
            writer.next = writer.schedule.proceed();
        }
        if let Endpoints::Tcp(tcp) = &mut flow.endpoints {
            match (&flow.writer, spec.bytes) {
                (Some(_), _) => {}
                (None, Some(bytes)) => tcp.sender.write_all(bytes, &mut self.outbox),
                (None, None) => tcp.sender.write(u32::MAX, &mut self.outbox),
            }
            tcp.sender.open(self.now, &mut self.outbox);
        }
        flow.action = flow.next_action(spec.stop_ns);
        self.note(index, "start");
    }

    /// Performs the write that is due.
    fn write(&mut self, index: usize) {
        let spec = &self.run.flows[index];
        let flow = &mut self.flows[index];
        let writer = flow.writer.as_mut().expect("only applications with a schedule write later");
        if let Next::Write { bytes, closes, .. } = writer.next {
            let packets = u32::try_from(bytes / u64::from(spec.mss_bytes)).unwrap_or(u32::MAX);
            match &mut flow.endpoints {
                Endpoints::Tcp(tcp) => {
                    tcp.sender.flow.now = self.now;
                    if closes {
                        tcp.sender.write_all(bytes, &mut self.outbox);
                    } else {
                        tcp.sender.write(packets, &mut self.outbox);
                    }
                }
                Endpoints::Udp(udp) => udp.source.send(packets, &mut self.outbox),
            }
        }
        writer.next = writer.schedule.proceed();
        let is_message = writer.schedule.message_bytes().is_some();
        if let Endpoints::Tcp(tcp) = &flow.endpoints
            && is_message
            && self.recording.has_events
        {
            writer.message_ends.push_back(tcp.sender.written());
            flow.message_end = writer.message_ends[0];
            self.note(index, "request");
        }
        let flow = &mut self.flows[index];
        flow.action = flow.next_action(self.run.flows[index].stop_ns);
    }

    /// Stops the application of a flow.
    fn stop(&mut self, index: usize) {
        let flow = &mut self.flows[index];
        if let Endpoints::Tcp(tcp) = &mut flow.endpoints {
            tcp.sender.stop();
        }
        if let Some(writer) = &mut flow.writer {
            writer.next = Next::Nothing;
        }
        flow.action = Action::Nothing;
        self.note(index, "stop");
    }

    /// Resumes an application that waits for acknowledgements, once everything written is acknowledged.
    #[inline(never)]
    fn resume(&mut self, index: usize) {
        let flow = &mut self.flows[index];
        if let (Some(writer), Endpoints::Tcp(tcp)) = (&mut flow.writer, &flow.endpoints)
            && writer.next == Next::Wait
            && tcp.sender.is_all_acknowledged()
        {
            writer.next = writer.schedule.resume(self.now);
            flow.action = flow.next_action(self.run.flows[index].stop_ns);
        }
    }

    /// Records the messages that have arrived.
    #[cold]
    fn note_messages(&mut self, index: usize) {
        let flow = &mut self.flows[index];
        let mut arrived = 0;
        if let (Some(writer), Endpoints::Tcp(tcp)) = (&mut flow.writer, &flow.endpoints) {
            while writer.message_ends.front().is_some_and(|end| *end <= tcp.receiver.next()) {
                writer.message_ends.pop_front();
                arrived += 1;
            }
            flow.message_end = writer.message_ends.front().copied().unwrap_or(u32::MAX);
        }
        (0..arrived).for_each(|_| self.note(index, "response"));
    }

    fn wake_receiver(&mut self, index: usize) {
        let flow = &mut self.flows[index];
        let Endpoints::Tcp(tcp) = &mut flow.endpoints else { return };
        self.outbox.hop = flow.reverse_hop;
        tcp.receiver.on_timer(self.now, &mut self.outbox);
        let wake = tcp.receiver.wake();
        if tcp.receiver.next() >= flow.message_end {
            self.note_messages(index);
        }
        self.reschedule_receiver(index, wake);
        self.send_outbox();
    }

    #[inline]
    fn after_sender(&mut self, index: usize) {
        if !self.outbox.events.is_empty() {
            self.note_events(index);
        }
        if !self.outbox.dropped.is_empty() {
            self.note_dropped_by_host(index);
        }
        if self.flows[index].writer.is_some() {
            self.resume(index);
        }
        let flow = &mut self.flows[index];
        let (timer, is_complete) = match &flow.endpoints {
            Endpoints::Tcp(tcp) => (tcp.sender.wake(), tcp.sender.is_complete()),
            Endpoints::Udp(_) => (Time::NEVER, false),
        };
        let wake = timer.min(flow.action.at());
        if is_complete && !flow.completed {
            self.complete(index);
        }
        if self.recording.sampling == Sampling::Change {
            self.record_change(index);
        }
        let flow = &mut self.flows[index];
        if must_move(flow.sender_scheduled, wake, self.now) {
            flow.sender_scheduled = wake;
            self.calendar.set(self.sender_component(index), wake);
        }
    }

    /// Records that everything is acknowledged.
    #[cold]
    fn complete(&mut self, index: usize) {
        let flow = &mut self.flows[index];
        flow.completed = true;
        if let Endpoints::Tcp(tcp) = &flow.endpoints {
            tcp.sender.keep_metrics();
        }
        self.note(index, "complete");
    }

    #[inline]
    fn reschedule_receiver(&mut self, index: usize, wake: Time) {
        let flow = &mut self.flows[index];
        if must_move(flow.receiver_scheduled, wake, self.now) {
            flow.receiver_scheduled = wake;
            self.calendar.set(self.receiver_component(index), wake);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::CongestionControl;
    use crate::run::FlowSpec;
    use crate::table::Values;
    use crate::util::rng::named_seed;

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
    fn a_run_divided_at_any_times_has_the_same_tables() {
        let run = described(&serde_json::json!({"bytes": 2_000_000}), "change");
        let whole = Simulation::new(&run).unwrap().run_to_end().unwrap();
        let mut divided = Simulation::new(&run).unwrap();
        let mut until = Time::ZERO;
        while divided.advance_to(until).unwrap() == Progress::Going {
            assert!(divided.now() <= until, "an event at {} was before {until}", divided.now());
            until += Time::from_ns(7_654_321);
        }
        assert_eq!(divided.finish(), whole);
    }

    #[test]
    fn the_time_series_so_far_are_the_first_rows_of_the_whole() {
        let run = described(&serde_json::json!({}), "change");
        let whole = Simulation::new(&run).unwrap().run_to_end().unwrap();
        let mut begun = Simulation::new(&run).unwrap();
        begun.advance_to(Time::from_ns(2_000_000_000)).unwrap();
        for (so_far, all) in begun.time_series().iter().zip([&whole.samples, &whole.links]) {
            let (Values::F64(some), Values::F64(every)) = (values(so_far, "time_s"), values(all, "time_s"))
            else {
                panic!("times are numbers");
            };
            assert_eq!(some[..], every[..some.len()]);
            assert!((100..every.len()).contains(&some.len()), "{} of {} rows", some.len(), every.len());
        }
    }

    #[test]
    fn with_change_sampling_each_row_of_a_flow_has_a_row_of_the_link() {
        let outcome = run(&serde_json::json!({}), "change");
        let (Values::F64(samples), Values::F64(links)) =
            (values(&outcome.samples, "time_s"), values(&outcome.links, "time_s"))
        else {
            panic!("times are numbers");
        };
        assert!(samples.len() > 100, "only {} changes", samples.len());
        assert!(samples.iter().all(|time| links.contains(time)));
    }

    /// An algorithm with Reno's hooks and another name.
    #[derive(Debug)]
    struct RenamedReno;

    impl CongestionControl for RenamedReno {
        fn name(&self) -> &'static str {
            "renamed"
        }
    }

    #[test]
    fn an_algorithm_from_a_factory_needs_no_entry_in_the_registry() {
        let run = described(&serde_json::json!({"algorithm": "mine"}), "off");
        let refused = Simulation::new(&run).unwrap_err().to_string();
        assert!(refused.starts_with("flows.0.algorithm: no algorithm is called mine"), "{refused}");
        let mut seeds = Vec::new();
        let mut factory = |spec: &FlowSpec, seed| {
            seeds.push(seed);
            (spec.algorithm == "mine").then(|| Box::new(RenamedReno) as Box<dyn CongestionControl>)
        };
        let simulation = Simulation::builder(&run).algorithms(&mut factory).build();
        let flows = simulation.unwrap().run_to_end().unwrap().flows;
        assert_eq!(values(&flows, "algorithm"), &Values::Text(vec!["renamed".to_owned()]));
        assert_eq!(seeds, [named_seed(1, "a")]);
    }
}
