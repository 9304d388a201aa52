//! Conversion between the headers of real packets and packets of the simulator.

use std::net::Ipv4Addr;

use etherparse::{IpEcn, IpNumber, Ipv4HeaderSlice};
use tussle_core::net::packet::{Ecn, Flags, Kind, Packet};

/// Offsets in the TCP header of the sequence number, the acknowledgement number, the data offset (in the
/// upper four bits) and the flags ([RFC 9293, 3.1](https://www.rfc-editor.org/rfc/rfc9293#section-3.1)).
const SEQUENCE: usize = 4;
const ACKNOWLEDGED: usize = 8;
const DATA_OFFSET: usize = 12;
const FLAGS: usize = 13;
const SYN: u8 = 2;
const ACK: u8 = 16;

/// Converts the headers of a packet of `size_bytes` to a packet of the simulator, and returns its destination.
/// `None` if it is neither TCP nor UDP over IPv4. The caller sets flow and number.
pub(super) fn read(header: &[u8], size_bytes: u32) -> Option<(Packet, Ipv4Addr)> {
    let ip = Ipv4HeaderSlice::from_slice(header).ok()?;
    let rest = header.get(ip.slice().len()..)?;
    let segment_bytes = (size_bytes as usize).checked_sub(ip.slice().len())?;
    let kind = match ip.protocol() {
        IpNumber::TCP => {
            let flags = *rest.get(FLAGS)?;
            match (
                flags & SYN != 0,
                flags & ACK != 0,
                segment_bytes > 4 * usize::from(rest[DATA_OFFSET] >> 4),
            ) {
                (true, false, _) => Kind::Syn,
                (true, true, _) => Kind::SynAck,
                (false, _, false) => Kind::Ack,
                (false, _, true) => Kind::Data,
            }
        }
        IpNumber::UDP => Kind::Datagram,
        _ => return None,
    };
    let ecn = match ip.ecn() {
        IpEcn::NotEct => Ecn::NotEct,
        IpEcn::Ect0 => Ecn::Ect0,
        IpEcn::Ect1 => Ecn::Ect1,
        IpEcn::CongestionExperienced => Ecn::Ce,
    };
    let packet = Packet { size_bytes, ecn, ..Packet::new(kind, 0) };
    Some((packet, ip.destination_addr()))
}

/// Sequence number and acknowledgement number of a TCP segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SequenceNumbers {
    pub(super) sequence: u32,
    pub(super) acknowledged: u32,
}

/// Sequence numbers of a packet, from its headers; `None` if it is not TCP.
pub fn sequence_numbers(bytes: &[u8]) -> Option<SequenceNumbers> {
    let ip = Ipv4HeaderSlice::from_slice(bytes).ok()?;
    let header = bytes.get(ip.slice().len()..).filter(|_| ip.protocol() == IpNumber::TCP)?;
    let number = |begin: usize| Some(u32::from_be_bytes(header.get(begin..begin + 4)?.try_into().ok()?));
    Some(SequenceNumbers { sequence: number(SEQUENCE)?, acknowledged: number(ACKNOWLEDGED)? })
}

/// Applies the changes of elements to the bytes of a packet.
pub fn apply(packet: &Packet, bytes: &mut [u8]) {
    if packet.ecn == Ecn::Ce {
        mark(bytes);
    }
    if packet.flags.has(Flags::CORRUPT) {
        damage(bytes);
    }
}

/// Makes the receiver drop a packet. Linux counts a TCP segment with data before it checks the checksum, so
/// that the segment would seem to have arrived. A header with a data offset of 0 is dropped at once.
pub fn damage(bytes: &mut [u8]) {
    let Ok(ip) = Ipv4HeaderSlice::from_slice(bytes) else { return };
    let (protocol, begin) = (ip.protocol(), ip.slice().len());
    if protocol == IpNumber::TCP
        && let Some(length) = bytes.get_mut(begin + DATA_OFFSET)
    {
        *length &= 0x0f;
    } else if let Some(last) = bytes.last_mut() {
        *last ^= 1;
    }
}

