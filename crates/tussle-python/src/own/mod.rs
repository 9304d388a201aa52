//! Users' own algorithms, written in Python: a `CongestionControl` whose hooks call Python methods.
//!
//! Hooks cannot fail, but Python methods can. The [`Ledger`] keeps the first failure, the algorithm behaves
//! like Reno from then on, and the code that simulates checks the ledger often.

mod ledger;
mod views;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Instant;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tussle_core::Time;
use tussle_core::cc::{CongestionControl, Control, EcnMode, Needs, Recovery};
use tussle_core::tcp::{Ack, Cause, Flow, Lost, State};

use self::ledger::{Failure, HOOKS, Hook};
pub(crate) use self::ledger::{HookError, Ledger, costs};
pub(crate) use self::views::{AckView, ControlView, FlowView, LostView};
use self::views::{MAX_CWND_PACKETS, PacketCount, shown, ssthresh};

/// The algorithm of one flow, as Python passes it (`tussle.own_algorithms.Loaded`).
#[derive(Debug, FromPyObject)]
pub(crate) struct Loaded {
    name: String,
    /// Bound methods by the name of the hook; missing hooks are Reno's.
    hooks: HashMap<String, Py<PyAny>>,
    recovery: String,
    ecn: String,
    pacing: bool,
}

/// Users' own algorithms in a run, by the name of their flow.
pub(crate) type LoadedByFlow = BTreeMap<String, Loaded>;

/// A user's own algorithm for one flow.
#[derive(Debug)]
pub(crate) struct OwnAlgorithm {
    methods: [Option<Py<PyAny>>; HOOKS.len()],
    needs: Needs,
    ack: Py<AckView>,
    lost: Py<LostView>,
    flow: Py<FlowView>,
    control: Py<ControlView>,
    /// Time of the last ACK; `None` before the connection is established.
    now: Option<Time>,
    ledger: Arc<Ledger>,
}

