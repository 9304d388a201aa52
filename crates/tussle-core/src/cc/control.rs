//! Variables that an algorithm controls, and the arithmetic that algorithms share.

use crate::tcp::Flow;

/// Value of ssthresh before any loss: no threshold.
pub(super) const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;

/// Variables that an algorithm controls.
#[derive(Clone, Debug)]
pub struct Control {
    /// Congestion window, in packets.
    pub cwnd: u32,
    /// Slow-start threshold, in packets.
    pub ssthresh: u32,
    /// Upper bound of `cwnd`, in packets.
    pub cwnd_clamp: u32,
    /// Pacing rate of the algorithm; `None`: the sender's own rate (RFC 9002, 7.7).
    pub pacing_bit_per_s: Option<u64>,
    /// Packets delivered towards the next packet of growth.
    pub(super) credit: u32,
    reduction_requested: bool,
    application_limit: bool,
}

impl Default for Control {
    fn default() -> Control {
        Control {
            cwnd: 10,
            ssthresh: INFINITE_SSTHRESH,
            cwnd_clamp: u32::MAX,
            pacing_bit_per_s: None,
            credit: 0,
            reduction_requested: false,
            application_limit: false,
        }
    }
}

impl Control {
    /// A control with this window and slow-start threshold, in packets, and defaults otherwise.
    pub fn new(cwnd: u32, ssthresh: u32) -> Control {
        Control { cwnd, ssthresh, ..Control::default() }
    }

    /// Whether the window is below ssthresh.
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Whether any congestion has set ssthresh.
    pub fn has_ssthresh(&self) -> bool {
        self.ssthresh < INFINITE_SSTHRESH
    }

    /// Grows by one packet for each packet delivered, up to ssthresh; returns the delivered packets that were
    /// not needed. [RFC 5681, 3.1](https://www.rfc-editor.org/rfc/rfc5681#section-3.1)
    pub fn slow_start(&mut self, delivered: u32) -> u32 {
        let grown = self.cwnd.saturating_add(delivered).min(self.ssthresh);
        let left = delivered - (grown - self.cwnd);
        self.cwnd = grown.min(self.cwnd_clamp);
        left
    }

    /// Grows by one packet for each `per` packets delivered.
    pub fn additive(&mut self, per: u32, delivered: u32) {
        // Credit from a larger `per` is worth one packet at most.
        if self.credit >= per {
            self.credit = 0;
            self.cwnd = self.cwnd.saturating_add(1);
        }
        self.credit += delivered;
        if self.credit >= per {
            let more = self.credit / per;
            self.credit -= more * per;
            self.cwnd = self.cwnd.saturating_add(more);
        }
        self.cwnd = self.cwnd.min(self.cwnd_clamp);
    }

    /// The fraction `part` / `whole` of the window, rounded down.
    #[expect(clippy::cast_possible_truncation, reason = "a part of a u32 fits u32")]
    pub fn cwnd_part(&self, part: u32, whole: u32) -> u32 {
        debug_assert!(part <= whole, "{part}/{whole} of the window is more than the window");
        (u64::from(self.cwnd) * u64::from(part) / u64::from(whole)) as u32
    }

    /// Performs slow start if the window is below ssthresh; returns the delivered packets that are left for
    /// congestion avoidance, if any. The window must be the limit
    /// ([RFC 7661](https://www.rfc-editor.org/rfc/rfc7661)).
    pub fn past_slow_start(&mut self, delivered: u32, flow: &Flow) -> Option<u32> {
        if !flow.cwnd_limited(self) {
            None
        } else if self.in_slow_start() {
            Some(self.slow_start(delivered)).filter(|&left| left > 0)
        } else {
            Some(delivered)
        }
    }

    /// Grows like Reno: slow start, then one packet per round trip.
    pub fn grow_like_reno(&mut self, delivered: u32, flow: &Flow) {
        if let Some(left) = self.past_slow_start(delivered, flow) {
            self.additive(self.cwnd, left);
        }
    }

    /// Asks the sender to reduce the window as for an ECN mark, after this ACK.
    pub fn request_reduction(&mut self) {
        self.reduction_requested = true;
    }

    /// Declares that the present sending rate is below the network's rate: delivery-rate samples of packets
    /// sent so far count as limited by the application.
    pub fn declare_application_limit(&mut self) {
        self.application_limit = true;
    }

    /// Returns whether the algorithm declared such a limit since the last call.
    pub(crate) fn take_application_limit(&mut self) -> bool {
        std::mem::take(&mut self.application_limit)
    }

    /// Returns whether the algorithm requested a reduction since the last call.
    pub(crate) fn take_reduction_request(&mut self) -> bool {
        std::mem::take(&mut self.reduction_requested)
    }

    /// Resets the credit towards the next packet of growth.
    pub(crate) fn clear_credit(&mut self) {
        self.credit = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Five delivered packets at a window of 10 and ssthresh 12: two are used, and three are returned.
    #[test]
    fn slow_start_stops_at_ssthresh_and_returns_the_rest() {
        let mut control = Control { ssthresh: 12, ..Control::default() };
        assert_eq!(control.slow_start(5), 3);
        assert_eq!(control.cwnd, 12);
    }

    /// One packet of growth per 10 delivered: 25 add two packets, and 5 more complete the third.
    #[test]
    fn additive_growth_counts_every_packet_delivered() {
        let mut control = Control::default();
        control.additive(10, 25);
        assert_eq!((control.cwnd, control.credit), (12, 5));
        control.additive(10, 5);
        assert_eq!((control.cwnd, control.credit), (13, 0));
    }

    /// A credit of 30 towards `per` = 40; then `per` falls to 10: the credit adds one packet, not three.
    #[test]
    fn credit_from_a_larger_divisor_is_worth_one_packet() {
        let mut control = Control::default();
        control.additive(40, 30);
        control.additive(10, 1);
        assert_eq!((control.cwnd, control.credit), (11, 1));
    }
}
