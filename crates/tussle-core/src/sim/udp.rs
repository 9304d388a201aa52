//! UDP without congestion control: what is written leaves at once, and is not heard of again.
//! Source: RFC 768; what such traffic does to others: RFC 8085, 3.1.

use std::collections::BTreeMap;

use crate::cc::CongestionControl;
use crate::net::packet::{DATAGRAM_HEADER_BYTES, Kind, Packet};
use crate::run::{FlowSpec, UDP};
use crate::tcp::{Outbox, Sender};

/// What stands in the place of an algorithm.
#[derive(Debug)]
struct Unresponsive;

impl CongestionControl for Unresponsive {
    fn name(&self) -> &'static str {
        UDP
    }
}

/// What stands in the place of an algorithm.
///
/// # Errors
/// It takes no parameters.
pub(crate) fn algorithm(parameters: &BTreeMap<String, i64>) -> Result<Box<dyn CongestionControl>, String> {
    match parameters.keys().next() {
        Some(name) => Err(format!("udp has none; leave out {name}")),
        None => Ok(Box::new(Unresponsive)),
    }
}

/// Sends so many full packets of a flow.
pub(crate) fn send(packets: u32, (sender, spec): (&mut Sender, &FlowSpec), out: &mut Outbox) {
    for _ in 0..packets {
        let mut packet = Packet::new(Kind::Datagram, sender.index());
        #[expect(clippy::cast_possible_truncation, reason = "a number that only events tell")]
        let number = sender.counts.sent_packets as u32;
        packet.number = number;
        packet.size_bytes = DATAGRAM_HEADER_BYTES + spec.mss_bytes;
        sender.counts.sent_packets += 1;
        out.send(packet);
    }
}
