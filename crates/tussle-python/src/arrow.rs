//! A core table as an object that any Arrow library takes over without copying.
//!
//! Source: the Arrow `PyCapsule` interface,
//! <https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html>.

use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::UInt32Type;
use arrow_array::{
    ArrayRef, DictionaryArray, Float64Array, RecordBatch, RecordBatchIterator, StringArray, UInt32Array,
    UInt64Array,
};
use arrow_schema::ArrowError;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use tussle_core::table::{Column, Table, Values};

/// One table: `polars.DataFrame(table)` takes it over.
#[pyclass(frozen, module = "tussle._core")]
pub(crate) struct ArrowTable(RecordBatch);

#[pymethods]
impl ArrowTable {
    /// Export the table; the types are those it has, whatever is requested.
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
        record_batch(table)
            .map(ArrowTable)
            .map_err(|error| PyRuntimeError::new_err(format!("table {name} of the simulator: {error}")))
    }
}

fn record_batch(table: Table) -> Result<RecordBatch, ArrowError> {
    let columns: Result<Vec<(String, ArrayRef)>, ArrowError> =
        table.columns.into_iter().map(|Column { name, values }| Ok((name, array(values)?))).collect();
    RecordBatch::try_from_iter(columns?)
}

fn array(values: Values) -> Result<ArrayRef, ArrowError> {
    Ok(match values {
        Values::U32(values) => Arc::new(UInt32Array::from(values)),
        Values::MaybeU32(values) => Arc::new(UInt32Array::from(values)),
        Values::U64(values) => Arc::new(UInt64Array::from(values)),
        Values::F64(values) => Arc::new(Float64Array::from(values)),
        Values::MaybeF64(values) => Arc::new(Float64Array::from(values)),
        Values::Text(values) => Arc::new(StringArray::from(values)),
        Values::Label { codes, names } => labels(UInt32Array::from(codes), names)?,
        Values::MaybeLabel { codes, names } => labels(UInt32Array::from(codes), names)?,
    })
}

fn labels(codes: UInt32Array, names: Vec<String>) -> Result<ArrayRef, ArrowError> {
    Ok(Arc::new(DictionaryArray::<UInt32Type>::try_new(codes, Arc::new(StringArray::from(names)))?))
}
