//! Behaviour of algorithms that react to delay, to marks or to the delivery rate, compared with their papers.

use tussle_core::net::path::{ElementKind, LinkSpec};
use tussle_core::net::queue::{CodelSpec, QueueSpec, RedSpec, ThresholdSpec};
use tussle_core::run::{FlowSpec, Sampling};
use tussle_core::{Outcome, Run};

use crate::common::network::{
    Dumbbell, NS_PER_MS, NS_PER_S, delay, element, flow, loss, run, simulate, synchronised,
};
use crate::common::tables::{counts, maybe_quantities, quantities};

/// Start of the steady interval of a run with samples, in s.
const STEADY_FROM_S: u64 = 1;

#[expect(clippy::cast_precision_loss, reason = "counts of a test are far below 2^53")]
fn ratio(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}

/// Utilisation in the steady interval, from equidistant samples.
fn utilisation(outcome: &Outcome) -> f64 {
    let steady = steady_rows(outcome);
    let used = quantities(&outcome.links, "utilisation");
    steady.iter().map(|&row| used[row]).sum::<f64>() / ratio(steady.len() as u64, 1)
}

/// Indices of the link's rows in the steady interval.
fn steady_rows(outcome: &Outcome) -> Vec<usize> {
    let times = quantities(&outcome.links, "time_s");
    let begins = ratio(STEADY_FROM_S, 1).max(times[0]);
    (0..times.len()).filter(|&row| times[row] > begins).collect()
}

/// Mean RTT, in ms, and utilisation of a single flow.
fn alone(algorithm: &str, path: Dumbbell) -> (f64, f64) {
    let outcome = simulate(&synchronised(path.run(vec![flow(algorithm)], 20..80)));
    let rtt_ms = maybe_quantities(&outcome.flows, "rtt_mean_ms")[0].expect("the flow has RTTs");
    (rtt_ms, utilisation(&outcome))
}

/// With synchronised clocks LP uses only the remaining capacity, and a competing Reno flow gets nine tenths of the goodput of
/// its baseline run. Not in all runs: an estimate of the receiver's clock above a thousand ticks per second yields a delay
/// without meaning, after which the threshold is far above any delay. At 10 Mbit/s fewer ACKs enter the estimate.
#[test]
fn lp_yields_to_reno_in_most_runs_over_a_fast_link_and_in_some_over_a_slow_one() {
    let yields = |path: Dumbbell, start_ms| {
        let late = FlowSpec { start_ns: start_ms * NS_PER_S / 1000, ..flow("reno") };
        let shared = counts(
            &simulate(&synchronised(path.run(vec![flow("lp"), late.clone()], 20..80))).flows,
            "steady_delivered_bytes",
        );
        let alone = counts(&simulate(&path.run(vec![late], 20..80)).flows, "steady_delivered_bytes");
        ratio(shared[1], alone[0]) > 0.9
    };
    let [slow, fast] = [10_000_000, 100_000_000].map(|rate_bit_per_s| {
        let path = Dumbbell::with_buffer_percent(rate_bit_per_s, 50, 100);
        [400, 450, 500, 550, 600].into_iter().filter(|&start_ms| yields(path, start_ms)).count()
    });
    assert!(slow >= 1 && fast >= 4, "of five runs LP yields in {slow} and {fast}");
}

/// The receiver delays the ACK of a single packet by 40 ms, but not that of two packets: the estimated
/// forward delay alternates between 25 and 65 ms, which indicates congestion although the queue is empty.
#[test]
fn lp_mistakes_delayed_acks_for_a_queue_on_an_idle_link() {
    let (rtt_ms, used) = alone("lp", Dumbbell::with_buffer_percent(10_000_000, 50, 100));
    assert!(rtt_ms > 50.0 + 20.0 && used < 0.1, "{rtt_ms} ms, {used} used");
}

/// 37 Mbit/s and 63 ms with a buffer of 204 kB, 136 packets of 1500 bytes. Offsets from 2^29 on, seven of
/// eight, overflow LP's smoothed delay, and the flow delivers exactly as many bytes as Reno. About 20 × 7/8 =
/// 17.5 of 20 random offsets do. Tolerance: three standard deviations of sqrt(20 × 7/8 × 1/8) = 1.5.
#[test]
fn lp_is_reno_for_most_random_offsets_of_timestamps() {
    let path = Dumbbell { rate_bit_per_s: 37_000_000, rtt_ms: 63, buffer_packets: 136 };
    let delivered = |algorithm: &str, seed| {
        let run = Run { seed, ..path.run(vec![flow(algorithm)], 10..30) };
        counts(&simulate(&run).flows, "steady_delivered_bytes")[0]
    };
    let reno = delivered("reno", 1);
    let equal_to_reno = (1..=20).filter(|&seed| delivered("lp", seed) == reno).count();
    assert!((13..=20).contains(&equal_to_reno), "{equal_to_reno} of 20");
}

