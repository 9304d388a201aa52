//! Conversion between packets of scripts and bytes of IPv4 and TCP.

use etherparse::{IpEcn, IpNumber, Ipv4Header, TcpHeader, TcpOptionElement};
use tussle_core::net::packet::{Block, Ecn, Flags, Kind, Packet, Sacks, TIMESTAMPS_BYTES, header_bytes};
use tussle_core::script::MSS_BYTES;

use super::addresses::{HOST, HOST_PORT, PEER, PEER_PORT};

/// Largest window in the header, before scaling.
const MAX_UNSCALED: u32 = u16::MAX as u32;
/// Largest window scale ([RFC 7323, 2.3](https://www.rfc-editor.org/rfc/rfc7323#section-2.3)).
const MAX_SHIFT: u8 = 14;
/// Time to live of the IP header.
const TTL: u8 = 64;

/// Origins of the sequence numbers of both ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Origins {
    /// Sequence number of the host's first byte.
    pub(super) host: u32,
    /// Sequence number of the peer's first byte.
    pub(super) peer: u32,
    /// Scale of the peer's window.
    pub(super) shift: u8,
    /// Whether the peer has timestamps.
    pub(super) timestamps: bool,
}

/// A packet that the host has sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct HostPacket {
    pub(super) packet: Packet,
    /// Sequence number in the header; only a SYN's is read.
    pub(super) sequence: u32,
}

impl Origins {
    /// Origins for a peer with timestamps, whose window is sent as exactly as the header allows.
    pub(super) fn new(window_packets: u32) -> Origins {
        let bytes = window_bytes(window_packets);
        let shift = (0..MAX_SHIFT).find(|shift| bytes >> shift <= u64::from(MAX_UNSCALED));
        Origins { host: 0, peer: 1, shift: shift.unwrap_or(MAX_SHIFT), timestamps: true }
    }

    /// Encodes a packet from the peer.
    pub(super) fn encode(&self, packet: &Packet) -> anyhow::Result<Vec<u8>> {
        let mut tcp = TcpHeader::new(PEER_PORT, HOST_PORT, self.peer, self.window(packet.window.packets()));
        tcp.ack = packet.kind != Kind::Syn;
        tcp.acknowledgment_number = self.host;
        tcp.ece = packet.flags.has(Flags::ECE);
        tcp.cwr = packet.flags.has(Flags::CWR);
        let mut payload = Vec::new();
        match packet.kind {
            Kind::Syn | Kind::SynAck => {
                tcp.syn = true;
                tcp.sequence_number = self.peer.wrapping_sub(1);
                // The window of a SYN is never scaled.
                let bytes = window_bytes(packet.window.packets()).min(u64::from(MAX_UNSCALED));
                tcp.window_size = u16::try_from(bytes).expect("limited");
            }
            Kind::Data => {
                tcp.sequence_number = self.peer.wrapping_add(packet.number.wrapping_mul(MSS_BYTES));
                payload.resize((packet.size_bytes - header_bytes(self.timestamps)) as usize, 0);
            }
            Kind::Datagram => anyhow::bail!("a packet script has no datagrams"),
            Kind::Ack => {
                tcp.acknowledgment_number = self.host.wrapping_add(packet.number.wrapping_mul(MSS_BYTES));
            }
        }
        tcp.set_options(&self.options(packet))?;
        let length = u16::try_from(tcp.header_len() + payload.len())?;
        let mut ip = Ipv4Header::new(length, TTL, IpNumber::TCP, PEER.octets(), HOST.octets())?;
        ip.ecn = match packet.ecn {
            Ecn::NotEct => IpEcn::NotEct,
            Ecn::Ect0 => IpEcn::Ect0,
            Ecn::Ect1 => IpEcn::Ect1,
            Ecn::Ce => IpEcn::CongestionExperienced,
        };
        ip.header_checksum = ip.calc_header_checksum();
        tcp.checksum = tcp.calc_checksum_ipv4(&ip, &payload)?;
        let mut bytes = Vec::new();
        ip.write(&mut bytes)?;
        tcp.write(&mut bytes)?;
        bytes.append(&mut payload);
        Ok(bytes)
    }

    fn window(&self, packets: u32) -> u16 {
        // Rounded up by less than a packet, which releases no further packet.
        let scaled = window_bytes(packets).div_ceil(1 << self.shift);
        u16::try_from(scaled).unwrap_or(u16::MAX)
    }

    fn options(&self, packet: &Packet) -> Vec<TcpOptionElement> {
        use TcpOptionElement::{
            Noop, SelectiveAcknowledgement, SelectiveAcknowledgementPermitted, Timestamp, WindowScale,
        };
        let timestamp = Timestamp(packet.ts_val_ms, packet.ts_echo_ms);
        if matches!(packet.kind, Kind::Syn | Kind::SynAck) {
            let mut options = vec![self.mss_option(), SelectiveAcknowledgementPermitted];
            options.extend(self.timestamps.then_some(timestamp));
            options.extend([Noop, WindowScale(self.shift)]);
            return options;
        }
        let mut options = if self.timestamps { vec![Noop, Noop, timestamp] } else { Vec::new() };
        let edge = |number: u32| self.host.wrapping_add(number.wrapping_mul(MSS_BYTES));
        let mut blocks = packet.sacks.as_slice().iter().map(|block| (edge(block.start), edge(block.end)));
        if let Some(first) = blocks.next() {
            let rest = [blocks.next(), blocks.next(), blocks.next()];
            options.extend([Noop, Noop, SelectiveAcknowledgement(first, rest)]);
        }
        options
    }

