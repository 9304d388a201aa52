//! Flows on sockets. Under user mode a system call costs more than a packet, so there are few: a send takes
//! megabytes and sleeps in the kernel, and a read leaves the bytes where they are.

use std::fs::File;
use std::io::IoSlice;
use std::net::{SocketAddr, SocketAddrV4};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::sync::{Arc, Mutex, OnceLock};

use anyhow::{Context, bail};
use nix::errno::Errno;
use nix::sys::prctl;
use nix::sys::socket::{
    self, AddressFamily, Backlog, MsgFlags, Shutdown, SockFlag, SockType, SockaddrIn, SockaddrIn6,
    SockaddrStorage, sockopt,
};
use nix::sys::time::TimeVal;
use tussle_core::Run;
use tussle_core::net::packet::HEADER_BYTES;
use tussle_core::run::FlowSpec;
use tussle_core::run::application::{Next, Schedule};

use super::clock::Clock;
use super::counters::Netstat;
use super::setup::{Hosts, enter};
use super::tcp_info::TcpInfo;
use crate::algorithms;
use crate::network::{Network, PORT, buffers, receiver_address, sender_address};
use crate::sys;
use crate::validity::{Pace, Validity};

/// The sender's own port; its address is its own, too.
const SENDER_PORT: u16 = 40_000;
/// Payload of a full packet of 1500 bytes, which no socket need be told.
const USUAL_MSS_BYTES: u32 = 1448;
/// The option of timestamps, which the socket option for the segment size counts and a run does not.
const TIMESTAMPS_BYTES: u32 = HEADER_BYTES - 40;
/// Between the starts of flows of one instant: threads that wake up together go on in an order of the kernel's, and a
/// guest's timers are up to half of this late.
const APART_NS: u64 = 1_000;
/// More than is ever on the way; the kernel doubles it, and keeps it in 31 bits.
const SEND_BUFFER_BYTES: usize = 1 << 29;
/// What is written from, again and again.
static CHUNK: [u8; 64 * 1024] = [0; 64 * 1024];
/// Chunks in one call: the kernel's limit for a vector.
const CHUNKS: usize = 1024;
/// Bytes not yet sent below which a writer is woken: some packets beyond what one ACK can free at once.
const UNSENT_BYTES: i32 = 256 * 1024;
/// Who may wait to be let in, strangers too.
const BACKLOG: i32 = 16;
/// Bytes that wait for the reader before it is woken.
const READ_BYTES: i32 = 1 << 20;

/// A flow under way: what its threads share with the observer.
#[derive(Debug)]
pub(crate) struct Flow {
    /// What is asked of it.
    pub(crate) spec: FlowSpec,
    /// The algorithm that the kernel really runs, as read back.
    pub(crate) algorithm: String,
    /// Counters of the sender's namespace.
    pub(crate) netstat: Netstat,
    sender: Arc<Sender>,
    receiver: Arc<Receiver>,
    notes: Arc<Notes>,
}

/// What the first bytes of a connection must be, so that strangers are no part of a flow.
pub(crate) type Token = [u8; TOKEN_BYTES];
pub(crate) const TOKEN_BYTES: usize = 16;
/// How long who connects may take to show it.
const TOKEN_S: i64 = 2;

/// The side of a flow that writes.
#[derive(Debug)]
pub(crate) struct Sender {
    spec: FlowSpec,
    /// When its application writes; `None`: all that is taken.
    schedule: Option<Schedule>,
    /// When it connects, in ns of the run.
    opens_ns: u64,
    socket: OwnedFd,
    token: Option<Token>,
    notes: Arc<Notes>,
}

/// The side of a flow that reads.
#[derive(Debug)]
pub(crate) struct Receiver {
    spec: FlowSpec,
    /// Where messages end: every so many bytes.
    message_bytes: Option<u64>,
    listener: OwnedFd,
    token: Option<Token>,
    accepted: OnceLock<OwnedFd>,
    completed_ns: OnceLock<u64>,
    notes: Arc<Notes>,
}

/// What the threads of a flow tell others.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    messages: Mutex<Vec<(u64, &'static str)>>,
    problem: Mutex<Option<String>>,
}

impl Notes {
    /// When chunks were written (`request`) or had arrived (`response`), in ns of the run.
    pub(crate) fn messages(&self) -> Vec<(u64, &'static str)> {
        self.messages.lock().expect("nobody panics with it").clone()
    }

