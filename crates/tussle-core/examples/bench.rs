//! Executes the run on standard input and prints what its bottleneck delivered, as JSON.
//!
//! For `benches/`: the simulator's own cost, without an interpreter around it.

use std::error::Error;
use std::io::{self, Read};

use tussle_core::table::{Table, Values};
use tussle_core::{Outcome, Run, Simulation};

fn main() -> Result<(), Box<dyn Error>> {
    let mut text = String::new();
    io::stdin().read_to_string(&mut text)?;
    let run: Run = serde_json::from_str(&text)?;
    println!("{}", report(&Simulation::new(&run)?.run_to_end()?)?);
    Ok(())
}

fn report(outcome: &Outcome) -> Result<serde_json::Value, Box<dyn Error>> {
    let bottleneck = last_row_of(&outcome.links, "bottleneck")?;
    let delivered = whole_numbers(&outcome.links, "delivered_packets")?[bottleneck];
    let retransmitted: u64 = whole_numbers(&outcome.flows, "retransmitted_packets")?.iter().sum();
    Ok(serde_json::json!({ "delivered_packets": delivered, "retransmitted_packets": retransmitted }))
}

/// The last row of the table `links` about the link `name`.
fn last_row_of(links: &Table, name: &str) -> Result<usize, String> {
    let Values::Label { codes, names } = values(links, "link")? else {
        return Err("links.link is not a label".to_owned());
    };
    codes
        .iter()
        .rposition(|&code| names[code as usize] == name)
        .ok_or_else(|| format!("no row about {name} in links"))
}

fn whole_numbers(table: &Table, column: &str) -> Result<Vec<u64>, String> {
    match values(table, column)? {
        Values::U32(numbers) => Ok(numbers.iter().map(|&number| u64::from(number)).collect()),
        Values::U64(numbers) => Ok(numbers.clone()),
        _ => Err(format!("{}.{column} does not count", table.name)),
    }
}

fn values<'a>(table: &'a Table, column: &str) -> Result<&'a Values, String> {
    let found = table.columns.iter().find(|candidate| candidate.name == column);
    found.map(|column| &column.values).ok_or_else(|| format!("{} has no column {column}", table.name))
}
