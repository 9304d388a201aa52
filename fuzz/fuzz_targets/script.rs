//! Bytes as a packet script in TOML: refused with a sentence, or played without a panic.

#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use tussle_core::script::{Script, ScriptError, play};

/// More packets at once are slow, not new.
const MOST_PACKETS: u32 = 2_000;
const MOST_STEPS: usize = 200;

fn is_bounded(script: &Script) -> bool {
    script.start_cwnd.is_none_or(|cwnd| cwnd <= MOST_PACKETS)
        && script.steps.len() <= MOST_STEPS
        && script.steps.iter().all(|step| step.write.is_none_or(|packets| packets <= MOST_PACKETS))
}

fuzz_target!(|bytes: &[u8]| -> Corpus {
    let Some(script) = str::from_utf8(bytes).ok().and_then(|text| toml::from_str::<Script>(text).ok()) else {
        return Corpus::Reject;
    };
    if !is_bounded(&script) {
        return Corpus::Reject;
    }
    if let Err(ScriptError::Broken(problem)) = play(&script) {
        panic!("{problem}");
    }
    Corpus::Keep
});
