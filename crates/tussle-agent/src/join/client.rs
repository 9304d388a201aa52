//! A client of `tussle serve`: it joins, sends or receives, and reports its observations to the server.

use std::io::Write;
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, ensure};
use serde::{Deserialize, Serialize};
use tussle_join::{
    ClientMessage, Code, Direction, GRID_NS, Grant, Hello, MAX_ROWS, Observation, Preamble, Row,
    ServerMessage, VERSION,
};

use super::control_connection::{ControlConnection, ReadOutcome};
use super::flow::{Buffers, Flow, Role, TurnOutcome};
use super::joining::{Joined, REPEAT, join};
use super::json_writer::{JsonWriter, input_has_ended};
use super::own_clock::{FlowStatus, LONGEST_REST_NS, OwnClock, Upload};
use super::probe::{IdlePath, Probe};
use super::reactor::{Interest, Reactor, now_ns};
use super::socket::{connect, give_up_after, try_algorithm};
use crate::validity::{ClockOffset, LoadMonitor};

/// Numbers of the reactor's sources; those of flows follow.
const INPUT: u64 = 0;
const CONTROL: u64 = 1;
const PROBE: u64 = 2;
const FIRST_FLOW: u64 = 3;
/// Number of instants between two messages with rows, and between two status lines.
const REPORT_INSTANTS: u32 = 5;
const SECOND_NS: f64 = 1e9;
/// Longest patience of a server that a client accepts, one hour. The patience is the time of silence after which one end
/// takes the other for lost.
const LONGEST_PATIENCE_NS: u64 = 3600 * 1_000_000_000;
/// Largest number of bytes from the server: at once, and per second. A keep-alive has some 20 bytes, and
/// comes every 2 s.
const MAX_RECEIVED_BYTES: u64 = 16 * 1024;
const MAX_RECEIVED_BYTES_PER_S: u64 = 1024;
/// Time for which an interrupted client waits for data in flight, and then for the server's last message.
const CLOSING_NS: u64 = 2_000_000_000;

/// Settings of the client.
#[derive(Debug, Deserialize)]
pub(super) struct Settings {
    /// Addresses of the server; the first one that answers is used.
    to: Vec<SocketAddr>,
    code: String,
    algorithm: String,
    flows: u16,
    direction: Transfer,
    for_ns: u64,
    bytes: Option<u64>,
}

/// Direction of the data, seen from the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
enum Transfer {
    #[serde(rename = "up")]
    Upload,
    #[serde(rename = "down")]
    Download,
}

/// Status lines of the client.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum StatusLine {
    Joined { client: u32, algorithm: String, idle_rtt_ms: f64 },
    Live(Live),
    End { how: &'static str, cut_off: usize, live: Live },
}

/// State of the flows.
#[derive(Clone, Copy, Debug, Serialize)]
struct Live {
    time_s: f64,
    rate_bit_per_s: f64,
    total_bytes: u64,
    rtt_ms: Option<f64>,
    retransmitted_packets: u64,
    probe_ms: Option<f64>,
}

/// Joins, and runs until all flows are over.
pub(super) fn run(settings: &Settings) -> anyhow::Result<()> {
    let code: Code =
        settings.code.parse().map_err(|problem| anyhow::anyhow!("--code: the code {problem}"))?;
    if settings.direction == Transfer::Upload {
        try_algorithm(&settings.algorithm).map_err(|problem| problem.context("--algorithm"))?;
    }
    let reactor = Reactor::new()?;
    let direction = match settings.direction {
        Transfer::Upload => Direction::ToServer,
        Transfer::Download => Direction::ToClient,
    };
    let Settings { algorithm, flows, for_ns, bytes, .. } = settings;
    let (algorithm, flows, for_ns, bytes) = (algorithm.clone(), *flows, *for_ns, *bytes);
    let hello = Hello { version: VERSION, algorithm, flows, direction, for_ns, bytes };
    let mut joined = join(&settings.to, &code, hello, CONTROL, &reactor)?;
    joined.grant.patience_ns = joined.grant.patience_ns.min(LONGEST_PATIENCE_NS);
    Client::begin(settings, joined, reactor)?.run()
}

