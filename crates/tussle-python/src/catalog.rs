//! Catalogue of algorithms, queues and path elements, as JSON. Lists, docs and error messages are made from
//! it.

use pyo3::pyfunction;
use serde_json::{Value, json};
use tussle_core::cc;
use tussle_core::net::{path, queue};

/// Return the algorithms, queues and path elements that a run may name, as JSON.
#[pyfunction]
pub(crate) fn catalog() -> String {
    let algorithms: Vec<Value> = cc::REGISTRY.iter().map(algorithm).collect();
    let queues: Vec<Value> = queue::REGISTRY
        .iter()
        .map(|queue| json!({ "name": queue.name, "idea": queue.idea, "source": queue.source }))
        .collect();
    let elements: Vec<Value> =
        path::REGISTRY.iter().map(|element| json!({ "name": element.name, "idea": element.idea })).collect();
    json!({ "algorithms": algorithms, "queues": queues, "elements": elements }).to_string()
}

fn algorithm(entry: &cc::Entry) -> Value {
    let parameters: Vec<Value> = entry.parameters.iter().map(parameter).collect();
    json!({
        "name": entry.name,
        "idea": entry.idea,
        "source": entry.source,
        "agrees_with": entry.agrees_with,
        "parameters": parameters,
    })
}

fn parameter(parameter: &cc::Parameter) -> Value {
    json!({
        "name": parameter.name,
        "default": parameter.default,
        "min": parameter.min,
        "max": parameter.max,
        "meaning": parameter.meaning,
    })
}
