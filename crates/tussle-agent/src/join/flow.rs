//! One end of a flow, whose congestion control is measured.

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

/// Size of the data to write: random bytes, which no tunnel or modem can compress.
const CHUNK_BYTES: usize = 256 * 1024;
/// Limit of unsent bytes below which a writer is woken: somewhat more than one ACK can release.
const UNSENT_BYTES: i32 = 256 * 1024;
/// Largest number of bytes read or written in one turn, so that other flows have their turns.
const TURN_BYTES: usize = 4 << 20;
/// Offset of `tcpi_total_rto` in `struct tcp_info`, behind `tcpi_rehash`, since Linux 6.7.
const TOTAL_RTO_AT: usize = 240;

/// Placeholder for the load of the host, which is known only at the end.
const UNKNOWN_LOAD: HostLoad = HostLoad { cpu_share: 0.0, timer_slip_p99_ms: 0.0, timer_slip_max_ms: 0.0 };

/// Buffers that all flows of a process share.
#[derive(Debug)]
pub(super) struct Buffers {
    chunk: Vec<u8>,
    /// Buffer of reads, whose data the kernel discards (`MSG_TRUNC` of tcp(7)).
    discarded: Vec<u8>,
}

/// Role of this end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Writes this many bytes.
    Sends(u64),
    /// Reads everything that arrives.
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
    /// More data may be readable or writable.
    More,
    /// Everything is written; data in flight still arrive.
    AllWritten,
    /// The other end has closed the connection.
    Closed,
    /// The connection broke.
    Broken,
}

impl Flow {
    /// Creates an end over a connected socket, and makes the socket non-blocking.
    pub(super) fn over(socket: TcpStream, role: Role) -> anyhow::Result<Flow> {
        socket.set_nonblocking(true).context("a flow")?;
        sys::set_option(&socket, libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, UNSENT_BYTES)?;
        let validity = Validity::of(&socket, UNKNOWN_LOAD)?;
        Ok(Flow { socket, role, moved_bytes: 0, has_stopped: false, validity })
    }

    /// Congestion control in use, as read back from the kernel.
    pub(super) fn algorithm(&self) -> &str {
        &self.validity.algorithm
    }

    /// Reads or writes what the socket allows in one turn.
    pub(super) fn proceed(&mut self, buffers: &mut Buffers) -> TurnOutcome {
        match self.role {
            Role::Sends(bytes) if !self.has_stopped => {
                match self.write(bytes, &buffers.chunk) {
                    // A receiver that closes the connection has received enough.
                    TurnOutcome::More => self.read(&mut buffers.discarded),
                    other => other,
                }
            }
            Role::Sends(_) | Role::Receives => self.read(&mut buffers.discarded),
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

    fn read(&mut self, buffer: &mut [u8]) -> TurnOutcome {
        let mut turn = 0;
        while turn < TURN_BYTES {
            match socket::recv(self.socket.as_raw_fd(), buffer, MsgFlags::MSG_TRUNC) {
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

    /// Stops writing; data already written still arrive.
    pub(super) fn stop(&mut self) {
        if !self.has_stopped {
            self.has_stopped = true;
            // This fails only if the connection is lost, which the next read reports.
            _ = self.socket.shutdown(Shutdown::Write);
        }
    }

    /// Aborts the connection.
    pub(super) fn cut(&mut self) {
        self.stop();
        _ = self.socket.shutdown(Shutdown::Both);
        _ = socket::setsockopt(&self.socket, sockopt::Linger, &libc::linger { l_onoff: 1, l_linger: 0 });
    }

    pub(super) fn has_stopped(&self) -> bool {
        self.has_stopped
    }

    /// State of this end, as the kernel reports it.
    pub(super) fn observe(&self) -> anyhow::Result<Observation> {
        let info = TcpInfo::of(&self.socket).context("TCP_INFO")?;
        Ok(match self.role {
            Role::Receives => Observation::Receiver { bytes: self.moved_bytes, packets: info.data_segs_in },
            Role::Sends(_) => {
                Observation::Sender(Box::new(Sender { total_rto: total_rto(&self.socket)?, ..sender(&info) }))
            }
        })
    }

    /// Bytes of the flow that this end's kernel has received or was given to send. The other end cannot know
    /// of more.
    pub(super) fn carried_bytes(&self) -> u64 {
        match self.role {
            Role::Sends(_) => self.moved_bytes,
            // Acknowledged data may not have been read yet.
            Role::Receives => {
                let arrived = TcpInfo::of(&self.socket).map_or(0, |info| info.bytes_received());
                arrived.saturating_sub(PREAMBLE_BYTES as u64).max(self.moved_bytes)
            }
        }
    }

    /// Validity of the measurement at this end, at the end of the flow.
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

/// Converts the state of a sender to the kernel's structure, from which the tables are filled.
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

/// Number of retransmission timeouts, if the kernel reports it.
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