fn connection_lost() -> anyhow::Error {
    anyhow::anyhow!("the server or the network is lost; the server keeps what it has recorded; {REPEAT}")
}

struct Client {
    reactor: Reactor,
    writer: JsonWriter,
    buffers: Buffers,
    watch: LoadMonitor,
    connection: ControlConnection,
    probe: Probe,
    idle: IdlePath,
    grant: Grant,
    transfer: Transfer,
    flows: Vec<Flow>,
    /// Whether each flow is over, and the number of flows that ended early.
    over: Vec<bool>,
    cut_off: usize,
    clocks: Vec<OwnClock>,
    bytes: Option<u64>,
    /// Last observation of each flow.
    last: Vec<Option<Observation>>,
    rows: Vec<Row>,
    began_ns: u64,
    until_ns: u64,
    received_ns: u64,
    probe_us: Option<u32>,
    /// Times and total bytes at the last status lines.
    recent: Vec<(u64, u64)>,
    how: &'static str,
    /// Time at which the client leaves in any case.
    leave_by_ns: u64,
    thanked: bool,
}

impl Client {
    /// Probes the path before the flows, then opens the flows.
    fn begin(settings: &Settings, joined: Joined, reactor: Reactor) -> anyhow::Result<Client> {
        let Joined { connection, server: at, grant } = joined;
        let watch = LoadMonitor::start()?;
        let writer = JsonWriter::open();
        give_up_after(&connection.socket, grant.patience_ns)?;
        let mut socket = connect(at, None)?;
        socket.set_nodelay(true)?;
        socket.write_all(&Preamble::Ticket(grant.probe).bytes()).context("the connection broke")?;
        let (probe, idle) = Probe::begin(socket)?;
        reactor.add(&probe.socket, PROBE, Interest::Read)?;
        let algorithm = (settings.direction == Transfer::Upload).then_some(settings.algorithm.as_str());
        let (mut flows, mut clocks) = (Vec::new(), Vec::new());
        for (number, ticket) in (FIRST_FLOW..).zip(&grant.flows) {
            let mut socket = connect(at, algorithm)?;
            socket.write_all(&Preamble::Ticket(*ticket).bytes()).context("the connection broke")?;
            give_up_after(&socket, grant.patience_ns)?;
            let (role, interest) = match settings.direction {
                Transfer::Download => (Role::Receives, Interest::Read),
                Transfer::Upload => (Role::Sends(settings.bytes.unwrap_or(u64::MAX)), Interest::ReadWrite),
            };
            let flow = Flow::over(socket, role)?;
            if let Some(asked) = algorithm {
                let runs = flow.algorithm();
                ensure!(runs == asked, "the kernel runs {runs} although {asked} was asked for");
            }
            reactor.add(&flow.socket, number, interest)?;
            flows.push(flow);
            clocks.push(OwnClock::new(now_ns(), settings.for_ns, grant.patience_ns));
        }
        connection.socket.set_nonblocking(true)?;
        reactor.add(std::io::stdin(), INPUT, Interest::Read)?;
        let now_ns = now_ns();
        writer.send(&StatusLine::Joined {
            client: grant.client,
            algorithm: settings.algorithm.clone(),
            idle_rtt_ms: Duration::from_nanos(idle.rtt_ns).as_secs_f64() * 1e3,
        })?;
        let mut client = Client {
            buffers: Buffers::new(),
            over: vec![false; flows.len()],
            cut_off: 0,
            clocks,
            bytes: settings.bytes,
            last: vec![None; flows.len()],
            rows: Vec::new(),
            began_ns: now_ns,
            until_ns: now_ns + settings.for_ns,
            received_ns: now_ns,
            probe_us: None,
            recent: Vec::new(),
            how: "done",
            leave_by_ns: u64::MAX,
            thanked: false,
            transfer: settings.direction,
            reactor,
            writer,
            watch,
            connection,
            probe,
            idle,
            grant,
            flows,
        };
        client.send(&ClientMessage::IdleRtt(u32::try_from(idle.rtt_ns / 1000).unwrap_or(u32::MAX)))?;
        (0..client.flows.len()).try_for_each(|index| client.send_validity(index))?;
        Ok(client)
    }

