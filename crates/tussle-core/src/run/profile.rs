//! TCP implementations that hosts follow.

use serde::{Deserialize, Serialize};

/// A TCP implementation to follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ProfileName {
    /// Linux 6.1.
    #[serde(rename = "linux-6.1")]
    Linux6_1,
}
