//! Goodput and delay of application-limited flows, compared with theory.

use std::ops::Range;

use tussle_core::run::application::{ApplicationSpec, ChunksSpec, OnOffSpec, RateSpec, RequestsSpec};
use tussle_core::run::{FlowSpec, Sampling, UDP};
use tussle_core::table::Values;
use tussle_core::util::distribution::Distribution;
use tussle_core::{Outcome, Run};

use crate::common::network::{MSS_BYTES, NS_PER_MS, NS_PER_S, element, flow, run, simulate};
use crate::common::tables::{counts, labels, maybe_quantities, quantities};

/// A dumbbell of 10 Mbit/s, with 10 ms in each direction and a queue of 50 packets on the forward path.
fn dumbbell(flows: Vec<FlowSpec>, steady_ns: Range<u64>) -> Run {
    let link = |name: &str| {
        let link = serde_json::json!({"kind": "link", "rate_bit_per_s": 10_000_000, "delay_ns": 10 * NS_PER_MS,
                                        "queue": {"kind": "fifo", "limit_packets": 50}});
        element(name, serde_json::from_value(link).expect("a link"))
    };
    run(vec![link("bottleneck"), link("bottleneck-reverse")], flows, steady_ns)
}

fn with(algorithm: &str, application: ApplicationSpec) -> FlowSpec {
    FlowSpec { application: Some(application), ..flow(algorithm) }
}

fn rate(rate_bit_per_s: u64) -> ApplicationSpec {
    ApplicationSpec::Rate(RateSpec { rate_bit_per_s })
}

fn goodputs(outcome: &Outcome) -> Vec<f64> {
    quantities(&outcome.flows, "goodput_bit_per_s")
}

fn times_of(outcome: &Outcome, kind: &str) -> Vec<f64> {
    let (kinds, times) = (labels(&outcome.events, "kind"), quantities(&outcome.events, "time_s"));
    kinds.iter().zip(times).filter(|(each, _)| *each == kind).map(|(_, time)| time).collect()
}

fn recorded(mut run: Run) -> Outcome {
    run.record.events = true;
    simulate(&run)
}

/// 2 Mbit/s over a link of 10 Mbit/s: over 100 s the goodput is the written rate, within a packet at each
/// end, 2 × 11 584 bits of 200 Mbit.
#[test]
fn an_application_below_the_link_rate_gets_its_rate() {
    let outcome = simulate(&dumbbell(vec![with("cubic", rate(2_000_000))], 10 * NS_PER_S..110 * NS_PER_S));
    assert!((goodputs(&outcome)[0] - 2e6).abs() <= 2.0 * 11_584.0 / 100.0, "{:?}", goodputs(&outcome));
    assert_eq!(counts(&outcome.flows, "dropped_packets"), [0]);
}

/// A greedy flow gets the rest of the payload rate: 10 Mbit/s × 1448 / 1500 = 9.65 Mbit/s, less 2 Mbit/s.
#[test]
fn a_greedy_flow_gets_the_capacity_that_a_limited_flow_leaves() {
    let flows = vec![with("cubic", rate(2_000_000)), flow("cubic")];
    let goodputs = goodputs(&simulate(&dumbbell(flows, 20 * NS_PER_S..120 * NS_PER_S)));
    assert!((goodputs[0] - 2.0e6).abs() <= 0.04e6, "{goodputs:?}");
    assert!((goodputs[1] - 7.65e6).abs() <= 0.1e6, "{goodputs:?}");
}

/// 4 Mbit/s for one second of every four: 1 Mbit/s.
#[test]
fn an_on_off_application_gets_its_mean_rate() {
    let turns = OnOffSpec {
        rate_bit_per_s: 4_000_000,
        on: Distribution::ConstantNs(NS_PER_S),
        off: Distribution::ConstantNs(3 * NS_PER_S),
    };
    let flow = with("reno", ApplicationSpec::OnOff(turns));
    let outcome = simulate(&dumbbell(vec![flow], 8 * NS_PER_S..108 * NS_PER_S));
    assert!((goodputs(&outcome)[0] - 1e6).abs() <= 0.01e6, "{:?}", goodputs(&outcome));
}

/// Once the window exceeds 20 packets, a response leaves at once: 20 × 1.2 ms at 10 Mbit/s and 10 ms of delay
/// are 34 ms. The next request follows the last acknowledgement after a think time of 100 ms.
#[test]
fn responses_arrive_one_after_another() {
    let requests = RequestsSpec {
        response_bytes: 20 * u64::from(MSS_BYTES),
        think: Distribution::ConstantNs(100 * NS_PER_MS),
    };
    let flow = with("reno", ApplicationSpec::Requests(requests));
    let outcome = recorded(dumbbell(vec![flow], 0..10 * NS_PER_S));
    let (requested, responded) = (times_of(&outcome, "request"), times_of(&outcome, "response"));
    assert!(requested.len() > 50, "{requested:?}");
    assert!(requested.len() - responded.len() <= 1, "{} and {}", requested.len(), responded.len());
    for (index, (requested, responded)) in requested.iter().zip(&responded).enumerate().skip(5) {
        assert!(
            (responded - requested - 0.034).abs() < 1e-6,
            "response {index} took {} s",
            responded - requested
        );
    }
    for (next, responded) in requested[1..].iter().zip(&responded) {
        // The ACK takes 10 ms and its transmission, 52 or more bytes at 10 Mbit/s; it may be delayed by up to 40 ms.
        let think_s = next - responded;
        assert!((0.110..0.152).contains(&think_s), "{think_s} s from a response to the next");
    }
}

