//! State of the sender that an algorithm may read, and the measurements of an ACK.

use serde::{Deserialize, Serialize};

use super::rtt::RttEstimator;
use super::window_use::WindowUse;
use crate::Time;
use crate::cc::Control;

/// Default window of a new connection, and after idle time.
/// [RFC 6928, 2](https://www.rfc-editor.org/rfc/rfc6928#section-2)
pub const INITIAL_WINDOW_PACKETS: u32 = 10;

/// Congestion state of the sender, with Linux's names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// No sign of congestion, loss or reordering.
    #[default]
    Open,
    /// Packets arrived out of order or twice, perhaps because of a loss.
    Disorder,
    /// The window is being reduced without a loss, after an ECN mark.
    Cwr,
    /// Lost packets are being retransmitted after detection by SACK or RACK.
    Recovery,
    /// Lost packets are being retransmitted after a timeout.
    Loss,
}

impl State {
    /// Name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            State::Open => "open",
            State::Disorder => "disorder",
            State::Cwr => "cwr",
            State::Recovery => "recovery",
            State::Loss => "loss",
        }
    }

    /// State with this name in tables.
    pub(crate) fn named(name: &str) -> Option<State> {
        let all = [State::Open, State::Disorder, State::Cwr, State::Recovery, State::Loss];
        all.into_iter().find(|state| state.name() == name)
    }
}

/// Cause of a window reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Loss detected by SACK or RACK.
    Loss,
    /// The retransmission timer expired.
    Timeout,
    /// ECN-Echo, or a request of the algorithm.
    Ecn,
}

/// State of the sender, read-only. Packets are counted from zero and carry one MSS each (the last may carry
/// less).
#[derive(Clone, Debug)]
pub struct Flow {
    /// Time of the current event.
    pub now: Time,
    /// Timer ticks per second (Linux: HZ).
    pub hz: u32,
    /// Lead of the sender's timestamp clock, in ms; timestamps in ACKs do not contain it.
    pub clock_offset_ms: u32,
    /// Payload of a full packet.
    pub mss_bytes: u32,
    /// Window of a new connection, and smallest window after idle time, in packets.
    pub initial_cwnd: u32,
    /// First packet not cumulatively acknowledged (Linux: `snd_una`).
    pub una: u32,
    /// First packet never sent (Linux: `snd_nxt`).
    pub nxt: u32,
    /// Packets above `una` that SACK reported as arrived.
    pub sacked_out: u32,
    /// Packets detected as lost whose arrival is not yet known.
    pub lost_out: u32,
    /// Retransmitted packets whose arrival is not yet known.
    pub retrans_out: u32,
    /// Congestion state.
    pub state: State,
    /// Value of `nxt` at the start of the current recovery or reduction (Linux: `high_seq`).
    pub high_seq: u32,
    /// Window before the last reduction, in packets.
    pub prior_cwnd: u32,
    /// RTT estimator.
    pub rtt: RttEstimator,
    /// Packets known to have arrived; a packet that was retransmitted needlessly counts twice (Linux:
    /// `delivered`).
    pub delivered: u32,
    /// Delivered packets whose ACK carried the ECN-Echo flag (Linux: `delivered_ce`).
    pub delivered_marked: u32,
    /// Time of the last delivery, in µs (Linux: `delivered_mstamp`).
    pub delivered_at_us: u64,
    /// Limit of the flight that is being measured (Linux: `app_limited`).
    pub limit: Limit,
    /// Packets detected as lost so far (Linux: `lost`).
    pub lost: u32,
    /// Time of the last transmission (Linux: `lsndtime`).
    pub last_sent: Time,
    /// Time at which pacing releases the next packet; in the past if at once (Linux: `tcp_wstamp_ns`).
    pub next_send: Time,
    /// Recent use of the window.
    pub usage: WindowUse,
    /// Whether the sender paces (Linux: `sk_pacing_status`).
    pub pacing: bool,
    /// Whether both ends negotiated ECN (Linux: `TCP_ECN_OK`).
    pub ecn: bool,
    /// Length of a timer tick, kept because algorithms need the tick on every ACK.
    pub(crate) tick_ns: u64,
}

impl Flow {
    /// State of a connection just established at time zero, without transmissions and measurements.
    pub fn new(hz: u32, mss_bytes: u32) -> Flow {
        Flow {
            now: Time::ZERO,
            hz,
            clock_offset_ms: 0,
            mss_bytes,
            initial_cwnd: INITIAL_WINDOW_PACKETS,
            una: 0,
            nxt: 0,
            sacked_out: 0,
            lost_out: 0,
            retrans_out: 0,
            state: State::Open,
            high_seq: 0,
            prior_cwnd: 0,
            rtt: RttEstimator::new(hz),
            delivered: 0,
            delivered_marked: 0,
            delivered_at_us: 0,
            limit: Limit::Network,
            lost: 0,
            last_sent: Time::ZERO,
            next_send: Time::ZERO,
            usage: WindowUse::default(),
            pacing: false,
            ecn: false,
            tick_ns: 1_000_000_000 / u64::from(hz),
        }
    }

