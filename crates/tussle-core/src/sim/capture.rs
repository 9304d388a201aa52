//! Packet capture at the hosts of a run.
//!
//! Two taps are elements of the path. They forward every packet at once, so that they do not change the run,
//! and a run without a capture has no overhead.

use std::sync::{Arc, Mutex, PoisonError};

use crate::Time;
use crate::net::packet::{Block, Ecn, Flags, Kind, Packet};
use crate::net::path::Element;
use crate::table::{Column, Labels, Table, Values};

/// A packet at a host, with its time.
#[derive(Clone, Copy, Debug)]
struct CapturedPacket {
    at: Time,
    side: Side,
    packet: Packet,
}

/// End of the flows at which a packet was captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Sender,
    Receiver,
}

/// Packets that the hosts of a run sent and received.
#[derive(Clone, Debug, Default)]
pub struct Capture(Arc<Mutex<Vec<CapturedPacket>>>);

impl Capture {
    /// The capturing elements: next to the senders, and next to the receivers.
    pub(crate) fn taps(&self) -> [Box<dyn Element>; 2] {
        [Side::Sender, Side::Receiver]
            .map(|side| Box::new(Tap { side, capture: self.clone() }) as Box<dyn Element>)
    }

    /// Number of packets captured so far.
    pub fn packets(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Table with one row per packet and host, in order of time.
    pub fn table(&self) -> Table {
        let captured = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let u32s = |value: fn(&Packet) -> u32| {
            Values::U32(captured.iter().map(|each| value(&each.packet)).collect())
        };
        let flag = |flag: Flags| {
            Values::U32(captured.iter().map(|each| each.packet.flags.has(flag).into()).collect())
        };
        let named = |name: fn(&CapturedPacket) -> &'static str| {
            let mut labels = Labels::default();
            for each in &captured {
                labels.push(name(each));
            }
            labels.values()
        };
        let block = |index: usize, edge: fn(&Block) -> u32| {
            Values::MaybeU32(
                captured.iter().map(|each| each.packet.sacks.as_slice().get(index).map(edge)).collect(),
            )
        };
        let mut columns = vec![
            ("time_ns".to_owned(), Values::U64(captured.iter().map(|each| each.at.ns()).collect())),
            ("side".to_owned(), named(|each| side_name(each.side))),
            ("flow".to_owned(), u32s(|packet| packet.flow)),
            ("kind".to_owned(), named(|each| kind_name(each.packet.kind))),
            ("number".to_owned(), u32s(|packet| packet.number)),
            ("size_bytes".to_owned(), u32s(|packet| packet.size_bytes)),
            ("ts_val_ms".to_owned(), u32s(|packet| packet.ts_val_ms)),
            ("ts_echo_ms".to_owned(), u32s(|packet| packet.ts_echo_ms)),
            ("window_packets".to_owned(), u32s(|packet| packet.window.packets())),
            ("ecn".to_owned(), named(|each| ecn_name(each.packet.ecn))),
            ("ece".to_owned(), flag(Flags::ECE)),
            ("cwr".to_owned(), flag(Flags::CWR)),
            ("fin".to_owned(), flag(Flags::FIN)),
            ("corrupt".to_owned(), flag(Flags::CORRUPT)),
        ];
        for index in 0..crate::net::packet::Sacks::MAX_BLOCKS {
            columns.push((format!("sack_{index}_start"), block(index, |block| block.start)));
            columns.push((format!("sack_{index}_end"), block(index, |block| block.end)));
        }
        let columns = columns.into_iter().map(|(name, values)| Column { name, values }).collect();
        Table { name: "packets", columns }
    }
}

fn side_name(side: Side) -> &'static str {
    match side {
        Side::Sender => "sender",
        Side::Receiver => "receiver",
    }
}

fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Syn => "syn",
        Kind::SynAck => "syn_ack",
        Kind::Data => "data",
        Kind::Ack => "ack",
        Kind::Datagram => "datagram",
    }
}

fn ecn_name(ecn: Ecn) -> &'static str {
    match ecn {
        Ecn::NotEct => "not_ect",
        Ecn::Ect0 => "ect0",
        Ecn::Ect1 => "ect1",
        Ecn::Ce => "ce",
    }
}

/// An element that records every packet and forwards it unchanged.
#[derive(Debug)]
struct Tap {
    side: Side,
    capture: Capture,
}

impl Element for Tap {
    fn accept(&mut self, packet: Packet, now: Time, _dropped: &mut Vec<Packet>) -> Option<Packet> {
        let mut captured = self.capture.0.lock().unwrap_or_else(PoisonError::into_inner);
        captured.push(CapturedPacket { at: now, side: self.side, packet });
        Some(packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Run;
    use crate::sim::Simulation;

    fn lossy() -> Run {
        serde_json::from_value(serde_json::json!({
            "format": 1, "profile": "linux-6.1", "seed": 1, "duration_ns": 3_000_000_000u64,
            "steady": {"from_ns": 0, "to_ns": 3_000_000_000u64},
            "record": {"sampling": "change", "events": true},
            "elements": [
                {"name": "loss", "kind": "loss", "probability": 0.01},
                {"name": "link", "kind": "link", "rate_bit_per_s": 10_000_000, "delay_ns": 10_000_000,
                 "queue": {"kind": "fifo", "limit_packets": 20}},
                {"name": "back", "kind": "delay", "delay_ns": 10_000_000},
            ],
            "flows": [
                {"name": "a", "algorithm": "cubic", "start_ns": 0, "mss_bytes": 1448,
                 "forward": ["loss", "link"], "reverse": ["back"]},
                {"name": "b", "algorithm": "bbr", "start_ns": 0, "mss_bytes": 1448,
                 "forward": ["loss", "link"], "reverse": ["back"]},
            ],
        }))
        .unwrap()
    }

    #[test]
    fn a_capture_does_not_change_the_run() {
        let capture = Capture::default();
        let captured_run = Simulation::builder(&lossy()).capture(&capture).build().unwrap();
        let plain = Simulation::new(&lossy()).unwrap().run_to_end().unwrap();
        assert_eq!(captured_run.run_to_end().unwrap(), plain);
        assert!(capture.packets() > 1000, "only {} packets were captured", capture.packets());
    }

    #[test]
    fn a_capture_has_every_sent_and_every_received_packet() {
        let capture = Capture::default();
        let simulation = Simulation::builder(&lossy()).capture(&capture).build().unwrap();
        let flows = simulation.run_to_end().unwrap().flows;
        let Table { columns, .. } = capture.table();
        let labels = |name: &str| match &columns.iter().find(|each| each.name == name).unwrap().values {
            Values::Label { codes, names } => {
                codes.iter().map(|&code| names[code as usize].clone()).collect::<Vec<_>>()
            }
            other => panic!("{other:?}"),
        };
        let of = |side: &str| {
            let pairs = labels("side").into_iter().zip(labels("kind"));
            pairs.filter(|(at, kind)| at == side && kind == "data").count() as u64
        };
        let sum = |name: &str| match &flows.columns.iter().find(|each| each.name == name).unwrap().values {
            Values::MaybeU64(values) => values.iter().flatten().sum::<u64>(),
            other => panic!("{other:?}"),
        };
        assert_eq!(of("sender"), sum("sent_packets"));
        assert!(of("sender") - of("receiver") >= sum("dropped_packets"), "the other packets are on the path");
    }
}
