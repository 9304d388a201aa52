//! Execution of a run on real sockets of Linux: its network, its flows, and its measurements.

mod classifier;
pub(crate) mod clock;
pub(crate) mod counters;
mod driver;
mod links;
pub(crate) mod observer;
mod offloads;
mod qdiscs;
pub(crate) mod rows;
pub(crate) mod setup;
mod simulated;
pub(crate) mod timeline;
mod trace;
pub(crate) mod traffic;
pub(crate) mod tun;
mod tunnels;

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

use anyhow::Context;
use tussle_core::{Run, Table};

use crate::network::Network;
use crate::sys;
use crate::validity::LoadMonitor;
use clock::{Clock, exact_timers};

/// The kernel that executes a run.
#[derive(Clone, Debug)]
pub(crate) enum Environment {
    /// A guest's kernel, which executes nothing but the run. Its virtual time does not advance while code
    /// runs.
    Guest,
    /// A host's kernel, in real time. Settings that affect other processes are not changed, and the load of
    /// the host is monitored.
    Host(Arc<Mutex<LoadMonitor>>),
}

impl Environment {
    /// Creates a clock that starts with a run of hosts with `hz` ticks per second. In a guest, waiting for it takes no time.
    pub(crate) fn clock(&self, hz: u32) -> anyhow::Result<Clock> {
        match self {
            Environment::Guest => Clock::from_coarse_tick(hz),
            Environment::Host(_) => Ok(Clock::from_next_second()?),
        }
    }

    /// Makes this thread's timers as exact as the kernel allows.
    pub(crate) fn be_punctual(&self) -> nix::Result<()> {
        if let Environment::Host(_) = self {
            // Without the permission the thread may be late at times; its delays are measured.
            let _ = sys::run_first(sys::LEAST_PRIORITY);
        }
        exact_timers()
    }

    /// Real-time priority of the sending thread of a flow. Threads that wake at one instant of virtual time would otherwise
    /// continue in an unspecified order; with priorities the first flow comes first, as in the simulator. The last priority
    /// is that of all other flows, whose threads continue in the order in which they fell asleep.
    fn priority_of_sender(&self, index: usize) -> Option<i32> {
        let steps = i32::try_from(index).unwrap_or(i32::MAX);
        match self {
            Environment::Guest => Some((sys::HIGHEST_PRIORITY - steps).max(sys::LEAST_PRIORITY)),
            Environment::Host(_) => None,
        }
    }

    /// Records the delay of an action that was due at `due_ns` of the run and starts now.
    pub(crate) fn note_slip(&self, due_ns: u64, clock: Clock) -> nix::Result<()> {
        if let Environment::Host(watch) = self {
            let late_ns = clock.now_ns()?.saturating_sub(due_ns);
            watch.lock().expect("no thread panics while it holds the lock").slip(late_ns);
        }
        Ok(())
    }
}

/// Context of a run that is being executed.
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

/// Encodes a table as an Arrow stream.
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
