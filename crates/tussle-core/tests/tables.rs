//! What the algorithms do, as tables for a reviewer: a change of behaviour is a diff of packets.
//!
//! The tables are in `tests/snapshots`; `cargo insta review` shows and takes changes. What must be right
//! whatever they say is asserted beside them. Clocks are synchronised, so that LP is not Reno.

mod common;

use std::fmt::Write as _;

use tussle_core::Outcome;
use tussle_core::cc::REGISTRY;
use tussle_core::net::packet::HEADER_BYTES;
use tussle_core::run::FlowSpec;

use common::network::{Dumbbell, MSS_BYTES, NS_PER_S, flow, simulate, synchronised};
use common::tables::{counts, quantities};

const RATE_BIT_PER_S: u64 = 20_000_000;
const RTT_MS: u64 = 40;
/// The steady interval: whole seconds after the start.
const STEADY_S: (u64, u64) = (10, 70);

/// What a flow did in the steady interval, in packets.
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

/// All that the flows of `outcome` delivered crossed `path` in the steady interval, or waited for a gap to
/// be filled when it began: a window of each flow at most.
fn assert_the_link_could(path: Dumbbell, outcome: &Outcome) {
    let rows = rows(outcome);
    let window = path.bdp_packets() + path.buffer_packets;
    let packet_bits = 8 * u64::from(MSS_BYTES + HEADER_BYTES);
    let carried = RATE_BIT_PER_S * (STEADY_S.1 - STEADY_S.0) / packet_bits;
    let most = carried + window * rows.len() as u64;
    let delivered: u64 = rows.iter().map(|row| row.delivered).sum();
    assert!(delivered <= most, "{delivered} packets over a link that carries {most}");
    assert!(
        quantities(&outcome.links, "utilisation").iter().all(|utilisation| (0.0..=1.0).contains(utilisation))
    );
}

/// Delivered plus dropped is arrived, but for what waits at the end.
fn assert_packets_are_conserved(path: Dumbbell, outcome: &Outcome) {
    let last = |column| *counts(&outcome.links, column).last().expect("the link has rows");
    let there = last("arrived_packets") - last("delivered_packets") - last("dropped_packets");
    assert!(there <= path.buffer_packets + 1, "{there} packets wait in a queue of {}", path.buffer_packets);
}

/// Algorithms that leave part of an idle link unused, and what part they use with a buffer of a BDP.
const MODEST: [(&str, u64); 3] = [
    // LP's own queue, beyond 15 % of the greatest delay seen, is a sign of others to it: it halves, and
    // falls to one packet when that happens again within a second. A window of one packet waits for delayed ACKs,
    // which are such a sign again: Linux's own LP delivers as little here, to the packet.
    ("lp", 1),
    // CDG backs off to 0.7 of the window whenever the delay rises, with a probability that grows with it.
    ("cdg", 85),
    // Vivace tries rates below its own as often as above, and its utility falls as soon as the delay rises.
    ("vivace", 85),
];

/// The least part of an idle link, in percent, that an algorithm uses with a buffer of a BDP or more.
fn least_use_percent(algorithm: &str) -> u64 {
    MODEST.iter().find(|(name, _)| *name == algorithm).map_or(95, |(_, percent)| *percent)
}

/// Algorithms that a deeper buffer costs more than a hundredth, as its delay means something to them: to LP
/// that others are there, to YeAH that it is to be Reno instead of Scalable.
const SHY_OF_DELAY: [&str; 2] = ["lp", "yeah"];

/// One flow, buffers of 0.1 to 2 BDP. A deeper buffer never costs throughput. With a whole BDP the window that is left after a loss keeps the link
/// busy.
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
            assert_the_link_could(path, &outcome);
            assert_packets_are_conserved(path, &outcome);
            let Row { delivered, retransmitted, timeouts } = rows(&outcome)[0];
            let _ = writeln!(
                table,
                "{:9}  {:6}  {delivered:9}  {retransmitted:13}  {timeouts:8}",
                entry.name, path.buffer_packets
            );
            let shy = SHY_OF_DELAY.contains(&entry.name);
            assert!(
                shy || delivered >= shallower - shallower / 100,
                "{} loses by a deeper buffer",
                entry.name
            );
            shallower = delivered;
            let least = 1_000 * least_use_percent(entry.name);
            assert!(percent < 100 || delivered >= least, "{} leaves the link idle: {delivered}", entry.name);
        }
    }
    insta::assert_snapshot!(table);
}

/// Each algorithm with its own kind, with Reno and with CUBIC, which start a second later; the buffer is 1
/// BDP. Together they fill the link, whoever wins; two alike share it better than 3 to 1.
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
            assert_the_link_could(path, &outcome);
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
            let alike = first.name == second;
            assert!(!alike || a.max(b) <= 3 * a.min(b), "two {second} share {a} to {b}");
            assert!(a + b >= least, "{} and {second} leave the link idle: {a} + {b}", first.name);
        }
    }
    insta::assert_snapshot!(table);
}