    fn send(&mut self, message: &ClientMessage) -> anyhow::Result<()> {
        self.connection.send(message, &self.reactor).map_err(|_| connection_lost())
    }

    /// Current instant of the server's clock.
    fn instant(&self, now_ns: u64) -> u32 {
        let server_ns = now_ns.cast_signed().wrapping_sub(self.idle.ahead_ns);
        u32::try_from(u64::try_from(server_ns).unwrap_or(0) / GRID_NS).unwrap_or(u32::MAX)
    }

    /// Time of an instant on this clock.
    fn at_ns(&self, instant: u32) -> u64 {
        let server_ns = (u64::from(instant) * GRID_NS).cast_signed();
        u64::try_from(server_ns.wrapping_add(self.idle.ahead_ns)).unwrap_or(0)
    }

    fn run(mut self) -> anyhow::Result<()> {
        let mut next = self.instant(now_ns()) + 1;
        while self.over.contains(&false) {
            self.turn(&mut next)?;
        }
        self.send_rows()?;
        (0..self.flows.len()).try_for_each(|index| self.send_validity(index))?;
        let live = self.live(now_ns());
        self.send(&ClientMessage::Finished)?;
        let patience_ns = self.grant.patience_ns.min(LONGEST_REST_NS);
        let closing_ns = if self.how == "interrupted" { CLOSING_NS } else { patience_ns };
        self.leave_by_ns = now_ns() + closing_ns;
        while !self.thanked && now_ns() < self.leave_by_ns {
            self.turn(&mut next)?;
        }
        if !self.thanked && self.how != "interrupted" {
            return Err(connection_lost());
        }
        if self.how == "done" && self.cut_off > 0 {
            self.how = "cut";
        }
        self.writer.close(&StatusLine::End { how: self.how, cut_off: self.cut_off, live })
    }

    /// Waits for events, or for the next instant, and handles them.
    fn turn(&mut self, next: &mut u32) -> anyhow::Result<()> {
        let at_ns = self.at_ns(*next);
        for number in self.reactor.wait_until(at_ns)? {
            match number {
                INPUT if input_has_ended() => {
                    self.reactor.forget(std::io::stdin());
                    self.stop("interrupted");
                    self.leave_by_ns = self.leave_by_ns.min(now_ns() + CLOSING_NS);
                }
                INPUT => {}
                CONTROL => self.receive()?,
                PROBE => {
                    if !self.probe.receive() {
                        // The flows continue without the probe.
                        self.reactor.forget(&self.probe.socket);
                    }
                }
                flow => self.proceed(usize::try_from(flow - FIRST_FLOW)?)?,
            }
        }
        let now_ns = now_ns();
        if now_ns >= at_ns {
            self.watch.slip(now_ns - at_ns);
            self.tick(self.instant(now_ns), now_ns)?;
            *next = self.instant(now_ns) + 1;
        }
        let silent_ns = now_ns.saturating_sub(self.received_ns);
        if silent_ns > self.grant.patience_ns { Err(connection_lost()) } else { Ok(()) }
    }

    /// Stops all flows.
    fn stop(&mut self, how: &'static str) {
        self.how = how;
        for (index, flow) in self.flows.iter_mut().enumerate() {
            if self.over[index] || flow.has_stopped() {
                continue;
            }
            match self.transfer {
                Transfer::Download => flow.cut(),
                Transfer::Upload => {
                    flow.stop();
                    // This fails only if the connection is lost, which the next read reports.
                    _ = self.reactor.change(&flow.socket, FIRST_FLOW + index as u64, Interest::Read);
                }
            }
        }
        self.until_ns = 0;
    }

