//! Observation of flows and links during a run, and the check that all packets are accounted for.

use std::sync::Arc;

use anyhow::{Context, ensure};
use tussle_core::record::{FlowCounts, FlowRow, RttSummary, SteadyCounts, flows_table};
use tussle_core::run::Sampling;
use tussle_core::table::Table;
use tussle_core::{Histogram, Run, Time};

use super::clock::Clock;
use super::counters::{HostDevice, TcpCounts};
use super::links::{Link, is_queue, links};
use super::qdiscs::Qdiscs;
use super::rows::{Event, Events, Links, Sample, Samples, Window};
use super::setup::{Hosts, silence};
use super::simulated::SimulatedElements;
use super::trace::{Probe, Record, Trace, Traced};
use super::traffic::Flow;
use super::{Environment, Execution};
use crate::algorithms::needs_pacing;
use crate::namespace::{self, enter};
use crate::network::Network;
use crate::tcp_info::{TcpInfo, state_name};
use crate::validity;

/// Longest interval between two observations of queues, from which the mean backlog is computed, and of sockets.
pub(crate) const OBSERVATION_NS: u64 = 10_000_000;
/// Interval between checks, after the end of the run, whether the network is empty.
const DRAIN_NS: u64 = 10_000_000;
/// Longest interval between two readings of the trace, so that its buffer does not overflow.
const TRACE_NS: u64 = 100_000_000;
const MAX_DRAIN_NS: u64 = 3_600_000_000_000;
/// Largest number of checks in which the packets of an empty network do not add up.
const MAX_CHECKS: u32 = 20;
/// Sequence numbers used by the SYN and the FIN of a connection.
const HANDSHAKE_BYTES: u64 = 2;

/// Observer of the flows and links of a run.
pub(crate) struct Observer<'a> {
    run: &'a Run,
    network: &'a Network,
    clock: Clock,
    flows: Vec<ObservedFlow>,
    links: Vec<Link>,
    /// Queue disciplines of namespaces with links, then those of other namespaces; devices have the indices
    /// of their veth pairs.
    queues: Vec<Qdiscs>,
    others: Vec<Qdiscs>,
    elements: SimulatedElements,
    hosts: Hosts,
    devices: Vec<HostDevice>,
    /// `None` on a host's kernel, where sockets are observed instead, because tracing affects other
    /// processes.
    trace: Option<Trace>,
    environment: &'a Environment,
    samples: Samples,
    link_rows: Links,
    events: Events,
}

/// A flow and its measurements.
struct ObservedFlow {
    flow: Arc<Flow>,
    is_paced: bool,
    probe: Option<Probe>,
    /// Latest RTT measured, in µs.
    rtt_us: Option<u32>,
    /// State of congestion control at the last observation (`enum tcp_ca_state`).
    state: u8,
    /// RTTs in the steady interval, in µs.
    rtts: Histogram,
    /// Indices of events after which the window is not known yet.
    without_window: Vec<usize>,
    from: FlowSnapshot,
    to: FlowSnapshot,
    end: FlowSnapshot,
}

/// State of a flow at an instant.
#[derive(Clone, Copy, Debug, Default)]
struct FlowSnapshot {
    sender: TcpInfo,
    receiver: TcpInfo,
    counts: TcpCounts,
}

/// Data packets of a flow, once none is in flight.
struct PacketBalance {
    /// Packets that entered the network, and copies that it made.
    sent: u64,
    arrived: u64,
}

/// Packets of all hosts, copies included, by outcome.
#[derive(Debug, Default)]
struct Tally {
    sent: u64,
    received: u64,
    dropped: u64,
    waiting: u64,
}

