//! Settings of the hosts' TCP.

use serde::{Deserialize, Serialize};

use super::check::RunError;
use crate::net::packet::header_bytes;

/// Settings of the TCP of one host. The defaults are Linux 6.1's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "independent switches of a kernel, each read by its name")]
pub struct Host {
    /// Timer ticks per second (Linux: `CONFIG_HZ`).
    pub hz: u32,
    /// TCP timestamps (RFC 7323), and their origin. A connection has them if neither of its hosts refuses them.
    pub timestamps: Timestamps,
    /// Lead of the timestamp clock over that of other hosts, in ms, such as the time since an earlier boot.
    pub clock_offset_ms: u32,
    /// Unit by which the window of a sender grows: packets or ACKs.
    pub growth: Growth,
    /// Whether the host permits selective acknowledgements (RFC 2018; Linux: `tcp_sack`). A connection has them if both of
    /// its hosts permit them; otherwise the sender recovers by NewReno (RFC 6582).
    pub sack: bool,
    /// Whether a receiver reports duplicates (RFC 2883; Linux: `tcp_dsack`).
    pub dsack: bool,
    /// Loss detection of a sender with SACK.
    pub recovery: LossDetection,
    /// Whether a sender that counts losses counts from the forward-most sacked packet (Mathis and Mahdavi, 1996; Linux until
    /// 4.14: `tcp_fack`).
    pub fack: bool,
    /// Whether a sender that counts losses retransmits early with fewer than four packets outstanding (RFC 5827; Linux 3.5 to
    /// 4.13: `tcp_early_retrans = 2`).
    pub early_retransmit: bool,
    /// Whether a sender without SACK restarts its retransmission timer with the first partial ACK of a recovery alone (RFC 6582,
    /// 4, Impatient), and not with each (Slow-but-Steady, as Linux).
    pub impatient: bool,
    /// Reduction of a sender's window in recovery.
    pub reduction: Reduction,
    /// Whether a sender with SACK sends tail loss probes (RFC 8985, 7; Linux: `tcp_early_retrans`).
    pub tlp: bool,
    /// Whether a sender detects spurious timeouts by F-RTO (RFC 5682; Linux: `tcp_frto`).
    pub frto: bool,
    /// Window of a new connection, in packets (Linux: the route's `initcwnd`).
    pub initial_cwnd: u32,
    /// Slow-start threshold of a new connection, in packets (Linux: the route's `ssthresh`); `None`: none.
    pub initial_ssthresh: Option<u32>,
    /// Whether a sender keeps the slow start threshold, RTT and reordering of ended connections for later ones of its pair of
    /// hosts (Linux: `tcp_no_metrics_save = 0` and `tcp_no_ssthresh_metrics_save = 0`).
    pub metrics_save: bool,
    /// Whether a sender reduces its window after idle time (RFC 5681, 4.1; Linux: `tcp_slow_start_after_idle`).
    pub slow_start_after_idle: bool,
    /// Receive buffer of a socket (Linux: `tcp_rmem`); `None`: as large as the receive window of the flow needs.
    pub rmem: Option<SocketBuffer>,
    /// Send buffer of a socket (Linux: `tcp_wmem`); `None`: it never limits.
    pub wmem: Option<SocketBuffer>,
    /// Whether a receive buffer grows with what the application reads in a round trip (Linux: `tcp_moderate_rcvbuf`).
    pub moderate_rcvbuf: bool,
    /// Rule by which a receive buffer grows with the data that the application reads.
    pub rcvbuf_tuning: BufferTuning,
    /// Whether a receiver acknowledges every packet at once (Linux: `quickack` of the route).
    pub quickack: bool,
    /// Receive window of a new connection, in packets, if less than 64 kB (Linux: the route's `initrwnd`); `None`: 64 kB.
    pub initial_rwnd: Option<u32>,
    /// Part of a receive buffer that becomes window: all but 2^-n of it, or with n ≤ 0 a part of 2^n (Linux:
    /// `tcp_adv_win_scale`).
    pub adv_win_scale: i8,
    /// Queue in front of the device of a sending host (Linux: its qdisc).
    pub qdisc: Qdisc,
    /// Largest number of packets in a queue `pfifo_fast` (Linux: `txqueuelen` of the device).
    pub txqueuelen: u32,
    /// Largest amount of a flow's memory in the queue and the device of its sender, unless the sender paces (Linux:
    /// `tcp_limit_output_bytes`); `None`: no limit (Linux before 3.6).
    pub limit_output_bytes: Option<u64>,
    /// Whether the host offloads segmentation (Linux: TSO, GSO): its TCP sends bursts of up to 64 kB; and whether it merges
    /// consecutive packets that arrive at the same instant (Linux: GRO).
    pub offloads: bool,
}

