//! Behaviour of flows, compared with theory.

use tussle_core::Outcome;
use tussle_core::run::FlowSpec;

use crate::common::network::{
    Dumbbell, MSS_BYTES, NS_PER_MS, NS_PER_S, PACKET_BYTES, delay, flow, loss, run, simulate,
};
use crate::common::tables::{counts, jain, maybe_quantities, quantities};

/// Rate in bit/s and RTT in ms of the path in the speed benchmark.
const BENCH: (u64, u64) = (200_000_000, 100);

/// Utilisation of the bottleneck in the steady interval, from the row at its end.
fn utilisation(outcome: &Outcome) -> f64 {
    *quantities(&outcome.links, "utilisation").last().expect("the run ends with its steady interval")
}

fn steady_bytes(outcome: &Outcome) -> Vec<u64> {
    counts(&outcome.flows, "steady_delivered_bytes")
}

#[expect(clippy::cast_precision_loss, reason = "counts of a test are far below 2^53")]
fn ratio(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}

/// CUBIC reduces its window to 0.7 at a loss. With a buffer of 1 BDP that leaves 1.4 BDP: the queue never
/// empties, and only the start of the flow leaves the link idle.
#[test]
fn one_cubic_flow_over_the_bench_path_uses_nine_tenths_of_the_link() {
    let path = Dumbbell::with_buffer_percent(BENCH.0, BENCH.1, 100);
    assert_eq!(path.buffer_packets, 1667);
    let outcome = simulate(&path.run(vec![flow("cubic")], 0..60));
    assert!(utilisation(&outcome) >= 0.90, "{}", utilisation(&outcome));
}

/// Sawtooth of Reno, which adds one packet per round trip and halves its window at a loss (Linux counts
/// packets, so that delayed ACKs do not slow the growth). With a BDP of B packets and a buffer of b B, the
/// window rises from W/2 to W = (1 + b) B. Below B, w packets are delivered per round trip of length R; above
/// B, the round trip lasts R w / B, and the rate is the link's.
#[derive(Clone, Copy, Debug)]
struct Sawtooth {
    bdp_packets: f64,
    /// Window at the loss, in BDP.
    top: f64,
}

impl Sawtooth {
    fn new(buffer_bdp: f64, bdp_packets: f64) -> Sawtooth {
        Sawtooth { bdp_packets, top: 1.0 + buffer_bdp }
    }

    /// Period of the sawtooth in base RTTs: B (1 - t/2) round trips of length 1 below the BDP, and ∫ w/B dw =
    /// B (t² - 1) / 2 above it.
    fn period_rtt(self) -> f64 {
        let bottom = (self.top / 2.0).min(1.0);
        self.bdp_packets * ((1.0 - bottom) + (self.top.powi(2) - (self.top / 2.0).max(1.0).powi(2)) / 2.0)
    }

    /// Packets of a period over those that the link could have carried: ∫ w dw = 3/8 W² over B × period.
    fn utilisation(self) -> f64 {
        let packets = 3.0 / 8.0 * (self.top * self.bdp_packets).powi(2);
        packets / (self.bdp_packets * self.period_rtt())
    }
}

/// t = 1.1: ∫ w dw = 3/8 × 1.21 = 0.454 B²; a period lasts 0.45 + (1.21 - 1)/2 = 0.555 B round trips: the
/// utilisation is 0.454 / 0.555 = 0.818. A period is 0.555 × 1667 × 0.1 s = 92 s, and four whole periods are
/// measured, from 100 s on.
#[test]
fn the_utilisation_of_reno_with_a_tenth_of_a_bdp_is_that_of_its_sawtooth() {
    let path = Dumbbell::with_buffer_percent(BENCH.0, BENCH.1, 10);
    let sawtooth = Sawtooth::new(0.1, 1666.7);
    assert!((sawtooth.utilisation() - 0.818).abs() < 0.001, "{}", sawtooth.utilisation());
    assert!((sawtooth.period_rtt() / 10.0 - 92.5).abs() < 0.1, "{}", sawtooth.period_rtt());
    let outcome = simulate(&path.run(vec![flow("reno")], 100..100 + 4 * 92));
    let found = utilisation(&outcome);
    assert!((found - sawtooth.utilisation()).abs() <= 0.02, "{found}, not {}", sawtooth.utilisation());
}