impl<'a> Observer<'a> {
    /// Opens all counters, sockets and the trace. This thread returns to its namespace.
    pub(crate) fn new(
        execution: Execution<'a>,
        hosts: Hosts,
        flows: &[Arc<Flow>],
        elements: SimulatedElements,
    ) -> anyhow::Result<Observer<'a>> {
        let Execution { run, network, clock, environment } = execution;
        let home = namespace::current()?;
        let mut queues = Vec::new();
        let mut others = Vec::new();
        for (name, namespace) in &hosts.queues {
            let veth_pairs = network
                .veth_pairs
                .iter()
                .enumerate()
                .filter(|(_, veth)| veth.hop.is_some() && veth.entry.namespace == *name);
            let devices: Vec<_> =
                veth_pairs.map(|(index, veth)| (index, veth.entry.device.clone())).collect();
            let has_link = devices.iter().any(|(index, _)| is_queue(network, *index));
            let qdiscs = Qdiscs::open(namespace, &devices)?;
            if has_link { queues.push(qdiscs) } else { others.push(qdiscs) }
        }
        let mut devices = Vec::new();
        for host in hosts.senders.iter().chain(&hosts.receivers) {
            enter(host)?;
            devices.push(HostDevice::open()?);
        }
        enter(&home)?;
        Ok(Observer {
            run,
            network,
            clock,
            flows: flows.iter().map(|flow| ObservedFlow::new(Arc::clone(flow))).collect(),
            links: links(run, network),
            queues,
            others,
            elements,
            hosts,
            devices,
            trace: if let Environment::Guest = environment { Some(Trace::start()?) } else { None },
            environment,
            samples: Samples::default(),
            link_rows: Links::default(),
            events: Events::default(),
        })
    }

    /// Longest interval between two observations. Only queue disciplines and sockets have to be seen often: the
    /// simulator's elements and the trace count by themselves.
    pub(crate) fn interval_ns(&self) -> u64 {
        if self.queues.is_empty() && self.trace.is_some() { TRACE_NS } else { OBSERVATION_NS }
    }

    /// Reads all counters, sockets and the trace, and adds the rows of this instant.
    pub(crate) fn observe(&mut self, now_ns: u64) -> anyhow::Result<()> {
        let run = self.run;
        let is_edge = [run.steady.from_ns, run.steady.to_ns, run.duration_ns].contains(&now_ns);
        let is_sampled =
            matches!(run.record.sampling, Sampling::EveryNs(every_ns) if now_ns.is_multiple_of(every_ns));
        if is_edge || is_sampled || now_ns.is_multiple_of(TRACE_NS) {
            self.read_trace()?;
        }
        self.read_sockets(now_ns)?;
        self.look_at_links(now_ns)?;
        if is_edge || is_sampled {
            for link in &mut self.links {
                link.row(now_ns, &mut self.link_rows, &self.elements)?;
            }
            for (index, observed) in (0..).zip(&mut self.flows) {
                let seen = observed.observe()?;
                self.samples.add(index, now_ns, &observed.sample(&seen));
                if is_edge {
                    let counts = observed.flow.netstat.read()?;
                    observed.keep(&FlowSnapshot { counts, ..seen }, now_ns, run);
                }
            }
        }
        Ok(())
    }

    fn read_trace(&mut self) -> anyhow::Result<()> {
        let Observer { run, clock, flows, events, trace: Some(trace), .. } = self else { return Ok(()) };
        trace.read(&mut |Traced { monotonic_ns, flow, record }| {
            let Some(observed) = flows.get_mut(flow) else { return };
            let time_ns = clock.of_monotonic(monotonic_ns);
            match record {
                Record::Probe(probe) => observed.probe(probe, time_ns, run, events),
                Record::State(state) => observed.state(state, time_ns, flow, run, events),
            }
        })
    }

    /// Reads from the sockets, at each observation, an approximation of the trace.
    fn read_sockets(&mut self, now_ns: u64) -> anyhow::Result<()> {
        if self.trace.is_some() {
            return Ok(());
        }
        for (index, observed) in self.flows.iter_mut().enumerate() {
            let info = observed.flow.sender_info()?;
            observed.read_socket(&info, now_ns, index, self.run, &mut self.events);
        }
        Ok(())
    }

    fn look_at_links(&mut self, now_ns: u64) -> anyhow::Result<()> {
        let links = &mut self.links;
        for qdiscs in &mut self.queues {
            qdiscs.read(&mut |veth, counts| {
                for link in links.iter_mut() {
                    link.observe(now_ns, veth, counts);
                }
            })?;
        }
        Ok(())
    }

    /// Checks that every packet is accounted for, and returns the tables.
    pub(crate) fn finish(mut self) -> anyhow::Result<Vec<Table>> {
        self.check_acknowledged()?;
        let validity = self.validity()?;
        self.drain()?;
        let balances = self.balances()?;
        for observed in &self.flows {
            observed.note_ends(self.run, &mut self.events);
        }
        self.elements.take_losses()?.iter().for_each(|loss| self.events.add_loss(loss));
        for (index, element) in self.run.elements.iter().enumerate() {
            let changes = element.kind.changes().iter().filter(|change| change.at_ns <= self.run.duration_ns);
            changes.for_each(|change| self.events.add_path_change(change.at_ns, index));
        }
        let steady = Time::from_ns(self.run.steady.to_ns - self.run.steady.from_ns);
        let flows = flows_table(&flow_rows(self.run, &self.flows, &balances)?, steady);
        let Observer { run, samples, link_rows, mut events, .. } = self;
        if !run.record.events {
            events = Events::default();
        }
        let names = run.elements.iter().map(|element| element.name.clone()).collect();
        let tables = [flows, samples.table(), link_rows.table(), events.table(names)];
        Ok(tables.into_iter().chain(validity).collect())
    }

    /// The `validity` table; `None` on a guest.
    fn validity(&self) -> anyhow::Result<Option<Table>> {
        let Environment::Host(watch) = self.environment else { return Ok(None) };
        let load = watch.lock().expect("no thread panics while it holds the lock").load()?;
        let home = namespace::current()?;
        let mut rows = Vec::new();
        for (index, (observed, namespace)) in (0..).zip(self.flows.iter().zip(&self.hosts.senders)) {
            enter(namespace)?;
            let validity = observed.flow.validity(load)?;
            rows.push(validity::Row { flow: index, sender: validity.clone(), receiver: Some(validity) });
        }
        enter(&home)?;
        Ok(Some(validity::table(&rows)))
    }

    /// Checks that acknowledged bytes were received.
    fn check_acknowledged(&self) -> anyhow::Result<()> {
        for observed in &self.flows {
            let FlowSnapshot { sender, receiver, .. } = observed.end;
            ensure!(
                sender.bytes_acked <= receiver.bytes_received() + HANDSHAKE_BYTES,
                "invariant violated: bytes acknowledged were received: of flow {}, {} were acknowledged and {} received",
                observed.flow.spec.name,
                sender.bytes_acked,
                receiver.bytes_received()
            );
        }
        Ok(())
    }

    /// Disconnects the senders, waits until the network is empty, and checks that every packet is accounted
    /// for.
    fn drain(&mut self) -> anyhow::Result<()> {
        silence(self.network, self.environment)?;
        let mut now_ns = self.run.duration_ns;
        let mut checks = 0;
        loop {
            now_ns += DRAIN_NS;
            self.clock.sleep_until(now_ns)?;
            let Tally { sent, received, dropped, waiting } = self.tally()?;
            if waiting == 0 && sent == received + dropped {
                return Ok(());
            }
            // In real time, an ACK may pass between the readings of two counters.
            checks += u32::from(waiting == 0);
            ensure!(
                matches!(self.environment, Environment::Guest) || checks < MAX_CHECKS,
                "{} packets were lost on this host, but not in the network of the run: the host is too slow; \
                 give lower rates",
                sent.abs_diff(received + dropped)
            );
            ensure!(
                checks < MAX_CHECKS && now_ns < self.run.duration_ns + MAX_DRAIN_NS,
                "invariant violated: packets conserved: hosts sent {sent} packets, but received {received}, and \
                 {dropped} were dropped and {waiting} wait"
            );
        }
    }

    fn tally(&mut self) -> anyhow::Result<Tally> {
        let crossed = self.elements.tally()?;
        let mut tally = Tally {
            sent: crossed.copied,
            dropped: crossed.dropped,
            waiting: crossed.held,
            ..Tally::default()
        };
        for qdiscs in self.queues.iter_mut().chain(&mut self.others) {
            qdiscs.read(&mut |_, counts| {
                tally.dropped += counts.dropped_packets;
                tally.waiting += counts.backlog_packets;
            })?;
        }
        for host in &mut self.devices {
            let carried = host.read()?;
            tally.sent += carried.sent_packets;
            tally.received += carried.received_packets;
        }
        Ok(tally)
    }

    /// Data packets sent and arrived of each flow, once the network is empty.
    fn balances(&self) -> anyhow::Result<Vec<PacketBalance>> {
        let home = namespace::current()?;
        let balances = self
            .flows
            .iter()
            .zip(&self.hosts.senders)
            .enumerate()
            .map(|(index, (observed, namespace))| {
                let mut kept_back = 0;
                let mut device = Qdiscs::open(namespace, &[(0, "net".to_owned())])?;
                // A burst that is dropped counts once, but all its packets are seen.
                device.read(&mut |_, counts| {
                    kept_back = counts.dropped_packets.max(counts.classified_packets);
                })?;
                let sent = u64::from(observed.flow.sender_info()?.data_segs_out);
                // The sender's device drops acknowledgements, too.
                let sent_since = sent - u64::from(observed.end.sender.data_segs_out);
                let kept_back = kept_back.min(sent_since);
                let arrived = u64::from(observed.flow.receiver_info()?.data_segs_in);
                Ok(PacketBalance { sent: sent - kept_back + self.elements.copies(index)?, arrived })
            })
            .collect();
        enter(&home)?;
        balances
    }
}

