//! A link with a FIFO, computed rather than simulated: all packets ahead of a packet are known at its
//! arrival, and hence the times of its transmission. One buffer holds, in this order, the packets in
//! propagation, the one being transmitted, and the queue.

use super::transmitter::{Sent, Transmitter};
use super::{Element, LinkView};
use crate::Time;
use crate::net::packet::{Flags, Kind, Packet};
use crate::net::packet_buffer::PacketBuffer;
use crate::net::queue::{Backlog, FifoSpec, Limit};

/// A link with a FIFO. Its counters and departures equal those of a [`super::queued_link::QueuedLink`] with a
/// FIFO.
#[derive(Debug)]
pub(crate) struct FifoLink<T> {
    transmitter: T,
    limit: Limit,
    /// Packets queued, in transmission, or in propagation.
    packets: PacketBuffer<Times>,
    /// Number of packets transmitted so far; the next one is being transmitted.
    transmitted: usize,
    /// End of the last transmission.
    busy_until: Time,
    /// Departure time of the last packet; no packet overtakes another.
    last_departure: Time,
    totals: Totals,
}

#[derive(Clone, Copy, Debug)]
struct Times {
    /// End of the packet's transmission.
    end: Time,
    /// Time at which the packet leaves the link.
    departure: Time,
}

/// Sums over all packets so far, from which a [`LinkView`] is computed.
#[derive(Debug, Default)]
struct Totals {
    dropped_packets: u64,
    accepted_bytes: u64,
    transmitted_bytes: u64,
    max_backlog_packets: u64,
    /// Sum of the times at which the link became idle, less the times at which it became busy.
    busy_ns: i128,
    /// Sum of the times at which packets left the queue, less the times at which they entered it.
    waited_ns: i128,
}

impl<T> FifoLink<T> {
    /// Creates an idle link.
    pub(super) fn new(transmitter: T, queue: &FifoSpec) -> Result<FifoLink<T>, String> {
        let limit = queue.limit().map_err(|problem| format!("queue.{problem}"))?;
        Ok(FifoLink {
            transmitter,
            limit,
            packets: PacketBuffer::new(Times { end: Time::ZERO, departure: Time::ZERO }),
            transmitted: 0,
            busy_until: Time::ZERO,
            last_departure: Time::ZERO,
            totals: Totals::default(),
        })
    }

    /// Records every transmission that ended by `now`; returns the backlog at that time.
    #[inline]
    fn advance(&mut self, now: Time) -> Backlog {
        while self.transmitted < self.packets.added() {
            let next = self.packets.get(self.transmitted);
            let (end, bytes) = (next.note.end, u64::from(next.size_bytes));
            if end > now {
                return Backlog {
                    packets: (self.packets.added() - self.transmitted - 1) as u64,
                    bytes: self.totals.accepted_bytes - self.totals.transmitted_bytes - bytes,
                };
            }
            self.transmitted += 1;
            self.totals.transmitted_bytes += bytes;
            if self.transmitted < self.packets.added() {
                self.totals.waited_ns += i128::from(end.ns());
            } else {
                self.totals.busy_ns += i128::from(end.ns());
            }
        }
        Backlog::default()
    }
}

impl<T: Transmitter> FifoLink<T> {
    /// Accepts a packet, by reference: copying a packet that has just been written is slow.
    #[inline]
    pub(super) fn take(&mut self, packet: &Packet, now: Time, dropped: &mut Vec<Packet>) {
        let waiting = self.advance(now);
        if !self.limit.has_room_for(packet.size_bytes, waiting) {
            self.totals.dropped_packets += 1;
            dropped.push(*packet);
            return;
        }
        self.totals.accepted_bytes += u64::from(packet.size_bytes);
        let start = if self.transmitted < self.packets.added() {
            self.totals.max_backlog_packets = self.totals.max_backlog_packets.max(waiting.packets + 1);
            self.totals.waited_ns -= i128::from(now.ns());
            self.busy_until
        } else {
            self.totals.busy_ns -= i128::from(now.ns());
            self.transmitter.after_idle();
            now
        };
        let Sent { end, departure, fate } = self.transmitter.transmit(start, packet.size_bytes);
        self.busy_until = end;
        self.last_departure = departure.max(self.last_departure);
        let times = Times { end, departure: self.last_departure };
        if T::LOSES {
            self.packets.push(&Packet { flags: fate.mark(packet.flags), ..*packet }, times);
        } else {
            self.packets.push(packet, times);
        }
    }

    /// See [`Element::release`]; writes the packet to `packet`, and returns whether there is one.
    #[inline]
    pub(super) fn release_into(&mut self, packet: &mut Packet, now: Time, dropped: &mut Vec<Packet>) -> bool {
        // The packet may leave before the end of its transmission was recorded.
        if self.transmitted == self.packets.removed() {
            self.advance(now);
        }
        if !self.packets.pop_into(packet) {
            return false;
        }
        let is_lost = T::LOSES && packet.flags.has(Flags::LOST);
        if is_lost {
            dropped.push(*packet);
        }
        !is_lost
    }
}

