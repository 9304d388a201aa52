//! Delivery rate: packets delivered over the time that one flight took to be sent, or to be acknowledged.
//!
//! Source: draft-cheng-iccrg-delivery-rate-estimation-02, with Linux's refinements.

use super::flow::{Flow, Limit, RateSample};
use super::rack::age_us;
use super::scoreboard::Sent;
use crate::Time;

/// Delivery-rate estimator of one flow.
#[derive(Clone, Debug, Default)]
pub(crate) struct RateEstimator {
    /// Start of the flight that is being measured, in µs.
    flight_start_us: u64,
    /// Value of `flow.delivered` up to which the application limits samples.
    application_limited_to: Option<u32>,
    /// Newest packet that this ACK delivered.
    newest: Option<Newest>,
}

#[derive(Clone, Copy, Debug)]
struct Newest {
    number: u32,
    /// Value of `flow.delivered` at the transmission, and the time of that delivery.
    prior_delivered: u32,
    prior_delivered_at_us: u64,
    /// Values of `flow.lost` and `flow.in_flight()` at the transmission.
    prior_lost: u32,
    tx_in_flight: u32,
    sending_us: u64,
    limit: Limit,
}

impl RateEstimator {
    /// Record of a packet whose departure time is `departure`.
    #[inline]
    pub(crate) fn on_send(&mut self, flow: &mut Flow, departure: Time) -> Sent {
        let at_us = departure.us();
        if flow.packets_out() == 0 {
            self.flight_start_us = at_us;
            flow.delivered_at_us = at_us;
        }
        let sent = Sent {
            at_us,
            rest_ns: u16::try_from(departure.ns() % 1000).expect("a rest below 1000"),
            since_delivery_us: age_us(flow.delivered_at_us, at_us),
            since_flight_start_us: age_us(self.flight_start_us, at_us),
            delivered: flow.delivered,
            lost: flow.lost,
            in_flight: flow.in_flight() + 1,
            ..Sent::default()
        };
        if self.application_limited_to.is_some() { sent.limited_by_application() } else { sent }
    }

    /// Processes the arrival of packet `number`.
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
                prior_delivered_at_us: sent.at_us - u64::from(sent.since_delivery_us),
                prior_lost: sent.lost,
                tx_in_flight: sent.in_flight,
                sending_us: u64::from(sent.since_flight_start_us),
                limit: sent.limit(),
            });
        }
    }

    /// Value of `flow.delivered` when the newest packet of this ACK was sent.
    #[inline]
    pub(crate) fn prior_delivered(&self) -> Option<u32> {
        self.newest.map(|newest| newest.prior_delivered)
    }

    /// Sample of this ACK, which delivered `delivered` packets.
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
        // Shorter than any round trip: the ACK belongs to the original, not to the retransmission.
        let valid = flow.rtt.min_us().is_none_or(|min| interval_us >= u64::from(min));
        RateSample {
            delivered: valid.then_some(flow.delivered - newest.prior_delivered),
            interval_us,
            prior_delivered: newest.prior_delivered,
            prior_in_flight: 0,
            tx_in_flight: newest.tx_in_flight,
            lost: flow.lost - newest.prior_lost,
            limit: newest.limit,
        }
    }

    /// Marks samples as limited by the application, which had nothing to send while the window had room.
    pub(crate) fn on_application_limited(&mut self, flow: &mut Flow) {
        self.application_limited_to = Some(flow.delivered + flow.in_flight());
        flow.limit = Limit::Application;
    }
}

#[cfg(test)]
mod tests {
    use super::super::scoreboard::Scoreboard;
    use super::*;

    /// Packets 0 to 9 are sent; 1 and 2 are detected as lost, then 9 arrives.
    #[test]
    fn losses_and_samples_report_packets_in_flight_and_lost_since() {
        let mut flow = Flow::new(250, 1448);
        let (mut rate, mut board) = (RateEstimator::default(), Scoreboard::new());
        for _ in 0..10 {
            let sent = rate.on_send(&mut flow, Time::ZERO);
            board.push(&mut flow, sent);
        }
        flow.now = Time::from_ms(10);
        board.mark_lost(1, &mut flow);
        board.mark_lost(2, &mut flow);
        let reported: Vec<_> =
            board.newly_lost.iter().map(|lost| (lost.number, lost.in_flight, lost.lost)).collect();
        assert_eq!(reported, [(1, 2, 1), (2, 3, 2)]);
        let sent = board.mark_sacked(9, &mut flow);
        flow.delivered += 1;
        rate.on_delivered(9, sent);
        let sample = rate.sample(1, &mut flow);
        assert_eq!((sample.tx_in_flight, sample.lost), (10, 2));
    }

    /// The 10 packets in flight when the limit was declared do not count; later ones do.
    #[test]
    fn a_declared_limit_ends_with_the_delivery_of_the_data_in_flight() {
        let mut flow = Flow::new(250, 1448);
        let (mut rate, mut board) = (RateEstimator::default(), Scoreboard::new());
        let mut send = |rate: &mut RateEstimator, flow: &mut Flow| {
            let sent = rate.on_send(flow, flow.now);
            board.push(flow, sent);
            sent.limit()
        };
        assert_eq!(send(&mut rate, &mut flow), Limit::Network);
        flow.nxt += 9;
        rate.on_application_limited(&mut flow);
        assert_eq!((flow.limit, send(&mut rate, &mut flow)), (Limit::Application, Limit::Application));
        flow.delivered = 11;
        rate.sample(11, &mut flow);
        assert_eq!((flow.limit, send(&mut rate, &mut flow)), (Limit::Network, Limit::Network));
    }

    #[test]
    fn the_record_of_a_packet_has_its_time_in_microseconds_and_in_nanoseconds() {
        let mut flow = Flow::new(250, 1448);
        let departure = Time::from_ns(4_531_353_992);
        let sent = RateEstimator::default().on_send(&mut flow, departure);
        assert_eq!((sent.at_us, sent.at()), (4_531_353, departure));
    }

    #[test]
    fn the_record_of_a_packet_takes_at_most_32_bytes() {
        assert!(size_of::<Sent>() <= 32, "{} bytes", size_of::<Sent>());
    }
}
