//! Flows on sockets.
//!
//! Under user-mode Linux a system call costs more than a packet, so there are few: a send takes megabytes and
//! sleeps in the kernel, and a read discards the bytes in the kernel.

use std::io::IoSlice;
use std::net::{SocketAddr, SocketAddrV4};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::sync::{Arc, Mutex, OnceLock};

use anyhow::{Context, bail};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{
    self, AddressFamily, Backlog, MsgFlags, Shutdown, SockFlag, SockType, SockaddrIn, SockaddrIn6,
    SockaddrStorage, sockopt,
};
use nix::sys::time::TimeVal;
use tussle_core::Run;
use tussle_core::net::packet::HEADER_BYTES;
use tussle_core::run::application::{Next, Schedule, UNSENT_BYTES};
use tussle_core::run::{Ends, FlowSpec, Host};

use super::Environment;
use super::clock::{Clock, Slack, exact_timers};
use super::counters::Netstat;
use super::setup::Hosts;
use crate::algorithms::{self, algorithm_of};
use crate::namespace::{self, enter};
use crate::network::buffers::{self, ReceiveBuffer};
use crate::network::{DEFAULT_PACKET_BYTES, Network, PORT, receiver_address, sender_address};
use crate::sys;
use crate::tcp_info::TcpInfo;
use crate::validity::{HostLoad, Validity};

/// Port of every sender; senders differ by address.
const SENDER_PORT: u16 = 40_000;
/// Bytes of the IPv4 and TCP headers without options. The socket option for the segment size counts the timestamp option,
/// and a run does not.
const PLAIN_HEADER_BYTES: u32 = 40;
/// Largest send buffer. The kernel doubles it and keeps it in 31 bits, and a socket counts as writable up to two thirds of it: half
/// a million packets. A sender without SACK may have far more packets that are not acknowledged in order than in flight.
const SEND_BUFFER_BYTES: usize = i32::MAX as usize / 2;
/// Data to write.
static CHUNK: [u8; 64 * 1024] = [0; 64 * 1024];
/// Chunks in one call: the kernel's limit for a vector.
const CHUNKS: usize = 1024;
/// Limit of unsent bytes of an application that is no bulk sender and does not stop: more than most of them write at once.
const APPLICATION_UNSENT_BYTES: u64 = 4 << 20;
/// Largest number of connections that wait to be accepted, unrelated ones included.
const BACKLOG: i32 = 16;
/// Unread bytes at which the reader is woken.
const READ_BYTES: i32 = 1 << 20;
/// Bytes that such a reader leaves unread. Linux acknowledges a packet with the push flag alone if nothing is left to read,
/// which would depend on where these reads end.
const LEFT_BYTES: usize = 64 << 10;

/// A running flow: the state that its threads share with the observer.
#[derive(Debug)]
pub(crate) struct Flow {
    /// Specification of the flow.
    pub(crate) spec: FlowSpec,
    /// The algorithm in use, as read back from the kernel.
    pub(crate) algorithm: String,
    /// Counters of the sender's namespace.
    pub(crate) netstat: Netstat,
    sender: Arc<Sender>,
    receiver: Arc<Receiver>,
    log: Arc<FlowLog>,
}

/// First bytes of a connection, which identify the flow's own sender.
pub(crate) type Token = [u8; TOKEN_BYTES];
pub(crate) const TOKEN_BYTES: usize = 16;
/// Time limit in s for showing the token.
const TOKEN_S: i64 = 2;

/// The sending side of a flow.
#[derive(Debug)]
pub(crate) struct Sender {
    spec: FlowSpec,
    /// Write times of the application; `None` for a bulk sender.
    schedule: Option<Schedule>,
    socket: OwnedFd,
    token: Option<Token>,
    /// Retransmissions of the SYN, known once the connection is there.
    syn_retransmissions: OnceLock<u32>,
    log: Arc<FlowLog>,
}