impl PacketBalance {
    /// Data packets that did not arrive.
    fn dropped(&self, name: &str) -> anyhow::Result<u64> {
        let PacketBalance { sent, arrived } = self;
        sent.checked_sub(*arrived).with_context(|| {
            format!("invariant violated: packets conserved: of flow {name}, {sent} were sent and {arrived} arrived")
        })
    }
}

impl ObservedFlow {
    fn new(flow: Arc<Flow>) -> ObservedFlow {
        ObservedFlow {
            is_paced: flow.spec.pacing || needs_pacing(&flow.spec.algorithm),
            flow,
            probe: None,
            rtt_us: None,
            state: 0,
            rtts: Histogram::default(),
            without_window: Vec::new(),
            from: FlowSnapshot::default(),
            to: FlowSnapshot::default(),
            end: FlowSnapshot::default(),
        }
    }

    fn observe(&self) -> anyhow::Result<FlowSnapshot> {
        let (sender, receiver) = (self.flow.sender_info()?, self.flow.receiver_info()?);
        Ok(FlowSnapshot { sender, receiver, counts: TcpCounts::default() })
    }

    fn sample(&self, seen: &FlowSnapshot) -> Sample {
        Sample {
            sender: seen.sender,
            delivered_bytes: seen.receiver.bytes_received(),
            rtt_us: self.rtt_us,
            is_paced: self.is_paced,
        }
    }

