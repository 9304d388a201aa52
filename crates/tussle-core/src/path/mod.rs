//! What a path is made of: each element takes packets in and lets them out, later, or not at all.

use std::fmt::Debug;

use serde::{Deserialize, Serialize};

use crate::packet::Packet;
use crate::time::Time;

/// Declares every element once: its variant of [`EffectSpec`], whose name in JSON is the same in snake
/// case, and its module, which offers `Spec` and `ENTRY`.
macro_rules! effects {
    ($($variant:ident: $module:ident,)*) => {
        $(mod $module;)*

        /// What an element does to packets, and its settings.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "kind", rename_all = "snake_case")]
        pub enum EffectSpec {
            $(
                #[doc = concat!("See `path/", stringify!($module), ".rs`.")]
                $variant($module::Spec),
            )*
        }

        impl EffectSpec {
            /// Makes the element; its dice are seeded by `seed`.
            ///
            /// # Errors
            /// A sentence that names the setting that makes no sense.
            pub fn build(&self, seed: u64) -> Result<Box<dyn Element>, String> {
                match self {
                    $(EffectSpec::$variant(spec) => spec.build(seed),)*
                }
            }
        }

        /// Every element, in the order in which lists show them.
        pub const REGISTRY: &[Entry] = &[$($module::ENTRY,)*];
    };
}

effects! {
    Link: link,
    Delay: delay,
    Loss: loss,
}

mod change;

impl EffectSpec {
    /// How the element changes over time.
    pub(crate) fn changes(&self) -> &[Change] {
        match self {
            EffectSpec::Link(link) => &link.changes,
            _ => &[],
        }
    }
}

pub use change::Change;
pub use delay::Spec as DelaySpec;
pub use link::Spec as LinkSpec;
pub use loss::Spec as LossSpec;

/// Longest one-way delay of an element: beyond it no retransmission timeout would be right.
const MAX_DELAY: Time = Time::from_secs(100);

/// Highest rate: at 400 Gbit/s the smallest packet still takes a nanosecond, so that time moves on.
const MAX_RATE_BIT_PER_S: u64 = 400_000_000_000;

/// A rate in bit/s.
fn checked_rate(rate_bit_per_s: u64) -> Result<u64, String> {
    if !(1..=MAX_RATE_BIT_PER_S).contains(&rate_bit_per_s) {
        return Err(format!("rate_bit_per_s: {rate_bit_per_s} bit/s; give 1 to {MAX_RATE_BIT_PER_S}"));
    }
    Ok(rate_bit_per_s)
}

/// A one-way delay.
fn checked_delay(delay_ns: u64) -> Result<Time, String> {
    let delay = Time::from_ns(delay_ns);
    if delay > MAX_DELAY {
        return Err(format!("delay_ns: {delay}; give 0 to {MAX_DELAY}"));
    }
    Ok(delay)
}

/// A part of a path. Packets leave it in the order of the times that [`Element::next`] tells, so that it
/// needs one pending event, however many packets are in it.
pub trait Element: Debug + Send {
    /// A packet comes in. Returned: it goes on at once; else it is held, or went to `dropped`.
    fn accept(&mut self, packet: Packet, now: Time, dropped: &mut Vec<Packet>) -> Option<Packet>;

    /// When the next packet leaves; [`Time::NEVER`] if none is held.
    fn next(&self) -> Time;

    /// The packet that leaves at `now`, which is the time that [`Element::next`] told.
    fn release(&mut self, now: Time, dropped: &mut Vec<Packet>) -> Option<Packet>;

    /// Shows `visit` every packet that is held.
    fn for_each(&self, visit: &mut dyn FnMut(&Packet));

    /// What a link tells of itself at `now`, up to which it brings itself; `None` for other elements.
    fn observe(&mut self, _now: Time, _dropped: &mut Vec<Packet>) -> Option<LinkView> {
        None
    }
}

/// What a link has done by some instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkView {
    /// Packets that wait.
    pub backlog_packets: u64,
    /// Their bytes.
    pub backlog_bytes: u64,
    /// Most packets that waited since the last view was taken.
    pub max_backlog_packets: u64,
    /// Integral of the packets that wait over time, in packet-nanoseconds.
    pub backlog_packet_ns: u128,
    /// Packets that came in.
    pub arrived_packets: u64,
    /// Packets that were transmitted.
    pub delivered_packets: u64,
    /// Packets dropped by the queue.
    pub dropped_packets: u64,
    /// Packets marked by the queue.
    pub marked_packets: u64,
    /// Bytes that were transmitted.
    pub delivered_bytes: u64,
    /// Time spent transmitting, in ns.
    pub busy_ns: u64,
}

/// An element as lists know it.
#[derive(Debug)]
pub struct Entry {
    /// The name everywhere.
    pub name: &'static str,
    /// What it does, in a sentence.
    pub idea: &'static str,
}
