//! Requests of the agent to the driver in the guest's kernel: the `ioctl`s of `/dev/tussle`.
//!
//! Every structure is read and written in place; `kernel/driver/tussle.h` names those that the C part understands itself.

use tussle_core::net::path::LinkView;

use super::{Loss, LossKind, Tally};

/// Version of the interface between agent and driver. A guest whose driver has another one is refused.
pub const INTERFACE: u32 = 2;

/// Type of the `ioctl`s.
pub const TYPE: u8 = b'u';
/// Numbers of the `ioctl`s.
pub mod number {
    /// Asks for [`INTERFACE`](super::INTERFACE).
    pub const INTERFACE: u8 = 0;
    /// Makes a device: [`Device`](super::Device).
    pub const DEVICE: u8 = 1;
    /// Starts the run at a reading of `CLOCK_MONOTONIC` in ns.
    pub const START: u8 = 2;
    /// Asks for the state of a link: [`Observe`](super::Observe).
    pub const OBSERVE: u8 = 3;
    /// Asks for the packets by outcome: [`Tally`](crate::Tally).
    pub const TALLY: u8 = 4;
    /// Asks for the copies of a flow: [`Copies`](super::Copies).
    pub const COPIES: u8 = 5;
    /// Asks for the next loss: [`NextLoss`](super::NextLoss).
    pub const LOSS: u8 = 6;
}

/// A device for a host, in the namespace of the caller. Its name is `net`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Device {
    /// The exit of [`Elements::between_hosts`](crate::Elements::between_hosts) that leads to it.
    pub exit: u32,
    /// Size of the largest IP packet in bytes.
    pub mtu_bytes: u32,
    /// Rate of the device; 0: packets leave it at once.
    pub rate_bit_per_s: u64,
}

/// A question for the copies of a flow's data packets, with its answer.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Copies {
    /// Index of the flow.
    pub flow: u64,
    /// Number of copies.
    pub copies: u64,
}

/// A question for the state of a link, with its answer.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Observe {
    /// Index of the element.
    pub element: u64,
    /// Time of the run in ns.
    pub now_ns: u64,
    /// Whether the element is a link.
    pub is_link: u64,
    view: [u64; 11],
}

impl Observe {
    /// Asks for the state of an element at a time of the run.
    pub fn of(element: usize, now_ns: u64) -> Observe {
        Observe { element: element as u64, now_ns, ..Observe::default() }
    }

    /// Answers the question.
    pub fn answer(&mut self, view: Option<LinkView>) {
        self.is_link = u64::from(view.is_some());
        let view = view.unwrap_or_default();
        let [low, high] = halves(view.backlog_packet_ns);
        self.view = [
            view.backlog_packets,
            view.backlog_bytes,
            view.max_backlog_packets,
            low,
            high,
            view.arrived_packets,
            view.delivered_packets,
            view.dropped_packets,
            view.marked_packets,
            view.delivered_bytes,
            view.busy_ns,
        ];
    }

    /// The answer.
    pub fn view(&self) -> Option<LinkView> {
        let [waiting, waiting_bytes, most, low, high, arrived, delivered, dropped, marked, bytes, busy] =
            self.view;
        let view = LinkView {
            backlog_packets: waiting,
            backlog_bytes: waiting_bytes,
            max_backlog_packets: most,
            backlog_packet_ns: u128::from(high) << 64 | u128::from(low),
            arrived_packets: arrived,
            delivered_packets: delivered,
            dropped_packets: dropped,
            marked_packets: marked,
            delivered_bytes: bytes,
            busy_ns: busy,
        };
        (self.is_link == 1).then_some(view)
    }
}

/// The lower and the upper 64 bits.
#[expect(clippy::cast_possible_truncation, reason = "this is what it does")]
fn halves(value: u128) -> [u64; 2] {
    [value as u64, (value >> 64) as u64]
}

/// A question for the next loss, with its answer.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct NextLoss {
    /// Whether there was another loss.
    pub found: u64,
    at_ns: u64,
    is_damage: u64,
    flow: u64,
    /// One more than the index of the element; 0 for none.
    element: u64,
    /// One more than the number of the packet; 0 for none.
    packet: u64,
}

impl NextLoss {
    /// The answer with a loss.
    pub fn of(loss: &Loss) -> NextLoss {
        NextLoss {
            found: 1,
            at_ns: loss.at.ns(),
            is_damage: u64::from(loss.kind == LossKind::Damaged),
            flow: loss.flow as u64,
            element: loss.element.map_or(0, |element| element as u64 + 1),
            packet: loss.packet.map_or(0, |packet| u64::from(packet) + 1),
        }
    }

    /// The loss, if there was another one.
    pub fn loss(&self) -> Option<Loss> {
        let index = |value: u64| usize::try_from(value).ok();
        (self.found == 1).then_some(Loss {
            at: tussle_core::Time::from_ns(self.at_ns),
            kind: if self.is_damage == 1 { LossKind::Damaged } else { LossKind::Dropped },
            flow: index(self.flow)?,
            element: self.element.checked_sub(1).and_then(index),
            packet: self.packet.checked_sub(1).and_then(|packet| u32::try_from(packet).ok()),
        })
    }
}

/// Size in bytes of the buffer for a request in `kernel/driver/tussle.c`.
const LARGEST_REQUEST: usize = 256;
const _: () = assert!(
    size_of::<Observe>() <= LARGEST_REQUEST
        && size_of::<Tally>() <= LARGEST_REQUEST
        && size_of::<Copies>() <= LARGEST_REQUEST
        && size_of::<NextLoss>() <= LARGEST_REQUEST
);

#[cfg(test)]
mod tests {
    use super::*;
    use tussle_core::Time;

    #[test]
    fn a_view_survives_the_way_through_the_kernel() {
        let view = LinkView {
            backlog_packets: 1,
            backlog_bytes: 2,
            max_backlog_packets: 3,
            backlog_packet_ns: (7 << 64) + 4,
            arrived_packets: 5,
            delivered_packets: 6,
            dropped_packets: 7,
            marked_packets: 8,
            delivered_bytes: 9,
            busy_ns: 10,
        };
        let mut asked = Observe::of(2, 5);
        asked.answer(Some(view));
        assert_eq!(asked.view(), Some(view));
        asked.answer(None);
        assert_eq!(asked.view(), None);
    }

    #[test]
    fn a_loss_survives_the_way_through_the_kernel() {
        for (kind, element, packet) in [
            (LossKind::Dropped, Some(0), Some(0)),
            (LossKind::Damaged, None, None),
            (LossKind::Dropped, Some(3), Some(9)),
        ] {
            let loss = Loss { at: Time::from_ms(3), kind, flow: 4, element, packet };
            assert_eq!(NextLoss::of(&loss).loss(), Some(loss));
        }
        assert_eq!(NextLoss::default().loss(), None);
    }
}
