//! Tables of typed columns: what a run writes down.

/// Columns of one length, units in their names.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// The name in the dataset: `flows`, `samples`, `links` or `events`.
    pub name: &'static str,
    /// The columns, in the order of the dataset.
    pub columns: Vec<Column>,
}

/// One column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name, with the unit where there is one.
    pub name: String,
    /// Its values, one a row.
    pub values: Values,
}

/// The values of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Counts and indices.
    U32(Vec<u32>),
    /// Large counts, bytes.
    U64(Vec<u64>),
    /// Indices that a row may lack.
    MaybeU32(Vec<Option<u32>>),
    /// Quantities.
    F64(Vec<f64>),
    /// Quantities that a row may lack.
    MaybeF64(Vec<Option<f64>>),
    /// Names.
    Text(Vec<String>),
    /// Names out of few: row i reads `names[codes[i]]`.
    Label {
        /// Which name, one a row.
        codes: Vec<u32>,
        /// The names.
        names: Vec<String>,
    },
    /// Like `Label`, where a row may lack one.
    MaybeLabel {
        /// Which name, one a row.
        codes: Vec<Option<u32>>,
        /// The names.
        names: Vec<String>,
    },
}
