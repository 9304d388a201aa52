//! The listening port, and connections that are not authenticated yet.

use std::collections::HashMap;
use std::io::{ErrorKind, Read};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd};

use anyhow::{Context, bail};
use nix::errno::Errno;
use nix::sys::socket::{self, AddressFamily, Backlog, SockFlag, SockType, SockaddrStorage, sockopt};
use tussle_join::{
    Admission, Channel, ClientMessage, Code, Hello, PREAMBLE_BYTES, Preamble, Refusal, Refused, Ticket,
};

use super::control_connection::{ControlConnection, ReadOutcome, is_for_later};
use super::reactor::{Interest, Reactor};

/// Largest number of connections accepted in one turn, so that flows have their turns.
const MAX_AT_ONCE: usize = 16;
/// Length of the kernel's backlog, so that many connections of one client leave room for others.
const BACKLOG: i32 = 1024;

/// The port, and the connections that have shown neither a ticket nor the code yet.
#[derive(Debug)]
pub(super) struct Listener {
    socket: TcpListener,
    code: Code,
    admission: Admission,
    pending: HashMap<u64, Pending>,
    next_number: u64,
}

#[derive(Debug)]
struct Pending {
    address: IpAddr,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    /// The preamble has not arrived completely.
    Preamble(TcpStream, Vec<u8>),
    /// The handshake, then the request to join.
    Request(ControlConnection),
}

/// Purpose of a connection, once it is known.
#[derive(Debug)]
pub(super) enum Arrival {
    /// A client with the code, and its request.
    Client(ControlConnection, IpAddr, Hello),
    /// A connection with a ticket, which is not checked yet.
    Ticket(TcpStream, Ticket),
}

impl Listener {
    /// Listens at an address; connections are numbered from `first_number` on.
    pub(super) fn open(
        at: SocketAddr,
        code: Code,
        first_number: u64,
        now_ns: u64,
    ) -> anyhow::Result<Listener> {
        let socket = listening(at)?;
        let admission = Admission::new(now_ns);
        Ok(Listener { socket, code, admission, pending: HashMap::new(), next_number: first_number })
    }

    pub(super) fn socket(&self) -> &TcpListener {
        &self.socket
    }

    pub(super) fn refused(&self) -> &Refused {
        self.admission.refused()
    }

    /// Notes that a client at this address has joined: the connections of its flows take precedence.
    pub(super) fn join(&mut self, address: IpAddr) {
        self.admission.join(address);
    }

    /// Notes that a client at this address has left.
    pub(super) fn leave(&mut self, address: IpAddr) {
        self.admission.leave(address);
    }

    /// Counts a connection with an invalid ticket, or without room.
    pub(super) fn refuse(&mut self, refusal: Refusal) {
        self.admission.refuse(u64::MAX, refusal);
    }

    /// Accepts the connections that wait at the port.
    pub(super) fn accept(&mut self, now_ns: u64, reactor: &Reactor) {
        for _ in 0..MAX_AT_ONCE {
            let (socket, address) = match self.socket.accept() {
                Ok(accepted) => accepted,
                Err(problem) if is_out_of_room(&problem) => {
                    self.drop_oldest();
                    return;
                }
                // The connection is closed already, or none waits.
                Err(_) => return,
            };
            if socket.set_nonblocking(true).and_then(|()| socket.set_nodelay(true)).is_err() {
                continue;
            }
            let (number, address) = (self.next_number, address.ip());
            self.next_number += 1;
            if reactor.add(&socket, number, Interest::Read).is_err() {
                self.drop_oldest();
                return;
            }
            let stage = Stage::Preamble(socket, Vec::with_capacity(PREAMBLE_BYTES));
            self.pending.insert(number, Pending { address, stage });
            if let Some(crowded_out) = self.admission.add(number, address, now_ns) {
                self.pending.remove(&crowded_out);
            }
        }
    }

    fn drop_oldest(&mut self) {
        if let Some(oldest) = self.pending.keys().min().copied() {
            self.pending.remove(&oldest);
            self.admission.refuse(oldest, Refusal::Full);
        }
    }

    /// Refuses connections whose deadline has passed.
    pub(super) fn refuse_overdue(&mut self, now_ns: u64) {
        for number in self.admission.overdue(now_ns) {
            self.pending.remove(&number);
        }
    }

