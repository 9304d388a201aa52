//! Invariants of every run over every network, valid or not.

use std::collections::BTreeMap;

use proptest::prelude::*;
use tussle_core::net::path::{ArqSpec, DelaySpec, ElementKind, LinkSpec};
use tussle_core::run::{FlowSpec, Sampling};
use tussle_core::table::Table;
use tussle_core::{Outcome, QueueLog, Run, Simulation};

use crate::common::network::{NS_PER_MS, NS_PER_S, PACKET_BYTES, element, synchronised};
use crate::common::random::{clean_run, outcome, outcome_of, run};
use crate::common::tables::{counts, labels, maybe_quantities, quantities};

/// Indices of rows by link or flow, in the order of the table.
fn rows_by<K: Ord>(keys: Vec<K>) -> BTreeMap<K, Vec<usize>> {
    let mut rows = BTreeMap::<K, Vec<usize>>::new();
    keys.into_iter().enumerate().for_each(|(row, key)| rows.entry(key).or_default().push(row));
    rows
}

fn kind_of<'a>(run: &'a Run, name: &str) -> &'a ElementKind {
    let element = run.elements.iter().find(|element| element.name == name);
    &element.expect("tables name elements of the run").kind
}

/// Size of the largest packet of a random flow: see `common::random::flow`.
const MOST_PACKET_BYTES: u128 = 9000 + 52;

/// Upper bound of the bits that a link carries until `at_ns`.
fn most_bits(element: &ElementKind, at_ns: u64) -> u128 {
    let at_rate = |rate: u64| u128::from(rate) * u128::from(at_ns) / u128::from(NS_PER_S);
    match element {
        ElementKind::Link(LinkSpec { rate_bit_per_s, changes, .. })
        | ElementKind::Arq(ArqSpec { rate_bit_per_s, changes, .. }) => {
            at_rate(changes.iter().filter_map(|change| change.rate_bit_per_s).fold(*rate_bit_per_s, u64::max))
        }
        ElementKind::Wifi(wifi) => at_rate(wifi.rate_bit_per_s),
        ElementKind::Trace(trace) => {
            let times = &trace.opportunities_ms;
            let cycle_ns = u64::from(*times.last().expect("checked")) * NS_PER_MS;
            u128::from(at_ns / cycle_ns + 1) * times.len() as u128 * 8 * u128::from(PACKET_BYTES)
        }
        ElementKind::Processing(_) => {
            let packets = at_ns / element.delays().shortest_ns.max(1);
            u128::from(packets) * 8 * MOST_PACKET_BYTES
        }
        other => panic!("{other:?} is not a link"),
    }
}

/// Every packet that arrived was delivered, dropped, is queued, or is the packet in transmission.
fn check_links_conserve_packets(outcome: &Outcome) -> Result<(), TestCaseError> {
    let of = |name| counts(&outcome.links, name);
    let (arrived, delivered) = (of("arrived_packets"), of("delivered_packets"));
    let (dropped, backlog) = (of("dropped_packets"), of("backlog_packets"));
    for row in 0..arrived.len() {
        let left = arrived[row].checked_sub(delivered[row] + dropped[row] + backlog[row]);
        prop_assert!(left.is_some_and(|transmitting| transmitting <= 1), "row {row}: {left:?} are missing");
        prop_assert!(left == Some(1) || backlog[row] == 0, "row {row}: packets are queued at an idle link");
    }
    Ok(())
}

/// The utilisation of a link is at most 1, and a link delivers no faster than its highest rate. A
/// transmission lasts a whole number of nanoseconds, and the next transmission makes up for the rounding,
/// except at the end of a busy period: less than a nanosecond per packet.
fn check_links_keep_their_rate(run: &Run, outcome: &Outcome) -> Result<(), TestCaseError> {
    let (names, times) = (labels(&outcome.links, "link"), quantities(&outcome.links, "time_s"));
    let (bytes, packets) =
        (counts(&outcome.links, "delivered_bytes"), counts(&outcome.links, "delivered_packets"));
    for (row, utilisation) in quantities(&outcome.links, "utilisation").into_iter().enumerate() {
        prop_assert!((0.0..=1.0).contains(&utilisation), "{} is used to {utilisation}", names[row]);
        let most_bits = most_bits(kind_of(run, &names[row]), nearest_ns(times[row]) + packets[row]);
        prop_assert!(u128::from(bytes[row]) * 8 <= most_bits, "{} is faster than its rate", names[row]);
    }
    Ok(())
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "times of a run are not negative"
)]
fn nearest_ns(seconds: f64) -> u64 {
    (seconds * 1e9).round() as u64
}

