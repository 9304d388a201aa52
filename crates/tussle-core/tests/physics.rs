//! What theory says of whole flows, and whether they do it.

mod common;

use tussle_core::Outcome;
use tussle_core::run::FlowSpec;

use common::network::{
    Dumbbell, MSS_BYTES, NS_PER_MS, NS_PER_S, PACKET_BYTES, delay, flow, loss, run, simulate,
};
use common::tables::{counts, jain, maybe_quantities, quantities};

/// The path of the speed bench.
const BENCH: (u64, u64) = (200_000_000, 100);

/// Utilisation of the bottleneck in the steady interval: the link's row for its end.
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

/// CUBIC falls to 0.7 of the window at a loss. With a buffer of 1 BDP that is 1.4 BDP: the queue never
/// empties, and only the start costs anything.
#[test]
fn one_cubic_flow_over_the_bench_path_uses_nine_tenths_of_the_link() {
    let path = Dumbbell::with_buffer_percent(BENCH.0, BENCH.1, 100);
    assert_eq!(path.buffer_packets, 1667);
    let outcome = simulate(&path.run(vec![flow("cubic")], (0, 60)));
    assert!(utilisation(&outcome) >= 0.90, "{}", utilisation(&outcome));
}

/// Reno adds one packet a round trip and halves at a loss (Linux counts packets, so delayed ACKs do not
/// slow it). Over a link of B packets of BDP with a buffer of b B, the window rises from W/2 to
/// W = (1 + b) B. Below B a round trip takes R and carries w packets; above, it carries w packets in
/// R w / B, at the full rate.
#[derive(Clone, Copy, Debug)]
struct Sawtooth {
    bdp_packets: f64,
    /// Window at the loss, in BDPs.
    top: f64,
}

impl Sawtooth {
    fn new(buffer_bdp: f64, bdp_packets: f64) -> Sawtooth {
        Sawtooth { bdp_packets, top: 1.0 + buffer_bdp }
    }

    /// Length of a tooth in round trips of the idle path: B (1 - t/2) rounds of length 1 below the BDP,
    /// and ∫ w/B dw = B (t² - 1) / 2 above it.
    fn period_rtt(self) -> f64 {
        let bottom = (self.top / 2.0).min(1.0);
        self.bdp_packets * ((1.0 - bottom) + (self.top.powi(2) - (self.top / 2.0).max(1.0).powi(2)) / 2.0)
    }

    /// Packets of a tooth over those that the link could have carried: ∫ w dw = 3/8 W² over B × period.
    fn utilisation(self) -> f64 {
        let packets = 3.0 / 8.0 * (self.top * self.bdp_packets).powi(2);
        packets / (self.bdp_packets * self.period_rtt())
    }
}

/// t = 1.1: ∫ w dw = 3/8 × 1.21 = 0.454 B²; a tooth lasts 0.45 + (1.21 - 1)/2 = 0.555 B round trips:
/// 0.454 / 0.555 = 0.818. A tooth is 0.555 × 1667 × 0.1 s = 92 s, so four whole ones are measured,
/// from wherever in a tooth 100 s are.
#[test]
fn reno_with_a_tenth_of_a_bdp_of_buffer_uses_what_its_sawtooth_leaves() {
    let path = Dumbbell::with_buffer_percent(BENCH.0, BENCH.1, 10);
    let tooth = Sawtooth::new(0.1, 1666.7);
    assert!((tooth.utilisation() - 0.818).abs() < 0.001, "{}", tooth.utilisation());
    assert!((tooth.period_rtt() / 10.0 - 92.5).abs() < 0.1, "{}", tooth.period_rtt());
    let outcome = simulate(&path.run(vec![flow("reno")], (100, 100 + 4 * 92)));
    let found = utilisation(&outcome);
    assert!((found - tooth.utilisation()).abs() <= 0.02, "{found}, not {}", tooth.utilisation());
}