    /// What went wrong in one of them.
    pub(crate) fn problem(&self) -> Option<String> {
        self.problem.lock().expect("nobody panics with it").clone()
    }

    fn message(&self, at_ns: u64, kind: &'static str) {
        self.messages.lock().expect("nobody panics with it").push((at_ns, kind));
    }

    fn outcome(&self, outcome: anyhow::Result<()>) {
        if let Err(problem) = outcome {
            *self.problem.lock().expect("nobody panics with it") = Some(format!("{problem:#}"));
        }
    }
}

impl Flow {
    /// What the kernel tells of the sender.
    pub(crate) fn sender_info(&self) -> anyhow::Result<TcpInfo> {
        self.sender.info()
    }

    /// What the kernel tells of the receiver; zeros until it is connected.
    pub(crate) fn receiver_info(&self) -> anyhow::Result<TcpInfo> {
        self.receiver.info()
    }

    /// What is known of the sender's host, from whose namespace it is asked.
    pub(crate) fn validity(&self, pace: Pace) -> anyhow::Result<Validity> {
        self.sender.validity(pace)
    }

    /// When the last byte reached the receiving application, in ns of the run.
    pub(crate) fn completed_ns(&self) -> Option<u64> {
        self.receiver.completed_ns()
    }

    /// When chunks were written (`request`) and had arrived (`response`), in ns of the run.
    pub(crate) fn messages(&self) -> Vec<(u64, &'static str)> {
        self.notes.messages()
    }

    /// The application stops writing; what is written is still sent.
    pub(crate) fn stop(&self) -> anyhow::Result<()> {
        self.sender.stop()
    }

    /// What went wrong in one of its threads.
    pub(crate) fn problem(&self) -> Option<String> {
        self.notes.problem()
    }
}

impl Sender {
    fn new((spec, seed): (&FlowSpec, u64), socket: OwnedFd, notes: Arc<Notes>) -> anyhow::Result<Sender> {
        let schedule = spec.schedule(seed).map_err(anyhow::Error::msg)?;
        Ok(Sender { spec: spec.clone(), schedule, opens_ns: spec.start_ns, socket, token: None, notes })
    }

    /// Opens a socket for a flow over a network that is there, for addresses of that kind.
    pub(crate) fn open(
        (spec, seed): (&FlowSpec, u64),
        kind: SocketAddr,
        token: Token,
    ) -> anyhow::Result<Sender> {
        let socket = socket_for(kind)?;
        set_algorithm(&socket, &spec.algorithm)?;
        set_sender_options(&socket, spec)?;
        let made = Sender::new((spec, seed), socket, Arc::default())?;
        Ok(Sender { token: Some(token), ..made })
    }

    /// What went wrong in its thread.
    pub(crate) fn problem(&self) -> Option<String> {
        self.notes.problem()
    }

    /// Its messages, as [`Flow::messages`].
    pub(crate) fn messages(&self) -> Vec<(u64, &'static str)> {
        self.notes.messages()
    }

    /// What the kernel tells of it.
    pub(crate) fn info(&self) -> anyhow::Result<TcpInfo> {
        TcpInfo::of(&self.socket).context("TCP_INFO of a sender")
    }

    /// What is known of its host.
    pub(crate) fn validity(&self, pace: Pace) -> anyhow::Result<Validity> {
        Validity::of(&self.socket, pace)
    }

    /// The application stops writing; what is written is still sent.
    pub(crate) fn stop(&self) -> anyhow::Result<()> {
        match socket::shutdown(self.socket.as_raw_fd(), Shutdown::Write) {
            // It has not connected yet, or is done.
            Ok(()) | Err(Errno::ENOTCONN) => Ok(()),
            Err(problem) => Err(problem).context("stopping a sender"),
        }
    }
}

impl Receiver {
    fn new((spec, seed): (&FlowSpec, u64), listener: OwnedFd, notes: Arc<Notes>) -> anyhow::Result<Receiver> {
        let schedule = spec.schedule(seed).map_err(anyhow::Error::msg)?;
        Ok(Receiver {
            spec: spec.clone(),
            message_bytes: schedule.and_then(|schedule| schedule.message_bytes()),
            listener,
            token: None,
            accepted: OnceLock::new(),
            completed_ns: OnceLock::new(),
            notes,
        })
    }

