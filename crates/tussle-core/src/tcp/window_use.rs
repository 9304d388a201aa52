//! Use of the congestion window by one sender: the record that window validation keeps.

use crate::Time;
use crate::cc::Control;

/// Use of the window in the current flight.
#[derive(Clone, Debug, Default)]
pub struct WindowUse {
    /// Whether the window was the limit at some time in the flight (Linux: `is_cwnd_limited`).
    pub(super) limited: bool,
    /// Largest number of outstanding packets in the flight while the window was not the limit (Linux:
    /// `max_packets_out`).
    pub(super) max_packets_out: u32,
    /// Value of `nxt` at the start of the flight, which ends when it is acknowledged.
    pub(super) flight_end: u32,
    /// Largest number of outstanding packets since the window was last fully used (Linux: `snd_cwnd_used`).
    pub(super) used_packets: u32,
    /// Time at which the window was last fully used or changed (Linux: `snd_cwnd_stamp`).
    pub(super) at: Time,
}

impl WindowUse {
    /// A flight that the window limits, for tests of algorithms.
    pub fn limited() -> WindowUse {
        WindowUse { limited: true, ..WindowUse::default() }
    }

    /// Whether the window may grow: it was the limit, or slow start has not doubled the used window.
    pub fn cwnd_limited(&self, control: &Control) -> bool {
        self.limited || (control.in_slow_start() && control.cwnd < 2 * self.max_packets_out)
    }

    /// Whether the window was the limit at some time in the last flight.
    pub(crate) fn filled(&self) -> bool {
        self.limited
    }

    /// Records that the window was set at `now`.
    #[inline]
    pub(crate) fn on_window_set(&mut self, now: Time) {
        self.at = now;
    }

    /// Restarts after idle time.
    pub(crate) fn on_tx_start(&mut self, now: Time) {
        self.at = now;
        self.used_packets = 0;
    }
}
