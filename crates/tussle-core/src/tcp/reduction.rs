//! Reduction of the window in recovery: proportional rate reduction, or rate halving as before Linux 3.2.

use super::prr::{Progress, Target};
use super::sender::Sender;

impl Sender {
    /// Performs one step of the reduction.
    pub(super) fn reduce(&mut self, progress: Progress) {
        if !self.setup.host.prr {
            return self.halve_rate(progress);
        }
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
}