/// Queue in front of the device of a sending host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Qdisc {
    /// The path begins at the host: nothing waits in the host.
    #[default]
    None,
    /// First in, first out, up to `txqueuelen` packets.
    PfifoFast,
    /// A queue that releases packets at the times that pacing gives them. The senders of the host pace.
    Fq,
    /// FQ-CoDel (RFC 8290).
    FqCodel,
}

/// Sizes of a socket's buffer, in bytes of memory: packets take more than their payload (Linux: `tcp_rmem`, `tcp_wmem`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SocketBuffer {
    /// Size to which a kernel short of memory reduces the buffer. Kernels of runs have enough.
    pub min_bytes: u32,
    /// Size for a new connection.
    pub default_bytes: u32,
    /// Size up to which the buffer grows by itself.
    pub max_bytes: u32,
}

/// TCP timestamps, and their origin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Timestamps {
    /// A random offset per connection and end (Linux: `net.ipv4.tcp_timestamps = 1`, its default).
    #[default]
    Random,
    /// A common origin on all hosts (Linux: `net.ipv4.tcp_timestamps = 2`, on hosts that booted at the same
    /// time).
    Synchronised,
    /// No timestamps: the host neither offers nor accepts them (Linux: `net.ipv4.tcp_timestamps = 0`).
    Off,
}

/// Unit by which the window of a sender grows outside of recovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Growth {
    /// Acknowledged packets (RFC 3465).
    #[default]
    Packet,
    /// ACKs, however many packets they acknowledge (`tcp_abc = 0`).
    Ack,
    /// ACKs, with the corrections for delayed ACKs that Linux 2.6 had: in congestion avoidance CUBIC and YeAH count packets,
    /// and Scalable grows by 1/50 of a packet for each ACK.
    AckCorrected,
}

/// Rule by which a receive buffer grows with the data that the application reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BufferTuning {
    /// Twice the data read in a round trip, and more if that number rises (Linux since 4.20).
    #[default]
    Rising,
    /// Twice the data read in a round trip (Linux 2.6.7 to 3.13).
    Twice,
}

/// Loss detection of a sender with SACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LossDetection {
    /// Loss detection by time: a packet is lost if one sent sufficiently later has arrived (RFC 8985).
    #[default]
    Rack,
    /// Loss detection by count: a packet is lost if three packets above it have arrived (RFC 6675; Linux: `tcp_recovery = 0`).
    Rfc6675,
}

/// Reduction of a sender's window from its size before a loss to ssthresh.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reduction {
    /// Proportional rate reduction over a round trip (RFC 6937; Linux since 3.2).
    #[default]
    Prr,
    /// One packet less for every second ACK (Linux before 3.2).
    RateHalving,
    /// All at the loss (RFC 6675, 5).
    Immediate,
}

impl Default for Host {
    fn default() -> Host {
        Host {
            hz: 250,
            timestamps: Timestamps::Random,
            clock_offset_ms: 0,
            growth: Growth::Packet,
            sack: true,
            dsack: true,
            recovery: LossDetection::Rack,
            fack: false,
            early_retransmit: false,
            impatient: false,
            reduction: Reduction::Prr,
            tlp: true,
            frto: true,
            initial_cwnd: 10,
            initial_ssthresh: None,
            metrics_save: false,
            slow_start_after_idle: true,
            rmem: None,
            wmem: None,
            moderate_rcvbuf: true,
            rcvbuf_tuning: BufferTuning::Rising,
            quickack: false,
            initial_rwnd: None,
            adv_win_scale: 1,
            qdisc: Qdisc::None,
            txqueuelen: 1000,
            limit_output_bytes: Some(1 << 20),
            offloads: false,
        }
    }
}

/// Settings of both hosts of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ends {
    /// Settings of the sender.
    pub sender: Host,
    /// Settings of the receiver.
    pub receiver: Host,
}

