//! Packets dropped or damaged by elements, by their numbers in the flow.

use tussle_core::Run;
use tussle_core::Time;
use tussle_core::net::packet::{Kind, Packet};

use super::header::sequence_numbers;

/// Kind of a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossKind {
    /// An element dropped it.
    Dropped,
    /// An element damaged it, and the receiver drops it.
    Damaged,
}

/// A packet that was dropped or damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss {
    /// Time of the loss.
    pub at: Time,
    /// Kind of the loss.
    pub kind: LossKind,
    /// Index of the flow.
    pub flow: usize,
    /// Index of the element that dropped the packet.
    pub element: Option<usize>,
    /// Number of the packet, or of the first packet that an ACK asks for, from zero.
    pub packet: Option<u32>,
}

/// Losses of a run, recorded if its events are.
#[derive(Debug)]
pub(super) struct Losses {
    recorded: bool,
    flows: Vec<Numbering>,
    found: Vec<Loss>,
}

impl Losses {
    pub(super) fn new(run: &Run) -> Losses {
        let flows = run.flows.iter();
        Losses {
            recorded: run.record.events,
            flows: flows.map(|flow| Numbering { mss_bytes: flow.mss_bytes, first: None }).collect(),
            found: Vec::new(),
        }
    }

    /// Processes a packet. The first packets of a flow give its initial sequence number.
    pub(super) fn see(&mut self, packet: &Packet, bytes: &[u8]) {
        let first = &mut self.flows[packet.flow as usize].first;
        if let Some((sequence, acknowledged)) = sequence_numbers(bytes) {
            match packet.kind {
                Kind::Syn => *first = Some(sequence.wrapping_add(1)),
                Kind::SynAck => *first = Some(acknowledged),
                Kind::Data | Kind::Ack | Kind::Datagram => {}
            }
        }
    }

    /// Records a packet that an element dropped at `now`.
    pub(super) fn dropped(&mut self, now: Time, element: usize, packet: &Packet, bytes: &[u8]) {
        self.note(now, LossKind::Dropped, Some(element), packet, bytes);
    }

    /// Records a packet that was damaged and continues.
    pub(super) fn damaged(&mut self, now: Time, packet: &Packet, bytes: &[u8]) {
        self.note(now, LossKind::Damaged, None, packet, bytes);
    }

    /// Takes the losses found since the last call.
    pub(super) fn take(&mut self) -> Vec<Loss> {
        std::mem::take(&mut self.found)
    }

    fn note(&mut self, at: Time, kind: LossKind, element: Option<usize>, packet: &Packet, bytes: &[u8]) {
        if self.recorded {
            let flow = packet.flow as usize;
            let packet = self.flows[flow].number(packet.kind, bytes);
            self.found.push(Loss { at, kind, flow, element, packet });
        }
    }
}

/// Numbering of a flow's packets.
#[derive(Debug)]
struct Numbering {
    mss_bytes: u32,
    /// Sequence number of the first byte of data.
    first: Option<u32>,
}

impl Numbering {
    fn number(&self, kind: Kind, bytes: &[u8]) -> Option<u32> {
        let (sequence, acknowledged) = sequence_numbers(bytes)?;
        let at = match kind {
            Kind::Syn | Kind::SynAck => return Some(0),
            Kind::Data => sequence,
            Kind::Ack => acknowledged,
            Kind::Datagram => return None,
        };
        Some(at.wrapping_sub(self.first?) / self.mss_bytes)
    }
}