/// A chunk of 1 MB every 4 s is 2 Mbit/s, rounded up to 691 segments of 1448 bytes.
#[test]
fn chunks_are_written_at_their_times_and_arrive_before_the_next() {
    let chunks = ChunksSpec { chunk_bytes: 1_000_000, every: Distribution::ConstantNs(4 * NS_PER_S) };
    let flow = with("cubic", ApplicationSpec::Chunks(chunks));
    let outcome = recorded(dumbbell(vec![flow], 4 * NS_PER_S..44 * NS_PER_S));
    let (written, arrived) = (times_of(&outcome, "request"), times_of(&outcome, "response"));
    assert_eq!(written, (0..12).map(|index| f64::from(index) * 4.0).take(written.len()).collect::<Vec<_>>());
    assert_eq!(counts(&outcome.flows, "steady_delivered_bytes"), [10 * 691 * u64::from(MSS_BYTES)]);
    for (written, arrived) in written.iter().zip(&arrived) {
        // At least 691 × 1.2 ms; twice that if losses cost half of the link.
        let duration_s = arrived - written;
        assert!((0.829 + 0.010..1.7).contains(&duration_s), "{duration_s} s");
    }
}

/// 3 000 000 bytes at 8 Mbit/s take 3 s; the last packet takes another 1.2 ms of transmission and 10 ms of
/// delay.
#[test]
fn a_limited_application_with_a_byte_count_completes() {
    let flow = FlowSpec { bytes: Some(3_000_000), ..with("reno", rate(8_000_000)) };
    let outcome = simulate(&dumbbell(vec![flow], 0..10 * NS_PER_S));
    let duration_s = maybe_quantities(&outcome.flows, "completion_s")[0].unwrap();
    assert_eq!(counts(&outcome.flows, "delivered_bytes"), [3_000_000]);
    assert!((3.0..3.1).contains(&duration_s), "{duration_s} s");
}

#[test]
fn a_stopped_application_writes_nothing_more() {
    let flow = FlowSpec { stop_ns: Some(5 * NS_PER_S), ..with("reno", rate(2_000_000)) };
    let outcome = simulate(&dumbbell(vec![flow], 6 * NS_PER_S..10 * NS_PER_S));
    assert_eq!(counts(&outcome.flows, "steady_delivered_bytes"), [0]);
}

/// 20 Mbit/s of datagrams of 1448 + 28 bytes into 10 Mbit/s: 10 × 1448 / 1476 = 9.81 Mbit/s arrive, and the
/// rest is dropped. Every packet is delivered, dropped or in flight: at most 50 in the queue, one in
/// transmission, and 10 Mbit/s × 10 ms / (1476 × 8 bits) = 8.5 in propagation.
#[test]
fn udp_fills_the_link_and_the_excess_is_dropped() {
    let outcome = simulate(&dumbbell(vec![with(UDP, rate(20_000_000))], 10 * NS_PER_S..60 * NS_PER_S));
    assert!((goodputs(&outcome)[0] - 9.81e6).abs() < 0.01e6, "{:?}", goodputs(&outcome));
    let of = |name| counts(&outcome.flows, name)[0];
    let in_flight = of("sent_packets") - of("delivered_bytes") / u64::from(MSS_BYTES) - of("dropped_packets");
    assert!((50..=60).contains(&in_flight), "{in_flight}");
    let algorithm = outcome.flows.columns.iter().find(|column| column.name == "algorithm").unwrap();
    assert_eq!(algorithm.values, Values::Text(vec![UDP.to_owned()]));
    assert_eq!(maybe_quantities(&outcome.flows, "rtt_mean_ms"), [None]);
}

/// 8 Mbit/s of UDP payload use 8 × 1476 / 1448 = 8.15 Mbit/s of the link. TCP gets the rest: 1.85 × 1448 /
/// 1500 = 1.78 Mbit/s.
#[test]
fn tcp_yields_to_udp() {
    let flows = vec![with(UDP, rate(8_000_000)), flow("cubic")];
    let goodputs = goodputs(&simulate(&dumbbell(flows, 20 * NS_PER_S..120 * NS_PER_S)));
    assert!(goodputs[0] > 7.7e6 && goodputs[0] <= 8.001e6, "{goodputs:?}");
    assert!((1.4e6..2.1e6).contains(&goodputs[1]), "{goodputs:?}");
}

/// Poisson arrivals of datagrams, 1476 × 8 / 10 Mbit/s = 1.18 ms each, with a mean interval of 2.36 ms: an
/// M/D/1 queue with a load of 1/2. By the Pollaczek-Khinchine formula the mean number of packets in the
/// system is ρ + ρ² / 2 (1 - ρ) = 0.75, and 0.25 in the queue. 2000 s have 847 000 arrivals.
#[test]
fn poisson_arrivals_have_the_queue_of_pollaczek_and_khinchine() {
    let every = Distribution::ExponentialNs(2_361_600);
    let chunk = ChunksSpec { chunk_bytes: u64::from(MSS_BYTES), every };
    let mut run = dumbbell(vec![with(UDP, ApplicationSpec::Chunks(chunk))], 0..2000 * NS_PER_S);
    run.record.sampling = Sampling::Off;
    let outcome = simulate(&run);
    let last = |name| *quantities(&outcome.links, name).last().unwrap();
    let names = labels(&outcome.links, "link");
    let row = names.iter().rposition(|name| name == "bottleneck").unwrap();
    let used = quantities(&outcome.links, "utilisation")[row];
    let waiting = quantities(&outcome.links, "mean_backlog_packets")[row];
    assert!((used - 0.5).abs() < 0.005, "{used}");
    assert!((waiting - 0.25).abs() < 0.01, "{waiting}");
    assert!(last("time_s") > 1999.0);
}
