//! The memory of packets that arrived out of order and wait in a receive buffer.
//!
//! On a host with offloads a packet joins the buffer that ends where it begins, and takes memory for its payload alone
//! (Linux: `tcp_ooo_try_coalesce`). When the memory runs out, the packets of each range are copied into pages (Linux:
//! `tcp_prune_queue`).

use std::collections::VecDeque;

/// Payload that a page of merged packets holds.
const PAGE_PAYLOAD_BYTES: u64 = 3776;
/// Memory of a page of merged packets, with its metadata.
const PAGE_MEMORY_BYTES: u64 = 4352;
/// Parts of memory that a buffer refers to at most (Linux: `MAX_SKB_FRAGS`).
const MAX_PARTS: u32 = 17;
/// Size of the parts of memory into which a sender copies its data (Linux: `SKB_FRAG_PAGE_ORDER`, on pages of 4 KiB).
const PART_BYTES: u64 = 32_768;

/// Memory of an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Memory {
    /// The packet takes metadata of its own.
    Own,
    /// The packet joins another, and takes memory for its payload alone.
    Shared,
}

/// Packets that share memory (Linux: an `sk_buff` of the `out_of_order_queue`).
#[derive(Clone, Copy, Debug)]
struct Joined {
    start: u32,
    end: u32,
    /// Parts of the sender's memory to which it refers.
    parts: u32,
    bytes: u64,
}

impl Joined {
    fn packets(&self) -> u32 {
        self.end - self.start
    }
}

/// Packets that are released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Released {
    /// Their memory.
    pub(super) bytes: u64,
    /// Packets that the application reads first: those that have just arrived, and those that join them (Linux:
    /// `tcp_try_coalesce`).
    pub(super) first_packets: u32,
}

/// Packets that arrived out of order.
#[derive(Clone, Debug)]
pub(super) struct OutOfOrder {
    /// Payload of a packet.
    mss_bytes: u64,
    /// Buffers with their packets, in ascending order.
    buffers: VecDeque<Joined>,
}

impl OutOfOrder {
    /// No packets, with `mss_bytes` of payload each.
    pub(super) fn new(mss_bytes: u32) -> OutOfOrder {
        OutOfOrder { mss_bytes: mss_bytes.into(), buffers: VecDeque::new() }
    }

    /// Parts of the sender's memory that hold packet `number`: those of a bulk sender, which copies its data from the
    /// beginning of a part on.
    fn parts(&self, number: u32) -> u32 {
        let first = u64::from(number) * self.mss_bytes;
        let last = first + self.mss_bytes - 1;
        u32::try_from(last / PART_BYTES - first / PART_BYTES + 1).unwrap_or(MAX_PARTS)
    }

    /// Memory that packet `number` takes; whether packets `join` others depends on the host.
    pub(super) fn memory(&self, number: u32, join: bool) -> Memory {
        match self.before(number) {
            Some(last) if join && self.takes(last, number) => Memory::Shared,
            _ => Memory::Own,
        }
    }

    /// Adds packet `number`, which takes `bytes` of `memory`.
    pub(super) fn add(&mut self, number: u32, memory: Memory, bytes: u64) {
        let (before, parts) = (self.before(number), self.parts(number));
        if let (Memory::Shared, Some(last)) = (memory, before) {
            let joined = &mut self.buffers[last];
            joined.end += 1;
            joined.parts += parts;
            joined.bytes += bytes;
        } else {
            let place = before.map_or(0, |last| last + 1);
            self.buffers.insert(place, Joined { start: number, end: number + 1, parts, bytes });
        }
    }

    /// Number of buffers before `next` that join the one before them, and release their metadata, when packet `filling` fills
    /// the hole.
    pub(super) fn joining(&self, filling: u32, next: u32) -> u32 {
        let (mut joining, mut parts) = (0, self.parts(filling));
        for joined in self.buffers.iter().take_while(|joined| joined.start < next) {
            if parts + joined.parts <= MAX_PARTS {
                joining += 1;
                parts += joined.parts;
            } else {
                parts = joined.parts;
            }
        }
        joining
    }

    /// Releases the packets before `next`. The application reads `packets`, of which the first have just arrived, and the
    /// others waited.
    pub(super) fn release(&mut self, next: u32, packets: u32) -> Released {
        let waited = self.buffers.partition_point(|joined| joined.start < next);
        let waited_packets: u32 = self.buffers.range(..waited).map(Joined::packets).sum();
        let arrived = packets - waited_packets;
        let mut released = Released { bytes: 0, first_packets: arrived };
        let mut parts: u32 = (0..arrived).map(|after| self.parts(next - packets + after)).sum();
        let mut joins = true;
        for joined in self.buffers.drain(..waited) {
            released.bytes += joined.bytes;
            parts += joined.parts;
            joins &= parts <= MAX_PARTS;
            if joins {
                released.first_packets += joined.packets();
            }
        }
        released
    }

