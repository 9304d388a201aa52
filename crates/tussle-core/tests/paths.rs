//! Properties of every path, and queueing delays compared with theory.

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use tussle_core::Time;
use tussle_core::net::packet::{Kind, Packet};
use tussle_core::net::path::{Element, ElementKind, JitterSpec, LinkSpec, Order, REGISTRY};
use tussle_core::net::queue::{FifoSpec, QueueSpec};
use tussle_core::util::rng::Rng;

use crate::common::network::{NS_PER_S, PACKET_BYTES};
use crate::common::random::element_kind;

/// Number of events that no path of these tests reaches with its hundreds of packets.
const MAX_EVENTS: u32 = 100_000;

/// Elements in series, with the packets that departed or were dropped.
struct Path {
    elements: Vec<Box<dyn Element>>,
    dropped: Vec<Packet>,
    departed: Vec<(Time, Packet)>,
}

impl Path {
    fn new(kinds: &[ElementKind]) -> Path {
        let elements = kinds.iter().map(|kind| kind.build(7).expect("a valid element"));
        Path { elements: elements.collect(), dropped: Vec::new(), departed: Vec::new() }
    }

    /// Offers a packet to the element with index `index`.
    fn offer(&mut self, mut packet: Packet, index: usize, now: Time) {
        for element in &mut self.elements[index..] {
            match element.accept(packet, now, &mut self.dropped) {
                Some(through) => packet = through,
                None => return,
            }
        }
        self.departed.push((now, packet));
    }

    /// Processes all events until an instant.
    fn advance(&mut self, until: Time) {
        for _ in 0..MAX_EVENTS {
            let events = self.elements.iter().enumerate().map(|(index, element)| (element.next(), index));
            let (now, index) = events.min().expect("a path has elements");
            if now > until || now == Time::NEVER {
                return;
            }
            if let Some(packet) = self.elements[index].release(now, &mut self.dropped) {
                self.offer(packet, index + 1, now);
            }
        }
        panic!("packets starve");
    }

    fn held(&self) -> usize {
        let mut held = 0;
        self.elements.iter().for_each(|element| element.for_each(&mut |_| held += 1));
        held
    }

    fn copies(&self) -> usize {
        self.elements.iter().map(|element| usize::try_from(element.copies(0)).expect("few")).sum()
    }
}

fn packet(number: u32, size_bytes: u32) -> Packet {
    Packet { number, size_bytes, ..Packet::new(Kind::Data, 0) }
}

fn may_reorder(kind: &ElementKind) -> bool {
    matches!(kind, ElementKind::Jitter(JitterSpec { order: Order::Free, .. }))
}

#[test]
fn random_paths_have_every_element() {
    let mut runner = TestRunner::deterministic();
    let mut seen = BTreeSet::new();
    for _ in 0..2000 {
        let kind = element_kind().new_tree(&mut runner).expect("no value is rejected").current();
        let value = serde_json::to_value(&kind).expect("an element is JSON");
        seen.insert(value["kind"].as_str().expect("a name").to_owned());
    }
    let every: BTreeSet<_> = REGISTRY.iter().map(|entry| entry.name.to_owned()).collect();
    assert_eq!(seen, every);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Packets arrive at random times, and at each arrival packets are conserved. At the end all packets have
    /// departed or were dropped, in order unless an element may reorder, at ascending times.
    #[test]
    fn every_path_conserves_packets_and_their_order(
        kinds in prop::collection::vec(element_kind().prop_filter("valid settings", |it| it.build(7).is_ok()), 1..7),
        arrivals in prop::collection::vec((0..20_000_000u64, 40..1500u32), 1..200),
    ) {
        let mut path = Path::new(&kinds);
        let mut now = Time::ZERO;
        for (number, (gap_ns, size_bytes)) in (0..).zip(&arrivals) {
            now += Time::from_ns(*gap_ns);
            path.advance(now);
            path.offer(packet(number, *size_bytes), 0, now);
            let accounted_for = path.departed.len() + path.dropped.len() + path.held();
            prop_assert_eq!(number as usize + 1 + path.copies(), accounted_for, "packets are conserved");
        }
        path.advance(Time::NEVER);
        prop_assert_eq!(path.held(), 0, "all have departed");
        prop_assert_eq!(arrivals.len() + path.copies(), path.departed.len() + path.dropped.len());
        prop_assert!(path.departed.is_sorted_by_key(|(at, _)| *at), "time runs backwards");
        if !kinds.iter().any(may_reorder) {
            prop_assert!(path.departed.is_sorted_by_key(|(_, packet)| packet.number), "packets overtook");
        }
    }
}

/// Exponentially distributed number with a mean of one.
fn exponential(rng: &mut Rng) -> f64 {
    -((f64::from(rng.next_u32()) + 1.0) / 2f64.powi(32)).ln()
}

/// Mean queueing delay, in mean transmission times, at a link with a utilisation of `load` and Poisson
/// arrivals of packets of random sizes. A link of 12 Mbit/s transmits 1500 bytes in 1 ms.
fn mean_wait(load: f64, mut size_bytes: impl FnMut(&mut Rng) -> f64) -> f64 {
    let queue = QueueSpec::Fifo(FifoSpec::default());
    let rate_bit_per_s = 8000 * PACKET_BYTES;
    let link = LinkSpec { rate_bit_per_s, delay_ns: 0, queue, changes: Vec::new() };
    let mut path = Path::new(&[ElementKind::Link(link)]);
    let mut rng = Rng::new(5, "arrivals");
    let mut arrivals = Vec::new();
    let mut now_s = 0.0;
    for number in 0..400_000 {
        now_s += exponential(&mut rng) / load / 1e3;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive, below 2^32")]
        let (now, size) = (Time::from_ns((now_s * 1e9) as u64), size_bytes(&mut rng).round().max(1.0) as u32);
        path.advance(now);
        path.offer(packet(number, size), 0, now);
        arrivals.push((now, size));
    }
    path.advance(Time::NEVER);
    assert_eq!(path.departed.len(), arrivals.len());
    let waits_ns = path.departed.iter().zip(&arrivals).map(|((departed, _), (came, size))| {
        (*departed - *came).ns() - u64::from(*size) * 8 * NS_PER_S / rate_bit_per_s
    });
    #[expect(clippy::cast_precision_loss, reason = "below 2^53")]
    let mean_ms = waits_ns.map(|ns| ns as f64).sum::<f64>() / arrivals.len() as f64 / 1e6;
    mean_ms
}

/// M/D/1: load / (2 (1 - load)) transmission times (Pollaczek and Khinchine): 0.5 at a load of 0.5, 2 at 0.8.
#[test]
fn the_queueing_delay_of_equal_packets_is_that_of_md1() {
    for (load, theory) in [(0.5, 0.5), (0.8, 2.0)] {
        let found = mean_wait(load, |_| 1500.0);
        assert!((found / theory - 1.0).abs() <= 0.04, "{load}: {found}, theory {theory}");
    }
}

/// M/M/1: load / (1 - load) mean transmission times, twice the delay of M/D/1: 1 at a load of 0.5, 4 at 0.8.
#[test]
fn the_queueing_delay_of_exponential_sizes_is_that_of_mm1() {
    for (load, theory) in [(0.5, 1.0), (0.8, 4.0)] {
        let found = mean_wait(load, |rng| 1500.0 * exponential(rng));
        assert!((found / theory - 1.0).abs() <= 0.06, "{load}: {found}, theory {theory}");
    }
}
