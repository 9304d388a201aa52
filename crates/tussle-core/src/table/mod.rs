//! Tables of typed columns: the records of a run.

#[cfg(feature = "arrow")]
mod arrow;

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
    /// Name of the column, with its unit where there is one.
    pub name: String,
    /// Values of the column, one a row.
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
    /// Large counts that a row may lack.
    MaybeU64(Vec<Option<u64>>),
    /// Quantities.
    F64(Vec<f64>),
    /// Quantities that a row may lack.
    MaybeF64(Vec<Option<f64>>),
    /// Names.
    Text(Vec<String>),
    /// Names out of few: row i reads `names[codes[i]]`.
    Label {
        /// Index of the name, one a row.
        codes: Vec<u32>,
        /// The names.
        names: Vec<String>,
    },
    /// Names out of few, that a row may lack.
    MaybeLabel {
        /// Index of the name, one a row.
        codes: Vec<Option<u32>>,
        /// The names.
        names: Vec<String>,
    },
}

/// Labels that repeat: each is stored once.
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

    /// The rows as a column.
    pub fn values(self) -> Values {
        Values::Label { codes: self.codes, names: self.names }
    }
}
