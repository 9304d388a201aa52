//! The tables of a run, one module per table.

mod events;
mod flows;
mod histogram;
mod links;
mod measures;
mod samples;

pub(crate) use events::{Events, recorded_changes};
pub use flows::{FlowCounts, FlowRow, RttSummary, SteadyCounts, flows_table};
pub use histogram::Histogram;
pub(crate) use links::Links;
pub(crate) use measures::{FlowCounters, FlowMeasures, FlowTotals};
pub(crate) use samples::{Sample, Samples, Window};

use crate::Time;
use crate::table::{Column, Labels, Values};

/// Creates a column.
fn column(name: &str, values: Values) -> Column {
    Column { name: name.to_owned(), values }
}

/// Converts times to a column in seconds.
fn seconds(times: &[Time]) -> Values {
    Values::F64(times.iter().map(|time| time.as_secs_f64()).collect())
}

/// Converts microseconds to milliseconds.
fn ms(us: u32) -> f64 {
    f64::from(us) / 1e3
}
