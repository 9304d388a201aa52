//! The part of the host's file system that a guest may reach.
//!
//! A guest is a process of the user, and its kernel can mount the host's file system with the user's rights. Landlock
//! (Linux 5.13) takes them away without privileges, for good, and for everything that is executed later.

use std::path::{Path, PathBuf};

use anyhow::Context;
use landlock::{
    ABI, Access, AccessFs, AccessNet, PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreated,
    RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};

/// The rights that are known here; an older host withholds those that it knows.
const RIGHTS: ABI = ABI::V6;

/// What the dynamic linker loads a kernel with.
const LIBRARIES: [&str; 5] = ["/lib", "/lib32", "/lib64", "/usr", "/etc/ld.so.cache"];
/// What a kernel asks of its host when it starts.
const HOST_FACTS: [&str; 2] = ["/proc/cpuinfo", "/proc/mounts"];
const DEVICES: [&str; 2] = ["/dev/null", "/dev/zero"];

/// What the guest's programs open for writing before the guest has mounted its devices, in the folder of programs.
const EARLY_DEVICE: &str = "dev/null";

/// Confines this process, and what it executes, to the folder it is in and to `memory` for reading and writing, and to
/// its kernel, its programs, the libraries of the host and a few of its facts for reading. No TCP, no signals to other
/// processes.
///
/// A host without Landlock leaves everything as it is.
pub(crate) fn confine(kernel: &Path, programs: &Path, memory: &Path) -> anyhow::Result<RulesetStatus> {
    let here = std::env::current_dir().context("the folder of the guest")?;
    let facts = LIBRARIES.iter().chain(&HOST_FACTS).map(PathBuf::from);
    let read: Vec<PathBuf> =
        [kernel.to_path_buf(), programs.to_path_buf()].into_iter().chain(facts).collect();
    let own = [here, memory.to_path_buf(), programs.join(EARLY_DEVICE)];
    let write: Vec<PathBuf> = own.into_iter().chain(DEVICES.iter().map(PathBuf::from)).collect();
    let status =
        rules(&read, &write).and_then(RulesetCreated::restrict_self).context("confining the guest")?;
    Ok(status.ruleset)
}

fn rules(read: &[PathBuf], write: &[PathBuf]) -> Result<RulesetCreated, RulesetError> {
    Ruleset::default()
        .handle_access(AccessFs::from_all(RIGHTS))?
        .handle_access(AccessNet::from_all(RIGHTS))?
        .scope(Scope::from_all(RIGHTS))?
        .create()?
        .add_rules(beneath(read, AccessFs::from_read(RIGHTS)))?
        .add_rules(beneath(write, AccessFs::from_all(RIGHTS)))
}

/// A rule for each path that exists.
fn beneath(
    paths: &[PathBuf],
    rights: landlock::BitFlags<AccessFs>,
) -> impl Iterator<Item = Result<PathBeneath<PathFd>, RulesetError>> {
    paths.iter().filter_map(move |path| {
        let opened = PathFd::new(path).ok()?;
        let of_files = AccessFs::from_file(RIGHTS);
        Some(Ok(PathBeneath::new(opened, if path.is_dir() { rights } else { rights & of_files })))
    })
}

/// Says on stdout how far guests are confined on this host.
pub(crate) fn describe() -> anyhow::Result<std::process::ExitCode> {
    let said = match confine(Path::new("."), Path::new("."), Path::new("."))? {
        RulesetStatus::FullyEnforced => "Landlock: a guest reads and writes its own folder only",
        RulesetStatus::PartiallyEnforced => {
            "Landlock, of an older kernel: a guest reads and writes its own folder only, and may use the network"
        }
        RulesetStatus::NotEnforced => {
            "none, for this kernel has no Landlock (Linux 5.13, if it is built in): a guest reads and writes what you can"
        }
    };
    println!("{said}");
    Ok(std::process::ExitCode::SUCCESS)
}
