//! Reno: one packet more per round trip, half the window after a loss. Source: RFC 5681, 3.1 and 3.2; with
//! the recovery of RFC 6675, 6937 and 8985 in the sender. Agrees with: Linux 6.1 `reno`. Departs: nowhere
//! known.

use super::{CongestionControl, Entry};

pub(super) const ENTRY: Entry = Entry {
    name: "reno",
    idea: "One packet more per round trip, half the window after a loss.",
    source: "RFC 5681, 3.1 and 3.2",
    agrees_with: "Linux 6.1",
    parameters: &[],
    build: |_, _| Box::new(Reno),
};

/// Reno, which is the default of every hook.
#[derive(Debug)]
pub(super) struct Reno;

impl CongestionControl for Reno {
    fn name(&self) -> &'static str {
        ENTRY.name
    }
}