    fn receive(&mut self) -> anyhow::Result<()> {
        let arrived = self.connection.read();
        let there_s = (now_ns() - self.began_ns) / 1_000_000_000;
        ensure!(
            self.connection.arrived_bytes <= MAX_RECEIVED_BYTES + there_s * MAX_RECEIVED_BYTES_PER_S,
            "the server sends more than the protocol allows; {REPEAT}"
        );
        self.connection.flush(&self.reactor).map_err(|_| connection_lost())?;
        while let Some(message) = self.connection.receive::<ServerMessage>().map_err(|_| connection_lost())? {
            self.received_ns = now_ns();
            match message {
                ServerMessage::Over => {
                    self.how = "over";
                    self.until_ns = 0;
                }
                ServerMessage::Thanks => self.thanked = true,
                ServerMessage::Alive => {}
                ServerMessage::Granted(_) | ServerMessage::Refused(_) => return Err(connection_lost()),
            }
        }
        if self.thanked || matches!(arrived, Ok(ReadOutcome::Data | ReadOutcome::WouldBlock)) {
            Ok(())
        } else {
            Err(connection_lost())
        }
    }

    fn proceed(&mut self, index: usize) -> anyhow::Result<()> {
        if self.over[index] {
            return Ok(());
        }
        let flow = &mut self.flows[index];
        let number = FIRST_FLOW + index as u64;
        let left = flow.proceed(&mut self.buffers);
        let is_too_much =
            self.transfer == Transfer::Download && self.bytes.is_some_and(|bytes| flow.moved_bytes > bytes);
        ensure!(!is_too_much, "the server sends more than it was asked for");
        match left {
            TurnOutcome::More => Ok(()),
            TurnOutcome::AllWritten => self.reactor.change(&flow.socket, number, Interest::Read),
            TurnOutcome::Closed | TurnOutcome::Broken => {
                self.end_flow(index, left);
                Ok(())
            }
        }
    }

    /// Ends a flow that is closed, or whose time is over.
    fn end_flow(&mut self, index: usize, left: TurnOutcome) {
        self.reactor.forget(&self.flows[index].socket);
        self.over[index] = true;
        let now_ns = now_ns();
        self.observe(index, self.instant(now_ns) + 1);
        let flow = &self.flows[index];
        let is_whole = match (self.transfer, &self.last[index]) {
            (Transfer::Upload, Some(Observation::Sender(sender))) => {
                flow.has_stopped() && sender.bytes_acked >= flow.moved_bytes
            }
            (Transfer::Upload, _) => false,
            (Transfer::Download, _) => {
                self.bytes.is_some_and(|bytes| flow.moved_bytes >= bytes)
                    || self.clocks[index].may_have_stopped(now_ns)
            }
        };
        if left == TurnOutcome::Broken || !is_whole {
            self.cut_off += 1;
        }
        if self.transfer == Transfer::Download {
            // Everything has been read, so that the server may close, too.
            self.flows[index].stop();
        }
    }

    /// Ends a flow by this end's own clock, so that no server can keep it open.
    fn watch_clock(&mut self, index: usize, now_ns: u64) {
        let flow = &mut self.flows[index];
        let acked_bytes = match &self.last[index] {
            Some(Observation::Sender(sender)) => sender.bytes_acked,
            _ => 0,
        };
        let has_to_end = now_ns >= self.leave_by_ns;
        let status = match self.transfer {
            Transfer::Download => self.clocks[index].check_download(now_ns),
            Transfer::Upload => self.clocks[index]
                .check_upload(now_ns, Upload { acked_bytes, has_stopped: flow.has_stopped() }),
        };
        if status == FlowStatus::Running && !has_to_end {
            return;
        }
        flow.cut();
        self.end_flow(
            index,
            if status == FlowStatus::Stalled { TurnOutcome::Broken } else { TurnOutcome::Closed },
        );
    }

