//! The elements of a path. An element forwards packets at once or later, or drops them.

use std::fmt::Debug;

use serde::{Deserialize, Serialize};

use crate::Time;
use crate::net::packet::Packet;
use crate::util::rng::Probability;

/// Declares every element once: its variant of [`ElementKind`], whose JSON name is the variant's name in
/// snake case; the public name of its settings; and its module, which defines `Spec` and `ENTRY`.
macro_rules! elements {
    ($($variant:ident($settings:ident): $module:ident,)*) => {
        $(
            mod $module;
            pub use $module::Spec as $settings;
        )*

        /// The kind of an element, and its settings.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "kind", rename_all = "snake_case")]
        pub enum ElementKind {
            $(
                #[doc = concat!("See `net/path/", stringify!($module), ".rs`.")]
                $variant($settings),
            )*
        }

        impl ElementKind {
            fn settings(&self) -> &dyn ElementSettings {
                match self {
                    $(ElementKind::$variant(spec) => spec,)*
                }
            }
        }

        /// Every element, in the order in which lists show them.
        pub const REGISTRY: &[Entry] = &[$($module::ENTRY,)*];
    };
}

elements! {
    Link(LinkSpec): link,
    Trace(TraceSpec): trace,
    Arq(ArqSpec): arq,
    Wifi(WifiSpec): wifi,
    Processing(ProcessingSpec): processing,
    Delay(DelaySpec): delay,
    Jitter(JitterSpec): jitter,
    Ramp(RampSpec): ramp,
    RttSeries(RttSeriesSpec): rtt_series,
    Handover(HandoverSpec): handover,
    Outage(OutageSpec): outage,
    Aggregate(AggregateSpec): aggregate,
    Policer(PolicerSpec): policer,
    Loss(LossSpec): loss,
    GilbertElliott(GilbertElliottSpec): gilbert_elliott,
    LossPeriodic(LossPeriodicSpec): loss_periodic,
    LossList(LossListSpec): loss_list,
    Corrupt(CorruptSpec): corrupt,
    Duplicate(DuplicateSpec): duplicate,
    Mark(MarkSpec): mark,
    Unmark(UnmarkSpec): unmark,
}

mod change;
mod element_slot;
mod fifo_link;
mod link_parts;
mod queue_log;
mod queued_link;
mod settings;
mod transmitter;
mod wire;

pub use change::Change;
pub(crate) use element_slot::ElementSlot;
pub use jitter::Order;
pub use outage::WhileDown;
pub use queue_log::QueueLog;
pub use rtt_series::Step as RttStep;
pub use settings::{Delays, LinkSettings};
use settings::{ElementSettings, LoggedLink, highest_rate};

impl ElementKind {
    /// Builds the element; `seed` seeds its random number generator.
    ///
    /// # Errors
    /// A sentence that names the invalid setting.
    pub fn build(&self, seed: u64) -> Result<Box<dyn Element>, String> {
        self.settings().build(seed)
    }

    /// Builds the element, if it is a link, with a log of its packets; `seed` seeds its random number generator.
    ///
    /// # Errors
    /// A sentence that names the invalid setting, or says that the element is not a link.
    pub(crate) fn build_logged(&self, seed: u64, log: &QueueLog) -> Result<Box<dyn Element>, String> {
        let link = self.link().ok_or("the element has no queue")?;
        link.logged.build_logged(seed, log)
    }

    /// Delay that the element adds to a packet, without queueing delay.
    pub fn delays(&self) -> Delays {
        self.settings().delays()
    }

    /// The queue and the transmitter; `None` if the element is not a link.
    pub fn link(&self) -> Option<LinkSettings<'_>> {
        self.settings().link()
    }

    /// Changes of rate and delay, in order of time.
    pub fn changes(&self) -> &[Change] {
        self.link().map_or(&[], |link| link.changes)
    }

    /// Whether the element has a queue and a transmitter.
    pub fn is_link(&self) -> bool {
        self.link().is_some()
    }
}

/// Longest one-way delay of an element. Linux's largest retransmission timeout, 120 s, is not much longer.
const MAX_DELAY: Time = Time::from_secs(100);

/// Highest rate of a transmitter: at 400 Gbit/s the smallest packet still takes a nanosecond, so that
/// simulated time advances.
const MAX_RATE_BIT_PER_S: u64 = 400_000_000_000;

/// Checks a rate.
fn checked_rate(rate_bit_per_s: u64) -> Result<u64, String> {
    if !(1..=MAX_RATE_BIT_PER_S).contains(&rate_bit_per_s) {
        return Err(format!("rate_bit_per_s: {rate_bit_per_s} bit/s; give 1 to {MAX_RATE_BIT_PER_S}"));
    }
    Ok(rate_bit_per_s)
}

