//! The receive buffer of a socket and the window that it offers, with the autotuning of Linux 6.1.
//!
//! The buffer grows with what the application reads in a round trip (dynamic right-sizing; M. Fisk and W. Feng, "Dynamic
//! Right-Sizing in TCP", 2001). A part of the buffer becomes window (`tcp_adv_win_scale`), because packets take more memory
//! than their payload. The window itself starts small and grows with each packet (`rcv_ssthresh`).

use super::out_of_order::{Memory, OutOfOrder};
use super::receiver_rtt::ReceiverRtt;
use crate::Time;
use crate::net::packet::MEMORY_OVERHEAD_BYTES;
use crate::run::{BufferTuning, Host, SocketBuffer};

/// Room for headers in a packet (Linux: `MAX_TCP_HEADER`).
const HEADER_ROOM_BYTES: u32 = 320;
/// Metadata of a packet (Linux: `SKB_TRUESIZE(0)`).
const METADATA_BYTES: u32 = 576;
/// Step by which the memory per packet is rounded up until its window holds a packet.
const MEMORY_STEP_BYTES: u32 = 128;
/// Largest window without scaling, and thus in a SYN-ACK.
const MAX_UNSCALED_BYTES: u32 = 65_535;
/// Largest window scale. [RFC 7323, 2.3](https://www.rfc-editor.org/rfc/rfc7323#section-2.3)
const MAX_WINDOW_SCALE: u32 = 14;
/// Largest buffer that an application may ask for (Linux: `net.core.rmem_max`), which counts for the window scale.
const RMEM_MAX_BYTES: u32 = 212_992;
/// Packets of the first round trip, which the application is assumed to have read (Linux: `TCP_INIT_CWND`).
const FIRST_PACKETS: u32 = 10;
/// Receive buffer of one connection. Positions are in bytes of the stream.
#[derive(Clone, Debug)]
pub(crate) struct ReceiveBuffer {
    /// Size of the buffer (Linux: `sk_rcvbuf`).
    size: u32,
    /// Size up to which autotuning grows the buffer (Linux: `tcp_rmem[2]`).
    max: u32,
    /// Whether the application set the size.
    is_fixed: bool,
    host: Host,
    mss: u32,
    /// Memory of a full packet.
    packet_bytes: u32,
    /// Memory that autotuning provides for a full packet.
    provided_bytes: u32,
    /// Memory of packets that the application has not read: out of order, or arrived just now (Linux: `sk_rmem_alloc`).
    held_bytes: u64,
    /// Memory of those of them that arrived in order.
    arrived_bytes: u64,
    /// Metadata that was released when packets which had waited joined one that arrived in order.
    joined_bytes: u64,
    /// Largest window of this buffer (Linux: `window_clamp`).
    clamp: u32,
    /// Largest window to offer, which grows with each packet that arrives (Linux: `rcv_ssthresh`).
    ssthresh: u32,
    window_scale: u32,
    /// Window of the last ACK (Linux: `rcv_wnd`).
    window: u32,
    /// First byte after that window (Linux: `rcv_wup + rcv_wnd`).
    right_edge: u64,
    /// Largest number of bytes read in a round trip (Linux: `rcvq_space.space`).
    read_per_rtt: u32,
    /// Start of the current round trip (Linux: `rcvq_space.time`).
    rtt_began: Time,
    /// First byte that the application had not read then.
    rtt_began_at: u64,
    out_of_order: OutOfOrder,
}

/// Settings of a receive buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReceiveBufferSetup {
    /// Settings of the host.
    pub(crate) host: Host,
    /// Sizes of the buffer.
    pub(crate) sizes: SocketBuffer,
    /// Payload of a full packet.
    pub(crate) mss_bytes: u32,
    /// Window that the application set, which ends autotuning (Linux: half of the buffer, whose size is twice `SO_RCVBUF`).
    pub(crate) fixed_window_bytes: Option<u64>,
}

/// Window of an ACK.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Selected {
    /// The window, in bytes.
    pub(crate) window_bytes: u32,
    /// Whether more than half of the buffer is in use, so that ACKs are no longer sent at once.
    pub(crate) is_scarce: bool,
}

