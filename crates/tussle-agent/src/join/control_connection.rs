//! A connection with an encrypted channel over it.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;

use anyhow::{Context, bail, ensure};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tussle_join::{Broken, Channel};

use super::reactor::{Reactor, Wish};

/// Read at once; what is whole is taken out before more is read.
const READ_BYTES: usize = 16 * 1024;
/// What may wait to be written: an end that does not read is given up.
const MOST_WAITING_BYTES: usize = 1 << 20;

/// A client and the server, as one of them has it.
#[derive(Debug)]
pub(super) struct ControlConnection {
    pub(super) socket: TcpStream,
    pub(super) channel: Channel,
    number: u64,
    wish: Wish,
    /// Bytes that have arrived so far.
    pub(super) arrived_bytes: u64,
}

/// Whether the other end can still say something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrived {
    Some,
    /// Not now; on a connection that blocks, not in time.
    Nothing,
    Ended,
}

impl ControlConnection {
    /// A channel over a connection that does not block, waited for by that number.
    pub(super) fn over(socket: TcpStream, channel: Channel, number: u64) -> ControlConnection {
        ControlConnection { socket, channel, number, wish: Wish::Read, arrived_bytes: 0 }
    }

    /// Reads once; what arrived is taken out by `hear`.
    pub(super) fn read(&mut self) -> anyhow::Result<Arrived> {
        let mut room = [0; READ_BYTES];
        match self.socket.read(&mut room) {
            Ok(0) => Ok(Arrived::Ended),
            Ok(count) => {
                self.arrived_bytes += count as u64;
                self.channel.arrive(&room[..count]);
                Ok(Arrived::Some)
            }
            Err(problem) if is_for_later(&problem) => Ok(Arrived::Nothing),
            Err(problem) => Err(problem).context("the connection broke"),
        }
    }

    pub(super) fn hear<M: DeserializeOwned>(&mut self) -> Result<Option<M>, Broken> {
        self.channel.hear()
    }

    /// Says something, now or as soon as there is room.
    pub(super) fn say<M: Serialize>(&mut self, message: &M, reactor: &Reactor) -> anyhow::Result<()> {
        self.channel.say(message);
        self.flush(reactor)
    }

    /// Writes what there is room for.
    pub(super) fn flush(&mut self, reactor: &Reactor) -> anyhow::Result<()> {
        let leaving = self.channel.leaving();
        while !leaving.is_empty() {
            match self.socket.write(leaving) {
                Ok(0) => bail!("the connection broke"),
                Ok(count) => drop(leaving.drain(..count)),
                Err(problem) if is_for_later(&problem) => break,
                Err(problem) => return Err(problem).context("the connection broke"),
            }
        }
        ensure!(leaving.len() <= MOST_WAITING_BYTES, "the other end does not read");
        let wish = if leaving.is_empty() { Wish::Read } else { Wish::Both };
        if wish != self.wish {
            reactor.change(&self.socket, self.number, wish)?;
            self.wish = wish;
        }
        Ok(())
    }
}

pub(super) fn is_for_later(problem: &std::io::Error) -> bool {
    matches!(problem.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