    /// Records an observation of a flow.
    fn observe(&mut self, index: usize, instant: u32) {
        let flow = u16::try_from(index).expect("there are few flows");
        // A lost connection has no state.
        if let Ok(observation) = self.flows[index].observe() {
            if let Some(us) = self.probe_us {
                self.rows.push(Row { instant, flow, observation: Observation::Probe(us) });
            }
            self.last[index] = Some(observation.clone());
            self.rows.push(Row { instant, flow, observation });
        }
    }

    fn tick(&mut self, instant: u32, now_ns: u64) -> anyhow::Result<()> {
        self.probe_us = self.probe.take_latest_us();
        self.probe.ask();
        for index in 0..self.flows.len() {
            if self.over[index] {
                continue;
            }
            self.observe(index, instant);
            self.watch_clock(index, now_ns);
            if self.over[index] {
                continue;
            }
            let flow = &mut self.flows[index];
            if now_ns >= self.until_ns && !flow.has_stopped() && self.transfer == Transfer::Upload {
                flow.stop();
                self.reactor.change(&flow.socket, FIRST_FLOW + index as u64, Interest::Read)?;
            }
        }
        if instant.is_multiple_of(REPORT_INSTANTS) {
            self.send_rows()?;
            let live = self.live(now_ns);
            self.writer.send(&StatusLine::Live(live))?;
        }
        Ok(())
    }

    fn send_rows(&mut self) -> anyhow::Result<()> {
        let rows = std::mem::take(&mut self.rows);
        rows.chunks(MAX_ROWS).try_for_each(|rows| self.send(&ClientMessage::Rows(rows.to_vec())))
    }

    fn send_validity(&mut self, index: usize) -> anyhow::Result<()> {
        let load = self.watch.load()?;
        let Ok(mut validity) = self.flows[index].validity(load) else { return Ok(()) };
        let seconds = |ns: u64| Duration::from_nanos(ns).as_secs_f64();
        let sign = if self.idle.wall_ahead_ns < 0 { -1.0 } else { 1.0 };
        let offset_s = sign * seconds(self.idle.wall_ahead_ns.unsigned_abs());
        validity.clock = Some(ClockOffset { offset_s, error_s: seconds(self.idle.rtt_ns) / 2.0 });
        let flow = u16::try_from(index)?;
        self.send(&ClientMessage::Validity { flow, json: serde_json::to_string(&validity)? })
    }

    #[expect(clippy::cast_precision_loss, reason = "bytes of a measurement are far below 2^53")]
    fn live(&mut self, now_ns: u64) -> Live {
        let mut live = Live {
            time_s: (now_ns - self.began_ns) as f64 / SECOND_NS,
            rate_bit_per_s: 0.0,
            total_bytes: 0,
            rtt_ms: None,
            retransmitted_packets: 0,
            probe_ms: self.probe_us.map(|us| f64::from(us) / 1e3),
        };
        let mut rtts_us = Vec::new();
        for observation in self.last.iter().flatten() {
            match observation {
                Observation::Sender(sender) => {
                    live.total_bytes += sender.bytes_acked;
                    live.retransmitted_packets += u64::from(sender.total_retrans);
                    rtts_us.push(f64::from(sender.rtt_us));
                }
                Observation::Receiver { bytes, .. } => live.total_bytes += bytes,
                Observation::Probe(_) => {}
            }
        }
        if !rtts_us.is_empty() {
            live.rtt_ms = Some(rtts_us.iter().sum::<f64>() / rtts_us.len() as f64 / 1e3);
        }
        self.recent.push((now_ns, live.total_bytes));
        let first = self.recent.len().saturating_sub(3);
        self.recent.drain(..first);
        if let Some((from, to)) =
            self.recent.first().zip(self.recent.last()).filter(|(from, to)| from.0 < to.0)
        {
            live.rate_bit_per_s = (to.1 - from.1) as f64 * 8.0 * SECOND_NS / (to.0 - from.0) as f64;
        }
        live
    }
}
