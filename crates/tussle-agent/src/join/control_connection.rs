//! A connection with an encrypted channel over it.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;

use anyhow::{Context, bail, ensure};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tussle_join::{Channel, ChannelError};

use super::reactor::{Interest, Reactor};

/// Size of one read; complete messages are processed before the next read.
const READ_BYTES: usize = 16 * 1024;
/// Largest number of bytes that wait to be written. An end that does not read them is given up.
const MAX_WAITING_BYTES: usize = 1 << 20;

/// One end of the connection between a client and the server.
#[derive(Debug)]
pub(super) struct ControlConnection {
    pub(super) socket: TcpStream,
    pub(super) channel: Channel,
    number: u64,
    interest: Interest,
    /// Bytes received so far.
    pub(super) arrived_bytes: u64,
}

/// Outcome of reading from a connection once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReadOutcome {
    Data,
    /// No data have arrived; on a blocking connection, none before the deadline.
    WouldBlock,
    Closed,
}

impl ControlConnection {
    /// Creates an encrypted connection over a non-blocking socket, with its number in the reactor.
    pub(super) fn over(socket: TcpStream, channel: Channel, number: u64) -> ControlConnection {
        ControlConnection { socket, channel, number, interest: Interest::Read, arrived_bytes: 0 }
    }

    /// Reads once; `receive` returns the messages.
    pub(super) fn read(&mut self) -> anyhow::Result<ReadOutcome> {
        let mut buffer = [0; READ_BYTES];
        match self.socket.read(&mut buffer) {
            Ok(0) => Ok(ReadOutcome::Closed),
            Ok(count) => {
                self.arrived_bytes += count as u64;
                self.channel.receive_bytes(&buffer[..count]);
                Ok(ReadOutcome::Data)
            }
            Err(problem) if is_for_later(&problem) => Ok(ReadOutcome::WouldBlock),
            Err(problem) => Err(problem).context("the connection broke"),
        }
    }

    pub(super) fn receive<M: DeserializeOwned>(&mut self) -> Result<Option<M>, ChannelError> {
        self.channel.receive()
    }

    /// Sends a message, now or as soon as the socket takes it.
    pub(super) fn send<M: Serialize>(&mut self, message: &M, reactor: &Reactor) -> anyhow::Result<()> {
        self.channel.send(message);
        self.flush(reactor)
    }

    /// Writes as much as the socket takes.
    pub(super) fn flush(&mut self, reactor: &Reactor) -> anyhow::Result<()> {
        let outgoing = self.channel.outgoing();
        while !outgoing.is_empty() {
            match self.socket.write(outgoing) {
                Ok(0) => bail!("the connection broke"),
                Ok(count) => drop(outgoing.drain(..count)),
                Err(problem) if is_for_later(&problem) => break,
                Err(problem) => return Err(problem).context("the connection broke"),
            }
        }
        ensure!(outgoing.len() <= MAX_WAITING_BYTES, "the other end does not read");
        let interest = if outgoing.is_empty() { Interest::Read } else { Interest::ReadWrite };
        if interest != self.interest {
            reactor.change(&self.socket, self.number, interest)?;
            self.interest = interest;
        }
        Ok(())
    }
}

pub(super) fn is_for_later(problem: &std::io::Error) -> bool {
    matches!(problem.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
