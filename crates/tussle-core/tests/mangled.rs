//! Invalid input is refused with a message, or has a harmless effect: the simulator never panics.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use serde_json::Value;
use tussle_core::script::{Script, play};
use tussle_core::{Run, Simulation};

use crate::common::random::run;

/// Number of events, enough for flows to open and to have losses.
const EVENTS: u64 = 3_000;
/// Largest number of packets in flight in this test; more would only test the memory of the machine.
const MAX_PACKETS: u64 = 100_000;

/// Replacement of a leaf value.
fn leaf() -> impl Strategy<Value = Value> {
    prop_oneof![
        1 => Just(Value::Null),
        1 => any::<bool>().prop_map(Value::from),
        1 => any::<f64>().prop_map(Value::from),
        1 => any::<i64>().prop_map(Value::from),
        4 => (0..64u32).prop_map(|bits| Value::from(1u64 << bits)),
        4 => (0..64u32).prop_map(|bits| Value::from(u64::MAX >> bits)),
        4 => (0..64u32, any::<u64>()).prop_map(|(bits, value)| Value::from(value >> bits)),
        2 => prop::sample::select(vec![
            "",
            "reno",
            "vegas",
            "on",
            "off",
            "change",
            "fifo",
            "link",
            "element-0",
            "0-3",
            "9-2",
            "é"
        ])
        .prop_map(Value::from),
        1 => Just(Value::Array(Vec::new())),
        1 => Just(Value::Object(serde_json::Map::new())),
    ]
}

/// Replacement of one value.
#[derive(Clone, Debug)]
struct Change {
    target: Target,
    place: prop::sample::Index,
    new: Value,
}

/// Values that may be replaced.
#[derive(Clone, Copy, Debug)]
enum Target {
    /// Values of the new value's type, so that the run is parsed.
    SameType,
    /// Any value.
    AnyType,
}

fn change() -> impl Strategy<Value = Change> {
    let target = prop_oneof![9 => Just(Target::SameType), 1 => Just(Target::AnyType)];
    (target, any::<prop::sample::Index>(), leaf()).prop_map(|(target, place, new)| Change {
        target,
        place,
        new,
    })
}

impl Change {
    fn fits(&self, value: &Value) -> bool {
        match self.target {
            Target::SameType => std::mem::discriminant(value) == std::mem::discriminant(&self.new),
            Target::AnyType => true,
        }
    }

    fn apply(&self, value: &mut Value) {
        let places = values_in(value).into_iter().filter(|value| self.fits(value)).count();
        if places > 0 {
            self.replace(value, &mut self.place.index(places));
        }
    }

    /// Replaces a matching value after `skipped` others, counted depth first.
    fn replace(&self, value: &mut Value, skipped: &mut usize) {
        if self.fits(value) {
            if *skipped == 0 {
                *value = self.new.clone();
            }
            *skipped = skipped.wrapping_sub(1);
        }
        match value {
            Value::Array(values) => values.iter_mut().for_each(|value| self.replace(value, skipped)),
            Value::Object(fields) => fields.values_mut().for_each(|value| self.replace(value, skipped)),
            _ => {}
        }
    }
}

/// A value and all values inside it.
fn values_in(value: &Value) -> Vec<&Value> {
    let inside: Vec<&Value> = match value {
        Value::Array(values) => values.iter().flat_map(values_in).collect(),
        Value::Object(fields) => fields.values().flat_map(values_in).collect(),
        _ => Vec::new(),
    };
    std::iter::once(value).chain(inside).collect()
}

fn mangle(value: &mut Value, changes: &[Change]) {
    for change in changes {
        change.apply(value);
    }
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    prop::collection::vec(change(), 1..5)
}

fn simulate_a_little(run: &Run) {
    if let Ok(mut simulation) = Simulation::new(run) {
        simulation.advance(EVENTS).expect("no invariant breaks");
    }
}

fn scripts() -> Vec<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
    let mut paths: Vec<_> = fs::read_dir(folder)
        .expect("the scripts are there")
        .map(|entry| entry.expect("readable").path())
        .collect();
    paths.sort();
    let load = |path: &Path| {
        let text = fs::read_to_string(path).expect("a script is text");
        toml::from_str(&text).expect("a script is TOML")
    };
    paths.iter().map(|path| load(path)).collect()
}

/// Whether a script limits the sender to a window that fits into memory.
fn has_limited_writes(script: &Script) -> bool {
    let packets = u64::from(script.start_cwnd.unwrap_or(10));
    packets <= MAX_PACKETS
        && script.steps.iter().all(|step| u64::from(step.write.unwrap_or(0)) <= MAX_PACKETS)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_mangled_run_is_refused_or_runs(run in run(), changes in changes()) {
        let mut value = serde_json::to_value(&run).expect("a run is JSON");
        mangle(&mut value, &changes);
        if let Ok(run) = serde_json::from_value::<Run>(value) {
            simulate_a_little(&run);
        }
    }

    #[test]
    fn a_run_with_truncated_or_changed_text_is_refused_or_runs(
        run in run(),
        scratch in (any::<prop::sample::Index>(), any::<u8>()),
        end in any::<prop::sample::Index>(),
    ) {
        let mut text = serde_json::to_vec(&run).expect("a run is JSON");
        let place = scratch.0.index(text.len());
        text[place] = scratch.1;
        if let Ok(run) = serde_json::from_slice::<Run>(&text) {
            simulate_a_little(&run);
        }
        let end = end.index(text.len());
        prop_assert!(serde_json::from_slice::<Run>(&text[..end]).is_err());
    }

    #[test]
    fn a_mangled_script_is_refused_or_plays(which in any::<prop::sample::Index>(), changes in changes()) {
        let scripts = scripts();
        let mut value = scripts[which.index(scripts.len())].clone();
        mangle(&mut value, &changes);
        if let Ok(script) = serde_json::from_value::<Script>(value)
            && has_limited_writes(&script)
        {
            let _: Result<(), _> = play(&script);
        }
    }
}
