//! Settings of the hosts' TCP.

use serde::{Deserialize, Serialize};

use super::check::RunError;

/// Settings of the TCP of one host. The defaults are Linux 6.1's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "independent switches of a kernel, each read by its name")]
pub struct Host {
    /// Timer ticks per second (Linux: `CONFIG_HZ`).
    pub hz: u32,
    /// Origin of TCP timestamps (RFC 7323).
    pub timestamps: Timestamps,
    /// What the window of a sender grows with.
    pub growth: Growth,
    /// Whether the host permits selective acknowledgements (RFC 2018; Linux: `tcp_sack`). A connection has them if both of
    /// its hosts permit them; otherwise the sender recovers by NewReno (RFC 6582).
    pub sack: bool,
    /// Whether a receiver reports duplicates (RFC 2883; Linux: `tcp_dsack`).
    pub dsack: bool,
    /// Loss detection of a sender with SACK.
    pub recovery: LossDetection,
    /// Whether a sender reduces its window by proportional rate reduction (RFC 6937); otherwise by rate halving, one packet
    /// for every second ACK.
    pub prr: bool,
    /// Whether a sender with SACK sends tail loss probes (RFC 8985, 7; Linux: `tcp_early_retrans`).
    pub tlp: bool,
    /// Whether a sender detects spurious timeouts by F-RTO (RFC 5682; Linux: `tcp_frto`).
    pub frto: bool,
    /// Window of a new connection, in packets (Linux: the route's `initcwnd`).
    pub initial_cwnd: u32,
    /// Slow-start threshold of a new connection, in packets (Linux: the route's `ssthresh`); `None`: none.
    pub initial_ssthresh: Option<u32>,
    /// Whether a sender reduces its window after idle time (RFC 5681, 4.1; Linux: `tcp_slow_start_after_idle`).
    pub slow_start_after_idle: bool,
}

/// Origin of TCP timestamps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Timestamps {
    /// A random offset per connection and end (Linux: `net.ipv4.tcp_timestamps = 1`, its default).
    #[default]
    Random,
    /// A common origin on all hosts (Linux: `net.ipv4.tcp_timestamps = 2`, on hosts that booted at the same
    /// time).
    Synchronised,
}

/// What the window of a sender grows with, outside of recovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Growth {
    /// With acknowledged packets (RFC 3465).
    #[default]
    Packet,
    /// With ACKs, however many packets they acknowledge (Linux before 3.10: `tcp_abc = 0`).
    Ack,
}

/// Loss detection of a sender with SACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LossDetection {
    /// By time: a packet is lost if one sent sufficiently later has arrived (RFC 8985).
    #[default]
    Rack,
    /// By count: a packet is lost if three packets above it have arrived (RFC 6675; Linux: `tcp_recovery = 0`).
    Rfc6675,
}

impl Default for Host {
    fn default() -> Host {
        Host {
            hz: 250,
            timestamps: Timestamps::Random,
            growth: Growth::Packet,
            sack: true,
            dsack: true,
            recovery: LossDetection::Rack,
            prr: true,
            tlp: true,
            frto: true,
            initial_cwnd: 10,
            initial_ssthresh: None,
            slow_start_after_idle: true,
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
}

/// Numbers of ticks per second that a kernel can have (Linux: `CONFIG_HZ`).
const HZ: std::ops::RangeInclusive<u32> = 100..=1000;
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
        let packets =
            [("initial_cwnd", Some(self.initial_cwnd), 1), ("initial_ssthresh", self.initial_ssthresh, 2)];
        for (name, value, least) in packets {
            if let Some(value) = value.filter(|value| !(least..=MAX_FIRST_WINDOW_PACKETS).contains(value)) {
                let problem = format!("{value} packets; give {least} to {MAX_FIRST_WINDOW_PACKETS}");
                return Err(RunError::new(name, problem));
            }
        }
        Ok(())
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
    }

    #[test]
    fn a_connection_has_sack_if_both_hosts_permit_it() {
        let without = Host { sack: false, ..Host::default() };
        assert!(Ends::default().has_sack());
        assert!(!Ends { sender: without, ..Ends::default() }.has_sack());
        assert!(!Ends { receiver: without, ..Ends::default() }.has_sack());
    }
}
