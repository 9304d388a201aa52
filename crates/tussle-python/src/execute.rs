//! Functions that check and simulate runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use tussle_core::cc::CongestionControl;
use tussle_core::run::FlowSpec;
use tussle_core::{Capture, Outcome, Progress, QueueLog, Run, Simulation, Violation};

use crate::arrow::ArrowTable;
use crate::own::{Ledger, LoadedByFlow, OwnAlgorithm, costs};

pyo3::create_exception!(
    tussle._core,
    InvariantViolation,
    PyRuntimeError,
    "An invariant of the simulator is broken: packets appeared from nowhere, or time ran backwards."
);

/// Events between two checks for Ctrl-C: some tens of milliseconds.
const SLICE_EVENTS: u64 = 500_000;
/// Events between two checks for Ctrl-C and for failed hooks, if an algorithm is written in Python.
const SLICE_EVENTS_IN_PYTHON: u64 = 1_000;

/// Raise `ValueError` with an explanation if the simulator cannot execute the run.
#[pyfunction]
#[pyo3(signature = (run_json, own=LoadedByFlow::new()))]
#[expect(clippy::needless_pass_by_value, reason = "PyO3 hands over what it extracted")]
pub(crate) fn check(py: Python<'_>, run_json: &str, own: LoadedByFlow) -> PyResult<()> {
    Prepared::new(py, run_json, Observers::default(), &own).map(drop)
}

/// Return the names of the elements and flows of a run that use random numbers.
#[pyfunction]
pub(crate) fn random_parts(run_json: &str) -> PyResult<Vec<String>> {
    let run: Run =
        serde_json::from_str(run_json).map_err(|error| PyValueError::new_err(error.to_string()))?;
    let names = run.random_parts().map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(names.into_iter().map(str::to_owned).collect())
}

/// Simulate a run; return the tables flows, samples, links and events, and the table costs if `own` has
/// algorithms.
#[pyfunction]
#[pyo3(signature = (run_json, own=LoadedByFlow::new()))]
#[expect(clippy::needless_pass_by_value, reason = "PyO3 hands over what it extracted")]
pub(crate) fn execute(
    py: Python<'_>,
    run_json: &str,
    own: LoadedByFlow,
) -> PyResult<BTreeMap<&'static str, ArrowTable>> {
    simulate(py, Prepared::new(py, run_json, Observers::default(), &own)?, &|| Ok(()))
}

/// Simulate a run; return its tables and the table `packets`, a packet capture at the hosts.
///
/// Raises `ValueError` if the capture has more than `most` packets.
#[pyfunction]
#[pyo3(signature = (run_json, most, own=LoadedByFlow::new()))]
#[expect(clippy::needless_pass_by_value, reason = "PyO3 hands over what it extracted")]
pub(crate) fn capture(
    py: Python<'_>,
    run_json: &str,
    most: usize,
    own: LoadedByFlow,
) -> PyResult<BTreeMap<&'static str, ArrowTable>> {
    let capture = Capture::default();
    let within = || match capture.packets() {
        seen if seen > most => {
            Err(PyValueError::new_err(format!("the capture at its hosts has more than {most} packets")))
        }
        _ => Ok(()),
    };
    let observers = Observers { capture: Some(&capture), ..Observers::default() };
    let mut tables = simulate(py, Prepared::new(py, run_json, observers, &own)?, &within)?;
    within()?;
    let packets = capture.table();
    tables.insert(packets.name, packets.try_into()?);
    Ok(tables)
}

/// Simulate a run; return its tables and the table `queue`, a log of the packets of one link.
///
/// Raises `ValueError` if the log has more than `most` rows.
#[pyfunction]
#[pyo3(signature = (run_json, link, most, own=LoadedByFlow::new()))]
#[expect(clippy::needless_pass_by_value, reason = "PyO3 hands over what it extracted")]
pub(crate) fn log_queue(
    py: Python<'_>,
    run_json: &str,
    link: &str,
    most: usize,
    own: LoadedByFlow,
) -> PyResult<BTreeMap<&'static str, ArrowTable>> {
    let log = QueueLog::new(link);
    let within = || match log.rows() {
        rows if rows > most => {
            Err(PyValueError::new_err(format!("the log of {link} has more than {most} rows")))
        }
        _ => Ok(()),
    };
    let observers = Observers { queue_log: Some(&log), ..Observers::default() };
    let mut tables = simulate(py, Prepared::new(py, run_json, observers, &own)?, &within)?;
    within()?;
    let queue = log.table();
    tables.insert(queue.name, queue.try_into()?);
    Ok(tables)
}

/// Simulates to the end and calls `check` between slices.
fn simulate(
    py: Python<'_>,
    prepared: Prepared,
    check: &dyn Fn() -> PyResult<()>,
) -> PyResult<BTreeMap<&'static str, ArrowTable>> {
    let Prepared { mut simulation, ledgers } = prepared;
    let outcome = if ledgers.is_empty() {
        while py.detach(|| simulation.advance(SLICE_EVENTS)).map_err(violation)? == Progress::Going {
            py.check_signals()?;
            check()?;
        }
        py.detach(|| simulation.finish())
    } else {
        // Attached all the time, because attaching for each call would cost as much as the call.
        loop {
            let progress = simulation.advance(SLICE_EVENTS_IN_PYTHON);
            ledgers.iter().find_map(|ledger| ledger.error(py)).map_or(Ok(()), Err)?;
            if progress.map_err(violation)? == Progress::Done {
                break simulation.finish();
            }
            py.check_signals()?;
            check()?;
        }
    };
    let Outcome { flows, samples, links, events } = outcome;
    let costs = (!ledgers.is_empty()).then(|| costs(&ledgers));
    let tables = [flows, samples, links, events].into_iter().chain(costs);
    tables.map(|table| Ok((table.name, table.try_into()?))).collect()
}

/// What observes the packets of a simulation.
#[derive(Clone, Copy, Default)]
struct Observers<'a> {
    capture: Option<&'a Capture>,
    queue_log: Option<&'a QueueLog>,
}

/// A simulation and the ledgers of its algorithms that are written in Python.
struct Prepared {
    simulation: Simulation,
    ledgers: Vec<Arc<Ledger>>,
}

impl Prepared {
    fn new(
        py: Python<'_>,
        run_json: &str,
        observers: Observers<'_>,
        own: &LoadedByFlow,
    ) -> PyResult<Prepared> {
        let run: Run =
            serde_json::from_str(run_json).map_err(|error| PyValueError::new_err(error.to_string()))?;
        let mut ledgers = Vec::new();
        let mut refused = None;
        let mut make = |flow: &FlowSpec, seed| {
            let made = OwnAlgorithm::new(py, own.get(&flow.name)?, &flow.name, seed);
            let algorithm = made.map_err(|error| refused = Some(error)).ok()?;
            ledgers.push(algorithm.ledger());
            Some(Box::new(algorithm) as Box<dyn CongestionControl>)
        };
        let mut builder = Simulation::builder(&run).algorithms(&mut make);
        if let Some(capture) = observers.capture {
            builder = builder.capture(capture);
        }
        if let Some(log) = observers.queue_log {
            builder = builder.queue_log(log);
        }
        let simulation = builder.build();
        if let Some(error) = refused {
            return Err(error);
        }
        let simulation = simulation.map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(Prepared { simulation, ledgers })
    }
}

#[expect(clippy::needless_pass_by_value, reason = "map_err hands over the error")]
pub(crate) fn violation(violation: Violation) -> PyErr {
    InvariantViolation::new_err(violation.to_string())
}
