//! Packets on a path.

use crate::Time;
use crate::run::MAX_WINDOW_PACKETS;

/// Bytes of the IPv4 and TCP headers with timestamps, as on every packet after the handshake of a connection that has them.
pub const HEADER_BYTES: u32 = 52;
/// Bytes of the timestamp option, padded.
pub const TIMESTAMPS_BYTES: u32 = 12;
/// Bytes of a SYN or SYN-ACK as an IP packet: 20 of IPv4, 20 of TCP, 20 of options.
pub const HANDSHAKE_BYTES: u32 = 60;
/// Bytes of the option that permits SACK, padded. Beside timestamps it takes the place of their padding.
const SACK_PERMITTED_BYTES: u32 = 4;
/// Bytes of the IPv4 and UDP headers.
pub const DATAGRAM_HEADER_BYTES: u32 = 28;
/// Bytes of a SACK option before its blocks, padded.
const SACK_OPTION_BYTES: u32 = 4;
/// Bytes of one SACK block.
const SACK_BLOCK_BYTES: u32 = 8;

/// A half-open range of packet numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// First packet of the range.
    pub start: u32,
    /// First packet after the range.
    pub end: u32,
}

impl Block {
    /// Number of packets in the range; zero if the range is reversed.
    pub fn packets(self) -> u32 {
        self.end.saturating_sub(self.start)
    }

    /// Whether every packet of `other` is in the range.
    pub fn contains(self, other: Block) -> bool {
        self.start <= other.start && other.end <= self.end
    }
}

/// The SACK option. There is room for four blocks, or for three beside timestamps
/// ([RFC 2018, 3](https://www.rfc-editor.org/rfc/rfc2018#section-3)); a DSACK comes first
/// ([RFC 2883, 4](https://www.rfc-editor.org/rfc/rfc2883#section-4)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sacks {
    /// Blocks, followed by empty ones: a count would make packets larger than a cache line.
    blocks: [Block; Sacks::MAX_BLOCKS],
}

impl Sacks {
    /// Number of blocks that fit without timestamps.
    pub const MAX_BLOCKS: usize = 4;

    /// Number of blocks that fit into a packet with or without `timestamps`.
    pub const fn most(timestamps: bool) -> usize {
        if timestamps { Sacks::MAX_BLOCKS - 1 } else { Sacks::MAX_BLOCKS }
    }

    /// Adds a block, unless the option has `most` blocks already.
    pub fn push(&mut self, block: Block, most: usize) {
        let count = self.count();
        if count < most.min(Sacks::MAX_BLOCKS) {
            self.blocks[count] = block;
        }
    }

    /// Number of blocks.
    fn count(&self) -> usize {
        self.blocks.iter().take_while(|block| **block != Block::default()).count()
    }

    /// Whether the option has no block.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.blocks[0] == Block::default()
    }

    /// The blocks, in the order of the option.
    pub fn as_slice(&self) -> &[Block] {
        &self.blocks[..self.count()]
    }

    /// Puts the blocks in ascending order.
    pub(crate) fn sort(&mut self) {
        let count = self.count();
        self.blocks[..count].sort_unstable_by_key(|block| block.start);
    }

    fn bytes(self) -> u32 {
        if self.is_empty() {
            return 0;
        }
        SACK_OPTION_BYTES + SACK_BLOCK_BYTES * u32::try_from(self.count()).expect("at most four")
    }
}

/// The role of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Opening of a connection.
    Syn,
    /// Answer to a `Syn`.
    SynAck,
    /// Data of TCP; `number` counts packets from zero.
    Data,
    /// An acknowledgement; `number` is the first packet still missing.
    Ack,
    /// Data of UDP, without acknowledgement; `number` counts packets from zero.
    Datagram,
}

impl Kind {
    /// Whether the packet carries data of an application.
    pub fn has_payload(self) -> bool {
        matches!(self, Kind::Data | Kind::Datagram)
    }
}

/// The two ECN bits of the IP header. [RFC 3168, 5](https://www.rfc-editor.org/rfc/rfc3168#section-5),
/// [RFC 9331, 2](https://www.rfc-editor.org/rfc/rfc9331#section-2)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// Not-ECT: the transport does not react to marks.
    #[default]
    NotEct,
    /// ECT(0): the transport treats a mark as a loss.
    Ect0,
    /// ECT(1): the transport answers each mark with a small reduction (L4S).
    Ect1,
    /// CE: congestion was experienced.
    Ce,
}

