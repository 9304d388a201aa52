//! Losses by BPF programs with the simulator's random numbers.
//!
//! Equal elements lose the same packets on both engines, so that remaining differences are due to TCP.

use std::fmt::Write as _;

use rbpf::assembler::assemble;
use tussle_core::net::path::{GilbertElliottSpec, LossSpec, checked_probability};
use tussle_core::util::rng::{Probability, initial_state};

/// Words of memory that a program keeps between packets: four of the random number generator, and the state
/// of the channel.
const MEMORY_WORDS: usize = 5;

/// Size of an instruction in bytes.
const INSTRUCTION_BYTES: usize = 8;

/// A program that decides whether a packet is lost. Its memory is at r6.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LossProgram {
    /// Instructions of the program.
    pub(crate) code: Vec<u8>,
    /// Initial content of the memory.
    pub(crate) memory: [u64; MEMORY_WORDS],
}

/// `TC_ACT_OK`.
const PASS: &str = "mov64 r0, 0\nexit\n";
/// `TC_ACT_SHOT`.
const LOSE: &str = "mov64 r0, 2\nexit\n";

/// Random number of 64 bits in r0. Overwrites r1 to r5.
///
/// xoshiro256++: D. Blackman and S. Vigna, "Scrambled Linear Pseudorandom Number Generators", ACM TOMS 47(4),
/// 2021.
const NEXT_RANDOM: &str = "
    ldxdw r1, [r6]
    ldxdw r2, [r6+8]
    ldxdw r3, [r6+16]
    ldxdw r4, [r6+24]
    mov64 r0, r1
    add64 r0, r4
    mov64 r5, r0
    lsh64 r0, 23
    rsh64 r5, 41
    or64 r0, r5
    add64 r0, r1
    mov64 r5, r2
    lsh64 r5, 17
    xor64 r3, r1
    xor64 r4, r2
    xor64 r2, r3
    xor64 r1, r4
    xor64 r3, r5
    mov64 r5, r4
    lsh64 r4, 45
    rsh64 r5, 19
    or64 r4, r5
    stxdw [r6], r1
    stxdw [r6+8], r2
    stxdw [r6+16], r3
    stxdw [r6+24], r4
";

/// Loads the channel's state.
const STATE: &str = "ldxdw r7, [r6+32]\n";
/// Value of a bad channel; a good one is 0.
const BAD: u32 = 1;

/// Independent losses.
pub(super) fn independent(spec: &LossSpec, seed: u64) -> Result<LossProgram, String> {
    let probability = checked_probability("probability", spec.probability)?;
    Ok(LossProgram::new(
        &format!("{NEXT_RANDOM}{}", if_happens(probability, LOSE, PASS)),
        initial_state(seed, "loss"),
    ))
}

/// Losses in bursts.
pub(super) fn in_bursts(spec: &GilbertElliottSpec, seed: u64) -> Result<LossProgram, String> {
    let [to_bad, to_good] = [checked_probability("p", spec.p)?, checked_probability("r", spec.r)?];
    let [good, bad] =
        [checked_probability("loss_good", spec.loss_good)?, checked_probability("loss_bad", spec.loss_bad)?];
    let turned = |state: u32| format!("mov64 r1, {state}\nstxdw [r6+32], r1\n");
    let change = if_bad(&if_happens(to_good, &turned(0), ""), &if_happens(to_bad, &turned(BAD), ""));
    let fate = if_bad(&if_happens(bad, LOSE, PASS), &if_happens(good, LOSE, PASS));
    let text = format!("{NEXT_RANDOM}{change}{NEXT_RANDOM}{fate}");
    Ok(LossProgram::new(&text, initial_state(seed, "gilbert_elliott")))
}

impl LossProgram {
    /// Loss of every packet.
    pub(crate) fn all() -> LossProgram {
        LossProgram::new(LOSE, [0; 4])
    }

    fn new(text: &str, [a, b, c, d]: [u64; 4]) -> LossProgram {
        LossProgram { code: assembled(text), memory: [a, b, c, d, 0] }
    }
}

