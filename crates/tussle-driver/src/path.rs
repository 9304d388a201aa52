//! The path of a run, with packets that the kernel stores.

use std::collections::VecDeque;

use tussle_core::net::packet::{Ecn, Flags, Packet};
use tussle_core::{Run, Time};
use tussle_datapath::requests::{Copies, NextLoss, Observe};
use tussle_datapath::{Elements, Left, Loss, Tally, sequence_numbers};

use super::skbs::{Skb, Skbs};

/// The elements between the hosts of a run.
#[derive(Debug)]
pub struct Path {
    elements: Elements<Skbs>,
    /// Number of packets that belong to no flow, and were dropped.
    strays: u64,
    losses: VecDeque<Loss>,
}

/// A packet that reaches a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Delivery {
    /// The packet.
    pub skb: Skb,
    /// The host: see [`Elements::between_hosts`].
    pub exit: u32,
    /// Changes to its bytes, and whether the path still holds the packet: the bits below.
    pub changes: u32,
    /// The next two packets of its flow that the path holds, which probably reach the host next; 0 for none.
    pub following: [Skb; 2],
}

impl Delivery {
    /// The ECN bits become "congestion experienced".
    pub const MARK: u32 = 1;
    /// The packet is damaged, so that the receiver drops it.
    pub const DAMAGE: u32 = 2;
    /// A copy is delivered, and the path keeps the packet.
    pub const COPY: u32 = 4;
}

impl Path {
    /// Builds the path of a run, which is JSON.
    ///
    /// # Errors
    /// A sentence on what is wrong with the run.
    pub fn new(run: &[u8]) -> Result<Path, String> {
        let run: Run = serde_json::from_slice(run).map_err(|problem| problem.to_string())?;
        let elements = Elements::between_hosts(&run, Skbs::default())?;
        Ok(Path { elements, strays: 0, losses: VecDeque::new() })
    }

    /// Takes in a packet that a host sent. A packet that belongs to no flow is dropped.
    pub fn enter(&mut self, skb: Skb, header: &[u8], size_bytes: u32, now_ns: u64) {
        let Some(packet) = self.elements.packet(header, size_bytes, None) else {
            self.strays += 1;
            self.elements.slots().drop_stray(skb);
            return;
        };
        let number = self.elements.slots().keep(skb, sequence_numbers(header), packet.hop);
        self.elements.enter(Packet { number, ..packet }, Time::from_ns(now_ns));
    }

    /// Moves on the packets that leave an element by `now_ns`.
    pub fn release(&mut self, now_ns: u64) {
        self.elements.release(Time::from_ns(now_ns));
    }

    /// Moves packets on as [`Path::release`] does, until one reaches its host; returns whether one has.
    pub fn release_one(&mut self, now_ns: u64) -> bool {
        self.elements.release_one(Time::from_ns(now_ns))
    }

    /// Time of the run at which the next packet leaves an element, in ns; the largest number for never.
    pub fn next_ns(&self) -> u64 {
        match self.elements.next() {
            Time::NEVER => u64::MAX,
            next => next.ns(),
        }
    }

    /// The next packet that reaches a host.
    pub fn take(&mut self) -> Option<Delivery> {
        let Left { exit, packet } = self.elements.take()?;
        let following = self.elements.slots().following(packet.number);
        let (skb, is_copy) = self.elements.slots().take(packet.number);
        let mut changes = 0;
        for (applies, bit) in [
            (packet.ecn == Ecn::Ce, Delivery::MARK),
            (packet.flags.has(Flags::CORRUPT), Delivery::DAMAGE),
            (is_copy, Delivery::COPY),
        ] {
            changes |= if applies { bit } else { 0 };
        }
        let exit = u32::try_from(exit).expect("there are few hosts");
        Some(Delivery { skb, exit, changes, following })
    }

    /// A packet that the path has dropped, to be freed.
    pub fn take_dropped(&mut self) -> Option<Skb> {
        self.elements.slots().take_dropped()
    }

    /// Answers for the state of a link.
    pub fn observe(&mut self, asked: &mut Observe) {
        let element = usize::try_from(asked.element).unwrap_or(usize::MAX);
        asked.answer(self.elements.observe(element, Time::from_ns(asked.now_ns)));
    }

    /// Packets by outcome.
    pub fn tally(&self) -> Tally {
        let tally = self.elements.tally();
        Tally { dropped: tally.dropped + self.strays, ..tally }
    }

    /// Answers for the copies of a flow.
    pub fn copies(&self, asked: &mut Copies) {
        asked.copies = u32::try_from(asked.flow).map_or(0, |flow| self.elements.copies(flow));
    }

