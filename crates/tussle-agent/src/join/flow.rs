//! One end of a flow: a connection whose congestion control is what is measured.

use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use anyhow::Context;
use nix::errno::Errno;
use nix::sys::socket::{self, MsgFlags, sockopt};
use tussle_join::{Observation, PREAMBLE_BYTES, Sender};

use crate::sys;
use crate::tcp_info::TcpInfo;
use crate::validity::{HostLoad, Validity};

/// What is written from, again and again: bytes that no tunnel or modem on the way can compress.
const CHUNK_BYTES: usize = 256 * 1024;
/// Bytes not yet sent below which a writer is woken: some packets beyond what one ACK can free at once.
const UNSENT_BYTES: i32 = 256 * 1024;
/// Taken or written in one turn, so that others have theirs.
const TURN_BYTES: usize = 4 << 20;
/// `tcpi_total_rto` of `struct tcp_info` stands behind `tcpi_rehash`, since Linux 6.7.
const TOTAL_RTO_AT: usize = 240;

/// How the host fares is known in the end only.
const NOT_YET: HostLoad = HostLoad { cpu_share: 0.0, timer_slip_p99_ms: 0.0, timer_slip_max_ms: 0.0 };

/// What all flows of a process write from, and read into.
#[derive(Debug)]
pub(super) struct Buffers {
    chunk: Vec<u8>,
    /// The kernel throws away what it would put there (`MSG_TRUNC` of tcp(7)).
    discarded: Vec<u8>,
}

/// What this end does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// It writes until it has written so many bytes.
    Sends(u64),
    /// It reads what comes.
    Receives,
}

/// One end of a flow.
#[derive(Debug)]
pub(super) struct Flow {
    pub(super) socket: TcpStream,
    pub(super) role: Role,
    /// Bytes written or read.
    pub(super) moved_bytes: u64,
    has_stopped: bool,
    validity: Validity,
}

/// Outcome of one turn of reading or writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TurnOutcome {
    /// There may be more to read or write.
    More,
    /// Everything is written; data in flight still arrive.
    AllWritten,
    /// The other end has closed the connection.
    Closed,
    /// The connection broke.
    Broken,
}

impl Flow {
    /// A connection that does not block.
    pub(super) fn over(socket: TcpStream, role: Role) -> anyhow::Result<Flow> {
        socket.set_nonblocking(true).context("a flow")?;
        sys::set_option(&socket, libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, UNSENT_BYTES)?;
        let validity = Validity::of(&socket, NOT_YET)?;
        Ok(Flow { socket, role, moved_bytes: 0, has_stopped: false, validity })
    }

    /// The congestion control that the kernel really runs, as read back.
    pub(super) fn algorithm(&self) -> &str {
        &self.validity.algorithm
    }

    /// Writes, or reads, what there is room for in one turn.
    pub(super) fn proceed(&mut self, room: &mut Buffers) -> TurnOutcome {
        match self.role {
            Role::Sends(bytes) if !self.has_stopped => {
                match self.write(bytes, &room.chunk) {
                    // A receiver that closes has had enough.
                    TurnOutcome::More => self.read(&mut room.discarded),
                    other => other,
                }
            }
            Role::Sends(_) | Role::Receives => self.read(&mut room.discarded),
        }
    }

    fn write(&mut self, bytes: u64, chunk: &[u8]) -> TurnOutcome {
        let mut turn = 0;
        while turn < TURN_BYTES {
            let most = usize::try_from(bytes - self.moved_bytes).unwrap_or(usize::MAX).min(chunk.len());
            if most == 0 {
                self.stop();
                return TurnOutcome::AllWritten;
            }
            match socket::send(self.socket.as_raw_fd(), &chunk[..most], MsgFlags::MSG_NOSIGNAL) {
                Ok(count) => {
                    self.moved_bytes += count as u64;
                    turn += count;
                }
                Err(Errno::EAGAIN | Errno::EINTR) => return TurnOutcome::More,
                Err(_) => return TurnOutcome::Broken,
            }
        }
        TurnOutcome::More
    }

    fn read(&mut self, room: &mut [u8]) -> TurnOutcome {
        let mut turn = 0;
        while turn < TURN_BYTES {
            match socket::recv(self.socket.as_raw_fd(), room, MsgFlags::MSG_TRUNC) {
                Ok(0) => return TurnOutcome::Closed,
                Ok(count) => {
                    turn += count;
                    if self.role == Role::Receives {
                        self.moved_bytes += count as u64;
                    }
                }
                Err(Errno::EAGAIN | Errno::EINTR) => return TurnOutcome::More,
                Err(_) => return TurnOutcome::Broken,
            }
        }
        TurnOutcome::More
    }

    /// Writes nothing more; what is written still arrives.
    pub(super) fn stop(&mut self) {
        if !self.has_stopped {
            self.has_stopped = true;
            // It fails only where the connection is gone, which the next read tells.
            _ = self.socket.shutdown(Shutdown::Write);
        }
    }

