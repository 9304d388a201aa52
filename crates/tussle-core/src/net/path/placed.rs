//! An element in its place in the event loop.

use super::fifo_link::FifoLink;
use super::link::Rated;
use super::{Element, ElementKind};
use crate::Time;
use crate::net::packet::Packet;

/// An element, and when the event loop comes to it next.
#[derive(Debug)]
pub(crate) struct Placed {
    kind: Kind,
    /// The time in the calendar.
    pub(crate) scheduled: Time,
}

/// The usual link is called directly: it does less than a call through a table costs.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "elements are few, and most are of the large variant")]
enum Kind {
    /// A link with a FIFO.
    Fifo(FifoLink<Rated>),
    /// Any other element.
    Other(Box<dyn Element>),
}

impl Placed {
    /// Makes the element; its dice are seeded by `seed`.
    ///
    /// # Errors
    /// A sentence that names the setting that makes no sense.
    pub(crate) fn new(effect: &ElementKind, seed: u64) -> Result<Placed, String> {
        if let ElementKind::Link(link) = effect
            && let Some(fifo) = link.with_fifo()
        {
            return Ok(Placed { kind: Kind::Fifo(fifo?), scheduled: Time::NEVER });
        }
        effect.build(seed).map(Placed::from)
    }

    /// See [`Element::accept`].
    #[inline]
    pub(crate) fn accept(&mut self, packet: &Packet, now: Time, dropped: &mut Vec<Packet>) -> Option<Packet> {
        match &mut self.kind {
            Kind::Fifo(link) => {
                link.take(packet, now, dropped);
                None
            }
            Kind::Other(element) => element.accept(*packet, now, dropped),
        }
    }

    /// See [`Element::next`].
    #[inline]
    pub(crate) fn next(&self) -> Time {
        match &self.kind {
            Kind::Fifo(link) => link.next(),
            Kind::Other(element) => element.next(),
        }
    }

    /// See [`Element::release`].
    #[inline]
    pub(crate) fn release(&mut self, now: Time, dropped: &mut Vec<Packet>) -> Option<Packet> {
        match &mut self.kind {
            Kind::Fifo(link) => link.release(now, dropped),
            Kind::Other(element) => element.release(now, dropped),
        }
    }

    /// The element, for what is asked of it seldom.
    pub(crate) fn get(&self) -> &dyn Element {
        match &self.kind {
            Kind::Fifo(link) => link,
            Kind::Other(element) => &**element,
        }
    }

    /// The element, for what is asked of it seldom.
    pub(crate) fn get_mut(&mut self) -> &mut dyn Element {
        match &mut self.kind {
            Kind::Fifo(link) => link,
            Kind::Other(element) => &mut **element,
        }
    }
}

impl From<Box<dyn Element>> for Placed {
    fn from(element: Box<dyn Element>) -> Placed {
        Placed { kind: Kind::Other(element), scheduled: Time::NEVER }
    }
}
