//! Checks of a client's reports: each instant is reported once, and only plausible values are accepted.

use crate::message::{ClientMessage, Direction, Hello, Observation, Row, Sender};

/// Instants that a report may be ahead of the server's clock: ten minutes, which clocks may drift apart in a
/// week.
const MAX_AHEAD: u32 = 6_000;
/// Longest RTT beyond the server's patience, in µs: retransmission timers take up to two minutes.
const BEYOND_PATIENCE_US: u64 = 200_000_000;
/// Largest number of packets in flight: packets of one byte each that fill the largest window of TCP (RFC
/// 7323).
const MAX_PACKETS: u32 = 1 << 30;
/// Largest rate in bytes per second: in bits per second, a 64-bit float still holds it exactly.
const MAX_BYTES_PER_S: u64 = 1_000_000_000_000_000;
/// Largest number of bytes of a flow: ten times a week of the fastest Ethernet.
const MAX_BYTES: u64 = 1 << 60;
/// Longest time that a sender was busy, in µs: eight days. A client may ask for seven.
const MAX_BUSY_US: u64 = 8 * 24 * 3600 * 1_000_000;
/// Largest state of congestion control (`enum tcp_ca_state`).
const MAX_CA_STATE: u8 = 4;
/// Values of the kernel for an unlimited rate, and for a minimum RTT without measurement.
const NO_RATE: u64 = u64::MAX;
const NO_RTT: u32 = u32::MAX;
/// Validity messages of each flow: one as it begins, and one at its end.
const VALIDITIES_EACH: u32 = 2;

/// Reason why a message cannot be true.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Implausible {
    /// A message, or a kind of row, that a client does not send.
    #[error("{0}")]
    Kind(&'static str),
    /// A flow that the client did not ask for.
    #[error("flow {0}, of {1}")]
    Flow(u16, u16),
    /// A number outside its range.
    #[error("{what} of {value}")]
    Number {
        /// Name of the number.
        what: &'static str,
        /// The number.
        value: u64,
    },
    /// An instant reported before, or too far ahead.
    #[error("instant {instant} after {before}, at {now}")]
    Instant {
        /// The instant.
        instant: u32,
        /// The latest instant before it.
        before: u32,
        /// Reading of the server's clock.
        now: u32,
    },
}

/// State of the checks of one client's reports.
#[derive(Debug)]
pub struct Claims {
    direction: Direction,
    longest_us: u64,
    flows: Vec<FlowClaims>,
    has_idle_rtt: bool,
}

/// Latest reports of a flow.
#[derive(Clone, Copy, Debug, Default)]
struct FlowClaims {
    observation: Option<u32>,
    probe: Option<u32>,
    validities: u32,
}

impl Claims {
    /// Checks for a client that has reported nothing. `patience_ns` is the time after which the server gives
    /// up a silent client.
    pub fn new(hello: &Hello, patience_ns: u64) -> Claims {
        Claims {
            direction: hello.direction,
            longest_us: (patience_ns / 1000).saturating_add(BEYOND_PATIENCE_US),
            flows: vec![FlowClaims::default(); usize::from(hello.flows)],
            has_idle_rtt: false,
        }
    }

    /// Checks a message, while the server's clock reads `now`.
    ///
    /// # Errors
    /// The message cannot come from a correct client.
    pub fn check(&mut self, message: &ClientMessage, now: u32) -> Result<(), Implausible> {
        match message {
            ClientMessage::Hello(_) => Err(Implausible::Kind("a second handshake")),
            ClientMessage::IdleRtt(rtt_us) => {
                if std::mem::replace(&mut self.has_idle_rtt, true) {
                    return Err(Implausible::Kind("a second RTT of the idle path"));
                }
                self.check_time("a round trip in µs", *rtt_us)
            }
            ClientMessage::Rows(rows) => rows.iter().try_for_each(|row| self.check_row(row, now)),
            ClientMessage::Validity { flow, .. } => {
                let claims = self.flow(*flow)?;
                claims.validities += 1;
                if claims.validities > VALIDITIES_EACH {
                    return Err(Implausible::Kind("more validity messages than expected"));
                }
                Ok(())
            }
            ClientMessage::Finished => Ok(()),
        }
    }