    /// Opens a socket for a flow over a network that is there, and listens at that address.
    pub(crate) fn listen(
        (spec, seed): (&FlowSpec, u64),
        at: SocketAddr,
        token: Token,
    ) -> anyhow::Result<Receiver> {
        let socket = socket_for(at)?;
        // For DCTCP, whose receiver has a part in it.
        if algorithms::usable(&spec.algorithm).is_ok() {
            set_algorithm(&socket, &spec.algorithm)?;
        }
        if let Some(bytes) = spec.receive_window_bytes {
            let bytes = i32::try_from(bytes).unwrap_or(i32::MAX);
            sys::set_option(&socket, (libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP), bytes)
                .context("the receive window")?;
        }
        socket::setsockopt(&socket, sockopt::ReuseAddr, &true)?;
        socket::bind(socket.as_raw_fd(), &SockaddrStorage::from(at))?;
        socket::listen(&socket, Backlog::new(BACKLOG)?)?;
        let made = Receiver::new((spec, seed), socket, Arc::default())?;
        Ok(Receiver { token: Some(token), ..made })
    }

    /// The port that it listens at.
    pub(crate) fn port(&self) -> anyhow::Result<u16> {
        let address: SockaddrStorage = socket::getsockname(self.listener.as_raw_fd())?;
        let v4 = address.as_sockaddr_in().map(SockaddrIn::port);
        v4.or_else(|| address.as_sockaddr_in6().map(SockaddrIn6::port)).context("a socket without a port")
    }

    /// What went wrong in its thread.
    pub(crate) fn problem(&self) -> Option<String> {
        self.notes.problem()
    }

    /// Its messages, as [`Flow::messages`].
    pub(crate) fn messages(&self) -> Vec<(u64, &'static str)> {
        self.notes.messages()
    }

    /// Ends its thread.
    pub(crate) fn close(&self) {
        for socket in std::iter::once(&self.listener).chain(self.accepted.get()) {
            // Who is not connected any more is closed already.
            let _ = socket::shutdown(socket.as_raw_fd(), Shutdown::Both);
        }
    }

    /// Who connected first and knows the token, if there is one; `None` when it was closed.
    fn accept(&self) -> anyhow::Result<Option<OwnedFd>> {
        loop {
            let socket = match accept(&self.listener) {
                Ok(socket) => socket,
                Err(Errno::EINVAL) => return Ok(None),
                Err(Errno::ECONNABORTED | Errno::EINTR) => continue,
                Err(problem) => return Err(problem).context("accepting"),
            };
            let Some(token) = self.token else { return Ok(Some(socket)) };
            if shows(&socket, token)? {
                return Ok(Some(socket));
            }
        }
    }

    /// What the kernel tells of it; zeros until it is connected.
    pub(crate) fn info(&self) -> anyhow::Result<TcpInfo> {
        self.accepted.get().map_or_else(
            || Ok(TcpInfo::default()),
            |socket| TcpInfo::of(socket).context("TCP_INFO of a receiver"),
        )
    }

    /// When the last byte reached the application, in ns of the run.
    pub(crate) fn completed_ns(&self) -> Option<u64> {
        self.completed_ns.get().copied()
    }
}

/// Opens the sockets of every flow, each in its namespace.
pub(crate) fn prepare(run: &Run, network: &Network, hosts: &Hosts) -> anyhow::Result<Vec<Arc<Flow>>> {
    let home = File::open("/proc/self/ns/net").context("this namespace")?;
    let flows = run
        .flows
        .iter()
        .enumerate()
        .map(|(index, spec)| {
            enter(&hosts.receivers[network.receiver_of[index]])?;
            let listener = listener((index, spec), buffers::receive_room_bytes(run, spec))
                .with_context(|| format!("the receiver of {}", spec.name))?;
            enter(&hosts.senders[index])?;
            let sender = sender(index, spec).with_context(|| format!("the sender of {}", spec.name))?;
            let algorithm = algorithm_of(&sender)?;
            if algorithm != spec.algorithm {
                bail!("flow {} runs {algorithm} although {} was asked for", spec.name, spec.algorithm);
            }
            let notes = Arc::<Notes>::default();
            Ok(Arc::new(Flow {
                spec: spec.clone(),
                algorithm,
                netstat: Netstat::open()?,
                sender: Arc::new(Sender {
                    opens_ns: opens_ns(&run.flows, index),
                    ..Sender::new((spec, run.seed), sender, Arc::clone(&notes))?
                }),
                receiver: Arc::new(Receiver::new((spec, run.seed), listener, Arc::clone(&notes))?),
                notes,
            }))
        })
        .collect();
    enter(&home)?;
    flows
}