/// TCP flags beside those that [`Kind`] implies, and the state of the packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u8);

impl Flags {
    /// No flag.
    pub const NONE: Flags = Flags(0);
    /// ECN-Echo.
    pub const ECE: Flags = Flags(1);
    /// Congestion window reduced.
    pub const CWR: Flags = Flags(2);
    /// The last packet of the flow.
    pub const FIN: Flags = Flags(4);

    /// The packet is damaged; the receiver drops it.
    pub const CORRUPT: Flags = Flags(8);
    /// The packet is lost on its link; it is dropped at the end of the link.
    pub(crate) const LOST: Flags = Flags(16);
    /// Push: the application has not written more yet, or the packet is the last of a burst. Later packets are not merged
    /// with it. Set by senders with a send buffer or with offloads.
    pub(crate) const PSH: Flags = Flags(32);

    /// Whether all of `flags` are set.
    pub const fn has(self, flags: Flags) -> bool {
        self.0 & flags.0 == flags.0
    }

    /// The union of both sets of flags.
    #[must_use]
    pub const fn with(self, flags: Flags) -> Flags {
        Flags(self.0 | flags.0)
    }
}

/// A receive window, in parts of a full packet: a sender sends full packets, and yet sees the smallest change of the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReceiveWindow(u32);

impl ReceiveWindow {
    /// Binary digits of a part of a packet: more parts than a packet of 1500 bytes has bytes, and few enough for
    /// [`MAX_WINDOW_PACKETS`].
    const DIGITS: u32 = 11;

    /// A window of full packets, at most [`MAX_WINDOW_PACKETS`].
    pub fn of_packets(packets: u32) -> ReceiveWindow {
        ReceiveWindow(packets.min(MAX_WINDOW_PACKETS) << ReceiveWindow::DIGITS)
    }

    /// A window of `bytes` for packets with `mss_bytes` of payload.
    pub fn of_bytes(bytes: u64, mss_bytes: u32) -> ReceiveWindow {
        let (mss, limit) = (u64::from(mss_bytes), u64::from(MAX_WINDOW_PACKETS));
        let parts = (bytes.min(limit * mss) << ReceiveWindow::DIGITS) / mss;
        ReceiveWindow(u32::try_from(parts).expect("at most the largest window"))
    }

    /// Number of full packets.
    #[inline]
    pub fn packets(self) -> u32 {
        self.0 >> ReceiveWindow::DIGITS
    }
}

/// A packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Index in the simulation's table of hops.
    pub hop: u32,
    /// Index of the flow.
    pub flow: u32,
    /// Packet number; its meaning depends on the kind, see [`Kind`].
    pub number: u32,
    /// Size of the IP packet, headers included.
    pub size_bytes: u32,
    /// Timestamp of the sender of this packet, in ms. [RFC 7323](https://www.rfc-editor.org/rfc/rfc7323)
    pub ts_val_ms: u32,
    /// Timestamp of the peer that the packet echoes, in ms.
    pub ts_echo_ms: u32,
    /// Receive window from `number` on. ACKs only.
    pub window: ReceiveWindow,
    /// Kind of the packet.
    pub kind: Kind,
    /// ECN bits of the IP header.
    pub ecn: Ecn,
    /// TCP flags and the state of the packet.
    pub flags: Flags,
    /// SACK option. ACKs only.
    pub sacks: Sacks,
}

impl Packet {
    /// An empty packet of a flow.
    pub fn new(kind: Kind, flow: u32) -> Packet {
        Packet {
            hop: 0,
            flow,
            number: 0,
            size_bytes: match kind {
                Kind::Syn | Kind::SynAck => HANDSHAKE_BYTES,
                Kind::Data | Kind::Ack => HEADER_BYTES,
                Kind::Datagram => DATAGRAM_HEADER_BYTES,
            },
            ts_val_ms: 0,
            ts_echo_ms: 0,
            window: ReceiveWindow::default(),
            kind,
            ecn: Ecn::NotEct,
            flags: Flags::NONE,
            sacks: Sacks::default(),
        }
    }

