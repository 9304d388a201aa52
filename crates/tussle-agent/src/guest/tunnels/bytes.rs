//! Packets as bytes: what the simulator's elements must know of them, and what elements do to them.

use std::net::Ipv4Addr;

use etherparse::{IpEcn, IpNumber, Ipv4HeaderSlice, TcpHeaderSlice};
use tussle_core::packet::{Ecn, Flags, Kind, Packet};

/// A packet of the kernel as the simulator has it, and where it goes; `None` if it is no IPv4 of TCP or UDP. Its
/// flow and its number are left to the caller.
pub(super) fn read(bytes: &[u8]) -> Option<(Packet, Ipv4Addr)> {
    let ip = Ipv4HeaderSlice::from_slice(bytes).ok()?;
    let rest = bytes.get(ip.slice().len()..)?;
    let kind = match ip.protocol() {
        IpNumber::TCP => {
            let tcp = TcpHeaderSlice::from_slice(rest).ok()?;
            match (tcp.syn(), tcp.ack(), rest.len() > tcp.slice().len()) {
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
        IpEcn::Ect0 | IpEcn::Ect1 => Ecn::Ect,
        IpEcn::CongestionExperienced => Ecn::Ce,
    };
    let packet = Packet { size_bytes: u32::try_from(bytes.len()).ok()?, ecn, ..Packet::new(kind, 0) };
    Some((packet, ip.destination_addr()))
}

/// Does to the bytes of a packet what elements did to the packet.
pub(super) fn apply(packet: &Packet, bytes: &mut [u8]) {
    if packet.ecn == Ecn::Ce {
        mark(bytes);
    }
    if packet.flags.has(Flags::CORRUPT)
        && let Some(last) = bytes.last_mut()
    {
        // Every checksum of TCP and UDP covers it, and shows any one bit.
        *last ^= 1;
    }
}

/// Sets the ECN bits of an IPv4 packet to "congestion experienced"
/// ([RFC 3168, 5](https://www.rfc-editor.org/rfc/rfc3168#section-5)), and its checksum.
fn mark(bytes: &mut [u8]) {
    let Ok(ip) = Ipv4HeaderSlice::from_slice(bytes) else { return };
    let mut header = ip.to_header();
    header.ecn = IpEcn::CongestionExperienced;
    header.header_checksum = header.calc_header_checksum();
    let written = header.to_bytes();
    bytes[..written.len()].copy_from_slice(&written);
}

#[cfg(test)]
pub(super) mod tests {
    use etherparse::{Ipv4Header, PacketBuilder};

    use super::*;

    /// A segment of TCP with so much payload, of which any flow can be the owner.
    pub(crate) fn segment(to: Ipv4Addr, payload_bytes: usize) -> Vec<u8> {
        let builder = PacketBuilder::ipv4([10, 1, 1, 0], to.octets(), 64).tcp(40_000, 5001, 7, 1000).ack(1);
        let mut bytes = Vec::new();
        builder.write(&mut bytes, &vec![0; payload_bytes]).unwrap();
        bytes
    }

    /// The checksum of TCP as it is in the packet, and as it should be.
    fn checksums(bytes: &[u8]) -> (u16, u16) {
        let (ip, rest) = Ipv4Header::from_slice(bytes).unwrap();
        let (tcp, payload) = etherparse::TcpHeader::from_slice(rest).unwrap();
        (tcp.checksum, tcp.calc_checksum_ipv4(&ip, payload).unwrap())
    }

    #[test]
    fn data_and_acknowledgements_are_told_apart() {
        let to = Ipv4Addr::new(10, 2, 1, 0);
        let told = |payload_bytes| {
            let (packet, destination) = read(&segment(to, payload_bytes)).unwrap();
            assert_eq!(destination, to);
            (packet.kind, packet.size_bytes)
        };
        // 20 bytes of IPv4 and 20 of TCP without options.
        assert_eq!(told(1448), (Kind::Data, 1488));
        assert_eq!(told(0), (Kind::Ack, 40));
        assert_eq!(read(&[0x45; 9]), None);
    }

    #[test]
    fn a_mark_leaves_both_checksums_right() {
        let mut bytes = segment(Ipv4Addr::new(10, 2, 1, 0), 9);
        let (packet, _) = read(&bytes).unwrap();
        apply(&Packet { ecn: Ecn::Ce, ..packet }, &mut bytes);
        assert_eq!(read(&bytes).unwrap().0.ecn, Ecn::Ce);
        let (ip, _) = Ipv4Header::from_slice(&bytes).unwrap();
        assert_eq!(ip.header_checksum, ip.calc_header_checksum());
        let (found, right) = checksums(&bytes);
        assert_eq!(found, right);
    }

    #[test]
    fn damage_shows_in_the_checksum_of_tcp_alone() {
        for payload_bytes in [0, 1448] {
            let mut bytes = segment(Ipv4Addr::new(10, 2, 1, 0), payload_bytes);
            let (packet, _) = read(&bytes).unwrap();
            apply(&Packet { flags: Flags::CORRUPT, ..packet }, &mut bytes);
            let (ip, _) = Ipv4Header::from_slice(&bytes).unwrap();
            assert_eq!(ip.header_checksum, ip.calc_header_checksum());
            let (found, right) = checksums(&bytes);
            assert_ne!(found, right, "{payload_bytes} bytes");
        }
    }
}