/// t = 2: half of the window is the BDP, so that the queue is just empty after each loss: 3/8 × 4 / (3/2) =
/// 1.
#[test]
fn reno_with_a_bdp_of_buffer_fills_the_link() {
    let path = Dumbbell::with_buffer_percent(BENCH.0, BENCH.1, 100);
    let sawtooth = Sawtooth::new(1.0, 1666.7);
    assert!((sawtooth.utilisation() - 1.0).abs() < 1e-9);
    let outcome = simulate(&path.run(vec![flow("reno")], 50..250));
    assert!(utilisation(&outcome) >= 0.97, "{}", utilisation(&outcome));
}

/// Both flows have a loss when the queue overflows, both halve their windows, and both add one packet per
/// round trip: each loss halves the difference of their windows (Chiu and Jain, 1989). The second flow starts
/// half a second later, to avoid lockstep.
#[test]
fn two_equal_reno_flows_share_equally() {
    let path = Dumbbell::with_buffer_percent(100_000_000, 40, 100);
    let late = FlowSpec { start_ns: NS_PER_S / 2, ..flow("reno") };
    let outcome = simulate(&path.run(vec![flow("reno"), late], 0..300));
    let shares = steady_bytes(&outcome);
    assert!(jain(&shares) >= 0.95, "{shares:?}");
}

/// Vegas keeps two to four packets in the queue, and yields to the queueing delay that Reno causes. Source:
/// Mo, La, Anantharam and Walrand, INFOCOM 1999.
#[test]
fn vegas_gets_less_than_a_third_against_reno() {
    let path = Dumbbell::with_buffer_percent(100_000_000, 40, 100);
    for flows in [["vegas", "reno"], ["reno", "vegas"]] {
        let outcome = simulate(&path.run(flows.iter().map(|name| flow(name)).collect(), 10..70));
        let shares = steady_bytes(&outcome);
        let vegas = flows.iter().position(|&name| name == "vegas").expect("one of the two");
        let share = ratio(shares[vegas], shares.iter().sum());
        assert!(share < 1.0 / 3.0, "{flows:?}: {share}");
    }
}

/// Packets per RTT of a flow with random loss, over a path of 100 ms without a queue.
fn packets_per_rtt_at_loss(probability: f64, seed: u64) -> f64 {
    let elements =
        vec![delay("forward", 50 * NS_PER_MS), delay("back", 50 * NS_PER_MS), loss("loss", probability)];
    let flow = FlowSpec {
        forward: vec!["loss".to_owned(), "forward".to_owned()],
        reverse: vec!["back".to_owned()],
        ..flow("reno")
    };
    let seconds = 2000;
    let mut run = run(elements, vec![flow], 10 * NS_PER_S..(10 + seconds) * NS_PER_S);
    run.seed = seed;
    ratio(steady_bytes(&simulate(&run))[0], u64::from(MSS_BYTES) * seconds * 10)
}

/// sqrt(3/2) / sqrt(p) packets per round trip: Mathis, Semke, Mahdavi and Ott, CCR 27(3), 1997, for one ACK
/// per packet. Linux counts acknowledged packets, which has the same effect.
#[test]
fn reno_under_random_loss_follows_the_inverse_square_root() {
    for probability in [0.001, 0.01_f64] {
        let theory = 1.5_f64.sqrt() / probability.sqrt();
        let found: f64 = (1..=3).map(|seed| packets_per_rtt_at_loss(probability, seed)).sum::<f64>() / 3.0;
        assert!((found / theory - 1.0).abs() <= 0.15, "{probability}: {found}, theory {theory}");
    }
}

/// Over a path with a delay only, 10, 20, 40… packets leave one round trip apart after the handshake: packet
/// n is delivered after 1 + k + 1/2 round trips, where k is the smallest integer with 10 × (2^(k+1) - 1) + 1 ≥ n: the window
/// does not hold the last packet back.
#[test]
fn a_short_flow_takes_the_handshake_and_its_slow_start_rounds() {
    for packets in [1, 10, 11, 12, 31, 32, 71, 72, 150] {
        let rounds = (0..20).find(|k| 10 * ((2 << k) - 1) + 1 >= packets).expect("one is enough");
        let elements = vec![delay("bottleneck", 30 * NS_PER_MS), delay("bottleneck-reverse", 30 * NS_PER_MS)];
        let bytes = packets * u64::from(MSS_BYTES) - 1;
        let short = FlowSpec { bytes: Some(bytes), start_ns: NS_PER_MS, ..flow("reno") };
        let outcome = simulate(&run(elements, vec![short], 0..2 * NS_PER_S));
        let expected_s = f64::from(60 + 60 * rounds + 30) / 1e3;
        assert_eq!(maybe_quantities(&outcome.flows, "completion_s"), [Some(expected_s)], "{packets} packets");
    }
}