    fn check_row(&mut self, row: &Row, now: u32) -> Result<(), Implausible> {
        let claims = self.flow(row.flow)?;
        let before = if matches!(row.observation, Observation::Probe(_)) {
            &mut claims.probe
        } else {
            &mut claims.observation
        };
        let is_in_order = before.is_none_or(|before| row.instant > before);
        if !is_in_order || row.instant > now.saturating_add(MAX_AHEAD) {
            return Err(Implausible::Instant { instant: row.instant, before: before.unwrap_or(0), now });
        }
        *before = Some(row.instant);
        match (&row.observation, self.direction) {
            (Observation::Sender(sender), Direction::ToServer) => self.check_sender(sender),
            (Observation::Receiver { bytes, .. }, Direction::ToClient) => {
                check("received bytes", *bytes, MAX_BYTES)
            }
            (Observation::Probe(rtt_us), _) => self.check_time("a probe's round trip in µs", *rtt_us),
            (Observation::Sender(_), _) => Err(Implausible::Kind("the state of a sender, from a receiver")),
            (Observation::Receiver { .. }, _) => {
                Err(Implausible::Kind("the counters of a receiver, from a sender"))
            }
        }
    }

    fn check_sender(&self, sender: &Sender) -> Result<(), Implausible> {
        check("a state of congestion control", sender.ca_state.into(), MAX_CA_STATE.into())?;
        for (what, packets) in [
            ("unacknowledged packets", sender.unacked),
            ("selectively acknowledged packets", sender.sacked),
            ("lost packets", sender.lost),
            ("retransmitted packets in flight", sender.retrans),
        ] {
            check(what, packets.into(), MAX_PACKETS.into())?;
        }
        self.check_time("a smoothed RTT in µs", sender.rtt_us)?;
        if sender.min_rtt_us != NO_RTT {
            self.check_time("a shortest RTT in µs", sender.min_rtt_us)?;
        }
        if sender.pacing_bytes_per_s != NO_RATE {
            check("a pacing rate in bytes/s", sender.pacing_bytes_per_s, MAX_BYTES_PER_S)?;
        }
        check("a delivery rate in bytes/s", sender.delivery_bytes_per_s, MAX_BYTES_PER_S)?;
        check("acknowledged bytes", sender.bytes_acked, MAX_BYTES)?;
        for (what, us) in [
            ("busy µs", sender.busy_us),
            ("µs limited by the receive window", sender.rwnd_limited_us),
            ("µs limited by the send buffer", sender.sndbuf_limited_us),
        ] {
            check(what, us, MAX_BUSY_US)?;
        }
        Ok(())
    }

    fn check_time(&self, what: &'static str, us: u32) -> Result<(), Implausible> {
        check(what, us.into(), self.longest_us)
    }

    fn flow(&mut self, flow: u16) -> Result<&mut FlowClaims, Implausible> {
        let flows = u16::try_from(self.flows.len()).unwrap_or(u16::MAX);
        self.flows.get_mut(usize::from(flow)).ok_or(Implausible::Flow(flow, flows))
    }
}

