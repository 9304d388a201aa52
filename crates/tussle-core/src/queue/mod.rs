//! Queue disciplines: what waits in front of a transmitter, and what is dropped or marked.

use std::fmt::Debug;

use serde::{Deserialize, Serialize};

use crate::packet::Packet;
use crate::time::Time;

/// Declares every discipline once: its variant of [`QueueSpec`], whose name in JSON is the same in snake
/// case, and its module, which offers `Spec` and `ENTRY`.
macro_rules! queues {
    ($($variant:ident: $module:ident,)*) => {
        $(mod $module;)*

        /// A queue discipline and its settings.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "kind", rename_all = "snake_case")]
        pub enum QueueSpec {
            $(
                #[doc = concat!("See `queue/", stringify!($module), ".rs`.")]
                $variant($module::Spec),
            )*
        }

        impl QueueSpec {
            /// Makes the queue.
            ///
            /// # Errors
            /// A sentence that names the setting that makes no sense.
            pub fn build(&self, place: Place) -> Result<Box<dyn Queue>, String> {
                match self {
                    $(QueueSpec::$variant(spec) => spec.build(place),)*
                }
            }
        }

        /// Every discipline, in the order in which lists show them.
        pub const REGISTRY: &[Entry] = &[$($module::ENTRY,)*];
    };
}

queues! {
    Fifo: fifo,
}

pub use fifo::Spec as FifoSpec;

/// Where a queue stands.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Rate of the transmitter behind it, over IP packet sizes.
    pub rate_bit_per_s: u64,
    /// Seeds its dice.
    pub seed: u64,
}

/// What waits in front of a transmitter.
pub trait Queue: Debug + Send {
    /// A packet comes in; this one, or others in its place, may go to `dropped`.
    fn enqueue(&mut self, packet: Packet, now: Time, dropped: &mut Vec<Packet>);

    /// The packet to transmit next; those that the discipline gives up go to `dropped`.
    fn dequeue(&mut self, now: Time, dropped: &mut Vec<Packet>) -> Option<Packet>;

    /// What waits.
    fn backlog(&self) -> Backlog;

    /// Packets marked so far.
    fn marked_packets(&self) -> u64 {
        0
    }

    /// Shows `visit` every packet that waits.
    fn for_each(&self, visit: &mut dyn FnMut(&Packet));
}

/// What waits in a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Packets.
    pub packets: u64,
    /// Their sizes as IP packets, in bytes.
    pub bytes: u64,
}

/// A discipline as lists know it.
#[derive(Debug)]
pub struct Entry {
    /// The name everywhere.
    pub name: &'static str,
    /// What it does, in a sentence.
    pub idea: &'static str,
    /// The RFC or paper that defines it.
    pub source: &'static str,
}
