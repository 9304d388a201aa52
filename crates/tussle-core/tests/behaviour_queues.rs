//! Behaviour of queue disciplines, compared with their RFCs and papers.

use serde_json::{Value, json};
use tussle_core::Outcome;
use tussle_core::net::path::{ElementKind, LinkSpec};
use tussle_core::net::queue::{Limits, QueueSpec};
use tussle_core::run::{FlowSpec, Sampling};

use crate::common::network::{NS_PER_MS, NS_PER_S, delay, element, flow, run, simulate};
use crate::common::queues::queue_named;
use crate::common::tables::{counts, maybe_quantities, quantities};

/// A link, and the steady interval of a run over it.
#[derive(Clone, Copy, Debug)]
struct Path {
    rate_bit_per_s: u64,
    rtt_ms: u64,
    steady_s: (u64, u64),
}

/// A packet takes 0.6 ms; the BDP is 167 packets.
const LONG: Path = Path { rate_bit_per_s: 20_000_000, rtt_ms: 100, steady_s: (20, 60) };
/// A packet takes 0.6 ms; the BDP is 33 packets.
const SHORT: Path = Path { rtt_ms: 20, steady_s: (10, 40), ..LONG };

fn simulated(path: Path, queue: QueueSpec, flows: Vec<FlowSpec>) -> Outcome {
    let half_ns = path.rtt_ms * NS_PER_MS / 2;
    let link =
        LinkSpec { rate_bit_per_s: path.rate_bit_per_s, delay_ns: half_ns, queue, changes: Vec::new() };
    let elements = vec![element("bottleneck", ElementKind::Link(link)), delay("bottleneck-reverse", half_ns)];
    let (from_s, to_s) = path.steady_s;
    let mut run = run(elements, flows, from_s * NS_PER_S..to_s * NS_PER_S);
    run.record.sampling = Sampling::EveryNs(100 * NS_PER_MS);
    simulate(&run)
}

/// Specifications of `count` flows with one algorithm.
fn flows(algorithm: &str, count: usize) -> Vec<FlowSpec> {
    (0..count).map(|_| flow(algorithm)).collect()
}

#[expect(clippy::cast_precision_loss, reason = "a run has few rows")]
fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The values of a column of the link in the steady interval.
fn steady<T: Copy>(path: Path, outcome: &Outcome, column: &[T]) -> Vec<T> {
    let times_s = quantities(&outcome.links, "time_s");
    let begins_s = f64::from(u32::try_from(path.steady_s.0).expect("a run takes seconds"));
    times_s.iter().zip(column).filter(|(time_s, _)| **time_s > begins_s).map(|(_, value)| *value).collect()
}

/// Mean backlog in the steady interval, in packets.
fn mean_packets(path: Path, outcome: &Outcome) -> f64 {
    mean(&steady(path, outcome, &quantities(&outcome.links, "mean_backlog_packets")))
}

/// With packets of 0.6 ms the sojourn time exceeds 5 ms at 8.3 queued packets. Reno adds one packet per round
/// trip, which is as long as CoDel's interval: one until a packet is marked, and one until the sender
/// receives the mark; delayed ACKs release two at a time, so that up to 11 packets are queued. Then the
/// window is half of 177, and takes 78 round trips to the BDP and 10 more to the next mark: the utilisation
/// is (78 × (89 + 167) / 2 / 167 + 10) / 88 = 79 %.
#[test]
fn a_single_flow_exceeds_codels_target_by_its_growth_in_an_interval() {
    for name in ["codel", "fq_codel", "cake"] {
        let outcome = simulated(LONG, queue_named(name, Limits::default()), flows("reno", 1));
        let most = steady(LONG, &outcome, &counts(&outcome.links, "max_backlog_packets"));
        let most = most.into_iter().max().expect("there are samples");
        assert!((9..=11).contains(&most), "{name}: {most}");
        let used = mean(&steady(LONG, &outcome, &quantities(&outcome.links, "utilisation")));
        assert!((0.76..0.82).contains(&used), "{name}: {used}");
    }
}

/// An integral controller is in equilibrium only at its target: 15 ms are 25 packets, whatever the number of
/// flows. Tolerance: 15 %. A few flows alone would oscillate so strongly that they empty the queue.
#[test]
fn pie_and_dualpi2_hold_the_queueing_delay_at_their_target() {
    for name in ["pie", "dualpi2"] {
        for count in [16, 64] {
            let outcome = simulated(LONG, queue_named(name, Limits::default()), flows("reno", count));
            let packets = mean_packets(LONG, &outcome);
            assert!((21.25..28.75).contains(&packets), "{count} flows over {name}: {packets}");
        }
    }
}

