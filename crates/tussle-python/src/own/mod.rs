//! Users' own algorithms, in Python: a `CongestionControl` whose hooks call Python methods.
//!
//! Hooks cannot fail, Python can. What goes wrong is kept in the [`Ledger`], the algorithm is Reno from
//! then on, and whoever simulates looks into the ledger often.

mod ledger;
mod views;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Instant;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use tussle_core::Time;
use tussle_core::cc::{CongestionControl, Control, EcnMode, Needs, Recovery};
use tussle_core::tcp::{Ack, Cause, Flow, State};

use self::ledger::{Failure, HOOKS, Hook};
pub(crate) use self::ledger::{HookError, Ledger, costs};
use self::views::{Access, MAX_CWND_PACKETS, Whole, shown, ssthresh};
pub(crate) use self::views::{AckView, ControlView, FlowView};

/// The algorithm of one flow, as Python hands it over (`tussle.own_algorithms.Loaded`).
#[derive(Debug, FromPyObject)]
pub(crate) struct Given {
    name: String,
    /// Bound methods by the name of the hook; Reno stands in for the others.
    hooks: HashMap<String, Py<PyAny>>,
    recovery: String,
    ecn: String,
    pacing: bool,
}

/// The algorithms that a run brings along, by the name of their flow.
pub(crate) type GivenByFlow = BTreeMap<String, Given>;

/// A user's algorithm at work for one flow.
#[derive(Debug)]
pub(crate) struct OwnAlgorithm {
    methods: [Option<Py<PyAny>>; HOOKS.len()],
    needs: Needs,
    ack: Py<AckView>,
    flow: Py<FlowView>,
    control: Py<ControlView>,
    /// `(ack, flow, control)`
    with_ack: Py<PyTuple>,
    /// `(flow, control)`
    without_ack: Py<PyTuple>,
    /// The instant of the last ACK, once the connection is established.
    now: Option<Time>,
    ledger: Arc<Ledger>,
}

/// What a hook is about, beside the flow.
#[derive(Clone, Copy, Debug)]
enum Subject<'a> {
    Nothing,
    Ack(&'a Ack),
    Named(&'static str),
}

impl OwnAlgorithm {
    /// The algorithm of the flow of that name, with a seed for its dice.
    ///
    /// # Errors
    /// It asks the sender for something that does not exist.
    pub(crate) fn new(py: Python<'_>, given: &Given, (flow, seed): (&str, u64)) -> PyResult<OwnAlgorithm> {
        let needs = Needs {
            recovery: one_of(
                (&given.name, "recovery"),
                &given.recovery,
                &[("prr", Recovery::Prr), ("own", Recovery::Own)],
            )?,
            ecn: one_of(
                (&given.name, "ecn"),
                &given.ecn,
                &[
                    ("off", EcnMode::Off),
                    ("classic", EcnMode::Classic),
                    ("per-packet", EcnMode::PerPacket),
                    ("l4s", EcnMode::L4s),
                ],
            )?,
            pacing: given.pacing,
            // Nobody knows what it does with timestamps.
            timestamp_offset: true,
        };
        let ledger = Ledger::new(&given.name, flow);
        let ack = Py::new(py, AckView(Ack::default()))?;
        let flow = Py::new(py, FlowView { flow: Flow::new(1, 1), seed })?;
        let control = Py::new(py, ControlView { control: Control::default(), access: Access::Read })?;
        Ok(OwnAlgorithm {
            methods: HOOKS.map(|hook| given.hooks.get(hook).map(|method| method.clone_ref(py))),
            needs,
            with_ack: (&ack, &flow, &control).into_pyobject(py)?.unbind(),
            without_ack: (&flow, &control).into_pyobject(py)?.unbind(),
            ack,
            flow,
            control,
            now: None,
            ledger: Arc::new(ledger),
        })
    }

    pub(crate) fn ledger(&self) -> Arc<Ledger> {
        Arc::clone(&self.ledger)
    }

    /// What `act` makes of the user's method; `None` if there is none to call, or it failed.
    fn perform<T>(
        &self,
        (hook, at): (Hook, Time),
        act: impl FnOnce(Python<'_>, &Py<PyAny>) -> PyResult<T>,
    ) -> Option<T> {
        let method = self.methods[hook as usize].as_ref()?;
        if self.ledger.has_failure() {
            return None;
        }
        #[expect(clippy::disallowed_methods, reason = "the cost is told to people, and never in results")]
        let clock = Instant::now;
        let before = clock();
        // Whoever simulates is attached already, which makes this cheap.
        let result = Python::attach(|py| act(py, method));
        self.ledger.spend(before.elapsed());
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                self.ledger.fail(Failure { hook, at, error });
                None
            }
        }
    }

    /// Shows the method the flow and the knobs, and calls it.
    fn call<'py>(
        &self,
        (py, method): (Python<'py>, &Py<PyAny>),
        subject: Subject<'_>,
        (flow, control, access): (&Flow, &Control, Access),
    ) -> PyResult<Bound<'py, PyAny>> {
        self.flow.bind(py).borrow_mut().flow.clone_from(flow);
        {
            let mut view = self.control.bind(py).borrow_mut();
            view.control.clone_from(control);
            view.access = access;
        }
        let method = method.bind(py);
        match subject {
            Subject::Nothing => method.call1(self.without_ack.bind(py)),
            Subject::Ack(ack) => {
                self.ack.bind(py).borrow_mut().0 = *ack;
                method.call1(self.with_ack.bind(py))
            }
            Subject::Named(name) => method.call1((name, &self.flow, &self.control)),
        }
    }

    /// Calls a hook that may turn the knobs; `None`: it is Reno's turn.
    fn turn(&self, hook: Hook, subject: Subject<'_>, (flow, control): (&Flow, &mut Control)) -> Option<()> {
        let turned = self.perform((hook, flow.now), |py, method| {
            let returned = self.call((py, method), subject, (flow, control, Access::Turn))?;
            if !returned.is_none() {
                let what = shown(&returned);
                return Err(PyTypeError::new_err(format!(
                    "returned {what}; {} returns nothing, it turns the control",
                    hook.name()
                )));
            }
            Ok(self.control.bind(py).borrow().control.clone())
        })?;
        *control = turned;
        Some(())
    }

    /// Calls a hook that returns a window; `None`: it is Reno's turn.
    fn window(
        &self,
        (hook, wanted): (Hook, Whole),
        subject: Subject<'_>,
        (flow, control): (&Flow, &Control),
    ) -> Option<u32> {
        self.perform((hook, flow.now), |py, method| {
            let returned = self.call((py, method), subject, (flow, control, Access::Read))?;
            wanted.of(&returned)
        })
    }
}