/// Times and sums of each link and flow never fall.
fn check_series_never_fall(outcome: &Outcome) -> Result<(), TestCaseError> {
    let sums = |table, names: &[&'static str]| -> Vec<_> {
        names.iter().map(|&name| (name, counts(table, name))).collect()
    };
    let link_sums = sums(
        &outcome.links,
        &["arrived_packets", "delivered_packets", "dropped_packets", "marked_packets", "delivered_bytes"],
    );
    let flow_sums = sums(&outcome.samples, &["delivered_bytes", "retransmitted_packets"]);
    let by_link: Vec<_> = rows_by(labels(&outcome.links, "link")).into_values().collect();
    let by_flow: Vec<_> = rows_by(counts(&outcome.samples, "flow")).into_values().collect();
    for (rows, sums) in [(by_link, link_sums), (by_flow, flow_sums)] {
        for (pair, (name, values)) in
            rows.iter().flat_map(|rows| rows.windows(2)).flat_map(|p| sums.iter().map(move |s| (p, s)))
        {
            prop_assert!(values[pair[0]] <= values[pair[1]], "{name} falls from row {} on", pair[0]);
        }
    }
    for table in [&outcome.links, &outcome.samples, &outcome.events] {
        let times = quantities(table, "time_s");
        prop_assert!(times.is_sorted(), "time runs backwards in {}", table.name);
    }
    Ok(())
}

/// Whether a flow's path may duplicate its datagrams, which are then delivered twice.
fn is_duplicated(run: &Run, flow: &FlowSpec) -> bool {
    flow.is_udp() && flow.forward.iter().any(|name| matches!(kind_of(run, name), ElementKind::Duplicate(_)))
}

/// The bytes that a flow delivered were offered, and passed each link of its path at least once.
fn check_flows_deliver_what_passed(run: &Run, outcome: &Outcome) -> Result<(), TestCaseError> {
    let delivered = counts(&outcome.flows, "delivered_bytes");
    let sent = counts(&outcome.flows, "sent_packets");
    for (index, flow) in run.flows.iter().enumerate() {
        prop_assert!(
            flow.bytes.is_none_or(|bytes| delivered[index] <= bytes),
            "{} delivered more bytes than it was given",
            flow.name
        );
        prop_assert!(is_duplicated(run, flow) || delivered[index] <= sent[index] * u64::from(flow.mss_bytes));
    }
    let names = labels(&outcome.links, "link");
    for (name, rows) in rows_by(names) {
        let passed = counts(&outcome.links, "delivered_bytes")[*rows.last().expect("a link has rows")];
        let over: u64 = (0..run.flows.len())
            .filter(|&flow| !is_duplicated(run, &run.flows[flow]))
            .filter(|&flow| run.flows[flow].forward.contains(&name))
            .map(|flow| delivered[flow])
            .sum();
        prop_assert!(over <= passed, "{over} bytes were delivered over {name}, which carried {passed}");
    }
    Ok(())
}

/// A flow completed if and only if it delivered all its bytes, after its start.
fn check_completion(run: &Run, outcome: &Outcome) -> Result<(), TestCaseError> {
    let delivered = counts(&outcome.flows, "delivered_bytes");
    let completions = maybe_quantities(&outcome.flows, "completion_s");
    for (index, flow) in run.flows.iter().enumerate() {
        let all = flow.bytes == Some(delivered[index]);
        prop_assert_eq!(completions[index].is_some(), all, "{} of {:?} bytes", delivered[index], flow.bytes);
    }
    Ok(())
}

/// An RTT is at least the sum of the path's delays. An RTT that is known only from timestamps is rounded down
/// to whole ms.
fn check_rtt_is_at_least_the_base(run: &Run, outcome: &Outcome) -> Result<(), TestCaseError> {
    let delays: BTreeMap<_, _> =
        run.elements.iter().map(|element| (&element.name, element.kind.delays().shortest_ns)).collect();
    for (flow, rtt_min_ms) in run.flows.iter().zip(maybe_quantities(&outcome.flows, "rtt_min_ms")) {
        let base_ns: u64 = flow.forward.iter().chain(&flow.reverse).map(|name| delays[name]).sum();
        let least_ms = std::time::Duration::from_nanos(base_ns).as_secs_f64() * 1e3 - 1.0;
        prop_assert!(rtt_min_ms.is_none_or(|rtt| rtt >= least_ms), "{} is below the base RTT", flow.name);
    }
    Ok(())
}

fn check(run: &Run, outcome: &Outcome) -> Result<(), TestCaseError> {
    check_links_conserve_packets(outcome)?;
    check_links_keep_their_rate(run, outcome)?;
    check_series_never_fall(outcome)?;
    check_flows_deliver_what_passed(run, outcome)?;
    check_completion(run, outcome)?;
    check_rtt_is_at_least_the_base(run, outcome)?;
    prop_assert!(counts(&outcome.samples, "cwnd_packets").iter().all(|&cwnd| cwnd >= 1), "a window is 0");
    Ok(())
}

fn recorded(run: &Run, sampling: Sampling, events: bool) -> Run {
    let mut run = run.clone();
    run.record.sampling = sampling;
    run.record.events = events;
    run
}