    /// The next loss of a packet of a flow.
    pub fn next_loss(&mut self) -> NextLoss {
        if self.losses.is_empty() {
            self.losses.extend(self.elements.take_losses());
        }
        self.losses.pop_front().map_or_else(NextLoss::default, |loss| NextLoss::of(&loss))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tussle_datapath::{receiver_address, sender_address};

    /// A run of one flow over these elements, and back over a delay of 3 ms.
    fn path(elements: &serde_json::Value) -> Path {
        let mut elements = elements.as_array().unwrap().clone();
        let forward: Vec<_> = elements.iter().map(|element| element["name"].clone()).collect();
        elements.push(serde_json::json!({"name": "reverse", "kind": "delay", "delay_ns": 3_000_000}));
        let run = serde_json::json!({
            "format": 1, "profile": "linux-6.1", "seed": 1, "duration_ns": 1_000_000_000u64,
            "steady": {"from_ns": 0, "to_ns": 1_000_000_000u64},
            "record": {"sampling": "off", "events": true},
            "elements": elements,
            "flows": [{"name": "a", "algorithm": "reno", "start_ns": 0, "mss_bytes": 1448, "forward": forward,
                       "reverse": ["reverse"]}],
        });
        Path::new(run.to_string().as_bytes()).unwrap()
    }

    /// Headers of an ECN-capable TCP segment.
    fn header(to: std::net::Ipv4Addr) -> [u8; 40] {
        let mut header = [0; 40];
        (header[0], header[1], header[9]) = (0x45, 2, 6);
        header[16..20].copy_from_slice(&to.octets());
        (header[32], header[33]) = (0x50, 16);
        header
    }

    #[test]
    fn a_packet_reaches_its_host_and_its_answer_the_sender() {
        let mut path = path(&serde_json::json!([{"name": "one", "kind": "delay", "delay_ns": 2_000_000}]));
        path.enter(7, &header(receiver_address(0)), 1500, 1_000_000);
        assert_eq!((path.next_ns(), path.take(), path.tally().held), (3_000_000, None, 1));
        path.release(3_000_000);
        assert_eq!(path.take(), Some(Delivery { skb: 7, exit: 1, changes: 0, following: [0; 2] }));
        path.enter(8, &header(sender_address(0)), 52, 3_000_000);
        path.release(6_000_000);
        assert_eq!(path.take(), Some(Delivery { skb: 8, exit: 0, changes: 0, following: [0; 2] }));
        assert_eq!((path.next_ns(), path.tally()), (u64::MAX, Tally::default()));
    }

    #[test]
    fn a_packet_that_reaches_its_host_names_the_next_two_of_its_flow() {
        let mut path = path(&serde_json::json!([{"name": "one", "kind": "delay", "delay_ns": 2_000_000}]));
        for (skb, to) in [(7, receiver_address(0)), (8, sender_address(0)), (9, receiver_address(0))] {
            path.enter(skb, &header(to), 1500, 0);
        }
        path.enter(10, &header(receiver_address(0)), 1500, 1_000_000);
        path.release(2_000_000);
        let following: Vec<_> = std::iter::from_fn(|| path.take()).map(|each| each.following).collect();
        assert_eq!(following, [[9, 10], [10, 0]]);
    }

    #[test]
    fn only_the_last_of_several_copies_ends_the_packet() {
        let mut path = path(&serde_json::json!([{"name": "one", "kind": "duplicate", "probability": 1.0}]));
        path.enter(7, &header(receiver_address(0)), 1500, 0);
        path.release(0);
        let changes: Vec<_> =
            std::iter::from_fn(|| path.take()).map(|each| (each.skb, each.changes)).collect();
        assert_eq!(changes, [(7, Delivery::COPY), (7, 0)]);
        assert_eq!(path.tally(), Tally { copied: 1, ..Tally::default() });
    }

    #[test]
    fn dropped_packets_and_strays_are_returned_to_be_freed_and_counted() {
        let dropping = serde_json::json!([{"name": "one", "kind": "loss", "probability": 1.0}]);
        let mut path = path(&dropping);
        path.enter(7, &header(receiver_address(0)), 1500, 0);
        path.enter(8, &header(receiver_address(5)), 1500, 0);
        path.enter(9, &[0x60; 40], 40, 0);
        let freed: Vec<_> = std::iter::from_fn(|| path.take_dropped()).collect();
        assert_eq!((freed, path.take()), (vec![9, 8, 7], None));
        assert_eq!(path.tally(), Tally { dropped: 3, ..Tally::default() });
        let loss = path.next_loss().loss().unwrap();
        assert_eq!((loss.flow, loss.element, path.next_loss().found), (0, Some(0), 0));
    }

    #[test]
    fn marks_and_damage_are_left_to_the_kernel() {
        let queue = serde_json::json!({"kind": "threshold", "mark_above_packets": 1});
        let mut path = path(&serde_json::json!([
            {"name": "one", "kind": "corrupt", "probability": 1.0},
            {"name": "link", "kind": "link", "rate_bit_per_s": 12_000_000, "delay_ns": 0, "queue": queue},
        ]));
        for skb in 0..6 {
            path.enter(skb, &header(receiver_address(0)), 1500, 0);
        }
        path.release(1_000_000_000);
        let changes: Vec<_> = std::iter::from_fn(|| path.take()).map(|each| each.changes).collect();
        assert!(changes.contains(&Delivery::DAMAGE), "{changes:?}");
        assert!(changes.contains(&(Delivery::DAMAGE | Delivery::MARK)), "{changes:?}");
    }
}
