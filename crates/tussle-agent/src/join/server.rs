//! The server: its clients, their flows, and the handling of events.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::path::PathBuf;

use anyhow::Context;
use serde::{Deserialize, Serialize};
use tussle_join::{
    ChannelError, Claims, ClientMessage, Direction, GRID_NS, Grant, Hello, Limits, Refusal, ServerMessage,
    TICKET_BYTES, Ticket,
};

use super::control_connection::{ControlConnection, ReadOutcome};
use super::flow::{Buffers, Flow, Role, TurnOutcome};
use super::flow_record::{End, EndReason, FlowRecord};
use super::json_writer::{JsonWriter, input_has_ended};
use super::listener::{Arrival, Listener};
use super::probe::Echo;
use super::reactor::{Interest, Reactor, now_ns, wall_ns};
use super::record::Record;
use super::socket::{choose, give_up_after, try_algorithm};
use crate::validity::{LoadMonitor, Validity};

/// Largest number of clients at a time.
const MAX_CLIENTS: usize = 64;
/// Largest number of flows at a time, of all clients and of one.
const MAX_FLOWS: usize = 256;
const MAX_FLOWS_EACH: u16 = 32;
/// Largest number of sentences about rejected clients, kept for the end.
const MAX_REJECTED: usize = 20;
/// Largest number of flows in a dataset.
const MAX_RECORDED: usize = 10_000;
/// Longest duration that a client may request.
const LONGEST_NS: u64 = 7 * 24 * 3600 * SECOND_NS;
/// Time allowed for the last reports of clients, once the measurement is over.
const FINAL_REPORTS_NS: u64 = 3 * SECOND_NS;
/// Time that a client may take in addition to its duration and the patience, for its probe and for data in
/// flight.
const EXTRA_NS: u64 = 30 * SECOND_NS;
/// Number of instants between two status lines, and between two keep-alives.
const STATUS_INSTANTS: u32 = 5;
const KEEPALIVE_INSTANTS: u32 = 20;
const SECOND_NS: u64 = 1_000_000_000;
/// Numbers of the reactor's sources other than connections; the numbers of connections follow.
const INPUT: u64 = 0;
const PORT: u64 = 1;
const FIRST_CONNECTION: u64 = 2;

/// Settings of the server.
#[derive(Debug, Deserialize)]
pub(super) struct Settings {
    listen: SocketAddr,
    code: String,
    /// Folder for the tables; it is empty.
    folder: PathBuf,
    /// Time for which the server runs; `None` until its standard input ends.
    for_ns: Option<u64>,
    /// Number of clients after which the server ends.
    clients: Option<u32>,
    /// Time without a client after which the server ends.
    until_idle_ns: Option<u64>,
    /// Time for which a client may be silent.
    patience_ns: u64,
    /// Algorithms that a dataset can have.
    algorithms: Vec<String>,
}

/// Status lines of the server.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum StatusLine<'a> {
    Listening { port: u16 },
    Live { time_s: f64, clients: Vec<Live>, refused: u64 },
    Note { text: &'a str },
    End { clients: u32, refused: BTreeMap<&'static str, u64>, full: bool, rejected: Vec<String> },
}

/// State of a client.
#[derive(Debug, Serialize)]
struct Live {
    client: u32,
    address: String,
    algorithm: String,
    direction: &'static str,
    flows: usize,
    state: &'static str,
    rate_bit_per_s: f64,
    total_bytes: u64,
    rtt_ms: Option<f64>,
    retransmitted_packets: u64,
    probe_ms: Option<f64>,
}

/// A client that has the code.
#[derive(Debug)]
struct Client {
    connection: ControlConnection,
    address: IpAddr,
    hello: Hello,
    claims: Claims,
    granted_ns: u64,
    received_ns: u64,
    /// Indices of the client's flows in the record, by their numbers.
    flows: BTreeMap<u16, usize>,
    /// Shortest RTT of the client's probe before its flows began.
    idle_us: Option<u32>,
    /// Validity messages of flows whose connections have not arrived yet.
    early: BTreeMap<u16, Validity>,
    /// Bytes received until recent instants, in order, for the rate.
    recent: Vec<(u32, u64)>,
}

/// Reason why a client leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Departure {
    /// The client has reported everything.
    Finished,
    /// The connection is lost.
    Lost,
    /// The client violated the protocol.
    Rejected,
}

