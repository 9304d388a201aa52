//! Congestion control of sockets: which algorithms a process may use on this kernel, and which one a socket
//! has.

use std::fs;
use std::os::fd::AsFd;

use anyhow::Context;
use nix::sys::socket::{self, sockopt};
use tussle_core::cc::Entry;

/// Reads back the algorithm of a socket.
pub(crate) fn algorithm_of(socket: impl AsFd) -> anyhow::Result<String> {
    let read = socket::getsockopt(&socket, sockopt::TcpCongestion).context("reading the algorithm back")?;
    Ok(read.to_string_lossy().trim_end_matches('\0').to_owned())
}

/// Whether an algorithm paces its packets by itself, as the registry of algorithms says.
pub(crate) fn needs_pacing(name: &str) -> bool {
    Entry::find(name).is_some_and(|entry| entry.build_default().needs().pacing)
}

/// Checks that a socket of this process can have an algorithm. The error is a sentence on the reason and the
/// remedy.
///
/// No socket is tried: a root process would load the module for everyone.
pub(crate) fn usable(name: &str) -> Result<(), String> {
    let listed = |which: &str| {
        let names = fs::read_to_string(format!("/proc/sys/net/ipv4/tcp_{which}_congestion_control"));
        names.unwrap_or_default().split_whitespace().map(str::to_owned).collect()
    };
    let is_root = nix::unistd::geteuid().is_root();
    Listed { available: listed("available"), allowed: listed("allowed"), is_root }.usable(name)
}

/// The algorithms of a kernel, and whether this process is root.
struct Listed {
    available: Vec<String>,
    /// Algorithms that every user may use.
    allowed: Vec<String>,
    is_root: bool,
}

impl Listed {
    fn usable(&self, name: &str) -> Result<(), String> {
        if !self.available.iter().any(|each| each == name) {
            let mut known = self.available.clone();
            known.sort_unstable();
            return Err(format!(
                "this kernel has {}, but not {name}; if it has the module, `modprobe tcp_{name}` loads it",
                known.join(", ")
            ));
        }
        if !self.is_root && !self.allowed.iter().any(|each| each == name) {
            return Err(format!(
                "this kernel allows {} to all users, and {name} to root only; \
                 `sysctl net.ipv4.tcp_allowed_congestion_control=\"{} {name}\"` allows it",
                self.allowed.join(", "),
                self.allowed.join(" ")
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_registry_tells_which_algorithms_need_pacing() {
        let paced: Vec<_> = ["reno", "cubic", "bbr", "bbr3", "unknown"].map(needs_pacing).into();
        assert_eq!(paced, [false, false, true, true, false]);
    }

    #[test]
    fn an_unusable_algorithm_comes_with_its_remedy() {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect();
        let user = Listed { available: words("reno cubic bbr"), allowed: words("reno bbr"), is_root: false };
        let root = Listed { available: words("reno cubic bbr"), allowed: words("reno bbr"), is_root: true };
        assert_eq!(root.usable("cubic"), Ok(()));
        assert_eq!(user.usable("bbr"), Ok(()));
        let problem = user.usable("cubic").unwrap_err();
        assert!(
            problem.contains("`sysctl net.ipv4.tcp_allowed_congestion_control=\"reno bbr cubic\"`"),
            "{problem}"
        );
        let problem = root.usable("vegas").unwrap_err();
        assert!(
            problem.contains("has bbr, cubic, reno, but not vegas")
                && problem.contains("`modprobe tcp_vegas`")
        );
    }
}
