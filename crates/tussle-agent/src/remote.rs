//! A host's part in a run over real machines: requests and answers in lines of JSON.
//!
//! Only the sockets of the run's flows listen, and they accept only connections that show the flow's token.

use std::collections::BTreeMap;
use std::io::{BufRead, Write as _};
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::mpsc::{Receiver as Channel, channel};
use std::sync::{Arc, Mutex};

use anyhow::{Context, ensure};
use serde::{Deserialize, Serialize};
use tussle_core::record::RttSummary;
use tussle_core::run::{FlowSpec, Sampling};
use tussle_core::{Histogram, Run};

use crate::algorithms;
use crate::execute::clock::{Clock, monotonic_ns, realtime_ns};
use crate::execute::observer::OBSERVATION_NS;
use crate::execute::rows::{Event, Events, Sample, Samples, Window};
use crate::execute::timeline::Instants;
use crate::execute::traffic::{self, Receiver, Sender, TOKEN_BYTES, Token};
use crate::execute::{Environment, stream};
use crate::namespace;
use crate::tcp_info::{TcpInfo, state_name};
use crate::validity::{HostLoad, LoadMonitor, Validity};

/// Interval between checks whether all data have arrived, and time limit of these checks.
const DRAIN_NS: u64 = 50_000_000;
const MAX_DRAIN_NS: u64 = 5_000_000_000;

/// A request of the process that started the agent.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Request {
    /// Read the clocks.
    Clock,
    /// Check which of these algorithms cannot be used on this host, and why.
    Usable(Vec<String>),
    /// Open the sockets of a run.
    Prepare(Box<HostPart>),
    /// Execute the run, starting at this reading of the clock.
    Start { at_ns: u64, to: BTreeMap<usize, SocketAddr> },
    /// Report the counters of the receivers.
    Finish,
}

/// A host's part of a run: the flows whose senders or receivers are here, and the token of each flow.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct HostPart {
    run: Run,
    senders: Vec<usize>,
    receivers: Vec<usize>,
    tokens: BTreeMap<usize, Token>,
    /// Address at which receivers listen. The port is that of the first flow, or 0 for any port. The family
    /// of the address is also that of the senders.
    listen: SocketAddr,
}

/// An answer to the process that started the agent.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum Answer {
    Hello { host: String, kernel: String },
    Clock { monotonic_ns: u64, realtime_ns: u64 },
    Unusable { problems: BTreeMap<String, String> },
    Prepared { ports: BTreeMap<usize, u16> },
    Sent { senders: BTreeMap<usize, Sent>, samples_bytes: usize, events_bytes: usize },
    Received { receivers: BTreeMap<usize, Received>, shortfall: Option<String> },
    Problem { sentence: String },
}

/// Results of a sender.
#[derive(Debug, Serialize)]
struct Sent {
    from: Counts,
    to: Counts,
    end: Counts,
    /// Smoothed RTTs in the steady interval.
    rtt: Option<RttSummary>,
    /// Data packets sent in total, when none was in flight any longer.
    drained_packets: Option<u32>,
    /// Times at which chunks were written.
    messages_ns: Vec<u64>,
    problem: Option<String>,
    validity: Validity,
    shortfall: Option<String>,
}

/// Counters of a sender at an instant.
#[derive(Clone, Copy, Debug, Default, Serialize)]
struct Counts {
    sent_packets: u32,
    retransmitted_packets: u32,
    timeouts: u32,
    recoveries: u32,
    acked_bytes: u64,
}

/// Results of a receiver.
#[derive(Debug, Serialize)]
struct Received {
    /// Times in ns, each with the bytes received in order by then.
    delivered_bytes: Vec<(u64, u64)>,
    packets: u32,
    completed_ns: Option<u64>,
    /// Times at which chunks had arrived.
    messages_ns: Vec<u64>,
    problem: Option<String>,
}