/// Branches on the random number.
fn if_happens(probability: Probability, then: &str, otherwise: &str) -> String {
    match probability.bound() {
        None => then.to_owned(),
        Some(bound) => either(&format!("lddw r5, {bound:#x}\njge r0, r5"), then, otherwise),
    }
}

/// Branches on the state of the channel.
fn if_bad(then: &str, otherwise: &str) -> String {
    either(&format!("{STATE}jne r7, {BAD}"), then, otherwise)
}

/// Two branches, the first of which is skipped if the jump `unless` is taken.
fn either(unless: &str, then: &str, otherwise: &str) -> String {
    let over = instructions(otherwise);
    // A branch that ends the program needs no jump.
    let on = if over == 0 || then.ends_with("exit\n") { String::new() } else { format!("ja +{over}\n") };
    let mut text = String::new();
    _ = write!(text, "{unless}, +{}\n{then}{on}{otherwise}", instructions(then) + instructions(&on));
    text
}

fn instructions(text: &str) -> usize {
    assembled(text).len() / INSTRUCTION_BYTES
}

fn assembled(text: &str) -> Vec<u8> {
    assemble(text).expect("the text is made here")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use tussle_core::Time;
    use tussle_core::net::packet::{Kind, Packet};
    use tussle_core::net::path::ElementKind;

    /// Packets among `count` that a program loses, starting with its initial memory.
    fn lost_by_program(losses: &LossProgram, count: usize) -> Vec<bool> {
        let code = [assembled("mov64 r6, r1"), losses.code.clone()].concat();
        let machine = rbpf::EbpfVmRaw::new(Some(&code)).unwrap();
        let mut memory: Vec<u8> = losses.memory.iter().flat_map(|word| word.to_le_bytes()).collect();
        (0..count).map(|_| machine.execute_program(&mut memory).unwrap() == 2).collect()
    }

    fn lost_by_element(kind: &ElementKind, seed: u64, count: usize) -> Vec<bool> {
        let mut element = kind.build(seed).unwrap();
        let packet = Packet { size_bytes: 1500, ..Packet::new(Kind::Data, 0) };
        (0..count).map(|_| element.accept(packet, Time::ZERO, &mut Vec::new()).is_none()).collect()
    }

    #[test]
    fn programs_lose_the_same_packets_as_the_simulator() {
        for probability in [0.0, 0.0001, 0.01, 0.5, 1.0] {
            let spec: LossSpec = serde_json::from_value(json!({"probability": probability})).unwrap();
            let lost = lost_by_program(&independent(&spec, 7).unwrap(), 20_000);
            assert_eq!(lost, lost_by_element(&ElementKind::Loss(spec), 7, 20_000), "{probability}");
        }
        for (p, r, good, bad) in [(0.01, 0.1, 0.0, 1.0), (0.3, 0.2, 0.01, 0.5), (1.0, 0.0, 1.0, 0.2)] {
            let spec: GilbertElliottSpec =
                serde_json::from_value(json!({"p": p, "r": r, "loss_good": good, "loss_bad": bad})).unwrap();
            let lost = lost_by_program(&in_bursts(&spec, 9).unwrap(), 20_000);
            assert_eq!(lost, lost_by_element(&ElementKind::GilbertElliott(spec), 9, 20_000), "{p} {r}");
        }
    }

    /// 1 % of 20 000 are 200. Tolerance: five standard deviations of sqrt(200 × 0.99) = 14.
    #[test]
    fn a_program_loses_packets_with_its_probability() {
        let losses = independent(&LossSpec { probability: 0.01 }, 3).unwrap();
        let lost = lost_by_program(&losses, 20_000).iter().filter(|lost| **lost).count();
        assert!((130..=270).contains(&lost), "{lost}");
    }

    #[test]
    fn no_packet_passes_a_loss_of_100_percent() {
        assert_eq!(lost_by_program(&LossProgram::all(), 3), [true; 3]);
    }

    #[test]
    fn a_probability_above_one_is_refused() {
        let problem = independent(&LossSpec { probability: 1.5 }, 3).unwrap_err();
        assert_eq!(problem, "probability: 1.5; give 0 to 1");
    }
}
