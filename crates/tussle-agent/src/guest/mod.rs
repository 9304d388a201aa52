//! The first process of a guest.

mod arrivals;
mod machine;
mod replay;

use std::fs;
use std::path::Path;

use anyhow::Context;
use nix::mount::{MsFlags, mount};
use nix::sys::reboot::{RebootMode, reboot};
use tussle_core::Run;

use crate::execute::{Environment, setup, timeline, write};
use crate::namespace;
use crate::network::{Datapath, Network};
use crate::sys;

/// Mount point of the host's folder for this run.
const SHARE: &str = "/share";

/// Mounts file systems, executes the run in the shared folder, and powers the guest off.
///
/// The kernel's command line has `share=FOLDER`, a folder of the host. Otherwise the folder is part of the
/// guest, and `results=DEVICE` names the terminal that receives it at the end.
pub(crate) fn init() -> ! {
    if let Err(problem) = mount_all().and_then(|()| execute()) {
        // If even writing fails, the host finds no tables and shows the console.
        if fs::write(Path::new(SHARE).join("error"), format!("{problem:#}\n")).is_err() {
            eprintln!("{problem:#}");
        }
    }
    if let Ok(device) = std::env::var("results")
        && let Err(problem) = machine::send(Path::new(SHARE), &device)
    {
        eprintln!("{problem:#}");
    }
    nix::unistd::sync();
    match reboot(RebootMode::RB_POWER_OFF) {
        Ok(never) => match never {},
        Err(problem) => panic!("cannot power off: {problem}"),
    }
}

fn mount_all() -> anyhow::Result<()> {
    // The shared folder comes first, so that later errors can be written.
    if let Ok(host_folder) = std::env::var("share") {
        mount_one("hostfs", SHARE, &host_folder)?;
    }
    for (kind, place) in [("tmpfs", "/run"), ("devtmpfs", "/dev"), ("sysfs", "/sys"), ("proc", "/proc")] {
        mount_one(kind, place, "")?;
    }
    mount_one("tracefs", "/sys/kernel/tracing", "")?;
    machine::load_modules()
}

fn mount_one(kind: &str, place: &str, data: &str) -> anyhow::Result<()> {
    mount(Some(kind), place, Some(kind), MsFlags::empty(), Some(data))
        .with_context(|| format!("cannot mount {kind} on {place}: the kernel may lack it"))
}

fn execute() -> anyhow::Result<()> {
    write_kernel_facts()?;
    if Path::new(SHARE).join("scripts.json").exists() {
        sys::seed_kernel(0).context("seeding the kernel's rng")?;
        replay::execute(Path::new(SHARE))?;
        return finish();
    }
    if Path::new(SHARE).join("arrivals.json").exists() {
        sys::seed_kernel(0).context("seeding the kernel's rng")?;
        arrivals::execute(Path::new(SHARE))?;
        return finish();
    }
    let run = fs::read(Path::new(SHARE).join("run.json")).context("the shared folder has no run.json")?;
    let run: Run = serde_json::from_slice(&run).context("run.json")?;
    sys::seed_kernel(run.seed).context("seeding the kernel's rng")?;
    // The kernel passes unknown parameters on as environment variables.
    let datapath = std::env::var("network").context("the kernel has no parameter network")?;
    let network = Network::plan(&run, Datapath::named(&datapath).map_err(anyhow::Error::msg)?)?;
    let hosts = setup::build(&run, &network, &Environment::Guest)?;
    write_host_settings(&hosts)?;
    for table in timeline::run(&run, &network, hosts, &Environment::Guest)? {
        write(table, Path::new(SHARE))?;
    }
    finish()
}

fn finish() -> anyhow::Result<()> {
    // The last file shows the host that the others are complete.
    fs::write(Path::new(SHARE).join("done"), "").context("writing the results")
}

/// Writes the timestamp setting of each end of the first flow, as read back.
fn write_host_settings(hosts: &setup::Hosts) -> anyhow::Result<()> {
    let settings = std::thread::scope(|scope| {
        let ends = hosts.senders.iter().take(1).chain(hosts.receivers.iter().take(1));
        let read = ends.map(|end| {
            // Another thread enters the namespace, so that this one stays in its own.
            scope
                .spawn(|| namespace::enter(end).and_then(|()| namespace::read("net/ipv4/tcp_timestamps")))
                .join()
                .expect("the thread does not panic")
        });
        read.collect::<anyhow::Result<Vec<_>>>()
    })?;
    fs::write(Path::new(SHARE).join("tcp_timestamps"), settings.join(" "))
        .context("writing the settings of the hosts")
}

/// Writes the kernel's release and its algorithms.
fn write_kernel_facts() -> anyhow::Result<()> {
    for (name, place) in [
        ("release", "/proc/sys/kernel/osrelease"),
        ("algorithms", "/proc/sys/net/ipv4/tcp_available_congestion_control"),
    ] {
        let text = fs::read_to_string(place).with_context(|| format!("reading {place}"))?;
        fs::write(Path::new(SHARE).join(name), text).context("writing the facts of the kernel")?;
    }
    Ok(())
}
