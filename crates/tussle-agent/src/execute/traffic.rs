//! Flows on sockets. Under user mode a system call costs more than a packet, so there are few: a send takes
//! megabytes and sleeps in the kernel, and a read leaves the bytes where they are.

use std::fs::File;
use std::io::IoSlice;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::sync::{Arc, Mutex, OnceLock};

use anyhow::{Context, bail};
use nix::errno::Errno;
use nix::sys::socket::{
    self, AddressFamily, Backlog, MsgFlags, Shutdown, SockFlag, SockType, SockaddrIn, sockopt,
};
use tussle_core::Run;
use tussle_core::application::{Next, Schedule};
use tussle_core::packet::HEADER_BYTES;
use tussle_core::run::{FlowSpec, Switch};

use super::clock::Clock;
use super::counters::Netstat;
use super::setup::{Hosts, enter};
use super::tcp_info::TcpInfo;
use crate::network::{Network, PORT, receiver_address, room, sender_address};
use crate::sys;

/// The sender's own port; its address is its own, too.
const SENDER_PORT: u16 = 40_000;
/// Payload of a full packet of 1500 bytes, which no socket need be told.
const USUAL_MSS_BYTES: u32 = 1448;
/// The option of timestamps, which the socket option for the segment size counts and a run does not.
const TIMESTAMPS_BYTES: u32 = HEADER_BYTES - 40;
/// More than is ever on the way; the kernel doubles it, and keeps it in 31 bits.
const SEND_BUFFER_BYTES: usize = 1 << 29;
/// What is written from, again and again.
static CHUNK: [u8; 64 * 1024] = [0; 64 * 1024];
/// Chunks in one call: the kernel's limit for a vector.
const CHUNKS: usize = 1024;
/// Bytes not yet sent below which a writer is woken: some packets beyond what one ACK can free at once.
const UNSENT_BYTES: i32 = 256 * 1024;
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
    /// When its application writes; `None`: all that is taken.
    schedule: Option<Schedule>,
    sender: OwnedFd,
    listener: OwnedFd,
    accepted: OnceLock<OwnedFd>,
    completed_ns: OnceLock<u64>,
    messages: Mutex<Vec<(u64, &'static str)>>,
    problem: Mutex<Option<String>>,
}

impl Flow {
    /// What the kernel tells of the sender.
    pub(crate) fn sender_info(&self) -> anyhow::Result<TcpInfo> {
        TcpInfo::of(&self.sender).context("TCP_INFO of a sender")
    }

    /// What the kernel tells of the receiver; zeros until it is connected.
    pub(crate) fn receiver_info(&self) -> anyhow::Result<TcpInfo> {
        self.accepted.get().map_or_else(
            || Ok(TcpInfo::default()),
            |socket| TcpInfo::of(socket).context("TCP_INFO of a receiver"),
        )
    }

    /// When the last byte reached the receiving application, in ns of the run.
    pub(crate) fn completed_ns(&self) -> Option<u64> {
        self.completed_ns.get().copied()
    }

    /// When chunks were written (`request`) and had arrived (`response`), in ns of the run.
    pub(crate) fn messages(&self) -> Vec<(u64, &'static str)> {
        self.messages.lock().expect("nobody panics with it").clone()
    }

    fn note_message(&self, at_ns: u64, kind: &'static str) {
        self.messages.lock().expect("nobody panics with it").push((at_ns, kind));
    }

    /// Where messages end: every so many bytes.
    fn message_bytes(&self) -> Option<u64> {
        self.schedule.as_ref()?.message_bytes()
    }

    /// The application stops writing; what is written is still sent.
    pub(crate) fn stop(&self) -> anyhow::Result<()> {
        match socket::shutdown(self.sender.as_raw_fd(), Shutdown::Write) {
            // It has not connected yet, or is done.
            Ok(()) | Err(Errno::ENOTCONN) => Ok(()),
            Err(problem) => Err(problem).context("stopping a sender"),
        }
    }

    /// What went wrong in one of its threads.
    pub(crate) fn problem(&self) -> Option<String> {
        self.problem.lock().expect("nobody panics with it").clone()
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
            let listener = listener((index, spec), room::receive_room_bytes(run, spec))
                .with_context(|| format!("the receiver of {}", spec.name))?;
            enter(&hosts.senders[index])?;
            let sender = sender(index, spec).with_context(|| format!("the sender of {}", spec.name))?;
            let algorithm =
                socket::getsockopt(&sender, sockopt::TcpCongestion).context("reading the algorithm back")?;
            let algorithm = algorithm.to_string_lossy().trim_end_matches('\0').to_owned();
            if algorithm != spec.algorithm {
                bail!("flow {} runs {algorithm} although {} was asked for", spec.name, spec.algorithm);
            }
            Ok(Arc::new(Flow {
                spec: spec.clone(),
                algorithm,
                netstat: Netstat::open()?,
                schedule: Schedule::new(spec, run.seed).map_err(anyhow::Error::msg)?,
                sender,
                listener,
                accepted: OnceLock::new(),
                completed_ns: OnceLock::new(),
                messages: Mutex::default(),
                problem: Mutex::new(None),
            }))
        })
        .collect();
    enter(&home)?;
    flows
}