impl ReceiveBuffer {
    /// A buffer of a socket that listens.
    pub(crate) fn new(setup: ReceiveBufferSetup) -> ReceiveBuffer {
        let ReceiveBufferSetup { host, sizes, mss_bytes: mss, fixed_window_bytes } = setup;
        let fixed = fixed_window_bytes.map(|bytes| u32::try_from(2 * bytes).unwrap_or(u32::MAX >> 1));
        let window_of = |space: u32| host.window_of(space);
        let size = fixed.unwrap_or(sizes.default_bytes);
        let space = window_of(size);
        let mut provided_bytes = mss + HEADER_ROOM_BYTES + METADATA_BYTES;
        while window_of(provided_bytes) < mss {
            provided_bytes += MEMORY_STEP_BYTES;
        }
        let largest = space.max(sizes.max_bytes).max(RMEM_MAX_BYTES);
        let largest = if fixed.is_some() { largest.min(space) } else { largest };
        let window_scale = window_scale(largest.into());
        let whole = if space > mss { space - space % mss } else { space };
        let first = host.initial_rwnd.map_or(MAX_UNSCALED_BYTES, |packets| packets.saturating_mul(mss));
        let window = whole.min(MAX_UNSCALED_BYTES).min(first);
        // A segment is kept free.
        let clamp = space.saturating_sub(mss).max((2 * mss).min(space));
        let ssthresh = window.min(clamp);
        ReceiveBuffer {
            size,
            max: sizes.max_bytes,
            is_fixed: fixed.is_some(),
            host,
            mss,
            packet_bytes: mss + MEMORY_OVERHEAD_BYTES,
            provided_bytes,
            held_bytes: 0,
            arrived_bytes: 0,
            joined_bytes: 0,
            clamp,
            ssthresh,
            window_scale,
            window,
            right_edge: u64::from(window),
            read_per_rtt: match host.rcvbuf_tuning {
                BufferTuning::Rising => ssthresh.min(FIRST_PACKETS * mss),
                // The buffer provides for twice what is read.
                BufferTuning::Twice => window / 2,
            },
            rtt_began: Time::ZERO,
            rtt_began_at: 0,
            out_of_order: OutOfOrder::new(mss),
        }
    }

    /// Window of the last ACK, in bytes.
    pub(crate) fn last_window_bytes(&self) -> u32 {
        self.window
    }

    /// Window of the SYN-ACK, in bytes.
    pub(crate) fn first_window_bytes(&self) -> u32 {
        self.window
    }

    /// Starts the first round trip, when the connection is established.
    pub(crate) fn on_established(&mut self, now: Time) {
        self.rtt_began = now;
    }

    /// Lets the packets that waited for packet `filling` join it; `next` is the first packet still missing.
    pub(crate) fn join(&mut self, filling: u32, next: u32) {
        if self.host.offloads {
            let joining = self.out_of_order.joining(filling, next);
            let bytes = u64::from(joining * MEMORY_OVERHEAD_BYTES);
            self.joined_bytes += bytes;
            self.held_bytes -= bytes;
        }
    }

    /// Counts a packet that arrived in order, until the application has read it.
    pub(crate) fn hold(&mut self, memory: Memory) {
        let bytes = self.bytes_of(memory);
        self.arrived_bytes += bytes;
        self.held_bytes += bytes;
    }

    /// Makes room for a packet that arrived out of order; returns whether the buffer was over-full. It then grows, or merges
    /// packets and closes the window (Linux: `tcp_prune_queue`).
    pub(crate) fn make_room(&mut self) -> bool {
        let was_full = self.held_bytes > u64::from(self.size);
        if was_full {
            if !self.is_fixed {
                self.size =
                    u32::try_from(self.held_bytes).map_or(self.max, |held| held.min(self.max)).max(self.size);
            }
            if self.held_bytes > u64::from(self.size) {
                self.ssthresh = self.clamp.min(2 * self.mss);
                self.held_bytes = self.arrived_bytes + self.out_of_order.collapse();
                self.joined_bytes = 0;
            }
        }
        was_full
    }

