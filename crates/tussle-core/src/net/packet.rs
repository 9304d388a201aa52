//! What travels over a path.

use crate::Time;

/// Bytes of the IPv4 and TCP headers with timestamps, as on every packet after the handshake.
pub const HEADER_BYTES: u32 = 52;
/// Bytes of a SYN or SYN-ACK as an IP packet: 20 of IPv4, 20 of TCP, 20 of options.
pub const HANDSHAKE_BYTES: u32 = 60;
/// Bytes of the IPv4 and UDP headers.
pub const DATAGRAM_HEADER_BYTES: u32 = 28;
/// Bytes of a SACK option before its blocks, padded.
const SACK_OPTION_BYTES: u32 = 4;
/// Bytes of one SACK block.
const SACK_BLOCK_BYTES: u32 = 8;

/// A half-open range of packet numbers that arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// First packet of the range.
    pub start: u32,
    /// First packet after the range.
    pub end: u32,
}

impl Block {
    /// How many packets it spans; zero if it is reversed.
    pub fn packets(self) -> u32 {
        self.end.saturating_sub(self.start)
    }

    /// Whether every packet of `other` is inside.
    pub fn contains(self, other: Block) -> bool {
        self.start <= other.start && other.end <= self.end
    }
}

/// The SACK option. Beside timestamps there is room for three blocks
/// ([RFC 2018, 3](https://www.rfc-editor.org/rfc/rfc2018#section-3)); a DSACK comes first
/// ([RFC 2883, 4](https://www.rfc-editor.org/rfc/rfc2883#section-4)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sacks {
    blocks: [Block; Sacks::MOST],
    count: u8,
}

impl Sacks {
    /// Most blocks that fit.
    pub const MOST: usize = 3;

    /// Adds a block, if there is room.
    pub fn push(&mut self, block: Block) {
        if let Some(free) = self.blocks.get_mut(usize::from(self.count)) {
            *free = block;
            self.count += 1;
        }
    }

    /// The blocks, in the order of the option.
    pub fn as_slice(&self) -> &[Block] {
        &self.blocks[..usize::from(self.count)]
    }

    /// Puts the blocks in ascending order.
    pub(crate) fn sort(&mut self) {
        self.blocks[..usize::from(self.count)].sort_unstable_by_key(|block| block.start);
    }

    fn bytes(self) -> u32 {
        match u32::from(self.count) {
            0 => 0,
            count => SACK_OPTION_BYTES + count * SACK_BLOCK_BYTES,
        }
    }
}

/// The role of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Opens the connection.
    Syn,
    /// Answers a `Syn`.
    SynAck,
    /// Carries data; `number` counts packets from zero.
    Data,
    /// Carries an acknowledgement; `number` is the first packet still missing.
    Ack,
    /// Carries data of UDP, which nobody acknowledges; `number` counts packets from zero.
    Datagram,
}

impl Kind {
    /// Whether it carries an application's data.
    pub fn has_payload(self) -> bool {
        matches!(self, Kind::Data | Kind::Datagram)
    }
}

/// The two ECN bits of the IP header. [RFC 3168, 5](https://www.rfc-editor.org/rfc/rfc3168#section-5),
/// [RFC 9331, 2](https://www.rfc-editor.org/rfc/rfc9331#section-2)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// The transport does not react to marks.
    #[default]
    NotEct,
    /// The transport takes a mark for a loss.
    Ect0,
    /// The transport answers each mark with a small reduction (L4S).
    Ect1,
    /// Congestion was experienced.
    Ce,
}

/// TCP flags that the simulation needs, beside those that [`Kind`] implies, and what became of the packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u8);

impl Flags {
    /// None.
    pub const NONE: Flags = Flags(0);
    /// ECN-Echo.
    pub const ECE: Flags = Flags(1);
    /// Congestion window reduced.
    pub const CWR: Flags = Flags(2);
    /// The last packet of the flow.
    pub const FIN: Flags = Flags(4);

    /// Damaged on its way: the receiver drops it.
    pub const CORRUPT: Flags = Flags(8);
    /// Given up by its link: it is dropped where that ends.
    pub(crate) const LOST: Flags = Flags(16);

    /// Whether all of `flags` are set.
    pub const fn has(self, flags: Flags) -> bool {
        self.0 & flags.0 == flags.0
    }

    /// These and those.
    #[must_use]
    pub const fn with(self, flags: Flags) -> Flags {
        Flags(self.0 | flags.0)
    }
}

/// A packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Its place in the table of hops: where it is, or where it begins.
    pub hop: u32,
    /// Index of its flow.
    pub flow: u32,
    /// See [`Kind`].
    pub number: u32,
    /// Size as an IP packet.
    pub size_bytes: u32,
    /// Timestamp of the sender of this packet, in ms. [RFC 7323](https://www.rfc-editor.org/rfc/rfc7323)
    pub ts_val_ms: u32,
    /// The timestamp that it echoes, in ms.
    pub ts_echo_ms: u32,
    /// Window offered beyond `number`, in packets. ACKs only.
    pub window_packets: u32,
    /// Its role.
    pub kind: Kind,
    /// Its ECN bits.
    pub ecn: Ecn,
    /// Its flags.
    pub flags: Flags,
    /// What arrived beyond `number`. ACKs only.
    pub sacks: Sacks,
}

impl Packet {
    /// A packet of a flow, with nothing in it yet.
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
            window_packets: 0,
            kind,
            ecn: Ecn::NotEct,
            flags: Flags::NONE,
            sacks: Sacks::default(),
        }
    }

    /// The size of an ACK with its SACK option.
    pub fn set_sacks(&mut self, sacks: Sacks) {
        self.sacks = sacks;
        self.size_bytes = HEADER_BYTES + sacks.bytes();
    }
}

/// The timestamp clock: milliseconds, as Linux's.
#[expect(clippy::cast_possible_truncation, reason = "2^32 ms are 49 days; a run is shorter")]
pub fn timestamp_ms(now: Time) -> u32 {
    // Zero is what a packet without a timestamp echoes, so the clock starts at one.
    (now.ms() + 1) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 52 + 4 + 2 × 8 = 72.
    #[test]
    fn an_ack_grows_by_its_sack_option() {
        let mut sacks = Sacks::default();
        sacks.push(Block { start: 3, end: 4 });
        sacks.push(Block { start: 6, end: 9 });
        let mut ack = Packet::new(Kind::Ack, 0);
        ack.set_sacks(sacks);
        assert_eq!(ack.size_bytes, 72);
    }

    #[test]
    fn a_fourth_block_does_not_fit() {
        let mut sacks = Sacks::default();
        (0..4).for_each(|i| sacks.push(Block { start: 2 * i, end: 2 * i + 1 }));
        assert_eq!(sacks.as_slice().len(), 3);
    }
}