/// t = 2: half the window is the BDP, so the queue just empties at each loss: 3/8 × 4 / (3/2) = 1.
#[test]
fn reno_with_a_bdp_of_buffer_fills_the_link() {
    let path = Dumbbell::with_buffer_percent(BENCH.0, BENCH.1, 100);
    let tooth = Sawtooth::new(1.0, 1666.7);
    assert!((tooth.utilisation() - 1.0).abs() < 1e-9);
    let outcome = simulate(&path.run(vec![flow("reno")], (50, 250)));
    assert!(utilisation(&outcome) >= 0.97, "{}", utilisation(&outcome));
}

/// Both lose when the queue overflows, both halve, both add one packet a round trip: each loss halves
/// their difference (Chiu and Jain, 1989). The second starts half a second later, so that they do not
/// send in lockstep.
#[test]
fn two_equal_reno_flows_share_equally() {
    let path = Dumbbell::with_buffer_percent(100_000_000, 40, 100);
    let late = FlowSpec { start_ns: NS_PER_S / 2, ..flow("reno") };
    let outcome = simulate(&path.run(vec![flow("reno"), late], (0, 300)));
    let shares = steady_bytes(&outcome);
    assert!(jain(&shares) >= 0.95, "{shares:?}");
}

/// Vegas holds two to four packets in the queue and yields to the delay that Reno makes.
/// Source: Mo, La, Anantharam and Walrand, INFOCOM 1999.
#[test]
fn vegas_gets_less_than_a_third_against_reno() {
    let path = Dumbbell::with_buffer_percent(100_000_000, 40, 100);
    for flows in [["vegas", "reno"], ["reno", "vegas"]] {
        let outcome = simulate(&path.run(flows.iter().map(|name| flow(name)).collect(), (10, 70)));
        let shares = steady_bytes(&outcome);
        let vegas = flows.iter().position(|&name| name == "vegas").expect("one of the two");
        let share = ratio(shares[vegas], shares.iter().sum());
        assert!(share < 1.0 / 3.0, "{flows:?}: {share}");
    }
}

/// A flow that loses one packet in 1/p at random, over a path of 100 ms without a queue.
fn packets_per_rtt_at_loss(probability: f64, seed: u64) -> f64 {
    let elements =
        vec![delay("forward", 50 * NS_PER_MS), delay("back", 50 * NS_PER_MS), loss("loss", probability)];
    let flow = FlowSpec {
        forward: vec!["loss".to_owned(), "forward".to_owned()],
        reverse: vec!["back".to_owned()],
        ..flow("reno")
    };
    let seconds = 2000;
    let mut run = run(elements, vec![flow], (10 * NS_PER_S, (10 + seconds) * NS_PER_S));
    run.seed = seed;
    ratio(steady_bytes(&simulate(&run))[0], u64::from(MSS_BYTES) * seconds * 10)
}

/// sqrt(3/2) / sqrt(p) packets a round trip: Mathis, Semke, Mahdavi and Ott, CCR 27(3), 1997, with an ACK
/// for every packet, which is what Linux's counting of packets amounts to.
#[test]
fn reno_under_random_loss_follows_the_inverse_square_root() {
    for probability in [0.001, 0.01_f64] {
        let theory = 1.5_f64.sqrt() / probability.sqrt();
        let found: f64 = (1..=3).map(|seed| packets_per_rtt_at_loss(probability, seed)).sum::<f64>() / 3.0;
        assert!((found / theory - 1.0).abs() <= 0.15, "{probability}: {found}, theory {theory}");
    }
}

/// Over a path that only delays, 10, 20, 40… packets leave a round trip apart after the handshake: packet n
/// is delivered after 1 + k + 1/2 round trips, with k the least for which 10 × (2^(k+1) - 1) ≥ n.
#[test]
fn a_short_flow_takes_the_handshake_and_its_rounds_of_slow_start() {
    for packets in [1, 10, 11, 30, 31, 70, 71, 150] {
        let rounds = (0..20).find(|k| 10 * ((2 << k) - 1) >= packets).expect("one is enough");
        let elements = vec![delay("bottleneck", 30 * NS_PER_MS), delay("bottleneck-reverse", 30 * NS_PER_MS)];
        let bytes = packets * u64::from(MSS_BYTES) - 1;
        let short = FlowSpec { bytes: Some(bytes), start_ns: NS_PER_MS, ..flow("reno") };
        let outcome = simulate(&run(elements, vec![short], (0, 2 * NS_PER_S)));
        let expected_s = f64::from(60 + 60 * rounds + 30) / 1e3;
        assert_eq!(maybe_quantities(&outcome.flows, "completion_s"), [Some(expected_s)], "{packets} packets");
    }
}

