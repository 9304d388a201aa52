//! Messages between clients and the server on an open channel.

use serde::{Deserialize, Serialize};

use crate::preamble::Ticket;

/// Version of the messages; both ends must have the same.
pub const VERSION: u16 = 1;
/// Interval of the observations of both ends, on the server's clock.
pub const GRID_NS: u64 = 100_000_000;
/// Largest number of rows in one message.
pub const MAX_ROWS: usize = 40;
/// Largest text in one message.
pub const MAX_TEXT_BYTES: usize = 2048;
/// Longest name of an algorithm (`TCP_CA_NAME_MAX` of Linux, without the terminating zero).
pub const MAX_ALGORITHM_BYTES: usize = 15;

/// A message from a client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ClientMessage {
    /// The first message: version and request of the client.
    Hello(Hello),
    /// The shortest RTT of the client's probe before its flows began, in µs.
    IdleRtt(u32),
    /// Observations of the client's flows since its last message with rows.
    Rows(Vec<Row>),
    /// Validity of a flow's measurement, as seen by the client's host.
    Validity {
        /// Index of the flow, from 0.
        flow: u16,
        /// The validity, in JSON.
        json: String,
    },
    /// All flows are over, and everything is reported.
    Finished,
}

/// A message from the server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ServerMessage {
    /// The client may begin.
    Granted(Grant),
    /// The client may not join, for this reason.
    Refused(String),
    /// Keep-alive of the server.
    Alive,
    /// The measurement is over.
    Over,
    /// The server has everything; the client may disconnect.
    Thanks,
}

/// Version and request of a client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hello {
    /// The client's [`VERSION`].
    pub version: u16,
    /// Congestion control of the flows.
    pub algorithm: String,
    /// Number of parallel flows.
    pub flows: u16,
    /// Direction of the data.
    pub direction: Direction,
    /// Time for which the application writes, in ns.
    pub for_ns: u64,
    /// Bytes that each flow writes; `None`: as many as the connection takes.
    pub bytes: Option<u64>,
}

/// Direction of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Direction {
    /// The client sends.
    ToServer,
    /// The server sends.
    ToClient,
}

/// Answer to a client that may begin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Grant {
    /// Number of the client, from 1.
    pub client: u32,
    /// Tickets of the flows, one each.
    pub flows: Vec<Ticket>,
    /// Ticket of the probe.
    pub probe: Ticket,
    /// Time of silence after which either end considers the other lost.
    pub patience_ns: u64,
}

/// An observation of a flow at one end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Time of the observation, in units of [`GRID_NS`] on the server's clock.
    pub instant: u32,
    /// Index of the flow among the client's flows, from 0.
    pub flow: u16,
    /// The observation.
    pub observation: Observation,
}

/// Observation of a flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Observation {
    /// State of the sender.
    Sender(Box<Sender>),
    /// Counters of the receiver.
    Receiver {
        /// Bytes that reached the application.
        bytes: u64,
        /// Data packets that arrived.
        packets: u32,
    },
    /// Latest RTT of the client's probe, in µs.
    Probe(u32),
}

/// State of a sender as reported by the kernel: the fields of `struct tcp_info` that every dataset has.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names are the kernel's, with units")]
pub struct Sender {
    pub ca_state: u8,
    pub unacked: u32,
    pub sacked: u32,
    pub lost: u32,
    pub retrans: u32,
    pub rtt_us: u32,
    pub ssthresh: u32,
    pub cwnd: u32,
    pub total_retrans: u32,
    pub pacing_bytes_per_s: u64,
    pub bytes_acked: u64,
    pub min_rtt_us: u32,
    pub data_segs_out: u32,
    pub delivery_bytes_per_s: u64,
    pub busy_us: u64,
    pub rwnd_limited_us: u64,
    pub sndbuf_limited_us: u64,
    pub delivered: u32,
    pub delivered_ce: u32,
    pub dsack_dups: u32,
    pub reordering_seen: u32,
    /// Number of retransmission timeouts, since Linux 6.7.
    pub total_rto: Option<u16>,
}

/// Limits on a client's request.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// Largest number of flows of one client.
    pub flows: u16,
    /// Longest duration, in ns.
    pub for_ns: u64,
    /// Algorithms that a client may ask for.
    pub algorithms: Vec<String>,
}

