//! What an algorithm may read of the sender, and what an ACK told it.

use super::rtt::RttEstimator;
use super::window_use::WindowUse;
use crate::Time;
use crate::cc::Control;

/// The sender's state, as Linux names it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// Nothing is wrong.
    #[default]
    Open,
    /// Packets arrived out of order or twice; perhaps a loss.
    Disorder,
    /// The window is being reduced without a loss, after an ECN mark.
    Cwr,
    /// Lost packets are being sent again, found by SACK or RACK.
    Recovery,
    /// Lost packets are being sent again after a timeout.
    Loss,
}

impl State {
    /// The name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            State::Open => "open",
            State::Disorder => "disorder",
            State::Cwr => "cwr",
            State::Recovery => "recovery",
            State::Loss => "loss",
        }
    }
}

/// Why the window must fall.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A loss found by SACK or RACK.
    Loss,
    /// The retransmission timer expired.
    Timeout,
    /// A congestion mark was echoed, or the algorithm asked for it.
    Ecn,
}

/// The sender, read-only. Packets are counted from zero and each carries one MSS (the last may carry less).
#[derive(Clone, Debug)]
pub struct Flow {
    /// The instant of the event being handled.
    pub now: Time,
    /// Timer ticks a second of the kernel that is followed (Linux: HZ).
    pub hz: u32,
    /// Payload of a full packet.
    pub mss_bytes: u32,
    /// First packet not cumulatively acknowledged (Linux: `snd_una`).
    pub una: u32,
    /// First packet never sent (Linux: `snd_nxt`).
    pub nxt: u32,
    /// Packets above `una` that SACK reported as arrived.
    pub sacked_out: u32,
    /// Packets held to be lost and not yet known to have arrived.
    pub lost_out: u32,
    /// Retransmitted packets whose arrival is not yet known.
    pub retrans_out: u32,
    /// Where recovery stands.
    pub state: State,
    /// `nxt` when the current episode of recovery or reduction began (Linux: `high_seq`).
    pub high_seq: u32,
    /// The window before the last reduction, in packets.
    pub prior_cwnd: u32,
    /// Round-trip times and what follows from them.
    pub rtt: RttEstimator,
    /// Packets known to have arrived; one that was sent again needlessly counts again (Linux: `delivered`).
    pub delivered: u32,
    /// Those of them that were acknowledged with an echoed mark (Linux: `delivered_ce`).
    pub delivered_marked: u32,
    /// When something was last delivered, in µs (Linux: `delivered_mstamp`).
    pub delivered_at_us: u64,
    /// What limits the flight that is being measured (Linux: `app_limited`).
    pub limit: Limit,
    /// Packets detected as lost so far (Linux: `lost`).
    pub lost: u32,
    /// When a packet was last sent (Linux: `lsndtime`).
    pub last_sent: Time,
    /// When pacing lets the next packet leave; in the past if at once (Linux: `tcp_wstamp_ns`).
    pub next_send: Time,
    /// How much of the window was used lately.
    pub usage: WindowUse,
    /// Whether packets wait for the pacing rate (Linux: `sk_pacing_status`).
    pub pacing: bool,
    /// Whether both ends agreed on ECN (Linux: `TCP_ECN_OK`).
    pub ecn: bool,
    /// Length of a timer tick: kept because algorithms ask for the tick on every ACK.
    pub(crate) tick_ns: u64,
}

impl Flow {
    /// A connection just established at time zero: nothing sent, nothing measured.
    pub fn new(hz: u32, mss_bytes: u32) -> Flow {
        Flow {
            now: Time::ZERO,
            hz,
            mss_bytes,
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

    /// Packets thought to be in the network. [RFC 6675, 4:
    /// pipe](https://www.rfc-editor.org/rfc/rfc6675#section-4)
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

    /// Time since `earlier`, as the ticks tell that passed between.
    pub(crate) fn ticked_since(&self, earlier: Time) -> Time {
        let tick = |time: Time| time.ns() / self.tick_ns;
        Time::from_ns((tick(self.now) - tick(earlier)) * self.tick_ns)
    }

    /// Timer ticks since the start of the run, the clock of several algorithms (Linux: `jiffies`).
    pub fn jiffies(&self) -> u32 {
        self.jiffies_at(self.now)
    }

    /// What [`Flow::jiffies`] said, or will say, at `instant`.
    #[expect(clippy::cast_possible_truncation, reason = "2^32 ticks of 1 ms are 49 days; a run is shorter")]
    pub fn jiffies_at(&self, instant: Time) -> u32 {
        (instant.ns() / self.tick_ns) as u32
    }

    /// Microseconds in timer ticks, rounded up as Linux rounds them.
    #[expect(clippy::cast_possible_truncation, reason = "2^32 ticks of 1 ms are 49 days; a run is shorter")]
    pub fn us_to_jiffies(&self, us: u64) -> u32 {
        us.div_ceil(self.tick_ns / 1_000) as u32
    }
}

/// What one ACK told the sender.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ack {
    /// Packets newly acknowledged cumulatively.
    pub acked: u32,
    /// Packets newly reported by SACK.
    pub sacked: u32,
    /// Packets newly known to have arrived, by either (Linux: `acked_sacked`).
    pub delivered: u32,
    /// Packets newly judged lost; known in `on_ack`, zero in `on_pkts_acked`.
    pub lost: u32,
    /// Raw round-trip time of the newest packet acknowledged, if one was sent only once.
    pub rtt_us: Option<u32>,
    /// Packets delivered while the newest of them was in flight (Linux: `in_flight` of `ack_sample`).
    pub in_flight: u32,
    /// The receiver's clock when it sent this ACK, in ms, with its random offset (RFC 7323: TSval).
    pub ts_val_ms: u32,
    /// The sender's clock when it sent the packet that caused it, in ms, without an offset (RFC 7323: TSecr).
    pub ts_echo_ms: u32,
    /// Whether the ACK carries the ECN-Echo flag (RFC 3168).
    pub ece: bool,
    /// Whether header prediction failed for the ACK: it carries a SACK option, the ECE flag or a changed
    /// window (Linux: `CA_ACK_SLOWPATH`).
    pub slow_path: bool,
    /// The delivery rate over the flight that this ACK ended.
    pub rate: RateSample,
}

/// A measurement of the delivery rate. [draft-cheng-iccrg-delivery-rate-estimation-02, 3.3]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RateSample {
    /// Packets delivered over `interval_us`; `None`: no valid sample.
    pub delivered: Option<u32>,
    /// The longer of the time they took to send and to be acknowledged.
    pub interval_us: u64,
    /// `flow.delivered` when the newest packet acknowledged was sent.
    pub prior_delivered: u32,
    /// Packets in flight before this ACK.
    pub prior_in_flight: u32,
    /// Packets in flight when the newest packet acknowledged was sent, with it.
    pub tx_in_flight: u32,
    /// Packets judged lost since then.
    pub lost: u32,
    /// Whether the application limited that flight.
    pub limit: Limit,
}

/// A packet that was judged lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// Which one.
    pub number: u32,
    /// Packets in flight when it was last sent, with it.
    pub in_flight: u32,
    /// Packets judged lost since then, with it.
    pub lost: u32,
    /// What limited its flight.
    pub limit: Limit,
}

/// What limited a flight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Limit {
    /// The window or the network.
    #[default]
    Network,
    /// The application had nothing to send.
    Application,
}
