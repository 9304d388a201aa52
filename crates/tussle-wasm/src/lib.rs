//! The simulator in a web page.
//!
//! A page writes JSON into [`input`], calls a function, and reads JSON from [`output`]; everything else is
//! numbers, so that no generator of bindings is needed. Simulations are told apart by the numbers that
//! [`open`] returns.

mod csv;
mod settings;

use std::cell::RefCell;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};
use tussle_core::table::Values;
use tussle_core::{Progress, Run, Simulation, Table, Time};

use csv::Written;
use settings::Settings;

#[derive(Default)]
struct Memory {
    input: Vec<u8>,
    output: Vec<u8>,
    opened: BTreeMap<u32, Simulation>,
    last: u32,
}

thread_local! {
    static MEMORY: RefCell<Memory> = RefCell::default();
}

/// Request of a page: what to simulate.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Asked {
    /// A scenario of the studio.
    Settings(Settings),
    /// A run, as an engine receives it.
    Run(Value),
}

/// Progress of a simulation, as [`advance`] returns it.
const GOING: u32 = 0;
const DONE: u32 = 1;
const FAILED: u32 = 2;

fn with<T>(act: impl FnOnce(&mut Memory) -> T) -> T {
    MEMORY.with_borrow_mut(act)
}

/// Reserves `bytes` for the next input, and returns their address.
#[expect(unsafe_code, reason = "found by its name")]
#[unsafe(no_mangle)]
pub extern "C" fn input(bytes: usize) -> *mut u8 {
    with(|memory| {
        memory.input.clear();
        memory.input.resize(bytes, 0);
        memory.input.as_mut_ptr()
    })
}

/// The address of what the last function wrote.
#[expect(unsafe_code, reason = "found by its name")]
#[unsafe(no_mangle)]
pub extern "C" fn output() -> *const u8 {
    with(|memory| memory.output.as_ptr())
}

/// The number of bytes that the last function wrote.
#[expect(unsafe_code, reason = "found by its name")]
#[unsafe(no_mangle)]
pub extern "C" fn output_bytes() -> usize {
    with(|memory| memory.output.len())
}

/// Opens the simulation that the input asks for, and returns its number; the output has its run. Returns 0 if
/// it cannot be simulated; the output has the reason then.
#[expect(unsafe_code, reason = "found by its name")]
#[unsafe(no_mangle)]
pub extern "C" fn open() -> u32 {
    with(|memory| match opened(&memory.input) {
        Ok((simulation, run)) => {
            memory.last += 1;
            memory.opened.insert(memory.last, simulation);
            memory.output = run.to_string().into_bytes();
            memory.last
        }
        Err(reason) => {
            memory.output = reason.into_bytes();
            0
        }
    })
}

/// Simulates all events before `until_ns`. Returns 0 if the run continues, 1 at its end, and 2 if an invariant
/// is violated or there is no such simulation; the output has the reason then.
#[expect(unsafe_code, reason = "found by its name")]
#[unsafe(no_mangle)]
pub extern "C" fn advance(number: u32, until_ns: f64) -> u32 {
    with(|memory| {
        let Some(simulation) = memory.opened.get_mut(&number) else { return absent(&mut memory.output) };
        match simulation.advance_to(time(until_ns)) {
            Ok(Progress::Going) => GOING,
            Ok(Progress::Done) => DONE,
            Err(violation) => {
                memory.output = violation.to_string().into_bytes();
                FAILED
            }
        }
    })
}

/// Writes the time series from a row on: `samples` and `links`, each an object of columns.
#[expect(unsafe_code, reason = "found by its name")]
#[unsafe(no_mangle)]
pub extern "C" fn time_series(number: u32, first_sample: usize, first_link: usize) -> u32 {
    with(|memory| {
        let Some(simulation) = memory.opened.get(&number) else { return absent(&mut memory.output) };
        let [samples, links] = simulation.time_series();
        let rows = json!({"samples": rows(&samples, first_sample), "links": rows(&links, first_link)});
        memory.output = rows.to_string().into_bytes();
        GOING
    })
}

/// Closes a simulation, and writes its tables as CSV, by name.
#[expect(unsafe_code, reason = "found by its name")]
#[unsafe(no_mangle)]
pub extern "C" fn close(number: u32) -> u32 {
    with(|memory| {
        let Some(simulation) = memory.opened.remove(&number) else { return absent(&mut memory.output) };
        memory.output = Value::from_iter(tables(simulation)).to_string().into_bytes();
        DONE
    })
}

fn absent(output: &mut Vec<u8>) -> u32 {
    *output = b"there is no such simulation".to_vec();
    FAILED
}