impl Hello {
    /// Checks a request against the limits.
    ///
    /// # Errors
    /// A sentence for the client's user.
    pub fn check(&self, limits: &Limits) -> Result<(), String> {
        const HOUR_NS: u64 = 3_600_000_000_000;
        if self.version != VERSION {
            return Err(
                "the server runs another version of Tussle; install the same version on both".to_owned()
            );
        }
        if !(1..=limits.flows).contains(&self.flows) {
            return Err(format!("--parallel {}: the server takes 1 to {}", self.flows, limits.flows));
        }
        if !(1..=limits.for_ns).contains(&self.for_ns) {
            return Err(format!("--for: the server takes up to {} hours", limits.for_ns / HOUR_NS));
        }
        if self.bytes == Some(0) {
            return Err("--bytes: give at least 1 B".to_owned());
        }
        if !limits.algorithms.contains(&self.algorithm) {
            return Err(format!("--algorithm: the server knows {}", limits.algorithms.join(", ")));
        }
        Ok(())
    }
}

impl ClientMessage {
    /// Whether all lengths are within the limits of the protocol.
    pub fn is_bounded(&self) -> bool {
        match self {
            ClientMessage::Hello(hello) => hello.algorithm.len() <= MAX_ALGORITHM_BYTES,
            ClientMessage::Rows(rows) => rows.len() <= MAX_ROWS,
            ClientMessage::Validity { json, .. } => json.len() <= MAX_TEXT_BYTES,
            ClientMessage::IdleRtt(_) | ClientMessage::Finished => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channel::MAX_PLAIN_BYTES;

    fn hello() -> Hello {
        Hello {
            version: VERSION,
            algorithm: "vegas".to_owned(),
            flows: 4,
            direction: Direction::ToServer,
            for_ns: 30_000_000_000,
            bytes: None,
        }
    }

    fn limits() -> Limits {
        Limits {
            flows: 8,
            for_ns: 3_600_000_000_000,
            algorithms: vec!["reno".to_owned(), "vegas".to_owned()],
        }
    }

    #[test]
    fn requests_are_checked_against_the_limits() {
        assert_eq!(hello().check(&limits()), Ok(()));
        let of = |change: fn(&mut Hello)| {
            let mut asked = hello();
            change(&mut asked);
            asked.check(&limits()).unwrap_err()
        };
        assert_eq!(of(|hello| hello.flows = 9), "--parallel 9: the server takes 1 to 8");
        assert_eq!(of(|hello| hello.flows = 0), "--parallel 0: the server takes 1 to 8");
        assert_eq!(of(|hello| hello.for_ns = u64::MAX), "--for: the server takes up to 1 hours");
        assert_eq!(of(|hello| hello.bytes = Some(0)), "--bytes: give at least 1 B");
        assert_eq!(
            of(|hello| hello.algorithm = "cubic".to_owned()),
            "--algorithm: the server knows reno, vegas"
        );
        assert!(of(|hello| hello.version = 2).contains("another version"));
    }

    /// Each number takes at most 10 bytes, and a row has 24 of them.
    #[test]
    fn the_longest_messages_fit_a_frame() {
        let sender = Sender {
            ca_state: u8::MAX,
            unacked: u32::MAX,
            sacked: u32::MAX,
            lost: u32::MAX,
            retrans: u32::MAX,
            rtt_us: u32::MAX,
            ssthresh: u32::MAX,
            cwnd: u32::MAX,
            total_retrans: u32::MAX,
            pacing_bytes_per_s: u64::MAX,
            bytes_acked: u64::MAX,
            min_rtt_us: u32::MAX,
            data_segs_out: u32::MAX,
            delivery_bytes_per_s: u64::MAX,
            busy_us: u64::MAX,
            rwnd_limited_us: u64::MAX,
            sndbuf_limited_us: u64::MAX,
            delivered: u32::MAX,
            delivered_ce: u32::MAX,
            dsack_dups: u32::MAX,
            reordering_seen: u32::MAX,
            total_rto: Some(u16::MAX),
        };
        let row =
            Row { instant: u32::MAX, flow: u16::MAX, observation: Observation::Sender(Box::new(sender)) };
        let validity = ClientMessage::Validity { flow: u16::MAX, json: "x".repeat(MAX_TEXT_BYTES) };
        for message in [ClientMessage::Rows(vec![row; MAX_ROWS]), validity] {
            assert!(message.is_bounded());
            assert!(postcard::to_allocvec(&message).unwrap().len() <= MAX_PLAIN_BYTES);
        }
    }
}
