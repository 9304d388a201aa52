//! What moving packets costs, and nothing else: the least that a simulator of packets can do for the same path.
//!
//! Reads the number of packets under way and of data packets to move, as arguments, and prints as JSON how many it moved.
//! Each packet is written to and read from the ring of a link, with the time at which it leaves; each second one is
//! answered by a packet in the ring of a link on the reverse path; the earlier of both heads is the next event. Only the number of a
//! packet is read.

use std::collections::VecDeque;
use std::error::Error;

use tussle_core::Time;
use tussle_core::net::packet::{Kind, Packet};

/// The link carries a packet a microsecond.
const TRANSMISSION: Time = Time::from_us(1);

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<u32>());
    let mut argument = |name| arguments.next().ok_or_else(|| format!("give the number of packets {name}"));
    let (under_way, to_move) = (argument("under way")??, argument("to move")??);
    // A quarter is on the forward path, a quarter is being acknowledged on the reverse path, and half of them wait.
    let delay = Time::from_ns(TRANSMISSION.ns() * u64::from(under_way / 4));
    let mut path = Path { delay, ..Path::default() };
    (0..under_way).for_each(|_| path.send());
    println!("{}", serde_json::json!({ "measured_packets": measured(&mut path, to_move) }));
    Ok(())
}

#[derive(Default)]
struct Path {
    now: Time,
    delay: Time,
    /// When the last transmission ends.
    idle_at: Time,
    forward: VecDeque<(Time, Packet)>,
    reverse: VecDeque<(Time, Packet)>,
    next: u32,
}

impl Path {
    fn send(&mut self) {
        self.idle_at = self.idle_at.max(self.now) + TRANSMISSION;
        let packet = Packet { number: self.next, ..Packet::new(Kind::Data, 0) };
        self.forward.push_back((self.idle_at + self.delay, packet));
        self.next += 1;
    }
}

/// When the first packet leaves.
fn first(ring: &VecDeque<(Time, Packet)>) -> Time {
    ring.front().map_or(Time::NEVER, |(at, _)| *at)
}

/// Moves so many data packets; gives how many.
#[inline(never)]
fn measured(path: &mut Path, packets: u32) -> u32 {
    let mut moved = 0;
    while moved < packets {
        let (forward, reverse) = (first(&path.forward), first(&path.reverse));
        path.now = forward.min(reverse);
        if reverse < forward {
            path.reverse.pop_front();
            (0..2).for_each(|_| path.send());
        } else if let Some((at, data)) = path.forward.pop_front() {
            moved += 1;
            if data.number % 2 == 1 {
                let ack = Packet { number: data.number, ..Packet::new(Kind::Ack, 0) };
                path.reverse.push_back((at + path.delay, ack));
            }
        }
    }
    moved
}