    /// Sets the SACK option of an ACK without one, and adds its size.
    pub fn set_sacks(&mut self, sacks: Sacks) {
        self.sacks = sacks;
        self.size_bytes += sacks.bytes();
    }

    /// Removes the timestamp option of a packet without payload, and with it the option that permits SACK, which uses its
    /// padding.
    pub(crate) fn omit_timestamps(&mut self) {
        (self.ts_val_ms, self.ts_echo_ms) = (0, 0);
        self.size_bytes -= TIMESTAMPS_BYTES;
    }

    /// Adds the option that permits SACK to a SYN without timestamps.
    pub(crate) fn permit_sack(&mut self) {
        self.size_bytes += SACK_PERMITTED_BYTES;
    }
}

/// Memory of a packet in a host beside its payload: header area and metadata (Linux: `struct sk_buff`, in `truesize`).
pub(crate) const MEMORY_OVERHEAD_BYTES: u32 = 1280;

/// Bytes of the IPv4 and TCP headers of a packet after the handshake.
pub const fn header_bytes(timestamps: bool) -> u32 {
    if timestamps { HEADER_BYTES } else { HEADER_BYTES - TIMESTAMPS_BYTES }
}

/// Time in ms for which hosts have been up when a run begins, in the simulator and on the kernel engine. Only LP computes with
/// it.
pub const UPTIME_MS: u64 = 3040;

/// The timestamp clock, in milliseconds since the host booted, as in Linux. It is never zero: an echo of zero stands for a
/// packet without a timestamp.
#[expect(clippy::cast_possible_truncation, reason = "2^32 ms are 49 days; a run is shorter")]
pub fn timestamp_ms(now: Time) -> u32 {
    (UPTIME_MS + now.ms()) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two blocks: 52 + 4 + 2 × 8 = 72 bytes.
    #[test]
    fn an_ack_grows_by_its_sack_option() {
        let mut sacks = Sacks::default();
        sacks.push(Block { start: 3, end: 4 }, Sacks::MAX_BLOCKS);
        sacks.push(Block { start: 6, end: 9 }, Sacks::MAX_BLOCKS);
        let mut ack = Packet::new(Kind::Ack, 0);
        ack.set_sacks(sacks);
        assert_eq!(ack.size_bytes, 72);
    }

    #[test]
    fn a_fourth_block_fits_without_timestamps_alone() {
        for (timestamps, fit) in [(true, 3), (false, 4)] {
            let mut sacks = Sacks::default();
            (0..5).for_each(|i| sacks.push(Block { start: 2 * i, end: 2 * i + 1 }, Sacks::most(timestamps)));
            assert_eq!(sacks.as_slice().len(), fit);
        }
    }

    /// 65 280 bytes are 45 packets of 1448 bytes and 120 bytes. The largest window is 2^20 packets.
    #[test]
    fn a_window_counts_full_packets_and_shows_each_byte() {
        let window = |bytes| ReceiveWindow::of_bytes(bytes, 1448);
        assert_eq!((window(65_280).packets(), window(65_159).packets()), (45, 44));
        assert!(window(65_280) > window(65_279) && window(65_160) == ReceiveWindow::of_packets(45));
        assert_eq!(
            [window(u64::MAX), ReceiveWindow::of_packets(u32::MAX)].map(ReceiveWindow::packets),
            [1 << 20; 2]
        );
    }

    #[test]
    fn a_packet_takes_a_cache_line() {
        assert_eq!(size_of::<Packet>(), 64);
    }

    /// MSS and window scale take 8 bytes, permission of SACK 4: 40 + 8, 40 + 12, and 40 + 4 + 4 × 8 for an ACK with SACKs.
    #[test]
    fn packets_without_timestamps_are_shorter() {
        let shorter = |kind| {
            let mut packet = Packet::new(kind, 0);
            packet.omit_timestamps();
            packet
        };
        assert_eq!([Kind::SynAck, Kind::Ack].map(|kind| shorter(kind).size_bytes), [48, 40]);
        let mut syn = shorter(Kind::Syn);
        syn.permit_sack();
        assert_eq!(syn.size_bytes, 52);
        assert_eq!([header_bytes(true), header_bytes(false)], [52, 40]);
    }
}