    /// Memory of packet `number`, which arrived out of order.
    pub(crate) fn memory_out_of_order(&self, number: u32) -> Memory {
        self.out_of_order.memory(number, self.host.offloads)
    }

    /// Counts packet `number`, which arrived out of order, until the application has read it.
    pub(crate) fn hold_out_of_order(&mut self, number: u32, memory: Memory) {
        let bytes = self.bytes_of(memory);
        self.out_of_order.add(number, memory, bytes);
        self.held_bytes += bytes;
    }

    fn bytes_of(&self, memory: Memory) -> u64 {
        u64::from(match memory {
            Memory::Own => self.packet_bytes,
            Memory::Shared => self.mss,
        })
    }

    /// Whether the application has read everything that arrived.
    pub(crate) fn is_empty(&self) -> bool {
        self.held_bytes == 0
    }

    /// Grows the window by two segments for a packet, as far as the buffer has room; returns whether it did (Linux:
    /// `tcp_grow_window`).
    pub(crate) fn grow_window(&mut self, memory: Memory) -> bool {
        let room = self.clamp.min(self.space()).saturating_sub(self.ssthresh);
        let grows = room > 0 && self.is_worth_growing(memory);
        if grows {
            self.ssthresh += room.min(2 * self.mss);
        }
        grows
    }

    /// Whether the largest buffer could hold a window of such packets.
    fn is_worth_growing(&self, memory: Memory) -> bool {
        let mut memory = match memory {
            Memory::Own => self.window_of(self.packet_bytes),
            Memory::Shared => self.window_of(self.mss),
        };
        if memory <= self.mss {
            return true;
        }
        let mut window = self.window_of(self.max);
        loop {
            (memory, window) = (memory / 2, window / 2);
            if self.ssthresh > window {
                return false;
            }
            if memory <= self.mss {
                return true;
            }
        }
    }

    /// Window that the buffer would offer now (Linux: `__tcp_select_window`); `next` is the first byte still missing.
    pub(crate) fn window(&self, next: u64) -> Selected {
        let unit = 1 << self.window_scale;
        let allowed = self.window_of(self.size);
        let full = self.clamp.min(allowed);
        let mut free = self.space();
        let is_scarce = free < full / 2;
        let mut window_bytes = 0;
        if is_scarce {
            free -= free % unit;
        }
        if !is_scarce || (free >= allowed / 16 && free >= self.mss.min(full)) {
            window_bytes = free.min(self.ssthresh).next_multiple_of(unit);
        }
        // The right edge never moves back.
        let current = self.current(next);
        if window_bytes < current {
            window_bytes = current.next_multiple_of(unit);
        }
        Selected { window_bytes, is_scarce }
    }

    /// Sets the window of an ACK, and returns it.
    pub(crate) fn select(&mut self, next: u64) -> Selected {
        let selected = self.window(next);
        self.window = selected.window_bytes;
        self.right_edge = next + u64::from(self.window);
        selected
    }

    /// Whether an ACK may be sent before the application has read the packet: its window is no smaller than the last one.
    pub(crate) fn keeps_window(&self, next: u64) -> bool {
        self.window(next).window_bytes >= self.window
    }

    /// Processes the application's reading of all data below `next`, of which it had not read `packets`. `rtt` is the
    /// receiver's estimate. Returns whether the window doubles, so that an ACK must report it.
    pub(crate) fn on_read(&mut self, packets: u32, next: u64, now: Time, rtt: &ReceiverRtt) -> bool {
        let next_packet = u32::try_from(next / u64::from(self.mss)).unwrap_or(u32::MAX);
        let released = self.out_of_order.release(next_packet, packets);
        self.held_bytes += std::mem::take(&mut self.joined_bytes);
        self.held_bytes -= std::mem::take(&mut self.arrived_bytes) + released.bytes;
        // The buffer is tuned after those that are read first; the others are read at the same time.
        let first = if self.host.offloads { released.first_packets } else { 1 };
        self.tune(next - u64::from(packets - first) * u64::from(self.mss), now, rtt);
        let current = self.current(next);
        if 2 * u64::from(current) > u64::from(self.clamp) {
            return false;
        }
        let offered = self.window(next).window_bytes;
        offered > 0 && offered >= 2 * current
    }