/// When a flow of a run connects: of several that start at one instant, each after those before it.
fn opens_ns(flows: &[FlowSpec], index: usize) -> u64 {
    let start_ns = flows[index].start_ns;
    let before = flows[..index].iter().filter(|flow| flow.start_ns == start_ns).count();
    start_ns + APART_NS * before as u64
}

/// The algorithm that a socket really has.
pub(crate) fn algorithm_of(socket: impl AsFd) -> anyhow::Result<String> {
    let read = socket::getsockopt(&socket, sockopt::TcpCongestion).context("reading the algorithm back")?;
    Ok(read.to_string_lossy().trim_end_matches('\0').to_owned())
}

/// Starts the threads of every flow; they end with the process.
pub(crate) fn start(flows: &[Arc<Flow>], clock: Clock) {
    for (index, flow) in flows.iter().enumerate() {
        start_receiver(Arc::clone(&flow.receiver), clock);
        let to = SocketAddrV4::new(receiver_address(index), PORT).into();
        start_sender(Arc::clone(&flow.sender), to, clock);
    }
}

/// Starts the thread that reads.
pub(crate) fn start_receiver(receiver: Arc<Receiver>, clock: Clock) {
    std::thread::spawn(move || receiver.notes.outcome(receive(&receiver, clock)));
}

/// Starts the thread that connects to an address, and writes.
pub(crate) fn start_sender(sender: Arc<Sender>, to: SocketAddr, clock: Clock) {
    std::thread::spawn(move || sender.notes.outcome(send(&sender, to, clock)));
}

fn listener(
    (index, spec): (usize, &FlowSpec),
    (window_bytes, buffer_bytes): (u64, u64),
) -> anyhow::Result<OwnedFd> {
    let socket = tcp_socket()?;
    // The kernel doubles what it is told.
    let half = usize::try_from(buffer_bytes / 2)?;
    socket::setsockopt(&socket, sockopt::RcvBufForce, &half).context("the receive buffer")?;
    // For DCTCP, whose receiver has a part in it.
    set_algorithm(&socket, &spec.algorithm)?;
    let window_bytes = i32::try_from(window_bytes).unwrap_or(i32::MAX);
    sys::set_option(&socket, (libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP), window_bytes)
        .context("the receive window")?;
    socket::bind(socket.as_raw_fd(), &SockaddrIn::from(SocketAddrV4::new(receiver_address(index), PORT)))?;
    socket::listen(&socket, Backlog::new(1)?)?;
    Ok(socket)
}

/// Whether the first bytes that come are these, and come soon.
fn shows(socket: &OwnedFd, token: Token) -> anyhow::Result<bool> {
    socket::setsockopt(socket, sockopt::ReceiveTimeout, &TimeVal::new(TOKEN_S, 0))?;
    let mut shown = Token::default();
    let read = socket::recv(socket.as_raw_fd(), &mut shown, MsgFlags::MSG_WAITALL);
    socket::setsockopt(socket, sockopt::ReceiveTimeout, &TimeVal::new(0, 0))?;
    Ok(read == Ok(TOKEN_BYTES) && shown == token)
}

fn socket_for(kind: SocketAddr) -> anyhow::Result<OwnedFd> {
    let family = if kind.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
    socket::socket(family, SockType::Stream, SockFlag::SOCK_CLOEXEC, None).context("a socket")
}

fn sender(index: usize, spec: &FlowSpec) -> anyhow::Result<OwnedFd> {
    let socket = tcp_socket()?;
    set_algorithm(&socket, &spec.algorithm)?;
    socket::setsockopt(&socket, sockopt::SndBufForce, &SEND_BUFFER_BYTES).context("the send buffer")?;
    set_sender_options(&socket, spec)?;
    let address = SocketAddrV4::new(sender_address(index), SENDER_PORT);
    socket::bind(socket.as_raw_fd(), &SockaddrIn::from(address))?;
    Ok(socket)
}

