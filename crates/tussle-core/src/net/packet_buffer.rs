//! Packets that an element holds, in the order in which they came.

use crate::net::packet::{Ecn, Flags, Kind, Packet, Sacks};
use crate::util::ring_buffer::RingBuffer;

/// Packets, first in, first out, each with a note. SACK options, which few packets have, lie in a line of their own, so
/// that a packet takes half of the room.
#[derive(Debug)]
pub(crate) struct PacketBuffer<T> {
    line: RingBuffer<Held<T>>,
    sacks: RingBuffer<Sacks>,
}

/// A note, and all of a packet but its SACK option.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held<T> {
    pub(crate) note: T,
    hop: u32,
    flow: u32,
    number: u32,
    pub(crate) size_bytes: u32,
    ts_val_ms: u32,
    ts_echo_ms: u32,
    window_packets: u32,
    kind: Kind,
    ecn: Ecn,
    flags: Flags,
    option: SackOption,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SackOption {
    None,
    Apart,
}

impl<T: Copy> PacketBuffer<T> {
    /// Without any; `note` is anything.
    pub(crate) fn new(note: T) -> PacketBuffer<T> {
        let filling = Held::new(&Packet::new(Kind::Data, 0), note);
        PacketBuffer { line: RingBuffer::new(filling), sacks: RingBuffer::new(Sacks::default()) }
    }

    /// How many have come so far.
    #[inline]
    pub(crate) fn came(&self) -> usize {
        self.line.came()
    }

    /// How many have left so far.
    #[inline]
    pub(crate) fn left(&self) -> usize {
        self.line.left()
    }

    /// The one of that number, counted from zero over all that ever came, which is held.
    #[inline]
    pub(crate) fn get(&self, number: usize) -> &Held<T> {
        self.line.get(number)
    }

    /// The first one.
    #[inline]
    pub(crate) fn first(&self) -> Option<&Held<T>> {
        self.line.first()
    }

    /// Adds one behind the others.
    #[inline]
    pub(crate) fn push(&mut self, packet: &Packet, note: T) {
        self.line.push(Held::new(packet, note));
        if !packet.sacks.as_slice().is_empty() {
            self.sacks.push(packet.sacks);
        }
    }

    /// Removes the first one.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Packet> {
        let held = self.line.pop()?;
        let sacks = match held.option {
            SackOption::None => Sacks::default(),
            SackOption::Apart => self.sacks.pop().expect("each option has its place"),
        };
        Some(held.with(sacks))
    }

    /// Shows `visit` every packet.
    pub(crate) fn for_each(&self, visit: &mut dyn FnMut(&Packet)) {
        let mut sacks = self.sacks.iter();
        for held in self.line.iter() {
            let sacks = match held.option {
                SackOption::None => Sacks::default(),
                SackOption::Apart => *sacks.next().expect("each option has its place"),
            };
            visit(&held.with(sacks));
        }
    }
}

impl<T> Held<T> {
    #[inline]
    fn new(packet: &Packet, note: T) -> Held<T> {
        let option = if packet.sacks.as_slice().is_empty() { SackOption::None } else { SackOption::Apart };
        Held {
            note,
            hop: packet.hop,
            flow: packet.flow,
            number: packet.number,
            size_bytes: packet.size_bytes,
            ts_val_ms: packet.ts_val_ms,
            ts_echo_ms: packet.ts_echo_ms,
            window_packets: packet.window_packets,
            kind: packet.kind,
            ecn: packet.ecn,
            flags: packet.flags,
            option,
        }
    }

    #[inline]
    fn with(&self, sacks: Sacks) -> Packet {
        Packet {
            hop: self.hop,
            flow: self.flow,
            number: self.number,
            size_bytes: self.size_bytes,
            ts_val_ms: self.ts_val_ms,
            ts_echo_ms: self.ts_echo_ms,
            window_packets: self.window_packets,
            kind: self.kind,
            ecn: self.ecn,
            flags: self.flags,
            sacks,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::packet::Block;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    fn packet(number: u32, blocks: u32) -> Packet {
        let mut packet = Packet { number, hop: 3, ts_val_ms: 9, ..Packet::new(Kind::Ack, 7) };
        let mut sacks = Sacks::default();
        (0..blocks).for_each(|block| {
            sacks.push(Block { start: number + 2 * block, end: number + 2 * block + 1 });
        });
        packet.set_sacks(sacks);
        packet
    }

    proptest! {
        #[test]
        fn packets_leave_as_they_came_and_in_that_order(
            steps in prop::collection::vec(prop::option::of(0u32..4), 0..200),
        ) {
            let (mut packets, mut queue) = (PacketBuffer::new(0), VecDeque::new());
            for (number, step) in (0..).zip(steps) {
                if let Some(blocks) = step {
                    packets.push(&packet(number, blocks), number);
                    queue.push_back(packet(number, blocks));
                } else {
                    prop_assert_eq!(packets.pop(), queue.pop_front());
                }
                let first = queue.front().map(|packet| packet.number);
                prop_assert_eq!(packets.first().map(|held| held.note), first);
                prop_assert_eq!(packets.came() - packets.left(), queue.len());
                let mut seen = VecDeque::new();
                packets.for_each(&mut |packet| seen.push_back(*packet));
                prop_assert_eq!(&seen, &queue);
            }
        }
    }

    /// Two times of 8 bytes, and 32 bytes of the packet, of which the option would be 28 more.
    #[test]
    fn a_packet_takes_little_room() {
        assert_eq!(size_of::<Held<[u64; 2]>>(), 48);
    }
}
