//! An element as the event loop holds it.

use super::fifo_link::FifoLink;
use super::link::Rated;
use super::{Element, ElementKind};
use crate::Time;
use crate::net::packet::Packet;

/// An element, and the time of its event.
#[derive(Debug)]
pub(crate) struct ElementSlot {
    element: Slot,
    /// Time of its event in the calendar.
    pub(crate) scheduled: Time,
}

/// An element. The most frequent one is called directly: it does less than a call through a table costs.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "elements are few, and most are of the large variant")]
enum Slot {
    /// A link with a FIFO.
    Fifo(FifoLink<Rated>),
    /// Any other element.
    Other(Box<dyn Element>),
}

impl ElementSlot {
    /// Makes the element; its random number generator is seeded by `seed`.
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

    /// See [`Element::next`].
    #[inline]
    pub(crate) fn next(&self) -> Time {
        match &self.element {
            Slot::Fifo(link) => link.next(),
            Slot::Other(element) => element.next(),
        }
    }

    /// See [`Element::release`].
    #[inline]
    pub(crate) fn release(&mut self, now: Time, dropped: &mut Vec<Packet>) -> Option<Packet> {
        match &mut self.element {
            Slot::Fifo(link) => link.release(now, dropped),
            Slot::Other(element) => element.release(now, dropped),
        }
    }

    /// The element, for calls that are rare.
    pub(crate) fn get(&self) -> &dyn Element {
        match &self.element {
            Slot::Fifo(link) => link,
            Slot::Other(element) => &**element,
        }
    }

    /// The element, for calls that are rare.
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
