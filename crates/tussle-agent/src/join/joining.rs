//! Joining a server. Each step has a deadline.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use tussle_join::{Channel, ClientMessage, Code, Grant, Hello, Preamble, ServerMessage};

use super::control_connection::{ControlConnection, ReadOutcome};
use super::reactor::{Interest, Reactor, now_ns};
use super::socket::connect;

/// Deadline for handshake and grant together, and for the probe before the flows.
const JOINING: Duration = Duration::from_secs(60);
/// Largest number of characters shown of a server's message.
const MAX_WORDS: usize = 300;
/// Advice to a client that was disconnected.
pub(super) const REPEAT: &str = "the same command joins again";

/// A deadline.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deadline(u64);

impl Deadline {
    /// Deadline of one step of joining.
    pub(super) fn of_joining() -> Deadline {
        Deadline(now_ns() + u64::try_from(JOINING.as_nanos()).expect("a minute"))
    }

    /// Limits the next read of a connection to the deadline.
    ///
    /// # Errors
    /// The deadline has passed.
    pub(super) fn bound(self, socket: &TcpStream) -> anyhow::Result<()> {
        let left_ns = self.0.saturating_sub(now_ns());
        ensure!(left_ns > 0, "joining took longer than a minute; {REPEAT}");
        socket.set_read_timeout(Some(Duration::from_nanos(left_ns))).context("a deadline")
    }
}

/// A client's membership in a measurement.
#[derive(Debug)]
pub(super) struct Joined {
    pub(super) connection: ControlConnection,
    pub(super) server: SocketAddr,
    pub(super) grant: Grant,
}

/// Joins at the first address that answers.
pub(super) fn join(
    to: &[SocketAddr],
    code: &Code,
    hello: Hello,
    number: u64,
    reactor: &Reactor,
) -> anyhow::Result<Joined> {
    let (mut socket, at) = reach(to)?;
    let deadline = Deadline::of_joining();
    socket.set_nodelay(true)?;
    socket.write_all(&Preamble::Join.bytes()).context("the connection broke")?;
    reactor.add(&socket, number, Interest::Read)?;
    let mut connection = ControlConnection::over(socket, Channel::initiate(code), number);
    connection.flush(reactor)?;
    while !connection.channel.is_open() {
        deadline.bound(&connection.socket)?;
        let outcome = connection.read();
        let early = connection.receive::<ServerMessage>();
        if !matches!((&outcome, &early), (Ok(ReadOutcome::Data), Ok(None))) {
            bail!(
                "{at} refuses the code: compare it with the one that the server prints, and try again in a few \
                 seconds"
            );
        }
    }
    let flows = usize::from(hello.flows);
    connection.send(&ClientMessage::Hello(hello), reactor)?;
    loop {
        match connection.receive::<ServerMessage>() {
            Ok(Some(ServerMessage::Granted(grant))) => {
                ensure!(grant.flows.len() == flows, "{at} does not follow the protocol of Tussle");
                return Ok(Joined { connection, server: at, grant });
            }
            Ok(Some(ServerMessage::Refused(reason))) => bail!("{at} refuses: {}", printable(&reason)),
            Ok(Some(_)) => bail!("{at} does not follow the protocol of Tussle"),
            Ok(None) => {
                deadline.bound(&connection.socket)?;
                ensure!(
                    matches!(connection.read(), Ok(ReadOutcome::Data)),
                    "{at} closed the connection; {REPEAT}"
                );
            }
            Err(problem) => bail!("{at}: {problem}; is the code the one that the server prints?"),
        }
    }
}

fn reach(addresses: &[SocketAddr]) -> anyhow::Result<(TcpStream, SocketAddr)> {
    let mut problem = None;
    for at in addresses {
        match connect(*at, None) {
            Ok(socket) => return Ok((socket, *at)),
            Err(one) => problem = problem.or(Some(one)),
        }
    }
    Err(problem.context("there is no address to join")?)
}

/// A server's message for a terminal: on one line, and truncated.
fn printable(words: &str) -> String {
    let shown = |letter: char| match letter {
        // Characters that change the direction of text.
        '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' => None,
        letter => (!letter.is_control()).then_some(letter),
    };
    words.chars().take(MAX_WORDS).map(|letter| shown(letter).unwrap_or('\u{fffd}')).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_servers_message_cannot_control_a_terminal() {
        assert_eq!(printable("full; try later"), "full; try later");
        assert_eq!(
            printable("\u{1b}[2J\u{7}a\nb\u{9b}c\u{202e}d"),
            "\u{fffd}[2J\u{fffd}a\u{fffd}b\u{fffd}c\u{fffd}d"
        );
        assert_eq!(printable(&"x".repeat(10_000)).len(), MAX_WORDS);
    }
}
