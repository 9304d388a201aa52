//! Columns of the tables of an outcome.

use tussle_core::table::{Table, Values};

/// The values of a column.
pub(crate) fn values<'a>(table: &'a Table, name: &str) -> &'a Values {
    let column = table.columns.iter().find(|column| column.name == name);
    &column.unwrap_or_else(|| panic!("{} has no column {name}", table.name)).values
}

/// The values of a column of counts.
pub(crate) fn counts(table: &Table, name: &str) -> Vec<u64> {
    match values(table, name) {
        Values::U32(values) => values.iter().map(|&value| u64::from(value)).collect(),
        Values::U64(values) => values.clone(),
        Values::MaybeU64(values) => values.iter().map(|value| value.expect("the simulator counts")).collect(),
        other => panic!("{}.{name} holds no counts: {other:?}", table.name),
    }
}

/// The values of a column of counts or of quantities, as numbers.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
pub(crate) fn numbers(table: &Table, name: &str) -> Vec<f64> {
    match values(table, name) {
        Values::F64(values) => values.clone(),
        _ => counts(table, name).iter().map(|&count| count as f64).collect(),
    }
}

/// The values of a column of quantities.
pub(crate) fn quantities(table: &Table, name: &str) -> Vec<f64> {
    match values(table, name) {
        Values::F64(values) => values.clone(),
        other => panic!("{}.{name} holds no quantities: {other:?}", table.name),
    }
}

/// The values of a column of quantities; a row may have none.
pub(crate) fn maybe_quantities(table: &Table, name: &str) -> Vec<Option<f64>> {
    match values(table, name) {
        Values::MaybeF64(values) => values.clone(),
        other => panic!("{}.{name} holds no optional quantities: {other:?}", table.name),
    }
}

/// The values of a column of labels, as text.
pub(crate) fn labels(table: &Table, name: &str) -> Vec<String> {
    match values(table, name) {
        Values::Label { codes, names } => codes.iter().map(|&code| names[code as usize].clone()).collect(),
        other => panic!("{}.{name} holds no labels: {other:?}", table.name),
    }
}

/// The last value of a column of `links` for one link.
pub(crate) fn last_of_link(links: &Table, link: &str, name: &str) -> f64 {
    let row = labels(links, "link").iter().rposition(|each| each == link);
    numbers(links, name)[row.expect("the link has rows")]
}

/// Jain's index: (Σx)² / (n Σx²), 1 when all are equal, 1/n when one has everything.
/// Source: Jain, Chiu and Hawe, DEC-TR-301, 1984.
#[expect(clippy::cast_precision_loss, reason = "bytes of a test are far below 2^53")]
pub(crate) fn jain(shares: &[u64]) -> f64 {
    let sum: f64 = shares.iter().map(|&share| share as f64).sum();
    let squares: f64 = shares.iter().map(|&share| (share as f64).powi(2)).sum();
    sum * sum / (shares.len() as f64 * squares)
}
