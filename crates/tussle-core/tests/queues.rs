//! Properties of every queue discipline in the registry, for random sequences of packets.

use std::collections::BTreeMap;

use proptest::prelude::*;
use tussle_core::Time;
use tussle_core::net::packet::{Ecn, Kind, Packet};
use tussle_core::net::queue::{Backlog, Limits, Queue, QueueContext, REGISTRY};

use crate::common::queues::queue_named;

/// Number of flows; packets of flows with odd numbers are ECN-capable.
const FLOWS: u32 = 6;

#[derive(Clone, Copy, Debug)]
enum Event {
    Arrive { flow: u32, size_bytes: u32 },
    Depart,
    Pass { ns: u64 },
}

fn event() -> impl Strategy<Value = Event> {
    let size_bytes = prop_oneof![3 => Just(1500u32), 1 => Just(52), 1 => 40..9000u32];
    let ns = prop_oneof![2 => 0..1_000_000u64, 4 => 1_000_000..10_000_000u64, 1 => 0..2_000_000_000u64];
    prop_oneof![
        6 => (0..FLOWS, size_bytes).prop_map(|(flow, size_bytes)| Event::Arrive { flow, size_bytes }),
        4 => Just(Event::Depart),
        3 => ns.prop_map(|ns| Event::Pass { ns }),
    ]
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    prop::collection::vec(event(), 1..600)
}

fn limits() -> impl Strategy<Value = Limits> {
    prop_oneof![
        Just(Limits::default()),
        (1..60u64).prop_map(|packets| Limits { packets: Some(packets), bytes: None }),
        (1..60_000u64).prop_map(|bytes| Limits { packets: None, bytes: Some(bytes) }),
    ]
}

/// A queue, and its expected content.
struct CheckedQueue {
    name: &'static str,
    queue: Box<dyn Queue>,
    now: Time,
    arrived: u32,
    /// Queued packets, by number.
    waiting: BTreeMap<u32, Packet>,
    /// Number of the last departed packet of each flow.
    last: BTreeMap<u32, u32>,
    /// Number of packets that departed with a new mark.
    marked: u64,
    departed: Vec<Packet>,
    dropped: Vec<Packet>,
}

impl CheckedQueue {
    fn new(name: &'static str, limits: Limits) -> CheckedQueue {
        let context = QueueContext { rate_bit_per_s: 10_000_000, seed: 7 };
        let queue = queue_named(name, limits).build(context).expect("the settings are valid");
        CheckedQueue {
            name,
            queue,
            now: Time::ZERO,
            arrived: 0,
            waiting: BTreeMap::new(),
            last: BTreeMap::new(),
            marked: 0,
            departed: Vec::new(),
            dropped: Vec::new(),
        }
    }

    fn handle(&mut self, event: Event) -> Result<(), TestCaseError> {
        let mut dropped = Vec::new();
        match event {
            Event::Pass { ns } => self.now += Time::from_ns(ns),
            Event::Arrive { flow, size_bytes } => {
                let ecn = if flow % 2 == 1 { Ecn::Ect0 } else { Ecn::NotEct };
                let packet =
                    Packet { number: self.arrived, size_bytes, ecn, ..Packet::new(Kind::Data, flow) };
                self.arrived += 1;
                self.waiting.insert(packet.number, packet);
                self.queue.enqueue(packet, self.now, &mut dropped);
            }
            Event::Depart => {
                let departed = self.queue.dequeue(self.now, &mut dropped);
                let is_empty = self.queue.backlog().packets == 0;
                prop_assert!(
                    departed.is_some() || is_empty,
                    "{} returns no packet although packets are queued",
                    self.name
                );
                if let Some(packet) = departed {
                    self.on_departure(packet)?;
                }
            }
        }
        for packet in &dropped {
            prop_assert!(
                self.waiting.remove(&packet.number).is_some(),
                "{} drops a packet that is not queued",
                self.name
            );
        }
        self.dropped.extend(dropped);
        self.check()
    }

    /// Checks that packets of a flow depart in order of arrival, and that only ECN-capable packets are
    /// marked.
    fn on_departure(&mut self, packet: Packet) -> Result<(), TestCaseError> {
        let name = self.name;
        let arrived = self.waiting.remove(&packet.number);
        prop_assert!(arrived.is_some(), "{name} returns a packet that is not queued");
        let arrived = arrived.expect("checked above");
        let is_marked = packet.ecn == Ecn::Ce;
        prop_assert!(!is_marked || arrived.ecn == Ecn::Ect0, "{name} marks a packet without ECN");
        self.marked += u64::from(is_marked);
        prop_assert_eq!(Packet { ecn: arrived.ecn, ..packet }, arrived, "{} changes packets", name);
        let before = self.last.insert(packet.flow, packet.number);
        prop_assert!(before < Some(packet.number), "{name} reorders packets of a flow");
        self.departed.push(packet);
        Ok(())
    }

    fn check(&self) -> Result<(), TestCaseError> {
        let name = self.name;
        let bytes = self.waiting.values().map(|packet| u64::from(packet.size_bytes)).sum();
        let expected = Backlog { packets: self.waiting.len() as u64, bytes };
        prop_assert_eq!(self.queue.backlog(), expected, "backlog of {}", name);
        let mut visited = Vec::new();
        self.queue.for_each(&mut |packet| visited.push(packet.number));
        visited.sort_unstable();
        prop_assert!(visited.iter().eq(self.waiting.keys()), "{name} does not visit all queued packets");
        prop_assert!(self.queue.marked_packets() >= self.marked, "{name} does not count its marks");
        Ok(())
    }
}

fn replay(name: &'static str, limits: Limits, events: &[Event]) -> Result<CheckedQueue, TestCaseError> {
    let mut checked = CheckedQueue::new(name, limits);
    events.iter().try_for_each(|&event| checked.handle(event))?;
    Ok(checked)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn packets_depart_in_order_or_are_dropped_or_queued(events in events(), limits in limits()) {
        for entry in REGISTRY {
            let mut checked = replay(entry.name, limits, &events)?;
            while !checked.waiting.is_empty() {
                checked.handle(Event::Depart)?;
            }
            prop_assert_eq!(checked.departed.len() + checked.dropped.len(), checked.arrived as usize);
        }
    }

    #[test]
    fn the_backlog_stays_within_the_limit(events in events(), packets in 1..60u64, bytes in 1..60_000u64) {
        for entry in REGISTRY {
            let mut checked = CheckedQueue::new(entry.name, Limits { packets: Some(packets), bytes: Some(bytes) });
            for &event in &events {
                checked.handle(event)?;
                let Backlog { packets: waiting, bytes: waiting_bytes } = checked.queue.backlog();
                prop_assert!(waiting <= packets && waiting_bytes <= bytes, "{} holds too much", entry.name);
            }
        }
    }

    #[test]
    fn equal_packets_and_seeds_give_equal_departures(events in events(), limits in limits()) {
        for entry in REGISTRY {
            let (one, other) = (replay(entry.name, limits, &events)?, replay(entry.name, limits, &events)?);
            prop_assert_eq!(one.departed, other.departed, "{}", entry.name);
            prop_assert_eq!(one.dropped, other.dropped, "{}", entry.name);
        }
    }
}