/// The receiving side of a flow.
#[derive(Debug)]
pub(crate) struct Receiver {
    spec: FlowSpec,
    /// Length of a message in bytes.
    message_bytes: Option<u64>,
    listener: OwnedFd,
    token: Option<Token>,
    accepted: OnceLock<OwnedFd>,
    completed_ns: OnceLock<u64>,
    /// Unread bytes at which the reader is woken (`SO_RCVLOWAT`).
    lowat_bytes: i32,
    /// Largest receive window in bytes, if the run gives one.
    window_bytes: Option<i32>,
    log: Arc<FlowLog>,
}

/// Results and problems of a flow's threads.
#[derive(Debug, Default)]
pub(crate) struct FlowLog {
    messages: Mutex<Vec<(u64, &'static str)>>,
    problem: Mutex<Option<String>>,
}

impl FlowLog {
    /// Times in ns of the run at which chunks were written (`request`) or had arrived (`response`).
    pub(crate) fn messages(&self) -> Vec<(u64, &'static str)> {
        self.messages.lock().expect("no thread panics while it holds the lock").clone()
    }

    /// The problem of a thread, if one failed.
    pub(crate) fn problem(&self) -> Option<String> {
        self.problem.lock().expect("no thread panics while it holds the lock").clone()
    }

    fn message(&self, at_ns: u64, kind: &'static str) {
        self.messages.lock().expect("no thread panics while it holds the lock").push((at_ns, kind));
    }

    fn outcome(&self, outcome: anyhow::Result<()>) {
        if let Err(problem) = outcome {
            *self.problem.lock().expect("no thread panics while it holds the lock") =
                Some(format!("{problem:#}"));
        }
    }
}

impl Flow {
    /// State of the sender.
    pub(crate) fn sender_info(&self) -> anyhow::Result<TcpInfo> {
        self.sender.info()
    }

    /// State of the receiver; zeros until it is connected.
    pub(crate) fn receiver_info(&self) -> anyhow::Result<TcpInfo> {
        self.receiver.info()
    }

    /// Validity of the measurement at the sender. The caller is in the sender's namespace.
    pub(crate) fn validity(&self, load: HostLoad) -> anyhow::Result<Validity> {
        self.sender.validity(load)
    }

    /// Time in ns of the run at which the last byte reached the receiving application.
    pub(crate) fn completed_ns(&self) -> Option<u64> {
        self.receiver.completed_ns()
    }

    /// Times in ns of the run at which chunks were written (`request`) and had arrived (`response`).
    pub(crate) fn messages(&self) -> Vec<(u64, &'static str)> {
        self.log.messages()
    }

    /// Stops the application; data already written are still sent.
    pub(crate) fn stop(&self) -> anyhow::Result<()> {
        self.sender.stop()
    }

    /// The problem of a thread, if one failed.
    pub(crate) fn problem(&self) -> Option<String> {
        self.log.problem()
    }
}

impl Sender {
    fn new(spec: &FlowSpec, seed: u64, socket: OwnedFd, log: Arc<FlowLog>) -> anyhow::Result<Sender> {
        let schedule = spec.schedule(seed).map_err(anyhow::Error::msg)?;
        Ok(Sender {
            spec: spec.clone(),
            schedule,
            socket,
            token: None,
            syn_retransmissions: OnceLock::new(),
            log,
        })
    }

    /// Opens a sender's socket over an existing network, for the address family of `peer`.
    pub(crate) fn open(spec: &FlowSpec, seed: u64, peer: SocketAddr, token: Token) -> anyhow::Result<Sender> {
        let socket = socket_for(peer)?;
        set_algorithm(&socket, &spec.algorithm)?;
        limit_unsent(&socket, spec)?;
        set_sender_options(&socket, spec, HEADER_BYTES)?;
        let made = Sender::new(spec, seed, socket, Arc::default())?;
        Ok(Sender { token: Some(token), ..made })
    }

    /// The problem of the thread, if it failed.
    pub(crate) fn problem(&self) -> Option<String> {
        self.log.problem()
    }

    /// Times in ns of the run at which chunks were written (`request`) or had arrived (`response`).
    pub(crate) fn messages(&self) -> Vec<(u64, &'static str)> {
        self.log.messages()
    }