/// First argument of a hook, before the flow and the control.
#[derive(Clone, Copy, Debug)]
enum Argument<'a> {
    None,
    Ack(&'a Ack),
    Lost(&'a Lost),
    Name(&'static str),
}

/// One call of a hook.
#[derive(Clone, Copy, Debug)]
struct Call<'a> {
    hook: Hook,
    argument: Argument<'a>,
    flow: &'a Flow,
}

impl OwnAlgorithm {
    /// Makes the algorithm of the flow called `flow`, with the seed of its random numbers.
    ///
    /// # Errors
    /// The algorithm needs a feature that does not exist.
    pub(crate) fn new(py: Python<'_>, loaded: &Loaded, flow: &str, seed: u64) -> PyResult<OwnAlgorithm> {
        let needs = Needs {
            recovery: Setting { algorithm: &loaded.name, name: "recovery", value: &loaded.recovery }
                .one_of(&[("prr", Recovery::Prr), ("own", Recovery::Own)])?,
            ecn: Setting { algorithm: &loaded.name, name: "ecn", value: &loaded.ecn }.one_of(&[
                ("off", EcnMode::Off),
                ("classic", EcnMode::Classic),
                ("per-packet", EcnMode::PerPacket),
                ("l4s", EcnMode::L4s),
            ])?,
            pacing: loaded.pacing,
            // The use of timestamps in Python is unknown.
            timestamp_offset: true,
            timestamps: false,
            larger_send_buffer: false,
            single_packets: false,
        };
        Ok(OwnAlgorithm {
            methods: HOOKS.map(|hook| loaded.hooks.get(hook).map(|method| method.clone_ref(py))),
            needs,
            ack: Py::new(py, AckView(Ack::default()))?,
            lost: Py::new(py, LostView(Lost::default()))?,
            flow: Py::new(py, FlowView { flow: Flow::new(1, 1), seed })?,
            control: Py::new(py, ControlView { control: Control::default(), read_only: true })?,
            now: None,
            ledger: Arc::new(Ledger::new(&loaded.name, flow)),
        })
    }

    pub(crate) fn ledger(&self) -> Arc<Ledger> {
        Arc::clone(&self.ledger)
    }

    /// Passes the user's method for `hook` to `act` and returns the result; `None` if the method is not
    /// defined or failed.
    fn perform<T>(
        &self,
        hook: Hook,
        at: Time,
        act: impl FnOnce(Python<'_>, &Py<PyAny>) -> PyResult<T>,
    ) -> Option<T> {
        let method = self.methods[hook as usize].as_ref()?;
        if self.ledger.has_failure() {
            return None;
        }
        #[expect(
            clippy::disallowed_methods,
            reason = "the cost is shown to people, and never part of results"
        )]
        let clock = Instant::now;
        let before = clock();
        // The simulating thread is attached already, which makes this cheap.
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

    /// Copies the flow and the control into their views and calls the method.
    fn invoke<'py>(
        &self,
        py: Python<'py>,
        method: &Py<PyAny>,
        call: Call<'_>,
        control: &Control,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.flow.bind(py).borrow_mut().flow.clone_from(call.flow);
        {
            let mut view = self.control.bind(py).borrow_mut();
            view.control.clone_from(control);
            view.read_only = call.hook.returns_window();
        }
        let method = method.bind(py);
        match call.argument {
            Argument::None => method.call1((&self.flow, &self.control)),
            Argument::Ack(ack) => {
                self.ack.bind(py).borrow_mut().0 = *ack;
                method.call1((&self.ack, &self.flow, &self.control))
            }
            Argument::Lost(lost) => {
                self.lost.bind(py).borrow_mut().0 = *lost;
                method.call1((&self.lost, &self.flow, &self.control))
            }
            Argument::Name(name) => method.call1((name, &self.flow, &self.control)),
        }
    }

    /// Calls a hook that may change the control; `None` if Reno's hook applies.
    fn update(&self, call: Call<'_>, control: &mut Control) -> Option<()> {
        let updated = self.perform(call.hook, call.flow.now, |py, method| {
            let returned = self.invoke(py, method, call, control)?;
            if !returned.is_none() {
                let what = shown(&returned);
                return Err(PyTypeError::new_err(format!(
                    "returned {what}; {} returns nothing, it changes the control",
                    call.hook.name()
                )));
            }
            Ok(self.control.bind(py).borrow().control.clone())
        })?;
        *control = updated;
        Some(())
    }

    /// Calls a hook that returns a window; `None` if Reno's hook applies.
    fn window(&self, call: Call<'_>, control: &Control, expected: PacketCount) -> Option<u32> {
        self.perform(call.hook, call.flow.now, |py, method| {
            expected.extract(&self.invoke(py, method, call, control)?)
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
        self.update(Call { hook: Hook::Start, argument: Argument::None, flow }, control);
    }

    fn on_tx_start(&mut self, flow: &Flow, control: &mut Control) {
        self.update(Call { hook: Hook::TxStart, argument: Argument::None, flow }, control);
    }

    fn on_cwnd_restart(&mut self, flow: &Flow, control: &mut Control) {
        self.update(Call { hook: Hook::CwndRestart, argument: Argument::None, flow }, control);
    }

    fn on_pkts_acked(&mut self, ack: &Ack, flow: &Flow, control: &mut Control) {
        self.now = Some(flow.now);
        self.ledger.count_ack();
        self.update(Call { hook: Hook::PktsAcked, argument: Argument::Ack(ack), flow }, control);
    }

    fn on_ack(&mut self, ack: &Ack, flow: &Flow, control: &mut Control) {
        self.update(Call { hook: Hook::Ack, argument: Argument::Ack(ack), flow }, control)
            .unwrap_or_else(|| control.grow_like_reno(ack.delivered, flow));
    }

    fn on_congestion(&mut self, cause: Cause, flow: &Flow, control: &Control) -> u32 {
        let name = match cause {
            Cause::Loss => "loss",
            Cause::Timeout => "timeout",
            Cause::Ecn => "ecn",
        };
        let call = Call { hook: Hook::Congestion, argument: Argument::Name(name), flow };
        self.window(call, control, ssthresh("the returned ssthresh"))
            .unwrap_or_else(|| (control.cwnd / 2).max(2))
    }

    fn on_lost(&mut self, lost: &Lost, flow: &Flow, control: &mut Control) {
        self.update(Call { hook: Hook::Lost, argument: Argument::Lost(lost), flow }, control);
    }

    fn on_state(&mut self, next: State, flow: &Flow, control: &mut Control) {
        self.update(Call { hook: Hook::State, argument: Argument::Name(next.name()), flow }, control);
    }

    fn on_cwr_complete(&mut self, flow: &Flow, control: &mut Control) {
        self.update(Call { hook: Hook::CwrComplete, argument: Argument::None, flow }, control);
    }

    fn on_undo(&mut self, flow: &Flow, control: &Control) -> u32 {
        let call = Call { hook: Hook::Undo, argument: Argument::None, flow };
        let expected = PacketCount { what: "the returned window", min: 1, max: MAX_CWND_PACKETS };
        self.window(call, control, expected).unwrap_or_else(|| control.cwnd.max(flow.prior_cwnd))
    }

    fn internals(&self, record: &mut dyn FnMut(&'static str, f64)) {
        // Before its start the algorithm has no state.
        let Some(now) = self.now else { return };
        let quantities = self.perform(Hook::Internals, now, |py, method| {
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

/// Name and value of an internal quantity; None, an unknown value, becomes NaN.
fn quantity((name, value): &(Bound<'_, PyAny>, Bound<'_, PyAny>)) -> PyResult<(&'static str, f64)> {
    let Ok(text) = name.extract::<String>() else {
        return Err(PyTypeError::new_err(format!("{} is not a name; give text", shown(name))));
    };
    let number = if value.is_none() { Ok(f64::NAN) } else { value.extract::<f64>() };
    let number = number.map_err(|_| {
        PyTypeError::new_err(format!("{text} is {}; give a number, or None while it has none", shown(value)))
    })?;
    Ok((interned(text), number))
}

/// A static copy of `name`. Each name is leaked once, however many runs there are.
fn interned(name: String) -> &'static str {
    static NAMES: LazyLock<Mutex<BTreeMap<String, &'static str>>> = LazyLock::new(Mutex::default);
    let mut names = NAMES.lock().expect("nothing in here panics");
    names.entry(name.clone()).or_insert_with(|| name.leak())
}

/// A class attribute of an algorithm whose value is one of a few words.
#[derive(Clone, Copy, Debug)]
struct Setting<'a> {
    algorithm: &'a str,
    name: &'a str,
    value: &'a str,
}

impl Setting<'_> {
    /// The meaning of the value among the `known` words.
    fn one_of<T: Copy>(self, known: &[(&str, T)]) -> PyResult<T> {
        let Setting { algorithm, name, value } = self;
        known.iter().find(|(word, _)| *word == value).map(|(_, meaning)| *meaning).ok_or_else(|| {
            let words: Vec<_> = known.iter().map(|(word, _)| format!("\"{word}\"")).collect();
            PyValueError::new_err(format!(
                "{algorithm}: its `{name}` is \"{value}\"; give one of {}",
                words.join(", ")
            ))
        })
    }
}
