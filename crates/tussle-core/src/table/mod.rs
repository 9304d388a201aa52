//! Tables of typed columns: the records of a run.

#[cfg(feature = "arrow")]
mod arrow;

/// Columns of equal length, with units in their names.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Name in the dataset: `flows`, `samples`, `links` or `events`.
    pub name: &'static str,
    /// Columns, in the order of the dataset.
    pub columns: Vec<Column>,
}

/// One column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Name of the column, with its unit where there is one.
    pub name: String,
    /// Values of the column, one per row.
    pub values: Values,
}

/// The values of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Small counts, and indices.
    U32(Vec<u32>),
    /// Large counts, such as bytes.
    U64(Vec<u64>),
    /// Indices; a row may have none.
    MaybeU32(Vec<Option<u32>>),
    /// Large counts; a row may have none.
    MaybeU64(Vec<Option<u64>>),
    /// Quantities.
    F64(Vec<f64>),
    /// Quantities; a row may have none.
    MaybeF64(Vec<Option<f64>>),
    /// Names.
    Text(Vec<String>),
    /// Names from a small set: the value of row `i` is `names[codes[i]]`.
    Label {
        /// Index of the name, one per row.
        codes: Vec<u32>,
        /// The names.
        names: Vec<String>,
    },
    /// Names from a small set; a row may have none.
    MaybeLabel {
        /// Index of the name, one per row.
        codes: Vec<Option<u32>>,
        /// The names.
        names: Vec<String>,
    },
}

/// Builder of a label column: each distinct name is stored once.
#[derive(Clone, Debug, Default)]
pub struct Labels {
    codes: Vec<u32>,
    names: Vec<String>,
}

impl Labels {
    /// Adds a row.
    pub fn push(&mut self, name: &str) {
        let code = self.names.iter().position(|known| known == name).unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        });
        self.codes.push(u32::try_from(code).expect("there are few labels"));
    }

    /// Converts the rows to a column.
    pub fn values(self) -> Values {
        Values::Label { codes: self.codes, names: self.names }
    }
}
