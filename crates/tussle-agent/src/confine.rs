//! Confinement of a guest to a part of the host's file system.
//!
//! A guest is a process of the user, and its kernel can mount the host's file system with the user's rights.
//! Landlock (Linux 5.13) removes these rights without privileges, permanently, and for all programs executed
//! later. It does not restrict modes, owners, times and attributes of files, so a filter of system calls does.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context;
use landlock::{
    ABI, Access, AccessFs, AccessNet, PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreated,
    RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};
use seccompiler::{SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompRule};

use crate::sys::filter;

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

/// System calls that change the mode, owner or attributes of the file at a path. A guest may change its own files by
/// their descriptors.
const CHANGES_BY_PATH: &[i64] = &[
    libc::SYS_fchmodat,
    libc::SYS_fchmodat2,
    libc::SYS_fchownat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    SYS_SETXATTRAT,
    SYS_REMOVEXATTRAT,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chmod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lchown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utime,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utimes,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_futimesat,
];
/// Number of `setxattrat`, in Linux since 6.13; the same on every architecture.
const SYS_SETXATTRAT: i64 = 463;
/// Number of `removexattrat`, in Linux since 6.13; the same on every architecture.
const SYS_REMOVEXATTRAT: i64 = 466;

/// Confines this process, and everything that it executes.
///
/// The process may read and write its current folder and `memory`. It may read its kernel, its programs, the
/// libraries of the host and a few files about the host. It may neither use TCP nor send signals to other
/// processes, nor change metadata of files by their paths. On a host without Landlock it may read and write all
/// files of its user.
pub(crate) fn confine(kernel: &Path, programs: &Path, memory: &Path) -> anyhow::Result<RulesetStatus> {
    let here = std::env::current_dir().context("the folder of the guest")?;
    let facts = LIBRARIES.iter().chain(&HOST_FACTS).map(PathBuf::from);
    let read: Vec<PathBuf> =
        [kernel.to_path_buf(), programs.to_path_buf()].into_iter().chain(facts).collect();
    let own = [here, memory.to_path_buf(), programs.join(EARLY_DEVICE)];
    let write: Vec<PathBuf> = own.into_iter().chain(DEVICES.iter().map(PathBuf::from)).collect();
    let status =
        rules(&read, &write).and_then(RulesetCreated::restrict_self).context("confining the guest")?;
    seccompiler::apply_filter(&filter(changes_by_path()?, SeccompAction::Errno(libc::EPERM.unsigned_abs()))?)
        .context("confining the guest")?;
    Ok(status.ruleset)
}

/// Rules that match system calls which change a file's metadata by its path.
fn changes_by_path() -> anyhow::Result<BTreeMap<i64, Vec<SeccompRule>>> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        CHANGES_BY_PATH.iter().map(|&call| (call, Vec::new())).collect();
    // Without a path, it changes the times of an open file.
    let with_path = SeccompCondition::new(1, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0)?;
    rules.insert(libc::SYS_utimensat, vec![SeccompRule::new(vec![with_path])?]);
    Ok(rules)
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