    /// Grows the buffer if more was read in the last round trip than before (Linux: `tcp_rcv_space_adjust`).
    fn tune(&mut self, next: u64, now: Time, rtt: &ReceiverRtt) {
        let elapsed_us = now.us() - self.rtt_began.us();
        if rtt.get_8us().is_none_or(|rtt_8us| elapsed_us < u64::from(rtt_8us >> 3)) {
            return;
        }
        let read = u32::try_from(next - self.rtt_began_at).unwrap_or(u32::MAX);
        if read > self.read_per_rtt {
            if self.host.moderate_rcvbuf && !self.is_fixed {
                match self.host.rcvbuf_tuning {
                    BufferTuning::Rising => self.provide_for(read),
                    BufferTuning::Twice => self.provide_twice(read),
                }
            }
            self.read_per_rtt = read;
        }
        self.rtt_began = now;
        self.rtt_began_at = next;
    }

    /// Provides for twice the data of the last round trip, and for a sender whose rate continues to grow.
    fn provide_for(&mut self, read: u32) {
        let (read, before) = (u64::from(read), u64::from(self.read_per_rtt));
        let steady = 2 * read + 16 * u64::from(self.mss);
        let rising = u128::from(steady) * u128::from(read - before) / u128::from(before.max(1));
        let window = u128::from(steady) + 2 * rising;
        let packets = window / u128::from(self.mss);
        if self.provide(packets) {
            self.clamp = self.window_of(self.size);
        }
    }

    /// Provides for twice the data of the last round trip.
    fn provide_twice(&mut self, read: u32) {
        let window = read.saturating_mul(2);
        if self.provide((window / self.mss).into()) {
            self.clamp = window;
        }
    }

    /// Grows the buffer to hold `packets`; returns whether it did.
    fn provide(&mut self, packets: u128) -> bool {
        let bytes = packets * u128::from(self.provided_bytes);
        let size = u32::try_from(bytes).map_or(self.max, |bytes| bytes.min(self.max));
        let grows = size > self.size;
        self.size = self.size.max(size);
        grows
    }

    /// Window of the free part of the buffer.
    fn space(&self) -> u32 {
        let held_bytes = u32::try_from(self.held_bytes).unwrap_or(u32::MAX);
        self.window_of(self.size.saturating_sub(held_bytes))
    }

    /// Window of a part of the buffer.
    fn window_of(&self, space: u32) -> u32 {
        self.host.window_of(space)
    }

    /// Part of the last window that is not used yet.
    fn current(&self, next: u64) -> u32 {
        u32::try_from(self.right_edge.saturating_sub(next)).unwrap_or(u32::MAX)
    }
}