/// Marks an IPv4 packet as "congestion experienced", and updates its checksum.
/// [RFC 3168, 5](https://www.rfc-editor.org/rfc/rfc3168#section-5)
pub fn mark(bytes: &mut [u8]) {
    let Ok(ip) = Ipv4HeaderSlice::from_slice(bytes) else { return };
    let mut header = ip.to_header();
    header.ecn = IpEcn::CongestionExperienced;
    header.header_checksum = header.calc_header_checksum();
    let written = header.to_bytes();
    bytes[..written.len()].copy_from_slice(&written);
}

#[cfg(test)]
pub(crate) mod tests {
    use etherparse::{Ipv4Header, PacketBuilder, PacketBuilderStep, TcpHeader};

    use super::*;

    /// A TCP segment with a payload, for any flow.
    pub(crate) fn segment(to: Ipv4Addr, payload_bytes: usize) -> Vec<u8> {
        segment_from(7, to, payload_bytes)
    }

    /// A TCP segment with the sequence number of its first byte.
    pub(crate) fn segment_from(sequence: u32, to: Ipv4Addr, payload_bytes: usize) -> Vec<u8> {
        let ip = PacketBuilder::ipv4([10, 1, 1, 0], to.octets(), 64);
        written(ip.tcp(40_000, 5001, sequence, 1000).ack(1), payload_bytes)
    }

    /// A SYN with its sequence number.
    pub(crate) fn opening(sequence: u32, to: Ipv4Addr) -> Vec<u8> {
        let ip = PacketBuilder::ipv4([10, 1, 1, 0], to.octets(), 64);
        written(ip.tcp(40_000, 5001, sequence, 1000).syn(), 0)
    }

    fn written(builder: PacketBuilderStep<TcpHeader>, payload_bytes: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        builder.write(&mut bytes, &vec![0; payload_bytes]).unwrap();
        bytes
    }

    fn read_whole(bytes: &[u8]) -> Option<(Packet, Ipv4Addr)> {
        read(bytes, u32::try_from(bytes.len()).unwrap())
    }

    /// The TCP checksum in the packet, and the correct one.
    fn checksums(bytes: &[u8]) -> (u16, u16) {
        let (ip, rest) = Ipv4Header::from_slice(bytes).unwrap();
        let (tcp, payload) = TcpHeader::from_slice(rest).unwrap();
        (tcp.checksum, tcp.calc_checksum_ipv4(&ip, payload).unwrap())
    }

    #[test]
    fn data_and_acknowledgements_are_distinguished() {
        let to = Ipv4Addr::new(10, 2, 1, 0);
        let described = |payload_bytes| {
            let (packet, destination) = read_whole(&segment(to, payload_bytes)).unwrap();
            assert_eq!(destination, to);
            (packet.kind, packet.size_bytes)
        };
        // 20 bytes of IPv4 and 20 of TCP without options.
        assert_eq!(described(1448), (Kind::Data, 1488));
        assert_eq!(described(0), (Kind::Ack, 40));
        assert_eq!(read_whole(&[0x45; 9]), None);
    }

    #[test]
    fn a_mark_leaves_both_checksums_right() {
        let mut bytes = segment(Ipv4Addr::new(10, 2, 1, 0), 9);
        let (packet, _) = read_whole(&bytes).unwrap();
        apply(&Packet { ecn: Ecn::Ce, ..packet }, &mut bytes);
        assert_eq!(read_whole(&bytes).unwrap().0.ecn, Ecn::Ce);
        let (ip, _) = Ipv4Header::from_slice(&bytes).unwrap();
        assert_eq!(ip.header_checksum, ip.calc_header_checksum());
        let (found, right) = checksums(&bytes);
        assert_eq!(found, right);
    }

    #[test]
    fn damage_keeps_the_ip_header_and_breaks_the_tcp_header() {
        for payload_bytes in [0, 1448] {
            let before = segment(Ipv4Addr::new(10, 2, 1, 0), payload_bytes);
            let mut bytes = before.clone();
            let (packet, _) = read_whole(&bytes).unwrap();
            apply(&Packet { flags: Flags::CORRUPT, ..packet }, &mut bytes);
            // The IP header, which routers read.
            assert_eq!(bytes[..20], before[..20]);
            assert!(TcpHeader::from_slice(&bytes[20..]).is_err());
            // The packet may still cross another element.
            assert!(read_whole(&bytes).is_some());
        }
    }
}
