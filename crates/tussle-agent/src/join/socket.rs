//! Sockets of clients and servers: connecting, timeouts, and congestion control.

use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use anyhow::{Context, bail};
use nix::errno::Errno;
use nix::sys::socket::{self, AddressFamily, SockFlag, SockType, SockaddrStorage, sockopt};
use nix::sys::time::TimeVal;

/// Deadline for opening a connection, and for each answer before the flows begin.
pub(super) const OPENING: Duration = Duration::from_secs(10);
/// Interval of keep-alives on an idle connection, in s.
const KEEPALIVE_S: u32 = 5;

/// Opens a connection. An algorithm controls the connection from its first packet on.
pub(super) fn connect(to: SocketAddr, algorithm: Option<&str>) -> anyhow::Result<TcpStream> {
    let family = if to.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
    let socket =
        socket::socket(family, SockType::Stream, SockFlag::SOCK_CLOEXEC, None).context("a socket")?;
    if let Some(name) = algorithm {
        choose(&socket, name)?;
    }
    let patience = TimeVal::new(OPENING.as_secs().try_into().expect("short"), 0);
    // This is the deadline of `connect`, too (socket(7)).
    socket::setsockopt(&socket, sockopt::SendTimeout, &patience)?;
    socket::setsockopt(&socket, sockopt::ReceiveTimeout, &patience)?;
    match socket::connect(socket.as_raw_fd(), &SockaddrStorage::from(to)) {
        Ok(()) => Ok(TcpStream::from(socket)),
        Err(Errno::ECONNREFUSED) => {
            bail!("{to}: nothing listens at this address; is `tussle serve` running?")
        }
        Err(Errno::EINPROGRESS | Errno::ETIMEDOUT) => {
            bail!("{to}: no answer; check the address, and that no firewall blocks the connection")
        }
        Err(problem) => bail!("{to}: {}; check the address and the network", problem.desc()),
    }
}

/// Closes a connection when data stay unacknowledged for a time, or the peer is gone (RFC 5482).
pub(super) fn give_up_after(socket: impl AsFd, patience_ns: u64) -> anyhow::Result<()> {
    let milliseconds = u32::try_from(patience_ns / 1_000_000).unwrap_or(u32::MAX);
    socket::setsockopt(&socket, sockopt::TcpUserTimeout, &milliseconds)?;
    socket::setsockopt(&socket, sockopt::KeepAlive, &true)?;
    socket::setsockopt(&socket, sockopt::TcpKeepIdle, &KEEPALIVE_S)?;
    socket::setsockopt(&socket, sockopt::TcpKeepInterval, &KEEPALIVE_S)?;
    Ok(())
}

/// Sets the congestion control of a socket. The error is a sentence on the reason and the remedy.
pub(super) fn choose(socket: impl AsFd, name: &str) -> anyhow::Result<()> {
    match socket::setsockopt(&socket, sockopt::TcpCongestion, &name.into()) {
        Ok(()) => Ok(()),
        Err(Errno::ENOENT) if has_module(name) => {
            bail!(
                "the kernel has {name} as a module that is not loaded; load it with: sudo modprobe tcp_{name}"
            )
        }
        Err(Errno::ENOENT) => bail!("this kernel has no {name}; it has {}", sysctl("tcp_available")),
        Err(Errno::EPERM) => {
            let allowed = sysctl("tcp_allowed");
            bail!(
                "the kernel has {name}, but only root may use it; allow it with: \
                 sudo sysctl net.ipv4.tcp_allowed_congestion_control=\"{allowed} {name}\""
            )
        }
        Err(problem) => Err(problem).with_context(|| format!("choosing {name}")),
    }
}

/// Checks that this host can use an algorithm.
pub(super) fn try_algorithm(name: &str) -> anyhow::Result<()> {
    let flags = SockFlag::SOCK_CLOEXEC;
    choose(socket::socket(AddressFamily::Inet, SockType::Stream, flags, None).context("a socket")?, name)
}

fn sysctl(which: &str) -> String {
    let place = format!("/proc/sys/net/ipv4/{which}_congestion_control");
    let mut names: Vec<_> =
        fs::read_to_string(place).unwrap_or_default().split_whitespace().map(str::to_owned).collect();
    names.sort_unstable();
    names.join(" ")
}

/// Whether the kernel's modules have an algorithm.
fn has_module(name: &str) -> bool {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let listed = fs::read_to_string(format!("/lib/modules/{}/modules.dep", release.trim()));
    listed.is_ok_and(|text| text.contains(&format!("/tcp_{name}.ko")))
}
