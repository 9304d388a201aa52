//! Playing packet scripts to the simulator.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use tussle_core::script::{Script, Verdict, play, story};

/// Play a script to the simulator; return the verdict, as JSON.
#[pyfunction]
pub(crate) fn play_script(script_json: &str) -> PyResult<String> {
    let sentence = |problem: serde_json::Error| PyValueError::new_err(without_place(&problem.to_string()));
    let script: Script = serde_json::from_str(script_json).map_err(sentence)?;
    serde_json::to_string(&Verdict::from(play(&script))).map_err(sentence)
}

/// A story of a sender that nobody chose, as JSON: a packet script that the simulator follows.
#[pyfunction]
pub(crate) fn packet_story(algorithm: &str, seed: u64) -> PyResult<String> {
    let script = story(algorithm, seed).map_err(|problem| PyValueError::new_err(problem.to_string()))?;
    serde_json::to_string(&script).map_err(|problem| PyValueError::new_err(problem.to_string()))
}

/// A problem without the place in the JSON, which nobody wrote.
fn without_place(problem: &str) -> String {
    problem.split(" at line ").next().unwrap_or(problem).to_owned()
}
