//! Measurements that clients join: `serve` takes part in every flow and records it, `send` is a client.
//!
//! Each is a single thread that never waits for one connection, so that a slow peer cannot block it.
//! `tussle-join` has the protocol. Both read their settings as a line of JSON from the standard input, end
//! when it ends, and report their status as lines of JSON.

mod client;
mod control_connection;
mod flow;
mod flow_record;
mod joining;
mod json_writer;
mod listener;
mod own_clock;
mod probe;
mod reactor;
mod record;
mod server;
mod socket;

use std::io::BufRead;
use std::process::ExitCode;

use anyhow::Context;
use serde::de::DeserializeOwned;

/// Serves until the standard input ends, or the time is over.
pub(crate) fn serve() -> anyhow::Result<ExitCode> {
    server::Server::open(settings()?)?.run().map(|()| ExitCode::SUCCESS)
}

/// Joins a server, and sends or receives until all flows are over.
pub(crate) fn send() -> anyhow::Result<ExitCode> {
    client::run(&settings()?).map(|()| ExitCode::SUCCESS)
}

/// Reads the first line of the standard input.
fn settings<S: DeserializeOwned>() -> anyhow::Result<S> {
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line).context("reading the settings")?;
    serde_json::from_str(&line).context("the settings")
}
