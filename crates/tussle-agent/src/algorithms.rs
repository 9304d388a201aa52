//! Which congestion control a process may use on a kernel that is not ours, and what to type for one that it may not.

use std::fs;

/// Whether a socket of this process can have an algorithm; if not, a sentence on why, and what to do.
///
/// Sockets are not asked: an administrator's would load the module, for everyone.
pub(crate) fn usable(name: &str) -> Result<(), String> {
    let listed = |which: &str| {
        let told = fs::read_to_string(format!("/proc/sys/net/ipv4/tcp_{which}_congestion_control"));
        told.unwrap_or_default().split_whitespace().map(str::to_owned).collect()
    };
    let kernel = Listed { available: listed("available"), allowed: listed("allowed") };
    kernel.usable(name, if nix::unistd::geteuid().is_root() { Who::Root } else { Who::User })
}

/// What a kernel has, and what it allows to all.
struct Listed {
    available: Vec<String>,
    allowed: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Who {
    Root,
    User,
}

impl Listed {
    fn usable(&self, name: &str, who: Who) -> Result<(), String> {
        if !self.available.iter().any(|each| each == name) {
            let mut known = self.available.clone();
            known.sort_unstable();
            return Err(format!(
                "this kernel has {}, and not {name}; if it has the module, `modprobe tcp_{name}` loads it",
                known.join(", ")
            ));
        }
        if who == Who::User && !self.allowed.iter().any(|each| each == name) {
            return Err(format!(
                "this kernel allows {} to users, and {name} to root alone; \
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
    fn what_to_type_is_said() {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect();
        let kernel = Listed { available: words("reno cubic bbr"), allowed: words("reno bbr") };
        assert_eq!(kernel.usable("cubic", Who::Root), Ok(()));
        assert_eq!(kernel.usable("bbr", Who::User), Ok(()));
        let said = kernel.usable("cubic", Who::User).unwrap_err();
        assert!(
            said.contains("`sysctl net.ipv4.tcp_allowed_congestion_control=\"reno bbr cubic\"`"),
            "{said}"
        );
        let said = kernel.usable("vegas", Who::Root).unwrap_err();
        assert!(
            said.contains("has bbr, cubic, reno, and not vegas") && said.contains("`modprobe tcp_vegas`")
        );
    }
}
