//! Record of a flow: the server's own observations, from which its results come, and the claims of its client.

use std::collections::BTreeMap;

use tussle_join::{Direction, GRID_NS, Observation, PREAMBLE_BYTES, Row, Sender};

use super::flow::info;
use crate::algorithms::needs_pacing;
use crate::execute::rows::Sample;
use crate::validity::Validity;

/// Largest number of instants that wait for the client's claims; older instants are discarded.
const MAX_PENDING: usize = 2_000;
/// Largest number of instants by which a claim may be ahead of the server's last observation; larger than the
/// difference of the clocks.
const MAX_AHEAD: u32 = 50;
/// Number of instants for which an observation of a download waits for the client's claim: 10 s.
const MAX_LATE: u32 = 100;
/// Acknowledged bytes of an upload that are not data: the preamble, and the sequence numbers of SYN and FIN.
const OVERHEAD_BYTES: u64 = PREAMBLE_BYTES as u64 + 2;
/// Largest factor by which a network may duplicate packets.
const MAX_COPIES: u64 = 2;

/// Record of a flow.
#[derive(Debug)]
pub(super) struct FlowRecord {
    pub(super) name: String,
    pub(super) algorithm: String,
    is_paced: bool,
    pub(super) direction: Direction,
    pub(super) start_ns: u64,
    /// Time at which the application was to stop writing; `None` for a number of bytes.
    pub(super) stop_ns: Option<u64>,
    pub(super) end: Option<End>,
    /// Data known to have arrived, in bytes: received here, or acknowledged to this end.
    pub(super) received_bytes: u64,
    pub(super) received_packets: u32,
    /// Bytes that this end's kernel received, or was given to send.
    carried_bytes: u64,
    /// Last state of the sender; for an upload, as its client claims.
    pub(super) sender: Sender,
    claimed: Option<Claimed>,
    /// Latest RTT of the client's probe, and shortest RTT before its flows began.
    pub(super) probe_us: Option<u32>,
    pub(super) idle_us: Option<u32>,
    pub(super) sender_validity: Option<Validity>,
    pub(super) receiver_validity: Option<Validity>,
    pending: BTreeMap<u32, Pending>,
    /// Whether no further reports about the flow will come.
    is_closed: bool,
    /// Latest instants: written as a row or discarded, observed by this end, and claimed by the client.
    written_at: Option<u32>,
    observed_at: Option<u32>,
    claimed_at: Option<u32>,
}

/// End of a flow: time and reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct End {
    pub(super) at_ns: u64,
    pub(super) reason: EndReason,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EndReason {
    /// The last of the requested bytes has arrived.
    Complete,
    /// The flow's time was over.
    Stopped,
    /// The client, or the network, was lost.
    Lost,
}

/// Last claim of a client: bytes acknowledged and packets sent, or bytes and packets received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Claimed {
    bytes: u64,
    packets: u32,
}

/// Observations and claims of an instant.
#[derive(Debug, Default)]
struct Pending {
    sender: Option<Box<Sender>>,
    received_bytes: Option<u64>,
    claimed_bytes: Option<u64>,
    probe_us: Option<u32>,
}

/// Decision about the earliest pending instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Row,
    Waits,
    Dropped,
}

/// A complete row of the samples.
#[derive(Debug)]
pub(super) struct CompleteRow {
    pub(super) instant: u32,
    pub(super) sample: Sample,
    pub(super) sender: Box<Sender>,
    pub(super) claimed_bytes: Option<u64>,
    pub(super) probe_us: Option<u32>,
}

impl FlowRecord {
    pub(super) fn new(name: String, algorithm: String, direction: Direction) -> FlowRecord {
        FlowRecord {
            name,
            is_paced: needs_pacing(&algorithm),
            algorithm,
            direction,
            start_ns: 0,
            stop_ns: None,
            end: None,
            received_bytes: 0,
            received_packets: 0,
            carried_bytes: 0,
            sender: Sender::default(),
            claimed: None,
            probe_us: None,
            idle_us: None,
            sender_validity: None,
            receiver_validity: None,
            pending: BTreeMap::new(),
            is_closed: false,
            written_at: None,
            observed_at: None,
            claimed_at: None,
        }
    }

    /// Sets the validity at the client's end. A later one replaces an earlier one.
    pub(super) fn set_validity(&mut self, validity: Validity) {
        match self.direction {
            Direction::ToServer => self.sender_validity = Some(validity),
            Direction::ToClient => self.receiver_validity = Some(validity),
        }
    }

