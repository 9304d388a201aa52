//! A socket of the kernel as the host of a script.

use std::os::fd::{AsRawFd, OwnedFd};

use anyhow::Context;
use nix::errno::Errno;
use nix::sys::socket::{self, Backlog, MsgFlags, SockaddrIn, sockopt};
use tussle_core::Time;
use tussle_core::net::packet::Packet;
use tussle_core::run::MAX_WINDOW_PACKETS;
use tussle_core::script::{HZ, Host, MSS_BYTES, Role, Script, ScriptError, SenderState};

use super::addresses::{HOST, HOST_PORT, OPENING_TOS, PEER, PEER_PORT};
use super::peer::Peer;
use crate::execute::clock::Clock;
use crate::execute::counters::Netstat;
use crate::execute::traffic::{accept, set_algorithm, tcp_socket};
use crate::execute::tun::Tun;
use crate::sys;
use crate::tcp_info::TcpInfo;

/// Socket buffers, larger than a script needs.
const BUFFER_BYTES: usize = 1 << 29;
/// Precision of the host, much longer than its readings of the guest's clock take: a nanosecond each.
const PRECISION: Time = Time::from_us(10);

#[derive(Debug)]
pub(super) struct KernelHost {
    peer: Peer,
    socket: OwnedFd,
    netstat: Netstat,
    handshake: Time,
}

impl KernelHost {
    /// Connects a socket as the script specifies, over a device that is up.
    pub(super) fn connect(script: &Script, tun: Tun) -> Result<KernelHost, ScriptError> {
        let socket = configured(script)?;
        let opened = || -> anyhow::Result<KernelHost> {
            let netstat = Netstat::open()?;
            let clock = Clock::from_coarse_tick(HZ)?;
            let mut peer = Peer::new(script, tun, clock)?;
            let address = SockaddrIn::from(std::net::SocketAddrV4::new(HOST, HOST_PORT));
            socket::bind(socket.as_raw_fd(), &address)?;
            let socket = match script.role {
                Role::Sender => {
                    clock.sleep_until(0)?;
                    let address = SockaddrIn::from(std::net::SocketAddrV4::new(PEER, PEER_PORT));
                    set_tos(&socket, OPENING_TOS)?;
                    match socket::connect(socket.as_raw_fd(), &address) {
                        Ok(()) | Err(Errno::EINPROGRESS) => {}
                        Err(problem) => return Err(problem).context("connecting"),
                    }
                    peer.answer(script)?;
                    set_tos(&socket, 0)?;
                    socket
                }
                Role::Receiver => {
                    socket::listen(&socket, Backlog::new(1)?)?;
                    peer.open(script)?;
                    accept(&socket).context("accepting")?
                }
            };
            Ok(KernelHost { peer, socket, netstat, handshake: script.handshake() })
        };
        opened().map_err(|problem| broken(&problem))
    }
}

/// Creates a socket with the options of a script.
fn configured(script: &Script) -> Result<OwnedFd, ScriptError> {
    let socket = tcp_socket().map_err(|problem| broken(&problem))?;
    set_algorithm(&socket, &script.algorithm)
        .map_err(|problem| ScriptError::Invalid(format!("{problem:#}")))?;
    let set = || -> anyhow::Result<()> {
        sys::set_option(&socket, libc::IPPROTO_TCP, libc::TCP_NODELAY, 1)?;
        socket::setsockopt(&socket, sockopt::SndBufForce, &BUFFER_BYTES)?;
        socket::setsockopt(&socket, sockopt::RcvBufForce, &BUFFER_BYTES)?;
        if script.pacing {
            // Any finite limit enables pacing; this one is never reached.
            sys::set_option(&socket, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, u64::MAX - 1)?;
        }
        if script.role == Role::Receiver && script.window_packets < MAX_WINDOW_PACKETS {
            let bytes = i32::try_from(script.window_packets.saturating_mul(MSS_BYTES)).unwrap_or(i32::MAX);
            sys::set_option(&socket, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, bytes)?;
        }
        let flags = nix::fcntl::OFlag::O_NONBLOCK;
        nix::fcntl::fcntl(&socket, nix::fcntl::FcntlArg::F_SETFL(flags))?;
        Ok(())
    };
    set().context("the options of a socket").map_err(|problem| broken(&problem))?;
    Ok(socket)
}

/// Sets the type of service, by which routes differ.
fn set_tos(socket: &OwnedFd, tos: i32) -> nix::Result<()> {
    sys::set_option(socket, libc::IPPROTO_IP, libc::IP_TOS, tos)
}

impl Host for KernelHost {
    fn precision(&self) -> Time {
        PRECISION
    }

    fn wait(&mut self, at: Time) -> Result<Time, ScriptError> {
        let reached = self.peer.wait(self.handshake + at).map_err(|problem| broken(&problem))?;
        Ok(reached.since(self.handshake))
    }

    fn write(&mut self, packets: u32) -> Result<(), ScriptError> {
        let bytes = vec![0; packets as usize * MSS_BYTES as usize];
        match socket::send(self.socket.as_raw_fd(), &bytes, MsgFlags::MSG_NOSIGNAL) {
            Ok(written) if written == bytes.len() => Ok(()),
            Ok(written) => Err(ScriptError::Broken(format!(
                "the kernel took {written} of the {} bytes that were written",
                bytes.len()
            ))),
            Err(problem) => {
                Err(ScriptError::Broken(format!("the kernel took nothing that was written: {problem}")))
            }
        }
    }

    fn receive(&mut self, packet: &Packet) -> Result<(), ScriptError> {
        self.peer.send(packet).map_err(|problem| broken(&problem))
    }

    fn sent(&mut self) -> Result<Vec<Packet>, ScriptError> {
        let packets = self.peer.receive().map_err(|problem| broken(&problem))?;
        Ok(packets.into_iter().map(|packets| packets.packet).collect())
    }

    fn sender_state(&mut self) -> Result<SenderState, ScriptError> {
        let read = || Ok((TcpInfo::of(&self.socket)?, self.netstat.read()?));
        let (info, counts) = read().map_err(|problem| broken(&problem))?;
        Ok(SenderState {
            cwnd: info.cwnd,
            ssthresh: info.ssthresh,
            state: info.state(),
            in_flight: info.in_flight(),
            sacked: info.sacked,
            lost: info.lost,
            retransmitted: info.retrans,
            timeouts: counts.timeouts,
            spurious_timeouts: counts.spurious_timeouts,
            undone_recoveries: counts.undone_recoveries,
            probes: counts.probes,
            rto_ms: info.rto_us / 1000,
        })
    }
}

fn broken(problem: &anyhow::Error) -> ScriptError {
    ScriptError::Broken(format!("{problem:#}"))
}
