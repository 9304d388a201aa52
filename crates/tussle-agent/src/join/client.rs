//! A client: it joins, sends or receives, and tells the server what it sees.

use std::io::Write;
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, ensure};
use serde::{Deserialize, Serialize};
use tussle_join::{
    Code, Direction, FromClient, FromServer, GRID_NS, Grant, Hello, MOST_ROWS, Preamble, Row, Seen, VERSION,
};

use super::control_connection::{Arrived, ControlConnection};
use super::flow::{Flow, Left, Role, Room};
use super::joining::{REPEAT, join};
use super::json_writer::{JsonWriter, input_has_ended};
use super::own_clock::{LONGEST_REST_NS, OwnClock, Verdict};
use super::probe::{Idle, Probe};
use super::reactor::{Reactor, Wish, now_ns};
use super::socket::{connect, give_up_after, try_algorithm};
use crate::validity::{ClockOffset, Watch};

/// Numbers of what is waited for; those of flows follow.
const INPUT: u64 = 0;
const TALK: u64 = 1;
const PROBE: u64 = 2;
const FIRST_FLOW: u64 = 3;
/// Instants between two messages with rows, and two lines.
const TELL: u32 = 5;
const SECOND_NS: f64 = 1e9;
/// What a client believes of a server's patience: an hour.
const LONGEST_PATIENCE_NS: u64 = 3600 * 1_000_000_000;
/// What a server may say, in bytes: at once, and a second. It says that it is there, in some 20 bytes every 2 s.
const MOST_SAID_BYTES: u64 = 16 * 1024;
const MOST_SAID_BYTES_PER_S: u64 = 1024;
/// How long an interrupted client waits for what is on the way, and then for the server's last word.
const FAREWELL_NS: u64 = 2_000_000_000;

/// What the client is told.
#[derive(Debug, Deserialize)]
pub(super) struct Settings {
    /// Addresses of the server, of which the first that answers is taken.
    to: Vec<SocketAddr>,
    code: String,
    algorithm: String,
    flows: u16,
    direction: Way,
    for_ns: u64,
    bytes: Option<u64>,
}

/// Which way data go, seen from the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Way {
    Up,
    Down,
}

/// What the client says.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Joined { client: u32, algorithm: String, idle_rtt_ms: f64 },
    Live(Live),
    End { how: &'static str, cut_off: usize, live: Live },
}

/// How the flows fare.
#[derive(Clone, Copy, Debug, Serialize)]
struct Live {
    time_s: f64,
    rate_bit_per_s: f64,
    total_bytes: u64,
    rtt_ms: Option<f64>,
    retransmitted_packets: u64,
    probe_ms: Option<f64>,
}

/// Joins, and goes on until everything is done.
pub(super) fn run(settings: &Settings) -> anyhow::Result<()> {
    let code: Code =
        settings.code.parse().map_err(|problem| anyhow::anyhow!("--code: the code {problem}"))?;
    if settings.direction == Way::Up {
        try_algorithm(&settings.algorithm).map_err(|problem| problem.context("--algorithm"))?;
    }
    let reactor = Reactor::new()?;
    let direction = match settings.direction {
        Way::Up => Direction::ToServer,
        Way::Down => Direction::ToClient,
    };
    let Settings { algorithm, flows, for_ns, bytes, .. } = settings;
    let (algorithm, flows, for_ns, bytes) = (algorithm.clone(), *flows, *for_ns, *bytes);
    let hello = Hello { version: VERSION, algorithm, flows, direction, for_ns, bytes };
    let (talk, at, mut grant) = join(&settings.to, &code, (hello, TALK, &reactor))?;
    grant.patience_ns = grant.patience_ns.min(LONGEST_PATIENCE_NS);
    Client::begin(settings, (talk, at, grant), reactor)?.run()
}

fn gone() -> anyhow::Error {
    anyhow::anyhow!("the server is gone, or the network; what it had seen, it has; {REPEAT}")
}

