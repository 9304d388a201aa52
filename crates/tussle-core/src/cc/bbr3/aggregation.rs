//! ACK aggregation: the number of packets that a burst of ACKs acknowledges beyond the estimated rate.
//! (5.5.9)

use super::{Bbr3, Sample};
use crate::tcp::Flow;
use crate::util::windowed::WindowedMax;

/// Length, in round trips, of the maximum filter of the excess, once the pipe was full. (`ExtraAckedFilterLen`)
const ROUNDS: u64 = 10;

/// Packets acknowledged since ACKs last fell behind the rate: one interval.
#[derive(Debug)]
pub(super) struct Aggregation {
    /// Start of the interval, in µs. (`extra_acked_interval_start`)
    start_us: u64,
    /// Packets acknowledged in the interval. (`extra_acked_delivered`)
    delivered: u32,
    excess: WindowedMax<u32>,
}

impl Default for Aggregation {
    fn default() -> Aggregation {
        Aggregation { start_us: 0, delivered: 0, excess: WindowedMax::new(0, 0) }
    }
}

impl Aggregation {
    pub(super) fn restart(&mut self, flow: &Flow) {
        self.start_us = flow.now.us();
    }

    pub(super) fn extra_acked(&self) -> u32 {
        self.excess.get()
    }
}

impl Bbr3 {
    /// Updates the excess with a sample. (`UpdateACKAggregation`)
    pub(super) fn update_aggregation(&mut self, sample: &Sample, flow: &Flow, cwnd: u32) {
        let aggregation = &mut self.aggregation;
        let mut expected = self.bw.packets_in(flow.now.us().saturating_sub(aggregation.start_us));
        if aggregation.delivered <= expected {
            aggregation.delivered = 0;
            aggregation.start_us = flow.now.us();
            expected = 0;
        }
        aggregation.delivered = aggregation.delivered.saturating_add(sample.newly_acked);
        let extra = (aggregation.delivered - expected).min(cwnd);
        let rounds = if self.full_pipe.reached { ROUNDS } else { 1 };
        aggregation.excess.update(extra, self.round.count, rounds);
    }
}