    fn keep(&mut self, seen: &FlowSnapshot, now_ns: u64, run: &Run) {
        for (at_ns, place) in [
            (run.steady.from_ns, &mut self.from),
            (run.steady.to_ns, &mut self.to),
            (run.duration_ns, &mut self.end),
        ] {
            if at_ns == now_ns {
                *place = *seen;
            }
        }
    }

    /// Processes a packet's arrival at the sender. Its record shows the result of the previous arrival: srtt
    /// became 7/8 of itself plus 1/8 of the measured RTT (RFC 6298, 2.3), which gives the RTT to 8 µs.
    fn probe(&mut self, probe: Probe, now_ns: u64, run: &Run, events: &mut Events) {
        let window = Window { cwnd: probe.cwnd, ssthresh: probe.ssthresh };
        self.without_window.drain(..).for_each(|event| events.set_window(event, window));
        let Some(before) = self.probe.replace(probe) else { return };
        let measured = if before.srtt_us == 0 {
            probe.srtt_us
        } else if probe.srtt_us != before.srtt_us || probe.snd_una != before.snd_una {
            (8 * probe.srtt_us).saturating_sub(7 * before.srtt_us)
        } else {
            0
        };
        if measured > 0 {
            self.rtt_us = Some(measured);
            if (run.steady.from_ns..run.steady.to_ns).contains(&now_ns) {
                self.rtts.add(measured);
            }
        }
    }

