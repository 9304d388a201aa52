//! Lines of JSON for the process that started this program. The writer does not block if that process does
//! not read them.

use std::io::Write;
use std::os::fd::AsFd;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

use anyhow::Context;
use serde::Serialize;

/// Largest number of lines that wait for the reader.
const MAX_LINES: usize = 64;

/// Writer of lines.
#[derive(Debug)]
pub(super) struct JsonWriter {
    lines: SyncSender<String>,
    writer: JoinHandle<()>,
}

impl JsonWriter {
    /// Opens a writer to the standard output.
    pub(super) fn open() -> JsonWriter {
        let (lines, waiting) = sync_channel::<String>(MAX_LINES);
        let writer = std::thread::spawn(move || {
            let mut out = std::io::stdout();
            for line in waiting {
                if out.write_all(line.as_bytes()).and_then(|()| out.flush()).is_err() {
                    return;
                }
            }
        });
        JsonWriter { lines, writer }
    }

    /// Sends a line, unless too many wait already.
    pub(super) fn send<T: Serialize>(&self, what: &T) -> anyhow::Result<()> {
        let line = serde_json::to_string(what).context("a line")?;
        // The next line of this kind replaces it.
        _ = self.lines.try_send(line + "\n");
        Ok(())
    }

    /// Sends the last line, and waits until it is read.
    pub(super) fn close<T: Serialize>(self, what: &T) -> anyhow::Result<()> {
        let line = serde_json::to_string(what).context("a line")?;
        _ = self.lines.send(line + "\n");
        drop(self.lines);
        _ = self.writer.join();
        Ok(())
    }
}

/// Whether the standard input has ended; its contents are discarded.
pub(super) fn input_has_ended() -> bool {
    let mut buffer = [0; 256];
    matches!(nix::unistd::read(std::io::stdin().as_fd(), &mut buffer), Ok(0) | Err(_))
}
