//! Packet scripts on the simulator.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use tussle_core::script::{Script, Verdict, play, random_script};

/// Play a script on the simulator; return the verdict, as JSON.
#[pyfunction]
pub(crate) fn play_script(script_json: &str) -> PyResult<String> {
    let sentence = |problem: serde_json::Error| PyValueError::new_err(without_place(&problem.to_string()));
    let script: Script = serde_json::from_str(script_json).map_err(sentence)?;
    serde_json::to_string(&Verdict::from(play(&script))).map_err(sentence)
}

/// Return a random packet script between hosts with those settings, recorded from the simulator, as JSON.
#[pyfunction]
#[pyo3(signature = (algorithm, seed, hosts_json = "{}"))]
pub(crate) fn random_packet_script(algorithm: &str, seed: u64, hosts_json: &str) -> PyResult<String> {
    let hosts = serde_json::from_str(hosts_json)
        .map_err(|problem| PyValueError::new_err(without_place(&problem.to_string())))?;
    let script = random_script(algorithm, hosts, seed)
        .map_err(|problem| PyValueError::new_err(problem.to_string()))?;
    serde_json::to_string(&script).map_err(|problem| PyValueError::new_err(problem.to_string()))
}

/// Removes the line and column in the JSON, which no person wrote, from an error message.
fn without_place(problem: &str) -> String {
    problem.split(" at line ").next().unwrap_or(problem).to_owned()
}
