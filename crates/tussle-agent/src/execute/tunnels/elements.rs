//! Elements between devices: their packets, and the times and devices at which packets leave.

use std::collections::VecDeque;
use std::ops::Range;

use anyhow::Context;
use tussle_core::Run;
use tussle_core::Time;
use tussle_core::net::packet::{Flags, Packet};
use tussle_core::net::path::{Element, ElementKind, LinkView};
use tussle_core::util::rng::named_seed;

use super::bytes::{apply, read};
use super::losses::{Loss, Losses};
use crate::network::{Direction, Network, flow_towards};

/// Elements of a run that stand in tunnels.
#[derive(Debug)]
pub(super) struct Elements {
    /// Elements by their index in the run; `None` for elements of Linux.
    of_run: Vec<Option<TunnelElement>>,
    /// Steps of all flows, one after another; a packet's `hop` is its index here.
    steps: Vec<Step>,
    /// Range of the steps of each flow, on the forward path and on the reverse path.
    steps_of: Vec<[Range<usize>; 2]>,
    /// Bytes of packets; a packet's `number` is its slot here.
    store: Store,
    /// Packets to be written, with the element that they leave.
    leaving: VecDeque<(usize, Packet)>,
    /// Buffer for the bytes to be written.
    written: Vec<u8>,
    dropped: Vec<Packet>,
    tally: Tally,
    losses: Losses,
    /// Latest time passed to an element.
    now: Time,
}

/// An element of the simulator.
#[derive(Debug)]
struct TunnelElement {
    element: Box<dyn Element>,
    /// Whether the element duplicates packets.
    makes_copies: bool,
}

impl TunnelElement {
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

/// An element on the path of a flow.
#[derive(Clone, Copy, Debug)]
struct Step {
    element: usize,
    /// Whether the network follows; otherwise the element of the next step does.
    is_last: bool,
}

/// Packets by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Packets dropped by elements.
    pub(crate) dropped: u64,
    /// Copies made by elements.
    pub(crate) copied: u64,
    /// Packets held by elements.
    pub(crate) held: u64,
}

impl Elements {
    /// Builds the elements of a run that stand in tunnels, with the same random numbers as in the simulator.
    ///
    /// # Errors
    /// A sentence on an invalid setting.
    pub(super) fn new(run: &Run, network: &Network) -> Result<Elements, String> {
        let mut elements: Vec<_> = run.elements.iter().map(|_| None).collect();
        for tunnel in &network.tunnels {
            let spec = &run.elements[tunnel.element];
            elements[tunnel.element] = Some(TunnelElement {
                element: spec.kind.build(named_seed(run.seed, &spec.name))?,
                makes_copies: matches!(spec.kind, ElementKind::Duplicate(_)),
            });
        }
        let index = |name: &String| run.elements.iter().position(|element| element.name == *name);
        let mut steps = Vec::new();
        let mut add = |path: &[String]| {
            let begin = steps.len();
            let path: Vec<usize> = path.iter().filter_map(index).collect();
            for (at, &element) in path.iter().enumerate() {
                let next = path.get(at + 1).is_some_and(|next| elements[*next].is_some());
                if elements[element].is_some() {
                    steps.push(Step { element, is_last: !next });
                }
            }
            begin..steps.len()
        };
        let steps_of = run.flows.iter().map(|flow| [add(&flow.forward), add(&flow.reverse)]).collect();
        Ok(Elements {
            of_run: elements,
            steps,
            steps_of,
            store: Store::default(),
            leaving: VecDeque::new(),
            written: Vec::new(),
            dropped: Vec::new(),
            tally: Tally::default(),
            losses: Losses::new(run),
            now: Time::ZERO,
        })
    }