struct Client {
    reactor: Reactor,
    outlet: JsonWriter,
    room: Room,
    watch: Watch,
    talk: ControlConnection,
    probe: Probe,
    idle: Idle,
    grant: Grant,
    way: Way,
    flows: Vec<Flow>,
    /// Those that are over, by their index, and how many of them before their time.
    over: Vec<bool>,
    cut_off: usize,
    clocks: Vec<OwnClock>,
    bytes: Option<u64>,
    /// What each flow's sender, or receiver, told last.
    last: Vec<Option<Seen>>,
    rows: Vec<Row>,
    began_ns: u64,
    until_ns: u64,
    heard_ns: u64,
    probe_us: Option<u32>,
    /// Bytes until the last lines.
    recent: Vec<(u64, u64)>,
    how: &'static str,
    /// When it goes, whatever is left to say.
    leave_by_ns: u64,
    thanked: bool,
}

impl Client {
    /// Probes the empty path, then opens the flows.
    fn begin(
        settings: &Settings,
        (talk, at, grant): (ControlConnection, SocketAddr, Grant),
        reactor: Reactor,
    ) -> anyhow::Result<Client> {
        let watch = Watch::start()?;
        let outlet = JsonWriter::open();
        give_up_after(&talk.socket, grant.patience_ns)?;
        let mut socket = connect(at, None)?;
        socket.set_nodelay(true)?;
        socket.write_all(&Preamble::Ticket(grant.probe).bytes()).context("the connection broke")?;
        let (probe, idle) = Probe::begin(socket)?;
        reactor.add(&probe.socket, PROBE, Wish::Read)?;
        let algorithm = (settings.direction == Way::Up).then_some(settings.algorithm.as_str());
        let (mut flows, mut clocks) = (Vec::new(), Vec::new());
        for (number, ticket) in (FIRST_FLOW..).zip(&grant.flows) {
            let mut socket = connect(at, algorithm)?;
            socket.write_all(&Preamble::Ticket(*ticket).bytes()).context("the connection broke")?;
            give_up_after(&socket, grant.patience_ns)?;
            let (role, wish) = match settings.direction {
                Way::Down => (Role::Receives, Wish::Read),
                Way::Up => (Role::Sends(settings.bytes.unwrap_or(u64::MAX)), Wish::Both),
            };
            let flow = Flow::over(socket, role)?;
            if let Some(asked) = algorithm {
                let runs = flow.algorithm();
                ensure!(runs == asked, "the kernel runs {runs} although {asked} was asked for");
            }
            reactor.add(&flow.socket, number, wish)?;
            flows.push(flow);
            clocks.push(OwnClock::new(now_ns(), settings.for_ns, grant.patience_ns));
        }
        talk.socket.set_nonblocking(true)?;
        reactor.add(std::io::stdin(), INPUT, Wish::Read)?;
        let now_ns = now_ns();
        outlet.say(&Line::Joined {
            client: grant.client,
            algorithm: settings.algorithm.clone(),
            idle_rtt_ms: Duration::from_nanos(idle.rtt_ns).as_secs_f64() * 1e3,
        })?;
        let mut client = Client {
            room: Room::new(),
            over: vec![false; flows.len()],
            cut_off: 0,
            clocks,
            bytes: settings.bytes,
            last: vec![None; flows.len()],
            rows: Vec::new(),
            began_ns: now_ns,
            until_ns: now_ns + settings.for_ns,
            heard_ns: now_ns,
            probe_us: None,
            recent: Vec::new(),
            how: "done",
            leave_by_ns: u64::MAX,
            thanked: false,
            way: settings.direction,
            reactor,
            outlet,
            watch,
            talk,
            probe,
            idle,
            grant,
            flows,
        };
        client.say(&FromClient::Idle(u32::try_from(idle.rtt_ns / 1000).unwrap_or(u32::MAX)))?;
        (0..client.flows.len()).try_for_each(|index| client.tell_validity(index))?;
        Ok(client)
    }

    fn say(&mut self, message: &FromClient) -> anyhow::Result<()> {
        self.talk.say(message, &self.reactor).map_err(|_| gone())
    }

    /// The instant that the server's clock shows.
    fn instant(&self, now_ns: u64) -> u32 {
        let server_ns = now_ns.cast_signed().wrapping_sub(self.idle.ahead_ns);
        u32::try_from(u64::try_from(server_ns).unwrap_or(0) / GRID_NS).unwrap_or(u32::MAX)
    }

    /// When an instant is, on our clock.
    fn at_ns(&self, instant: u32) -> u64 {
        let server_ns = (u64::from(instant) * GRID_NS).cast_signed();
        u64::try_from(server_ns.wrapping_add(self.idle.ahead_ns)).unwrap_or(0)
    }

