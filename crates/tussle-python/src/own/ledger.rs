//! Cost and first failure of an algorithm written in Python.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use pyo3::exceptions::{PyKeyboardInterrupt, PySystemExit};
use pyo3::prelude::*;
use tussle_core::Time;
use tussle_core::table::{Column, Table, Values};

pyo3::create_exception!(
    tussle._core,
    HookError,
    pyo3::exceptions::PyRuntimeError,
    "A hook of a user's own algorithm failed; its cause is the exception that the hook raised, if it did."
);

/// A hook, as index of its method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hook {
    Start,
    TxStart,
    CwndRestart,
    PktsAcked,
    Ack,
    Congestion,
    Lost,
    CwrComplete,
    State,
    Undo,
    Internals,
}

/// The names of the methods, in the order of [`Hook`].
pub(super) const HOOKS: [&str; 11] = [
    "on_start",
    "on_tx_start",
    "on_cwnd_restart",
    "on_pkts_acked",
    "on_ack",
    "on_congestion",
    "on_lost",
    "on_cwr_complete",
    "on_state",
    "on_undo",
    "internals",
];

impl Hook {
    pub(super) fn name(self) -> &'static str {
        HOOKS[self as usize]
    }

    /// Whether the hook returns a window and must not change the control.
    pub(super) fn returns_window(self) -> bool {
        matches!(self, Hook::Congestion | Hook::Undo)
    }
}

/// Cost and first failure of the algorithm of one flow.
#[derive(Debug)]
pub(crate) struct Ledger {
    algorithm: String,
    flow: String,
    acks: AtomicU64,
    in_hooks_ns: AtomicU64,
    failure: OnceLock<Failure>,
}

/// An exception, with the hook that raised it and the simulated time.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) hook: Hook,
    pub(super) at: Time,
    pub(super) error: PyErr,
}

impl Ledger {
    pub(super) fn new(algorithm: &str, flow: &str) -> Ledger {
        Ledger {
            algorithm: algorithm.to_owned(),
            flow: flow.to_owned(),
            acks: AtomicU64::new(0),
            in_hooks_ns: AtomicU64::new(0),
            failure: OnceLock::new(),
        }
    }

    pub(super) fn algorithm(&self) -> &str {
        &self.algorithm
    }

    pub(super) fn count_ack(&self) {
        self.acks.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn spend(&self, in_hook: Duration) {
        let ns = u64::try_from(in_hook.as_nanos()).unwrap_or(u64::MAX);
        self.in_hooks_ns.fetch_add(ns, Ordering::Relaxed);
    }

    pub(super) fn has_failure(&self) -> bool {
        self.failure.get().is_some()
    }

    /// Records the first failure. No method is called after it, so there is no second one.
    pub(super) fn fail(&self, failure: Failure) {
        drop(self.failure.set(failure));
    }

    /// The exception to raise, if there was a failure.
    pub(crate) fn error(&self, py: Python<'_>) -> Option<PyErr> {
        let Failure { hook, at, error } = self.failure.get()?;
        let error = error.clone_ref(py);
        if error.is_instance_of::<PyKeyboardInterrupt>(py) {
            return Some(error);
        }
        let place = format!("{} of {} at {at}", hook.name(), self.flow);
        let raised_by_user = error.traceback(py).is_some();
        let message = error.value(py).str().map(|text| text.to_string()).unwrap_or_default();
        let what = if error.is_instance_of::<PySystemExit>(py) {
            "called exit(); it must not end the process".to_owned()
        } else if raised_by_user {
            let kind = error.get_type(py).name().map(|name| name.to_string()).unwrap_or_default();
            if message.is_empty() { kind } else { format!("{kind}: {message}") }
        } else {
            message
        };
        let raised = HookError::new_err(format!("{}, {place}: {what}", self.algorithm));
        if raised_by_user {
            let note = format!("in {place} of simulated time");
            // If the note cannot be added, the exception is raised without it.
            drop(error.value(py).call_method1("add_note", (note,)));
            raised.set_cause(py, Some(error));
        }
        Some(raised)
    }
}

/// Table of the wall-clock time that the hooks of each flow took.
#[expect(clippy::cast_precision_loss, reason = "nanoseconds of a run are below 2^53")]
pub(crate) fn costs(ledgers: &[Arc<Ledger>]) -> Table {
    let column = |name: &str, values| Column { name: name.to_owned(), values };
    let algorithms = ledgers.iter().map(|ledger| ledger.algorithm.clone()).collect();
    let acks = ledgers.iter().map(|ledger| ledger.acks.load(Ordering::Relaxed)).collect();
    let in_hooks_s =
        ledgers.iter().map(|ledger| ledger.in_hooks_ns.load(Ordering::Relaxed) as f64 / 1e9).collect();
    Table {
        name: "costs",
        columns: vec![
            column("algorithm", Values::Text(algorithms)),
            column("acks", Values::U64(acks)),
            column("in_hooks_s", Values::F64(in_hooks_s)),
        ],
    }
}