    /// State of the socket; its retransmissions are those of data.
    pub(crate) fn info(&self) -> anyhow::Result<TcpInfo> {
        let mut info = TcpInfo::of(&self.socket).context("TCP_INFO of a sender")?;
        info.total_retrans -= self.syn_retransmissions.get().copied().unwrap_or(info.total_retrans);
        Ok(info)
    }

    /// Validity of the measurement at this host.
    pub(crate) fn validity(&self, load: HostLoad) -> anyhow::Result<Validity> {
        Validity::of(&self.socket, load)
    }

    /// Stops the application; data already written are still sent.
    pub(crate) fn stop(&self) -> anyhow::Result<()> {
        match socket::shutdown(self.socket.as_raw_fd(), Shutdown::Write) {
            // The socket has not connected yet, or is closed.
            Ok(()) | Err(Errno::ENOTCONN) => Ok(()),
            Err(problem) => Err(problem).context("stopping a sender"),
        }
    }
}

impl Receiver {
    fn new(spec: &FlowSpec, seed: u64, listener: OwnedFd, log: Arc<FlowLog>) -> anyhow::Result<Receiver> {
        let schedule = spec.schedule(seed).map_err(anyhow::Error::msg)?;
        Ok(Receiver {
            spec: spec.clone(),
            message_bytes: schedule.and_then(|schedule| schedule.message_bytes()),
            listener,
            token: None,
            accepted: OnceLock::new(),
            completed_ns: OnceLock::new(),
            lowat_bytes: lowat_bytes(spec, &Host::default()),
            window_bytes: spec.receive_window_bytes.map(as_option),
            log,
        })
    }

    /// Opens a receiver's socket over an existing network, and listens at an address.
    pub(crate) fn listen(
        spec: &FlowSpec,
        seed: u64,
        at: SocketAddr,
        token: Token,
    ) -> anyhow::Result<Receiver> {
        let socket = socket_for(at)?;
        limit_segments(&socket, spec, HEADER_BYTES)?;
        // DCTCP changes the receiver's ECN feedback, too.
        if algorithms::usable(&spec.algorithm).is_ok() {
            set_algorithm(&socket, &spec.algorithm)?;
        }
        if let Some(bytes) = spec.receive_window_bytes {
            limit_window(&socket, as_option(bytes))?;
        }
        socket::setsockopt(&socket, sockopt::ReuseAddr, &true)?;
        socket::bind(socket.as_raw_fd(), &SockaddrStorage::from(at))?;
        socket::listen(&socket, Backlog::new(BACKLOG)?)?;
        let made = Receiver::new(spec, seed, socket, Arc::default())?;
        Ok(Receiver { token: Some(token), ..made })
    }

    /// Port at which the receiver listens.
    pub(crate) fn port(&self) -> anyhow::Result<u16> {
        let address: SockaddrStorage = socket::getsockname(self.listener.as_raw_fd())?;
        let v4 = address.as_sockaddr_in().map(SockaddrIn::port);
        v4.or_else(|| address.as_sockaddr_in6().map(SockaddrIn6::port)).context("a socket without a port")
    }

    /// The problem of the thread, if it failed.
    pub(crate) fn problem(&self) -> Option<String> {
        self.log.problem()
    }

    /// Times in ns of the run at which chunks were written (`request`) or had arrived (`response`).
    pub(crate) fn messages(&self) -> Vec<(u64, &'static str)> {
        self.log.messages()
    }

    /// Ends the thread.
    pub(crate) fn close(&self) {
        for socket in std::iter::once(&self.listener).chain(self.accepted.get()) {
            // A socket without a connection is closed already.
            let _ = socket::shutdown(socket.as_raw_fd(), Shutdown::Both);
        }
    }

    /// Accepts the first connection, or the first one that shows the token. `None` after the receiver was
    /// closed.
    fn accept(&self) -> anyhow::Result<Option<OwnedFd>> {
        loop {
            let socket = match accept(&self.listener) {
                Ok(socket) => socket,
                Err(Errno::EINVAL) => return Ok(None),
                Err(Errno::ECONNABORTED | Errno::EINTR) => continue,
                Err(problem) => return Err(problem).context("accepting"),
            };
            let Some(token) = self.token else { return Ok(Some(socket)) };
            if shows_token(&socket, token)? {
                return Ok(Some(socket));
            }
        }
    }