/// Simulates a run with a log of a link; `None` if the run is refused or too long.
fn logged_outcome(run: &Run, link: &str) -> Option<(Outcome, Table)> {
    let log = QueueLog::new(link);
    Simulation::new(run).ok()?;
    let simulation = Simulation::builder(run).queue_log(&log).build().expect("every link can be logged");
    outcome_of(simulation).map(|outcome| (outcome, log.table()))
}

/// At the end of the run the log has every packet that arrived at the link, every packet that the queue dropped, and
/// every packet and byte that was transmitted. Time does not run backwards, and no packet leaves before it arrives.
fn check_log(link: &str, end_ns: u64, outcome: &Outcome, log: &Table) -> Result<(), TestCaseError> {
    let (times, arrivals) = (counts(log, "time_ns"), counts(log, "arrival_ns"));
    let (events, sizes) = (labels(log, "event"), counts(log, "size_bytes"));
    prop_assert!(times.is_sorted());
    prop_assert!(times.iter().zip(&arrivals).all(|(at, arrival)| at >= arrival));
    let sizes_of = |event: &str| -> Vec<u64> {
        let rows = (0..times.len()).filter(|&row| events[row] == event && times[row] <= end_ns);
        rows.map(|row| sizes[row]).collect()
    };
    let last = labels(&outcome.links, "link").iter().rposition(|name| name == link).expect("a link has rows");
    let of = |name| counts(&outcome.links, name)[last];
    prop_assert_eq!(sizes_of("arrival").len() as u64, of("arrived_packets"));
    prop_assert_eq!(sizes_of("drop").len() as u64, of("dropped_packets"));
    prop_assert_eq!(sizes_of("departure").len() as u64, of("delivered_packets"));
    prop_assert_eq!(sizes_of("departure").iter().sum::<u64>(), of("delivered_bytes"));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn packets_bytes_and_times_are_consistent_in_every_network(run in run()) {
        if let Some(outcome) = outcome(&run) {
            check(&run, &outcome)?;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn equal_runs_give_equal_outcomes(run in run()) {
        prop_assert_eq!(outcome(&run), outcome(&run));
    }

    #[test]
    fn only_lp_depends_on_the_random_offset_of_timestamps(run in run()) {
        let has_lp = run.flows.iter().any(|flow| flow.algorithm == "lp");
        prop_assume!(!has_lp);
        prop_assert_eq!(outcome(&run), outcome(&synchronised(run)));
    }

    #[test]
    fn an_unused_element_changes_no_flow(run in run(), place in any::<prop::sample::Index>()) {
        let mut larger = run.clone();
        let unused = element("unused", ElementKind::Delay(DelaySpec { delay_ns: 1 }));
        larger.elements.insert(place.index(run.elements.len() + 1), unused);
        if let Some(outcomes) = outcome(&run).zip(outcome(&larger)) {
            prop_assert_eq!(&outcomes.0, &Outcome { events: outcomes.0.events.clone(), ..outcomes.1 });
        }
    }

    #[test]
    fn recording_changes_no_flow(run in run()) {
        let variants = [
            (Sampling::Off, false),
            (Sampling::Off, true),
            (Sampling::Change, false),
            (Sampling::EveryNs(7_000_000), true),
        ];
        let flows: Vec<_> = variants
            .into_iter()
            .filter_map(|(sampling, events)| outcome(&recorded(&run, sampling, events)))
            .map(|outcome| outcome.flows)
            .collect();
        prop_assert!(flows.windows(2).all(|pair| pair[0] == pair[1]));
    }

    #[test]
    fn a_queue_log_changes_nothing_and_counts_what_its_link_counts(
        run in run(),
        place in any::<prop::sample::Index>(),
    ) {
        let links: Vec<_> = run.elements.iter().filter(|element| element.kind.is_link()).collect();
        prop_assume!(!links.is_empty());
        let link = &place.get(&links).name;
        if let Some((logged, log)) = logged_outcome(&run, link) {
            check_log(link, run.duration_ns, &logged, &log)?;
            prop_assert_eq!(Some(logged), outcome(&run));
        }
    }

    #[test]
    fn a_finite_flow_over_a_path_without_drops_delivers_exactly_its_bytes(run in clean_run()) {
        let outcome = outcome(&run);
        prop_assume!(outcome.is_some());
        let outcome = outcome.expect("assumed");
        check(&run, &outcome)?;
        let of = |name| counts(&outcome.flows, name)[0];
        let packets = run.flows[0].bytes.expect("finite").div_ceil(u64::from(run.flows[0].mss_bytes));
        prop_assert_eq!(Some(of("delivered_bytes")), run.flows[0].bytes);
        prop_assert_eq!(of("dropped_packets"), 0);
        prop_assert_eq!(of("sent_packets"), packets + of("retransmitted_packets"));
        prop_assert!(maybe_quantities(&outcome.flows, "completion_s")[0].is_some());
    }
}