/// The server's end of a flow.
#[derive(Debug)]
struct Running {
    flow: Flow,
    /// Index in the record, and client of the flow.
    recorded: usize,
    client: u32,
    /// Time until which this end writes.
    until_ns: u64,
}

#[derive(Clone, Copy, Debug)]
enum Purpose {
    Flow(u16),
    Probe,
}

/// The server.
#[derive(Debug)]
pub(super) struct Server {
    settings: Settings,
    reactor: Reactor,
    listener: Listener,
    writer: JsonWriter,
    buffers: Buffers,
    record: Record,
    watch: LoadMonitor,
    began_ns: u64,
    now_ns: u64,
    clients: BTreeMap<u32, Client>,
    /// Clients by the numbers of their connections.
    client_of: HashMap<u64, u32>,
    running: HashMap<u64, Running>,
    probes: HashMap<u64, (u32, Echo)>,
    tickets: HashMap<Ticket, (u32, Purpose)>,
    /// Rejected clients, each with its reason.
    rejected: Vec<String>,
    /// Number of clients so far, and time since which there is none.
    joined: u32,
    idle_since_ns: u64,
    /// Time until which clients may report, once the measurement is over.
    over_ns: Option<u64>,
}

impl Server {
    pub(super) fn open(settings: Settings) -> anyhow::Result<Server> {
        let began_ns = now_ns();
        let code = settings.code.parse().map_err(|problem| anyhow::anyhow!("the code {problem}"))?;
        let reactor = Reactor::new()?;
        let listener = Listener::open(settings.listen, code, FIRST_CONNECTION, began_ns)?;
        reactor.add(listener.socket(), PORT, Interest::Read)?;
        reactor.add(std::io::stdin(), INPUT, Interest::Read)?;
        Ok(Server {
            record: Record::new(settings.folder.clone()),
            settings,
            reactor,
            listener,
            writer: JsonWriter::open(),
            buffers: Buffers::new(),
            watch: LoadMonitor::start()?,
            began_ns,
            now_ns: began_ns,
            clients: BTreeMap::new(),
            client_of: HashMap::new(),
            running: HashMap::new(),
            probes: HashMap::new(),
            tickets: HashMap::new(),
            rejected: Vec::new(),
            joined: 0,
            idle_since_ns: began_ns,
            over_ns: None,
        })
    }

    /// Time since the server began, in ns.
    fn since_ns(&self) -> u64 {
        self.now_ns - self.began_ns
    }

    fn instant(&self) -> u32 {
        u32::try_from(self.since_ns() / GRID_NS).unwrap_or(u32::MAX)
    }

    /// Serves until the measurement is over.
    pub(super) fn run(mut self) -> anyhow::Result<()> {
        let port = self.listener.socket().local_addr().context("the port")?.port();
        self.writer.send(&StatusLine::Listening { port })?;
        let mut next = 1;
        loop {
            let at_ns = self.began_ns + u64::from(next) * GRID_NS;
            for number in self.reactor.wait_until(at_ns)? {
                self.now_ns = now_ns();
                self.handle_event(number)?;
            }
            self.now_ns = now_ns();
            if self.now_ns >= at_ns {
                self.watch.slip(self.now_ns - at_ns);
                self.tick(self.instant())?;
                next = self.instant() + 1;
            }
            if self.is_done() {
                return self.finish();
            }
        }
    }

    fn handle_event(&mut self, number: u64) -> anyhow::Result<()> {
        match number {
            INPUT => {
                if input_has_ended() {
                    self.reactor.forget(std::io::stdin());
                    self.end();
                }
                Ok(())
            }
            PORT => {
                self.listener.accept(self.now_ns, &self.reactor);
                Ok(())
            }
            _ if self.running.contains_key(&number) => self.proceed(number),
            _ if self.client_of.contains_key(&number) => self.receive_from(self.client_of[&number]),
            _ if self.probes.contains_key(&number) => {
                let since_ns = self.since_ns();
                let (_, echo) = self.probes.get_mut(&number).expect("the caller looked it up");
                if echo.answer(since_ns, wall_ns()).is_err() {
                    self.probes.remove(&number);
                }
                Ok(())
            }
            _ => match self.listener.receive(number, self.now_ns, &self.reactor) {
                Some(Arrival::Client(connection, address, hello)) => {
                    self.admit(number, connection, address, hello)
                }
                Some(Arrival::Ticket(socket, ticket)) => self.redeem(number, socket, ticket),
                None => Ok(()),
            },
        }
    }