impl<T: Transmitter> Element for FifoLink<T> {
    fn accept(&mut self, packet: Packet, now: Time, dropped: &mut Vec<Packet>) -> Option<Packet> {
        self.take(&packet, now, dropped);
        None
    }

    #[inline]
    fn next(&self) -> Time {
        self.packets.first().map_or(Time::NEVER, |first| first.note.departure)
    }

    fn release(&mut self, now: Time, dropped: &mut Vec<Packet>) -> Option<Packet> {
        let mut packet = Packet::new(Kind::Data, 0);
        self.release_into(&mut packet, now, dropped).then_some(packet)
    }

    fn for_each(&self, visit: &mut dyn FnMut(&Packet)) {
        self.packets.for_each(visit);
    }

    fn observe(&mut self, now: Time, _dropped: &mut Vec<Packet>) -> Option<LinkView> {
        let backlog = self.advance(now);
        let is_busy = self.transmitted < self.packets.added();
        let totals = &mut self.totals;
        let now_ns = i128::from(now.ns());
        let busy_ns = totals.busy_ns + if is_busy { now_ns } else { 0 };
        let waited_ns = totals.waited_ns + i128::from(backlog.packets) * now_ns;
        Some(LinkView {
            backlog_packets: backlog.packets,
            backlog_bytes: backlog.bytes,
            max_backlog_packets: std::mem::replace(&mut totals.max_backlog_packets, backlog.packets),
            backlog_packet_ns: u128::try_from(waited_ns)
                .expect("packets enter the queue before they leave it"),
            arrived_packets: self.packets.added() as u64 + totals.dropped_packets,
            delivered_packets: self.transmitted as u64,
            dropped_packets: totals.dropped_packets,
            marked_packets: 0,
            delivered_bytes: totals.transmitted_bytes,
            busy_ns: u64::try_from(busy_ns).expect("a link is busy before it is idle"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::link::Rated;
    use super::super::queued_link::QueuedLink;
    use super::super::{Change, tests::packet};
    use super::*;
    use crate::net::queue::{QueueContext, QueueSpec};
    use proptest::prelude::*;

    /// The history of a link: its views, departures and drops, in order of time.
    fn history(mut link: Box<dyn Element>, arrivals: &[(u64, u32, bool)]) -> Vec<String> {
        let (mut history, mut dropped, mut now) = (Vec::new(), Vec::new(), Time::ZERO);
        let ends = [(1_000_000_000, 0, true)];
        for (number, &(gap_us, size_bytes, observes)) in (0..).zip(arrivals.iter().chain(&ends)) {
            now += Time::from_us(gap_us);
            while link.next() <= now {
                let at = link.next();
                history.push(format!("{at}: {:?}", link.release(at, &mut dropped)));
            }
            if size_bytes > 0 {
                link.accept(Packet { size_bytes, ..packet(number) }, now, &mut dropped);
            }
            if observes {
                history.push(format!("{now}: {:?}", link.observe(now, &mut dropped)));
            }
            history.extend(dropped.drain(..).map(|packet| format!("{now}: dropped {packet:?}")));
        }
        history
    }

    proptest! {
        /// Packets of 40 to 1500 bytes, 0 to 2 ms apart, at 12 Mbit/s (1 ms per full packet) and then at
        /// other rates.
        #[test]
        fn the_computed_link_equals_the_simulated_link(
            limit_packets in prop::option::of(1u64..8),
            limit_bytes in prop::option::of(1000u64..8000),
            arrivals in prop::collection::vec((0u64..2000, 40u32..=1500, any::<bool>()), 1..120),
            changes in prop::collection::btree_map(1u64..60, (1u64..30, 0u64..40), 0..4),
        ) {
            let changes: Vec<_> = changes.into_iter().map(|(at, (rate, delay))| Change {
                at_ns: at * 1_000_000,
                rate_bit_per_s: Some(rate * 1_000_000),
                delay_ns: Some(delay * 1_000_000),
            }).collect();
            let rated = || Rated::new(12_000_000, 5_000_000, &changes).unwrap();
            let spec = FifoSpec { limit_packets, limit_bytes };
            let context = QueueContext { rate_bit_per_s: 12_000_000, seed: 1 };
            let queue = QueueSpec::Fifo(spec.clone()).build(context).unwrap();
            let computed = Box::new(FifoLink::new(rated(), &spec).unwrap());
            prop_assert_eq!(history(computed, &arrivals), history(Box::new(QueuedLink::new(rated(), queue)), &arrivals));
        }
    }
}