fn check(what: &'static str, value: u64, most: u64) -> Result<(), Implausible> {
    if value <= most { Ok(()) } else { Err(Implausible::Number { what, value }) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::VERSION;

    const PATIENCE_NS: u64 = 60_000_000_000;

    fn claims(direction: Direction) -> Claims {
        let algorithm = "reno".to_owned();
        let hello = Hello { version: VERSION, algorithm, flows: 2, direction, for_ns: 1, bytes: None };
        Claims::new(&hello, PATIENCE_NS)
    }

    fn sender(change: impl Fn(&mut Sender)) -> Observation {
        let mut sender = Sender { rtt_us: 40_000, min_rtt_us: 39_000, ..Sender::default() };
        change(&mut sender);
        Observation::Sender(Box::new(sender))
    }

    fn rows(instant: u32, observation: Observation) -> ClientMessage {
        ClientMessage::Rows(vec![Row { instant, flow: 0, observation }])
    }

    #[test]
    fn values_of_a_kernel_are_plausible() {
        let mut upload = claims(Direction::ToServer);
        assert_eq!(upload.check(&ClientMessage::IdleRtt(40_000), 0), Ok(()));
        for (instant, seen) in [
            (1, sender(|_| {})),
            (2, Observation::Probe(61_000_000)),
            (2, sender(|sender| sender.pacing_bytes_per_s = NO_RATE)),
            (3, sender(|sender| sender.min_rtt_us = NO_RTT)),
            (53, sender(|sender| (sender.cwnd, sender.ssthresh) = (u32::MAX, u32::MAX))),
        ] {
            assert_eq!(upload.check(&rows(instant, seen), 3), Ok(()));
        }
        let received = Observation::Receiver { bytes: 1 << 40, packets: u32::MAX };
        assert_eq!(claims(Direction::ToClient).check(&rows(1, received), 1), Ok(()));
    }

    #[test]
    fn each_number_that_a_dataset_cannot_hold_is_refused() {
        let changes: [fn(&mut Sender); 15] = [
            |sender| sender.ca_state = 5,
            |sender| sender.unacked = u32::MAX,
            |sender| sender.sacked = u32::MAX,
            |sender| sender.lost = u32::MAX,
            |sender| sender.retrans = u32::MAX,
            |sender| sender.rtt_us = u32::MAX,
            |sender| sender.min_rtt_us = u32::MAX - 1,
            |sender| sender.pacing_bytes_per_s = u64::MAX - 1,
            |sender| sender.delivery_bytes_per_s = u64::MAX,
            |sender| sender.bytes_acked = u64::MAX,
            |sender| sender.busy_us = u64::MAX,
            |sender| sender.rwnd_limited_us = u64::MAX,
            |sender| sender.sndbuf_limited_us = u64::MAX,
            |sender| sender.rtt_us = 260_000_001,
            |sender| sender.bytes_acked = 1 << 61,
        ];
        for change in changes {
            let checked = claims(Direction::ToServer).check(&rows(1, sender(change)), 1);
            assert!(matches!(checked, Err(Implausible::Number { .. })), "{checked:?}");
        }
        let mut download = claims(Direction::ToClient);
        let received = Observation::Receiver { bytes: u64::MAX, packets: 1 };
        assert_eq!(
            download.check(&rows(1, received), 1).unwrap_err().to_string(),
            "received bytes of 18446744073709551615"
        );
        assert!(download.check(&rows(2, Observation::Probe(u32::MAX)), 2).is_err());
        assert!(download.check(&ClientMessage::IdleRtt(u32::MAX), 2).is_err());
    }

    #[test]
    fn a_client_reports_its_own_end_only() {
        let received = Observation::Receiver { bytes: 1, packets: 1 };
        let checked = claims(Direction::ToServer).check(&rows(1, received), 1);
        assert_eq!(checked, Err(Implausible::Kind("the counters of a receiver, from a sender")));
        let checked = claims(Direction::ToClient).check(&rows(1, sender(|_| {})), 1);
        assert_eq!(checked, Err(Implausible::Kind("the state of a sender, from a receiver")));
    }

    #[test]
    fn each_instant_of_a_flow_is_reported_once_and_in_order() {
        let mut upload = claims(Direction::ToServer);
        assert_eq!(upload.check(&rows(7, sender(|_| {})), 7), Ok(()));
        assert_eq!(upload.check(&rows(7, Observation::Probe(1)), 7), Ok(()));
        let again = upload.check(&rows(7, sender(|_| {})), 7);
        assert_eq!(again, Err(Implausible::Instant { instant: 7, before: 7, now: 7 }));
        assert!(upload.check(&rows(6, Observation::Probe(1)), 7).is_err());
        assert!(upload.check(&rows(u32::MAX, sender(|_| {})), 7).is_err());
    }

    #[test]
    fn validity_and_idle_rtt_are_limited_and_belong_to_known_flows() {
        let mut upload = claims(Direction::ToServer);
        let validity = |flow| ClientMessage::Validity { flow, json: String::new() };
        assert!((0..2).all(|_| upload.check(&validity(1), 0).is_ok()));
        assert!(upload.check(&validity(1), 0).is_err());
        assert_eq!(upload.check(&validity(2), 0), Err(Implausible::Flow(2, 2)));
        assert_eq!(upload.check(&ClientMessage::IdleRtt(1), 0), Ok(()));
        assert!(upload.check(&ClientMessage::IdleRtt(1), 0).is_err());
    }
}