impl Ends {
    /// Whether the connection has selective acknowledgements: both hosts permit them.
    pub fn has_sack(&self) -> bool {
        self.sender.sack && self.receiver.sack
    }

    /// Bytes of the headers of a full packet.
    pub fn header_bytes(&self) -> u32 {
        header_bytes(self.has_timestamps())
    }

    /// Whether the connection has timestamps: both hosts have them.
    pub fn has_timestamps(&self) -> bool {
        [self.sender, self.receiver].iter().all(|host| host.timestamps != Timestamps::Off)
    }
}

/// Numbers of ticks per second that a kernel can have (Linux: `CONFIG_HZ`).
const HZ: std::ops::RangeInclusive<u32> = 100..=1000;
/// Exponents that Linux accepts for `tcp_adv_win_scale`.
const ADV_WIN_SCALES: std::ops::RangeInclusive<i8> = -31..=31;
/// Smallest default size of a buffer: room for two full packets of Ethernet with their metadata, of which half may be window.
const MIN_DEFAULT_BUFFER_BYTES: u32 = 8192;
/// Smallest minimum that Linux takes (`tcp_min_rcvbuf`, `tcp_min_sndbuf`).
const MIN_BUFFER_BYTES: u32 = 4096;
/// Largest size of a buffer; Linux keeps it in 31 bits.
const MAX_BUFFER_BYTES: u32 = i32::MAX as u32;
/// Largest first window, far above the BDP of any path.
const MAX_FIRST_WINDOW_PACKETS: u32 = 1 << 16;

impl Host {
    /// Checks the settings.
    ///
    /// # Errors
    /// The first invalid field.
    pub(crate) fn check(&self) -> Result<(), RunError> {
        if !HZ.contains(&self.hz) {
            return Err(RunError::new("hz", format!("{}; give {} to {}", self.hz, HZ.start(), HZ.end())));
        }
        let detects_by_time = self.recovery == LossDetection::Rack && self.sack;
        if self.fack && detects_by_time {
            let problem = "true; it counts sacked packets; give recovery = \"rfc6675\"";
            return Err(RunError::new("fack", problem));
        }
        if self.early_retransmit && detects_by_time {
            let problem = "true; RACK has it built in; give recovery = \"rfc6675\" or \"newreno\"";
            return Err(RunError::new("early_retransmit", problem));
        }
        let packets = [
            ("initial_cwnd", Some(self.initial_cwnd), 1),
            ("initial_ssthresh", self.initial_ssthresh, 2),
            ("initial_rwnd", self.initial_rwnd, 1),
        ];
        for (name, value, least) in packets {
            if let Some(value) = value.filter(|value| !(least..=MAX_FIRST_WINDOW_PACKETS).contains(value)) {
                let problem = format!("{value} packets; give {least} to {MAX_FIRST_WINDOW_PACKETS}");
                return Err(RunError::new(name, problem));
            }
        }
        for (name, buffer) in [("rmem", self.rmem), ("wmem", self.wmem)] {
            if let Some(problem) = buffer.and_then(SocketBuffer::problem) {
                return Err(RunError::new(name, problem));
            }
        }
        if !ADV_WIN_SCALES.contains(&self.adv_win_scale) {
            let problem = format!(
                "{}; give {} to {}",
                self.adv_win_scale,
                ADV_WIN_SCALES.start(),
                ADV_WIN_SCALES.end()
            );
            return Err(RunError::new("adv_win_scale", problem));
        }
        if self.txqueuelen == 0 {
            return Err(RunError::new("txqueuelen", "0 packets; give 1 or more"));
        }
        Ok(())
    }
}

impl Host {
    /// Window of a receive buffer of the default size; `None` if the buffer never limits.
    pub(crate) fn first_window_bytes(&self) -> Option<u32> {
        self.rmem.map(|sizes| self.window_of(sizes.default_bytes))
    }

    /// Window of `space` bytes of a receive buffer (Linux: `tcp_win_from_space`).
    pub(crate) fn window_of(&self, space: u32) -> u32 {
        let part = space.checked_shr(self.adv_win_scale.unsigned_abs().into()).unwrap_or(0);
        if self.adv_win_scale > 0 { space - part } else { part }
    }
}