    /// Ends it, whatever is on the way.
    pub(super) fn cut(&mut self) {
        self.stop();
        _ = self.socket.shutdown(Shutdown::Both);
        _ = socket::setsockopt(&self.socket, sockopt::Linger, &libc::linger { l_onoff: 1, l_linger: 0 });
    }

    pub(super) fn has_stopped(&self) -> bool {
        self.has_stopped
    }

    /// What the kernel tells of this end.
    pub(super) fn observe(&self) -> anyhow::Result<Observation> {
        let info = TcpInfo::of(&self.socket).context("TCP_INFO")?;
        Ok(match self.role {
            Role::Receives => Observation::Receiver { bytes: self.moved_bytes, packets: info.data_segs_in },
            Role::Sends(_) => {
                Observation::Sender(Box::new(Sender { total_rto: total_rto(&self.socket)?, ..sender(&info) }))
            }
        })
    }

    /// Bytes of the flow that the kernel took in for this end, or was given by it: no other end can know of more.
    pub(super) fn carried_bytes(&self) -> u64 {
        match self.role {
            Role::Sends(_) => self.moved_bytes,
            // What was acknowledged may not have been read.
            Role::Receives => {
                let arrived = TcpInfo::of(&self.socket).map_or(0, |info| info.bytes_received());
                arrived.saturating_sub(PREAMBLE_BYTES as u64).max(self.moved_bytes)
            }
        }
    }

    /// How valid what was measured at this end is; asked when it is over.
    pub(super) fn validity(&self, load: HostLoad) -> anyhow::Result<Validity> {
        let info = TcpInfo::of(&self.socket).context("TCP_INFO")?;
        let seconds = |us: u64| Duration::from_micros(us).as_secs_f64();
        Ok(Validity {
            busy_s: seconds(info.busy_us),
            receiver_limited_s: seconds(info.rwnd_limited_us),
            sender_limited_s: seconds(info.sndbuf_limited_us),
            load,
            ..self.validity.clone()
        })
    }
}

fn sender(info: &TcpInfo) -> Sender {
    Sender {
        ca_state: info.ca_state,
        unacked: info.unacked,
        sacked: info.sacked,
        lost: info.lost,
        retrans: info.retrans,
        rtt_us: info.rtt_us,
        ssthresh: info.ssthresh,
        cwnd: info.cwnd,
        total_retrans: info.total_retrans,
        pacing_bytes_per_s: info.pacing_bytes_per_s,
        bytes_acked: info.bytes_acked,
        min_rtt_us: info.min_rtt_us,
        data_segs_out: info.data_segs_out,
        delivery_bytes_per_s: info.delivery_bytes_per_s,
        busy_us: info.busy_us,
        rwnd_limited_us: info.rwnd_limited_us,
        sndbuf_limited_us: info.sndbuf_limited_us,
        delivered: info.delivered,
        delivered_ce: info.delivered_ce,
        dsack_dups: info.dsack_dups,
        reordering_seen: info.reordering_seen,
        total_rto: None,
    }
}

/// The same, as the kernel's structure has it: what the tables are filled from.
pub(super) fn info(sender: &Sender) -> TcpInfo {
    TcpInfo {
        ca_state: sender.ca_state,
        unacked: sender.unacked,
        sacked: sender.sacked,
        lost: sender.lost,
        retrans: sender.retrans,
        rtt_us: sender.rtt_us,
        ssthresh: sender.ssthresh,
        cwnd: sender.cwnd,
        total_retrans: sender.total_retrans,
        pacing_bytes_per_s: sender.pacing_bytes_per_s,
        bytes_acked: sender.bytes_acked,
        min_rtt_us: sender.min_rtt_us,
        data_segs_out: sender.data_segs_out,
        delivery_bytes_per_s: sender.delivery_bytes_per_s,
        busy_us: sender.busy_us,
        rwnd_limited_us: sender.rwnd_limited_us,
        sndbuf_limited_us: sender.sndbuf_limited_us,
        delivered: sender.delivered,
        delivered_ce: sender.delivered_ce,
        dsack_dups: sender.dsack_dups,
        reordering_seen: sender.reordering_seen,
        ..TcpInfo::default()
    }
}

/// How often the retransmission timer expired, where the kernel tells.
fn total_rto(socket: impl AsFd) -> nix::Result<Option<u16>> {
    let (bytes, length) = sys::tcp_info(socket)?;
    let there = bytes[..length].get(TOTAL_RTO_AT..).and_then(|rest| rest.first_chunk());
    Ok(there.map(|two| u16::from_ne_bytes(*two)))
}

impl Buffers {
    pub(super) fn new() -> Buffers {
        let mut state: u64 = 1;
        let mut next = || {
            // Xorshift: G. Marsaglia, Xorshift RNGs, Journal of Statistical Software 8(14), 2003.
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        let chunk = (0..CHUNK_BYTES / 8).flat_map(|_| next().to_ne_bytes()).collect();
        Buffers { chunk, discarded: vec![0; TURN_BYTES] }
    }
}
