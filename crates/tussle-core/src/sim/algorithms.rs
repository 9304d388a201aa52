//! The congestion control algorithms of a run.

use crate::cc::{self, CongestionControl};
use crate::run::FlowSpec;
use crate::run::check::RunError;

/// Makes the algorithm of a TCP flow, whose random number generators are seeded by the second argument; `None`: the
/// registry makes it.
pub type AlgorithmFactory<'a> = dyn FnMut(&FlowSpec, u64) -> Option<Box<dyn CongestionControl>> + 'a;

/// Makes the algorithm that the registry has under the name in `spec`; `seed` seeds its random number generators.
///
/// # Errors
/// No algorithm has that name, or it does not take the parameters.
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
