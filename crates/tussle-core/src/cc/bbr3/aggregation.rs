//! ACKs that come in bunches: how many more packets they acknowledge at once than the rate explains. (5.5.9)

use super::{Bbr3, Sample};
use crate::tcp::Flow;
use crate::util::windowed::WindowedMax;

/// Round trips over which the greatest excess counts, once the pipe was full. (`ExtraAckedFilterLen`)
const ROUNDS: u64 = 10;

/// What was acknowledged since ACKs last fell behind the rate.
#[derive(Debug)]
pub(super) struct Aggregation {
    /// When that was, in µs. (`extra_acked_interval_start`)
    start_us: u64,
    /// Packets acknowledged since. (`extra_acked_delivered`)
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
    /// (`UpdateACKAggregation`)
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
