//! Network namespaces, by the files that name them, and their sysctls.

use std::fs::{self, File};

use anyhow::Context;
use nix::sched::{CloneFlags, setns};

/// The folder with the files that name the namespaces of a run.
pub(crate) const FOLDER: &str = "/run/netns";

/// Opens a namespace by its name.
pub(crate) fn open(name: &str) -> anyhow::Result<File> {
    File::open(format!("{FOLDER}/{name}")).with_context(|| format!("namespace {name}"))
}

/// Opens the namespace of this thread.
pub(crate) fn current() -> anyhow::Result<File> {
    File::open("/proc/self/ns/net").context("this namespace")
}

/// Moves this thread to a namespace.
pub(crate) fn enter(namespace: &File) -> anyhow::Result<()> {
    setns(namespace, CloneFlags::CLONE_NEWNET).context("entering a namespace")
}

/// Sets a network sysctl of this thread's namespace.
pub(crate) fn set(name: &str, value: &str) -> anyhow::Result<()> {
    fs::write(format!("/proc/sys/{name}"), value).with_context(|| format!("cannot set {name} to {value}"))
}

/// Whether the kernel has a sysctl in this thread's namespace.
pub(crate) fn has(name: &str) -> bool {
    fs::exists(format!("/proc/sys/{name}")).unwrap_or_default()
}

/// Reads a network sysctl of this thread's namespace.
pub(crate) fn read(name: &str) -> anyhow::Result<String> {
    let text =
        fs::read_to_string(format!("/proc/sys/{name}")).with_context(|| format!("cannot read {name}"))?;
    Ok(text.trim().to_owned())
}
