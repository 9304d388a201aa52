//! Proportional rate reduction: the decrease of the window to ssthresh over one round trip of recovery.
//!
//! Source: RFC 6937, with Linux's refinement that the window only grows back at slow start's pace while no
//! further loss is detected (draft-ietf-tcpm-prr-rfc6937bis).

/// State of one reduction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Prr {
    /// Packets delivered since the start of the reduction.
    delivered: u32,
    /// Packets sent since the start of the reduction.
    sent: u32,
    /// Whether an odd number of ACKs came since the start of the reduction, for rate halving.
    is_odd_ack: bool,
}

/// Effect of an ACK during a reduction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    /// Packets newly known to have arrived.
    pub(crate) delivered: u32,
    /// Whether the ACK advances `una` and reveals no further loss (rfc6937bis: `SafeACK`).
    pub(crate) safe_ack: bool,
}

/// Window at the start of the reduction, window at its end, and packets in the network.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target {
    pub(crate) prior_cwnd: u32,
    pub(crate) ssthresh: u32,
    pub(crate) in_flight: u32,
}

impl Prr {
    pub(crate) fn on_sent(&mut self, packets: u32) {
        self.sent += packets;
    }

    /// Whether packets were sent since the start of the reduction.
    pub(crate) fn has_sent(&self) -> bool {
        self.sent > 0
    }

    /// Counts an ACK; whether it is the second of a pair.
    pub(crate) fn is_second_ack(&mut self) -> bool {
        self.is_odd_ack = !self.is_odd_ack;
        !self.is_odd_ack
    }

    /// Window after an ACK; `None` if it delivered nothing.
    /// [RFC 6937, 3](https://www.rfc-editor.org/rfc/rfc6937#section-3)
    pub(crate) fn on_ack(&mut self, progress: Progress, target: Target) -> Option<u32> {
        if progress.delivered == 0 {
            return None;
        }
        self.delivered += progress.delivered;
        let sent = i64::from(self.sent);
        let quota = if target.in_flight > target.ssthresh {
            let due = (u64::from(target.ssthresh) * u64::from(self.delivered))
                .div_ceil(u64::from(target.prior_cwnd));
            i64::try_from(due).expect("a window is below 2^31 packets") - sent
        } else {
            let conserved = (i64::from(self.delivered) - sent).max(i64::from(progress.delivered));
            let limit = conserved + i64::from(progress.safe_ack);
            limit.min(i64::from(target.ssthresh - target.in_flight))
        };
        // The first retransmission leaves whatever is in flight.
        let quota = quota.max(i64::from(self.sent == 0));
        let cwnd = i64::from(target.in_flight) + quota;
        Some(u32::try_from(cwnd.max(0)).expect("a window is below 2^31 packets"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNSAFE_ACK: Progress = Progress { delivered: 1, safe_ack: false };
    const SAFE_ACK: Progress = Progress { delivered: 1, safe_ack: true };

    fn window(prr: &mut Prr, progress: Progress, in_flight: u32) -> u32 {
        prr.on_ack(progress, Target { prior_cwnd: 20, ssthresh: 14, in_flight })
            .expect("something was delivered")
    }

    /// 20 packets, ssthresh 14, one lost: 14/20 of a packet is sent per delivered packet. After 1: ceil(0.7)
    /// = 1 sent; after 2: ceil(1.4) - 1 = 1; after 3: ceil(2.1) - 2 = 1; after 4: ceil(2.8) - 3 = 0.
    #[test]
    fn the_reduction_is_spread_over_a_round_trip() {
        let mut prr = Prr::default();
        let mut in_flight = 19;
        let mut sent = Vec::new();
        for _ in 0..4 {
            in_flight -= 1;
            let quota = window(&mut prr, UNSAFE_ACK, in_flight) - in_flight;
            prr.on_sent(quota);
            in_flight += quota;
            sent.push(quota);
        }
        assert_eq!(sent, [1, 1, 1, 0]);
    }

    /// 10 packets in flight, ssthresh 14: one delivered packet permits one transmission, a safe ACK one more,
    /// up to 14.
    #[test]
    fn below_ssthresh_the_window_conserves_or_slow_starts() {
        let mut prr = Prr { delivered: 5, sent: 5, ..Prr::default() };
        assert_eq!(window(&mut prr.clone(), UNSAFE_ACK, 10), 11);
        assert_eq!(window(&mut prr.clone(), SAFE_ACK, 10), 12);
        assert_eq!(window(&mut prr, SAFE_ACK, 13), 14);
    }

    #[test]
    fn the_first_retransmission_is_always_allowed() {
        assert_eq!(window(&mut Prr::default(), UNSAFE_ACK, 18), 19);
        let mut ahead = Prr { sent: 3, ..Prr::default() };
        assert_eq!(window(&mut ahead, UNSAFE_ACK, 18), 18, "three packets were sent although one was due");
    }
}