    /// Reads from a pending connection. Returns its purpose once that is known. `None` otherwise, or if no
    /// pending connection has this number.
    pub(super) fn receive(&mut self, number: u64, now_ns: u64, reactor: &Reactor) -> Option<Arrival> {
        let Pending { address, stage } = self.pending.remove(&number)?;
        let progress = match stage {
            Stage::Preamble(socket, received) => {
                let preamble = PartialPreamble { socket, received, number, address };
                self.receive_preamble(preamble, now_ns)
            }
            Stage::Request(connection) => hear_request(connection, address),
        };
        match progress {
            Ok(Progress::Incomplete(stage)) => {
                if matches!(&stage, Stage::Request(connection) if connection.channel.is_open()) {
                    self.admission.handshake_done(number);
                }
                self.pending.insert(number, Pending { address, stage });
                self.flush(number, reactor);
                None
            }
            Ok(Progress::Complete(arrival)) => {
                self.admission.admit(number);
                Some(arrival)
            }
            Err(refusal) => {
                self.admission.refuse(number, refusal);
                None
            }
        }
    }

    fn receive_preamble(&mut self, preamble: PartialPreamble, now_ns: u64) -> Result<Progress, Refusal> {
        let PartialPreamble { mut socket, mut received, number, address } = preamble;
        // Read no byte beyond the preamble, since later bytes belong to the flow or the channel.
        let mut buffer = [0; PREAMBLE_BYTES];
        let most = match received.len() {
            0..8 => 8 - received.len(),
            some => PREAMBLE_BYTES - some,
        };
        match socket.read(&mut buffer[..most]) {
            Ok(0) => return Err(Refusal::Malformed),
            Ok(count) => received.extend(&buffer[..count]),
            Err(problem) if is_for_later(&problem) => {}
            Err(_) => return Err(Refusal::Malformed),
        }
        match Preamble::read(&received).map_err(|_| Refusal::Malformed)? {
            None => Ok(Progress::Incomplete(Stage::Preamble(socket, received))),
            Some((Preamble::Ticket(ticket), _)) => Ok(Progress::Complete(Arrival::Ticket(socket, ticket))),
            Some((Preamble::Join, _)) => {
                self.admission.try_handshake(address, now_ns)?;
                let connection = ControlConnection::over(socket, Channel::respond(&self.code), number);
                Ok(Progress::Incomplete(Stage::Request(connection)))
            }
        }
    }

    /// Writes the pending bytes of a handshake.
    fn flush(&mut self, number: u64, reactor: &Reactor) {
        if let Some(Pending { stage: Stage::Request(connection), .. }) = self.pending.get_mut(&number)
            && connection.flush(reactor).is_err()
        {
            self.pending.remove(&number);
            self.admission.refuse(number, Refusal::Malformed);
        }
    }
}

/// A connection, and the part of its preamble that has arrived.
struct PartialPreamble {
    socket: TcpStream,
    received: Vec<u8>,
    number: u64,
    address: IpAddr,
}

enum Progress {
    /// More bytes are needed.
    Incomplete(Stage),
    Complete(Arrival),
}

fn hear_request(mut connection: ControlConnection, address: IpAddr) -> Result<Progress, Refusal> {
    let arrived = connection.read().map_err(|_| Refusal::Malformed)?;
    match connection.receive::<ClientMessage>() {
        Ok(Some(message @ ClientMessage::Hello(_))) if message.is_bounded() => {
            let ClientMessage::Hello(hello) = message else { unreachable!("it was matched") };
            Ok(Progress::Complete(Arrival::Client(connection, address, hello)))
        }
        Ok(None) if arrived != ReadOutcome::Closed => Ok(Progress::Incomplete(Stage::Request(connection))),
        Err(tussle_join::ChannelError::WrongCode) => Err(Refusal::WrongCode),
        Ok(_) | Err(_) => Err(Refusal::Malformed),
    }
}

/// Whether accepting failed for lack of descriptors or memory.
fn is_out_of_room(problem: &std::io::Error) -> bool {
    let code = problem.raw_os_error().map(Errno::from_raw);
    matches!(code, Some(Errno::EMFILE | Errno::ENFILE | Errno::ENOBUFS | Errno::ENOMEM))
        || problem.kind() == ErrorKind::OutOfMemory
}

fn listening(at: SocketAddr) -> anyhow::Result<TcpListener> {
    let family = if at.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let socket: OwnedFd = socket::socket(family, SockType::Stream, flags, None).context("a socket")?;
    socket::setsockopt(&socket, sockopt::ReuseAddr, &true)?;
    match socket::bind(socket.as_raw_fd(), &SockaddrStorage::from(at)) {
        Ok(()) => {}
        Err(Errno::EADDRINUSE) => bail!("{at} is in use; give another --port"),
        Err(Errno::EADDRNOTAVAIL) => bail!("--listen: {} is no address of this machine", at.ip()),
        Err(Errno::EACCES) => {
            bail!("--port {}: only root may listen there; give one from 1024 on", at.port())
        }
        Err(problem) => bail!("cannot listen at {at}: {}", problem.desc()),
    }
    socket::listen(&socket, Backlog::new(BACKLOG)?).context("listening")?;
    Ok(TcpListener::from(socket))
}
