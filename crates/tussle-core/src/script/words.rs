//! Text form of packets in scripts.

use super::ScriptError;
use crate::net::packet::{Block, Flags, Kind, Packet};

/// Largest number of packets that one range of a script may name.
const MAX_PACKETS: u32 = 1 << 16;

/// Parses `"4-6"` or `"4"`.
pub(super) fn range(step: usize, text: &str) -> Result<Block, ScriptError> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let parsed = first.parse::<u32>().ok().zip(last.parse::<u32>().ok());
    match parsed {
        Some((first, last)) if first <= last && last < u32::MAX => Ok(Block { start: first, end: last + 1 }),
        _ => Err(ScriptError::Invalid(format!(
            "step {step}: {text:?} is not a range of packets; write \"4\" or \"4-6\""
        ))),
    }
}

/// Checks the text form of an ACK: `4 dsack 2 sack 6-7 9 ece`.
pub(super) fn check_ack(step: usize, text: &str) -> Result<(), ScriptError> {
    let split = |text, word| match str::split_once(text, word) {
        Some((before, ranges)) => (before, Some(ranges)),
        None => (text, None),
    };
    let (rest, sack) = split(text.strip_suffix(" ece").unwrap_or(text), " sack ");
    let (number, dsack) = split(rest, " dsack ");
    let mut ranges = dsack.into_iter().chain(sack).flat_map(|ranges| ranges.split(' '));
    let is_valid = number.parse::<u32>().is_ok() && ranges.all(|text| range(step, text).is_ok());
    if is_valid {
        return Ok(());
    }
    let problem = format!("step {step}: {text:?} is not an ACK; write \"4\" or \"4 dsack 2 sack 6-7 9 ece\"");
    Err(ScriptError::Invalid(problem))
}

/// Returns the packet numbers of all ranges, in order.
pub(super) fn each(step: usize, texts: &[String]) -> Result<Vec<u32>, ScriptError> {
    let mut numbers = Vec::new();
    for text in texts {
        let block = range(step, text)?;
        if block.packets() > MAX_PACKETS {
            return Err(ScriptError::Invalid(format!("step {step}: {text} is more than 65536 packets")));
        }
        numbers.extend(block.start..block.end);
    }
    Ok(numbers)
}

/// Formats packet numbers in order, with runs joined: `0-9 12`.
pub(super) fn numbers(each: impl IntoIterator<Item = u32>) -> String {
    let mut runs: Vec<Block> = Vec::new();
    for number in each {
        match runs.last_mut() {
            Some(run) if run.end == number => run.end += 1,
            _ => runs.push(Block { start: number, end: number.saturating_add(1) }),
        }
    }
    joined(&runs)
}

/// Formats the numbers of the data packets among `packets`.
pub(super) fn data(packets: &[Packet]) -> String {
    numbers(packets.iter().filter(|packet| packet.kind == Kind::Data).map(|packet| packet.number))
}

/// Formats the ACKs among `packets`, separated by commas.
pub(super) fn acks(packets: &[Packet]) -> String {
    let texts: Vec<_> = packets.iter().filter(|packet| packet.kind == Kind::Ack).map(ack).collect();
    if texts.is_empty() { "nothing".to_owned() } else { texts.join(", ") }
}

/// Formats an ACK: `4 dsack 2 sack 6-7 9 ece`.
fn ack(packet: &Packet) -> String {
    let mut text = packet.number.to_string();
    let blocks = packet.sacks.as_slice();
    // RFC 2883, 4: a first block below the ACK, or within the second, reports a duplicate.
    let is_dsack = blocks.first().is_some_and(|first| {
        first.start < packet.number || blocks.get(1).is_some_and(|second| second.contains(*first))
    });
    let (duplicates, out_of_order) = blocks.split_at(usize::from(is_dsack));
    for (name, blocks) in [("dsack", duplicates), ("sack", out_of_order)] {
        if !blocks.is_empty() {
            text = format!("{text} {name} {}", joined(blocks));
        }
    }
    if packet.flags.has(Flags::ECE) { text + " ece" } else { text }
}

fn joined(runs: &[Block]) -> String {
    let texts: Vec<_> = runs
        .iter()
        .map(|run| {
            if run.packets() == 1 { run.start.to_string() } else { format!("{}-{}", run.start, run.end - 1) }
        })
        .collect();
    if texts.is_empty() { "nothing".to_owned() } else { texts.join(" ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::packet::Sacks;

    #[test]
    fn only_an_ack_in_its_text_form_is_one() {
        for text in ["4", "4 ece", "4 sack 6-7 9", "4 dsack 2", "4 dsack 7 sack 6-8 12 ece"] {
            assert_eq!(check_ack(0, text), Ok(()), "{text}");
        }
        for text in [
            "",
            " ",
            "x",
            "-4",
            "4 ",
            "4  ece",
            "ece",
            "4 ece ece",
            "4 sack",
            "4 sack ",
            "4 sack 7-6",
            "4 sack 6 dsack 2",
        ] {
            assert!(check_ack(0, text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn runs_of_numbers_are_joined() {
        assert_eq!(numbers([0, 1, 2, 5, 4, 9]), "0-2 5 4 9");
        assert_eq!(numbers([]), "nothing");
    }

    /// The first block lies within the second and is therefore a DSACK.
    #[test]
    fn a_first_block_inside_the_second_is_a_dsack() {
        let mut packet = Packet::new(Kind::Ack, 0);
        packet.number = 4;
        packet.flags = Flags::ECE;
        let mut sacks = Sacks::default();
        for (start, end) in [(7, 8), (6, 9), (12, 13)] {
            sacks.push(Block { start, end }, Sacks::MAX_BLOCKS);
        }
        packet.set_sacks(sacks);
        assert_eq!(acks(&[packet]), "4 dsack 7 sack 6-8 12 ece");
    }
}
