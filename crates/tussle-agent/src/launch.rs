//! Start of a guest, such that its results are reproducible to the byte and no process of the guest outlives
//! its owner.

use std::io::Read;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};

use anyhow::Context;
use nix::sys::personality::{self, Persona};
use nix::sys::prctl;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use seccompiler::SeccompAction;

use crate::confine::confine;
use crate::sys::filter;

/// Access of a guest to the host.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Confinement {
    /// No confinement: the guest has all rights of the user, for hosts that confine their guests by themselves.
    None,
    /// The guest's own folder (see `confine`), where the host has Landlock.
    OwnFolder,
}

/// The link to the guest's programs, in the folder of a run.
const PROGRAMS: &str = "root";

/// Runs a user-mode kernel until it ends, or until stdin closes; its helper processes are then killed.
///
/// A confined kernel reaches its current folder, its programs, and its memory in `TMPDIR`. The owner holds
/// the other end of stdin open, so that stdin closes whenever the owner ends.
pub(crate) fn launch(kernel: &str, arguments: &[&str], confinement: Confinement) -> anyhow::Result<ExitCode> {
    let filter = host_randomness_filter()?;
    if confinement == Confinement::OwnFolder {
        let memory = std::env::var_os("TMPDIR").map_or_else(|| PathBuf::from("."), PathBuf::from);
        let programs = std::fs::canonicalize(PROGRAMS).unwrap_or_default();
        confine(Path::new(kernel), &programs, &memory)?;
    }
    let mut command = Command::new(kernel);
    // The kernel's helper processes stay in its process group, so that one signal reaches all of them.
    command.args(arguments).stdin(Stdio::null()).process_group(0);
    prepare(&mut command, filter);
    let mut guest = command.spawn().with_context(|| format!("cannot start the kernel {kernel}"))?;
    let group = group_of(&guest);
    std::thread::spawn(move || {
        let mut rest = Vec::new();
        // The owner is gone, whether reading ends or fails.
        let _ = std::io::stdin().lock().read_to_end(&mut rest);
        let _ = killpg(group, Signal::SIGKILL);
    });
    let status = guest.wait().context("waiting for the kernel")?;
    let _ = killpg(group, Signal::SIGKILL);
    Ok(exit_code(status))
}

/// Removes the differences between two executions: random addresses, and random numbers of the host.
#[expect(unsafe_code, reason = "what runs between fork and exec must be async-signal-safe, and is")]
fn prepare(command: &mut Command, filter: Vec<seccompiler::sock_filter>) {
    let start = move || {
        prctl::set_pdeathsig(Signal::SIGKILL)?;
        fix_addresses()?;
        hide_host_randomness(&filter)
    };
    // SAFETY: the closure makes system calls only, and allocates nothing.
    unsafe { command.pre_exec(start) };
}

/// Turns address-space randomisation off for this process and what it executes.
pub(crate) fn fix_addresses() -> std::io::Result<()> {
    let kept = personality::get()?;
    personality::set(kept | Persona::ADDR_NO_RANDOMIZE)?;
    Ok(())
}

/// Applies a filter of system calls to this process and what it executes.
pub(crate) fn hide_host_randomness(filter: &[seccompiler::sock_filter]) -> std::io::Result<()> {
    seccompiler::apply_filter(filter).map_err(|_| std::io::Error::from_raw_os_error(libc::EPERM))
}

/// A filter of system calls that refuses `getrandom` as a kernel without it does. A guest then has no random
/// numbers but its own.
pub(crate) fn host_randomness_filter() -> anyhow::Result<Vec<seccompiler::sock_filter>> {
    let rules = [(libc::SYS_getrandom, Vec::new())].into();
    filter(rules, SeccompAction::Errno(libc::ENOSYS.unsigned_abs()))
}

fn group_of(child: &Child) -> Pid {
    Pid::from_raw(i32::try_from(child.id()).expect("process numbers are small"))
}

/// Converts an exit status as shells do: 128 plus the number of the signal.
fn exit_code(status: ExitStatus) -> ExitCode {
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default());
    ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX))
}