/// Answers requests until stdin closes. The file of this program is removed at once, so that nothing is left
/// behind.
pub(crate) fn serve(file: &str) -> anyhow::Result<ExitCode> {
    std::fs::remove_file(file).context("removing this program's file")?;
    let here = Validity::here()?;
    answer(&Answer::Hello { host: here.0, kernel: here.1 }, &[])?;
    let requests = requests();
    let mut ready: Option<PreparedRun> = None;
    while let Ok(line) = requests.recv() {
        let outcome = serde_json::from_str(&line).context("a request").and_then(|request| match request {
            Request::Clock => {
                let (monotonic_ns, realtime_ns) = (monotonic_ns()?, realtime_ns()?);
                answer(&Answer::Clock { monotonic_ns, realtime_ns }, &[])
            }
            Request::Usable(names) => {
                let problem = |name: String| Some((algorithms::usable(&name).err()?, name));
                let problems = names.into_iter().filter_map(problem).map(|(why, name)| (name, why)).collect();
                answer(&Answer::Unusable { problems }, &[])
            }
            Request::Prepare(part) => {
                let (made, ports) = PreparedRun::new(*part)?;
                ready = Some(made);
                answer(&Answer::Prepared { ports }, &[])
            }
            Request::Start { at_ns, to } => {
                ready.as_mut().context("nothing is prepared")?.run(Clock::starting_at(at_ns), &to)
            }
            Request::Finish => ready.take().context("nothing was run")?.finish(),
        });
        if let Err(problem) = outcome {
            answer(&Answer::Problem { sentence: format!("{problem:#}") }, &[])?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Checks that TCP timestamps have a random offset on this host. A host's settings are never changed, so that
/// a run cannot require another setting.
fn has_default_timestamps() -> anyhow::Result<()> {
    let set = namespace::read("net/ipv4/tcp_timestamps")?;
    ensure!(
        set == "1",
        "hosts.timestamps: random, but net.ipv4.tcp_timestamps is {set} here; \
         `sysctl net.ipv4.tcp_timestamps=1` sets it"
    );
    Ok(())
}

/// Lines from stdin. The process exits when stdin closes, since its owner is gone.
fn requests() -> Channel<String> {
    let (sender, requests) = channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
        std::process::exit(0);
    });
    requests
}

fn answer(answer: &Answer, rest: &[u8]) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    serde_json::to_writer(&mut out, answer)?;
    out.write_all(b"\n")?;
    out.write_all(rest)?;
    Ok(out.flush()?)
}

/// A prepared run, whose sockets are open.
struct PreparedRun {
    run: Run,
    senders: Vec<ObservedSender>,
    receivers: Vec<ObservedReceiver>,
    load: Option<HostLoad>,
}

/// A receiver, and times in ns, each with the bytes that had reached the receiver by then.
struct ObservedReceiver {
    flow: usize,
    receiver: Arc<Receiver>,
    delivered_bytes: Vec<(u64, u64)>,
}

/// A sender and its measurements.
struct ObservedSender {
    flow: usize,
    sender: Arc<Sender>,
    is_paced: bool,
    /// State of congestion control at the last observation (`enum tcp_ca_state`).
    state: u8,
    counts: Counts,
    from: Counts,
    to: Counts,
    end: Counts,
    rtts: Histogram,
}

impl PreparedRun {
    fn new(part: HostPart) -> anyhow::Result<(PreparedRun, BTreeMap<usize, u16>)> {
        let HostPart { run, senders, receivers, tokens, listen } = part;
        run.check()?;
        has_default_timestamps()?;
        let token = |flow: usize| tokens.get(&flow).copied().context("a flow has no token");
        let spec = |flow: usize| run.flows.get(flow).context("there is no such flow");
        let mut ports = BTreeMap::new();
        let mut made =
            PreparedRun { senders: Vec::new(), receivers: Vec::new(), run: run.clone(), load: None };
        for flow in receivers {
            let mut at = listen;
            if at.port() > 0 {
                at.set_port(at.port() + u16::try_from(flow).context("too many flows for the ports")?);
            }
            let receiver = Receiver::listen(spec(flow)?, run.seed, at, token(flow)?)
                .with_context(|| format!("the receiver of {}, at {at}", run.flows[flow].name))?;
            ports.insert(flow, receiver.port()?);
            made.receivers.push(ObservedReceiver {
                flow,
                receiver: Arc::new(receiver),
                delivered_bytes: Vec::new(),
            });
        }
        for flow in senders {
            let spec = spec(flow)?;
            algorithms::usable(&spec.algorithm).map_err(anyhow::Error::msg)?;
            let sender = Sender::open(spec, run.seed, listen, token(flow)?)
                .with_context(|| format!("the sender of {}", spec.name))?;
            made.senders.push(ObservedSender::new(flow, spec, sender));
        }
        Ok((made, ports))
    }

