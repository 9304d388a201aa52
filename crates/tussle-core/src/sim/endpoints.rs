//! The two endpoints of a flow: a TCP sender and receiver, or a UDP source and sink.

use super::udp::{UdpSink, UdpSource};
use crate::Time;
use crate::cc::{CongestionControl, Control};
use crate::net::packet::Packet;
use crate::record::{FlowCounters, FlowTotals, Sample, Window};
use crate::run::{Host, UDP};
use crate::tcp::{
    Counts, LargestWindow, LimitedTimes, Outbox, Receiver, ReceiverSetup, Sender, Setup, State,
};

/// Both endpoints of a flow.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "flows are few, and most are TCP")]
pub(super) enum Endpoints {
    Tcp(TcpEndpoints),
    Udp(UdpEndpoints),
}

/// The endpoints of a TCP connection.
#[derive(Debug)]
pub(super) struct TcpEndpoints {
    pub(super) sender: Sender,
    pub(super) receiver: Receiver,
}

/// The receiving host of a flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReceiverHost {
    /// Settings of the host.
    pub(super) host: Host,
    /// Largest receive window of the flow.
    pub(super) window: LargestWindow,
    /// Offset of the receiver's timestamps.
    pub(super) timestamp_offset_ms: u32,
}

/// The endpoints of a UDP flow.
#[derive(Debug)]
pub(super) struct UdpEndpoints {
    pub(super) source: UdpSource,
    pub(super) sink: UdpSink,
}

impl TcpEndpoints {
    /// Creates endpoints with a closed connection.
    pub(super) fn new(
        setup: Setup,
        algorithm: Box<dyn CongestionControl>,
        receiver: ReceiverHost,
    ) -> TcpEndpoints {
        let sender = Sender::new(setup, algorithm);
        let receiver = Receiver::new(ReceiverSetup {
            flow: setup.flow,
            host: receiver.host,
            sack: setup.sack,
            timestamps: setup.timestamps,
            mss_bytes: setup.mss_bytes,
            window: receiver.window,
            ecn: sender.ecn(),
            timestamp_offset_ms: receiver.timestamp_offset_ms,
            reads_at_once: setup.reads_at_once,
        });
        TcpEndpoints { sender, receiver }
    }

    /// Processes a packet that arrived at the sender; returns its RTT sample, in µs.
    #[inline]
    pub(super) fn on_packet_at_sender(
        &mut self,
        packet: &Packet,
        now: Time,
        out: &mut Outbox,
    ) -> Option<u32> {
        self.sender.on_packet(packet, now, out);
        self.sender.take_rtt_us()
    }

    /// Gives a packet to a receiver that merges packets of one instant; returns the time of the receiver's next event.
    /// After the last event of the instant the packets are processed at once, otherwise in an event after the others.
    #[inline(never)]
    pub(super) fn merge_at_receiver(
        &mut self,
        packet: &Packet,
        now: Time,
        is_last: bool,
        out: &mut Outbox,
    ) -> Time {
        self.receiver.merge(packet, now, out);
        if is_last {
            self.receiver.process_merged(now, out);
        }
        if self.receiver.holds_packets() { now } else { self.receiver.wake() }
    }
}

impl UdpEndpoints {
    /// Creates the endpoints of a flow, given by its index, with `payload_bytes` per datagram.
    pub(super) fn new(flow: u32, payload_bytes: u32) -> UdpEndpoints {
        UdpEndpoints { source: UdpSource::new(flow, payload_bytes), sink: UdpSink::default() }
    }
}

impl Endpoints {
    /// The TCP endpoints; `None` for a UDP flow.
    #[inline]
    pub(super) fn tcp(&mut self) -> Option<&mut TcpEndpoints> {
        match self {
            Endpoints::Tcp(tcp) => Some(tcp),
            Endpoints::Udp(_) => None,
        }
    }

    /// Packets with payload that arrived, duplicates included.
    pub(super) fn received_packets(&self) -> u64 {
        match self {
            Endpoints::Tcp(tcp) => tcp.receiver.received_packets(),
            Endpoints::Udp(udp) => udp.sink.received_packets(),
        }
    }

    /// Counters so far.
    pub(super) fn counters(&self, now: Time) -> FlowCounters {
        match self {
            Endpoints::Tcp(tcp) => FlowCounters {
                delivered_bytes: tcp.receiver.delivered_bytes(),
                counts: tcp.sender.counts,
                limited: tcp.sender.limited(now),
            },
            Endpoints::Udp(udp) => FlowCounters {
                delivered_bytes: udp.sink.delivered_bytes(),
                counts: Counts { sent_packets: udp.source.sent_packets(), ..Counts::default() },
                limited: LimitedTimes::default(),
            },
        }
    }

    /// Results at the end of the run.
    pub(super) fn totals(&self, now: Time) -> FlowTotals<'_> {
        let counters = self.counters(now);
        match self {
            Endpoints::Tcp(tcp) => FlowTotals {
                algorithm: tcp.sender.algorithm().name(),
                finished: tcp.receiver.finished().filter(|_| !tcp.sender.has_stopped()),
                lost_packets: tcp.sender.flow.lost.into(),
                counters,
            },
            Endpoints::Udp(_) => FlowTotals { algorithm: UDP, finished: None, lost_packets: 0, counters },
        }
    }

    /// Congestion window and ssthresh. UDP has neither; its rows show the values of an unused TCP sender.
    pub(super) fn window(&self) -> Window {
        match self {
            Endpoints::Tcp(tcp) => window(&tcp.sender.control),
            Endpoints::Udp(_) => window(&Control::default()),
        }
    }

    /// Congestion state of the sender; a UDP flow is always in the state `Open`.
    pub(super) fn state(&self) -> State {
        match self {
            Endpoints::Tcp(tcp) => tcp.sender.flow.state,
            Endpoints::Udp(_) => State::Open,
        }
    }

    /// A row of the `samples` table.
    pub(super) fn sample(&self) -> Sample<'_> {
        let (window, state) = (self.window(), self.state());
        match self {
            Endpoints::Tcp(TcpEndpoints { sender, receiver }) => Sample {
                window,
                state,
                srtt_us: sender.flow.rtt.srtt_us(),
                rtt_us: sender.flow.rtt.latest_us(),
                in_flight_packets: sender.flow.in_flight(),
                delivered_bytes: receiver.delivered_bytes(),
                retransmitted_packets: sender.counts.retransmitted_packets,
                pacing_bit_per_s: sender.pacing_bit_per_s(),
                algorithm: Some(sender.algorithm()),
            },
            Endpoints::Udp(udp) => Sample {
                window,
                state,
                srtt_us: None,
                rtt_us: None,
                in_flight_packets: 0,
                delivered_bytes: udp.sink.delivered_bytes(),
                retransmitted_packets: 0,
                pacing_bit_per_s: None,
                algorithm: None,
            },
        }
    }
}

fn window(control: &Control) -> Window {
    Window {
        cwnd_packets: control.cwnd,
        ssthresh_packets: control.has_ssthresh().then_some(control.ssthresh),
    }
}
