//! The send buffer of a socket: the limit of unsent and unacknowledged data, with the autotuning of Linux 6.1.
//!
//! An application that finds the buffer full sleeps until a third of the used memory is free again. While it waits, the
//! buffer grows with the congestion window (Linux: `tcp_sndbuf_expand`). Packets are kept in the buffers of a queue, with
//! segmentation offload several in one, and each buffer of the queue takes memory for its metadata (Linux: `sk_buff`).

use std::collections::VecDeque;

use crate::net::packet::MEMORY_OVERHEAD_BYTES;
use crate::run::SocketBuffer;

/// Room for headers in a packet (Linux: `MAX_TCP_HEADER`), metadata of its fragments, and metadata of the packet.
const HEADER_ROOM_BYTES: u32 = 320;
const FRAGMENTS_METADATA_BYTES: u32 = 320;
const METADATA_BYTES: u32 = 256;
/// Bytes of the timestamp option, which the largest segment of the peer contains.
const TIMESTAMPS_BYTES: u32 = 12;
/// Smallest window that the buffer provides for, in packets (Linux: `TCP_INIT_CWND`).
const LEAST_PACKETS: u32 = 10;

/// Send buffer of one connection.
#[derive(Clone, Debug)]
pub(super) struct SendBuffer {
    /// Size of the buffer, and the size up to which it grows (Linux: `sk_sndbuf`, `tcp_wmem[2]`).
    pub(super) size: u64,
    max: u64,
    /// Payload of a full packet, and memory that autotuning provides for one.
    mss_bytes: u64,
    provided_bytes: u64,
    /// Windows that the buffer provides for.
    windows: u64,
    /// Ends of the buffers of the send queue that hold unsent packets.
    pub(super) unsent: VecDeque<u32>,
    /// Packets that the application wants to write and the socket has not taken.
    pub(super) waiting: u32,
    /// Packets of one write; only the last write may have fewer.
    pub(super) write_packets: u32,
    /// Whether the application closes the connection after them.
    pub(super) closes: bool,
    /// Whether the application sleeps until the buffer has room (Linux: `SOCK_NOSPACE`).
    pub(super) sleeps: bool,
    /// Whether a packet was sent since the last check whether the buffer limits the sender.
    pub(super) has_sent: bool,
}

impl SendBuffer {
    /// A buffer of a new socket. An algorithm asks for the number of `windows`.
    pub(super) fn new(sizes: SocketBuffer, mss_bytes: u32, windows: u32) -> SendBuffer {
        let frame = mss_bytes + TIMESTAMPS_BYTES + HEADER_ROOM_BYTES + FRAGMENTS_METADATA_BYTES;
        SendBuffer {
            size: sizes.default_bytes.into(),
            max: sizes.max_bytes.into(),
            mss_bytes: mss_bytes.into(),
            provided_bytes: (frame.next_power_of_two() + METADATA_BYTES).into(),
            windows: windows.into(),
            unsent: VecDeque::new(),
            waiting: 0,
            write_packets: 1,
            closes: false,
            sleeps: false,
            has_sent: false,
        }
    }

    /// Adds `packets` to the last unsent buffer; returns its end before.
    pub(super) fn extend_last(&mut self, packets: u32) -> u32 {
        let Some(end) = self.unsent.back_mut() else { return 0 };
        *end += packets;
        *end - packets
    }

    /// Memory of `packets` in `buffers` of the send queue (Linux: `sk_wmem_queued`).
    pub(super) fn memory_bytes(&self, packets: u32, buffers: u32) -> u64 {
        u64::from(packets) * self.mss_bytes + u64::from(buffers) * u64::from(MEMORY_OVERHEAD_BYTES)
    }

    /// Packets that the last unsent buffer still takes if `most` fill it; the oldest unsent packet is `nxt`.
    pub(super) fn room_in_last(&self, most: u32, nxt: u32) -> u32 {
        let mut ends = self.unsent.iter().rev();
        let Some(end) = ends.next() else { return 0 };
        most.saturating_sub(end - ends.next().unwrap_or(&nxt))
    }

    /// Grows the buffer to hold `packets` and as many unsent ones.
    pub(super) fn expand(&mut self, packets: u32) {
        let wanted = self.windows * u64::from(packets.max(LEAST_PACKETS)) * self.provided_bytes;
        self.size = self.size.max(wanted.min(self.max));
    }
}