    /// Passes a packet to an element at `now`. Packets that belong to no flow are ignored.
    pub(super) fn enter(&mut self, element: usize, bytes: &[u8], now: Time) {
        let Some((packet, destination)) = read(bytes) else { return };
        let Some((flow, way)) = flow_towards(destination) else { return };
        let Some(steps_of) = self.steps_of.get(flow) else { return };
        let mut way = steps_of[usize::from(way == Direction::Reverse)].clone();
        let Some(step) = way.find(|step| self.steps[*step].element == element) else { return };
        let packet = Packet {
            flow: u32::try_from(flow).expect("there are few flows"),
            hop: u32::try_from(step).expect("there are few elements on a path"),
            number: self.store.keep(bytes),
            ..packet
        };
        self.losses.see(&packet, bytes);
        self.now = self.now.max(now);
        self.tally.held += 1;
        self.forward(packet, self.now);
    }

    /// Time at which the next packet leaves an element.
    pub(super) fn next(&self) -> Time {
        self.of_run.iter().flatten().map(|elements| elements.element.next()).min().unwrap_or(Time::NEVER)
    }

    /// Releases the packets that leave by `now`, in order of time, then of elements.
    pub(super) fn release(&mut self, now: Time) {
        while let Some((at, index)) = self.first()
            && at <= now
        {
            self.now = self.now.max(at);
            let elements = self.of_run[index].as_mut().expect("the element has a packet");
            let released = elements.element.release(at, &mut self.dropped);
            self.drop_dropped(index);
            if let Some(packet) = released {
                self.leave(packet, at);
            }
        }
        self.now = self.now.max(now);
    }

    /// Passes the element and the bytes of each released packet to `write`.
    ///
    /// # Errors
    /// Fails where `write` fails.
    pub(super) fn write_leaving(
        &mut self,
        write: &mut dyn FnMut(usize, &[u8]) -> std::io::Result<()>,
    ) -> anyhow::Result<()> {
        while let Some((element, packet)) = self.leaving.pop_front() {
            // A copy of the packet may need the original bytes.
            self.written.clear();
            self.written.extend_from_slice(self.store.take(packet.number));
            if packet.flags.has(Flags::CORRUPT) {
                self.losses.damaged(self.now, &packet, &self.written);
            }
            apply(&packet, &mut self.written);
            write(element, &self.written).context("writing a packet")?;
            self.tally.held -= 1;
        }
        Ok(())
    }

    /// State at `now` of an element that is a link in a tunnel.
    pub(super) fn observe(&mut self, element: usize, now: Time) -> Option<LinkView> {
        self.now = self.now.max(now);
        let elements = self.of_run[element].as_mut()?;
        let view = elements.element.observe(self.now, &mut self.dropped);
        self.drop_dropped(element);
        view
    }

    /// All packets so far, by outcome.
    pub(super) fn tally(&self) -> Tally {
        self.tally
    }

    /// Packets dropped or damaged since the last call.
    pub(super) fn take_losses(&mut self) -> Vec<Loss> {
        self.losses.take()
    }

    /// Number of copies of a flow's data packets.
    pub(super) fn copies(&self, flow: usize) -> u64 {
        let flow = u32::try_from(flow).expect("there are few flows");
        self.of_run.iter().flatten().map(|elements| elements.element.copies(flow)).sum()
    }

    /// Moves a packet through elements, from its current step, until one holds it.
    fn forward(&mut self, packet: Packet, now: Time) {
        let element = self.steps[packet.hop as usize].element;
        let elements = self.of_run[element].as_mut().expect("steps are elements of tunnels");
        let before = elements.held_copies(&packet);
        let passed = elements.element.accept(packet, now, &mut self.dropped);
        let copies = elements.held_copies(&packet).saturating_sub(before + 1);
        self.store.add_uses(packet.number, copies);
        self.tally.copied += copies;
        self.tally.held += copies;
        self.drop_dropped(element);
        if let Some(through) = passed {
            self.leave(through, now);
        }
    }

    /// Moves a packet on that has passed the element of its step.
    fn leave(&mut self, mut packet: Packet, now: Time) {
        let step = self.steps[packet.hop as usize];
        if step.is_last {
            self.leaving.push_back((step.element, packet));
        } else {
            packet.hop += 1;
            self.forward(packet, now);
        }
    }

