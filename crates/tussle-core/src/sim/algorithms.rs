//! The congestion control algorithms of a run.

use crate::cc::{self, CongestionControl};
use crate::run::FlowSpec;
use crate::run::check::RunError;

/// Creates the algorithm of a TCP flow. The second argument seeds its random number generators. `None`: the
/// algorithm comes from the registry.
pub type AlgorithmFactory<'a> = dyn FnMut(&FlowSpec, u64) -> Option<Box<dyn CongestionControl>> + 'a;

/// Creates the algorithm named in `spec` from the registry; `seed` seeds its random number generators.
///
/// # Errors
/// No algorithm has this name, or a parameter is invalid.
pub(super) fn registered(spec: &FlowSpec, seed: u64) -> Result<Box<dyn CongestionControl>, RunError> {
    let entry = cc::Entry::find(&spec.algorithm).ok_or_else(|| {
        let known: Vec<_> = cc::REGISTRY.iter().map(|entry| entry.name).collect();
        let problem = format!("no algorithm is called {}; there are {}", spec.algorithm, known.join(", "));
        RunError::new("algorithm", problem)
    })?;
    let parameters = entry
        .parameters(&spec.parameters)
        .map_err(|problem| RunError::new("parameters", problem.to_string()))?;
    Ok((entry.build)(&parameters, seed))
}
