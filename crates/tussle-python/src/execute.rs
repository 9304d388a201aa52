//! Checking and simulating runs.

use std::collections::BTreeMap;

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use tussle_core::{Outcome, Progress, Run, Simulation, Violation};

use crate::arrow::ArrowTable;

pyo3::create_exception!(
    tussle._core,
    InvariantViolation,
    PyRuntimeError,
    "The simulator contradicted itself: packets appeared from nowhere, or time ran backwards."
);

/// Events between two looks for Ctrl-C: some tens of milliseconds.
const SLICE_EVENTS: u64 = 500_000;

/// Raise `ValueError`, with a sentence, when the simulator could not execute the run.
#[pyfunction]
pub(crate) fn check(run_json: &str) -> PyResult<()> {
    simulation(run_json).map(drop)
}

/// Simulate a run; return its tables flows, samples, links and events.
#[pyfunction]
pub(crate) fn execute(py: Python<'_>, run_json: &str) -> PyResult<BTreeMap<&'static str, ArrowTable>> {
    let mut simulation = simulation(run_json)?;
    while py.detach(|| simulation.advance(SLICE_EVENTS)).map_err(violation)? == Progress::Going {
        py.check_signals()?;
    }
    let Outcome { flows, samples, links, events } = py.detach(|| simulation.finish());
    [flows, samples, links, events].into_iter().map(|table| Ok((table.name, table.try_into()?))).collect()
}

fn simulation(run_json: &str) -> PyResult<Simulation> {
    let run: Run =
        serde_json::from_str(run_json).map_err(|error| PyValueError::new_err(error.to_string()))?;
    Simulation::new(&run).map_err(|error| PyValueError::new_err(error.to_string()))
}

#[expect(clippy::needless_pass_by_value, reason = "map_err hands over the error")]
fn violation(violation: Violation) -> PyErr {
    InvariantViolation::new_err(violation.to_string())
}
