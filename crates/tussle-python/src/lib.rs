//! Python module `tussle._core`: the bridge to the simulator. It takes runs as JSON and returns Arrow tables;
//! users' own algorithms, written in Python, become algorithms of the simulator. It has no other logic.

mod arrow;
mod catalog;
mod execute;
mod flows;
mod gym;
mod own;
mod script;

use pyo3::pymodule;

/// The simulator's core; see `_core.pyi` for the types.
#[pymodule]
mod _core {
    #[pymodule_export]
    use crate::arrow::ArrowTable;
    #[pymodule_export]
    use crate::catalog::catalog;
    #[pymodule_export]
    use crate::execute::{InvariantViolation, capture, check, execute, log_queue, random_parts};
    #[pymodule_export]
    use crate::flows::flows_table;
    #[pymodule_export]
    use crate::gym::Worlds;
    #[pymodule_export]
    use crate::own::{AckView, ControlView, FlowView, HookError, LostView};
    #[pymodule_export]
    use crate::script::{play_script, random_packet_script};

    use pyo3::pyfunction;

    /// The names of the measurements that `Worlds.step` returns.
    #[pyfunction]
    fn world_measurements() -> Vec<&'static str> {
        crate::gym::WORLD_MEASUREMENTS.to_vec()
    }

    /// The version of Tussle.
    #[pyfunction]
    fn version() -> &'static str {
        env!("CARGO_PKG_VERSION")
    }
}