    /// Sends and receives until the run is over, and reports the senders.
    fn run(&mut self, clock: Clock, to: &BTreeMap<usize, SocketAddr>) -> anyhow::Result<()> {
        let watch = Arc::new(Mutex::new(LoadMonitor::start()?));
        let environment = Environment::Host(Arc::clone(&watch));
        for observed in &self.receivers {
            traffic::start_receiver(Arc::clone(&observed.receiver), clock);
        }
        for observed in &self.senders {
            let to = *to.get(&observed.flow).context("a flow has no receiver")?;
            traffic::start_sender(Arc::clone(&observed.sender), to, clock, None);
        }
        environment.be_punctual()?;
        let (mut samples, mut events) = (Samples::default(), Events::default());
        for at_ns in Instants::of(&self.run, OBSERVATION_NS, std::iter::empty()) {
            clock.sleep_until(at_ns)?;
            environment.note_slip(at_ns, clock)?;
            self.observe(at_ns, &mut samples, &mut events)?;
        }
        let load = watch.lock().expect("no thread panics while it holds the lock").load()?;
        self.load = Some(load);
        let report = |observed: &ObservedSender| observed.sender.validity(load);
        let validities = self.senders.iter().map(report).collect::<anyhow::Result<Vec<_>>>()?;
        let drained = self.drain(clock)?;
        let mut senders = BTreeMap::new();
        for ((observed, validity), drained) in self.senders.iter().zip(validities).zip(drained) {
            senders.insert(observed.flow, observed.report(validity, drained));
        }
        let (samples, events) = (stream(samples.table())?, stream(events.table(Vec::new()))?);
        let report = Answer::Sent { senders, samples_bytes: samples.len(), events_bytes: events.len() };
        answer(&report, &[samples, events].concat())
    }

    fn observe(&mut self, at_ns: u64, samples: &mut Samples, events: &mut Events) -> anyhow::Result<()> {
        let run = &self.run;
        let is_edge = [run.steady.from_ns, run.steady.to_ns, run.duration_ns].contains(&at_ns);
        let is_sampled = is_edge
            || matches!(run.record.sampling, Sampling::EveryNs(every_ns) if at_ns.is_multiple_of(every_ns));
        for observed in &mut self.senders {
            let spec = &run.flows[observed.flow];
            if spec.stop_ns == Some(at_ns) {
                observed.sender.stop()?;
            }
            let info = observed.sender.info()?;
            observed.observe(&info, at_ns, run, events);
            if is_sampled {
                samples.add(u32::try_from(observed.flow)?, at_ns, &observed.sample(&info));
            }
        }
        if is_sampled {
            for observed in &mut self.receivers {
                observed.delivered_bytes.push((at_ns, payload_bytes(&observed.receiver.info()?)));
            }
        }
        Ok(())
    }

    /// Stops the senders, and waits for a limited time until nothing is in flight. Returns the data packets
    /// that each has sent.
    fn drain(&self, clock: Clock) -> anyhow::Result<Vec<Option<u32>>> {
        self.senders.iter().try_for_each(|observed| observed.sender.stop())?;
        let end_ns = self.run.duration_ns;
        let mut now_ns = end_ns;
        loop {
            let infos = self
                .senders
                .iter()
                .map(|observed| observed.sender.info())
                .collect::<anyhow::Result<Vec<_>>>()?;
            let is_late = now_ns >= end_ns + MAX_DRAIN_NS;
            if is_late || infos.iter().all(|info| info.unacked == 0) {
                return Ok(infos
                    .iter()
                    .map(|info| (info.unacked == 0).then_some(info.data_segs_out))
                    .collect());
            }
            now_ns += DRAIN_NS;
            clock.sleep_until(now_ns)?;
        }
    }