    /// Segment size with which full segments have the payload of a script's. The option counts timestamps, if there are any.
    fn mss_option(&self) -> TcpOptionElement {
        let bytes = MSS_BYTES + if self.timestamps { TIMESTAMPS_BYTES } else { 0 };
        TcpOptionElement::MaximumSegmentSize(u16::try_from(bytes).expect("1460 or 1448"))
    }

    /// Decodes a packet of the host; `None` if it is not TCP.
    ///
    /// # Errors
    /// The packet is not a whole number of full segments.
    pub(super) fn decode(&self, bytes: &[u8]) -> anyhow::Result<Option<HostPacket>> {
        let (ip, rest) = Ipv4Header::from_slice(bytes)?;
        if ip.protocol != IpNumber::TCP {
            return Ok(None);
        }
        let (tcp, payload) = TcpHeader::from_slice(rest)?;
        let kind = match (tcp.syn, tcp.ack, payload.is_empty()) {
            (true, false, _) => Kind::Syn,
            (true, true, _) => Kind::SynAck,
            (false, _, true) => Kind::Ack,
            (false, _, false) => Kind::Data,
        };
        let mut packet = Packet::new(kind, 0);
        packet.ecn = match ip.ecn {
            IpEcn::NotEct => Ecn::NotEct,
            IpEcn::Ect0 => Ecn::Ect0,
            IpEcn::Ect1 => Ecn::Ect1,
            IpEcn::CongestionExperienced => Ecn::Ce,
        };
        for (set, flag) in [(tcp.ece, Flags::ECE), (tcp.cwr, Flags::CWR), (tcp.fin, Flags::FIN)] {
            if set {
                packet.flags = packet.flags.with(flag);
            }
        }
        let mut sacks = Sacks::default();
        for option in tcp.options_iterator() {
            match option? {
                TcpOptionElement::Timestamp(value, echo) => {
                    (packet.ts_val_ms, packet.ts_echo_ms) = (value, echo);
                }
                TcpOptionElement::SelectiveAcknowledgement(first, rest) => {
                    for (start, end) in std::iter::once(first).chain(rest.into_iter().flatten()) {
                        let number = |edge: u32| whole(edge.wrapping_sub(self.peer));
                        sacks.push(Block { start: number(start)?, end: number(end)? }, Sacks::MAX_BLOCKS);
                    }
                }
                _ => {}
            }
        }
        packet.sacks = sacks;
        packet.number = match kind {
            Kind::Data => whole(tcp.sequence_number.wrapping_sub(self.host))?,
            Kind::Ack => whole(tcp.acknowledgment_number.wrapping_sub(self.peer))?,
            Kind::Syn | Kind::SynAck | Kind::Datagram => 0,
        };
        if kind == Kind::Data {
            whole(u32::try_from(payload.len())?)?;
            packet.size_bytes = header_bytes(self.timestamps) + u32::try_from(payload.len())?;
        }
        Ok(Some(HostPacket { packet, sequence: tcp.sequence_number }))
    }
}

fn window_bytes(packets: u32) -> u64 {
    u64::from(packets) * u64::from(MSS_BYTES)
}

/// Number of full segments in a number of bytes.
fn whole(bytes: u32) -> anyhow::Result<u32> {
    anyhow::ensure!(bytes.is_multiple_of(MSS_BYTES), "the kernel sent a part of a packet: {bytes} bytes");
    Ok(bytes / MSS_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 4 packets are 5792 bytes, which need no scale; 100 are 144800, of which a quarter fits 16 bits; the
    /// largest window is 65535 × 2^14.
    #[test]
    fn windows_are_as_exact_as_the_header_allows() {
        let encoded = |packets| {
            let origins = Origins::new(packets);
            (origins.shift, origins.window(packets))
        };
        assert_eq!(encoded(4), (0, 5792));
        assert_eq!(encoded(100), (2, 36200));
        assert_eq!(encoded(1 << 20), (14, u16::MAX));
    }

    /// The numbers of an ACK count bytes from the host's origin.
    #[test]
    fn an_ack_is_written_in_bytes() {
        let origins = Origins { host: 1000, peer: 5, shift: 0, timestamps: true };
        let mut ack = Packet::new(Kind::Ack, 0);
        ack.number = 2;
        let mut sacks = Sacks::default();
        sacks.push(Block { start: 3, end: 5 }, Sacks::MAX_BLOCKS);
        ack.set_sacks(sacks);
        let bytes = origins.encode(&ack).unwrap();
        assert_eq!(bytes.len(), ack.size_bytes as usize, "the simulator's packets are as long as these");
        let (_, rest) = Ipv4Header::from_slice(&bytes).unwrap();
        let (tcp, _) = TcpHeader::from_slice(rest).unwrap();
        assert_eq!(tcp.acknowledgment_number, 1000 + 2 * 1448);
        let sack = TcpOptionElement::SelectiveAcknowledgement((1000 + 3 * 1448, 1000 + 5 * 1448), [None; 3]);
        assert!(tcp.options_iterator().any(|option| option == Ok(sack.clone())));
    }
}
