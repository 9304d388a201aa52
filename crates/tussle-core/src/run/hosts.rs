//! Settings of the hosts' TCP.

use serde::{Deserialize, Serialize};

/// Settings of the hosts' TCP, equal on all hosts of a run. Defaults are those of Linux.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hosts {
    /// Origin of the timestamps of packets (RFC 7323).
    #[serde(default)]
    pub timestamps: Timestamps,
}

/// Origin of the timestamps of packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Timestamps {
    /// A random offset of each end of each connection (Linux: `net.ipv4.tcp_timestamps = 1`, its default).
    #[default]
    Random,
    /// One instant on all hosts (Linux: `net.ipv4.tcp_timestamps = 2`, on hosts that booted together).
    Synchronised,
}
