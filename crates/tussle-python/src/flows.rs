//! The `flows` table of engines whose measurements Python gathers.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use tussle_core::Time;
use tussle_core::record::{self, FlowRow};

use crate::arrow::ArrowTable;

/// Return the `flows` table of a run whose steady interval lasts `steady_ns`, for rows in JSON.
#[pyfunction]
pub(crate) fn flows_table(rows_json: &str, steady_ns: u64) -> PyResult<ArrowTable> {
    let rows: Vec<FlowRow> =
        serde_json::from_str(rows_json).map_err(|error| PyValueError::new_err(error.to_string()))?;
    record::flows_table(&rows, Time::from_ns(steady_ns)).try_into()
}
