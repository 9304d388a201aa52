//! Window validation: a window grows, and is kept, only as far as it is used (RFC 7661).

use crate::cc::Knobs;

/// How much of the window was used in the current flight.
#[derive(Clone, Debug, Default)]
pub struct WindowUse {
    /// Whether the window was the limit at some time in the flight (Linux: `is_cwnd_limited`).
    limited: bool,
    /// Most packets outstanding in the flight while it was not (Linux: `max_packets_out`).
    max_packets_out: u32,
    /// `nxt` when the flight began: it ends when this is acknowledged.
    flight_end: u32,
}

impl WindowUse {
    /// A flight that the window limits: what tests of an algorithm start from.
    pub fn limited() -> WindowUse {
        WindowUse { limited: true, ..WindowUse::default() }
    }

    /// Whether the window may grow: it was the limit, or slow start has not doubled what was used.
    pub fn cwnd_limited(&self, knobs: &Knobs) -> bool {
        self.limited || (knobs.in_slow_start() && knobs.cwnd < 2 * self.max_packets_out)
    }
}
