//! Properties of every queue of the registry, for any sequence of packets.

mod common;

use std::collections::BTreeMap;

use proptest::prelude::*;
use tussle_core::Time;
use tussle_core::net::packet::{Ecn, Kind, Packet};
use tussle_core::net::queue::{Backlog, Queue, QueueContext, REGISTRY};

use common::queues::queue_named;

/// Flows of a test; those with odd numbers can be marked.
const FLOWS: u32 = 6;

#[derive(Clone, Copy, Debug)]
enum Event {
    Come { flow: u32, size_bytes: u32 },
    Leave,
    Pass { ns: u64 },
}

fn event() -> impl Strategy<Value = Event> {
    let size_bytes = prop_oneof![3 => Just(1500u32), 1 => Just(52), 1 => 40..9000u32];
    let ns = prop_oneof![2 => 0..1_000_000u64, 4 => 1_000_000..10_000_000u64, 1 => 0..2_000_000_000u64];
    prop_oneof![
        6 => (0..FLOWS, size_bytes).prop_map(|(flow, size_bytes)| Event::Come { flow, size_bytes }),
        4 => Just(Event::Leave),
        3 => ns.prop_map(|ns| Event::Pass { ns }),
    ]
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    prop::collection::vec(event(), 1..600)
}

fn limits() -> impl Strategy<Value = (Option<u64>, Option<u64>)> {
    prop_oneof![
        Just((None, None)),
        (1..60u64).prop_map(|packets| (Some(packets), None)),
        (1..60_000u64).prop_map(|bytes| (None, Some(bytes))),
    ]
}

/// A queue, and what must be in it.
struct Watched {
    name: &'static str,
    queue: Box<dyn Queue>,
    now: Time,
    came: u32,
    /// Packets that wait, by their numbers.
    waiting: BTreeMap<u32, Packet>,
    /// The number of the last packet of each flow that left.
    last: BTreeMap<u32, u32>,
    /// Packets that could be marked and left marked.
    marked: u64,
    left: Vec<Packet>,
    dropped: Vec<Packet>,
}

impl Watched {
    fn new(name: &'static str, limits: (Option<u64>, Option<u64>)) -> Watched {
        let place = QueueContext { rate_bit_per_s: 10_000_000, seed: 7 };
        let queue = queue_named(name, limits.0, limits.1).build(place).expect("the settings make sense");
        Watched {
            name,
            queue,
            now: Time::ZERO,
            came: 0,
            waiting: BTreeMap::new(),
            last: BTreeMap::new(),
            marked: 0,
            left: Vec::new(),
            dropped: Vec::new(),
        }
    }

    fn handle(&mut self, event: Event) -> Result<(), TestCaseError> {
        let mut dropped = Vec::new();
        match event {
            Event::Pass { ns } => self.now += Time::from_ns(ns),
            Event::Come { flow, size_bytes } => {
                let ecn = if flow % 2 == 1 { Ecn::Ect0 } else { Ecn::NotEct };
                let packet = Packet { number: self.came, size_bytes, ecn, ..Packet::new(Kind::Data, flow) };
                self.came += 1;
                self.waiting.insert(packet.number, packet);
                self.queue.enqueue(packet, self.now, &mut dropped);
            }
            Event::Leave => {
                let left = self.queue.dequeue(self.now, &mut dropped);
                let is_empty = self.queue.backlog().packets == 0;
                prop_assert!(left.is_some() || is_empty, "{} keeps what waits", self.name);
                if let Some(packet) = left {
                    self.on_left(packet)?;
                }
            }
        }
        for packet in &dropped {
            prop_assert!(
                self.waiting.remove(&packet.number).is_some(),
                "{} drops what is not there",
                self.name
            );
        }
        self.dropped.extend(dropped);
        self.check()
    }

    /// Packets of a flow leave in the order in which they came, and only what can be marked is.
    fn on_left(&mut self, packet: Packet) -> Result<(), TestCaseError> {
        let name = self.name;
        let came = self.waiting.remove(&packet.number);
        prop_assert!(came.is_some(), "{name} gives what is not there");
        let came = came.expect("it is some");
        let is_marked = packet.ecn == Ecn::Ce;
        prop_assert!(!is_marked || came.ecn == Ecn::Ect0, "{name} marks what cannot be marked");
        self.marked += u64::from(is_marked);
        prop_assert_eq!(Packet { ecn: came.ecn, ..packet }, came, "{} changes packets", name);
        let before = self.last.insert(packet.flow, packet.number);
        prop_assert!(before < Some(packet.number), "{name} takes packets of a flow out of order");
        self.left.push(packet);
        Ok(())
    }

    fn check(&self) -> Result<(), TestCaseError> {
        let name = self.name;
        let bytes = self.waiting.values().map(|packet| u64::from(packet.size_bytes)).sum();
        let expected = Backlog { packets: self.waiting.len() as u64, bytes };
        prop_assert_eq!(self.queue.backlog(), expected, "backlog of {}", name);
        let mut shown = Vec::new();
        self.queue.for_each(&mut |packet| shown.push(packet.number));
        shown.sort_unstable();
        prop_assert!(shown.iter().eq(self.waiting.keys()), "{name} does not show what waits");
        prop_assert!(self.queue.marked_packets() >= self.marked, "{name} does not count its marks");
        Ok(())
    }
}

fn watch(
    name: &'static str,
    limits: (Option<u64>, Option<u64>),
    events: &[Event],
) -> Result<Watched, TestCaseError> {
    let mut watched = Watched::new(name, limits);
    events.iter().try_for_each(|&event| watched.handle(event))?;
    Ok(watched)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_comes_leaves_in_order_is_dropped_or_waits(events in events(), limits in limits()) {
        for entry in REGISTRY {
            let mut watched = watch(entry.name, limits, &events)?;
            while !watched.waiting.is_empty() {
                watched.handle(Event::Leave)?;
            }
            prop_assert_eq!(watched.left.len() + watched.dropped.len(), watched.came as usize);
        }
    }

    #[test]
    fn no_more_waits_than_may(events in events(), packets in 1..60u64, bytes in 1..60_000u64) {
        for entry in REGISTRY {
            let mut watched = Watched::new(entry.name, (Some(packets), Some(bytes)));
            for &event in &events {
                watched.handle(event)?;
                let Backlog { packets: waiting, bytes: waiting_bytes } = watched.queue.backlog();
                prop_assert!(waiting <= packets && waiting_bytes <= bytes, "{} holds too much", entry.name);
            }
        }
    }

    #[test]
    fn the_same_packets_and_seed_give_the_same(events in events(), limits in limits()) {
        for entry in REGISTRY {
            let (one, other) = (watch(entry.name, limits, &events)?, watch(entry.name, limits, &events)?);
            prop_assert_eq!(one.left, other.left, "{}", entry.name);
            prop_assert_eq!(one.dropped, other.dropped, "{}", entry.name);
        }
    }
}
