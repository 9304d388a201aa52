//! Worlds that advance together, as Python sees them.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tussle_core::cc::Entry;
use tussle_core::{Outcome, Run, Time};

use super::agent::Action;
use super::world::{MEASUREMENTS, World};
use crate::arrow::ArrowTable;
use crate::execute::violation;

/// Names of the columns that [`Worlds::step`] returns.
pub(crate) const WORLD_MEASUREMENTS: [&str; MEASUREMENTS.len()] = MEASUREMENTS;

/// Simulations with agents, which advance together.
#[pyclass(frozen, module = "tussle._core")]
pub(crate) struct Worlds {
    /// A lock only because objects of Python may be shared between threads; it is never held while Python runs.
    places: Mutex<Vec<Option<World>>>,
    count: usize,
    action: Action,
    agents: usize,
}

#[pymethods]
impl Worlds {
    /// Make `count` empty places for worlds with `agents` agents each. `action` is the meaning of actions: "window",
    /// in packets; "rate", in bit/s; or "factor", of the window of the algorithm `base`.
    #[new]
    #[pyo3(signature = (count, agents, action, base="cubic"))]
    fn new(count: usize, agents: usize, action: &str, base: &str) -> PyResult<Worlds> {
        let action = match action {
            "window" => Action::Window,
            "rate" => Action::Rate,
            "factor" => Action::Factor(
                Entry::find(base)
                    .ok_or_else(|| PyValueError::new_err(format!("no algorithm is called {base}")))?,
            ),
            other => {
                let sentence = format!("no action is called {other}; there are window, rate and factor");
                return Err(PyValueError::new_err(sentence));
            }
        };
        let places = Mutex::new((0..count).map(|_| None).collect());
        Ok(Worlds { places, count, action, agents })
    }

    /// Begin a run in the place `index`, and simulate until the first agent has connected.
    #[expect(clippy::needless_pass_by_value, reason = "PyO3 hands over what it extracted")]
    fn begin(&self, py: Python<'_>, index: usize, run_json: &str, flows: Vec<String>) -> PyResult<()> {
        if index >= self.count || flows.len() != self.agents {
            return Err(PyValueError::new_err("there is no such place, or another number of agents"));
        }
        let run: Run =
            serde_json::from_str(run_json).map_err(|error| PyValueError::new_err(error.to_string()))?;
        let mut world = World::new(&run, &flows, &self.action).map_err(PyValueError::new_err)?;
        py.detach(|| world.begin()).map_err(violation)?;
        self.lock()[index] = Some(world);
        Ok(())
    }

    /// Perform actions and simulate an interval in every world that is not over; return the measurements.
    ///
    /// `actions` has a number for each agent of each world; NaN leaves an agent as it is. `intervals_ns` has one
    /// interval for each world; 0 leaves the world as it is. The result has 64-bit floats by world, agent and
    /// measurement; those of worlds that did not advance are NaN.
    #[expect(clippy::needless_pass_by_value, reason = "PyO3 hands over what it extracted")]
    fn step<'py>(
        &self,
        py: Python<'py>,
        actions: Vec<f64>,
        intervals_ns: Vec<u64>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        if actions.len() != self.count * self.agents || intervals_ns.len() != self.count {
            return Err(PyValueError::new_err("another number of actions or intervals than of worlds"));
        }
        let agents = self.agents;
        let measured = py.detach(|| {
            let mut worlds = self.lock();
            let mut bytes = Vec::with_capacity(actions.len() * MEASUREMENTS.len() * size_of::<f64>());
            for ((place, actions), ns) in worlds.iter_mut().zip(actions.chunks(agents)).zip(intervals_ns) {
                let world = place.as_mut().filter(|world| !world.is_done() && ns > 0);
                let Some(world) = world else {
                    let unknown = f64::NAN.to_ne_bytes();
                    (0..agents * MEASUREMENTS.len()).for_each(|_| bytes.extend(unknown));
                    continue;
                };
                world.step(actions, Time::from_ns(ns))?;
                let rows = world.rows();
                rows.iter().flatten().for_each(|value| bytes.extend(value.to_ne_bytes()));
            }
            Ok(bytes)
        });
        Ok(PyBytes::new(py, &measured.map_err(violation)?))
    }

    /// Return what the agents of one world measured in its last interval, or at its start, in the form of `step`.
    fn measure<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Bound<'py, PyBytes>> {
        let worlds = self.lock();
        let world = worlds.get(index).and_then(Option::as_ref);
        let world = world.ok_or_else(|| PyValueError::new_err(format!("world {index} has not begun")))?;
        let rows = world.rows();
        let bytes: Vec<u8> = rows.iter().flatten().flat_map(|value| value.to_ne_bytes()).collect();
        Ok(PyBytes::new(py, &bytes))
    }

    /// Whether the run of a world is over, or none has begun.
    fn is_done(&self, index: usize) -> bool {
        self.lock().get(index).and_then(Option::as_ref).is_none_or(World::is_done)
    }

    /// End the run of a world that is over, and return its tables flows, samples, links and events.
    fn finish(&self, index: usize) -> PyResult<BTreeMap<&'static str, ArrowTable>> {
        let mut worlds = self.lock();
        let world = worlds.get_mut(index).and_then(|place| place.take_if(|world| world.is_done()));
        drop(worlds);
        let world =
            world.ok_or_else(|| PyValueError::new_err(format!("the run of world {index} is not over")))?;
        let Outcome { flows, samples, links, events } = world.finish();
        [flows, samples, links, events].into_iter().map(|table| Ok((table.name, table.try_into()?))).collect()
    }
}

impl Worlds {
    fn lock(&self) -> MutexGuard<'_, Vec<Option<World>>> {
        self.places.lock().expect("the simulator does not panic")
    }
}
