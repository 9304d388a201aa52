//! Table of the simulator as an object that any Arrow library imports without copying.
//!
//! Source: the Arrow `PyCapsule` interface,
//! <https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html>.

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchIterator};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use tussle_core::table::Table;

/// One table; `polars.DataFrame(table)` imports it without copying.
#[pyclass(frozen, module = "tussle._core")]
pub(crate) struct ArrowTable(RecordBatch);

#[pymethods]
impl ArrowTable {
    /// Export the table with its own column types; `requested_schema` is ignored.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let batches = RecordBatchIterator::new([Ok(self.0.clone())], self.0.schema());
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(batches)), c"arrow_array_stream")
    }
}

impl TryFrom<Table> for ArrowTable {
    type Error = PyErr;

    fn try_from(table: Table) -> PyResult<Self> {
        let name = table.name;
        table
            .into_record_batch()
            .map(ArrowTable)
            .map_err(|error| PyRuntimeError::new_err(format!("table {name} of the simulator: {error}")))
    }
}