    /// Handles the request of a client that has the code.
    fn admit(
        &mut self,
        number: u64,
        mut connection: ControlConnection,
        address: IpAddr,
        hello: Hello,
    ) -> anyhow::Result<()> {
        let grant = match self.grant(&hello) {
            Ok(grant) => grant,
            Err(reason) => {
                self.listener.refuse(Refusal::Full);
                // The connection may be lost already.
                _ = connection.send(&ServerMessage::Refused(reason), &self.reactor);
                return Ok(());
            }
        };
        let client = grant.client;
        self.joined = client;
        for (flow, ticket) in (0..).zip(&grant.flows) {
            self.tickets.insert(*ticket, (client, Purpose::Flow(flow)));
        }
        self.tickets.insert(grant.probe, (client, Purpose::Probe));
        let sent = give_up_after(&connection.socket, self.settings.patience_ns)
            .and_then(|()| connection.send(&ServerMessage::Granted(grant), &self.reactor));
        let joined = Client {
            connection,
            address,
            claims: Claims::new(&hello, self.settings.patience_ns),
            hello,
            granted_ns: self.now_ns,
            received_ns: self.now_ns,
            flows: BTreeMap::new(),
            idle_us: None,
            early: BTreeMap::new(),
            recent: Vec::new(),
        };
        self.client_of.insert(number, client);
        self.clients.insert(client, joined);
        self.listener.join(address);
        if sent.is_err() {
            self.leave(client, Departure::Lost);
        }
        // More messages may have arrived with the request.
        self.handle_messages(client)
    }

    fn grant(&self, hello: &Hello) -> Result<Grant, String> {
        hello.check(&Limits {
            flows: MAX_FLOWS_EACH,
            for_ns: LONGEST_NS,
            algorithms: self.settings.algorithms.clone(),
        })?;
        if self.over_ns.is_some() {
            return Err("the server is about to end".to_owned());
        }
        let granted: usize = self.clients.values().map(|client| usize::from(client.hello.flows)).sum();
        if self.clients.len() >= MAX_CLIENTS || granted + usize::from(hello.flows) > MAX_FLOWS {
            return Err("the server is full; try again when some clients have left".to_owned());
        }
        if self.record.flows.len() + granted + usize::from(hello.flows) > MAX_RECORDED
            || self.record.is_full()
        {
            return Err("the server's dataset is full; end it and start another".to_owned());
        }
        if hello.direction == Direction::ToClient {
            try_algorithm(&hello.algorithm).map_err(|problem| format!("at the server, {problem:#}"))?;
        }
        let tickets = u32::from(hello.flows) + 1;
        let mut random = (0..tickets).map(|_| random_ticket()).collect::<anyhow::Result<Vec<_>>>();
        let flows = random.as_mut().map_err(|_| "the server has no random numbers".to_owned())?;
        let probe = flows.pop().expect("there is one more than flows");
        let flows = std::mem::take(flows);
        Ok(Grant { client: self.joined + 1, flows, probe, patience_ns: self.settings.patience_ns })
    }

    /// Handles a connection that has shown a ticket.
    fn redeem(&mut self, number: u64, socket: TcpStream, ticket: Ticket) -> anyhow::Result<()> {
        let found = self.tickets.remove(&ticket);
        let Some((client, purpose)) = found else {
            self.listener.refuse(Refusal::WrongTicket);
            return Ok(());
        };
        match purpose {
            Purpose::Probe => {
                self.probes.insert(number, (client, Echo::over(socket)));
                Ok(())
            }
            // The connection may have been reset since.
            Purpose::Flow(flow) => self.start(number, socket, client, flow).or(Ok(())),
        }
    }

    fn start(&mut self, number: u64, socket: TcpStream, client: u32, flow: u16) -> anyhow::Result<()> {
        let since_ns = self.since_ns();
        let member = self.clients.get_mut(&client).context("an unknown client")?;
        let Hello { algorithm, flows, direction, for_ns, bytes, .. } = member.hello.clone();
        let role = match direction {
            Direction::ToServer => Role::Receives,
            Direction::ToClient => Role::Sends(bytes.unwrap_or(u64::MAX)),
        };
        if let Role::Sends(_) = role {
            choose(&socket, &algorithm)?;
        }
        give_up_after(&socket, self.settings.patience_ns)?;
        let opened = Flow::over(socket, role)?;
        let name =
            if flows == 1 { format!("client-{client}") } else { format!("client-{client}.{}", flow + 1) };
        let algorithm =
            if direction == Direction::ToClient { opened.algorithm().to_owned() } else { algorithm };
        let mut record = FlowRecord::new(name, algorithm, direction);
        record.start_ns = since_ns;
        record.idle_us = member.idle_us;
        record.stop_ns = bytes.is_none().then_some(since_ns + for_ns);
        if let Some(validity) = member.early.remove(&flow) {
            record.set_validity(validity);
        }
        let recorded = self.record.flows.len();
        member.flows.insert(flow, recorded);
        self.record.flows.push(record);
        if let Role::Sends(_) = role {
            self.reactor.change(&opened.socket, number, Interest::ReadWrite)?;
        }
        let until_ns = self.now_ns + for_ns;
        self.running.insert(number, Running { flow: opened, recorded, client, until_ns });
        Ok(())
    }

