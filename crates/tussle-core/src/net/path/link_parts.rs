//! The parts of a link, from which it is built.

use super::Element;
use super::fifo_link::FifoLink;
use super::queue_log::QueueLog;
use super::queued_link::QueuedLink;
use super::transmitter::Transmitter;
use crate::net::queue::{Queue, QueueContext, QueueSpec};

/// The transmitter and the queue of a link that is to be built.
pub(super) struct LinkParts<'a, T> {
    pub(super) transmitter: T,
    pub(super) queue: &'a QueueSpec,
    pub(super) context: QueueContext,
}

impl<T: Transmitter + 'static> LinkParts<'_, T> {
    /// Builds the link: a [`FifoLink`] if the queue is a FIFO, else a [`QueuedLink`].
    pub(super) fn build(self) -> Result<Box<dyn Element>, String> {
        if let QueueSpec::Fifo(fifo) = self.queue {
            return Ok(Box::new(FifoLink::new(self.transmitter, fifo)?));
        }
        let queue = self.build_queue()?;
        Ok(Box::new(QueuedLink::new(self.transmitter, queue)))
    }

    /// Builds the link with a log of its packets.
    pub(super) fn build_logged(self, log: &QueueLog) -> Result<Box<dyn Element>, String> {
        let queue = self.build_queue()?;
        Ok(log.logged(self.transmitter, queue))
    }

    fn build_queue(&self) -> Result<Box<dyn Queue>, String> {
        self.queue.build(self.context).map_err(|problem| format!("queue.{problem}"))
    }
}