    /// Adds an observation of this end, and the bytes that its kernel has carried until then.
    pub(super) fn add_observation(&mut self, instant: u32, observation: Observation, carried_bytes: u64) {
        self.observed_at = self.observed_at.max(Some(instant));
        self.carried_bytes = self.carried_bytes.max(carried_bytes);
        let (bytes, packets, sender) = match observation {
            Observation::Receiver { bytes, packets } => (bytes, packets, None),
            Observation::Sender(sender) => {
                self.sender = (*sender).clone();
                // The FIN is acknowledged like a byte.
                (sender.bytes_acked.min(carried_bytes), sender.delivered, Some(sender))
            }
            Observation::Probe(_) => return,
        };
        self.received_bytes = self.received_bytes.max(bytes);
        self.received_packets = self.received_packets.max(packets);
        if let Some(pending) = self.pending(instant) {
            pending.received_bytes = Some(bytes);
            pending.sender = sender.or(pending.sender.take());
        }
    }

    /// Adds a claim of the client.
    pub(super) fn add_claim(&mut self, row: Row) {
        let Row { instant, observation, .. } = row;
        match observation {
            Observation::Sender(sender) => {
                self.claimed_at = self.claimed_at.max(Some(instant));
                self.sender = (*sender).clone();
                self.claimed = Some(Claimed { bytes: sender.bytes_acked, packets: sender.data_segs_out });
                if let Some(pending) = self.expected(instant) {
                    pending.claimed_bytes = Some(sender.bytes_acked);
                    pending.sender = Some(sender);
                }
            }
            Observation::Receiver { bytes, packets } => {
                self.claimed_at = self.claimed_at.max(Some(instant));
                self.claimed = Some(Claimed { bytes, packets });
                if let Some(pending) = self.expected(instant) {
                    pending.claimed_bytes = Some(bytes);
                }
            }
            Observation::Probe(us) => {
                self.probe_us = Some(us);
                if let Some(pending) = self.expected(instant) {
                    pending.probe_us = Some(us);
                }
            }
        }
    }

    /// Entry of a claim's instant, if this end has observed that instant, or soon will.
    fn expected(&mut self, instant: u32) -> Option<&mut Pending> {
        let began = || u32::try_from(self.start_ns / GRID_NS).unwrap_or(u32::MAX);
        let last_observed = self.observed_at.unwrap_or_else(began);
        let is_to_come = instant > last_observed && instant <= last_observed.saturating_add(MAX_AHEAD);
        if is_to_come { self.pending(instant) } else { self.pending.get_mut(&instant) }
    }

    fn pending(&mut self, instant: u32) -> Option<&mut Pending> {
        if self.written_at.is_some_and(|done| instant <= done) || self.is_closed {
            return None;
        }
        if self.pending.len() >= MAX_PENDING {
            self.pending.pop_first();
        }
        Some(self.pending.entry(instant).or_default())
    }

    /// Closes the record of a flow whose client is gone. If the client is lost, so is the flow, unless all its
    /// bytes have arrived.
    pub(super) fn close(&mut self, reason: EndReason, bytes: Option<u64>) {
        self.is_closed = true;
        if let Some(end) = &mut self.end {
            if bytes.is_some_and(|bytes| self.received_bytes >= bytes) {
                end.reason = EndReason::Complete;
            } else if reason == EndReason::Lost {
                end.reason = EndReason::Lost;
            }
        }
    }

    /// Takes the next complete row: an observation of this end, and the client's claim about the same
    /// instant. At the last instant, the sender's state suffices: all data have arrived by then.
    pub(super) fn next_row(&mut self, now: u32) -> Option<CompleteRow> {
        loop {
            let fate = self.fate(now)?;
            if fate == Fate::Waits {
                return None;
            }
            let (instant, pending) = self.pending.pop_first()?;
            self.written_at = Some(instant);
            let Some(sender) = pending.sender.filter(|_| fate == Fate::Row) else { continue };
            let delivered_bytes = pending.received_bytes.unwrap_or(self.received_bytes);
            return Some(CompleteRow {
                instant,
                sample: Sample {
                    sender: info(&sender),
                    delivered_bytes,
                    rtt_us: None,
                    is_paced: self.is_paced,
                },
                sender,
                claimed_bytes: pending.claimed_bytes,
                probe_us: pending.probe_us,
            });
        }
    }

    /// Decides about the earliest pending instant. Both ends report in order, so that an end which has
    /// reported a later instant will not report this one.
    fn fate(&self, now: u32) -> Option<Fate> {
        let (instant, pending) = self.pending.first_key_value()?;
        let is_closed = self.is_closed;
        let has_passed = |latest: Option<u32>| is_closed || latest.is_some_and(|latest| latest > *instant);
        let is_observed = pending.received_bytes.is_some();
        Some(match (self.direction, &pending.sender) {
            (Direction::ToServer, Some(_)) if is_observed => Fate::Row,
            (Direction::ToServer, Some(_)) if is_closed && self.pending.len() == 1 => Fate::Row,
            (Direction::ToServer, None) if has_passed(self.claimed_at) => Fate::Dropped,
            (Direction::ToClient, _) if is_observed => {
                let is_claimed = pending.claimed_bytes.is_some() || has_passed(self.claimed_at);
                if is_claimed || instant.saturating_add(MAX_LATE) <= now { Fate::Row } else { Fate::Waits }
            }
            (Direction::ToServer, Some(_)) | (Direction::ToClient, _) if has_passed(self.observed_at) => {
                Fate::Dropped
            }
            _ => Fate::Waits,
        })
    }