fn opened(input: &[u8]) -> Result<(Simulation, Value), String> {
    let asked: Asked = serde_json::from_slice(input).map_err(|error| error.to_string())?;
    let described = match asked {
        Asked::Settings(settings) => settings.run(),
        Asked::Run(run) => run,
    };
    let run: Run = serde_json::from_value(described.clone()).map_err(|error| error.to_string())?;
    let simulation = Simulation::new(&run).map_err(|error| error.to_string())?;
    Ok((simulation, described))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "2^53 ns are 104 days")]
fn time(ns: f64) -> Time {
    Time::from_ns(ns.max(0.0) as u64)
}

/// The columns of a table from row `first` on; names of a label are repeated.
fn rows(table: &Table, first: usize) -> Value {
    let values = |values: &Values| match values {
        Values::U32(all) => json!(all[first.min(all.len())..]),
        Values::U64(all) => json!(all[first.min(all.len())..]),
        Values::MaybeU32(all) => json!(all[first.min(all.len())..]),
        Values::MaybeU64(all) => json!(all[first.min(all.len())..]),
        Values::F64(all) => json!(all[first.min(all.len())..]),
        Values::MaybeF64(all) => json!(all[first.min(all.len())..]),
        Values::Text(all) => json!(all[first.min(all.len())..]),
        Values::Label { codes, names } => {
            codes[first.min(codes.len())..].iter().map(|&code| names[code as usize].as_str()).collect()
        }
        Values::MaybeLabel { codes, names } => codes[first.min(codes.len())..]
            .iter()
            .map(|code| code.map(|code| names[code as usize].as_str()))
            .collect(),
    };
    table.columns.iter().map(|column| (column.name.clone(), values(&column.values))).collect()
}

/// The tables of a finished simulation with the column `run` of a dataset of one run.
fn tables(simulation: Simulation) -> Vec<(String, Value)> {
    let outcome = simulation.finish();
    let written = |table: &Table| {
        let mut columns = csv::columns(table);
        let rows = columns.first().map_or(0, Written::rows);
        columns.insert(0, Written::new("run", vec!["0".to_owned(); rows]));
        (table.name.to_owned(), Value::from(csv::file(&columns)))
    };
    [&outcome.flows, &outcome.samples, &outcome.links, &outcome.events].map(written).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(asked: &Value) -> (u32, String) {
        let text = asked.to_string();
        input(text.len());
        with(|memory| memory.input.copy_from_slice(text.as_bytes()));
        (open(), answer())
    }

    fn answer() -> String {
        with(|memory| String::from_utf8(memory.output.clone()).expect("outputs are text"))
    }

    fn asked(algorithm: &str) -> Value {
        json!({"settings": {
            "seed": 1, "duration_ns": 3_000_000_000_u64, "rate_bit_per_s": 10_000_000, "rtt_ns": 40_000_000,
            "buffer_bdp_thousandths": 1000, "loss_ppm": 100, "queue": "fifo", "hosts": {"initial_cwnd": 3},
            "pacing": false, "ecn": false, "flows": [{"algorithm": algorithm, "start_ns": 0}],
        }})
    }

    #[test]
    fn a_run_divided_into_frames_has_the_tables_of_the_whole() {
        let (whole, _) = ask(&asked("cubic"));
        assert_eq!(advance(whole, 1e18), DONE);
        let (divided, _) = ask(&asked("cubic"));
        // 90 frames of 33 ms end before the run of 3 s does, and the frame from 2.97 s on has its end.
        let frames =
            (1..1000).take_while(|&frame| advance(divided, f64::from(frame) * 33e6) == GOING).count();
        assert_eq!(frames, 90);
        close(whole);
        let of_whole = answer();
        close(divided);
        assert!(answer() == of_whole, "the tables differ");
        assert!(of_whole.contains("0,0,flow-0,cubic,"), "the flow is not in {}", &of_whole[..2000]);
    }

    #[test]
    fn rows_of_a_time_series_follow_those_that_are_known() {
        let (number, _) = ask(&asked("reno"));
        advance(number, 1e9);
        time_series(number, 0, 0);
        let first: Value = serde_json::from_str(&answer()).expect("it is JSON");
        let known = first["samples"]["time_s"].as_array().expect("a column").len();
        advance(number, 2e9);
        time_series(number, known, 0);
        let then: Value = serde_json::from_str(&answer()).expect("it is JSON");
        assert_eq!((known, then["samples"]["time_s"][0].as_f64()), (20, Some(1.0)));
    }

    #[test]
    fn what_cannot_be_simulated_is_refused_with_a_reason() {
        let (none, reason) = ask(&asked("renno"));
        assert_eq!(none, 0);
        assert!(reason.starts_with("flows.0.algorithm: no algorithm is called renno"), "{reason}");
        assert_eq!((advance(77, 1e9), answer()), (FAILED, "there is no such simulation".to_owned()));
    }
}