    /// Processes the state of the socket. The smoothed RTT replaces the RTTs measured since the last
    /// observation.
    fn read_socket(&mut self, info: &TcpInfo, now_ns: u64, flow: usize, run: &Run, events: &mut Events) {
        let window = Window { cwnd: info.cwnd, ssthresh: info.ssthresh };
        self.without_window.drain(..).for_each(|event| events.set_window(event, window));
        if self.state != info.ca_state {
            self.state = info.ca_state;
            self.state(info.ca_state, now_ns, flow, run, events);
        }
        if info.rtt_us > 0 {
            self.rtt_us = Some(info.rtt_us);
            if info.unacked > 0 && (run.steady.from_ns..run.steady.to_ns).contains(&now_ns) {
                self.rtts.add(info.rtt_us);
            }
        }
    }

    fn state(&mut self, state: u8, time_ns: u64, flow: usize, run: &Run, events: &mut Events) {
        let kind = match state_name(state) {
            "recovery" => "recovery",
            "loss" => "timeout",
            "cwr" => "reduction",
            _ => return,
        };
        if time_ns <= run.duration_ns {
            self.without_window.push(events.add(Event { time_ns, kind, flow, after: None }));
        }
    }

    /// The row of the flow in the `flows` table. The kernel counts neither lost packets nor ECN-Echoes.
    fn row(&self, run: &Run, balance: &PacketBalance) -> anyhow::Result<FlowRow> {
        let FlowSnapshot { sender, receiver, counts } = &self.end;
        let spec = &self.flow.spec;
        let completed_ns = self.flow.completed_ns().filter(|at_ns| *at_ns <= run.duration_ns);
        let steady_packets =
            |of: fn(&TcpInfo) -> u32| Some(u64::from(of(&self.to.sender) - of(&self.from.sender)));
        let steady_us = |of: fn(&TcpInfo) -> u64| of(&self.to.sender).saturating_sub(of(&self.from.sender));
        Ok(FlowRow {
            completion_ns: completed_ns.map(|at_ns| at_ns - spec.start_ns),
            delivered_bytes: receiver.bytes_received(),
            counts: FlowCounts {
                sent_packets: Some(sender.data_segs_out.into()),
                retransmitted_packets: Some(sender.total_retrans.into()),
                lost_packets: None,
                dropped_packets: Some(balance.dropped(&spec.name)?),
                timeouts: Some(counts.timeouts.into()),
                spurious_timeouts: Some(counts.spurious_timeouts.into()),
                recoveries: Some(counts.recoveries.into()),
                undone_recoveries: Some(counts.undone_recoveries.into()),
                ecn_echoes: None,
            },
            steady: SteadyCounts {
                delivered_bytes: self.to.receiver.bytes_received() - self.from.receiver.bytes_received(),
                sent_packets: steady_packets(|info| info.data_segs_out),
                retransmitted_packets: steady_packets(|info| info.total_retrans),
                timeouts: Some(u64::from(self.to.counts.timeouts - self.from.counts.timeouts)),
                rwnd_limited_ns: Some(steady_us(|info| info.rwnd_limited_us) * 1000),
                sndbuf_limited_ns: Some(steady_us(|info| info.sndbuf_limited_us) * 1000),
            },
            rtt: RttSummary::of(&self.rtts),
            ..FlowRow::new(spec, &self.flow.algorithm)
        })
    }

    fn note_ends(&self, run: &Run, events: &mut Events) {
        let flow = run
            .flows
            .iter()
            .position(|spec| spec.name == self.flow.spec.name)
            .expect("the flow belongs to the run");
        events.add(Event { time_ns: self.flow.spec.start_ns, kind: "start", flow, after: None });
        for (time_ns, kind) in self.flow.messages() {
            if time_ns <= run.duration_ns {
                events.add(Event { time_ns, kind, flow, after: None });
            }
        }
        if let Some(time_ns) = self.flow.completed_ns().filter(|at| *at <= run.duration_ns) {
            events.add(Event { time_ns, kind: "complete", flow, after: None });
        }
    }
}

/// The rows of the `flows` table.
fn flow_rows(run: &Run, flows: &[ObservedFlow], balances: &[PacketBalance]) -> anyhow::Result<Vec<FlowRow>> {
    flows.iter().zip(balances).map(|(flow, balance)| flow.row(run, balance)).collect()
}
