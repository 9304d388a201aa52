//! Columns of tables, and values in the units of columns.

use tussle_core::table::{Column, Values};

/// Value of an infinite slow-start threshold (`TCP_INFINITE_SSTHRESH`).
const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;

/// A column with a name.
pub(crate) fn column(name: &str, values: Values) -> Column {
    Column { name: name.to_owned(), values }
}

/// Converts nanoseconds to seconds.
#[expect(clippy::cast_precision_loss, reason = "runs are shorter than 2^53 ns, which are 104 days")]
pub(crate) fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// The slow-start threshold, unless it is infinite.
pub(crate) fn finite(ssthresh: u32) -> Option<u32> {
    (ssthresh < INFINITE_SSTHRESH).then_some(ssthresh)
}

/// A measured time in ms. `None` if it was not measured: the kernel then has 0, or all ones in a minimum.
pub(crate) fn measured_ms(us: u32) -> Option<f64> {
    (us > 0 && us < u32::MAX).then(|| f64::from(us) / 1e3)
}
