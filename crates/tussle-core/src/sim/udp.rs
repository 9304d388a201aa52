//! UDP endpoints: a source that sends each write at once, and a sink that counts the datagrams that arrive.
//! Sources: RFC 768; RFC 8085, 3.1, on the effect of such traffic on other flows.

use crate::net::packet::{DATAGRAM_HEADER_BYTES, Kind, Packet};
use crate::tcp::Outbox;

/// The sending end of a UDP flow. It has no window and no congestion control.
#[derive(Debug)]
pub(super) struct UdpSource {
    flow: u32,
    payload_bytes: u32,
    sent_packets: u64,
}

impl UdpSource {
    /// Creates the source of a flow, given by its index, with `payload_bytes` per datagram.
    pub(super) fn new(flow: u32, payload_bytes: u32) -> UdpSource {
        UdpSource { flow, payload_bytes, sent_packets: 0 }
    }

    /// Sends `packets` full datagrams.
    pub(super) fn send(&mut self, packets: u32, out: &mut Outbox) {
        for _ in 0..packets {
            let mut packet = Packet::new(Kind::Datagram, self.flow);
            #[expect(clippy::cast_possible_truncation, reason = "only the events table shows the number")]
            let number = self.sent_packets as u32;
            packet.number = number;
            packet.size_bytes = DATAGRAM_HEADER_BYTES + self.payload_bytes;
            self.sent_packets += 1;
            out.send(packet);
        }
    }

    /// Datagrams sent so far.
    pub(super) fn sent_packets(&self) -> u64 {
        self.sent_packets
    }
}

/// The receiving end of a UDP flow. The application gets each datagram as it arrives, duplicates included.
#[derive(Debug, Default)]
pub(super) struct UdpSink {
    received_packets: u64,
    delivered_bytes: u64,
}

impl UdpSink {
    /// Processes a datagram that arrived.
    pub(super) fn on_packet(&mut self, packet: &Packet) {
        self.received_packets += 1;
        self.delivered_bytes += u64::from(packet.size_bytes - DATAGRAM_HEADER_BYTES);
    }

    /// Datagrams that arrived.
    pub(super) fn received_packets(&self) -> u64 {
        self.received_packets
    }

    /// Payload that arrived.
    pub(super) fn delivered_bytes(&self) -> u64 {
        self.delivered_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three datagrams with 1000 bytes of payload, the second of them duplicated.
    #[test]
    fn a_sink_counts_datagrams_including_duplicates() {
        let (mut source, mut sink, mut out) =
            (UdpSource::new(0, 1000), UdpSink::default(), Outbox::default());
        source.send(3, &mut out);
        assert_eq!(out.packets.iter().map(|packet| packet.number).collect::<Vec<_>>(), [0, 1, 2]);
        assert!(out.packets.iter().all(|packet| packet.size_bytes == 1028));
        sink.on_packet(&out.packets[1]);
        sink.on_packet(&out.packets[1]);
        assert_eq!((source.sent_packets(), sink.received_packets(), sink.delivered_bytes()), (3, 2, 2000));
    }
}