/// Packets per RTT that a single flow delivers over a link of 100 Mbit/s and 50 ms with random loss.
fn packets_per_rtt(algorithm: &str, probability: f64) -> f64 {
    let half_ns = 25 * NS_PER_MS;
    let path = Dumbbell::with_buffer_percent(100_000_000, 50, 100);
    let queue = QueueSpec::Fifo(tussle_core::net::queue::FifoSpec {
        limit_packets: Some(path.buffer_packets),
        limit_bytes: None,
    });
    let link =
        LinkSpec { rate_bit_per_s: path.rate_bit_per_s, delay_ns: half_ns, queue, changes: Vec::new() };
    let elements = vec![
        loss("loss", probability),
        element("bottleneck", ElementKind::Link(link)),
        delay("bottleneck-reverse", half_ns),
    ];
    let forward = vec!["loss".to_owned(), "bottleneck".to_owned()];
    let mut run = run(elements, vec![FlowSpec { forward, ..flow(algorithm) }], 10 * NS_PER_S..110 * NS_PER_S);
    let packets = (1..=3).map(|seed| {
        run.seed = seed;
        counts(&simulate(&run).flows, "steady_delivered_bytes")[0] / 1448
    });
    ratio(packets.sum(), 3 * 100 * 20)
}

/// Reno uses sqrt(3 / (2 × 0.01)) = 12.2 of the 417 packets that fit (Mathis et al., CCR 27(3), 1997). After
/// a loss, Westwood+ keeps the measured bandwidth × RTT instead of half of the window.
#[test]
fn westwood_beats_reno_under_random_loss_on_an_idle_link() {
    let (westwood, reno) = (packets_per_rtt("westwood", 0.01), packets_per_rtt("reno", 0.01));
    assert!((9.8..14.6).contains(&reno), "{reno}");
    assert!(westwood > 2.0 * reno, "{westwood} and {reno}");
}

/// With an empty queue YeAH reduces its window by an eighth, Reno by half: with a growth of one packet per
/// round trip, the mean window is sqrt((2 - b) / (2 b p)), sqrt(7.5 / 1.5) = 2.24 times Reno's.
#[test]
fn yeah_reduces_by_an_eighth_after_a_loss_without_congestion() {
    let found = packets_per_rtt("yeah", 0.01) / packets_per_rtt("reno", 0.01);
    assert!((2.24 / 1.2..2.24 * 1.2).contains(&found), "{found}");
}

/// With a buffer of three times the BDP, 150 ms, Reno's window is between two and four BDP, and its queue 50
/// to 150 ms. NV permits 10 queued packets, 1.2 ms; CDG backs off while the queue grows.
#[test]
fn nv_and_cdg_use_the_link_with_a_short_queue() {
    let path = Dumbbell::with_buffer_percent(100_000_000, 50, 300);
    assert!(alone("reno", path).0 > 100.0);
    for algorithm in ["nv", "cdg"] {
        let (rtt_ms, used) = alone(algorithm, path);
        assert!(rtt_ms < 60.0 && used > 0.9, "{algorithm}: {rtt_ms} ms, {used} used");
    }
}

/// Flows over a link with a delay of 0.5 ms and a given queue, sampled every millisecond from 1 s on.
fn in_a_data_centre(flows: Vec<FlowSpec>, rate_bit_per_s: u64, queue: QueueSpec) -> Run {
    let half_ns = NS_PER_MS / 4;
    let link = LinkSpec { rate_bit_per_s, delay_ns: half_ns, queue, changes: Vec::new() };
    let elements = vec![element("bottleneck", ElementKind::Link(link)), delay("bottleneck-reverse", half_ns)];
    let mut run = run(elements, flows, STEADY_FROM_S * NS_PER_S..3 * NS_PER_S);
    run.record.sampling = Sampling::EveryNs(NS_PER_MS);
    run
}

/// Smallest, mean and largest backlog in the steady interval, in packets.
fn backlog(outcome: &Outcome) -> (u64, f64, u64) {
    let rows = steady_rows(outcome);
    let now = counts(&outcome.links, "backlog_packets");
    let most = counts(&outcome.links, "max_backlog_packets");
    let mean = quantities(&outcome.links, "mean_backlog_packets");
    let sum: f64 = rows.iter().map(|&row| mean[row]).sum();
    (
        rows.iter().map(|&row| now[row]).min().expect("there are samples"),
        sum / ratio(rows.len() as u64, 1),
        rows.iter().map(|&row| most[row]).max().expect("there are samples"),
    )
}