    /// Copies each range of packets into pages where that saves memory; returns the memory of all packets, in bytes.
    pub(super) fn collapse(&mut self) -> u64 {
        let mut ranges: VecDeque<Joined> = VecDeque::new();
        for buffer in self.buffers.drain(..) {
            match ranges.back_mut().filter(|range| range.end == buffer.start) {
                Some(range) => (range.end, range.bytes) = (buffer.end, range.bytes + buffer.bytes),
                None => ranges.push_back(buffer),
            }
        }
        for range in &mut ranges {
            let payload = u64::from(range.packets()) * self.mss_bytes;
            range.parts = 0;
            range.bytes = range.bytes.min(payload.div_ceil(PAGE_PAYLOAD_BYTES) * PAGE_MEMORY_BYTES);
        }
        self.buffers = ranges;
        self.buffers.iter().map(|buffer| buffer.bytes).sum()
    }

    /// Index of the last buffer that begins before packet `number`.
    fn before(&self, number: u32) -> Option<usize> {
        self.buffers.partition_point(|joined| joined.start < number).checked_sub(1)
    }

    fn takes(&self, buffer: usize, number: u32) -> bool {
        let joined = self.buffers[buffer];
        joined.end == number && joined.parts + self.parts(number) <= MAX_PARTS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrive(packets: impl Iterator<Item = u32>, join: bool) -> (OutOfOrder, Vec<u32>) {
        let (mut waiting, mut own) = (OutOfOrder::new(1448), Vec::new());
        for number in packets {
            let memory = waiting.memory(number, join);
            waiting.add(number, memory, if memory == Memory::Own { 2728 } else { 1448 });
            if memory == Memory::Own {
                own.push(number);
            }
        }
        (waiting, own)
    }

    /// Packets 5 to 21 are 17 parts of memory and take the metadata of one. Packet 22 begins anew, packets 3 and 30 follow none,
    /// and 4 joins 3.
    #[test]
    fn packets_out_of_order_share_memory_where_packets_join() {
        let arrivals = || (5..25).chain([30, 3, 31, 4]);
        assert_eq!(arrive(arrivals(), true).1, [5, 22, 30, 3]);
        assert_eq!(arrive(arrivals(), false).1.len(), 24);
    }

    /// Packet 22 has the bytes from 31 856 to 33 303, in two parts, so that 16 packets from 10 on are 17 parts.
    #[test]
    fn a_packet_that_crosses_the_end_of_a_part_leaves_room_for_one_fewer() {
        assert_eq!(arrive(10..30, true).1, [10, 26]);
    }

    /// Packets 3 and 4 share memory, and so do 6 and 7.
    #[test]
    fn packets_that_are_read_release_their_own_memory() {
        let (mut waiting, _) = arrive([3, 4, 6, 7, 9].into_iter(), true);
        assert_eq!(waiting.release(5, 3), Released { bytes: 2728 + 1448, first_packets: 3 });
        assert_eq!(waiting.release(6, 1), Released { bytes: 0, first_packets: 1 });
        assert_eq!(waiting.release(10, 4), Released { bytes: 2 * 2728 + 1448, first_packets: 4 });
    }

    /// Ten packets from 1 on, each in one part, join packet 0. Those from 11 on are sixteen in 17 parts, and take no more, so
    /// that packet 27 begins anew: neither joins the one before it.
    #[test]
    fn buffers_join_the_packet_that_fills_the_hole_before_them_as_far_as_the_parts_allow() {
        let (mut waiting, own) = arrive((11..28).chain(1..11).chain([30]), true);
        assert_eq!(own, [11, 27, 1, 30]);
        assert_eq!(waiting.joining(0, 11), 1);
        assert_eq!(waiting.joining(0, 28), 1);
        waiting.release(28, 28);
        assert_eq!(waiting.joining(29, 31), 1);
    }

    /// 49 packets have 70 952 bytes of payload, which fill 19 pages. A single packet takes more in a page than before.
    #[test]
    fn each_range_is_copied_into_pages_where_that_saves_memory() {
        let (mut waiting, _) = arrive((1..50).chain([60]), false);
        assert_eq!(waiting.collapse(), 19 * 4352 + 2728);
        assert_eq!(waiting.memory(50, true), Memory::Shared);
        assert_eq!(waiting.release(50, 50).bytes, 19 * 4352);
    }

    /// Packet 0 and the ten after it are eleven parts of memory, and the other ten would make it 21.
    #[test]
    fn packets_that_waited_join_those_that_arrive_as_far_as_the_parts_of_memory_allow() {
        let (mut waiting, own) = arrive((11..21).chain(1..11), true);
        assert_eq!(own, [11, 1]);
        assert_eq!(waiting.release(21, 21).first_packets, 11);
    }
}