/// Where nothing is reordered and no timeout is hasty, a packet is retransmitted because it was dropped,
/// and once for each time.
#[test]
fn as_many_packets_are_sent_again_as_were_dropped() {
    let path = Dumbbell::with_buffer_percent(20_000_000, 50, 50);
    let finite = |name| FlowSpec { bytes: Some(30_000_000), ..flow(name) };
    for name in ["reno", "cubic", "bic"] {
        let outcome = simulate(&path.run(vec![finite(name)], (0, 60)));
        let of = |column| counts(&outcome.flows, column)[0];
        assert!(maybe_quantities(&outcome.flows, "completion_s")[0].is_some(), "{name} is not done");
        assert!(of("dropped_packets") > 0, "{name} lost nothing");
        assert_eq!(of("retransmitted_packets"), of("dropped_packets"), "{name}");
    }
}

/// Base RTT 50 ms plus the transmission of 1500 bytes at 20 Mbit/s, 0.6 ms; a full queue of 83 packets
/// adds 49.8 ms.
#[test]
fn round_trips_last_between_the_idle_path_and_a_full_queue() {
    let path = Dumbbell { rate_bit_per_s: 20_000_000, rtt_ms: 50, buffer_packets: 83 };
    let outcome = simulate(&path.run(vec![flow("reno"), flow("cubic")], (5, 30)));
    let of = |column| maybe_quantities(&outcome.flows, column).into_iter().map(|rtt| rtt.expect("measured"));
    assert!(of("rtt_min_ms").all(|rtt| rtt >= 50.6), "{:?}", outcome.flows);
    // Half a bucket of the quantiles is 1/256; a packet before a sacked one may wait for its ACK, too. In a recovery
    // RTTs are longer: the largest hundredth is of recoveries, in Linux as well (117 ms).
    assert!(of("rtt_p95_ms").all(|rtt| rtt <= 100.4 * (1.0 + 1.0 / 256.0) + 1.0), "{:?}", outcome.flows);
}

/// A packet a round trip is added more often on the shorter path; with losses in common, shares go as
/// RTT^-1 to RTT^-2 (Lakshman and Madhow, 1997). 20 and 80 ms with a common queue of up to 20 ms: RTTs of
/// 20…40 and 80…100 ms, a ratio of 2.5 to 4.
#[test]
fn the_longer_round_trip_gets_less() {
    let path = Dumbbell::with_buffer_percent(50_000_000, 20, 100);
    let long = FlowSpec { forward: vec!["distant".to_owned(), "bottleneck".to_owned()], ..flow("reno") };
    let mut run = path.run(vec![flow("reno"), long], (20, 120));
    run.elements.push(delay("distant", 60 * NS_PER_MS));
    let shares = steady_bytes(&simulate(&run));
    let advantage = ratio(shares[0], shares[1]);
    assert!((2.5..=16.0).contains(&advantage), "{advantage}");
}

/// 1500 bytes at 9 Gbit/s take 1333.33… ns. Were that cut to whole nanoseconds, 750 000 packets would save
/// 0.25 ms, the time of 188 packets; the link carries rate × time, to one packet.
#[test]
fn a_full_link_carries_exactly_its_rate() {
    let path = Dumbbell { rate_bit_per_s: 9_000_000_000, rtt_ms: 1, buffer_packets: 1000 };
    let outcome = simulate(&path.run(vec![flow("reno")], (1, 2)));
    let bytes = counts(&outcome.links, "delivered_bytes");
    let (carried, expected) = (bytes[1] - bytes[0], path.rate_bit_per_s / 8);
    assert!(carried.abs_diff(expected) <= PACKET_BYTES, "{carried} bytes, not {expected}");
    assert!((utilisation(&outcome) - 1.0).abs() < 1e-12);
}
