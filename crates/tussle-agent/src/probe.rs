//! Probe of the host: whether guests can run, and how much floating-point state the host saves for a process.

use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, bail};
use nix::sys::ptrace;
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;

use crate::{launch, sys};

/// Remedy for the restrictions of containers.
const CONTAINER: &str =
    "in a container, start it with `--security-opt seccomp=unconfined --cap-add SYS_PTRACE`";

/// Prints the size in bytes of the floating-point state that this host saves for a process.
///
/// # Errors
/// A sentence on the reason why guests cannot run, and the remedy.
pub(crate) fn probe() -> anyhow::Result<ExitCode> {
    launch::fix_addresses().with_context(|| {
        format!("guests cannot run here: fixing their addresses (personality) is refused; {CONTAINER}")
    })?;
    launch::hide_host_randomness(&launch::host_randomness_filter()?).with_context(|| {
        format!("guests cannot run here: filtering their system calls (seccomp) is refused; {CONTAINER}")
    })?;
    println!("{}", state_bytes()?);
    Ok(ExitCode::SUCCESS)
}

/// Size of the state of a traced process. The state is also written back, as a guest does at each context
/// switch.
fn state_bytes() -> anyhow::Result<usize> {
    let refused = || {
        format!(
            "guests cannot run here: tracing a child process (ptrace) is refused; set the sysctl \
             kernel.yama.ptrace_scope below 3, and {CONTAINER}"
        )
    };
    let child = stopped_child().with_context(refused)?;
    let mut state = vec![0; sys::STATE_MAX_BYTES];
    let outcome = sys::extended_state(child, &mut state).and_then(|size| {
        sys::set_extended_state(child, &mut state[..size])?;
        Ok(size)
    });
    let _ = ptrace::kill(child);
    let _ = waitpid(child, None);
    outcome.context(
        "guests cannot run here: the floating-point state of a process cannot be saved and restored \
         (PTRACE_SETREGSET); Tussle needs a host on x86-64 whose kernel supports XSAVE",
    )
}

/// A stopped child process that is traced by this process.
fn stopped_child() -> anyhow::Result<Pid> {
    let mut command = Command::new("/proc/self/exe");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    trace_from_start(&mut command);
    let child = Pid::from_raw(i32::try_from(command.spawn()?.id()).expect("process numbers are small"));
    match waitpid(child, None)? {
        WaitStatus::Stopped(_, Signal::SIGTRAP) => Ok(child),
        other => bail!("it did not stop: {other:?}"),
    }
}

/// Makes the child stop as soon as its program is loaded.
#[expect(unsafe_code, reason = "what runs between fork and exec must be async-signal-safe, and is")]
fn trace_from_start(command: &mut Command) {
    // SAFETY: the closure makes one system call, and allocates nothing.
    unsafe { command.pre_exec(|| ptrace::traceme().map_err(Into::into)) };
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    /// The legacy area of 512 bytes and the header of 64 bytes come first (Intel SDM volume 1, section 13.4).
    /// The size is a multiple of 8 bytes.
    #[test]
    fn the_state_has_at_least_the_legacy_area_and_the_header() {
        let bytes = state_bytes().expect("processes can be traced here");
        assert!(bytes >= 512 + 64, "{bytes}");
        assert_eq!(bytes % 8, 0);
    }

    /// A defect of user-mode Linux before 6.13 on hosts with AMX, which save more state than it requests.
    #[test]
    fn a_host_refuses_to_restore_less_than_it_saves() {
        let child = stopped_child().expect("processes can be traced here");
        let mut state = vec![0; sys::STATE_MAX_BYTES];
        let bytes = sys::extended_state(child, &mut state).expect("the host has XSAVE");
        let short = sys::set_extended_state(child, &mut state[..bytes - 8]);
        assert_eq!(short, Err(nix::errno::Errno::EFAULT));
        let long = sys::set_extended_state(child, &mut state);
        let _ = ptrace::kill(child);
        assert_eq!(long, Ok(()));
    }
}
