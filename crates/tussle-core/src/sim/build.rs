//! Construction of a simulation: the elements, the endpoints, and the table of hops.

use std::collections::HashMap;

use super::Simulation;
use super::algorithms::{self, AlgorithmFactory};
use super::capture::Capture;
use super::endpoints::{Endpoints, ReceiverHost, TcpEndpoints, UdpEndpoints};
use super::flow::{Action, SimulatedFlow, Writer};
use super::recording::Recording;
use crate::Time;
use crate::cc::CongestionControl;
use crate::net::path::{ElementSlot, QueueLog};
use crate::record::FlowMeasures;
use crate::run::check::RunError;
use crate::run::receive_window::receive_window_bytes;
use crate::run::{ElementSpec, FlowSpec, Run};
use crate::tcp::{LargestWindow, Outbox, Setup, SharedMetrics, TimestampOffsets};
use crate::util::calendar::Calendar;
use crate::util::rng::named_seed;

/// Builder of a [`Simulation`].
#[must_use]
pub struct SimulationBuilder<'a> {
    run: &'a Run,
    algorithms: Option<&'a mut AlgorithmFactory<'a>>,
    capture: Option<&'a Capture>,
    queue_log: Option<&'a QueueLog>,
}

impl<'a> SimulationBuilder<'a> {
    /// Creates a builder for `run` with algorithms of the registry only, without a capture and a log.
    pub(super) fn new(run: &'a Run) -> SimulationBuilder<'a> {
        SimulationBuilder { run, algorithms: None, capture: None, queue_log: None }
    }

    /// Sets a factory that is asked for the algorithm of each TCP flow before the registry.
    pub fn algorithms(self, factory: &'a mut AlgorithmFactory<'a>) -> SimulationBuilder<'a> {
        SimulationBuilder { algorithms: Some(factory), ..self }
    }

