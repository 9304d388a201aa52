//! Executes the run on standard input, and prints the packets that the first link of the first flow
//! delivered, as JSON.
//!
//! `benches/` measures the simulator with this program, without the Python interpreter. The argument is the
//! number of packets to deliver before the function `measured` begins, so that a profiler can count that
//! function alone.

use std::error::Error;
use std::io::{self, Read};

use tussle_core::table::{Table, Values};
use tussle_core::{Outcome, Progress, Run, Simulation, Violation};

/// Events between two checks of the number of delivered packets.
const STEP_EVENTS: u64 = 16;

fn main() -> Result<(), Box<dyn Error>> {
    let start_packets = std::env::args().nth(1).map_or(Ok(0), |packets| packets.parse())?;
    let mut text = String::new();
    io::stdin().read_to_string(&mut text)?;
    let run: Run = serde_json::from_str(&text)?;
    let mut simulation = Simulation::new(&run)?;
    while simulation.delivered_packets() < start_packets {
        if simulation.advance(STEP_EVENTS)? == Progress::Done {
            return Err(format!("the run ends before {start_packets} packets are delivered").into());
        }
    }
    let before = simulation.delivered_packets();
    measured(&mut simulation)?;
    let measured_packets = simulation.delivered_packets() - before;
    let link = first_link(&run).ok_or("no link is on the forward path of the first flow")?;
    let mut report = report(&simulation.finish(), link)?;
    report["measured_packets"] = measured_packets.into();
    println!("{report}");
    Ok(())
}

/// Simulates to the end.
#[inline(never)]
fn measured(simulation: &mut Simulation) -> Result<(), Violation> {
    while simulation.advance(u64::MAX)? == Progress::Going {}
    Ok(())
}

/// Name of the first link on the forward path of the first flow.
fn first_link(run: &Run) -> Option<&str> {
    let is_link =
        |name: &&String| run.elements.iter().any(|element| element.name == **name && element.kind.is_link());
    run.flows.first()?.forward.iter().find(is_link).map(String::as_str)
}

fn report(outcome: &Outcome, link: &str) -> Result<serde_json::Value, Box<dyn Error>> {
    let row = last_row_of(&outcome.links, link)?;
    let delivered = whole_numbers(&outcome.links, "delivered_packets")?[row];
    let retransmitted: u64 = whole_numbers(&outcome.flows, "retransmitted_packets")?.iter().sum();
    Ok(serde_json::json!({ "delivered_packets": delivered, "retransmitted_packets": retransmitted }))
}

/// Index of the last row of the link `name` in the table `links`.
fn last_row_of(links: &Table, name: &str) -> Result<usize, String> {
    let Values::Label { codes, names } = values(links, "link")? else {
        return Err("links.link is not a label".to_owned());
    };
    codes
        .iter()
        .rposition(|&code| names[code as usize] == name)
        .ok_or_else(|| format!("links has no row of {name}"))
}

fn whole_numbers(table: &Table, column: &str) -> Result<Vec<u64>, String> {
    match values(table, column)? {
        Values::U32(numbers) => Ok(numbers.iter().map(|&number| u64::from(number)).collect()),
        Values::U64(numbers) => Ok(numbers.clone()),
        Values::MaybeU64(numbers) => Ok(numbers.iter().flatten().copied().collect()),
        _ => Err(format!("{}.{column} is not a column of whole numbers", table.name)),
    }
}

fn values<'a>(table: &'a Table, column: &str) -> Result<&'a Values, String> {
    let found = table.columns.iter().find(|candidate| candidate.name == column);
    found.map(|column| &column.values).ok_or_else(|| format!("{} has no column {column}", table.name))
}