    /// Handles a flow that can be read or written.
    fn proceed(&mut self, number: u64) -> anyhow::Result<()> {
        let running = self.running.get_mut(&number).expect("the caller looked it up");
        match running.flow.proceed(&mut self.buffers) {
            TurnOutcome::More => Ok(()),
            TurnOutcome::AllWritten => self.reactor.change(&running.flow.socket, number, Interest::Read),
            TurnOutcome::Closed | TurnOutcome::Broken => self.end_flow(number, EndReason::Stopped),
        }
    }

    /// Ends the server's end of a flow.
    fn end_flow(&mut self, number: u64, reason: EndReason) -> anyhow::Result<()> {
        let Some(running) = self.running.remove(&number) else { return Ok(()) };
        let (at_ns, instant) = (self.since_ns(), self.instant());
        let load = self.watch.load()?;
        let record = &mut self.record.flows[running.recorded];
        // The last observation counts if the kernel reports no more.
        if let Ok(observation) = running.flow.observe() {
            record.add_observation(instant + 1, observation, running.flow.carried_bytes());
        }
        let own = running.flow.validity(load).ok();
        match running.flow.role {
            Role::Sends(_) => record.sender_validity = own,
            Role::Receives => record.receiver_validity = own,
        }
        record.end = Some(End { at_ns, reason });
        Ok(())
    }

    /// Handles the connection of a client that can be read, or is lost.
    fn receive_from(&mut self, client: u32) -> anyhow::Result<()> {
        let Some(member) = self.clients.get_mut(&client) else { return Ok(()) };
        let arrived = member
            .connection
            .read()
            .and_then(|arrived| member.connection.flush(&self.reactor).map(|()| arrived));
        self.handle_messages(client)?;
        if !matches!(arrived, Ok(ReadOutcome::Data | ReadOutcome::WouldBlock)) {
            self.leave(client, Departure::Lost);
        }
        Ok(())
    }

    /// Handles the messages of a client.
    fn handle_messages(&mut self, client: u32) -> anyhow::Result<()> {
        loop {
            let Some(member) = self.clients.get_mut(&client) else { return Ok(()) };
            match member.connection.receive::<ClientMessage>() {
                Ok(None) => return Ok(()),
                Ok(Some(message)) if message.is_bounded() => {
                    member.received_ns = self.now_ns;
                    if let Err(problem) = self.handle(client, message) {
                        self.reject(client, &format!("{problem:#}"));
                    }
                    self.settle(client)?;
                }
                Ok(Some(_)) | Err(ChannelError::Size(_)) => self.reject(client, "a message that is too long"),
                Err(ChannelError::WrongCode | ChannelError::Message) => {
                    self.reject(client, "a message that cannot be read");
                }
            }
        }
    }

    /// Adds the complete rows of a client's flows, so that they do not wait in memory.
    fn settle(&mut self, client: u32) -> anyhow::Result<()> {
        let Some(member) = self.clients.get(&client) else { return Ok(()) };
        let instant = self.instant();
        member.flows.values().try_for_each(|recorded| self.record.settle_flow(*recorded, instant))
    }

