//! TCP implementations that hosts follow, and their constants.

use serde::{Deserialize, Serialize};

/// A TCP implementation to follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ProfileName {
    /// Linux 6.1, with 250 timer ticks a second.
    #[serde(rename = "linux-6.1")]
    Linux6_1,
}

/// Constants of a TCP implementation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProfileConstants {
    /// Timer ticks per second (Linux: `CONFIG_HZ`).
    pub hz: u32,
}

impl ProfileName {
    /// Constants of the implementation.
    pub const fn constants(self) -> ProfileConstants {
        match self {
            ProfileName::Linux6_1 => ProfileConstants { hz: 250 },
        }
    }
}
