//! Changes of a link during the run.

use serde::{Deserialize, Serialize};

use super::{checked_delay, checked_rate};
use crate::Time;

/// A change of a link's rate, delay, or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// Time of the change; it applies to packets whose transmission begins at that time or later.
    pub at_ns: u64,
    /// The new rate of the transmitter; `None`: unchanged.
    #[serde(default)]
    pub rate_bit_per_s: Option<u64>,
    /// The new one-way propagation delay; `None`: unchanged. A shorter delay does not let packets overtake.
    #[serde(default)]
    pub delay_ns: Option<u64>,
}

impl Change {
    pub(crate) fn at(&self) -> Time {
        Time::from_ns(self.at_ns)
    }

    fn check(&self) -> Result<(), String> {
        self.rate_bit_per_s.map(checked_rate).transpose()?;
        self.delay_ns.map(checked_delay).transpose()?;
        match (self.rate_bit_per_s, self.delay_ns) {
            (None, None) => Err("at_ns: nothing changes; give rate_bit_per_s, delay_ns or both".to_owned()),
            _ => Ok(()),
        }
    }
}

/// Checks the changes and returns them latest first, so that the next one can be popped.
pub(super) fn checked_changes(changes: &[Change]) -> Result<Vec<Change>, String> {
    for (index, change) in changes.iter().enumerate() {
        change.check().map_err(|problem| format!("changes.{index}.{problem}"))?;
        if index > 0 && change.at_ns <= changes[index - 1].at_ns {
            let before = changes[index - 1].at();
            return Err(format!("changes.{index}.at_ns: {}; give more than {before}", change.at()));
        }
    }
    Ok(changes.iter().rev().copied().collect())
}