fn set_sender_options(socket: &OwnedFd, spec: &FlowSpec) -> anyhow::Result<()> {
    sys::set_option(socket, (libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT), UNSENT_BYTES)?;
    if spec.mss_bytes != USUAL_MSS_BYTES {
        let bytes = i32::try_from(spec.mss_bytes + TIMESTAMPS_BYTES).context("the segment size")?;
        sys::set_option(socket, (libc::IPPROTO_TCP, libc::TCP_MAXSEG), bytes).context("the segment size")?;
    }
    if spec.pacing {
        // Any limit but "none" switches pacing on; this one is never reached.
        sys::set_option(socket, (libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE), u64::MAX - 1)
            .context("pacing")?;
    }
    Ok(())
}

pub(crate) fn tcp_socket() -> anyhow::Result<OwnedFd> {
    socket::socket(AddressFamily::Inet, SockType::Stream, SockFlag::empty(), None).context("a socket")
}

pub(crate) fn set_algorithm(socket: impl AsFd, name: &str) -> anyhow::Result<()> {
    match socket::setsockopt(&socket, sockopt::TcpCongestion, &name.into()) {
        Err(Errno::ENOENT) => {
            let known = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control")?;
            let mut known: Vec<_> = known.split_whitespace().collect();
            known.sort_unstable();
            bail!("the kernel has no congestion control called {name}; it has {}", known.join(", "))
        }
        other => other.with_context(|| format!("choosing {name}")),
    }
}

fn send(flow: &Sender, to: SocketAddr, clock: Clock) -> anyhow::Result<()> {
    // Without that, a timer may fire 50 µs late.
    prctl::set_timerslack(1).context("exact timers")?;
    clock.sleep_until(flow.opens_ns)?;
    match socket::connect(flow.socket.as_raw_fd(), &SockaddrStorage::from(to)) {
        // Nothing came through: a flow that gets nothing is a result.
        Err(Errno::ETIMEDOUT) => return Ok(()),
        other => other.context("connecting")?,
    }
    if let Some(token) = flow.token {
        socket::send(flow.socket.as_raw_fd(), &token, MsgFlags::MSG_NOSIGNAL).context("showing the token")?;
    }
    let written = match &flow.schedule {
        None => write(flow, flow.spec.bytes.unwrap_or(u64::MAX))?,
        Some(schedule) => write_by(schedule.clone(), flow, clock)?,
    };
    match written {
        Written::All => flow.stop(),
        Written::Gone => Ok(()),
    }
}

/// Writes what a schedule says, when it says so, or as soon after as the socket takes it.
fn write_by(mut schedule: Schedule, flow: &Sender, clock: Clock) -> anyhow::Result<Written> {
    loop {
        match schedule.proceed() {
            Next::Write { at, .. } if flow.spec.stop_ns.is_some_and(|stop_ns| stop_ns <= at.ns()) => {
                return Ok(Written::Gone);
            }
            Next::Write { at, bytes, .. } => {
                clock.sleep_until(at.ns())?;
                if schedule.message_bytes().is_some() {
                    flow.notes.message(at.ns(), "request");
                }
                if write(flow, bytes)? == Written::Gone {
                    return Ok(Written::Gone);
                }
            }
            Next::Wait => bail!("the check lets no application pass that waits for acknowledgements"),
            Next::Nothing => return Ok(Written::All),
        }
    }
}

/// What became of bytes that were written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Written {
    /// The socket took them.
    All,
    /// It was stopped, or is to be, or gave up after too many timeouts.
    Gone,
}

fn write(flow: &Sender, mut left: u64) -> anyhow::Result<Written> {
    while left > 0 {
        let slices: Vec<IoSlice> = slices(&CHUNK, left).collect();
        let none: Option<&SockaddrIn> = None;
        match socket::sendmsg(flow.socket.as_raw_fd(), &slices, &[], MsgFlags::MSG_NOSIGNAL, none) {
            Ok(sent) => left -= sent as u64,
            Err(Errno::EPIPE | Errno::ETIMEDOUT) => return Ok(Written::Gone),
            Err(problem) => return Err(problem).context("sending"),
        }
    }
    Ok(Written::All)
}

/// At most `left` bytes, and what one call takes.
fn slices(chunk: &[u8], left: u64) -> impl Iterator<Item = IoSlice<'_>> {
    let whole = usize::try_from(left).unwrap_or(usize::MAX).min(CHUNKS * chunk.len());
    let full = whole / chunk.len();
    let rest = Some(&chunk[..whole % chunk.len()]).filter(|rest| !rest.is_empty());
    std::iter::repeat_n(chunk, full).chain(rest).map(IoSlice::new)
}