    fn drop_dropped(&mut self, element: usize) {
        for packet in self.dropped.drain(..) {
            self.losses.dropped(self.now, element, &packet, self.store.take(packet.number));
            self.tally.dropped += 1;
            self.tally.held -= 1;
        }
    }

    /// The next element that a packet leaves, and the time.
    fn first(&self) -> Option<(Time, usize)> {
        let elements = self.of_run.iter().enumerate();
        elements.filter_map(|(index, elements)| Some((elements.as_ref()?.element.next(), index))).min()
    }
}

/// Bytes of packets in elements, in reusable slots.
#[derive(Debug, Default)]
struct Store {
    slots: Vec<StoredPacket>,
    free: Vec<u32>,
}

#[derive(Debug, Default)]
struct StoredPacket {
    bytes: Vec<u8>,
    /// Number of packets with these bytes.
    uses: u64,
}

impl Store {
    /// Stores the bytes of one packet, and returns their slot.
    fn keep(&mut self, bytes: &[u8]) -> u32 {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(StoredPacket::default());
            u32::try_from(self.slots.len() - 1).expect("memory is full long before")
        });
        let kept = &mut self.slots[slot as usize];
        kept.bytes.clear();
        kept.bytes.extend_from_slice(bytes);
        kept.uses = 1;
        slot
    }

    /// Adds packets with the same bytes.
    fn add_uses(&mut self, slot: u32, packets: u64) {
        self.slots[slot as usize].uses += packets;
    }

    /// Bytes of a packet that leaves. The slot becomes free when no other packet uses it.
    fn take(&mut self, slot: u32) -> &[u8] {
        let kept = &mut self.slots[slot as usize];
        kept.uses -= 1;
        if kept.uses == 0 {
            self.free.push(slot);
        }
        &kept.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::super::bytes::tests::{opening, segment, segment_from};
    use super::*;
    use crate::network::{Datapath, receiver_address, sender_address};

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

    fn tunnels(elements: &serde_json::Value, datapath: Datapath) -> Elements {
        let run = run(elements);
        Elements::new(&run, &Network::plan(&run, datapath).unwrap()).unwrap()
    }

    /// The packets released: their elements and bytes.
    fn leaving(elements: &mut Elements) -> Vec<(usize, Vec<u8>)> {
        let mut all = Vec::new();
        elements
            .write_leaving(&mut |element, bytes| {
                all.push((element, bytes.to_vec()));
                Ok(())
            })
            .unwrap();
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
        let mut elements = tunnels(&serde_json::json!([delay("one", 3), delay("two", 4)]), Datapath::Tunnels);
        let bytes = data(1);
        elements.enter(0, &bytes, Time::from_ms(1));
        assert_eq!(elements.next(), Time::from_ms(4));
        elements.release(Time::from_ms(7));
        assert_eq!((leaving(&mut elements), elements.next()), (vec![], Time::from_ms(8)));
        elements.release(Time::from_ms(8));
        assert_eq!(leaving(&mut elements), [(1, bytes)]);
        // The reverse path.
        elements.enter(2, &segment(sender_address(1), 0), Time::from_ms(8));
        elements.release(Time::from_ms(11));
        assert_eq!(leaving(&mut elements)[0].0, 2);
        assert_eq!(elements.tally(), Tally::default());
    }

    #[test]
    fn packets_leave_the_tunnel_for_elements_of_linux() {
        let periodic = |name| serde_json::json!({"name": name, "kind": "loss_periodic", "every_packets": 2});
        let run = serde_json::json!([periodic("one"), delay("two", 4), periodic("three")]);
        let mut elements = tunnels(&run, Datapath::Auto);
        elements.enter(0, &data(0), Time::ZERO);
        assert_eq!(leaving(&mut elements)[0].0, 0);
        elements.enter(2, &data(0), Time::from_ms(4));
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
        let mut elements = tunnels(&run, Datapath::Tunnels);
        let mut released = 0;
        for burst in 0..50 {
            let now = Time::from_ms(10 * burst);
            elements.release(now);
            (0..8).for_each(|flow| elements.enter(0, &data(flow % 2), now));
            elements.release(now);
            released += leaving(&mut elements).len() as u64;
            let Tally { dropped, copied, held } = elements.tally();
            assert_eq!(8 * (burst + 1) + copied, dropped + held + released);
        }
        elements.release(Time::from_secs(1));
        released += leaving(&mut elements).len() as u64;
        let Tally { dropped, copied, held } = elements.tally();
        assert_eq!((held, 400 + copied), (0, dropped + released));
        assert_eq!(copied, elements.copies(0) + elements.copies(1));
        // 400 packets, duplicated twice with 1/2: 900 on average, standard standard deviation below sqrt(400
        // × 5) = 45.
        assert!((300..=700).contains(&copied), "{copied}");
        assert!(dropped > 0);
        assert_eq!(elements.store.free.len(), elements.store.slots.len());
    }

    #[test]
    fn a_mark_affects_a_single_copy() {
        let queue = serde_json::json!({"kind": "threshold", "mark_above_packets": 1});
        let run = serde_json::json!([
            {"name": "one", "kind": "duplicate", "probability": 1.0},
            {"name": "link", "kind": "link", "rate_bit_per_s": 12_000_000, "delay_ns": 0, "queue": queue},
        ]);
        let mut elements = tunnels(&run, Datapath::Tunnels);
        let mut bytes = data(0);
        // ECT(0).
        bytes[1] |= 2;
        (0..2).for_each(|_| elements.enter(0, &bytes, Time::ZERO));
        elements.release(Time::from_secs(1));
        let marked: Vec<_> = leaving(&mut elements).iter().map(|(_, bytes)| bytes[1] & 3 == 3).collect();
        assert_eq!(marked.len(), 4);
        assert!(marked.contains(&true) && marked.contains(&false), "{marked:?}");
    }

    /// Data from sequence number 1001 on, in packets of 1448 bytes: the third begins at 1001 + 2896.
    #[test]
    fn a_dropped_packet_is_recorded_with_its_number() {
        let run = serde_json::json!([{"name": "one", "kind": "loss_periodic", "every_packets": 3}]);
        let mut elements = tunnels(&run, Datapath::Tunnels);
        let to = receiver_address(1);
        elements.enter(0, &opening(1000, to), Time::ZERO);
        elements.enter(0, &segment_from(1001, to, 1448), Time::from_ms(1));
        elements.enter(0, &segment_from(1001 + 2896, to, 1448), Time::from_ms(2));
        let loss = Loss { at: Time::from_ms(2), kind: "drop", flow: 1, element: Some(0), packet: Some(2) };
        assert_eq!(elements.take_losses(), [loss]);
        assert_eq!(elements.take_losses(), []);
    }

    #[test]
    fn a_damaged_packet_is_recorded() {
        let run = serde_json::json!([{"name": "one", "kind": "corrupt", "probability": 1.0}]);
        let mut elements = tunnels(&run, Datapath::Tunnels);
        elements.enter(0, &data(0), Time::from_ms(3));
        leaving(&mut elements);
        let found: Vec<_> = elements.take_losses().iter().map(|loss| (loss.kind, loss.element)).collect();
        assert_eq!(found, [("corrupt", None)]);
    }

    #[test]
    fn packets_that_belong_to_no_flow_are_ignored() {
        let mut elements = tunnels(&serde_json::json!([delay("one", 3)]), Datapath::Tunnels);
        elements.enter(0, &segment(receiver_address(2), 0), Time::ZERO);
        elements.enter(0, &[0x60; 48], Time::ZERO);
        assert_eq!((elements.tally(), elements.next()), (Tally::default(), Time::NEVER));
    }
}
