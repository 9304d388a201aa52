//! A run on real sockets of Linux: its network, its flows, and what is seen of them.

mod classifier;
pub(crate) mod clock;
pub(crate) mod counters;
mod links;
pub(crate) mod netlink;
mod observer;
mod qdiscs;
pub(crate) mod rows;
pub(crate) mod setup;
pub(crate) mod tcp_info;
pub(crate) mod timeline;
mod trace;
pub(crate) mod traffic;
pub(crate) mod tun;
mod tunnels;

use std::fs;
use std::path::Path;

use anyhow::Context;
use tussle_core::Table;

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
