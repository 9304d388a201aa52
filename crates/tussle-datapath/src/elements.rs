//! Elements of a run: their packets, the time at which the next one leaves, and where it goes.

use std::collections::VecDeque;
use std::ops::Range;

use tussle_core::Run;
use tussle_core::Time;
use tussle_core::net::packet::{Flags, Packet};
use tussle_core::net::path::{Element, LinkView};
use tussle_core::util::calendar::Calendar;
use tussle_core::util::rng::named_seed;

use super::addresses::{Direction, flow_towards};
use super::header::{SequenceNumbers, read};
use super::losses::{Loss, Losses};

/// Storage of the packets in elements; a packet's `number` is its slot.
pub trait Slots {
    /// Sequence numbers of a packet; `None` if it is not TCP.
    fn numbers(&self, slot: u32) -> Option<SequenceNumbers>;

    /// Notes that elements have made further packets with the same bytes.
    fn add_copies(&mut self, slot: u32, copies: u64);

    /// Notes that an element has dropped a packet with these bytes.
    fn drop_one(&mut self, slot: u32);
}

/// Elements of a run that real packets cross.
#[derive(Debug)]
pub struct Elements<S> {
    /// Elements by their index in the run; `None` for elements of Linux.
    of_run: Vec<Option<Crossed>>,
    /// Time at which the next packet leaves each element.
    next: Calendar,
    /// Steps of all flows, one after another; a packet's `hop` is its index here.
    steps: Vec<Step>,
    /// Range of the steps of each flow, on the forward path and on the reverse path.
    steps_of: Vec<[Range<usize>; 2]>,
    slots: S,
    /// Packets that have left the last element of their path.
    left: VecDeque<Left>,
    dropped: Vec<Packet>,
    tally: Tally,
    losses: Losses,
    /// Latest time passed to an element.
    now: Time,
}

/// An element of the simulator.
#[derive(Debug)]
struct Crossed {
    element: Box<dyn Element>,
    /// Whether the element duplicates packets.
    makes_copies: bool,
}

impl Crossed {
    /// Number of times that a packet is held, if the element duplicates packets. Copies are held for an
    /// instant only.
    fn held_copies(&self, packet: &Packet) -> u64 {
        let mut found = 0;
        if self.makes_copies {
            self.element.for_each(&mut |held| found += u64::from(held.number == packet.number));
        }
        found
    }
}

/// A step of a packet on its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// Crosses the element with this index.
    Cross(usize),
    /// Leaves by an exit: see [`Left::exit`].
    Leave(usize),
}

/// A packet that has left the elements.
#[derive(Clone, Copy, Debug)]
pub struct Left {
    /// Where the packet goes: the index of the last element crossed, or the host.
    pub exit: usize,
    /// The packet; its `number` is its slot.
    pub packet: Packet,
}

/// Packets by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Tally {
    /// Packets dropped by elements.
    pub dropped: u64,
    /// Copies made by elements.
    pub copied: u64,
    /// Packets held by elements.
    pub held: u64,
}

impl<S: Slots> Elements<S> {
    /// Builds some elements of a run, with the same random numbers as in the simulator. Linux's queue disciplines
    /// are the other elements. Packets leave before each of those; the exit is the index of the last element crossed.
    ///
    /// # Errors
    /// A sentence on an invalid setting.
    pub fn between_devices(run: &Run, elements: &[usize], slots: S) -> Result<Elements<S>, String> {
        let mut made = Elements::build(run, elements, slots)?;
        for flow in &run.flows {
            let paths = [&flow.forward, &flow.reverse].map(|path| made.add_path(run, path, None));
            made.steps_of.push(paths);
        }
        Ok(made)
    }

    /// Builds all elements of a run, as the whole path between its hosts. The exit is the index of a flow's
    /// sender, or the number of flows and the index of the receiver (`Run::receivers`).
    ///
    /// # Errors
    /// A sentence on an invalid setting.
    pub fn between_hosts(run: &Run, slots: S) -> Result<Elements<S>, String> {
        let all: Vec<usize> = (0..run.elements.len()).collect();
        let mut made = Elements::build(run, &all, slots)?;
        let receivers = run.receivers();
        for (sender, flow) in run.flows.iter().enumerate() {
            let forward = made.add_path(run, &flow.forward, Some(run.flows.len() + receivers[sender]));
            let reverse = made.add_path(run, &flow.reverse, Some(sender));
            made.steps_of.push([forward, reverse]);
        }
        Ok(made)
    }

