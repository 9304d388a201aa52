//! A run on real sockets of Linux: its network, its flows, and what is seen of them.

mod classifier;
pub(crate) mod clock;
pub(crate) mod counters;
mod links;
pub(crate) mod namespace;
mod observer;
mod qdiscs;
pub(crate) mod rows;
pub(crate) mod setup;
pub(crate) mod timeline;
mod trace;
pub(crate) mod traffic;
pub(crate) mod tun;
mod tunnels;

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

use anyhow::Context;
use nix::sys::prctl;
use tussle_core::{Run, Table};

use crate::network::Network;
use crate::sys;
use crate::validity::LoadMonitor;
use clock::Clock;

/// Whose kernel a run is executed on.
#[derive(Clone, Debug)]
pub(crate) enum Environment {
    /// A guest's: all of it is ours, and its time stands still while anything works.
    Guest,
    /// A host's, in real time: nothing of it is changed that others see, and how it fares is watched.
    Host(Arc<Mutex<LoadMonitor>>),
}

impl Environment {
    /// This thread wakes up when it is to; on a host, as far as that allows.
    pub(crate) fn be_punctual(&self) -> nix::Result<()> {
        if let Environment::Host(_) = self {
            sys::run_first();
        }
        // Without that, a timer may fire 50 µs late.
        prctl::set_timerslack(1)
    }

    /// Something was to be done then, in ns of the run, and is begun now.
    pub(crate) fn note_slip(&self, due_ns: u64, clock: Clock) -> nix::Result<()> {
        if let Environment::Host(watch) = self {
            let late_ns = clock.now_ns()?.saturating_sub(due_ns);
            watch.lock().expect("nobody panics with it").slip(late_ns);
        }
        Ok(())
    }
}

/// A run that is being executed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Execution<'a> {
    pub(crate) run: &'a Run,
    pub(crate) network: &'a Network,
    pub(crate) clock: Clock,
    pub(crate) environment: &'a Environment,
}

/// Writes a table into a folder, as the Arrow stream `NAME.arrow`.
pub(crate) fn write(table: Table, folder: &Path) -> anyhow::Result<()> {
    let name = table.name;
    fs::write(folder.join(format!("{name}.arrow")), stream(table)?).with_context(|| format!("writing {name}"))
}

/// A table as the bytes of an Arrow stream.
pub(crate) fn stream(table: Table) -> anyhow::Result<Vec<u8>> {
    let name = table.name;
    let batch = table.into_record_batch().with_context(|| format!("table {name}"))?;
    let mut bytes = Vec::new();
    let mut stream = arrow_ipc::writer::StreamWriter::try_new(&mut bytes, &batch.schema())?;
    stream.write(&batch)?;
    stream.finish()?;
    drop(stream);
    Ok(bytes)
}
