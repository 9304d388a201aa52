//! A measurement that clients join: `serve` takes part in every flow and writes everything down, `send` is a client.
//!
//! Each is one thread that never waits for anyone in particular, so that nobody can stop it by being slow. What goes
//! over connections is decided in `tussle-join`. Both are told their settings as a line of JSON on the standard input,
//! end when it ends, and say what goes on as lines of JSON.

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

/// Serves until it is told to end, or its time is over.
pub(crate) fn serve() -> anyhow::Result<ExitCode> {
    server::Server::open(settings()?)?.run().map(|()| ExitCode::SUCCESS)
}

/// Joins a server, and sends or receives until everything is done.
pub(crate) fn send() -> anyhow::Result<ExitCode> {
    client::run(&settings()?).map(|()| ExitCode::SUCCESS)
}

/// The first line of the standard input.
fn settings<S: DeserializeOwned>() -> anyhow::Result<S> {
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line).context("reading the settings")?;
    serde_json::from_str(&line).context("the settings")
}
