//! Reduction of the window in recovery: proportional rate reduction, rate halving as before Linux 3.2, or all at once.

use super::Sender;
use crate::run::Reduction;
use crate::tcp::prr::{Progress, Target};

impl Sender {
    /// Performs one step of the reduction.
    pub(super) fn reduce(&mut self, progress: Progress) {
        match self.setup.host.reduction {
            Reduction::Prr => self.reduce_in_proportion(progress),
            Reduction::RateHalving => self.halve_rate(progress),
            Reduction::Immediate => self.reduce_at_once(),
        }
    }

    fn reduce_in_proportion(&mut self, progress: Progress) {
        let target = Target {
            prior_cwnd: self.flow.prior_cwnd,
            ssthresh: self.control.ssthresh,
            in_flight: self.flow.in_flight(),
        };
        if let Some(cwnd) = self.prr.on_ack(progress, target) {
            self.control.cwnd = cwnd;
        }
    }

    /// Takes one packet off the window for every second ACK, down to ssthresh, and never has more than one packet to send.
    /// M. Mathis, J. Semke, J. Mahdavi, K. Lahey, "The Rate-Halving Algorithm for TCP Congestion Control", 1999
    fn halve_rate(&mut self, progress: Progress) {
        if progress.delivered == 0 {
            return;
        }
        if self.prr.is_second_ack() && self.control.cwnd > self.control.ssthresh {
            self.control.cwnd -= 1;
        }
        self.control.cwnd = self.control.cwnd.min(self.flow.in_flight() + 1);
    }

    /// Sets the window to ssthresh; the first retransmission of a recovery is sent all the same.
    /// [RFC 6675, 5](https://www.rfc-editor.org/rfc/rfc6675#section-5), steps 4.2 and 4.3
    fn reduce_at_once(&mut self) {
        let is_first = !self.prr.has_sent() && self.flow.lost_out > self.flow.retrans_out;
        let least = if is_first { self.flow.in_flight() + 1 } else { 0 };
        self.control.cwnd = self.control.ssthresh.max(least);
    }
}
