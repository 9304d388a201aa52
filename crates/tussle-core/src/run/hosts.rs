//! Settings of the hosts' TCP.

use serde::{Deserialize, Serialize};

/// Settings of the hosts' TCP, equal on all hosts of a run. The defaults are Linux's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hosts {
    /// Origin of TCP timestamps (RFC 7323).
    #[serde(default)]
    pub timestamps: Timestamps,
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