impl CongestionControl for OwnAlgorithm {
    fn name(&self) -> &str {
        self.ledger.algorithm()
    }

    fn needs(&self) -> Needs {
        self.needs
    }

    fn on_start(&mut self, flow: &Flow, control: &mut Control) {
        self.now = Some(flow.now);
        self.turn(Hook::Start, Subject::Nothing, (flow, control));
    }

    fn on_tx_start(&mut self, flow: &Flow, control: &mut Control) {
        self.turn(Hook::Restart, Subject::Nothing, (flow, control));
    }

    fn on_pkts_acked(&mut self, ack: &Ack, flow: &Flow, control: &mut Control) {
        self.now = Some(flow.now);
        self.ledger.count_ack();
        self.turn(Hook::Sample, Subject::Ack(ack), (flow, control));
    }

    fn on_ack(&mut self, ack: &Ack, flow: &Flow, control: &mut Control) {
        self.turn(Hook::Ack, Subject::Ack(ack), (flow, control))
            .unwrap_or_else(|| control.grow_like_reno(ack.delivered, flow));
    }

    fn on_congestion(&mut self, cause: Cause, flow: &Flow, control: &Control) -> u32 {
        let cause = Subject::Named(match cause {
            Cause::Loss => "loss",
            Cause::Timeout => "timeout",
            Cause::Ecn => "ecn",
        });
        self.window((Hook::Congestion, ssthresh("the ssthresh that it returned")), cause, (flow, control))
            .unwrap_or_else(|| (control.cwnd / 2).max(2))
    }

    fn on_state(&mut self, next: State, flow: &Flow, control: &mut Control) {
        self.turn(Hook::State, Subject::Named(next.name()), (flow, control));
    }

    fn on_cwr_complete(&mut self, flow: &Flow, control: &mut Control) {
        self.turn(Hook::Reduced, Subject::Nothing, (flow, control));
    }

    fn on_undo(&mut self, flow: &Flow, control: &Control) -> u32 {
        let wanted = Whole { what: "the window that it returned", least: 1, most: MAX_CWND_PACKETS };
        self.window((Hook::Undo, wanted), Subject::Nothing, (flow, control))
            .unwrap_or_else(|| control.cwnd.max(flow.prior_cwnd))
    }

    fn internals(&self, record: &mut dyn FnMut(&'static str, f64)) {
        // Before it has started it knows nothing.
        let Some(now) = self.now else { return };
        let quantities = self.perform((Hook::Internals, now), |py, method| {
            let returned = method.bind(py).call0()?;
            let Ok(quantities) = returned.cast::<PyDict>() else {
                let what = shown(&returned);
                return Err(PyTypeError::new_err(format!(
                    "returned {what}; return a dict of numbers by their names"
                )));
            };
            quantities.iter().map(|item| quantity(&item)).collect::<PyResult<Vec<_>>>()
        });
        for (name, value) in quantities.unwrap_or_default() {
            record(name, value);
        }
    }
}

/// Name and value of an inner quantity; None, as a value that is not known, is NaN.
fn quantity((name, value): &(Bound<'_, PyAny>, Bound<'_, PyAny>)) -> PyResult<(&'static str, f64)> {
    let Ok(text) = name.extract::<String>() else {
        return Err(PyTypeError::new_err(format!("{} is no name; give text", shown(name))));
    };
    let number = if value.is_none() { Ok(f64::NAN) } else { value.extract::<f64>() };
    let number = number.map_err(|_| {
        PyTypeError::new_err(format!("{text} is {}; give a number, or None while it has none", shown(value)))
    })?;
    Ok((kept(text), number))
}

/// The name as text that lives for ever: each is kept once, however many runs there are.
fn kept(name: String) -> &'static str {
    static NAMES: LazyLock<Mutex<BTreeMap<String, &'static str>>> = LazyLock::new(Mutex::default);
    let mut names = NAMES.lock().expect("nothing in here panics");
    names.entry(name.clone()).or_insert_with(|| name.leak())
}

/// The meaning of a word that an algorithm has for `what`.
fn one_of<T: Copy>((algorithm, what): (&str, &str), given: &str, known: &[(&str, T)]) -> PyResult<T> {
    known.iter().find(|(name, _)| *name == given).map(|(_, value)| *value).ok_or_else(|| {
        let names: Vec<_> = known.iter().map(|(name, _)| format!("\"{name}\"")).collect();
        PyValueError::new_err(format!(
            "{algorithm}: its `{what}` is \"{given}\"; give one of {}",
            names.join(", ")
        ))
    })
}