    /// Reports the receivers, and closes them.
    fn finish(self) -> anyhow::Result<()> {
        let mut receivers = BTreeMap::new();
        for ObservedReceiver { flow, receiver, delivered_bytes } in self.receivers {
            let report = Received {
                delivered_bytes,
                packets: receiver.info()?.data_segs_in,
                completed_ns: receiver.completed_ns().filter(|at_ns| *at_ns <= self.run.duration_ns),
                messages_ns: receiver.messages().into_iter().map(|(at_ns, _)| at_ns).collect(),
                problem: receiver.problem(),
            };
            receiver.close();
            receivers.insert(flow, report);
        }
        answer(
            &Answer::Received { receivers, shortfall: self.load.context("nothing was run")?.shortfall() },
            &[],
        )
    }
}

/// Bytes of a flow that reached its receiver in order, without the token.
fn payload_bytes(info: &TcpInfo) -> u64 {
    info.bytes_received().saturating_sub(TOKEN_BYTES as u64)
}

impl ObservedSender {
    fn new(flow: usize, spec: &FlowSpec, sender: Sender) -> ObservedSender {
        ObservedSender {
            flow,
            is_paced: spec.pacing || algorithms::needs_pacing(&spec.algorithm),
            sender: Arc::new(sender),
            state: 0,
            counts: Counts::default(),
            from: Counts::default(),
            to: Counts::default(),
            end: Counts::default(),
            rtts: Histogram::default(),
        }
    }

    fn sample(&self, info: &TcpInfo) -> Sample {
        Sample {
            sender: *info,
            // The receiver reports a more exact value later.
            delivered_bytes: info.bytes_acked.saturating_sub(TOKEN_BYTES as u64),
            rtt_us: (info.rtt_us > 0).then_some(info.rtt_us),
            is_paced: self.is_paced,
        }
    }

    fn observe(&mut self, info: &TcpInfo, at_ns: u64, run: &Run, events: &mut Events) {
        if self.state != info.ca_state {
            self.state = info.ca_state;
            let kind = match state_name(info.ca_state) {
                "recovery" => Some("recovery"),
                "loss" => Some("timeout"),
                "cwr" => Some("reduction"),
                _ => None,
            };
            self.counts.recoveries += u32::from(kind == Some("recovery"));
            self.counts.timeouts += u32::from(kind == Some("timeout"));
            if let Some(kind) = kind {
                let after = Some(Window { cwnd: info.cwnd, ssthresh: info.ssthresh });
                events.add(Event { time_ns: at_ns, kind, flow: self.flow, after });
            }
        }
        self.counts.sent_packets = info.data_segs_out;
        self.counts.retransmitted_packets = info.total_retrans;
        self.counts.acked_bytes = info.bytes_acked.saturating_sub(TOKEN_BYTES as u64);
        for (edge_ns, place) in [
            (run.steady.from_ns, &mut self.from),
            (run.steady.to_ns, &mut self.to),
            (run.duration_ns, &mut self.end),
        ] {
            if edge_ns == at_ns {
                *place = self.counts;
            }
        }
        if info.rtt_us > 0 && info.unacked > 0 && (run.steady.from_ns..run.steady.to_ns).contains(&at_ns) {
            self.rtts.add(info.rtt_us);
        }
    }

    fn report(&self, validity: Validity, drained_packets: Option<u32>) -> Sent {
        Sent {
            from: self.from,
            to: self.to,
            end: self.end,
            rtt: RttSummary::of(&self.rtts),
            drained_packets,
            problem: self.sender.problem(),
            messages_ns: self.sender.messages().into_iter().map(|(at_ns, _)| at_ns).collect(),
            shortfall: validity.shortfall(),
            validity,
        }
    }
}
