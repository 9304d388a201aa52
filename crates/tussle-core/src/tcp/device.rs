//! The device that the packets of a host leave by, and the queue in front of it (Linux: its qdisc).
//!
//! A device with a rate transmits one packet at a time. Without a rate a packet leaves as soon as its queue releases it.
//! Sources: `tc-fq(8)`, `tc-pfifo_fast(8)`, `tc-fq_codel(8)` (RFC 8290). Agrees with: Linux 6.1 in its default settings, for
//! the packets of one connection.

use std::collections::VecDeque;

use crate::Time;
use crate::net::packet::{HEADER_BYTES, Kind, MEMORY_OVERHEAD_BYTES, Packet};
use crate::net::queue::{FqCodelSpec, Queue, QueueContext, QueueSpec};
use crate::run::{Host, Qdisc};

/// Largest number of packets of a flow in `fq` (`flow_limit`).
const FLOW_LIMIT_PACKETS: usize = 100;
/// Longest time for which `fq` holds a packet (`horizon`).
const HORIZON: Time = Time::from_secs(10);
/// Delay of the timer of `fq`, which saves interrupts (`timer_slack`).
const TIMER_SLACK: Time = Time::from_us(10);
const NS_BITS: u64 = 8 * 1_000_000_000;

/// A device and its queue.
#[derive(Debug)]
pub(crate) struct Device {
    queue: DeviceQueue,
    transmitter: Option<Transmitter>,
    /// Packet that the queue released while a transmission was going on, and that leaves next (Linux: `gso_skb`).
    requeued: Option<Packet>,
    /// Whether an arriving packet bypasses an empty queue.
    is_bypassed: bool,
    /// Memory of the packets in the queue and in transmission (Linux: `sk_wmem_alloc`).
    memory_bytes: u64,
    /// Whether the sender waits for memory to become free (Linux: `TSQ_THROTTLED`).
    pub(crate) is_awaited: bool,
}

/// Packets that have left a device, and those that its queue has dropped.
#[derive(Debug)]
pub(crate) struct Released<'a> {
    pub(crate) left: &'a mut Vec<Packet>,
    pub(crate) dropped: &'a mut Vec<Packet>,
}

#[derive(Debug)]
enum DeviceQueue {
    /// Packets with their departure times, in this order.
    Fq(VecDeque<(Time, Packet)>),
    /// Packets in order of arrival, and the largest number of them.
    PfifoFast(VecDeque<Packet>, usize),
    FqCodel(Box<dyn Queue>),
}

/// The transmitter of a device with a rate.
#[derive(Debug)]
struct Transmitter {
    rate_bit_per_s: u64,
    /// Rounding error so far, in units of 1/`rate_bit_per_s` ns.
    remainder: u64,
    /// Packet in transmission, and the end of its transmission.
    transmitting: Option<(Packet, Time)>,
}

impl Device {
    /// The device of a host, with a rate or without; `None` if a packet never waits in it.
    pub(crate) fn new(host: &Host, rate_bit_per_s: Option<u64>, seed: u64) -> Option<Device> {
        let queue = match host.qdisc {
            Qdisc::None => return None,
            Qdisc::Fq => DeviceQueue::Fq(VecDeque::new()),
            Qdisc::PfifoFast | Qdisc::FqCodel if rate_bit_per_s.is_none() => return None,
            Qdisc::PfifoFast => DeviceQueue::PfifoFast(VecDeque::new(), host.txqueuelen as usize),
            Qdisc::FqCodel => {
                let context = QueueContext { rate_bit_per_s: rate_bit_per_s.unwrap_or(u64::MAX), seed };
                let queue = QueueSpec::FqCodel(FqCodelSpec::default()).build(context);
                DeviceQueue::FqCodel(queue.expect("the default settings are valid"))
            }
        };
        let transmitter = rate_bit_per_s.map(|rate_bit_per_s| Transmitter {
            rate_bit_per_s,
            remainder: 0,
            transmitting: None,
        });
        Some(Device {
            queue,
            transmitter,
            requeued: None,
            is_bypassed: true,
            memory_bytes: 0,
            is_awaited: false,
        })
    }