impl SocketBuffer {
    /// Problem with the sizes.
    fn problem(self) -> Option<String> {
        let SocketBuffer { min_bytes, default_bytes, max_bytes } = self;
        if min_bytes == 0 || min_bytes > default_bytes || default_bytes > max_bytes {
            Some(format!(
                "{min_bytes} {default_bytes} {max_bytes} bytes; give minimum, default and maximum in this order"
            ))
        } else if default_bytes < MIN_DEFAULT_BUFFER_BYTES {
            Some(format!("a default of {default_bytes} bytes; give at least {MIN_DEFAULT_BUFFER_BYTES}"))
        } else if max_bytes > MAX_BUFFER_BYTES {
            Some(format!("a maximum of {max_bytes} bytes; give at most {MAX_BUFFER_BYTES}"))
        } else if min_bytes < MIN_BUFFER_BYTES {
            Some(format!("a minimum of {min_bytes} bytes; give at least {MIN_BUFFER_BYTES}"))
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(host: Host) -> String {
        host.check().map_or_else(|error| error.to_string(), |()| "fine".to_owned())
    }

    #[test]
    fn ticks_and_windows_have_limits() {
        let bare = Host::default();
        assert_eq!(problem(bare), "fine");
        assert_eq!(problem(Host { hz: 99, ..bare }), "hz: 99; give 100 to 1000");
        assert_eq!(problem(Host { initial_cwnd: 0, ..bare }), "initial_cwnd: 0 packets; give 1 to 65536");
        let ssthresh = Host { initial_ssthresh: Some(1), ..bare };
        assert_eq!(problem(ssthresh), "initial_ssthresh: 1 packets; give 2 to 65536");
        let rmem = |min_bytes, default_bytes, max_bytes| {
            problem(Host { rmem: Some(SocketBuffer { min_bytes, default_bytes, max_bytes }), ..bare })
        };
        assert_eq!(rmem(4096, 131_072, 6_291_456), "fine");
        let order = "give minimum, default and maximum in this order";
        assert_eq!(rmem(4096, 131_072, 65_536), format!("rmem: 4096 131072 65536 bytes; {order}"));
        assert_eq!(rmem(1, 8191, 65_536), "rmem: a default of 8191 bytes; give at least 8192");
        assert_eq!(rmem(4095, 8192, 65_536), "rmem: a minimum of 4095 bytes; give at least 4096");
        assert_eq!(problem(Host { adv_win_scale: 32, ..bare }), "adv_win_scale: 32; give -31 to 31");
        assert_eq!(problem(Host { txqueuelen: 0, ..bare }), "txqueuelen: 0 packets; give 1 or more");
    }

    #[test]
    fn a_part_of_a_receive_buffer_is_window() {
        let windows = [2, 1, 0, -1, -31]
            .map(|adv_win_scale| Host { adv_win_scale, ..Host::default() }.window_of(131_072));
        assert_eq!(windows, [98_304, 65_536, 131_072, 65_536, 0]);
    }

    #[test]
    fn counting_rules_need_a_sender_that_counts() {
        let counts = Host { recovery: LossDetection::Rfc6675, ..Host::default() };
        let newreno = Host { sack: false, ..Host::default() };
        for host in [counts, newreno] {
            assert_eq!(problem(Host { early_retransmit: true, fack: true, ..host }), "fine");
        }
        assert_eq!(
            problem(Host { fack: true, ..Host::default() }),
            "fack: true; it counts sacked packets; give recovery = \"rfc6675\""
        );
        assert_eq!(
            problem(Host { early_retransmit: true, ..Host::default() }),
            "early_retransmit: true; RACK has it built in; give recovery = \"rfc6675\" or \"newreno\""
        );
    }

    #[test]
    fn a_connection_has_sack_if_both_hosts_permit_it() {
        let without = Host { sack: false, ..Host::default() };
        assert!(Ends::default().has_sack());
        assert!(!Ends { sender: without, ..Ends::default() }.has_sack());
        assert!(!Ends { receiver: without, ..Ends::default() }.has_sack());
    }

    #[test]
    fn a_connection_has_timestamps_if_both_hosts_have_them() {
        let without = Host { timestamps: Timestamps::Off, ..Host::default() };
        assert!(Ends::default().has_timestamps());
        assert!(!Ends { sender: without, ..Ends::default() }.has_timestamps());
        assert!(!Ends { receiver: without, ..Ends::default() }.has_timestamps());
    }
}