    fn build(run: &Run, elements: &[usize], slots: S) -> Result<Elements<S>, String> {
        let mut of_run: Vec<_> = run.elements.iter().map(|_| None).collect();
        for &index in elements {
            let spec = &run.elements[index];
            let element = spec.kind.build(named_seed(run.seed, &spec.name))?;
            let makes_copies = element.makes_copies();
            of_run[index] = Some(Crossed { element, makes_copies });
        }
        Ok(Elements {
            next: Calendar::new(of_run.len()),
            of_run,
            steps: Vec::new(),
            steps_of: Vec::new(),
            slots,
            left: VecDeque::new(),
            dropped: Vec::new(),
            tally: Tally::default(),
            losses: Losses::new(run),
            now: Time::ZERO,
        })
    }

    /// Adds the steps of a path, and returns their range. Without a host at its end, a packet leaves after each
    /// group of consecutive elements.
    fn add_path(&mut self, run: &Run, path: &[String], host: Option<usize>) -> Range<usize> {
        let begin = self.steps.len();
        let index = |name: &String| run.elements.iter().position(|element| element.name == *name);
        let path: Vec<usize> = path.iter().filter_map(index).collect();
        for (at, &element) in path.iter().enumerate() {
            if self.of_run[element].is_none() {
                continue;
            }
            self.steps.push(Step::Cross(element));
            let is_followed = path.get(at + 1).is_some_and(|next| self.of_run[*next].is_some());
            if host.is_none() && !is_followed {
                self.steps.push(Step::Leave(element));
            }
        }
        self.steps.extend(host.map(Step::Leave));
        begin..self.steps.len()
    }

    /// Makes the packet with these headers, at the beginning of its path or at `element`. The caller sets its
    /// `number`. Returns `None` for a packet that belongs to no flow.
    pub fn packet(&self, header: &[u8], size_bytes: u32, element: Option<usize>) -> Option<Packet> {
        let (packet, destination) = read(header, size_bytes)?;
        let (flow, direction) = flow_towards(destination)?;
        let mut steps = self.steps_of.get(flow)?[usize::from(direction == Direction::Reverse)].clone();
        let step =
            steps.find(|step| element.is_none_or(|element| self.steps[*step] == Step::Cross(element)))?;
        Some(Packet {
            flow: u32::try_from(flow).expect("there are few flows"),
            hop: u32::try_from(step).expect("there are few elements on a path"),
            ..packet
        })
    }

    /// Takes a packet in at `now`. Its slot holds its bytes.
    pub fn enter(&mut self, packet: Packet, now: Time) {
        self.losses.see(&packet, self.slots.numbers(packet.number));
        self.now = self.now.max(now);
        self.tally.held += 1;
        self.advance(packet, self.now);
    }

    /// Time at which the next packet leaves an element.
    pub fn next(&self) -> Time {
        self.next.first().0
    }

    /// Releases the packets that leave an element by `now`, in order of time, then of elements.
    pub fn release(&mut self, now: Time) {
        while self.release_first(now) {}
        self.now = self.now.max(now);
    }

    /// Releases packets as [`Elements::release`] does, until one has left all elements of its path; returns whether one has.
    pub fn release_one(&mut self, now: Time) -> bool {
        while self.left.is_empty() && self.release_first(now) {}
        self.now = self.now.max(now);
        !self.left.is_empty()
    }

    /// Releases the first packet that leaves an element by `now`; returns whether there is one.
    fn release_first(&mut self, now: Time) -> bool {
        let (at, index) = self.next.first();
        if at > now || at == Time::NEVER {
            return false;
        }
        self.now = self.now.max(at);
        let crossed = self.of_run[index].as_mut().expect("the element has a packet");
        let released = crossed.element.release(at, &mut self.dropped);
        self.settle(index);
        if let Some(packet) = released {
            self.leave(packet, at);
        }
        true
    }

