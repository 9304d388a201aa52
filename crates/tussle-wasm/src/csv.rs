//! Tables as CSV, equal to what `tussle export` writes.

use tussle_core::Table;
use tussle_core::table::Values;

/// A column whose values were written as text.
pub(crate) struct Written {
    name: String,
    cells: Vec<String>,
}

impl Written {
    /// A column of a name with these cells.
    pub(crate) fn new(name: &str, cells: Vec<String>) -> Written {
        Written { name: name.to_owned(), cells }
    }

    /// The number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.cells.len()
    }
}

/// The columns of a table.
pub(crate) fn columns(table: &Table) -> Vec<Written> {
    let written = |values: &Values| -> Vec<String> {
        match values {
            Values::U32(all) => all.iter().map(ToString::to_string).collect(),
            Values::U64(all) => all.iter().map(ToString::to_string).collect(),
            Values::MaybeU32(all) => all.iter().map(|each| maybe(*each, |it| it.to_string())).collect(),
            Values::MaybeU64(all) => all.iter().map(|each| maybe(*each, |it| it.to_string())).collect(),
            Values::F64(all) => all.iter().map(|each| number(*each)).collect(),
            Values::MaybeF64(all) => all.iter().map(|each| maybe(*each, number)).collect(),
            Values::Text(all) => all.clone(),
            Values::Label { codes, names } => {
                codes.iter().map(|code| names[*code as usize].clone()).collect()
            }
            Values::MaybeLabel { codes, names } => {
                codes.iter().map(|code| maybe(*code, |code| names[code as usize].clone())).collect()
            }
        }
    };
    table.columns.iter().map(|column| Written::new(&column.name, written(&column.values))).collect()
}

/// The file with these columns. No name in a run of the studio needs quotes.
pub(crate) fn file(columns: &[Written]) -> String {
    let rows = columns.first().map_or(0, |column| column.cells.len());
    let mut text = columns.iter().map(|column| column.name.as_str()).collect::<Vec<_>>().join(",");
    text.push('\n');
    for row in 0..rows {
        text += &columns.iter().map(|column| column.cells[row].as_str()).collect::<Vec<_>>().join(",");
        text.push('\n');
    }
    text
}

fn maybe<T>(value: Option<T>, written: impl Fn(T) -> String) -> String {
    value.map_or_else(String::new, written)
}

/// The shortest digits that give the number again.
fn number(value: f64) -> String {
    serde_json::to_string(&value).expect("a number is JSON")
}
