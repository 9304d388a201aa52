//! Packets dropped or damaged by elements, by their numbers in the flow.

use tussle_core::Run;
use tussle_core::Time;
use tussle_core::net::packet::{Kind, Packet};

use super::header::SequenceNumbers;

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
    pub(super) fn see(&mut self, packet: &Packet, numbers: Option<SequenceNumbers>) {
        let first = &mut self.flows[packet.flow as usize].first;
        if let Some(numbers) = numbers {
            match packet.kind {
                Kind::Syn => *first = Some(numbers.sequence.wrapping_add(1)),
                Kind::SynAck => *first = Some(numbers.acknowledged),
                Kind::Data | Kind::Ack | Kind::Datagram => {}
            }
        }
    }

    /// Records a packet that an element dropped at `now`.
    pub(super) fn dropped(
        &mut self,
        now: Time,
        element: usize,
        packet: &Packet,
        numbers: Option<SequenceNumbers>,
    ) {
        self.note(now, LossKind::Dropped, Some(element), packet, numbers);
    }

    /// Records a packet that was damaged and continues.
    pub(super) fn damaged(&mut self, now: Time, packet: &Packet, numbers: Option<SequenceNumbers>) {
        self.note(now, LossKind::Damaged, None, packet, numbers);
    }

    /// Takes the losses found since the last call.
    pub(super) fn take(&mut self) -> Vec<Loss> {
        std::mem::take(&mut self.found)
    }

    fn note(
        &mut self,
        at: Time,
        kind: LossKind,
        element: Option<usize>,
        packet: &Packet,
        numbers: Option<SequenceNumbers>,
    ) {
        if self.recorded {
            let flow = packet.flow as usize;
            let packet = numbers.and_then(|numbers| self.flows[flow].number(packet.kind, numbers));
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
    fn number(&self, kind: Kind, numbers: SequenceNumbers) -> Option<u32> {
        let at = match kind {
            Kind::Syn | Kind::SynAck => return Some(0),
            Kind::Data => numbers.sequence,
            Kind::Ack => numbers.acknowledged,
            Kind::Datagram => return None,
        };
        Some(at.wrapping_sub(self.first?) / self.mss_bytes)
    }
}
