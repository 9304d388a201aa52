//! Memory of a run, counted by the allocator, and hence deterministic.

use allocation_counter::measure;
use tussle_core::run::FlowSpec;
use tussle_core::{Progress, Run, Simulation};

use crate::common::network::{Dumbbell, MSS_BYTES, NS_PER_MS, NS_PER_S, flow, loss};
use crate::common::tables::counts;

/// Upper bounds of the memory per packet in flight and per flow.
const MAX_PACKET_BYTES: u64 = 100;
const MAX_FLOW_BYTES: u64 = 4096;

const RTT_MS: u64 = 100;
/// Time after which the window is full, or ten packets have been sent.
const FILLED_S: u64 = 4;
const ENDLESS_S: u64 = 10_000;

/// Simulates a run to its end; returns the allocated bytes and the packets in flight.
fn measured(run: &Run) -> (u64, u64) {
    let mut simulation = None;
    let memory = measure(|| {
        let mut going = Simulation::new(run).expect("the run makes sense");
        while going.advance(u64::MAX).expect("no invariant breaks") == Progress::Going {}
        simulation = Some(going);
    });
    let outcome = simulation.expect("it was simulated").finish();
    let flows = run.flows.len();
    let in_flight = counts(&outcome.samples, "in_flight_packets");
    let bytes = u64::try_from(memory.bytes_current).expect("a simulation holds something");
    (bytes, in_flight[in_flight.len() - flows..].iter().sum())
}

/// A flow that the receive window limits to `packets`: half of them are on the path, half in the queue.
fn limited_to(packets: u64, duration_s: u64) -> Run {
    let rate_bit_per_s = packets * 1500 * 8 * 1000 / (2 * RTT_MS);
    let path = Dumbbell { rate_bit_per_s, rtt_ms: RTT_MS, buffer_packets: packets };
    let window = FlowSpec { receive_window_bytes: Some(packets * u64::from(MSS_BYTES)), ..flow("reno") };
    path.run(vec![window], 0..duration_s)
}

/// 66 000 is just above a power of two, which is the worst case for ring buffers that double.
#[test]
fn a_packet_in_flight_takes_less_than_a_hundred_bytes() {
    let (flow_alone_bytes, _) = measured(&limited_to(10, FILLED_S));
    let mut each = Vec::new();
    for window in [1_000, 10_000, 66_000, 100_000] {
        let (bytes, packets) = measured(&limited_to(window, FILLED_S));
        assert!(packets >= window * 99 / 100, "{packets} of {window} are in flight");
        let packet_bytes = (bytes - flow_alone_bytes) / packets;
        println!("memory: each of {window} packets in flight: {packet_bytes} bytes");
        each.push(packet_bytes);
    }
    assert!(each.iter().all(|bytes| *bytes < MAX_PACKET_BYTES), "{each:?}");
}

/// Memory per additional flow, in bytes; flows start `interval_ns` apart.
fn flow_bytes(like: &FlowSpec, interval_ns: u64) -> u64 {
    const MORE: u64 = 1000;
    let path = Dumbbell { rate_bit_per_s: 1_000_000_000, rtt_ms: RTT_MS, buffer_packets: 1000 };
    let started = |number| FlowSpec { start_ns: like.start_ns + number * interval_ns, ..like.clone() };
    let of = |flows| measured(&path.run((0..flows).map(started).collect(), 0..FILLED_S)).0;
    (of(1 + MORE) - of(1)) / MORE
}

/// Ten packets take 120 µs, so that flows which start a millisecond apart do not delay each other.
#[test]
fn an_idle_flow_takes_less_than_four_kilobytes() {
    let done = FlowSpec { bytes: Some(10 * u64::from(MSS_BYTES)), ..flow("cubic") };
    let opening = FlowSpec { start_ns: FILLED_S * NS_PER_S - 2000, ..flow("cubic") };
    let each = [("that has sent ten packets", done, NS_PER_MS), ("that opens", opening, 1)].map(
        |(state, like, interval_ns)| {
            let bytes = flow_bytes(&like, interval_ns);
            println!("memory: a flow {state}: {bytes} bytes");
            bytes
        },
    );
    assert!(each.iter().all(|bytes| *bytes < MAX_FLOW_BYTES), "{each:?}");
}

/// Allocations after a warm-up in which ring buffers reach their size. A window that oscillates may reach a
/// new maximum later. Two million events are one million packets.
#[test]
fn a_warmed_up_run_allocates_nothing() {
    let path = Dumbbell::with_buffer_percent(100_000_000, 40, 100);
    let mut lossy = path.run(vec![flow("cubic"); 4], 0..ENDLESS_S);
    lossy.elements.push(loss("loss", 0.01));
    lossy.flows.iter_mut().for_each(|flow| flow.forward.push("loss".to_owned()));
    for (name, run, growths) in [
        ("a full window", limited_to(1000, ENDLESS_S), 0),
        ("four flows", path.run(vec![flow("cubic"); 4], 0..ENDLESS_S), 3),
        ("losses", lossy, 3),
    ] {
        let mut simulation = Simulation::new(&run).expect("the run makes sense");
        let mut advance = |events| simulation.advance(events).expect("no invariant breaks");
        assert_eq!(advance(6_000_000), Progress::Going);
        let during = measure(|| assert_eq!(advance(2_000_000), Progress::Going));
        assert!(during.count_total <= growths, "{name}: {}", during.count_total);
    }
}