/// The thresholds are 20 and 80 packets, and the target range of Adaptive RED is 44 to 56. A probability of 2
/// % at the upper threshold is too much for 16 flows and too little for 64.
#[test]
fn the_queue_of_adaptive_red_does_not_depend_on_the_number_of_flows() {
    let packets = |red: &Value| {
        let queue: QueueSpec = serde_json::from_value(red.clone()).expect("these are settings of red");
        [16, 64].map(|count| mean_packets(LONG, &simulated(LONG, queue.clone(), flows("reno", count))))
    };
    let mut red = json!({"kind": "red", "min_packets": 20.0, "max_packets": 80.0, "adaptive": false});
    let [few, many] = packets(&red);
    assert!(few < 40.0 && many > 70.0, "{few}, {many}");
    red["adaptive"] = json!(true);
    let [few, many] = packets(&red);
    assert!((42.0..58.0).contains(&few) && (42.0..58.0).contains(&many), "{few}, {many}");
}

/// Four algorithms that share a FIFO as 1 : 2 : 6 : 2, and after 15 s a flow of ten packets. With fair
/// queueing each of the four gets a quarter, less the capacity that its own queue leaves unused after a loss.
/// The short flow takes two round trips of 20 ms, the service of four other flows for each packet, 10 × 5 ×
/// 0.6 ms = 30 ms, and a packet at each end; through a FIFO of 500 packets it has a queueing delay of 300 ms
/// twice.
#[test]
fn fair_queues_divide_equally_and_serve_a_short_flow_quickly() {
    let all = || {
        let short = FlowSpec { start_ns: 15 * NS_PER_S, bytes: Some(10 * 1448), ..flow("reno") };
        ["reno", "cubic", "scalable", "bbr"].map(flow).into_iter().chain([short]).collect()
    };
    let measured = |name, limit_packets| {
        let outcome =
            simulated(SHORT, queue_named(name, Limits { packets: limit_packets, bytes: None }), all());
        let completion_s = maybe_quantities(&outcome.flows, "completion_s")[4].expect("it is short");
        (counts(&outcome.flows, "steady_delivered_bytes"), completion_s)
    };
    for name in ["fq_codel", "fq_pie", "cake", "sfq"] {
        let (bytes, completion_s) = measured(name, None);
        let (least, most) = (bytes[..4].iter().min(), bytes[..4].iter().max());
        assert!(most.expect("four") * 100 < least.expect("four") * 110, "{name}: {bytes:?}");
        assert!(completion_s < 0.075, "{name}: {completion_s}");
    }
    let (bytes, completion_s) = measured("fifo", Some(500));
    assert!(bytes[2] > 3 * bytes[0] && completion_s > 0.3, "{bytes:?}, {completion_s}");
}

/// Reno's window is 1.22 / √p packets, and p is the square of p'. A flow that reduces its window by half a
/// packet per mark and grows by one per round trip has 2 / (2 p') packets, about as many. Their RTTs are the
/// base RTT of 20 ms plus a queueing delay of 15 ms for Reno, and of less than 1 ms for the scalable flow.
#[test]
fn dualpi2_gives_classic_and_scalable_flows_equal_windows_but_not_equal_delays() {
    let path = Path { rate_bit_per_s: 100_000_000, ..SHORT };
    for ecn in [false, true] {
        let classic = FlowSpec { ecn, ..flow("reno") };
        let all = (0..5).flat_map(|_| [classic.clone(), flow("prague")]).collect();
        check_equal_windows_and_different_delays(&simulated(
            path,
            queue_named("dualpi2", Limits::default()),
            all,
        ));
    }
}

/// Checks goodputs and delays of flows that are alternately classic and scalable.
fn check_equal_windows_and_different_delays(outcome: &Outcome) {
    let bytes = counts(&outcome.flows, "steady_delivered_bytes");
    let rtts_ms: Vec<f64> = maybe_quantities(&outcome.flows, "rtt_mean_ms")
        .into_iter()
        .map(|rtt| rtt.expect("all send"))
        .collect();
    let of = |first: usize, values: &[f64]| {
        mean(&values.iter().skip(first).step_by(2).copied().collect::<Vec<_>>())
    };
    let windows: Vec<f64> =
        bytes.iter().zip(&rtts_ms).map(|(&bytes, rtt_ms)| mean_rate(bytes) * rtt_ms).collect();
    let ratio = of(0, &windows) / of(1, &windows);
    assert!((0.75..1.5).contains(&ratio), "{ratio}");
    let (classic_ms, scalable_ms) = (of(0, &rtts_ms), of(1, &rtts_ms));
    assert!((33.0..38.0).contains(&classic_ms) && scalable_ms < 21.0, "{classic_ms}, {scalable_ms}");
}

#[expect(clippy::cast_precision_loss, reason = "bytes of a test are far below 2^53")]
fn mean_rate(bytes: u64) -> f64 {
    bytes as f64 / 30.0
}
