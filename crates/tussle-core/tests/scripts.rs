//! Every packet script in `tests/scripts` passes on the simulator.

#![expect(clippy::unwrap_used, reason = "a file of ours that cannot be read is a failed test")]

use std::fs;
use std::path::Path;

use tussle_core::script::{Engine, Role, Script, ScriptError, play};

fn scripts() -> Vec<(String, Script)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let load = |path: &Path| {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(path).unwrap();
        (name.clone(), toml::from_str(&text).unwrap_or_else(|problem| panic!("{name}: {problem}")))
    };
    let all = paths.iter().map(|path| load(path));
    all.filter(|(_, script): &(_, Script)| !script.skip.contains_key(&Engine::Sim)).collect()
}

#[test]
fn the_simulator_follows_every_script() {
    let failures: Vec<_> = scripts()
        .iter()
        .filter_map(|(name, script)| play(script).err().map(|problem| format!("{name}: {problem}")))
        .collect();
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}

#[test]
fn a_script_with_a_wrong_number_fails() {
    let mut checked = 0;
    for (name, script) in scripts() {
        for index in 0..script.steps.len() {
            let mut wrong = script.clone();
            match script.role {
                Role::Sender => wrong.steps[index].sends.push("4000000".to_owned()),
                Role::Receiver => wrong.steps[index].acks.push("4000000".to_owned()),
            }
            match play(&wrong) {
                Err(ScriptError::Mismatch { step, .. }) => assert_eq!(step, index, "{name}"),
                other => panic!("{name}, step {index}: {other:?}"),
            }
            checked += 1;
        }
    }
    assert!(checked > 50, "only {checked} steps");
}