/// Without reordering and spurious timeouts, each drop causes exactly one retransmission.
#[test]
fn retransmissions_equal_drops() {
    let path = Dumbbell::with_buffer_percent(20_000_000, 50, 50);
    let finite = |name| FlowSpec { bytes: Some(30_000_000), ..flow(name) };
    for name in ["reno", "cubic", "bic"] {
        let outcome = simulate(&path.run(vec![finite(name)], 0..60));
        let of = |column| counts(&outcome.flows, column)[0];
        assert!(maybe_quantities(&outcome.flows, "completion_s")[0].is_some(), "{name} is not done");
        assert!(of("dropped_packets") > 0, "{name} lost nothing");
        assert_eq!(of("retransmitted_packets"), of("dropped_packets"), "{name}");
    }
}

/// Base RTT 50 ms plus the transmission of 1500 bytes at 20 Mbit/s, 0.6 ms; a full queue of 83 packets
/// adds 49.8 ms.
#[test]
fn rtts_lie_between_the_base_rtt_and_that_of_a_full_queue() {
    let path = Dumbbell { rate_bit_per_s: 20_000_000, rtt_ms: 50, buffer_packets: 83 };
    let outcome = simulate(&path.run(vec![flow("reno"), flow("cubic")], 5..30));
    let of = |column| maybe_quantities(&outcome.flows, column).into_iter().map(|rtt| rtt.expect("measured"));
    assert!(of("rtt_min_ms").all(|rtt| rtt >= 50.6), "{:?}", outcome.flows);
    // The quantiles have a relative error of 1/256, and the ACK of a packet before a sacked one may be
    // delayed. RTTs in recovery are longer: they are the largest 1 %, as in Linux (117 ms).
    assert!(of("rtt_p95_ms").all(|rtt| rtt <= 100.4 * (1.0 + 1.0 / 256.0) + 1.0), "{:?}", outcome.flows);
}

/// The flow with the shorter RTT grows more often; with synchronised losses, goodput is proportional to
/// RTT^-1 to RTT^-2 (Lakshman and Madhow, 1997). Base RTTs of 20 and 80 ms and a common queue of up to 20 ms
/// give RTTs of 20…40 and 80…100 ms, a ratio of 2.5 to 4.
#[test]
fn the_flow_with_the_longer_rtt_gets_less() {
    let path = Dumbbell::with_buffer_percent(50_000_000, 20, 100);
    let long = FlowSpec { forward: vec!["distant".to_owned(), "bottleneck".to_owned()], ..flow("reno") };
    let mut run = path.run(vec![flow("reno"), long], 20..120);
    run.elements.push(delay("distant", 60 * NS_PER_MS));
    let shares = steady_bytes(&simulate(&run));
    let advantage = ratio(shares[0], shares[1]);
    assert!((2.5..=16.0).contains(&advantage), "{advantage}");
}

/// 1500 bytes at 9 Gbit/s take 1333.33… ns. If each transmission time was rounded down to nanoseconds,
/// 750 000 packets would save 0.25 ms, the time of 188 packets. The link carries rate × time, within one packet.
#[test]
fn a_full_link_carries_exactly_its_rate() {
    let path = Dumbbell { rate_bit_per_s: 9_000_000_000, rtt_ms: 1, buffer_packets: 1000 };
    let outcome = simulate(&path.run(vec![flow("reno")], 1..2));
    let bytes = counts(&outcome.links, "delivered_bytes");
    let (carried, expected) = (bytes[1] - bytes[0], path.rate_bit_per_s / 8);
    assert!(carried.abs_diff(expected) <= PACKET_BYTES, "{carried} bytes, not {expected}");
    assert!((utilisation(&outcome) - 1.0).abs() < 1e-12);
}