/// Checks a one-way delay.
fn checked_delay(delay_ns: u64) -> Result<Time, String> {
    let delay = Time::from_ns(delay_ns);
    if delay > MAX_DELAY {
        return Err(format!("delay_ns: {delay}; give 0 to {MAX_DELAY}"));
    }
    Ok(delay)
}

/// Checks the probability of the setting `name`.
///
/// # Errors
/// A sentence, if it is not between 0 and 1.
pub fn checked_probability(name: &str, probability: f64) -> Result<Probability, String> {
    Probability::new(probability).ok_or_else(|| format!("{name}: {probability}; give 0 to 1"))
}

/// A part of a path. Packets leave in the order of [`Element::next`], so that an element needs one pending
/// event, however many packets it holds. An element that holds no packets defines `accept` alone.
pub trait Element: Debug + Send {
    /// Accepts a packet. A packet that passes at once is returned, and nothing else changes; any other packet
    /// is held or goes to `dropped`.
    fn accept(&mut self, packet: Packet, now: Time, dropped: &mut Vec<Packet>) -> Option<Packet>;

    /// Time at which the next packet leaves; [`Time::NEVER`] if none is held.
    fn next(&self) -> Time {
        Time::NEVER
    }

    /// Removes the packet that leaves at `now`, the time given by [`Element::next`].
    fn release(&mut self, _now: Time, _dropped: &mut Vec<Packet>) -> Option<Packet> {
        None
    }

    /// Calls `visit` with every held packet.
    fn for_each(&self, _visit: &mut dyn FnMut(&Packet)) {}

    /// Whether the element duplicates packets.
    fn makes_copies(&self) -> bool {
        false
    }

    /// Number of copies of the flow's packets with payload that the element has made; `_flow` is an index.
    fn copies(&self, _flow: u32) -> u64 {
        0
    }

    /// Advances a link to `now` and returns its counters; `None` for other elements.
    fn observe(&mut self, _now: Time, _dropped: &mut Vec<Packet>) -> Option<LinkView> {
        None
    }
}

/// Counters of a link at an instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkView {
    /// Queued packets.
    pub backlog_packets: u64,
    /// Queued bytes.
    pub backlog_bytes: u64,
    /// Largest number of queued packets since the last view.
    pub max_backlog_packets: u64,
    /// Integral of the queue length over time, in packet-nanoseconds.
    pub backlog_packet_ns: u128,
    /// Packets that arrived.
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

/// Description of an element for lists and docs.
#[derive(Debug)]
pub struct Entry {
    /// The name in scenarios, tables and lists.
    pub name: &'static str,
    /// Principle of the element, in one sentence.
    pub idea: &'static str,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::packet::Kind;

    /// A packet of 1500 bytes.
    pub(super) fn packet(number: u32) -> Packet {
        Packet { number, size_bytes: 1500, ..Packet::new(Kind::Data, 0) }
    }

    /// Times of `count` arrivals `gap` apart, the first at time zero.
    pub(super) fn paced(gap: Time, count: u64) -> Vec<Time> {
        (0..count).map(|number| Time::from_ns(gap.ns() * number)).collect()
    }

    /// Departures, as time and number, of packets of 1500 bytes that arrive at these times, numbered in
    /// order. At equal times, departures precede arrivals.
    pub(super) fn departures(element: &mut dyn Element, arrivals: Vec<Time>) -> Vec<(Time, u32)> {
        let mut departed = Vec::new();
        let mut dropped = Vec::new();
        let arrivals = (0..).zip(arrivals).map(|(number, at)| (at, Some(packet(number))));
        for (at, arrival) in arrivals.chain([(Time::from_ns(u64::MAX - 1), None)]) {
            while element.next() <= at {
                let now = element.next();
                departed.extend(element.release(now, &mut dropped).map(|packet| (now, packet.number)));
            }
            let passed = arrival.and_then(|packet| element.accept(packet, at, &mut dropped));
            departed.extend(passed.map(|packet| (at, packet.number)));
        }
        departed
    }

    /// Whether each of `count` packets, which arrive 1 ms apart, is lost.
    pub(super) fn fates(element: &mut dyn Element, count: u64) -> Vec<bool> {
        let mut lost = vec![true; usize::try_from(count).unwrap()];
        for (_, number) in departures(element, paced(Time::from_ms(1), count)) {
            lost[number as usize] = false;
        }
        lost
    }
}