    /// State of the socket; zeros until it is connected.
    pub(crate) fn info(&self) -> anyhow::Result<TcpInfo> {
        self.accepted.get().map_or_else(
            || Ok(TcpInfo::default()),
            |socket| TcpInfo::of(socket).context("TCP_INFO of a receiver"),
        )
    }

    /// Time in ns of the run at which the last byte reached the application.
    pub(crate) fn completed_ns(&self) -> Option<u64> {
        self.completed_ns.get().copied()
    }
}

/// Opens the sockets of every flow, each in its namespace.
pub(crate) fn prepare(run: &Run, network: &Network, hosts: &Hosts) -> anyhow::Result<Vec<Arc<Flow>>> {
    let home = namespace::current()?;
    let flows = run
        .flows
        .iter()
        .enumerate()
        .map(|(index, spec)| {
            enter(&hosts.receivers[network.receiver_of[index]])?;
            let ends = run.ends(spec);
            let listener = listener(index, spec, ends.header_bytes(), buffers::receive_buffer(run, spec))
                .with_context(|| format!("the receiver of {}", spec.name))?;
            enter(&hosts.senders[index])?;
            let sender =
                sender(index, spec, &ends).with_context(|| format!("the sender of {}", spec.name))?;
            let algorithm = algorithm_of(&sender)?;
            if algorithm != spec.algorithm {
                bail!("flow {} runs {algorithm} although {} was asked for", spec.name, spec.algorithm);
            }
            let log = Arc::<FlowLog>::default();
            Ok(Arc::new(Flow {
                spec: spec.clone(),
                algorithm,
                netstat: Netstat::open()?,
                sender: Arc::new(Sender::new(spec, run.seed, sender, Arc::clone(&log))?),
                receiver: Arc::new(Receiver {
                    lowat_bytes: lowat_bytes(spec, &ends.receiver),
                    // With `rmem`, the window is what the buffer allows.
                    window_bytes: match ends.receiver.rmem {
                        None => spec.receive_window_bytes.map(as_option),
                        Some(_) => None,
                    },
                    ..Receiver::new(spec, run.seed, listener, Arc::clone(&log))?
                }),
                log,
            }))
        })
        .collect();
    enter(&home)?;
    flows
}

/// Starts the threads of every flow; they end with the process.
pub(crate) fn start(flows: &[Arc<Flow>], clock: Clock, environment: &Environment) {
    for (index, flow) in flows.iter().enumerate() {
        start_receiver(Arc::clone(&flow.receiver), clock);
        let to = SocketAddrV4::new(receiver_address(index), PORT).into();
        start_sender(Arc::clone(&flow.sender), to, clock, environment.priority_of_sender(index));
    }
}

/// Starts the receiving thread.
pub(crate) fn start_receiver(receiver: Arc<Receiver>, clock: Clock) {
    std::thread::spawn(move || receiver.log.outcome(receive(&receiver, clock)));
}

/// Starts the sending thread, which connects to an address first. It has a real-time `priority` while it connects, and as
/// long as it writes on a schedule.
pub(crate) fn start_sender(sender: Arc<Sender>, to: SocketAddr, clock: Clock, priority: Option<i32>) {
    std::thread::spawn(move || sender.log.outcome(send(&sender, to, clock, priority)));
}

/// Unread bytes at which the reader of a flow is woken (`SO_RCVLOWAT`): many unless each packet must be read at once, because
/// reading costs time.
fn lowat_bytes(spec: &FlowSpec, host: &Host) -> i32 {
    if spec.reads_at_once(host) { 1 } else { READ_BYTES }
}

fn as_option(bytes: u64) -> i32 {
    i32::try_from(bytes).unwrap_or(i32::MAX)
}

fn limit_window(socket: &OwnedFd, bytes: i32) -> anyhow::Result<()> {
    sys::set_option(socket, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, bytes).context("the receive window")
}

/// Limits the window again, if the kernel replaced the limit by what the buffer allows. Linux from 6.6 on does so when
/// the first full packet arrives.
fn keep_window_limited(socket: &OwnedFd, bytes: i32) -> anyhow::Result<()> {
    let limit =
        sys::option(socket, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP).context("the receive window")?;
    if limit > bytes { limit_window(socket, bytes) } else { Ok(()) }
}

fn listener(
    index: usize,
    spec: &FlowSpec,
    header_bytes: u32,
    buffer: ReceiveBuffer,
) -> anyhow::Result<OwnedFd> {
    let socket = tcp_socket()?;
    limit_segments(&socket, spec, header_bytes)?;
    if let ReceiveBuffer::Fixed { buffer_bytes } | ReceiveBuffer::Ample { buffer_bytes, .. } = buffer {
        // The kernel doubles the value.
        let half = usize::try_from(buffer_bytes / 2)?;
        socket::setsockopt(&socket, sockopt::RcvBufForce, &half).context("the receive buffer")?;
    }
    // DCTCP changes the receiver's ECN feedback, too.
    set_algorithm(&socket, &spec.algorithm)?;
    if let ReceiveBuffer::Ample { window_bytes, .. } = buffer {
        limit_window(&socket, as_option(window_bytes))?;
    }
    socket::bind(socket.as_raw_fd(), &SockaddrIn::from(SocketAddrV4::new(receiver_address(index), PORT)))?;
    socket::listen(&socket, Backlog::new(1)?)?;
    Ok(socket)
}

/// Whether the first bytes of a connection are the token, within its time limit.
fn shows_token(socket: &OwnedFd, token: Token) -> anyhow::Result<bool> {
    socket::setsockopt(socket, sockopt::ReceiveTimeout, &TimeVal::new(TOKEN_S, 0))?;
    let mut shown = Token::default();
    let read = socket::recv(socket.as_raw_fd(), &mut shown, MsgFlags::MSG_WAITALL);
    socket::setsockopt(socket, sockopt::ReceiveTimeout, &TimeVal::new(0, 0))?;
    Ok(read == Ok(TOKEN_BYTES) && shown == token)
}

fn socket_for(address: SocketAddr) -> anyhow::Result<OwnedFd> {
    let family = if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
    socket::socket(family, SockType::Stream, SockFlag::SOCK_CLOEXEC, None).context("a socket")
}

fn sender(index: usize, spec: &FlowSpec, ends: &Ends) -> anyhow::Result<OwnedFd> {
    let socket = tcp_socket()?;
    set_algorithm(&socket, &spec.algorithm)?;
    if ends.sender.wmem.is_none() {
        socket::setsockopt(&socket, sockopt::SndBufForce, &SEND_BUFFER_BYTES).context("the send buffer")?;
        limit_unsent(&socket, spec)?;
    }
    // A guest of the kernel engine then copies no data (kernel/patches/payload.toml); other kernels do as before.
    sys::set_option(&socket, libc::SOL_SOCKET, libc::SO_ZEROCOPY, 1).context("data that are not copied")?;
    set_sender_options(&socket, spec, ends.header_bytes())?;
    let address = SocketAddrV4::new(sender_address(index), SENDER_PORT);
    socket::bind(socket.as_raw_fd(), &SockaddrIn::from(address))?;
    Ok(socket)
}

/// Limits the unsent data of a socket whose send buffer is too large to be filled.
fn limit_unsent(socket: &OwnedFd, spec: &FlowSpec) -> anyhow::Result<()> {
    let writes_far_ahead = spec.application.is_some() && spec.stop_ns.is_none();
    let bytes = if writes_far_ahead { APPLICATION_UNSENT_BYTES } else { UNSENT_BYTES };
    sys::set_option(socket, libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, as_option(bytes))
        .context("unsent data")
}

/// Limits the segments of a flow at one of its ends. Both need it: the window of a receiver grows in units of its own limit.
fn limit_segments(socket: &OwnedFd, spec: &FlowSpec, header_bytes: u32) -> anyhow::Result<()> {
    if spec.mss_bytes != DEFAULT_PACKET_BYTES - header_bytes {
        let bytes = spec.mss_bytes + header_bytes - PLAIN_HEADER_BYTES;
        let bytes = i32::try_from(bytes).context("the segment size")?;
        sys::set_option(socket, libc::IPPROTO_TCP, libc::TCP_MAXSEG, bytes).context("the segment size")?;
    }
    Ok(())
}

fn set_sender_options(socket: &OwnedFd, spec: &FlowSpec, header_bytes: u32) -> anyhow::Result<()> {
    limit_segments(socket, spec, header_bytes)?;
    if spec.pacing {
        // Any finite limit enables pacing; this one is never reached.
        sys::set_option(socket, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, u64::MAX - 1)
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

fn send(flow: &Sender, to: SocketAddr, clock: Clock, priority: Option<i32>) -> anyhow::Result<()> {
    let slack = if let Some(priority) = priority {
        sys::run_first(priority).context("real-time priority")?;
        Slack::None
    } else {
        exact_timers().context("exact timers")?;
        Slack::Least
    };
    clock.sleep_exactly_until(flow.spec.start_ns, slack)?;
    match socket::connect(flow.socket.as_raw_fd(), &SockaddrStorage::from(to)) {
        // A flow without a connection is a valid result, also one whose application stops before it is there.
        Err(Errno::ETIMEDOUT) => return Ok(()),
        Err(Errno::ECONNRESET) if flow.spec.stop_ns.is_some() => return Ok(()),
        other => other.context("connecting")?,
    }
    let connected = TcpInfo::of(&flow.socket).context("TCP_INFO of a sender")?;
    flow.syn_retransmissions.get_or_init(|| connected.total_retrans);
    if let Some(token) = flow.token {
        socket::send(flow.socket.as_raw_fd(), &token, MsgFlags::MSG_NOSIGNAL).context("showing the token")?;
    }
    let written = match &flow.schedule {
        None => {
            if priority.is_some() {
                sys::run_as_usual().context("the usual priority")?;
            }
            write(flow, flow.spec.bytes.unwrap_or(u64::MAX))?
        }
        Some(schedule) => write_on_schedule(schedule.clone(), flow, clock, slack)?,
    };
    match written {
        WriteOutcome::Complete => flow.stop(),
        WriteOutcome::Closed => Ok(()),
    }
}

/// Writes at the times of a schedule, or as soon as the socket takes the data after them.
fn write_on_schedule(
    mut schedule: Schedule,
    flow: &Sender,
    clock: Clock,
    slack: Slack,
) -> anyhow::Result<WriteOutcome> {
    loop {
        match schedule.proceed() {
            Next::Write { at, .. } if flow.spec.stop_ns.is_some_and(|stop_ns| stop_ns <= at.ns()) => {
                return Ok(WriteOutcome::Closed);
            }
            Next::Write { at, bytes, .. } => {
                clock.sleep_exactly_until(at.ns(), slack)?;
                if schedule.message_bytes().is_some() {
                    flow.log.message(at.ns(), "request");
                }
                if write(flow, bytes)? == WriteOutcome::Closed {
                    return Ok(WriteOutcome::Closed);
                }
            }
            Next::Wait => bail!("an application that waits for acknowledgements was not refused"),
            Next::Nothing => return Ok(WriteOutcome::Complete),
        }
    }
}

/// Outcome of writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WriteOutcome {
    /// The socket took all bytes.
    Complete,
    /// The socket was closed, or gave up after too many timeouts.
    Closed,
}

fn write(flow: &Sender, mut left: u64) -> anyhow::Result<WriteOutcome> {
    while left > 0 {
        let slices: Vec<IoSlice> = slices(&CHUNK, left).collect();
        let none: Option<&SockaddrIn> = None;
        match socket::sendmsg(flow.socket.as_raw_fd(), &slices, &[], MsgFlags::MSG_NOSIGNAL, none) {
            Ok(sent) => left -= sent as u64,
            Err(Errno::EPIPE | Errno::ETIMEDOUT) => return Ok(WriteOutcome::Closed),
            Err(problem) => return Err(problem).context("sending"),
        }
    }
    Ok(WriteOutcome::Complete)
}

/// Splits at most `left` bytes into slices for one call.
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
    let lowat_bytes = flow.lowat_bytes;
    let mut buffer = vec![0; usize::try_from(READ_BYTES)?];
    let mut received = 0;
    let mut message_end = flow.message_bytes.map_or(expected, |bytes| bytes.min(expected));
    let mut current = None;
    let mut window_bytes = flow.window_bytes;
    while received < expected {
        let lowat = i32::try_from(message_end - received).map_or(lowat_bytes, |left| left.min(lowat_bytes));
        if current != Some(lowat) {
            sys::set_option(socket, libc::SOL_SOCKET, libc::SO_RCVLOWAT, lowat)?;
            current = Some(lowat);
        }
        let mut left =
            usize::try_from(message_end - received).map_or(buffer.len(), |left| left.min(buffer.len()));
        if lowat == READ_BYTES {
            let mut readable = [PollFd::new(socket.as_fd(), PollFlags::POLLIN)];
            poll(&mut readable, PollTimeout::NONE).context("waiting for data")?;
            left -= LEFT_BYTES;
        }
        // A reader that is woken for each packet remains in the kernel; the first packet is seen alone where the window
        // may have to be limited again.
        let flags = if lowat_bytes == 1 && window_bytes.is_none() {
            MsgFlags::MSG_WAITALL
        } else {
            MsgFlags::empty()
        };
        match socket::recv(socket.as_raw_fd(), &mut buffer[..left], MsgFlags::MSG_TRUNC | flags) {
            Ok(0) | Err(Errno::ECONNRESET | Errno::ETIMEDOUT) => return Ok(()),
            Ok(bytes) => {
                received += bytes as u64;
                if bytes as u64 >= u64::from(flow.spec.mss_bytes)
                    && let Some(limit_bytes) = window_bytes.take()
                {
                    keep_window_limited(socket, limit_bytes)?;
                }
            }
            Err(problem) => return Err(problem).context("receiving"),
        }
        if let Some(bytes) = flow.message_bytes {
            while message_end <= received && message_end < expected {
                flow.log.message(clock.now_ns()?, "response");
                message_end = (message_end + bytes).min(expected);
            }
        }
    }
    let now_ns = clock.now_ns()?;
    if flow.message_bytes.is_some() {
        flow.log.message(now_ns, "response");
    }
    flow.completed_ns.get_or_init(|| now_ns);
    if flow.spec.pair.is_some() {
        // The sender keeps what it learned when both sides have closed.
        socket::shutdown(socket.as_raw_fd(), Shutdown::Write).context("closing a receiver")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::net::{Ipv4Addr, TcpStream};
    use std::time::Duration;

    use super::*;

    /// An unrelated connection with as many bytes as the flow comes first, then the sender.
    #[test]
    fn a_connection_without_the_token_is_not_part_of_a_flow() {
        let spec: FlowSpec = serde_json::from_value(serde_json::json!({
            "name": "a", "algorithm": "reno", "start_ns": 0, "mss_bytes": 1448, "bytes": 100_000,
            "forward": [], "reverse": [],
        }))
        .unwrap();
        let clock = Clock::from_next_second().unwrap();
        let anywhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let receiver = Arc::new(Receiver::listen(&spec, 1, anywhere, [7; TOKEN_BYTES]).unwrap());
        let to = SocketAddr::from((Ipv4Addr::LOCALHOST, receiver.port().unwrap()));
        let mut unrelated = TcpStream::connect(to).unwrap();
        unrelated.write_all(&vec![0; 100_000]).unwrap();
        start_receiver(Arc::clone(&receiver), clock);
        let sender = Arc::new(Sender::open(&spec, 1, anywhere, [7; TOKEN_BYTES]).unwrap());
        start_sender(Arc::clone(&sender), to, clock, None);
        while receiver.completed_ns().is_none() {
            assert_eq!((receiver.problem(), sender.problem()), (None, None));
            std::thread::sleep(Duration::from_millis(5));
        }
        let arrived = receiver.info().unwrap().bytes_received();
        assert_eq!(arrived, 100_000 + TOKEN_BYTES as u64);
        receiver.close();
    }
}