    /// A contradiction between the client's claims and this end's observations, in a sentence.
    pub(super) fn contradiction(&self) -> Option<String> {
        let Claimed { bytes, packets } = self.claimed?;
        let (carried, packets) = (self.carried_bytes, u64::from(packets));
        let arrived = u64::from(self.received_packets);
        let sent = u64::from(self.sender.data_segs_out);
        let is_complete = self.end.is_some_and(|end| end.reason == EndReason::Complete);
        match self.direction {
            Direction::ToServer if bytes > carried + OVERHEAD_BYTES => {
                Some(format!("its client claims that {bytes} bytes were acknowledged, and {carried} arrived"))
            }
            Direction::ToServer if self.end.is_some() && arrived > MAX_COPIES * packets => {
                Some(format!("its client claims that it sent {packets} packets, and {arrived} arrived"))
            }
            Direction::ToClient if bytes > carried => {
                Some(format!("its client claims that {bytes} bytes arrived, and {carried} were sent"))
            }
            Direction::ToClient if is_complete && bytes < self.received_bytes => Some(format!(
                "its client claims that {bytes} bytes arrived, and acknowledged {}",
                self.received_bytes
            )),
            Direction::ToClient if packets > MAX_COPIES * sent => {
                Some(format!("its client claims that {packets} packets arrived, and {sent} were sent"))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(direction: Direction) -> FlowRecord {
        FlowRecord::new("client-1".to_owned(), "reno".to_owned(), direction)
    }

    fn upload() -> FlowRecord {
        flow(Direction::ToServer)
    }

    /// A sender that sent a number of packets, and had as many bytes acknowledged.
    fn sender(packets: u32) -> Observation {
        let bytes_acked = packets.into();
        Observation::Sender(Box::new(Sender { data_segs_out: packets, bytes_acked, ..Sender::default() }))
    }

    fn row(instant: u32, observation: Observation) -> Row {
        Row { instant, flow: 0, observation }
    }

    fn sent(instant: u32, packets: u32) -> Row {
        row(instant, sender(packets))
    }

    fn observe_received(flow: &mut FlowRecord, instant: u32, bytes: u64) {
        flow.add_observation(instant, Observation::Receiver { bytes, packets: 1 }, bytes);
    }

    /// Instants and bytes of the complete rows.
    fn rows(flow: &mut FlowRecord, now: u32) -> Vec<(u32, u64)> {
        std::iter::from_fn(|| flow.next_row(now))
            .map(|whole| (whole.instant, whole.sample.delivered_bytes))
            .collect()
    }

    #[test]
    fn a_row_combines_both_ends_at_one_instant() {
        let mut flow = upload();
        observe_received(&mut flow, 1, 10);
        observe_received(&mut flow, 2, 20);
        (1..=3).for_each(|instant| flow.add_claim(sent(instant, 1)));
        assert_eq!(rows(&mut flow, 3), [(1, 10), (2, 20)]);
        observe_received(&mut flow, 3, 30);
        assert_eq!(rows(&mut flow, 4), [(3, 30)]);
    }

    #[test]
    fn a_late_claim_counts_but_makes_no_row() {
        let mut flow = upload();
        observe_received(&mut flow, 5, 50);
        flow.add_claim(sent(5, 5));
        observe_received(&mut flow, 6, 60);
        assert_eq!(rows(&mut flow, 6), [(5, 50)]);
        flow.add_claim(sent(4, 7));
        assert_eq!(rows(&mut flow, 6), []);
        assert_eq!(flow.sender.data_segs_out, 7);
    }

    #[test]
    fn at_the_end_the_senders_last_row_has_all_received_bytes() {
        let mut flow = upload();
        flow.add_claim(sent(1, 1));
        observe_received(&mut flow, 2, 20);
        flow.add_claim(sent(3, 3));
        assert_eq!(rows(&mut flow, 3), []);
        flow.close(EndReason::Stopped, None);
        assert_eq!(rows(&mut flow, 3), [(3, 20)]);
    }

    #[test]
    fn the_result_of_a_download_is_the_data_acknowledged_to_the_server() {
        let mut flow = flow(Direction::ToClient);
        flow.add_observation(1, sender(100), 150);
        flow.add_claim(row(1, Observation::Receiver { bytes: 1 << 40, packets: 9 }));
        let whole = flow.next_row(1).unwrap();
        assert_eq!((whole.sample.delivered_bytes, whole.claimed_bytes), (100, Some(1 << 40)));
        assert_eq!((flow.received_bytes, flow.received_packets), (100, 0));
        flow.add_observation(2, sender(151), 150);
        assert_eq!(flow.received_bytes, 150);
    }

    #[test]
    fn a_download_is_measured_even_if_its_client_is_silent() {
        let mut flow = flow(Direction::ToClient);
        flow.add_observation(1, sender(10), 10);
        flow.add_observation(2, sender(20), 20);
        assert_eq!(rows(&mut flow, MAX_LATE), []);
        assert_eq!(rows(&mut flow, MAX_LATE + 1), [(1, 10)]);
        flow.close(EndReason::Lost, None);
        assert_eq!(rows(&mut flow, MAX_LATE + 1), [(2, 20)]);
    }

    #[test]
    fn a_claim_that_cannot_be_true_is_reported() {
        let ended = |mut flow: FlowRecord, reason| {
            flow.end = Some(End { at_ns: 1, reason });
            flow.contradiction()
        };
        let up = |claimed: u32, arrived: u32| {
            let mut flow = upload();
            flow.add_observation(
                1,
                Observation::Receiver { bytes: arrived.into(), packets: arrived },
                arrived.into(),
            );
            flow.add_claim(sent(1, claimed));
            ended(flow, EndReason::Stopped)
        };
        assert_eq!(
            up(500_000_000, 26).unwrap(),
            "its client claims that 500000000 bytes were acknowledged, and 26 arrived"
        );
        assert_eq!(up(12, 26).unwrap(), "its client claims that it sent 12 packets, and 26 arrived");
        assert_eq!(up(52, 26), None);
        let down = |bytes, packets| {
            let mut flow = flow(Direction::ToClient);
            flow.add_observation(1, sender(100), 150);
            flow.add_claim(row(1, Observation::Receiver { bytes, packets }));
            ended(flow, EndReason::Complete)
        };
        assert_eq!(down(100, 100), None);
        assert_eq!(down(150, 200), None);
        assert_eq!(down(151, 100).unwrap(), "its client claims that 151 bytes arrived, and 150 were sent");
        assert_eq!(down(99, 100).unwrap(), "its client claims that 99 bytes arrived, and acknowledged 100");
        assert_eq!(down(100, 201).unwrap(), "its client claims that 201 packets arrived, and 100 were sent");
    }

    #[test]
    fn claims_use_memory_for_observed_instants_only() {
        let mut flow = upload();
        (0..10_000).for_each(|instant| flow.add_claim(sent(instant, 1)));
        assert_eq!(flow.pending.len(), MAX_AHEAD as usize);
        (0..10_000).for_each(|instant| observe_received(&mut flow, instant, 1));
        assert_eq!(flow.pending.len(), MAX_PENDING);
        assert_eq!(flow.pending.values().filter(|each| each.sender.is_some()).count(), 0);
        (0..5_000).for_each(|instant| flow.add_claim(sent(instant, 1)));
        assert_eq!(flow.pending.values().filter(|each| each.sender.is_some()).count(), 0);
    }

    #[test]
    fn a_closed_flow_keeps_no_pending_instants() {
        for direction in [Direction::ToServer, Direction::ToClient] {
            let mut flow = flow(direction);
            (1..40).for_each(|instant| flow.add_claim(row(instant, Observation::Probe(1))));
            (1..1_000).for_each(|instant| observe_received(&mut flow, instant, 1));
            flow.close(EndReason::Lost, None);
            while flow.next_row(1_000).is_some() {}
            assert!(flow.pending.is_empty());
            flow.add_claim(sent(1_001, 1));
            assert!(flow.pending.is_empty());
        }
    }

    #[test]
    fn a_flow_of_a_lost_client_is_lost_unless_it_is_complete() {
        let ended = |reason, bytes| {
            let mut flow = upload();
            observe_received(&mut flow, 1, 100);
            flow.end = Some(End { at_ns: 1, reason: EndReason::Stopped });
            flow.close(reason, bytes);
            flow.end.map(|end| end.reason)
        };
        assert_eq!(ended(EndReason::Lost, None), Some(EndReason::Lost));
        assert_eq!(ended(EndReason::Lost, Some(101)), Some(EndReason::Lost));
        assert_eq!(ended(EndReason::Lost, Some(100)), Some(EndReason::Complete));
        assert_eq!(ended(EndReason::Stopped, Some(101)), Some(EndReason::Stopped));
    }
}
