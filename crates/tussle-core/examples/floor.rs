//! Lower bound of the cost of a packet simulator: moves packets along a path, and does nothing else.
//!
//! The arguments are the number of packets in flight and the number of data packets to move; the output is
//! the number of moved packets, as JSON. Each packet is written to and read from the ring buffer of a link,
//! with its departure time. Every second packet is acknowledged by a packet in the ring buffer of the reverse
//! path. The earlier of the two head packets is the next event. Only the number of a packet is read.

use std::collections::VecDeque;
use std::error::Error;

use tussle_core::Time;
use tussle_core::net::packet::{Kind, Packet};

/// Transmission time of a packet.
const TRANSMISSION: Time = Time::from_us(1);

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<u32>());
    let mut argument = |name| arguments.next().ok_or_else(|| format!("give the number of packets {name}"));
    let (in_flight, to_move) = (argument("in flight")??, argument("to move")??);
    // A quarter of the packets propagates on the forward path, a quarter is acknowledged on the reverse path,
    // and half are queued.
    let delay = Time::from_ns(TRANSMISSION.ns() * u64::from(in_flight / 4));
    let mut path = Path { delay, ..Path::default() };
    (0..in_flight).for_each(|_| path.send());
    println!("{}", serde_json::json!({ "measured_packets": measured(&mut path, to_move) }));
    Ok(())
}

#[derive(Default)]
struct Path {
    now: Time,
    delay: Time,
    /// End of the last transmission.
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

/// Departure time of the first packet.
fn first(ring: &VecDeque<(Time, Packet)>) -> Time {
    ring.front().map_or(Time::NEVER, |(at, _)| *at)
}

/// Moves `packets` data packets, and returns their number.
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