/// Scale of the field for the window that the largest window needs. [RFC 7323, 2.2](https://www.rfc-editor.org/rfc/rfc7323#section-2.2)
pub(super) fn window_scale(largest_bytes: u64) -> u32 {
    largest_bytes.max(1).ilog2().saturating_sub(15).min(MAX_WINDOW_SCALE)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHIPPED: SocketBuffer =
        SocketBuffer { min_bytes: 4096, default_bytes: 131_072, max_bytes: 6_291_456 };
    const MSS: u64 = 1448;

    fn buffer(sizes: SocketBuffer, fixed_window_bytes: Option<u64>) -> ReceiveBuffer {
        ReceiveBuffer::new(ReceiveBufferSetup {
            host: Host::default(),
            sizes,
            mss_bytes: 1448,
            fixed_window_bytes,
        })
    }

    fn rtt_of_50_ms() -> ReceiverRtt {
        let mut rtt = ReceiverRtt::default();
        rtt.on_echo(1, Some(50));
        rtt
    }

    /// Receives `packets` in order, from number `first` on, all at `at`, and reads each of them at once.
    fn receive(buffer: &mut ReceiveBuffer, first: u64, packets: u64, at: Time) {
        for number in first..first + packets {
            let next = (number + 1) * MSS;
            buffer.hold(Memory::Own);
            buffer.grow_window(Memory::Shared);
            buffer.select(next);
            buffer.on_read(1, next, at, &rtt_of_50_ms());
        }
    }

    /// Half of 131 072 bytes are window: 65 536, of which 45 whole segments are offered, 65 160 bytes, and one is kept free.
    /// 6 291 456 has 23 bits, 7 more than a window without scaling.
    #[test]
    fn the_first_window_is_a_part_of_the_default_buffer() {
        let shipped = buffer(SHIPPED, None);
        assert_eq!(shipped.first_window_bytes(), 65_160);
        assert_eq!((shipped.clamp, shipped.ssthresh, shipped.window_scale), (64_088, 64_088, 7));
    }

    /// A segment, its headers and its metadata are 2344 bytes, of which half is less than 1448; five steps of 128 bytes
    /// later it is 1492.
    #[test]
    fn autotuning_provides_memory_whose_window_holds_a_packet() {
        assert_eq!(buffer(SHIPPED, None).provided_bytes, 2984);
    }

    /// Packets 1 to 3 wait and take the metadata of one, and packet 5 has its own. Packet 0 fills the first hole: the metadata of
    /// packets 1 to 3 are released before the application reads, and their payload after that. Packet 5 remains.
    #[test]
    fn packets_that_waited_release_their_metadata_when_the_hole_is_filled() {
        let mut buffer = ReceiveBuffer::new(ReceiveBufferSetup {
            host: Host { offloads: true, ..Host::default() },
            sizes: SHIPPED,
            mss_bytes: 1448,
            fixed_window_bytes: None,
        });
        for number in [1, 2, 3, 5] {
            let memory = buffer.memory_out_of_order(number);
            buffer.hold_out_of_order(number, memory);
        }
        buffer.hold(Memory::Own);
        assert_eq!(buffer.held_bytes, 5 * 1448 + 3 * 1280);
        buffer.join(0, 4);
        assert_eq!(buffer.held_bytes, 5 * 1448 + 2 * 1280);
        buffer.on_read(4, 4 * MSS, Time::from_ms(100), &rtt_of_50_ms());
        assert_eq!(buffer.held_bytes, 1448 + 1280);
    }

    /// In the first round trip 40 packets are read, 57 920 bytes instead of 14 480. The next window is to hold twice as much
    /// and 16 packets, 139 008 bytes, and six times that because the rate rose by a factor of four: 973 056 bytes, 672 packets
    /// of 2984 bytes.
    #[test]
    fn a_buffer_grows_with_what_is_read_in_a_round_trip() {
        let mut buffer = buffer(SHIPPED, None);
        buffer.on_established(Time::from_ms(100));
        receive(&mut buffer, 0, 39, Time::from_ms(120));
        assert_eq!(buffer.size, 131_072);
        receive(&mut buffer, 39, 1, Time::from_ms(150));
        assert_eq!((buffer.size, buffer.clamp), (672 * 2984, 672 * 2984 / 2));
        // As much again is no reason to grow.
        receive(&mut buffer, 40, 39, Time::from_ms(170));
        receive(&mut buffer, 79, 1, Time::from_ms(200));
        assert_eq!(buffer.size, 672 * 2984);
    }

    /// A first window of 4 packets is 5792 bytes, and half of it counts as read. From 40 packets in a round trip, 80 packets
    /// of 2984 bytes follow, and their payload is the largest window.
    #[test]
    fn old_kernels_provide_for_twice_what_was_read() {
        let old = |initial_rwnd| {
            let host = Host { rcvbuf_tuning: BufferTuning::Twice, initial_rwnd, ..Host::default() };
            let sizes = SHIPPED;
            ReceiveBuffer::new(ReceiveBufferSetup { host, sizes, mss_bytes: 1448, fixed_window_bytes: None })
        };
        let small = old(Some(4));
        assert_eq!((small.first_window_bytes(), small.read_per_rtt), (5792, 2896));
        let mut buffer = old(None);
        receive(&mut buffer, 0, 39, Time::from_ms(40));
        receive(&mut buffer, 39, 1, Time::from_ms(60));
        assert_eq!((buffer.size, buffer.clamp), (80 * 2984, 80 * 1448));
    }

    #[test]
    fn the_first_window_may_be_a_number_of_packets() {
        let host = Host { initial_rwnd: Some(4), ..Host::default() };
        let setup = ReceiveBufferSetup { host, sizes: SHIPPED, mss_bytes: 1448, fixed_window_bytes: None };
        assert_eq!(ReceiveBuffer::new(setup).first_window_bytes(), 4 * 1448);
    }

    #[test]
    fn a_buffer_does_not_grow_beyond_its_maximum_or_without_autotuning() {
        let small = SocketBuffer { max_bytes: 200_000, ..SHIPPED };
        let host = Host { moderate_rcvbuf: false, ..Host::default() };
        let setup = ReceiveBufferSetup { host, sizes: SHIPPED, mss_bytes: 1448, fixed_window_bytes: None };
        for (mut each, size) in [
            (buffer(small, None), 200_000),
            (ReceiveBuffer::new(setup), 131_072),
            (buffer(SHIPPED, Some(50_000)), 100_000),
        ] {
            receive(&mut each, 0, 39, Time::from_ms(40));
            receive(&mut each, 39, 1, Time::from_ms(60));
            assert_eq!(each.size, size);
        }
    }

    /// The window grows by two segments for each packet, up to half of the buffer that the packet itself leaves free.
    #[test]
    fn the_window_grows_with_each_packet_as_far_as_the_buffer_has_room() {
        let mut buffer = buffer(SocketBuffer { default_bytes: 200_000, ..SHIPPED }, None);
        buffer.ssthresh = 90_000;
        let windows = [0, 1, 2, 3].map(|number| {
            receive(&mut buffer, number, 1, Time::ZERO);
            buffer.ssthresh
        });
        assert_eq!(windows, [92_896, 95_792, 98_552, 98_552]);
        assert_eq!(buffer.clamp, 98_552);
    }

    /// 40 packets out of order take 109 120 of 131 072 bytes. The rest would be a window of 10 976 bytes, but the right edge
    /// stays where it is.
    #[test]
    fn packets_out_of_order_take_room_and_do_not_move_the_window_back() {
        let mut buffer = buffer(SHIPPED, None);
        receive(&mut buffer, 0, 1, Time::ZERO);
        let before = buffer.select(MSS).window_bytes;
        (2..42).for_each(|number| buffer.hold_out_of_order(number, Memory::Own));
        assert_eq!(buffer.space(), 10_976);
        let selected = buffer.select(MSS);
        assert!(selected.is_scarce);
        assert_eq!(selected.window_bytes, before);
    }

    /// 49 packets take 133 672 bytes: the buffer grows to that. At its maximum, packets are merged instead, in 19 pages, and the
    /// window falls to two segments.
    #[test]
    fn an_over_full_buffer_grows_to_its_maximum_and_then_merges_packets() {
        for (max_bytes, size, held_bytes) in
            [(6_291_456, 133_672, 50 * 2728), (131_072, 131_072, 19 * 4352 + 2728)]
        {
            let mut buffer = buffer(SocketBuffer { max_bytes, ..SHIPPED }, None);
            for number in 1..50 {
                assert!(!buffer.make_room());
                buffer.hold_out_of_order(number, Memory::Own);
            }
            assert!(buffer.make_room());
            buffer.hold_out_of_order(60, Memory::Own);
            assert_eq!((buffer.size, buffer.held_bytes), (size, held_bytes));
            assert_eq!(buffer.ssthresh == 2896, max_bytes == 131_072);
        }
    }

    /// 45 packets that are not read take 122 760 bytes. Half of the other 8312 is window, rounded down to a multiple of 128:
    /// 4096. Once they are read, the window has more than doubled.
    #[test]
    fn reading_a_full_buffer_is_reported() {
        let mut buffer = buffer(SHIPPED, None);
        (0..45).for_each(|_| buffer.hold(Memory::Own));
        let next = 45 * MSS;
        assert_eq!(buffer.select(next).window_bytes, 4096);
        assert!(buffer.on_read(45, next, Time::ZERO, &rtt_of_50_ms()));
    }
}
