//! A compact FIFO buffer of packets.

use crate::net::packet::{Ecn, Flags, Kind, Packet, ReceiveWindow, Sacks};
use crate::util::ring_buffer::RingBuffer;

/// A FIFO of packets, each with a value of the caller (`note`). SACK options, which few packets have, are in
/// a separate buffer, so that a packet takes half of the memory.
#[derive(Debug)]
pub(crate) struct PacketBuffer<T> {
    packets: RingBuffer<StoredPacket<T>>,
    sacks: RingBuffer<Sacks>,
}

/// A packet without its SACK option, with the caller's value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StoredPacket<T> {
    pub(crate) note: T,
    hop: u32,
    flow: u32,
    number: u32,
    pub(crate) size_bytes: u32,
    ts_val_ms: u32,
    ts_echo_ms: u32,
    window: ReceiveWindow,
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
    /// Creates an empty buffer; `note` fills free slots.
    pub(crate) fn new(note: T) -> PacketBuffer<T> {
        let filling = StoredPacket::new(&Packet::new(Kind::Data, 0), note);
        PacketBuffer { packets: RingBuffer::new(filling), sacks: RingBuffer::new(Sacks::default()) }
    }

    /// Packets added so far.
    #[inline]
    pub(crate) fn added(&self) -> usize {
        self.packets.added()
    }

    /// Packets removed so far.
    #[inline]
    pub(crate) fn removed(&self) -> usize {
        self.packets.removed()
    }

    /// The packet with a number, counted from zero over all packets ever added; the packet must be in the
    /// buffer.
    #[inline]
    pub(crate) fn get(&self, number: usize) -> &StoredPacket<T> {
        self.packets.get(number)
    }

    /// The first packet.
    #[inline]
    pub(crate) fn first(&self) -> Option<&StoredPacket<T>> {
        self.packets.first()
    }

    /// Appends a packet.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a call would save and restore more registers than it has work")]
    pub(crate) fn push(&mut self, packet: &Packet, note: T) {
        self.packets.push(StoredPacket::new(packet, note));
        if !packet.sacks.is_empty() {
            self.push_sacks(&packet.sacks);
        }
    }

    // Not inlined, so that `push` is small enough to be.
    #[inline(never)]
    fn push_sacks(&mut self, sacks: &Sacks) {
        self.sacks.push(*sacks);
    }

    /// Removes the first packet.
    pub(crate) fn pop(&mut self) -> Option<Packet> {
        let mut packet = Packet::new(Kind::Data, 0);
        self.pop_into(&mut packet).then_some(packet)
    }

    /// Removes the first packet and writes it to `packet`; returns whether there was one. A returned packet would be copied,
    /// and copying a packet that has just been written is slow.
    #[inline]
    pub(crate) fn pop_into(&mut self, packet: &mut Packet) -> bool {
        let Some(stored) = self.packets.pop() else { return false };
        *packet = stored.with(Sacks::default());
        if stored.option == SackOption::Apart {
            packet.sacks = self.sacks.pop().expect("each option is stored");
        }
        true
    }

    /// Calls `visit` with every packet.
    pub(crate) fn for_each(&self, visit: &mut dyn FnMut(&Packet)) {
        let mut sacks = self.sacks.iter();
        for stored in self.packets.iter() {
            let sacks = match stored.option {
                SackOption::None => Sacks::default(),
                SackOption::Apart => *sacks.next().expect("each option is stored"),
            };
            visit(&stored.with(sacks));
        }
    }
}

impl<T> StoredPacket<T> {
    #[inline]
    fn new(packet: &Packet, note: T) -> StoredPacket<T> {
        let option = if packet.sacks.is_empty() { SackOption::None } else { SackOption::Apart };
        StoredPacket {
            note,
            hop: packet.hop,
            flow: packet.flow,
            number: packet.number,
            size_bytes: packet.size_bytes,
            ts_val_ms: packet.ts_val_ms,
            ts_echo_ms: packet.ts_echo_ms,
            window: packet.window,
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
            window: self.window,
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
            sacks.push(Block { start: number + 2 * block, end: number + 2 * block + 1 }, Sacks::MAX_BLOCKS);
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
                prop_assert_eq!(packets.first().map(|stored| stored.note), first);
                prop_assert_eq!(packets.added() - packets.removed(), queue.len());
                let mut seen = VecDeque::new();
                packets.for_each(&mut |packet| seen.push_back(*packet));
                prop_assert_eq!(&seen, &queue);
            }
        }
    }

    /// Two times of 8 bytes, and 32 bytes of the packet; the SACK option would add 32 bytes.
    #[test]
    fn a_stored_packet_takes_48_bytes() {
        assert_eq!(size_of::<StoredPacket<[u64; 2]>>(), 48);
    }
}
