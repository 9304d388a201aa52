//! Snapshots of the algorithms' behaviour as tables of packets: a change of behaviour is a diff for the
//! reviewer.
//!
//! The tables are in `tests/snapshots`; `cargo insta review` shows and accepts changes. Invariants are
//! asserted in addition. Clocks are synchronised, because with random timestamp offsets LP mostly behaves
//! like Reno.

use std::fmt::Write as _;
use std::ops::Range;

use tussle_core::Outcome;
use tussle_core::cc::REGISTRY;
use tussle_core::net::packet::HEADER_BYTES;
use tussle_core::run::FlowSpec;

use crate::common::network::{Dumbbell, MSS_BYTES, NS_PER_S, flow, simulate, synchronised};
use crate::common::tables::{counts, quantities};

const RATE_BIT_PER_S: u64 = 20_000_000;
const RTT_MS: u64 = 40;
/// The steady interval, in s after the start.
const STEADY_S: Range<u64> = 10..70;

/// Counts of a flow in the steady interval, in packets.
#[derive(Clone, Copy, Debug)]
struct Row {
    delivered: u64,
    retransmitted: u64,
    timeouts: u64,
}

fn rows(outcome: &Outcome) -> Vec<Row> {
    let of = |column| counts(&outcome.flows, column);
    let (bytes, retransmitted) = (of("steady_delivered_bytes"), of("steady_retransmitted_packets"));
    let row = |((bytes, retransmitted), timeouts)| Row {
        delivered: bytes / u64::from(MSS_BYTES),
        retransmitted,
        timeouts,
    };
    bytes.into_iter().zip(retransmitted).zip(of("steady_timeouts")).map(row).collect()
}

/// Checks that the link could carry the delivered packets: all of them crossed the link in the steady
/// interval, or were queued out of order at the receiver when it began, at most one window per flow.
fn assert_within_the_link_capacity(path: Dumbbell, outcome: &Outcome) {
    let rows = rows(outcome);
    let window = path.bdp_packets() + path.buffer_packets;
    let packet_bits = 8 * u64::from(MSS_BYTES + HEADER_BYTES);
    let carried = RATE_BIT_PER_S * (STEADY_S.end - STEADY_S.start) / packet_bits;
    let most = carried + window * rows.len() as u64;
    let delivered: u64 = rows.iter().map(|row| row.delivered).sum();
    assert!(delivered <= most, "{delivered} packets over a link that carries {most}");
    assert!(
        quantities(&outcome.links, "utilisation").iter().all(|utilisation| (0.0..=1.0).contains(utilisation))
    );
}

/// Checks that delivered, dropped and still queued packets add up to the arrived packets.
fn assert_packets_are_conserved(path: Dumbbell, outcome: &Outcome) {
    let last = |column| *counts(&outcome.links, column).last().expect("the link has rows");
    let queued = last("arrived_packets") - last("delivered_packets") - last("dropped_packets");
    assert!(queued <= path.buffer_packets + 1, "{queued} packets in a queue of {}", path.buffer_packets);
}

/// Algorithms that do not fill a link alone, with their smallest utilisation, in percent, for a buffer of 1
/// BDP.
const PARTIAL_USE: [(&str, u64); 3] = [
    // LP takes its own queue, above 15 % of the largest delay, for a competing flow: it halves its window,
    // and falls to one packet if that happens again within a second. The ACK of a single packet is delayed,
    // which is another indication: Linux's LP delivers exactly as little here.
    ("lp", 1),
    // CDG backs off to 0.7 of the window when the delay rises, with a probability that grows with the rise.
    ("cdg", 85),
    // Vivace probes lower rates as often as higher ones, and its utility falls as soon as the delay rises.
    ("vivace", 85),
];

/// Smallest utilisation of a single flow, in percent, for a buffer of at least 1 BDP.
fn least_use_percent(algorithm: &str) -> u64 {
    PARTIAL_USE.iter().find(|(name, _)| *name == algorithm).map_or(95, |(_, percent)| *percent)
}

/// Algorithms that may lose more than 1 % of goodput with a deeper buffer, because they react to its delay:
/// LP assumes competing flows, and YeAH grows like Reno instead of Scalable.
const DELAY_SENSITIVE: [&str; 2] = ["lp", "yeah"];

/// One flow with buffers of 0.1 to 2 BDP. A deeper buffer does not reduce the goodput. With 1 BDP the window
/// after a loss keeps the link busy.
#[test]
fn a_flow_alone_by_algorithm_and_buffer() {
    let mut table = "20 Mbit/s, 40 ms, BDP 67 packets; 60 s, so 100000 packets at most\n\
                     algorithm  buffer  delivered  retransmitted  timeouts\n"
        .to_owned();
    for entry in REGISTRY {
        let mut shallower = 0;
        for percent in [10, 50, 100, 200] {
            let path = Dumbbell::with_buffer_percent(RATE_BIT_PER_S, RTT_MS, percent);
            let outcome = simulate(&synchronised(path.run(vec![flow(entry.name)], STEADY_S)));
            assert_within_the_link_capacity(path, &outcome);
            assert_packets_are_conserved(path, &outcome);
            let Row { delivered, retransmitted, timeouts } = rows(&outcome)[0];
            let _ = writeln!(
                table,
                "{:9}  {:6}  {delivered:9}  {retransmitted:13}  {timeouts:8}",
                entry.name, path.buffer_packets
            );
            let is_delay_sensitive = DELAY_SENSITIVE.contains(&entry.name);
            assert!(
                is_delay_sensitive || delivered >= shallower - shallower / 100,
                "{} has less goodput with a deeper buffer",
                entry.name
            );
            shallower = delivered;
            let least = 1_000 * least_use_percent(entry.name);
            assert!(percent < 100 || delivered >= least, "{} leaves the link idle: {delivered}", entry.name);
        }
    }
    insta::assert_snapshot!(table);
}

/// Each algorithm against itself, Reno and CUBIC, which start a second later; the buffer is 1 BDP. Both flows
/// together fill the link, and two flows of one algorithm share it better than 3 to 1.
#[test]
fn each_pair_of_algorithms_on_one_bottleneck() {
    let path = Dumbbell::with_buffer_percent(RATE_BIT_PER_S, RTT_MS, 100);
    let mut table = "20 Mbit/s, 40 ms, buffer 1 BDP; packets of the steady 60 s\n\
                     first      second     first delivered  second delivered  retransmitted  timeouts\n"
        .to_owned();
    for first in REGISTRY {
        for second in [first.name, "reno", "cubic"] {
            let late = FlowSpec { start_ns: NS_PER_S, name: "late".to_owned(), ..flow(second) };
            let outcome = simulate(&synchronised(path.run(vec![flow(first.name), late], STEADY_S)));
            assert_within_the_link_capacity(path, &outcome);
            assert_packets_are_conserved(path, &outcome);
            let rows = rows(&outcome);
            let (a, b) = (rows[0].delivered, rows[1].delivered);
            let retransmitted = rows[0].retransmitted + rows[1].retransmitted;
            let timeouts = rows[0].timeouts + rows[1].timeouts;
            let _ = writeln!(
                table,
                "{:9}  {second:9}  {a:15}  {b:16}  {retransmitted:13}  {timeouts:8}",
                first.name
            );
            let least = 1_000 * least_use_percent(first.name).max(least_use_percent(second));
            let is_same = first.name == second;
            assert!(!is_same || a.max(b) <= 3 * a.min(b), "two {second} share {a} to {b}");
            assert!(a + b >= least, "{} and {second} leave the link idle: {a} + {b}", first.name);
        }
    }
    insta::assert_snapshot!(table);
}
