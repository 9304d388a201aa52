//! The probe: small requests in parallel to the flows, answered at once, whose RTTs show the queueing delay.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context, bail, ensure};

use super::control_connection::is_for_later;
use super::joining::Deadline;
use super::reactor::{now_ns, wall_ns};

/// Size of a request: its time, in ns on the client's clock.
const REQUEST_BYTES: usize = 8;
/// Size of an answer: the request, the time since the server began, and its time of day, in ns.
const ANSWER_BYTES: usize = 24;
/// Number of requests before the flows begin, 0.1 s apart.
const IDLE_REQUESTS: u32 = 10;
const IDLE_PAUSE: Duration = Duration::from_millis(100);
/// Longest time since a server began, in ns: ten years.
const LONGEST_NS: u64 = 10 * 365 * 24 * 3600 * 1_000_000_000;
/// Largest number of requests without an answer.
const MAX_OPEN: usize = 600;

/// The server's end of a probe.
#[derive(Debug)]
pub(super) struct Echo {
    socket: TcpStream,
    requests: Vec<u8>,
}

impl Echo {
    /// Creates the server's end over a non-blocking socket.
    pub(super) fn over(socket: TcpStream) -> Echo {
        Echo { socket, requests: Vec::new() }
    }

    /// Answers the requests.
    ///
    /// # Errors
    /// The connection is closed, or the client does not read the answers.
    pub(super) fn answer(&mut self, since_ns: u64, wall_ns: u64) -> anyhow::Result<()> {
        let mut buffer = [0; 64 * REQUEST_BYTES];
        match self.socket.read(&mut buffer) {
            Ok(0) => bail!("the probe has ended"),
            Ok(count) => self.requests.extend(&buffer[..count]),
            Err(problem) if is_for_later(&problem) => return Ok(()),
            Err(problem) => return Err(problem).context("the probe"),
        }
        let whole = self.requests.len() / REQUEST_BYTES * REQUEST_BYTES;
        for request in self.requests.drain(..whole).collect::<Vec<_>>().chunks(REQUEST_BYTES) {
            let answer = [request, &since_ns.to_be_bytes(), &wall_ns.to_be_bytes()].concat();
            self.socket.write_all(&answer).context("the probe")?;
        }
        Ok(())
    }
}

/// The client's end of a probe.
#[derive(Debug)]
pub(super) struct Probe {
    pub(super) socket: TcpStream,
    answered: Vec<u8>,
    /// Times of the requests without an answer, in order; `None` after the probe has ended.
    open: Option<VecDeque<u64>>,
    /// Latest RTT in µs, until it is taken.
    latest_us: Option<u32>,
}

/// Measurements before the flows begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_field_names, reason = "the unit is in the name")]
pub(super) struct IdlePath {
    /// Offset of this monotonic clock to the time since the server began, in ns, if both directions have
    /// equal delays.
    pub(super) ahead_ns: i64,
    /// Offset of this time of day to the server's, in ns, likewise.
    pub(super) wall_ahead_ns: i64,
    /// Shortest RTT, in ns.
    pub(super) rtt_ns: u64,
}

impl Probe {
    /// Sends some requests one by one over a blocking socket, and makes the socket non-blocking.
    pub(super) fn begin(mut socket: TcpStream) -> anyhow::Result<(Probe, IdlePath)> {
        let deadline = Deadline::of_joining();
        let mut best: Option<IdlePath> = None;
        for _ in 0..IDLE_REQUESTS {
            let asked_ns = now_ns();
            socket.write_all(&asked_ns.to_be_bytes()).context("the probe")?;
            let answer = answer_by(&mut socket, deadline)?;
            let (now_ns, own_wall_ns) = (now_ns(), wall_ns());
            let rtt_ns = now_ns.saturating_sub(asked_ns);
            let [echoed_ns, since_ns, wall_ns] = read(&answer);
            ensure!(echoed_ns == asked_ns && since_ns <= LONGEST_NS, "the server answers the probe wrongly");
            // The server answered half an RTT ago.
            let ahead = |own_ns: u64, its_ns: u64| {
                own_ns.saturating_sub(rtt_ns / 2).cast_signed().wrapping_sub(its_ns.cast_signed())
            };
            if best.is_none_or(|best| rtt_ns < best.rtt_ns) {
                let (ahead_ns, wall_ahead_ns) = (ahead(now_ns, since_ns), ahead(own_wall_ns, wall_ns));
                best = Some(IdlePath { ahead_ns, wall_ahead_ns, rtt_ns });
            }
            std::thread::sleep(IDLE_PAUSE);
        }
        socket.set_nonblocking(true).context("the probe")?;
        let probe = Probe { socket, answered: Vec::new(), open: Some(VecDeque::new()), latest_us: None };
        Ok((probe, best.expect("some requests were answered")))
    }

    /// Sends a request, unless too many are unanswered, because the answers would be outdated.
    pub(super) fn ask(&mut self) {
        let Some(open) = self.open.as_mut().filter(|open| open.len() < MAX_OPEN) else { return };
        let asked_ns = now_ns();
        match self.socket.write(&asked_ns.to_be_bytes()) {
            Ok(REQUEST_BYTES) => open.push_back(asked_ns),
            Err(problem) if is_for_later(&problem) => {}
            // A partial request would invalidate all later ones. The flows continue without the probe.
            Ok(_) | Err(_) => self.open = None,
        }
    }

    /// Receives answers. Returns whether more may come.
    pub(super) fn receive(&mut self) -> bool {
        let mut buffer = [0; 64 * ANSWER_BYTES];
        match self.socket.read(&mut buffer) {
            Ok(0) => return false,
            Ok(count) => self.answered.extend(&buffer[..count]),
            Err(problem) => return is_for_later(&problem),
        }
        let now_ns = now_ns();
        let whole = self.answered.len() / ANSWER_BYTES * ANSWER_BYTES;
        for answer in self.answered.drain(..whole).collect::<Vec<_>>().chunks(ANSWER_BYTES) {
            let [asked_ns, ..] = read(answer.try_into().expect("a whole one"));
            if self.open.as_mut().and_then(VecDeque::pop_front) != Some(asked_ns) {
                // An answer to another request is invalid, and so are all later ones.
                self.open = None;
                return false;
            }
            self.latest_us = u32::try_from(now_ns.saturating_sub(asked_ns) / 1000).ok();
        }
        true
    }

    /// Takes the latest RTT since the last call.
    pub(super) fn take_latest_us(&mut self) -> Option<u32> {
        self.latest_us.take()
    }
}

/// Reads the next complete answer.
fn answer_by(socket: &mut TcpStream, deadline: Deadline) -> anyhow::Result<[u8; ANSWER_BYTES]> {
    let mut answer = [0; ANSWER_BYTES];
    let mut count = 0;
    while count < ANSWER_BYTES {
        deadline.bound(socket)?;
        match socket.read(&mut answer[count..]).context("the server does not answer the probe")? {
            0 => bail!("the server does not answer the probe"),
            some => count += some,
        }
    }
    Ok(answer)
}

/// Time of the request, and the server's two times.
fn read(answer: &[u8; ANSWER_BYTES]) -> [u64; 3] {
    let part = |at: usize| u64::from_be_bytes(answer[at..at + 8].try_into().expect("eight bytes"));
    [part(0), part(8), part(16)]
}
