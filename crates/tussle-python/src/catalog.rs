//! What the simulator knows, as JSON: lists, docs and error messages are made from it.

use pyo3::pyfunction;
use serde_json::{Value, json};
use tussle_core::cc::{Entry, Parameter, REGISTRY};

/// The algorithms, queues and path effects that a run may name, as JSON.
#[pyfunction]
pub(crate) fn catalog() -> String {
    let algorithms: Vec<Value> = REGISTRY.iter().map(algorithm).collect();
    json!({ "algorithms": algorithms }).to_string()
}

fn algorithm(entry: &Entry) -> Value {
    let parameters: Vec<Value> = entry.parameters.iter().map(parameter).collect();
    json!({
        "name": entry.name,
        "idea": entry.idea,
        "source": entry.source,
        "agrees_with": entry.agrees_with,
        "parameters": parameters,
    })
}

fn parameter(parameter: &Parameter) -> Value {
    json!({
        "name": parameter.name,
        "default": parameter.default,
        "min": parameter.min,
        "max": parameter.max,
        "meaning": parameter.meaning,
    })
}
