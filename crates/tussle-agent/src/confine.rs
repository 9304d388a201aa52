//! Confinement of a guest to a part of the host's file system.
//!
//! A guest is a process of the user, and its kernel can mount the host's file system with the user's rights.
//! Landlock (Linux 5.13) removes these rights without privileges, permanently, and for all programs executed
//! later.

use std::path::{Path, PathBuf};

use anyhow::Context;
use landlock::{
    ABI, Access, AccessFs, AccessNet, PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreated,
    RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};

/// Landlock ABI whose access rights are restricted. An older host kernel restricts the rights that it
/// supports.
const RIGHTS: ABI = ABI::V6;

/// Paths from which the dynamic linker loads a kernel.
const LIBRARIES: [&str; 5] = ["/lib", "/lib32", "/lib64", "/usr", "/etc/ld.so.cache"];
/// Files that a kernel reads from its host when it starts.
const HOST_FACTS: [&str; 2] = ["/proc/cpuinfo", "/proc/mounts"];
const DEVICES: [&str; 2] = ["/dev/null", "/dev/zero"];

/// A device that the guest's programs open for writing before the guest has mounted its devices, in the
/// folder of programs.
const EARLY_DEVICE: &str = "dev/null";

/// Confines this process, and everything that it executes.
///
/// The process may read and write its current folder and `memory`. It may read its kernel, its programs, the
/// libraries of the host and a few files about the host. It may neither use TCP nor send signals to other
/// processes. On a host without Landlock the process is not confined.
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

/// Rules for the paths that exist.
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

/// Prints how far guests are confined on this host.
pub(crate) fn describe() -> anyhow::Result<std::process::ExitCode> {
    let extent = match confine(Path::new("."), Path::new("."), Path::new("."))? {
        RulesetStatus::FullyEnforced => "Landlock: a guest reads and writes its own folder only",
        RulesetStatus::PartiallyEnforced => {
            "Landlock of an older kernel: a guest reads and writes its own folder only, and may use the network"
        }
        RulesetStatus::NotEnforced => {
            "none: this kernel has no Landlock (Linux 5.13); a guest reads and writes what its user can"
        }
    };
    println!("{extent}");
    Ok(std::process::ExitCode::SUCCESS)
}