    /// Packets sent and not cumulatively acknowledged (Linux: `packets_out`).
    pub fn packets_out(&self) -> u32 {
        self.nxt - self.una
    }

    /// Packets estimated to be in the network.
    /// [RFC 6675, 4: pipe](https://www.rfc-editor.org/rfc/rfc6675#section-4)
    pub fn in_flight(&self) -> u32 {
        self.packets_out() - (self.sacked_out + self.lost_out) + self.retrans_out
    }

    /// Whether the window, rather than the application or the receiver, limited the last flight.
    pub fn cwnd_limited(&self, control: &Control) -> bool {
        self.usage.cwnd_limited(control)
    }

    /// Whether the window was full at some time in the last flight (Linux: `is_cwnd_limited`).
    pub fn cwnd_filled(&self) -> bool {
        self.usage.filled()
    }

    /// Time since `earlier`, in whole ticks.
    pub(crate) fn ticked_since(&self, earlier: Time) -> Time {
        let tick = |time: Time| time.ns() / self.tick_ns;
        Time::from_ns((tick(self.now) - tick(earlier)) * self.tick_ns)
    }

    /// Timer ticks since the start of the run, the clock of several algorithms (Linux: `jiffies`).
    pub fn jiffies(&self) -> u32 {
        self.jiffies_at(self.now)
    }

    /// Value of [`Flow::jiffies`] at `instant`.
    #[expect(clippy::cast_possible_truncation, reason = "2^32 ticks of 1 ms are 49 days; a run is shorter")]
    pub fn jiffies_at(&self, instant: Time) -> u32 {
        (instant.ns() / self.tick_ns) as u32
    }

    /// Converts microseconds to timer ticks, rounded up as in Linux.
    #[expect(clippy::cast_possible_truncation, reason = "2^32 ticks of 1 ms are 49 days; a run is shorter")]
    pub fn us_to_jiffies(&self, us: u64) -> u32 {
        us.div_ceil(self.tick_ns / 1_000) as u32
    }
}

/// One ACK, as the sender understands it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ack {
    /// Packets newly acknowledged cumulatively.
    pub acked: u32,
    /// Packets newly reported by SACK.
    pub sacked: u32,
    /// Packets newly known to have arrived, by cumulative acknowledgement or SACK (Linux: `acked_sacked`).
    pub delivered: u32,
    /// Packets newly delivered, for algorithms that correct for delayed ACKs, where `delivered` counts the ACK; otherwise 0
    /// ([`Growth::AckCorrected`](crate::run::Growth::AckCorrected)).
    pub corrected: u32,
    /// Packets newly detected as lost; known in `on_ack`, zero in `on_pkts_acked`.
    pub lost: u32,
    /// Raw round-trip time of the newest packet acknowledged; `None` if all of them were retransmitted.
    pub rtt_us: Option<u32>,
    /// Packets delivered while the newest packet acknowledged was in flight (Linux: `in_flight` of
    /// `ack_sample`).
    pub in_flight: u32,
    /// The receiver's clock when it sent this ACK, in ms, with its random offset (RFC 7323: TSval).
    pub ts_val_ms: u32,
    /// The sender's clock when it sent the packet that caused the ACK, in ms, without an offset (RFC 7323:
    /// TSecr).
    pub ts_echo_ms: u32,
    /// Whether the ACK carries the ECN-Echo flag (RFC 3168).
    pub ece: bool,
    /// Whether header prediction failed for the ACK: it carries a SACK option, the ECE flag or a changed
    /// window (Linux: `CA_ACK_SLOWPATH`).
    pub slow_path: bool,
    /// Delivery rate over the flight that the ACK ended.
    pub rate: RateSample,
}

/// Delivery-rate sample. [draft-cheng-iccrg-delivery-rate-estimation-02, 3.3]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RateSample {
    /// Packets delivered over `interval_us`; `None` if the sample is invalid.
    pub delivered: Option<u32>,
    /// Interval of the sample: the longer one of the time of sending the packets and the time of their
    /// acknowledgement.
    pub interval_us: u64,
    /// `flow.delivered` when the newest packet acknowledged was sent.
    pub prior_delivered: u32,
    /// Packets in flight before this ACK.
    pub prior_in_flight: u32,
    /// Packets in flight when the newest packet acknowledged was sent, including it.
    pub tx_in_flight: u32,
    /// Packets detected as lost since the newest packet acknowledged was sent.
    pub lost: u32,
    /// Limit of the measured flight.
    pub limit: Limit,
}

/// A packet that was detected as lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// Number of the packet.
    pub number: u32,
    /// Packets in flight at the packet's last transmission, including it.
    pub in_flight: u32,
    /// Packets detected as lost since the packet's last transmission, including it.
    pub lost: u32,
    /// Limit of the packet's flight.
    pub limit: Limit,
}

/// Limit of a flight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Limit {
    /// The window or the network limits the flight.
    #[default]
    Network,
    /// The application limits the flight: it had nothing to send.
    Application,
}
