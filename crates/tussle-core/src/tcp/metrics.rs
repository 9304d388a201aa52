//! Metrics of ended connections, which a host keeps for later connections between the same two hosts (RFC 9040,
//! temporal sharing).

use std::sync::{Arc, Mutex, PoisonError};

use crate::Time;

/// Record of the connections between two hosts, shared by their senders.
#[derive(Clone, Debug, Default)]
pub(crate) struct SharedMetrics(Arc<Mutex<Option<Metrics>>>);

/// Metrics of ended connections between two hosts. Zero means unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Metrics {
    /// Slow start threshold, in packets.
    pub(super) ssthresh: u32,
    /// Smoothed RTT, in eighths of a µs.
    pub(super) rtt_8us: u32,
    /// Reordering, in packets.
    pub(super) reordering: u32,
    /// End of the last connection.
    pub(super) at: Time,
}

impl SharedMetrics {
    pub(super) fn with<T>(&self, access: impl FnOnce(&mut Option<Metrics>) -> T) -> T {
        access(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
