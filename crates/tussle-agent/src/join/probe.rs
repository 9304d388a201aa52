//! The probe: small questions beside the flows, answered at once, whose round trips say how long the queue is.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context, bail, ensure};

use super::control_connection::is_for_later;
use super::joining::Deadline;
use super::reactor::{now_ns, wall_ns};

/// A question: when it was asked, in ns on the client's clock.
const ASK_BYTES: usize = 8;
/// An answer: the question, the time since the server began, and its time of day, all in ns.
const ANSWER_BYTES: usize = 24;
/// Before the flows begin: so many questions, a tenth of a second apart.
const IDLE_QUESTIONS: u32 = 10;
const IDLE_PAUSE: Duration = Duration::from_millis(100);
/// The longest that a server has been there, in ns: ten years.
const LONGEST_NS: u64 = 10 * 365 * 24 * 3600 * 1_000_000_000;
/// Questions that wait for their answers.
const MAX_OPEN: usize = 600;

/// The server's end.
#[derive(Debug)]
pub(super) struct Echo {
    socket: TcpStream,
    asked: Vec<u8>,
}

impl Echo {
    /// Over a connection that does not block.
    pub(super) fn over(socket: TcpStream) -> Echo {
        Echo { socket, asked: Vec::new() }
    }

    /// Answers what was asked.
    ///
    /// # Errors
    /// The connection is gone, or the answers are not read.
    pub(super) fn answer(&mut self, since_ns: u64, wall_ns: u64) -> anyhow::Result<()> {
        let mut room = [0; 64 * ASK_BYTES];
        match self.socket.read(&mut room) {
            Ok(0) => bail!("it has ended"),
            Ok(count) => self.asked.extend(&room[..count]),
            Err(problem) if is_for_later(&problem) => return Ok(()),
            Err(problem) => return Err(problem).context("the probe"),
        }
        let whole = self.asked.len() / ASK_BYTES * ASK_BYTES;
        for question in self.asked.drain(..whole).collect::<Vec<_>>().chunks(ASK_BYTES) {
            let answer = [question, &since_ns.to_be_bytes(), &wall_ns.to_be_bytes()].concat();
            self.socket.write_all(&answer).context("the probe")?;
        }
        Ok(())
    }
}

/// The client's end.
#[derive(Debug)]
pub(super) struct Probe {
    pub(super) socket: TcpStream,
    answered: Vec<u8>,
    /// When the open questions were asked, the oldest first; nothing, once no more are.
    open: Option<VecDeque<u64>>,
    /// The latest round trip, in µs, unless it was told already.
    latest_us: Option<u32>,
}

/// What is known before the flows begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_field_names, reason = "the unit stands in the name")]
pub(super) struct IdlePath {
    /// What our steady clock is ahead of the time since the server began, in ns, if both ways take as long.
    pub(super) ahead_ns: i64,
    /// What our time of day is ahead of the server's, in ns, likewise.
    pub(super) wall_ahead_ns: i64,
    /// The shortest round trip, in ns.
    pub(super) rtt_ns: u64,
}

impl Probe {
    /// Asks a few questions one by one over a connection that blocks, and makes it one that does not.
    pub(super) fn begin(mut socket: TcpStream) -> anyhow::Result<(Probe, IdlePath)> {
        let deadline = Deadline::of_joining();
        let mut best: Option<IdlePath> = None;
        for _ in 0..IDLE_QUESTIONS {
            let asked_ns = now_ns();
            socket.write_all(&asked_ns.to_be_bytes()).context("the probe")?;
            let answer = answer_by(&mut socket, deadline)?;
            let (now_ns, own_wall_ns) = (now_ns(), wall_ns());
            let rtt_ns = now_ns.saturating_sub(asked_ns);
            let [echoed_ns, since_ns, wall_ns] = read(&answer);
            ensure!(
                echoed_ns == asked_ns && since_ns <= LONGEST_NS,
                "the server answers the probe as Tussle does not"
            );
            // The server answered half a round trip ago.
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
        Ok((probe, best.expect("some were asked")))
    }

    /// Asks, unless too many questions are open: then the answers will not be late, but old.
    pub(super) fn ask(&mut self) {
        let Some(open) = self.open.as_mut().filter(|open| open.len() < MAX_OPEN) else { return };
        let asked_ns = now_ns();
        match self.socket.write(&asked_ns.to_be_bytes()) {
            Ok(ASK_BYTES) => open.push_back(asked_ns),
            Err(problem) if is_for_later(&problem) => {}
            // Half a question would make nonsense of all that follow; without the probe the flows go on.
            Ok(_) | Err(_) => self.open = None,
        }
    }

    /// Takes in answers; whether more may come.
    pub(super) fn receive(&mut self) -> bool {
        let mut room = [0; 64 * ANSWER_BYTES];
        match self.socket.read(&mut room) {
            Ok(0) => return false,
            Ok(count) => self.answered.extend(&room[..count]),
            Err(problem) => return is_for_later(&problem),
        }
        let now_ns = now_ns();
        let whole = self.answered.len() / ANSWER_BYTES * ANSWER_BYTES;
        for answer in self.answered.drain(..whole).collect::<Vec<_>>().chunks(ANSWER_BYTES) {
            let [asked_ns, ..] = read(answer.try_into().expect("a whole one"));
            if self.open.as_mut().and_then(VecDeque::pop_front) != Some(asked_ns) {
                // An answer to another question says nothing, nor do those that follow.
                self.open = None;
                return false;
            }
            self.latest_us = u32::try_from(now_ns.saturating_sub(asked_ns) / 1000).ok();
        }
        true
    }

    /// The latest round trip since this was last asked.
    pub(super) fn take_latest_us(&mut self) -> Option<u32> {
        self.latest_us.take()
    }
}

/// The whole next answer, however slowly its bytes come.
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

/// When a question was asked, and the server's two times.
fn read(answer: &[u8; ANSWER_BYTES]) -> [u64; 3] {
    let part = |at: usize| u64::from_be_bytes(answer[at..at + 8].try_into().expect("eight bytes"));
    [part(0), part(8), part(16)]
}
