//! Merging of packets at a receiver with offloads: consecutive packets of a flow that arrive at one instant are processed
//! as one (Linux: GRO), so that one ACK answers them.

use crate::net::packet::{Flags, Kind, Packet};

/// Largest IP packet that packets are merged to (Linux: `gro_max_size`).
const MAX_BYTES: u32 = 65_536;

/// Consecutive packets that wait to be processed as one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Merged {
    first: Packet,
    last: Packet,
    packets: u32,
    bytes: u32,
}

impl Merged {
    /// A packet that others may follow.
    pub(super) fn new(packet: &Packet) -> Merged {
        Merged { first: *packet, last: *packet, packets: 1, bytes: packet.size_bytes }
    }

    /// Adds a packet; returns whether it continues the others. Its headers must be equal but for its number, and for the
    /// flags of the last packet of a burst or of the flow.
    pub(super) fn add(&mut self, packet: &Packet) -> bool {
        let continues = packet.kind == Kind::Data
            && self.last.kind == Kind::Data
            && packet.number == self.last.number + 1
            && packet.ts_val_ms == self.first.ts_val_ms
            && packet.ecn == self.first.ecn
            && !packet.flags.has(Flags::CWR)
            && !self.last.flags.has(Flags::FIN)
            && !self.last.flags.has(Flags::PSH)
            && packet.size_bytes <= self.first.size_bytes
            && self.bytes + packet.size_bytes < MAX_BYTES;
        if continues {
            self.last = *packet;
            self.packets += 1;
            self.bytes += packet.size_bytes;
        }
        continues
    }

    /// The packets, in the order of their arrival.
    pub(super) fn packets(self) -> impl Iterator<Item = Packet> {
        let before_last = (0..self.packets - 1)
            .map(move |place| Packet { number: self.first.number + place, ..self.first });
        before_last.chain([self.last])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::packet::Ecn;

    fn data(number: u32) -> Packet {
        Packet { number, size_bytes: 1500, ts_val_ms: 7, ..Packet::new(Kind::Data, 0) }
    }

    #[test]
    fn packets_of_one_burst_are_merged_in_order() {
        let mut merged = Merged::new(&Packet { flags: Flags::CWR, ..data(3) });
        assert!(merged.add(&data(4)));
        assert!(merged.add(&Packet { flags: Flags::PSH, size_bytes: 700, ..data(5) }));
        assert!(!merged.add(&data(6)), "another burst begins");
        let packets: Vec<_> = merged.packets().map(|packet| (packet.number, packet.size_bytes)).collect();
        assert_eq!(packets, [(3, 1500), (4, 1500), (5, 700)]);
    }

    #[test]
    fn packets_with_other_headers_are_not_merged() {
        let merged = Merged::new(&data(3));
        for other in [
            data(3),
            data(5),
            Packet { ts_val_ms: 8, ..data(4) },
            Packet { ecn: Ecn::Ce, ..data(4) },
            Packet { flags: Flags::CWR, ..data(4) },
        ] {
            assert!(!{ merged }.add(&other), "{other:?}");
        }
    }

    /// 65,536 / 1500 = 43.7.
    #[test]
    fn at_most_64_kib_are_merged() {
        let mut merged = Merged::new(&data(0));
        let added = (1..100).take_while(|&number| merged.add(&data(number))).count();
        assert_eq!(added + 1, 43);
    }
}