    /// Handles a message of a client.
    ///
    /// # Errors
    /// The message cannot come from a correct client.
    fn handle(&mut self, client: u32, message: ClientMessage) -> anyhow::Result<()> {
        let instant = self.instant();
        let member = self.clients.get_mut(&client).context("an unknown client")?;
        member.claims.check(&message, instant)?;
        match message {
            ClientMessage::Hello(_) => {}
            ClientMessage::IdleRtt(rtt_us) => {
                member.idle_us = Some(rtt_us);
                for recorded in member.flows.values() {
                    self.record.flows[*recorded].idle_us = Some(rtt_us);
                }
            }
            ClientMessage::Rows(rows) => {
                for row in rows {
                    // The flow's connection may not have arrived yet.
                    if let Some(recorded) = member.flows.get(&row.flow) {
                        self.record.flows[*recorded].add_claim(row);
                    }
                }
            }
            ClientMessage::Validity { flow, json } => {
                let validity: Validity = serde_json::from_str(&json)
                    .ok()
                    .context("a description of a host that cannot be read")?;
                if let Some(problem) = validity.implausible() {
                    anyhow::bail!(problem);
                }
                match member.flows.get(&flow) {
                    Some(recorded) => self.record.flows[*recorded].set_validity(validity),
                    // The flow's connection has not arrived yet.
                    None => drop(member.early.insert(flow, validity)),
                }
            }
            ClientMessage::Finished => {
                _ = member.connection.send(&ServerMessage::Thanks, &self.reactor);
                self.leave(client, Departure::Finished);
            }
        }
        Ok(())
    }

    /// Removes a client that violated the protocol. Observations of its flows stay, and other clients are not
    /// affected.
    fn reject(&mut self, client: u32, problem: &str) {
        let Some(member) = self.clients.get(&client) else { return };
        let text = format!("client {client} ({}) violated the protocol: {problem}", member.address);
        _ = self.writer.send(&StatusLine::Note { text: &text });
        if self.rejected.len() < MAX_REJECTED {
            self.rejected.push(text);
        }
        self.leave(client, Departure::Rejected);
    }

    /// Removes a client and ends its flows.
    fn leave(&mut self, client: u32, departure: Departure) {
        let Some(member) = self.clients.remove(&client) else { return };
        self.listener.leave(member.address);
        self.client_of.retain(|_, one| *one != client);
        self.tickets.retain(|_, (one, _)| *one != client);
        self.probes.retain(|_, (one, _)| *one != client);
        let ended = if departure == Departure::Finished { EndReason::Stopped } else { EndReason::Lost };
        let flows: Vec<u64> =
            self.running.iter().filter(|(_, one)| one.client == client).map(|(number, _)| *number).collect();
        for number in flows {
            if let Some(running) = self.running.get_mut(&number) {
                running.flow.cut();
            }
            // Results that cannot be read any longer are left out.
            _ = self.end_flow(number, ended);
        }
        for recorded in member.flows.values() {
            self.record.flows[*recorded].close(ended, member.hello.bytes);
        }
        self.idle_since_ns = self.now_ns;
        let text = match departure {
            Departure::Lost => format!("client {client} ({}) is lost", member.address),
            Departure::Finished => format!("client {client} ({}) has finished", member.address),
            Departure::Rejected => format!("client {client} ({}) is disconnected", member.address),
        };
        _ = self.writer.send(&StatusLine::Note { text: &text });
    }

    /// Does the work of an instant.
    fn tick(&mut self, instant: u32) -> anyhow::Result<()> {
        for running in self.running.values_mut() {
            if let Ok(observation) = running.flow.observe() {
                self.record.flows[running.recorded].add_observation(
                    instant,
                    observation,
                    running.flow.carried_bytes(),
                );
            }
            let is_over = self.now_ns >= running.until_ns || self.over_ns.is_some();
            if matches!(running.flow.role, Role::Sends(_)) && is_over && !running.flow.has_stopped() {
                running.flow.stop();
            }
        }
        self.record.settle(instant)?;
        self.listener.refuse_overdue(self.now_ns);
        self.drop_silent();
        for client in self.clients.values_mut() {
            let bytes = client.flows.values().map(|flow| self.record.flows[*flow].received_bytes).sum();
            client.recent.push((instant, bytes));
            let first = client.recent.len().saturating_sub(RATE_INSTANTS + 1);
            client.recent.drain(..first);
            if instant.is_multiple_of(KEEPALIVE_INSTANTS) {
                _ = client.connection.send(&ServerMessage::Alive, &self.reactor);
            }
        }
        if instant.is_multiple_of(STATUS_INSTANTS) {
            self.writer.send(&self.live())?;
        }
        self.end_when_due();
        Ok(())
    }

    /// Removes clients that were silent for too long, or that take longer than they requested.
    fn drop_silent(&mut self) {
        let patience_ns = self.settings.patience_ns;
        let is_lost = |client: &Client| {
            let silent_ns = self.now_ns.saturating_sub(client.received_ns);
            let connected_ns = self.now_ns.saturating_sub(client.granted_ns);
            silent_ns > patience_ns || connected_ns > client.hello.for_ns + patience_ns + EXTRA_NS
        };
        let lost: Vec<u32> =
            self.clients.iter().filter(|(_, client)| is_lost(client)).map(|(number, _)| *number).collect();
        for client in lost {
            self.leave(client, Departure::Lost);
        }
    }