    /// Captures every packet at the hosts.
    pub fn capture(self, capture: &'a Capture) -> SimulationBuilder<'a> {
        SimulationBuilder { capture: Some(capture), ..self }
    }

    /// Logs every packet at the queue of one link.
    pub fn queue_log(self, log: &'a QueueLog) -> SimulationBuilder<'a> {
        SimulationBuilder { queue_log: Some(log), ..self }
    }

    /// Builds the network of the run.
    ///
    /// # Errors
    /// The first invalid field of the run.
    pub fn build(mut self) -> Result<Simulation, RunError> {
        let run = self.run;
        run.check()?;
        let algorithms: Vec<_> =
            (0..).zip(&run.flows).map(|(i, spec)| self.algorithm(i, spec)).collect::<Result<_, _>>()?;
        let mut elements = elements(run, self.queue_log)?;
        let taps = self.capture.map(|_| Taps::at(elements.len()));
        elements.extend(self.capture.into_iter().flat_map(Capture::taps).map(ElementSlot::from));
        let mut topology = Topology::new(run, elements.len(), taps);
        let mut flows = Vec::new();
        for (i, (spec, algorithm)) in run.flows.iter().zip(algorithms).enumerate() {
            let index = component(i);
            let endpoints = match algorithm {
                Some(algorithm) => Endpoints::Tcp(topology.tcp_endpoints(i, algorithm)),
                None => Endpoints::Udp(UdpEndpoints::new(index, spec.mss_bytes)),
            };
            let start = Time::from_ns(spec.start_ns);
            flows.push(SimulatedFlow {
                index,
                endpoints,
                measures: FlowMeasures::default(),
                action: Action::Open { at: start },
                writer: Writer::of(spec, run.seed).map_err(|error| error.of_flow(i))?,
                message_end: u32::MAX,
                forward_hop: topology.add_forward(i),
                reverse_hop: topology.add_reverse(i),
                sender_scheduled: start,
                receiver_scheduled: Time::NEVER,
                completed: false,
            });
        }
        let mut simulation = Simulation {
            now: Time::ZERO,
            calendar: Calendar::new(elements.len() + 2 * flows.len() + 1),
            elements,
            flows,
            hops: topology.hops,
            outbox: Outbox::default(),
            dropped: Vec::new(),
            recording: Recording::new(run),
            is_done: false,
            run: run.clone(),
        };
        for flow in 0..simulation.flows.len() {
            let start = simulation.flows[flow].sender_scheduled;
            simulation.calendar.set(simulation.sender_component(flow), start);
        }
        simulation.calendar.set(simulation.recorder_component(), Time::ZERO);
        Ok(simulation)
    }

    /// The algorithm of flow `i`; `None` for a UDP flow.
    fn algorithm(
        &mut self,
        i: usize,
        spec: &FlowSpec,
    ) -> Result<Option<Box<dyn CongestionControl>>, RunError> {
        if spec.is_udp() {
            return Ok(None);
        }
        let seed = named_seed(self.run.seed, &spec.name);
        let own = self.algorithms.as_mut().and_then(|factory| factory(spec, seed));
        let algorithm =
            own.map_or_else(|| algorithms::registered(spec, seed), Ok).map_err(|error| error.of_flow(i))?;
        if algorithm.needs().timestamps && !self.run.ends(spec).has_timestamps() {
            let problem = format!(
                "{} measures delays by timestamps, which a host of this flow refuses; give timestamps = \"random\"",
                algorithm.name()
            );
            return Err(RunError::new("algorithm", problem).of_flow(i));
        }
        Ok(Some(algorithm))
    }
}

/// Index of a component of the event loop.
fn component(index: usize) -> u32 {
    u32::try_from(index).expect("there are fewer than 2^32 components")
}

fn elements(run: &Run, log: Option<&QueueLog>) -> Result<Vec<ElementSlot>, RunError> {
    let slot = |(i, element): (usize, &ElementSpec)| {
        let seed = named_seed(run.seed, &element.name);
        let slot = match log.filter(|log| log.link_name() == element.name) {
            Some(log) => element.kind.build_logged(seed, log).map(ElementSlot::from),
            None => ElementSlot::new(&element.kind, seed),
        };
        slot.map_err(|problem| RunError::new(format!("elements.{i}"), problem))
    };
    if let Some(log) = log
        && !run.elements.iter().any(|element| element.name == log.link_name())
    {
        return Err(RunError::new("elements", format!("no element is called {}", log.link_name())));
    }
    run.elements.iter().enumerate().map(slot).collect()
}

/// Indices of the elements that capture packets: next to the senders, and next to the receivers.
#[derive(Clone, Copy)]
struct Taps {
    at_sender: u32,
    at_receiver: u32,
}

impl Taps {
    /// Taps that follow `elements` other elements.
    fn at(elements: usize) -> Taps {
        Taps { at_sender: component(elements), at_receiver: component(elements + 1) }
    }
}

/// The components of a run, and the table of hops between them.
struct Topology<'a> {
    run: &'a Run,
    index_of: HashMap<&'a str, u32>,
    /// Elements of the simulation, taps included.
    elements: usize,
    taps: Option<Taps>,
    /// Components on the path of each flow, concatenated.
    hops: Vec<u32>,
    /// Metrics of ended connections, by the pair of hosts.
    metrics: HashMap<u32, SharedMetrics>,
}

impl<'a> Topology<'a> {
    fn new(run: &'a Run, elements: usize, taps: Option<Taps>) -> Topology<'a> {
        let names = run.elements.iter().map(|element| element.name.as_str());
        let index_of = names.enumerate().map(|(i, name)| (name, component(i))).collect();
        Topology { run, index_of, elements, taps, hops: Vec::new(), metrics: HashMap::new() }
    }

    /// Endpoints of the TCP flow `i`.
    fn tcp_endpoints(&mut self, i: usize, algorithm: Box<dyn CongestionControl>) -> TcpEndpoints {
        let (run, spec) = (self.run, &self.run.flows[i]);
        let path = spec.forward.iter().chain(&spec.reverse);
        let elements = path.map(|name| &run.elements[self.index_of[name.as_str()] as usize].kind);
        let ends = run.ends(spec);
        let window = if ends.receiver.rmem.is_some() {
            LargestWindow::FromBuffer { fixed_bytes: spec.receive_window_bytes }
        } else {
            LargestWindow::Bytes(receive_window_bytes(spec, elements))
        };
        let offsets = TimestampOffsets::of(&ends, run.seed, &spec.name);
        let setup = Setup {
            flow: component(i),
            host: ends.sender,
            sack: ends.has_sack(),
            timestamps: ends.has_timestamps(),
            mss_bytes: spec.mss_bytes,
            ecn: spec.ecn.into(),
            pacing: spec.pacing,
            device_rate_bit_per_s: spec.device_rate_bit_per_s,
            timestamp_offset_ms: offsets.sender_ms,
            has_application: spec.application.is_some(),
            reads_at_once: spec.reads_at_once(&ends.receiver),
            ends: spec.stop_ns.is_some() || spec.bytes.is_some(),
        };
        let metrics = spec.pair.filter(|_| ends.sender.metrics_save).map(|pair| {
            let metrics = self.metrics.entry(pair).or_default();
            metrics.clone()
        });
        let receiver = ReceiverHost { host: ends.receiver, window, timestamp_offset_ms: offsets.receiver_ms };
        let mut endpoints = TcpEndpoints::new(setup, algorithm, receiver);
        if let Some(metrics) = metrics {
            endpoints.sender.share(metrics);
        }
        endpoints
    }

    /// Adds the hops from the sender to the receiver of a flow; returns the index of the first one.
    fn add_forward(&mut self, flow: usize) -> u32 {
        let first = component(self.hops.len());
        self.hops.extend(self.taps.map(|taps| taps.at_sender));
        self.hops.extend(self.run.flows[flow].forward.iter().map(|name| self.index_of[name.as_str()]));
        self.hops.extend(self.taps.map(|taps| taps.at_receiver));
        self.hops.push(component(self.elements + self.run.flows.len() + flow));
        first
    }

    /// Adds the hops from the receiver to the sender of a flow; returns the index of the first one.
    fn add_reverse(&mut self, flow: usize) -> u32 {
        let first = component(self.hops.len());
        self.hops.extend(self.taps.map(|taps| taps.at_receiver));
        self.hops.extend(self.run.flows[flow].reverse.iter().map(|name| self.index_of[name.as_str()]));
        self.hops.extend(self.taps.map(|taps| taps.at_sender));
        self.hops.push(component(self.elements + flow));
        first
    }
}
