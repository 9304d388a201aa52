//! Queue disciplines: the queues in front of transmitters, and the packets that they drop or mark.

use std::fmt::Debug;

use serde::{Deserialize, Serialize};

use crate::Time;
use crate::net::packet::{Ecn, Packet};

mod cobalt;
mod flows;
mod packet_queue;
mod updates;

/// Declares every discipline once: its variant of [`QueueSpec`], whose JSON name is the variant's name in
/// snake case; the public name of its settings; and its module, which defines `Spec` and `ENTRY`.
macro_rules! queues {
    ($($variant:ident($settings:ident): $module:ident,)*) => {
        $(
            mod $module;
            pub use $module::Spec as $settings;
        )*

        /// A queue discipline and its settings.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "kind", rename_all = "snake_case")]
        pub enum QueueSpec {
            $(
                #[doc = concat!("See `queue/", stringify!($module), ".rs`.")]
                $variant($settings),
            )*
        }

        impl QueueSpec {
            fn settings(&self) -> &dyn QueueSettings {
                match self {
                    $(QueueSpec::$variant(spec) => spec,)*
                }
            }
        }

        /// Every discipline, in the order in which lists show them.
        pub const REGISTRY: &[Entry] = &[$($module::ENTRY,)*];
    };
}

queues! {
    Fifo(FifoSpec): fifo,
    Threshold(ThresholdSpec): threshold,
    Red(RedSpec): red,
    Codel(CodelSpec): codel,
    FqCodel(FqCodelSpec): fq_codel,
    Pie(PieSpec): pie,
    FqPie(FqPieSpec): fq_pie,
    Cake(CakeSpec): cake,
    Dualpi2(DualPi2Spec): dualpi2,
    Sfq(SfqSpec): sfq,
}

impl QueueSpec {
    /// Builds the queue.
    ///
    /// # Errors
    /// A sentence that names the invalid setting.
    pub fn build(&self, context: QueueContext) -> Result<Box<dyn Queue>, String> {
        self.settings().build(context)
    }

    /// The limits that are set.
    pub fn limits(&self) -> Limits {
        self.settings().limits()
    }
}

/// Settings of one queue discipline.
trait QueueSettings {
    /// Builds the queue.
    ///
    /// # Errors
    /// A sentence that names the invalid setting.
    fn build(&self, context: QueueContext) -> Result<Box<dyn Queue>, String>;

    /// The limits that are set.
    fn limits(&self) -> Limits;
}

/// The link that a queue is built for.
#[derive(Clone, Copy, Debug)]
pub struct QueueContext {
    /// Rate of the transmitter behind the queue, in bits of IP packets per second.
    pub rate_bit_per_s: u64,
    /// Seed of the queue's random number generators.
    pub seed: u64,
}

/// A queue in front of a transmitter.
pub trait Queue: Debug + Send {
    /// Adds a packet. Packets that the discipline drops, the new one or others, go to `dropped`.
    fn enqueue(&mut self, packet: Packet, now: Time, dropped: &mut Vec<Packet>);

    /// Removes the packet to transmit next. Packets that the discipline drops go to `dropped`.
    fn dequeue(&mut self, now: Time, dropped: &mut Vec<Packet>) -> Option<Packet>;

    /// Packets and bytes in the queue.
    fn backlog(&self) -> Backlog;

    /// Packets marked so far.
    fn marked_packets(&self) -> u64 {
        0
    }

    /// Calls `visit` with every queued packet.
    fn for_each(&self, visit: &mut dyn FnMut(&Packet));
}

/// Packets and bytes in a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Number of packets.
    pub packets: u64,
    /// Sum of the sizes of the IP packets, in bytes.
    pub bytes: u64,
}

/// Limits of a queue as a run sets them: in packets, in bytes, or whichever is reached first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Largest number of queued packets; `None`: no limit.
    pub packets: Option<u64>,
    /// Largest number of queued bytes, over IP packet sizes; `None`: no limit.
    pub bytes: Option<u64>,
}