    /// Memory of the packets in the queue and in transmission.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.memory_bytes
    }

    /// Whether the queue would refuse a packet with this departure time.
    pub(crate) fn refuses(&self, departure: Time, now: Time) -> bool {
        match &self.queue {
            DeviceQueue::Fq(waiting) => waiting.len() >= FLOW_LIMIT_PACKETS || departure.since(now) > HORIZON,
            DeviceQueue::PfifoFast(waiting, limit) => !self.is_bypassed && waiting.len() >= *limit,
            DeviceQueue::FqCodel(_) => false,
        }
    }

    /// Whether a data packet is in the queue or in transmission.
    pub(crate) fn holds(&self, number: u32) -> bool {
        let is_it = |packet: &Packet| packet.kind == Kind::Data && packet.number == number;
        let transmitting = self.transmitter.as_ref().and_then(|transmitter| transmitter.transmitting);
        let mut found = transmitting.is_some_and(|(packet, _)| is_it(&packet));
        self.for_each(&mut |packet| found |= is_it(packet));
        found
    }

    /// Takes a packet that leaves at `departure` at the earliest, and releases those that leave at once.
    pub(crate) fn send(&mut self, packet: Packet, departure: Time, now: Time, released: &mut Released<'_>) {
        self.memory_bytes += memory_bytes(&packet);
        if self.is_bypassed && !matches!(self.queue, DeviceQueue::Fq(_)) {
            self.requeued = Some(packet);
            self.is_bypassed = self.is_idle(now);
            self.release(now, released);
            return;
        }
        match &mut self.queue {
            DeviceQueue::Fq(waiting) => waiting.push_back((departure, packet)),
            DeviceQueue::PfifoFast(waiting, _) => waiting.push_back(packet),
            DeviceQueue::FqCodel(queue) => {
                let before = released.dropped.len();
                queue.enqueue(packet, now, released.dropped);
                self.memory_bytes -= sum_of_memory(&released.dropped[before..]);
            }
        }
        self.release(now, released);
    }

    /// Latest time of the next call of [`Device::release`]; [`Time::NEVER`] if none is needed.
    pub(crate) fn next(&self) -> Time {
        match self.transmitter {
            Some(Transmitter { transmitting: Some((_, end)), .. }) => end,
            _ => self.due() + TIMER_SLACK,
        }
    }

    /// Departure time of the packet that `fq` releases next; [`Time::NEVER`] while there is none, or another packet is
    /// being transmitted.
    fn due(&self) -> Time {
        let is_transmitting =
            self.transmitter.as_ref().is_some_and(|transmitter| transmitter.transmitting.is_some());
        match &self.queue {
            DeviceQueue::Fq(waiting) if !is_transmitting => {
                waiting.front().map_or(Time::NEVER, |(departure, _)| *departure)
            }
            _ => Time::NEVER,
        }
    }

    /// Releases the packets that leave by `now`; returns whether memory became free.
    pub(crate) fn release(&mut self, now: Time, released: &mut Released<'_>) -> bool {
        let before = self.memory_bytes;
        while self.is_idle(now) {
            if let Some(packet) = self.requeued.take() {
                self.transmit(packet, now, released);
                self.is_bypassed |= self.queue.is_empty_fq_codel();
                continue;
            }
            let dropped_before = released.dropped.len();
            let packet = self.dequeue(now, released.dropped);
            self.memory_bytes -= sum_of_memory(&released.dropped[dropped_before..]);
            let Some(packet) = packet else {
                self.is_bypassed = true;
                break;
            };
            self.transmit(packet, now, released);
            self.is_bypassed |= self.queue.is_empty_fq_codel();
        }
        self.memory_bytes < before
    }

    fn transmit(&mut self, packet: Packet, now: Time, released: &mut Released<'_>) {
        match &mut self.transmitter {
            Some(transmitter) => transmitter.begin(packet, now),
            None => self.memory_bytes -= memory_bytes(&packet),
        }
        released.left.push(packet);
    }

    /// Whether the transmitter may begin with a packet. Frees the memory of one whose transmission has ended.
    fn is_idle(&mut self, now: Time) -> bool {
        let Some(Transmitter { transmitting, .. }) = &mut self.transmitter else { return true };
        if let Some((packet, end)) = *transmitting {
            if end > now {
                return false;
            }
            *transmitting = None;
            self.memory_bytes -= memory_bytes(&packet);
        }
        true
    }

    fn dequeue(&mut self, now: Time, dropped: &mut Vec<Packet>) -> Option<Packet> {
        match &mut self.queue {
            DeviceQueue::Fq(waiting) => {
                waiting.front().filter(|(departure, _)| *departure <= now)?;
                waiting.pop_front().map(|(_, packet)| packet)
            }
            DeviceQueue::PfifoFast(waiting, _) => waiting.pop_front(),
            DeviceQueue::FqCodel(queue) => queue.dequeue(now, dropped),
        }
    }

    /// Calls `visit` with every packet in the queue.
    pub(crate) fn for_each(&self, visit: &mut dyn FnMut(&Packet)) {
        self.requeued.iter().for_each(&mut *visit);
        match &self.queue {
            DeviceQueue::Fq(waiting) => waiting.iter().for_each(|(_, packet)| visit(packet)),
            DeviceQueue::PfifoFast(waiting, _) => waiting.iter().for_each(visit),
            DeviceQueue::FqCodel(queue) => queue.for_each(visit),
        }
    }
}

impl DeviceQueue {
    /// Whether this is `fq_codel` without packets, which is bypassed at once. Linux runs `pfifo_fast` once more before.
    fn is_empty_fq_codel(&self) -> bool {
        matches!(self, DeviceQueue::FqCodel(queue) if queue.backlog().packets == 0)
    }
}