    /// The next packet that has left the elements.
    pub fn take(&mut self) -> Option<Left> {
        let left = self.left.pop_front()?;
        if left.packet.flags.has(Flags::CORRUPT) {
            self.losses.damaged(self.now, &left.packet, self.slots.numbers(left.packet.number));
        }
        self.tally.held -= 1;
        Some(left)
    }

    /// Storage of the packets.
    pub fn slots(&mut self) -> &mut S {
        &mut self.slots
    }

    /// State at `now` of an element that is a link.
    pub fn observe(&mut self, element: usize, now: Time) -> Option<LinkView> {
        self.now = self.now.max(now);
        let view = self.of_run.get_mut(element)?.as_mut()?.element.observe(self.now, &mut self.dropped);
        self.settle(element);
        view
    }

    /// All packets so far, by outcome.
    pub fn tally(&self) -> Tally {
        self.tally
    }

    /// Packets dropped or damaged since the last call.
    pub fn take_losses(&mut self) -> Vec<Loss> {
        self.losses.take()
    }

    /// Number of copies of a flow's data packets.
    pub fn copies(&self, flow: u32) -> u64 {
        self.of_run.iter().flatten().map(|crossed| crossed.element.copies(flow)).sum()
    }

    /// Moves a packet on, from its current step, until an element holds it or it leaves.
    fn advance(&mut self, packet: Packet, now: Time) {
        match self.steps[packet.hop as usize] {
            Step::Leave(exit) => self.left.push_back(Left { exit, packet }),
            Step::Cross(element) => {
                let crossed = self.of_run[element].as_mut().expect("steps cross elements");
                let before = crossed.held_copies(&packet);
                let passed = crossed.element.accept(packet, now, &mut self.dropped);
                let copies = crossed.held_copies(&packet).saturating_sub(before + 1);
                if copies > 0 {
                    self.slots.add_copies(packet.number, copies);
                    self.tally.copied += copies;
                    self.tally.held += copies;
                }
                self.settle(element);
                if let Some(passed) = passed {
                    self.leave(passed, now);
                }
            }
        }
    }

    /// Moves on a packet that has crossed the element of its step.
    fn leave(&mut self, mut packet: Packet, now: Time) {
        packet.hop += 1;
        self.advance(packet, now);
    }