/// N synchronised flows over a link with a BDP of C RTT packets: the queue oscillates between `K + N - A` and
/// `K + N`, where `A = sqrt(2 N (C RTT + K)) / 2` (Alizadeh et al., SIGCOMM, 2010, 3.3). At 1 Gbit/s, C RTT =
/// 42, and K = 65: A is 7.3, 10.3 and 20.7 for 1, 2 and 8 flows. Delayed ACKs release two packets at once, so
/// that each flow may add one more packet, at the top and at the bottom; imperfect synchronisation increases
/// the amplitude.
#[test]
fn dctcp_holds_a_marking_queue_at_its_threshold() {
    for (flows, swing) in [(1, 7.3), (2, 10.3), (8, 20.7)] {
        let threshold = ThresholdSpec { mark_above_packets: Some(65), ..ThresholdSpec::default() };
        let queue = QueueSpec::Threshold(threshold);
        let all = (0..flows).map(|_| flow("dctcp")).collect();
        let outcome = simulate(&in_a_data_centre(all, 1_000_000_000, queue));
        let (least, mean, most) = backlog(&outcome);
        let top = ratio(65 + flows, 1);
        assert!(ratio(least + flows, 1) >= top - 1.5 * swing, "{flows} flows: {least}");
        assert!((65.0 - swing / 2.0..=top).contains(&mean), "{flows} flows: {mean}");
        assert!(most <= 65 + 2 * flows + 2, "{flows} flows: {most}");
        assert!(utilisation(&outcome) > 0.999);
    }
}

/// Reno halves its window at a mark: of 42 + 10 packets 26 remain, less than the BDP of 42. DCTCP reduces its
/// window less.
#[test]
fn dctcp_uses_a_link_with_a_marking_threshold_too_low_for_reno() {
    let used = ["dctcp", "reno"].map(|algorithm| {
        let threshold = ThresholdSpec { mark_above_packets: Some(10), ..ThresholdSpec::default() };
        let flow = FlowSpec { ecn: true, ..flow(algorithm) };
        utilisation(&simulate(&in_a_data_centre(vec![flow], 1_000_000_000, QueueSpec::Threshold(threshold))))
    });
    assert!(used[0] > 0.98 && used[1] < 0.95, "{used:?}");
}

/// A marking queue drops no ECN-capable packets, and delivers or holds every accepted packet.
#[test]
fn marking_queues_do_not_drop_packets_of_ecn_flows() {
    let red = RedSpec {
        min_packets: 20.0,
        max_packets: 60.0,
        weight: 0.002,
        max_probability: 0.1,
        adaptive: false,
        ecn: true,
        limit_packets: None,
        limit_bytes: None,
    };
    let codel = CodelSpec {
        target_ns: 5 * NS_PER_MS,
        interval_ns: 100 * NS_PER_MS,
        ecn: true,
        limit_packets: None,
        limit_bytes: None,
    };
    let threshold = ThresholdSpec { mark_above_packets: Some(20), ..ThresholdSpec::default() };
    for queue in [QueueSpec::Red(red), QueueSpec::Codel(codel), QueueSpec::Threshold(threshold)] {
        for (ecn, reacts) in [(true, true), (false, false)] {
            let all = (0..4).map(|_| FlowSpec { ecn, ..flow("reno") }).collect();
            let links = simulate(&in_a_data_centre(all, 20_000_000, queue.clone())).links;
            let last = |name: &str| *counts(&links, name).last().expect("a run has a last row");
            assert_eq!(last("marked_packets") > 0, reacts, "{queue:?}");
            assert!(!reacts || last("dropped_packets") == 0, "{queue:?}");
            let held = last("arrived_packets") - last("dropped_packets") - last("backlog_packets");
            assert!(held - last("delivered_packets") <= 1, "one packet is being transmitted");
        }
    }
}

/// CoDel: four Reno flows with S packets of 0.6 ms in flight add 4 / (0.6 S) packets per ms, and a mark
/// removes S / 8. The n-th mark is due 200 √n ms after the first, so that after t ms there are t / 200 / 100
/// marks per ms, and S² = 4 × 8 × 20 000 / (0.6 t) = 1033² / t. S falls from 32 at 1 s to 19 at 3 s, 24 on
/// average, 2 of which are in propagation. Marks of a flow in recovery have no effect: with half of the marks
/// S is √2 times as large. Lost packets are not replaced during recovery, which this estimate neglects: over
/// eight random starts within 20 ms, Linux's codel holds 19.7 packets (standard error 0.5), and the
/// simulator's 19.0 (0.4). RED keeps its average between its thresholds.
#[test]
fn codel_and_red_keep_the_queue_of_reno_short() {
    let codel = CodelSpec {
        target_ns: 5 * NS_PER_MS,
        interval_ns: 100 * NS_PER_MS,
        ecn: false,
        limit_packets: None,
        limit_bytes: None,
    };
    let red = RedSpec {
        min_packets: 10.0,
        max_packets: 60.0,
        weight: 0.002,
        max_probability: 0.1,
        adaptive: false,
        ecn: false,
        limit_packets: None,
        limit_bytes: None,
    };
    for (queue, least, most) in [(QueueSpec::Codel(codel), 16.0, 32.0), (QueueSpec::Red(red), 10.0, 60.0)] {
        let all = (0..4).map(|_| flow("reno")).collect();
        let outcome = simulate(&in_a_data_centre(all, 20_000_000, queue));
        let (_, mean, _) = backlog(&outcome);
        assert!((least..most).contains(&mean), "{mean}");
        assert!(utilisation(&outcome) > 0.95, "{}", utilisation(&outcome));
    }
}