/// Starts the threads of every flow; they end with the process.
pub(crate) fn start(flows: &[Arc<Flow>], clock: Clock) {
    for (index, flow) in flows.iter().enumerate() {
        spawn(flow, move |flow| receive(flow, clock));
        spawn(flow, move |flow| send(index, flow, clock));
    }
}

fn spawn(flow: &Arc<Flow>, work: impl FnOnce(&Flow) -> anyhow::Result<()> + Send + 'static) {
    let flow = Arc::clone(flow);
    std::thread::spawn(move || {
        if let Err(problem) = work(&flow) {
            *flow.problem.lock().expect("nobody panics with it") = Some(format!("{problem:#}"));
        }
    });
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
    socket::bind(
        socket.as_raw_fd(),
        &SockaddrIn::from(std::net::SocketAddrV4::new(receiver_address(index), PORT)),
    )?;
    socket::listen(&socket, Backlog::new(1)?)?;
    Ok(socket)
}

fn sender(index: usize, spec: &FlowSpec) -> anyhow::Result<OwnedFd> {
    let socket = tcp_socket()?;
    set_algorithm(&socket, &spec.algorithm)?;
    socket::setsockopt(&socket, sockopt::SndBufForce, &SEND_BUFFER_BYTES).context("the send buffer")?;
    sys::set_option(&socket, (libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT), UNSENT_BYTES)?;
    if spec.mss_bytes != USUAL_MSS_BYTES {
        let bytes = i32::try_from(spec.mss_bytes + TIMESTAMPS_BYTES).context("the segment size")?;
        sys::set_option(&socket, (libc::IPPROTO_TCP, libc::TCP_MAXSEG), bytes).context("the segment size")?;
    }
    if spec.pacing == Switch::On {
        // Any limit but "none" switches pacing on; this one is never reached.
        sys::set_option(&socket, (libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE), u64::MAX - 1)
            .context("pacing")?;
    }
    let address = std::net::SocketAddrV4::new(sender_address(index), SENDER_PORT);
    socket::bind(socket.as_raw_fd(), &SockaddrIn::from(address))?;
    Ok(socket)
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

fn send(index: usize, flow: &Flow, clock: Clock) -> anyhow::Result<()> {
    clock.sleep_until(flow.spec.start_ns)?;
    let receiver = std::net::SocketAddrV4::new(receiver_address(index), PORT);
    match socket::connect(flow.sender.as_raw_fd(), &SockaddrIn::from(receiver)) {
        // Nothing came through: a flow that gets nothing is a result.
        Err(Errno::ETIMEDOUT) => return Ok(()),
        other => other.context("connecting")?,
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
fn write_by(mut schedule: Schedule, flow: &Flow, clock: Clock) -> anyhow::Result<Written> {
    loop {
        match schedule.proceed() {
            Next::Write { at, .. } if flow.spec.stop_ns.is_some_and(|stop_ns| stop_ns <= at.ns()) => {
                return Ok(Written::Gone);
            }
            Next::Write { at, bytes, .. } => {
                clock.sleep_until(at.ns())?;
                if schedule.message_bytes().is_some() {
                    flow.note_message(at.ns(), "request");
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

fn write(flow: &Flow, mut left: u64) -> anyhow::Result<Written> {
    while left > 0 {
        let slices: Vec<IoSlice> = slices(&CHUNK, left).collect();
        let none: Option<&SockaddrIn> = None;
        match socket::sendmsg(flow.sender.as_raw_fd(), &slices, &[], MsgFlags::MSG_NOSIGNAL, none) {
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

fn receive(flow: &Flow, clock: Clock) -> anyhow::Result<()> {
    let socket = accept(&flow.listener).context("accepting")?;
    let socket = flow.accepted.get_or_init(|| socket);
    let expected = flow.spec.bytes.unwrap_or(u64::MAX);
    // What waits to be read takes from the window, which only a limited one feels.
    let patience = if flow.spec.receive_window_bytes.is_some() { 1 } else { READ_BYTES };
    let mut room = vec![0; usize::try_from(READ_BYTES)? * 4];
    let mut received = 0;
    let mut message_end = flow.message_bytes().map_or(expected, |bytes| bytes.min(expected));
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
        if let Some(bytes) = flow.message_bytes() {
            while message_end <= received && message_end < expected {
                flow.note_message(clock.now_ns()?, "response");
                message_end = (message_end + bytes).min(expected);
            }
        }
    }
    let now_ns = clock.now_ns()?;
    if flow.message_bytes().is_some() {
        flow.note_message(now_ns, "response");
    }
    flow.completed_ns.get_or_init(|| now_ns);
    Ok(())
}
