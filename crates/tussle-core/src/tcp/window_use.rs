//! Use of the congestion window by one sender: the record that window validation keeps.

use crate::Time;
use crate::cc::Control;

/// How much of the window was used in the current flight.
#[derive(Clone, Debug, Default)]
pub struct WindowUse {
    /// Whether the window was the limit at some time in the flight (Linux: `is_cwnd_limited`).
    pub(super) limited: bool,
    /// Most packets outstanding in the flight while it was not (Linux: `max_packets_out`).
    pub(super) max_packets_out: u32,
    /// `nxt` when the flight began: it ends when this is acknowledged.
    pub(super) flight_end: u32,
    /// Most packets outstanding since the window was last fully used (Linux: `snd_cwnd_used`).
    pub(super) used_packets: u32,
    /// When the window was last fully used or changed (Linux: `snd_cwnd_stamp`).
    pub(super) at: Time,
}

impl WindowUse {
    /// A flight that the window limits: what tests of an algorithm start from.
    pub fn limited() -> WindowUse {
        WindowUse { limited: true, ..WindowUse::default() }
    }

    /// Whether the window may grow: it was the limit, or slow start has not doubled what was used.
    pub fn cwnd_limited(&self, control: &Control) -> bool {
        self.limited || (control.in_slow_start() && control.cwnd < 2 * self.max_packets_out)
    }

    /// Whether the window was the limit at some time in the last flight.
    pub(crate) fn filled(&self) -> bool {
        self.limited
    }

    /// The window was set at `now`.
    #[inline]
    pub(crate) fn on_window_set(&mut self, now: Time) {
        self.at = now;
    }

    /// Starts again after idle.
    pub(crate) fn on_tx_start(&mut self, now: Time) {
        self.at = now;
        self.used_packets = 0;
    }
}
