//! What a run takes of the machine's memory, counted by the allocator: a matter of layout, not of chance.

mod common;

use allocation_counter::measure;
use tussle_core::run::FlowSpec;
use tussle_core::{Progress, Run, Simulation};

use common::network::{Dumbbell, MSS_BYTES, NS_PER_S, flow, loss};
use common::tables::counts;

/// No more than that.
const BYTES_A_PACKET: u64 = 100;
const BYTES_A_FLOW: u64 = 4096;

const RTT_MS: u64 = 100;
const IDLE_S: u64 = 10;

/// Simulates to the end: the bytes that are held then, and the packets in flight.
fn held(run: &Run) -> (u64, u64) {
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

/// A flow whose window of `packets` the receiver limits: half of it on the way, half of it waiting.
fn limited_to(packets: u64) -> Run {
    let rate_bit_per_s = packets * 1500 * 8 * 1000 / (2 * RTT_MS);
    let path = Dumbbell { rate_bit_per_s, rtt_ms: RTT_MS, buffer_packets: packets };
    let window = FlowSpec { receive_window_bytes: Some(packets * u64::from(MSS_BYTES)), ..flow("reno") };
    path.run(vec![window], (0, 4))
}

/// 66 000 is just above a power of two: the worst for rings that double.
#[test]
fn a_packet_in_flight_takes_less_than_a_hundred_bytes() {
    let (flow_alone_bytes, _) = held(&limited_to(10));
    let mut each = Vec::new();
    for window in [1_000, 10_000, 66_000, 100_000] {
        let (bytes, packets) = held(&limited_to(window));
        assert!(packets >= window * 99 / 100, "{packets} of {window} are in flight");
        let packet_bytes = (bytes - flow_alone_bytes) / packets;
        println!("memory: each of {window} packets in flight: {packet_bytes} bytes");
        each.push(packet_bytes);
    }
    assert!(each.iter().all(|bytes| *bytes < BYTES_A_PACKET), "{each:?}");
}

/// What a flow more takes.
fn flow_bytes(like: &FlowSpec) -> u64 {
    const MORE: usize = 1000;
    let path = Dumbbell { rate_bit_per_s: 1_000_000_000, rtt_ms: RTT_MS, buffer_packets: 1_000_000 };
    let of = |flows| held(&path.run(vec![like.clone(); flows], (0, IDLE_S))).0;
    (of(1 + MORE) - of(1)) / MORE as u64
}

#[test]
fn an_idle_flow_takes_less_than_four_kilobytes() {
    let done = FlowSpec { bytes: Some(10 * u64::from(MSS_BYTES)), ..flow("cubic") };
    let waiting = FlowSpec { start_ns: IDLE_S * NS_PER_S - 1, ..flow("cubic") };
    let each =
        [("that has sent ten packets", done), ("that waits for its start", waiting)].map(|(state, like)| {
            let bytes = flow_bytes(&like);
            println!("memory: a flow {state}: {bytes} bytes");
            bytes
        });
    assert!(each.iter().all(|bytes| *bytes < BYTES_A_FLOW), "{each:?}");
}

/// After a start in which rings reach their size. Each run goes on for two million events.
#[test]
fn a_run_under_way_allocates_nothing() {
    let path = Dumbbell::with_buffer_percent(100_000_000, 40, 100);
    let mut lossy = path.run(vec![flow("cubic"); 4], (0, 1000));
    lossy.elements.push(loss("loss", 0.01));
    lossy.flows.iter_mut().for_each(|flow| flow.forward.push("loss".to_owned()));
    for (name, run) in [
        ("a full window", limited_to(1000)),
        ("four flows", path.run(vec![flow("cubic"); 4], (0, 1000))),
        ("losses", lossy),
    ] {
        let mut simulation = Simulation::new(&run).expect("the run makes sense");
        let mut advance = |events| simulation.advance(events).expect("no invariant breaks");
        assert_eq!(advance(6_000_000), Progress::Going);
        let during = measure(|| assert_eq!(advance(2_000_000), Progress::Going));
        assert_eq!(during.count_total, 0, "{name}");
    }
}