    fn end_when_due(&mut self) {
        let Settings { for_ns, clients, until_idle_ns, .. } = &self.settings;
        let is_empty = self.clients.is_empty();
        let idle_ns = self.now_ns - self.idle_since_ns;
        if for_ns.is_some_and(|for_ns| self.since_ns() >= for_ns)
            || (is_empty && clients.is_some_and(|clients| self.joined >= clients))
            || (is_empty && until_idle_ns.is_some_and(|until_idle_ns| idle_ns >= until_idle_ns))
            || self.record.is_full()
        {
            self.end();
        }
    }

    /// Ends the measurement: clients stop, and report the rest.
    fn end(&mut self) {
        if self.over_ns.is_none() {
            self.over_ns = Some(self.now_ns + FINAL_REPORTS_NS);
            for client in self.clients.values_mut() {
                _ = client.connection.send(&ServerMessage::Over, &self.reactor);
            }
        }
    }

    fn is_done(&self) -> bool {
        self.over_ns.is_some_and(|until_ns| self.clients.is_empty() || self.now_ns >= until_ns)
    }

    fn finish(mut self) -> anyhow::Result<()> {
        let left: Vec<u32> = self.clients.keys().copied().collect();
        for client in left {
            self.leave(client, Departure::Lost);
        }
        self.record.settle(self.instant())?;
        self.record.write()?;
        let refused = Refusal::ALL
            .into_iter()
            .map(|(refusal, words)| (words, self.listener.refused().count(refusal)))
            .filter(|(_, count)| *count > 0)
            .collect();
        let (full, rejected) = (self.record.is_full(), self.rejected);
        self.writer.close(&StatusLine::End { clients: self.joined, refused, full, rejected })
    }

    #[expect(clippy::cast_precision_loss, reason = "bytes of a measurement are far below 2^53")]
    fn live(&self) -> StatusLine<'static> {
        let clients = self.clients.iter().map(|(number, client)| {
            let flows = || client.flows.values().map(|flow| &self.record.flows[*flow]);
            let open = self.running.values().filter(|running| running.client == *number).count();
            let (from, to) = (client.recent.first(), client.recent.last());
            let rate = from.zip(to).map_or(0.0, |(from, to)| {
                let span_s = f64::from((to.0 - from.0).max(1)) * GRID_NS as f64 / 1e9;
                (to.1 - from.1) as f64 * 8.0 / span_s
            });
            let rtts: Vec<u32> = flows().map(|flow| flow.sender.rtt_us).filter(|us| *us > 0).collect();
            let rtt_us = rtts.iter().map(|us| f64::from(*us)).sum::<f64>() / rtts.len() as f64;
            let state = match (client.flows.is_empty(), open) {
                (true, _) => "joins",
                (false, 0) => "ends",
                _ => "flows",
            };
            Live {
                client: *number,
                address: client.address.to_canonical().to_string(),
                algorithm: client.hello.algorithm.clone(),
                direction: if client.hello.direction == Direction::ToServer { "up" } else { "down" },
                flows: usize::from(client.hello.flows),
                state,
                rate_bit_per_s: rate,
                total_bytes: flows().map(|flow| flow.received_bytes).sum(),
                rtt_ms: (!rtts.is_empty()).then_some(rtt_us / 1e3),
                retransmitted_packets: flows().map(|flow| u64::from(flow.sender.total_retrans)).sum(),
                probe_ms: flows().find_map(|flow| flow.probe_us).map(|us| f64::from(us) / 1e3),
            }
        });
        let refused = Refusal::ALL.iter().map(|(refusal, _)| self.listener.refused().count(*refusal)).sum();
        StatusLine::Live { time_s: self.since_ns() as f64 / 1e9, clients: clients.collect(), refused }
    }
}

/// Instants over which the displayed rate is measured: one second.
const RATE_INSTANTS: usize = 10;

fn random_ticket() -> anyhow::Result<Ticket> {
    let mut ticket = [0; TICKET_BYTES];
    getrandom::fill(&mut ticket).map_err(|problem| anyhow::anyhow!("random numbers: {problem}"))?;
    Ok(ticket)
}