    /// Notes what an element has changed: the time of its next packet, and the packets that it has dropped.
    fn settle(&mut self, index: usize) {
        let next = self.of_run[index].as_ref().map_or(Time::NEVER, |crossed| crossed.element.next());
        self.next.set(index, next);
        for packet in self.dropped.drain(..) {
            self.losses.dropped(self.now, index, &packet, self.slots.numbers(packet.number));
            self.slots.drop_one(packet.number);
            self.tally.dropped += 1;
            self.tally.held -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header::tests::{opening, segment, segment_from};
    use crate::{ByteSlots, LossKind, apply, receiver_address, sender_address};

    /// A run of two flows with these elements on the forward path, and a delay of 3 ms on the reverse path.
    fn run(elements: &serde_json::Value) -> Run {
        let mut elements = elements.as_array().unwrap().clone();
        let forward: Vec<_> = elements.iter().map(|element| element["name"].clone()).collect();
        elements.push(delay("reverse", 3));
        let flow = |name: &str| {
            serde_json::json!({"name": name, "algorithm": "reno", "start_ns": 0, "mss_bytes": 1448,
                               "forward": forward, "reverse": ["reverse"]})
        };
        serde_json::from_value(serde_json::json!({
            "format": 1, "profile": "linux-6.1", "seed": 1, "duration_ns": 1_000_000_000u64,
            "steady": {"from_ns": 0, "to_ns": 1_000_000_000u64},
            "record": {"sampling": "off", "events": true},
            "elements": elements, "flows": [flow("a"), flow("b")],
        }))
        .unwrap()
    }

    /// All elements, or those with some of the indices.
    fn crossed(elements: &serde_json::Value, indices: Option<&[usize]>) -> Elements<ByteSlots> {
        let run = run(elements);
        let all: Vec<usize> = (0..run.elements.len()).collect();
        Elements::between_devices(&run, indices.unwrap_or(&all), ByteSlots::default()).unwrap()
    }

    /// A packet enters an element; packets of no flow are ignored.
    fn enter(elements: &mut Elements<ByteSlots>, element: usize, bytes: &[u8], now: Time) {
        let size_bytes = u32::try_from(bytes.len()).unwrap();
        if let Some(packet) = elements.packet(bytes, size_bytes, Some(element)) {
            let number = elements.slots().keep(bytes);
            elements.enter(Packet { number, ..packet }, now);
        }
    }

    /// The packets released: their exits and bytes.
    fn leaving(elements: &mut Elements<ByteSlots>) -> Vec<(usize, Vec<u8>)> {
        let mut all = Vec::new();
        while let Some(Left { exit, packet }) = elements.take() {
            let mut bytes = elements.slots().take(packet.number).to_vec();
            apply(&packet, &mut bytes);
            all.push((exit, bytes));
        }
        all
    }

    fn data(flow: usize) -> Vec<u8> {
        segment(receiver_address(flow), 1448)
    }

    fn delay(name: &str, ms: u64) -> serde_json::Value {
        serde_json::json!({"name": name, "kind": "delay", "delay_ns": ms * 1_000_000})
    }

    #[test]
    fn packets_pass_consecutive_elements_and_leave_at_the_last() {
        let mut elements = crossed(&serde_json::json!([delay("one", 3), delay("two", 4)]), None);
        let bytes = data(1);
        enter(&mut elements, 0, &bytes, Time::from_ms(1));
        assert_eq!(elements.next(), Time::from_ms(4));
        elements.release(Time::from_ms(7));
        assert_eq!((leaving(&mut elements), elements.next()), (vec![], Time::from_ms(8)));
        elements.release(Time::from_ms(8));
        assert_eq!(leaving(&mut elements), [(1, bytes)]);
        // The reverse path.
        enter(&mut elements, 2, &segment(sender_address(1), 0), Time::from_ms(8));
        elements.release(Time::from_ms(11));
        assert_eq!(leaving(&mut elements)[0].0, 2);
        assert_eq!(elements.tally(), Tally::default());
    }

    /// Two packets leave the last element at 4 ms; an answer to the first enters the reverse path before the second leaves.
    #[test]
    fn packets_of_one_instant_are_released_one_at_a_time() {
        let mut elements = crossed(&serde_json::json!([delay("one", 4)]), None);
        (0..2).for_each(|flow| enter(&mut elements, 0, &data(flow), Time::ZERO));
        let now = Time::from_ms(4);
        assert!(elements.release_one(now));
        assert_eq!(leaving(&mut elements), [(0, data(0))]);
        enter(&mut elements, 1, &segment(sender_address(0), 0), now);
        assert!(elements.release_one(now));
        assert_eq!(leaving(&mut elements), [(0, data(1))]);
        assert!(!elements.release_one(now));
        assert_eq!(elements.next(), Time::from_ms(7));
    }

    #[test]
    fn packets_leave_for_elements_of_linux() {
        let periodic = |name| serde_json::json!({"name": name, "kind": "loss_periodic", "every_packets": 2});
        let run = serde_json::json!([periodic("one"), delay("two", 4), periodic("three")]);
        let mut elements = crossed(&run, Some(&[0, 2]));
        enter(&mut elements, 0, &data(0), Time::ZERO);
        assert_eq!(leaving(&mut elements)[0].0, 0);
        enter(&mut elements, 2, &data(0), Time::from_ms(4));
        assert_eq!(leaving(&mut elements)[0].0, 2);
    }

    #[test]
    fn every_packet_is_accounted_for_and_every_slot_is_freed() {
        let queue = serde_json::json!({"kind": "fifo", "limit_packets": 5});
        let run = serde_json::json!([
            {"name": "one", "kind": "duplicate", "probability": 0.5},
            {"name": "two", "kind": "corrupt", "probability": 0.5},
            {"name": "three", "kind": "duplicate", "probability": 0.5},
            {"name": "link", "kind": "link", "rate_bit_per_s": 12_000_000, "delay_ns": 0, "queue": queue},
        ]);
        let mut elements = crossed(&run, None);
        let mut gone = 0;
        for burst in 0..50 {
            let now = Time::from_ms(10 * burst);
            elements.release(now);
            (0..8).for_each(|flow| enter(&mut elements, 0, &data(flow % 2), now));
            elements.release(now);
            gone += leaving(&mut elements).len() as u64;
            let Tally { dropped, copied, held } = elements.tally();
            assert_eq!(8 * (burst + 1) + copied, dropped + held + gone);
        }
        elements.release(Time::from_secs(1));
        gone += leaving(&mut elements).len() as u64;
        let Tally { dropped, copied, held } = elements.tally();
        assert_eq!((held, 400 + copied), (0, dropped + gone));
        assert_eq!(copied, elements.copies(0) + elements.copies(1));
        // 400 packets, duplicated twice with 1/2: 900 on average, standard deviation below sqrt(400 × 5) =
        // 45.
        assert!((300..=700).contains(&copied), "{copied}");
        assert!(dropped > 0);
        assert!(elements.slots().are_all_free());
    }

    #[test]
    fn a_mark_affects_a_single_copy() {
        let queue = serde_json::json!({"kind": "threshold", "mark_above_packets": 1});
        let run = serde_json::json!([
            {"name": "one", "kind": "duplicate", "probability": 1.0},
            {"name": "link", "kind": "link", "rate_bit_per_s": 12_000_000, "delay_ns": 0, "queue": queue},
        ]);
        let mut elements = crossed(&run, None);
        let mut bytes = data(0);
        // ECT(0).
        bytes[1] |= 2;
        (0..2).for_each(|_| enter(&mut elements, 0, &bytes, Time::ZERO));
        elements.release(Time::from_secs(1));
        let marked: Vec<_> = leaving(&mut elements).iter().map(|(_, bytes)| bytes[1] & 3 == 3).collect();
        assert_eq!(marked.len(), 4);
        assert!(marked.contains(&true) && marked.contains(&false), "{marked:?}");
    }

    /// Data from sequence number 1001 on, in packets of 1448 bytes: the third begins at 1001 + 2896.
    #[test]
    fn a_dropped_packet_is_recorded_with_its_number() {
        let run = serde_json::json!([{"name": "one", "kind": "loss_periodic", "every_packets": 3}]);
        let mut elements = crossed(&run, None);
        let to = receiver_address(1);
        enter(&mut elements, 0, &opening(1000, to), Time::ZERO);
        enter(&mut elements, 0, &segment_from(1001, to, 1448), Time::from_ms(1));
        enter(&mut elements, 0, &segment_from(1001 + 2896, to, 1448), Time::from_ms(2));
        let loss = Loss {
            at: Time::from_ms(2),
            kind: LossKind::Dropped,
            flow: 1,
            element: Some(0),
            packet: Some(2),
        };
        assert_eq!(elements.take_losses(), [loss]);
        assert_eq!(elements.take_losses(), []);
    }

    #[test]
    fn a_damaged_packet_is_recorded() {
        let run = serde_json::json!([{"name": "one", "kind": "corrupt", "probability": 1.0}]);
        let mut elements = crossed(&run, None);
        enter(&mut elements, 0, &data(0), Time::from_ms(3));
        leaving(&mut elements);
        let found: Vec<_> = elements.take_losses().iter().map(|loss| (loss.kind, loss.element)).collect();
        assert_eq!(found, [(LossKind::Damaged, None)]);
    }

    #[test]
    fn packets_that_belong_to_no_flow_are_ignored() {
        let mut elements = crossed(&serde_json::json!([delay("one", 3)]), None);
        enter(&mut elements, 0, &segment(receiver_address(2), 0), Time::ZERO);
        enter(&mut elements, 0, &[0x60; 48], Time::ZERO);
        assert_eq!((elements.tally(), elements.next()), (Tally::default(), Time::NEVER));
    }
}
