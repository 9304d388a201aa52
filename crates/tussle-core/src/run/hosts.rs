//! Settings of the hosts' TCP.

use serde::{Deserialize, Serialize};

/// Settings of the hosts' TCP, the same on all hosts of a run. Defaults are those of Linux.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hosts {
    /// What the timestamps of packets (RFC 7323) count from.
    #[serde(default)]
    pub timestamps: Timestamps,
}

/// What the timestamps of packets count from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Timestamps {
    /// A random offset of each end of each connection (Linux: `net.ipv4.tcp_timestamps = 1`, its default).
    #[default]
    Random,
    /// The same instant on all hosts (Linux: `net.ipv4.tcp_timestamps = 2`, on hosts that booted together).
    Synchronised,
}
