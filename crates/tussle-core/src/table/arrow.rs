//! Tables as Arrow record batches.

use std::sync::Arc;

use arrow_array::types::UInt32Type;
use arrow_array::{
    ArrayRef, DictionaryArray, Float64Array, RecordBatch, StringArray, UInt32Array, UInt64Array,
};
use arrow_schema::ArrowError;

use super::{Column, Table, Values};

impl Table {
    /// Converts the table to a record batch. Columns are moved without copying where Arrow has the same type.
    ///
    /// # Errors
    /// Columns of different lengths, or labels without a name.
    pub fn into_record_batch(self) -> Result<RecordBatch, ArrowError> {
        let columns: Result<Vec<(String, ArrayRef)>, ArrowError> =
            self.columns.into_iter().map(|Column { name, values }| Ok((name, array(values)?))).collect();
        RecordBatch::try_from_iter(columns?)
    }
}

fn array(values: Values) -> Result<ArrayRef, ArrowError> {
    Ok(match values {
        Values::U32(values) => Arc::new(UInt32Array::from(values)),
        Values::MaybeU32(values) => Arc::new(UInt32Array::from(values)),
        Values::U64(values) => Arc::new(UInt64Array::from(values)),
        Values::MaybeU64(values) => Arc::new(UInt64Array::from(values)),
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
