//! ACK aggregation: the number of packets that a burst of ACKs acknowledges beyond the estimated bandwidth.
//! The window grows by this excess, so that sending continues through the silence before the next burst.

use super::Bbr;
use crate::tcp::{Ack, Flow};

/// Round trips after which the older of two maxima is forgotten.
const WINDOW_ROUNDS: u32 = 5;
/// Largest number of packets counted in one epoch.
const EPOCH_PACKETS: u32 = 1 << 20;
/// Longest silence between bursts of ACKs that the window allows for, in µs.
const SILENCE_US: u64 = 100_000;

/// Packets acknowledged since ACKs last fell behind the bandwidth: one epoch.
#[derive(Debug, Default)]
pub(super) struct Aggregation {
    /// Start of the epoch, in µs.
    epoch_us: u64,
    /// Packets acknowledged in the epoch.
    pub(super) acked: u32,
    /// Greatest excess in each of two windows of round trips.
    excess: [u32; 2],
    /// Index of the current window, and its round trips so far.
    current: usize,
    rounds: u32,
}

impl Aggregation {
    pub(super) fn restart(&mut self, now_us: u64) {
        self.epoch_us = now_us;
        self.acked = 0;
    }

    /// Greatest excess of the last five to ten round trips.
    pub(super) fn extra_acked(&self) -> u32 {
        self.excess[0].max(self.excess[1])
    }
}

impl Bbr {
    pub(super) fn update_aggregation(&mut self, ack: &Ack, flow: &Flow, cwnd: u32) {
        if ack.delivered == 0 || ack.rate.delivered.is_none() || ack.rate.interval_us == 0 {
            return;
        }
        let bw = self.bandwidth();
        let aggregation = &mut self.aggregation;
        if self.round.started {
            aggregation.rounds += 1;
            if aggregation.rounds >= WINDOW_ROUNDS {
                aggregation.rounds = 0;
                aggregation.current = 1 - aggregation.current;
                aggregation.excess[aggregation.current] = 0;
            }
        }
        let mut expected = bw.packets_in(flow.delivered_at_us.saturating_sub(aggregation.epoch_us));
        if aggregation.acked <= expected || aggregation.acked.saturating_add(ack.delivered) >= EPOCH_PACKETS {
            aggregation.restart(flow.delivered_at_us);
            expected = 0;
        }
        aggregation.acked = aggregation.acked.saturating_add(ack.delivered).min(EPOCH_PACKETS - 1);
        let excess = &mut aggregation.excess[aggregation.current];
        *excess = (*excess).max((aggregation.acked - expected).min(cwnd));
    }

    /// Packets added to the window for ACK aggregation, once the pipe was full.
    pub(super) fn aggregation_allowance(&self) -> u32 {
        if self.full_pipe.reached {
            self.aggregation.extra_acked().min(self.bandwidth().packets_in(SILENCE_US))
        } else {
            0
        }
    }
}
