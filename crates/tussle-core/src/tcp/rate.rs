//! Delivery rate: packets delivered over the time that one flight took to send, or to be acknowledged.
//!
//! Source: draft-cheng-iccrg-delivery-rate-estimation-02, as Linux does it.

use super::flow::{Flow, Limit, RateSample};
use super::scoreboard::Sent;

/// The estimator of one flow.
#[derive(Clone, Debug, Default)]
pub(crate) struct RateEstimator {
    /// When the flight being measured began to be sent, in µs.
    flight_start_us: u64,
    /// `flow.delivered` up to which samples were limited by the application.
    application_limited_to: Option<u32>,
    /// The newest packet that this ACK delivered.
    newest: Option<Newest>,
}

#[derive(Clone, Copy, Debug)]
struct Newest {
    number: u32,
    /// `flow.delivered`, and when that was, as of its transmission.
    prior_delivered: u32,
    prior_delivered_at_us: u64,
    sending_us: u64,
    limit: Limit,
}

impl RateEstimator {
    /// The record of a packet sent now.
    #[inline]
    pub(crate) fn on_send(&mut self, flow: &mut Flow) -> Sent {
        let at_us = flow.now.us();
        if flow.packets_out() == 0 {
            self.flight_start_us = at_us;
            flow.delivered_at_us = at_us;
        }
        let sent = Sent {
            at_us,
            delivered_at_us: flow.delivered_at_us,
            flight_start_us: self.flight_start_us,
            delivered: flow.delivered,
            ..Sent::default()
        };
        if self.application_limited_to.is_some() { sent.limited_by_application() } else { sent }
    }

    /// Packet `number` is newly known to have arrived.
    #[inline]
    pub(crate) fn on_delivered(&mut self, number: u32, sent: Sent) {
        if sent.is_sacked() {
            return;
        }
        let newer = match self.newest {
            None => true,
            Some(newest) => (sent.at_us, number) > (self.flight_start_us, newest.number),
        };
        if newer {
            self.flight_start_us = sent.at_us;
            self.newest = Some(Newest {
                number,
                prior_delivered: sent.delivered,
                prior_delivered_at_us: sent.delivered_at_us,
                sending_us: sent.at_us.saturating_sub(sent.flight_start_us),
                limit: if sent.was_limited_by_application() { Limit::Application } else { Limit::Network },
            });
        }
    }

    /// `flow.delivered` when the newest packet of this ACK was sent.
    #[inline]
    pub(crate) fn prior_delivered(&self) -> Option<u32> {
        self.newest.map(|newest| newest.prior_delivered)
    }

    /// The sample of this ACK, which delivered `delivered` packets.
    #[inline]
    pub(crate) fn sample(&mut self, delivered: u32, flow: &mut Flow) -> RateSample {
        if self.application_limited_to.is_some_and(|limit| flow.delivered > limit) {
            self.application_limited_to = None;
            flow.limit = Limit::Network;
        }
        let now_us = flow.now.us();
        if delivered > 0 {
            flow.delivered_at_us = now_us;
        }
        let Some(newest) = self.newest.take() else { return RateSample::default() };
        let acknowledging_us = now_us - newest.prior_delivered_at_us;
        let interval_us = newest.sending_us.max(acknowledging_us);
        // Shorter than any round trip: a retransmission was taken for the original.
        let valid = flow.rtt.min_us().is_none_or(|min| interval_us >= u64::from(min));
        RateSample {
            delivered: valid.then_some(flow.delivered - newest.prior_delivered),
            interval_us,
            prior_delivered: newest.prior_delivered,
            prior_in_flight: 0,
            limit: newest.limit,
        }
    }

    /// The application had nothing to send while the window had room.
    pub(crate) fn on_application_limited(&mut self, flow: &mut Flow) {
        self.application_limited_to = Some(flow.delivered + flow.in_flight());
        flow.limit = Limit::Application;
    }
}