    fn run(mut self) -> anyhow::Result<()> {
        let mut next = self.instant(now_ns()) + 1;
        while self.over.contains(&false) {
            self.turn(&mut next)?;
        }
        self.tell_rows()?;
        (0..self.flows.len()).try_for_each(|index| self.tell_validity(index))?;
        let live = self.live(now_ns());
        self.say(&FromClient::Finished)?;
        let patience_ns = self.grant.patience_ns.min(LONGEST_REST_NS);
        let farewell_ns = if self.how == "interrupted" { FAREWELL_NS } else { patience_ns };
        self.leave_by_ns = now_ns() + farewell_ns;
        while !self.thanked && now_ns() < self.leave_by_ns {
            self.turn(&mut next)?;
        }
        if !self.thanked && self.how != "interrupted" {
            return Err(gone());
        }
        if self.how == "done" && self.cut_off > 0 {
            self.how = "cut";
        }
        self.outlet.close(&Line::End { how: self.how, cut_off: self.cut_off, live })
    }

    /// Waits until something happens or the next instant comes, and does what is to be done.
    fn turn(&mut self, next: &mut u32) -> anyhow::Result<()> {
        let at_ns = self.at_ns(*next);
        for number in self.reactor.wait_until(at_ns)? {
            match number {
                INPUT if input_has_ended() => {
                    self.reactor.forget(std::io::stdin());
                    self.stop("interrupted");
                    self.leave_by_ns = self.leave_by_ns.min(now_ns() + FAREWELL_NS);
                }
                INPUT => {}
                TALK => self.hear()?,
                PROBE => {
                    if !self.probe.hear() {
                        // Without the probe the flows go on.
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
        let silent_ns = now_ns.saturating_sub(self.heard_ns);
        if silent_ns > self.grant.patience_ns { Err(gone()) } else { Ok(()) }
    }

    /// Writes nothing more, and takes nothing more.
    fn stop(&mut self, how: &'static str) {
        self.how = how;
        for (index, flow) in self.flows.iter_mut().enumerate() {
            if self.over[index] || flow.has_stopped() {
                continue;
            }
            match self.way {
                Way::Down => flow.cut(),
                Way::Up => {
                    flow.stop();
                    // It fails only where the connection is gone, which the next read tells.
                    _ = self.reactor.change(&flow.socket, FIRST_FLOW + index as u64, Wish::Read);
                }
            }
        }
        self.until_ns = 0;
    }

    fn hear(&mut self) -> anyhow::Result<()> {
        let arrived = self.talk.read();
        let there_s = (now_ns() - self.began_ns) / 1_000_000_000;
        ensure!(
            self.talk.arrived_bytes <= MOST_SAID_BYTES + there_s * MOST_SAID_BYTES_PER_S,
            "the server says more than servers have to say; {REPEAT}"
        );
        self.talk.flush(&self.reactor).map_err(|_| gone())?;
        while let Some(message) = self.talk.hear::<FromServer>().map_err(|_| gone())? {
            self.heard_ns = now_ns();
            match message {
                FromServer::Over => {
                    self.how = "over";
                    self.until_ns = 0;
                }
                FromServer::Thanks => self.thanked = true,
                FromServer::Alive => {}
                FromServer::Granted(_) | FromServer::Refused(_) => return Err(gone()),
            }
        }
        if self.thanked || matches!(arrived, Ok(Arrived::Some | Arrived::Nothing)) {
            Ok(())
        } else {
            Err(gone())
        }
    }

    fn proceed(&mut self, index: usize) -> anyhow::Result<()> {
        if self.over[index] {
            return Ok(());
        }
        let flow = &mut self.flows[index];
        let number = FIRST_FLOW + index as u64;
        let left = flow.proceed(&mut self.room);
        let is_too_much = self.way == Way::Down && self.bytes.is_some_and(|bytes| flow.moved_bytes > bytes);
        ensure!(!is_too_much, "the server sends more than it was asked for");
        match left {
            Left::More => Ok(()),
            Left::Rest => self.reactor.change(&flow.socket, number, Wish::Read),
            Left::Nothing | Left::Broken => {
                self.end_flow(index, left);
                Ok(())
            }
        }
    }

    /// A flow is over: nothing more comes of it, or its time is up.
    fn end_flow(&mut self, index: usize, left: Left) {
        self.reactor.forget(&self.flows[index].socket);
        self.over[index] = true;
        let now_ns = now_ns();
        self.look(index, self.instant(now_ns) + 1);
        let flow = &self.flows[index];
        let is_whole = match (self.way, &self.last[index]) {
            (Way::Up, Some(Seen::Sender(sender))) => {
                flow.has_stopped() && sender.bytes_acked >= flow.moved_bytes
            }
            (Way::Up, _) => false,
            (Way::Down, _) => {
                self.bytes.is_some_and(|bytes| flow.moved_bytes >= bytes) || self.clocks[index].is_up(now_ns)
            }
        };
        if left == Left::Broken || !is_whole {
            self.cut_off += 1;
        }
        if self.way == Way::Down {
            // Everything has been read: the server may close, too.
            self.flows[index].stop();
        }
    }

    /// Holds a flow against this end's own clock: a server that goes on, or lets nothing end, does not hold it.
    fn watch_clock(&mut self, index: usize, now_ns: u64) {
        let flow = &mut self.flows[index];
        let acked = match &self.last[index] {
            Some(Seen::Sender(sender)) => sender.bytes_acked,
            _ => 0,
        };
        let has_to_end = now_ns >= self.leave_by_ns;
        let verdict = match self.way {
            Way::Down => self.clocks[index].of_download(now_ns),
            Way::Up => self.clocks[index].of_upload(now_ns, acked, flow.has_stopped()),
        };
        if verdict == Verdict::GoesOn && !has_to_end {
            return;
        }
        flow.cut();
        self.end_flow(index, if verdict == Verdict::Stuck { Left::Broken } else { Left::Nothing });
    }

    /// Notes what is seen of a flow.
    fn look(&mut self, index: usize, instant: u32) {
        let flow = u16::try_from(index).expect("there are few flows");
        // A connection that is gone tells nothing more.
        if let Ok(seen) = self.flows[index].look() {
            if let Some(us) = self.probe_us {
                self.rows.push(Row { instant, flow, seen: Seen::Probe(us) });
            }
            self.last[index] = Some(seen.clone());
            self.rows.push(Row { instant, flow, seen });
        }
    }

    fn tick(&mut self, instant: u32, now_ns: u64) -> anyhow::Result<()> {
        self.probe_us = self.probe.take_latest_us();
        self.probe.ask();
        for index in 0..self.flows.len() {
            if self.over[index] {
                continue;
            }
            self.look(index, instant);
            self.watch_clock(index, now_ns);
            if self.over[index] {
                continue;
            }
            let flow = &mut self.flows[index];
            if now_ns >= self.until_ns && !flow.has_stopped() && self.way == Way::Up {
                flow.stop();
                self.reactor.change(&flow.socket, FIRST_FLOW + index as u64, Wish::Read)?;
            }
        }
        if instant.is_multiple_of(TELL) {
            self.tell_rows()?;
            let live = self.live(now_ns);
            self.outlet.say(&Line::Live(live))?;
        }
        Ok(())
    }

    fn tell_rows(&mut self) -> anyhow::Result<()> {
        let rows = std::mem::take(&mut self.rows);
        rows.chunks(MOST_ROWS).try_for_each(|rows| self.say(&FromClient::Rows(rows.to_vec())))
    }

    fn tell_validity(&mut self, index: usize) -> anyhow::Result<()> {
        let pace = self.watch.pace()?;
        let Ok(mut told) = self.flows[index].validity(pace) else { return Ok(()) };
        let seconds = |ns: u64| Duration::from_nanos(ns).as_secs_f64();
        let sign = if self.idle.wall_ahead_ns < 0 { -1.0 } else { 1.0 };
        let offset_s = sign * seconds(self.idle.wall_ahead_ns.unsigned_abs());
        told.clock = Some(ClockOffset { offset_s, error_s: seconds(self.idle.rtt_ns) / 2.0 });
        let flow = u16::try_from(index)?;
        self.say(&FromClient::Validity { flow, json: serde_json::to_string(&told)? })
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
        for seen in self.last.iter().flatten() {
            match seen {
                Seen::Sender(sender) => {
                    live.total_bytes += sender.bytes_acked;
                    live.retransmitted_packets += u64::from(sender.total_retrans);
                    rtts_us.push(f64::from(sender.rtt_us));
                }
                Seen::Receiver { bytes, .. } => live.total_bytes += bytes,
                Seen::Probe(_) => {}
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