impl Transmitter {
    /// Begins to transmit a packet.
    fn begin(&mut self, packet: Packet, now: Time) {
        let work = u64::from(packet.size_bytes) * NS_BITS + self.remainder;
        self.remainder = work % self.rate_bit_per_s;
        self.transmitting = Some((packet, now + Time::from_ns(work / self.rate_bit_per_s)));
    }
}

/// Memory that a packet takes in its host. A pure ACK takes none that is counted.
pub(crate) fn memory_bytes(packet: &Packet) -> u64 {
    match packet.kind {
        Kind::Data => u64::from(packet.size_bytes + MEMORY_OVERHEAD_BYTES - HEADER_BYTES),
        _ => 0,
    }
}

fn sum_of_memory(packets: &[Packet]) -> u64 {
    packets.iter().map(memory_bytes).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(qdisc: Qdisc) -> Host {
        Host { qdisc, txqueuelen: 2, ..Host::default() }
    }

    fn data(number: u32) -> Packet {
        Packet { number, size_bytes: 1500, ..Packet::new(Kind::Data, 0) }
    }

    /// Numbers of the packets that leave.
    fn leaving(act: impl FnOnce(&mut Released<'_>)) -> Vec<u32> {
        let (mut left, mut dropped) = (Vec::new(), Vec::new());
        act(&mut Released { left: &mut left, dropped: &mut dropped });
        assert!(dropped.is_empty());
        left.iter().map(|packet| packet.number).collect()
    }

    #[test]
    fn only_a_queue_in_which_a_packet_may_wait_makes_a_device() {
        assert!(Device::new(&host(Qdisc::None), Some(1), 0).is_none());
        assert!(Device::new(&host(Qdisc::PfifoFast), None, 0).is_none());
        assert!(Device::new(&host(Qdisc::FqCodel), None, 0).is_none());
        assert!(Device::new(&host(Qdisc::Fq), None, 0).is_some());
    }

    /// The second packet is released by the timer, which is 10 µs late, unless a later packet arrives before that.
    #[test]
    fn fq_releases_packets_at_their_departure_times() {
        let mut device = Device::new(&host(Qdisc::Fq), None, 0).unwrap();
        let at = Time::from_us;
        assert_eq!(leaving(|released| device.send(data(0), at(5), at(5), released)), [0]);
        assert_eq!(device.memory_bytes(), 0);
        assert!(leaving(|released| device.send(data(1), at(100), at(5), released)).is_empty());
        assert_eq!((device.next(), device.memory_bytes()), (at(110), 1448 + 1280));
        assert!(leaving(|released| device.send(data(2), at(200), at(99), released)).is_empty());
        assert_eq!(leaving(|released| device.send(data(3), at(300), at(100), released)), [1]);
        assert_eq!(device.next(), at(210));
        assert!(device.holds(2) && !device.holds(1));
        assert_eq!(leaving(|released| assert!(device.release(at(210), released))), [2]);
    }

    #[test]
    fn fq_refuses_a_packet_beyond_its_horizon_and_the_101st_of_a_flow() {
        let mut device = Device::new(&host(Qdisc::Fq), None, 0).unwrap();
        let later = Time::from_secs(1);
        assert!(device.refuses(Time::from_secs(11), Time::ZERO));
        for number in 0..100 {
            assert!(!device.refuses(later, Time::ZERO));
            leaving(|released| device.send(data(number), later, Time::ZERO, released));
        }
        assert!(device.refuses(later, Time::ZERO));
    }

    /// 1500 bytes take 1 ms at 12 Mbit/s. One packet is in transmission, one was released too early, two wait.
    #[test]
    fn a_device_with_a_rate_transmits_one_packet_at_a_time() {
        let mut device = Device::new(&host(Qdisc::PfifoFast), Some(12_000_000), 0).unwrap();
        let sent: Vec<_> = (0..4)
            .map(|number| {
                assert!(!device.refuses(Time::ZERO, Time::ZERO));
                leaving(|released| device.send(data(number), Time::ZERO, Time::ZERO, released))
            })
            .collect();
        assert_eq!(sent, [vec![0], vec![], vec![], vec![]]);
        assert!(device.refuses(Time::ZERO, Time::ZERO));
        for number in 1..4 {
            let now = Time::from_ms(number);
            assert_eq!(device.next(), now);
            assert_eq!(
                leaving(|released| assert!(device.release(now, released))),
                [u32::try_from(number).unwrap()]
            );
        }
        assert_eq!(device.memory_bytes(), 1448 + 1280);
        assert!(leaving(|released| assert!(device.release(Time::from_ms(4), released))).is_empty());
        assert_eq!((device.next(), device.memory_bytes()), (Time::NEVER, 0));
    }
}