impl Limits {
    /// Largest number of queued bytes if each packet has `packet_bytes`; `None`: no limit.
    pub fn in_bytes(self, packet_bytes: u64) -> Option<u64> {
        let of_packets = self.packets.map(|packets| packets.saturating_mul(packet_bytes));
        of_packets.into_iter().chain(self.bytes).min()
    }

    /// Checks the limits, and returns the limit that a queue enforces.
    ///
    /// # Errors
    /// A sentence that names the limit, if not even one packet fits.
    fn checked(self) -> Result<Limit, String> {
        if self.packets == Some(0) {
            return Err("limit_packets: 0 packets; give at least 1".to_owned());
        }
        if self.bytes == Some(0) {
            return Err("limit_bytes: 0 bytes; give at least one packet".to_owned());
        }
        let most = |limit: Option<u64>| limit.unwrap_or(u64::MAX);
        Ok(Limit(Backlog { packets: most(self.packets), bytes: most(self.bytes) }))
    }
}

/// Limit of the backlog; the packet being transmitted does not count.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit(Backlog);

impl Limit {
    /// Returns this limit if it was set, else a limit of `packets`.
    fn or_packets(self, packets: u64) -> Limit {
        let is_given = self.0.packets < u64::MAX || self.0.bytes < u64::MAX;
        if is_given { self } else { Limit(Backlog { packets, bytes: u64::MAX }) }
    }

    /// Whether the backlog is above the limit.
    fn is_exceeded_by(self, waiting: Backlog) -> bool {
        waiting.packets > self.0.packets || waiting.bytes > self.0.bytes
    }

    /// Whether another packet fits.
    pub(crate) fn has_room_for(self, size_bytes: u32, waiting: Backlog) -> bool {
        waiting.packets < self.0.packets && waiting.bytes + u64::from(size_bytes) <= self.0.bytes
    }
}

/// Whether a packet is ECN-capable.
fn can_be_marked(packet: &Packet) -> bool {
    packet.ecn != Ecn::NotEct
}

/// Description of a queue discipline for lists and docs.
#[derive(Debug)]
pub struct Entry {
    /// The name in scenarios, tables and lists.
    pub name: &'static str,
    /// Principle of the discipline, in one sentence.
    pub idea: &'static str,
    /// The RFC or paper that defines the discipline.
    pub source: &'static str,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::packet::Kind;

    pub(super) fn context() -> QueueContext {
        QueueContext { rate_bit_per_s: 12_000_000, seed: 1 }
    }

    /// A packet of 1500 bytes.
    pub(super) fn packet(number: u32, ecn: Ecn) -> Packet {
        Packet { number, ecn, size_bytes: 1500, ..Packet::new(Kind::Data, 0) }
    }

    /// A packet of 1500 bytes that is not ECN-capable.
    pub(super) fn full_packet_of(flow: u32, number: u32) -> Packet {
        Packet { flow, ..packet(number, Ecn::NotEct) }
    }

    pub(super) fn numbers(packets: &[Packet]) -> Vec<u32> {
        packets.iter().map(|packet| packet.number).collect()
    }

    /// Enqueues packets at one instant, and dequeues all of them; returns the numbers of marked and of
    /// dropped packets.
    pub(super) fn marks_and_drops(
        queue: &mut dyn Queue,
        packets: impl Iterator<Item = Packet>,
    ) -> (Vec<u32>, Vec<u32>) {
        let mut dropped = Vec::new();
        packets.for_each(|packet| queue.enqueue(packet, Time::ZERO, &mut dropped));
        let mut marked = Vec::new();
        while let Some(packet) = queue.dequeue(Time::ZERO, &mut dropped) {
            marked.extend((packet.ecn == Ecn::Ce).then_some(packet.number));
        }
        assert_eq!(queue.backlog(), Backlog::default());
        (marked, dropped.iter().map(|packet| packet.number).collect())
    }
}