#[expect(unsafe_code, reason = "nix returns the descriptor as a number")]
pub(crate) fn accept(listener: &OwnedFd) -> nix::Result<OwnedFd> {
    let descriptor = socket::accept(listener.as_raw_fd())?;
    // SAFETY: the kernel has just opened it for us alone.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

fn receive(flow: &Receiver, clock: Clock) -> anyhow::Result<()> {
    let Some(socket) = flow.accept()? else { return Ok(()) };
    let socket = flow.accepted.get_or_init(|| socket);
    let expected = flow.spec.bytes.unwrap_or(u64::MAX);
    // What waits to be read takes from the window, which only a limited one feels.
    let patience = if flow.spec.receive_window_bytes.is_some() { 1 } else { READ_BYTES };
    let mut room = vec![0; usize::try_from(READ_BYTES)? * 4];
    let mut received = 0;
    let mut message_end = flow.message_bytes.map_or(expected, |bytes| bytes.min(expected));
    let mut told = None;
    while received < expected {
        let lowat = i32::try_from(message_end - received).map_or(patience, |left| left.min(patience));
        if told != Some(lowat) {
            sys::set_option(socket, (libc::SOL_SOCKET, libc::SO_RCVLOWAT), lowat)?;
            told = Some(lowat);
        }
        match socket::recv(socket.as_raw_fd(), &mut room, MsgFlags::MSG_TRUNC) {
            Ok(0) | Err(Errno::ECONNRESET | Errno::ETIMEDOUT) => return Ok(()),
            Ok(bytes) => received += bytes as u64,
            Err(problem) => return Err(problem).context("receiving"),
        }
        if let Some(bytes) = flow.message_bytes {
            while message_end <= received && message_end < expected {
                flow.notes.message(clock.now_ns()?, "response");
                message_end = (message_end + bytes).min(expected);
            }
        }
    }
    let now_ns = clock.now_ns()?;
    if flow.message_bytes.is_some() {
        flow.notes.message(now_ns, "response");
    }
    flow.completed_ns.get_or_init(|| now_ns);
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::net::{Ipv4Addr, TcpStream};
    use std::time::Duration;

    use super::*;

    #[test]
    fn flows_of_one_instant_open_one_after_the_other() {
        let flow = |start_ns: u64| {
            let flow = serde_json::json!({
                "name": "a", "algorithm": "reno", "start_ns": start_ns, "mss_bytes": 1448,
                "forward": [], "reverse": [],
            });
            serde_json::from_value::<FlowSpec>(flow).unwrap()
        };
        let flows = [0, 5_000, 0, 0, 5_000].map(flow);
        let opens_ns: Vec<_> = (0..flows.len()).map(|index| opens_ns(&flows, index)).collect();
        assert_eq!(opens_ns, [0, 5_000, 1_000, 2_000, 6_000]);
    }

    /// A stranger comes first, with as many bytes as the flow has; then the sender.
    #[test]
    fn who_does_not_know_the_token_is_no_part_of_a_flow() {
        let spec: FlowSpec = serde_json::from_value(serde_json::json!({
            "name": "a", "algorithm": "reno", "start_ns": 0, "mss_bytes": 1448, "bytes": 100_000,
            "forward": [], "reverse": [],
        }))
        .unwrap();
        let clock = Clock::from_next_second().unwrap();
        let anywhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let receiver = Arc::new(Receiver::listen((&spec, 1), anywhere, [7; TOKEN_BYTES]).unwrap());
        let to = SocketAddr::from((Ipv4Addr::LOCALHOST, receiver.port().unwrap()));
        let mut stranger = TcpStream::connect(to).unwrap();
        stranger.write_all(&vec![0; 100_000]).unwrap();
        start_receiver(Arc::clone(&receiver), clock);
        let sender = Arc::new(Sender::open((&spec, 1), anywhere, [7; TOKEN_BYTES]).unwrap());
        start_sender(Arc::clone(&sender), to, clock);
        while receiver.completed_ns().is_none() {
            assert_eq!((receiver.problem(), sender.problem()), (None, None));
            std::thread::sleep(Duration::from_millis(5));
        }
        let arrived = receiver.info().unwrap().bytes_received();
        assert_eq!(arrived, 100_000 + TOKEN_BYTES as u64);
        receiver.close();
    }
}
