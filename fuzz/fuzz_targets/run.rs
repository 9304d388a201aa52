//! Bytes as the JSON of a run: refused with a sentence, or simulated for a while without breaking a rule.

#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use tussle_core::run::Sampling;
use tussle_core::{Progress, Run, Simulation};

/// Enough for a few flights, losses and timeouts.
const EVENTS: u64 = 10_000;
/// More flows or elements than that are slow, not new.
const MOST: usize = 16;
/// A window beyond that is slow, not new.
const MOST_WINDOW_BYTES: u64 = 1 << 20;

/// Whether a flow cannot put more in flight at one instant than this target has time for.
fn is_bounded(run: &Run) -> bool {
    run.elements.len() <= MOST
        && run.flows.len() <= MOST
        && run.record.sampling != Sampling::Change
        && run.flows.iter().all(|flow| {
            let over_a_link = flow.forward.iter().any(|name| {
                let named = run.elements.iter().find(|element| element.name == *name);
                named.is_some_and(|element| element.kind.is_link())
            });
            flow.receive_window_bytes.or(flow.bytes).map_or(over_a_link, |bytes| {
                bytes / u64::from(flow.mss_bytes.max(1)) <= MOST_WINDOW_BYTES / 1448
            })
        })
}

fuzz_target!(|bytes: &[u8]| -> Corpus {
    let Ok(run) = serde_json::from_slice::<Run>(bytes) else { return Corpus::Reject };
    if !is_bounded(&run) {
        return Corpus::Reject;
    }
    if let Ok(mut simulation) = Simulation::new(&run)
        && simulation.advance(EVENTS).expect("no invariant breaks") == Progress::Done
    {
        simulation.finish();
    }
    Corpus::Keep
});
