//! The simulator as the Python module `tussle._core`: runs in as JSON, Arrow tables out, no logic.

mod arrow;
mod catalog;

use pyo3::pymodule;

/// The simulator's core; see `_core.pyi` for the types.
#[pymodule]
mod _core {
    #[pymodule_export]
    use crate::arrow::ArrowTable;
    #[pymodule_export]
    use crate::catalog::catalog;

    use pyo3::pyfunction;

    /// The version of Tussle.
    #[pyfunction]
    fn version() -> &'static str {
        env!("CARGO_PKG_VERSION")
    }
}
