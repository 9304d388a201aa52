//! Who comes in: connections that have not yet shown what they are.

use std::collections::HashMap;
use std::io::{ErrorKind, Read};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd};

use anyhow::{Context, bail};
use nix::errno::Errno;
use nix::sys::socket::{self, AddressFamily, Backlog, SockFlag, SockType, SockaddrStorage, sockopt};
use tussle_join::{
    Admission, Channel, Code, FromClient, Hello, OPENING_BYTES, Preamble, Refusal, Refused, Ticket,
};

use super::control_connection::{Arrived, ControlConnection, is_for_later};
use super::reactor::{Reactor, Wish};

/// Connections taken in one turn, so that flows have theirs.
const MOST_AT_ONCE: usize = 16;
/// Connections that the kernel keeps for us, so that a crowd's leave room for others'.
const BACKLOG: i32 = 1024;

/// The port, and those who came and have not shown a ticket or the code yet.
#[derive(Debug)]
pub(super) struct Listener {
    socket: TcpListener,
    code: Code,
    door: Admission,
    strangers: HashMap<u64, Stranger>,
    next_number: u64,
}

#[derive(Debug)]
struct Stranger {
    address: IpAddr,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    /// It has not said all of its opening.
    Opens(TcpStream, Vec<u8>),
    /// It asks to join.
    Asks(ControlConnection),
}

/// Who a connection turned out to be.
#[derive(Debug)]
pub(super) enum Arrival {
    /// A client that has the code, and what it asks for.
    Client(ControlConnection, IpAddr, Hello),
    /// A connection with a ticket; whether that is any good is not known yet.
    Ticket(TcpStream, Ticket),
}

impl Listener {
    /// Listens at an address; strangers are numbered from `first` on.
    pub(super) fn open(at: SocketAddr, (code, first, now_ns): (Code, u64, u64)) -> anyhow::Result<Listener> {
        let socket = listening(at)?;
        let door = Admission::new(now_ns);
        Ok(Listener { socket, code, door, strangers: HashMap::new(), next_number: first })
    }

    pub(super) fn socket(&self) -> &TcpListener {
        &self.socket
    }

    pub(super) fn refused(&self) -> &Refused {
        self.door.refused()
    }

    /// Counts a connection whose ticket was no good, or for which there was no room.
    pub(super) fn refuse(&mut self, refusal: Refusal) {
        self.door.refuse(u64::MAX, refusal);
    }

    /// Takes in those who wait at the port.
    pub(super) fn accept(&mut self, now_ns: u64, reactor: &Reactor) {
        for _ in 0..MOST_AT_ONCE {
            let (socket, address) = match self.socket.accept() {
                Ok(accepted) => accepted,
                Err(problem) if is_out_of_room(&problem) => {
                    self.drop_oldest();
                    return;
                }
                // The one who came is gone already, or there is none.
                Err(_) => return,
            };
            if socket.set_nonblocking(true).and_then(|()| socket.set_nodelay(true)).is_err() {
                continue;
            }
            let (number, address) = (self.next_number, address.ip());
            self.next_number += 1;
            if reactor.add(&socket, number, Wish::Read).is_err() {
                self.drop_oldest();
                return;
            }
            let stage = Stage::Opens(socket, Vec::with_capacity(OPENING_BYTES));
            self.strangers.insert(number, Stranger { address, stage });
            if let Some(crowded_out) = self.door.come(number, address, now_ns) {
                self.strangers.remove(&crowded_out);
            }
        }
    }

    fn drop_oldest(&mut self) {
        if let Some(oldest) = self.strangers.keys().min().copied() {
            self.strangers.remove(&oldest);
            self.door.refuse(oldest, Refusal::Full);
        }
    }

    /// Refuses those who took too long.
    pub(super) fn refuse_overdue(&mut self, now_ns: u64) {
        for number in self.door.overdue(now_ns) {
            self.strangers.remove(&number);
        }
    }

    /// A stranger has something to say, or is gone. Returned is who it is, once that is known; nothing, if that number
    /// is no stranger's.
    pub(super) fn hear(&mut self, number: u64, now: (u64, &Reactor)) -> Option<Arrival> {
        let Stranger { address, stage } = self.strangers.remove(&number)?;
        let heard = match stage {
            Stage::Opens(socket, said) => self.hear_opening((socket, said), (number, address), now),
            Stage::Asks(talk) => hear_request(talk, address),
        };
        match heard {
            Ok(Heard::Nothing(stage)) => {
                if matches!(&stage, Stage::Asks(talk) if talk.channel.is_open()) {
                    self.door.greeted(number);
                }
                self.strangers.insert(number, Stranger { address, stage });
                self.flush(number, now.1);
                None
            }
            Ok(Heard::All(arrival)) => {
                self.door.enter(number);
                Some(arrival)
            }
            Err(refusal) => {
                self.door.refuse(number, refusal);
                None
            }
        }
    }

    fn hear_opening(
        &mut self,
        (mut socket, mut said): (TcpStream, Vec<u8>),
        (number, address): (u64, IpAddr),
        (now_ns, _): (u64, &Reactor),
    ) -> Result<Heard, Refusal> {
        // Not a byte beyond the opening: what follows is for others.
        let mut room = [0; OPENING_BYTES];
        let most = match said.len() {
            0..8 => 8 - said.len(),
            some => OPENING_BYTES - some,
        };
        match socket.read(&mut room[..most]) {
            Ok(0) => return Err(Refusal::Garbage),
            Ok(count) => said.extend(&room[..count]),
            Err(problem) if is_for_later(&problem) => {}
            Err(_) => return Err(Refusal::Garbage),
        }
        match Preamble::read(&said).map_err(|_| Refusal::Garbage)? {
            None => Ok(Heard::Nothing(Stage::Opens(socket, said))),
            Some((Preamble::Ticket(ticket), _)) => Ok(Heard::All(Arrival::Ticket(socket, ticket))),
            Some((Preamble::Join, _)) => {
                self.door.try_handshake(address, now_ns)?;
                let talk = ControlConnection::over(socket, Channel::answer(&self.code), number);
                Ok(Heard::Nothing(Stage::Asks(talk)))
            }
        }
    }

    /// Answers of the handshake that have not left yet.
    fn flush(&mut self, number: u64, reactor: &Reactor) {
        if let Some(Stranger { stage: Stage::Asks(talk), .. }) = self.strangers.get_mut(&number)
            && talk.flush(reactor).is_err()
        {
            self.strangers.remove(&number);
            self.door.refuse(number, Refusal::Garbage);
        }
    }
}

enum Heard {
    /// Not all yet.
    Nothing(Stage),
    All(Arrival),
}

fn hear_request(mut talk: ControlConnection, address: IpAddr) -> Result<Heard, Refusal> {
    let arrived = talk.read().map_err(|_| Refusal::Garbage)?;
    match talk.hear::<FromClient>() {
        Ok(Some(message @ FromClient::Hello(_))) if message.is_bounded() => {
            let FromClient::Hello(hello) = message else { unreachable!("it was matched") };
            Ok(Heard::All(Arrival::Client(talk, address, hello)))
        }
        Ok(None) if arrived != Arrived::Ended => Ok(Heard::Nothing(Stage::Asks(talk))),
        Err(tussle_join::Broken::WrongCode) => Err(Refusal::WrongCode),
        Ok(_) | Err(_) => Err(Refusal::Garbage),
    }
}

/// Whether accepting failed for want of descriptors or memory.
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
