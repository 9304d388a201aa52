//! An element in the event loop.

use super::fifo_link::FifoLink;
use super::link::Rated;
use super::{Element, ElementKind};
use crate::Time;
use crate::net::packet::Packet;

/// An element, and its time in the event list.
#[derive(Debug)]
pub(crate) struct ElementSlot {
    element: Slot,
    /// Time of the element's event in the calendar.
    scheduled: Time,
}

/// An element. The most frequent kind is called statically, because a dynamic call would cost more than its
/// work.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "elements are few, and most are of the large variant")]
enum Slot {
    /// A link with a FIFO.
    Fifo(FifoLink<Rated>),
    /// Any other element.
    Other(Box<dyn Element>),
}

impl ElementSlot {
    /// Builds the element; `seed` seeds its random number generator.
    ///
    /// # Errors
    /// A sentence that names the invalid setting.
    pub(crate) fn new(kind: &ElementKind, seed: u64) -> Result<ElementSlot, String> {
        if let ElementKind::Link(link) = kind
            && let Some(fifo) = link.with_fifo()
        {
            return Ok(ElementSlot { element: Slot::Fifo(fifo?), scheduled: Time::NEVER });
        }
        kind.build(seed).map(ElementSlot::from)
    }

    /// See [`Element::accept`].
    #[inline]
    pub(crate) fn accept(&mut self, packet: &Packet, now: Time, dropped: &mut Vec<Packet>) -> Option<Packet> {
        match &mut self.element {
            Slot::Fifo(link) => {
                link.take(packet, now, dropped);
                None
            }
            Slot::Other(element) => element.accept(*packet, now, dropped),
        }
    }

    /// Time to which the element's event moves after a packet has entered; `None` if it stays.
    #[inline]
    pub(crate) fn reschedule_after_entry(&mut self) -> Option<Time> {
        // A FIFO with an event holds a packet, which leaves before the one that has entered.
        if matches!(self.element, Slot::Fifo(_)) && self.scheduled < Time::NEVER {
            debug_assert_eq!(self.next(), self.scheduled, "a FIFO keeps its first packet");
            return None;
        }
        self.reschedule()
    }

    /// Time to which the element's event moves; `None` if it stays.
    #[inline]
    pub(crate) fn reschedule(&mut self) -> Option<Time> {
        let next = self.next();
        let moves = self.scheduled != next;
        self.scheduled = next;
        moves.then_some(next)
    }

    /// See [`Element::next`].
    #[inline]
    fn next(&self) -> Time {
        match &self.element {
            Slot::Fifo(link) => link.next(),
            Slot::Other(element) => element.next(),
        }
    }

    /// See [`Element::release`]; writes the packet to `packet`, and returns whether there is one.
    #[inline]
    pub(crate) fn release_into(&mut self, packet: &mut Packet, now: Time, dropped: &mut Vec<Packet>) -> bool {
        match &mut self.element {
            Slot::Fifo(link) => link.release_into(packet, now, dropped),
            Slot::Other(element) => {
                let Some(released) = element.release(now, dropped) else { return false };
                *packet = released;
                true
            }
        }
    }

    /// The element, for calls that are not frequent.
    pub(crate) fn get(&self) -> &dyn Element {
        match &self.element {
            Slot::Fifo(link) => link,
            Slot::Other(element) => &**element,
        }
    }

    /// The element, for calls that are not frequent.
    pub(crate) fn get_mut(&mut self) -> &mut dyn Element {
        match &mut self.element {
            Slot::Fifo(link) => link,
            Slot::Other(element) => &mut **element,
        }
    }
}

impl From<Box<dyn Element>> for ElementSlot {
    fn from(element: Box<dyn Element>) -> ElementSlot {
        ElementSlot { element: Slot::Other(element), scheduled: Time::NEVER }
    }
}
