//! Random networks with random flows, valid or not.

use proptest::prelude::*;
use tussle_core::cc::REGISTRY;
use tussle_core::net::path::{
    AggregateSpec, ArqSpec, Change, CorruptSpec, DelaySpec, DuplicateSpec, ElementKind, GilbertElliottSpec,
    HandoverSpec, JitterSpec, LinkSpec, LossListSpec, LossPeriodicSpec, LossSpec, MarkSpec, Order,
    OutageSpec, PolicerSpec, ProcessingSpec, RampSpec, RttSeriesSpec, RttStep, TraceSpec, UnmarkSpec,
    WhileDown, WifiSpec,
};
use tussle_core::net::queue::{self, CodelSpec, FifoSpec, Limits, QueueSpec, RedSpec, ThresholdSpec};
use tussle_core::run::application::{ApplicationSpec, ChunksSpec, OnOffSpec, RateSpec, RequestsSpec};
use tussle_core::run::{
    ElementSpec, FORMAT, FlowSpec, Host, Interval, ProfileName, Qdisc, Record, Sampling, SocketBuffer, UDP,
};
use tussle_core::util::distribution::{Distribution, Normal, Pareto, Uniform};
use tussle_core::{Outcome, Progress, Run, Simulation};

use super::network::{MSS_BYTES, NS_PER_MS, NS_PER_S, PACKET_BYTES, element};
use super::queues::queue_named;

/// Number of events after which a run is abandoned, so that a test takes seconds.
const MAX_EVENTS: u64 = 20_000;

/// Simulates a run; `None` if it is refused or too long.
pub(crate) fn outcome(run: &Run) -> Option<Outcome> {
    outcome_of(Simulation::new(run).ok()?)
}

/// Simulates to the end; `None` if that takes too long.
pub(crate) fn outcome_of(mut simulation: Simulation) -> Option<Outcome> {
    let progress = simulation.advance(MAX_EVENTS).expect("no invariant breaks");
    (progress == Progress::Done).then(|| simulation.finish())
}

/// Numbers of all magnitudes from 1 to 2^`bits`.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a power below 2^63")]
fn magnitude(bits: f64) -> impl Strategy<Value = u64> {
    (0.0..bits).prop_map(|exponent| exponent.exp2() as u64)
}

fn delay_ns() -> impl Strategy<Value = u64> {
    prop_oneof![1 => Just(0), 1 => magnitude(20.0), 4 => 0..200 * NS_PER_MS]
}

fn queue() -> impl Strategy<Value = QueueSpec> {
    let packets = || prop_oneof![3 => magnitude(8.0).prop_map(Some), 1 => Just(None)];
    let bytes = prop_oneof![1 => magnitude(18.0).prop_map(Some), 3 => Just(None)];
    let any = (0..queue::REGISTRY.len()).prop_map(|index| queue::REGISTRY[index].name);
    (any, packets(), bytes, magnitude(6.0), rarely()).prop_map(
        |(name, limit_packets, limit_bytes, length, ecn)| match name {
            "threshold" => QueueSpec::Threshold(ThresholdSpec {
                mark_above_packets: Some(length),
                mark_above_bytes: None,
                limit_packets,
                limit_bytes,
            }),
            "red" => QueueSpec::Red(RedSpec {
                min_packets: f64::from(u32::try_from(length).expect("a magnitude of 6 bits")),
                max_packets: 80.0,
                weight: 0.01,
                max_probability: 0.1,
                adaptive: false,
                ecn,
                limit_packets,
                limit_bytes,
            }),
            "codel" => QueueSpec::Codel(CodelSpec {
                target_ns: length * NS_PER_MS,
                interval_ns: 100 * NS_PER_MS,
                ecn,
                limit_packets,
                limit_bytes,
            }),
            _ => queue_named(name, Limits { packets: limit_packets, bytes: limit_bytes }),
        },
    )
}

/// A link of 1 to 16 000 packets/s.
fn link() -> impl Strategy<Value = ElementKind> {
    (rate_bit_per_s(), delay_ns(), queue(), changes()).prop_map(
        |(rate_bit_per_s, delay_ns, queue, changes)| {
            ElementKind::Link(LinkSpec { rate_bit_per_s, delay_ns, queue, changes })
        },
    )
}

fn rate_bit_per_s() -> impl Strategy<Value = u64> {
    (magnitude(14.0), 0..8 * PACKET_BYTES).prop_map(|(packets, odd)| packets * 8 * PACKET_BYTES + odd)
}

/// No change, or a few changes within some seconds.
fn changes() -> impl Strategy<Value = Vec<Change>> {
    let what = prop_oneof![
        rate_bit_per_s().prop_map(|rate| (Some(rate), None)),
        delay_ns().prop_map(|delay_ns| (None, Some(delay_ns))),
        (rate_bit_per_s(), delay_ns()).prop_map(|(rate, delay_ns)| (Some(rate), Some(delay_ns))),
    ];
    let some = prop::collection::vec((1..2 * NS_PER_S, what), 1..4).prop_map(|changes| {
        let mut at_ns = 0;
        let changes = changes.into_iter().map(|(wait_ns, (rate_bit_per_s, delay_ns))| {
            at_ns += wait_ns;
            Change { at_ns, rate_bit_per_s, delay_ns }
        });
        changes.collect()
    });
    prop_oneof![2 => Just(Vec::new()), 1 => some]
}

pub(crate) fn element_kind() -> impl Strategy<Value = ElementKind> {
    prop_oneof![
        4 => link(),
        1 => trace(),
        1 => arq(),
        1 => wifi(),
        1 => processing(),
        2 => delay_ns().prop_map(|delay_ns| ElementKind::Delay(DelaySpec { delay_ns })),
        2 => delaying(),
        2 => losing(),
    ]
}

/// A recording with one opportunity per second to one per millisecond.
fn trace() -> impl Strategy<Value = ElementKind> {
    let opportunities_ms = prop::collection::vec(0..1000u32, 1..40).prop_map(|mut opportunities| {
        opportunities.push(1 + opportunities[0]);
        opportunities.sort_unstable();
        opportunities
    });
    (opportunities_ms, delay_ns(), queue()).prop_map(|(opportunities_ms, delay_ns, queue)| {
        ElementKind::Trace(TraceSpec { opportunities_ms, delay_ns, queue })
    })
}

fn arq() -> impl Strategy<Value = ElementKind> {
    let errors = (0.0..0.9, prop_oneof![Just(None), (40..2000u32).prop_map(Some)], 1..8u32);
    (link(), errors, delay_ns(), 0..NS_PER_MS).prop_map(
        |(link, (block_error, block_bytes, attempts), retry_delay_ns, overhead_ns)| {
            let ElementKind::Link(LinkSpec { rate_bit_per_s, delay_ns, queue, changes }) = link else {
                unreachable!("`link` returns links")
            };
            ElementKind::Arq(ArqSpec {
                rate_bit_per_s,
                delay_ns,
                queue,
                block_error,
                block_bytes,
                attempts,
                retry_delay_ns,
                overhead_ns,
                changes,
            })
        },
    )
}

fn wifi() -> impl Strategy<Value = ElementKind> {
    (delay_ns(), queue(), 0..20u32, -90.0..-40.0, 0.0..10.0).prop_map(
        |(delay_ns, queue, stations, signal_dbm, fading_db)| {
            ElementKind::Wifi(WifiSpec {
                rate_bit_per_s: 54_000_000,
                delay_ns,
                queue,
                stations,
                signal_dbm,
                fading_db,
                fading_every_ns: 100 * NS_PER_MS,
            })
        },
    )
}

fn processing() -> impl Strategy<Value = ElementKind> {
    (distribution(), queue())
        .prop_map(|(time, queue)| ElementKind::Processing(ProcessingSpec { time, queue }))
}

/// Times of up to half a second, apart from tails.
fn distribution() -> impl Strategy<Value = Distribution> {
    prop_oneof![
        delay_ns().prop_map(Distribution::ConstantNs),
        (delay_ns(), delay_ns())
            .prop_map(|(one, more)| Distribution::Uniform(Uniform { least_ns: one, most_ns: one + more })),
        (delay_ns(), delay_ns())
            .prop_map(|(mean_ns, deviation_ns)| Distribution::Normal(Normal { mean_ns, deviation_ns })),
        delay_ns().prop_map(Distribution::ExponentialNs),
        (delay_ns(), 1.1..4.0).prop_map(|(least_ns, shape)| Distribution::Pareto(Pareto { least_ns, shape })),
        prop::collection::vec(delay_ns(), 2..6).prop_map(|mut quantiles| {
            quantiles.sort_unstable();
            Distribution::QuantilesNs(quantiles)
        }),
        (1_000_000u64..91_000_000).prop_map(Distribution::WifiNs),
    ]
}

/// An element that delays or holds packets.
fn delaying() -> impl Strategy<Value = ElementKind> {
    prop_oneof![
        (distribution(), prop_oneof![Just(Order::Kept), Just(Order::Free)])
            .prop_map(|(delay, order)| ElementKind::Jitter(JitterSpec { delay, order })),
        (0..NS_PER_S, 1..NS_PER_S, delay_ns(), delay_ns()).prop_map(|(begin_ns, span_ns, from, to)| {
            let end_ns = begin_ns + span_ns;
            ElementKind::Ramp(RampSpec { begin_ns, end_ns, from_delay_ns: from, to_delay_ns: to })
        }),
        prop::collection::vec((1..NS_PER_S, delay_ns()), 1..20).prop_map(|lengths| {
            let mut until_ns = 0;
            let steps = lengths.into_iter().map(|(length_ns, delay_ns)| {
                until_ns += length_ns;
                RttStep { until_ns, delay_ns }
            });
            ElementKind::RttSeries(RttSeriesSpec { steps: steps.collect() })
        }),
        (10 * NS_PER_MS..NS_PER_S, distribution(), 0..10 * NS_PER_MS).prop_map(
            |(every_ns, delay, pause_ns)| {
                ElementKind::Handover(HandoverSpec { every_ns, delay, pause_ns })
            }
        ),
        (distribution(), distribution(), prop_oneof![Just(WhileDown::Hold), Just(WhileDown::Drop)])
            .prop_map(|(up, down, while_down)| ElementKind::Outage(OutageSpec { up, down, while_down })),
        (delay_ns(), prop_oneof![Just(None), (1..50u64).prop_map(Some)]).prop_map(
            |(hold_ns, most_packets)| ElementKind::Aggregate(AggregateSpec { hold_ns, most_packets })
        ),
        (0.0..0.5).prop_map(|probability| ElementKind::Duplicate(DuplicateSpec { probability })),
        (0.0..0.5).prop_map(|probability| ElementKind::Mark(MarkSpec { probability })),
        (0.0..1.0).prop_map(|probability| ElementKind::Unmark(UnmarkSpec { probability })),
    ]
}

/// An element that drops or damages packets.
fn losing() -> impl Strategy<Value = ElementKind> {
    let part = || 0.0..0.5;
    prop_oneof![
        part().prop_map(|probability| ElementKind::Loss(LossSpec { probability })),
        (part(), 0.1..1.0, 0.0..0.1, part()).prop_map(|(p, r, loss_good, loss_bad)| {
            ElementKind::GilbertElliott(GilbertElliottSpec { p, r, loss_good, loss_bad })
        }),
        (2..100u64).prop_map(|every_packets| ElementKind::LossPeriodic(LossPeriodicSpec { every_packets })),
        prop::collection::btree_set(0..200u64, 0..10).prop_map(|packets| ElementKind::LossList(
            LossListSpec { packets: packets.into_iter().collect() }
        )),
        (rate_bit_per_s(), magnitude(18.0)).prop_map(|(rate_bit_per_s, burst_bytes)| {
            ElementKind::Policer(PolicerSpec { rate_bit_per_s, burst_bytes })
        }),
        part().prop_map(|probability| ElementKind::Corrupt(CorruptSpec { probability })),
    ]
}

fn rarely() -> impl Strategy<Value = bool> {
    prop_oneof![3 => Just(false), 1 => Just(true)]
}

/// Names of some of the elements, in any order, possibly with one of them twice.
fn path(elements: usize) -> impl Strategy<Value = Vec<String>> {
    let any = prop::collection::vec((0..elements).prop_map(|index| format!("element-{index}")), 1..5);
    prop_oneof![1 => Just(Vec::new()), 9 => any]
}

/// A flow over any elements, in a run of `duration_ns`.
fn flow(elements: usize, duration_ns: u64) -> impl Strategy<Value = FlowSpec> {
    let mss_bytes = prop_oneof![3 => Just(MSS_BYTES), 1 => 1..9000u32];
    let rest = prop_oneof![3 => Just(None), 1 => (1..duration_ns.max(2)).prop_map(Some)];
    let bytes = prop_oneof![2 => Just(None), 1 => magnitude(20.0).prop_map(Some)];
    let window = prop_oneof![3 => Just(None), 1 => magnitude(20.0).prop_map(|bytes| Some(9000 + bytes))];
    (
        (0..REGISTRY.len(), mss_bytes, bytes, window),
        (0..duration_ns, rest),
        (path(elements), path(elements)),
        (rarely(), rarely()),
    )
        .prop_map(|((algorithm, mss_bytes, bytes, window), (start_ns, rest), paths, (ecn, pacing))| {
            FlowSpec {
                name: String::new(),
                algorithm: REGISTRY[algorithm].name.to_owned(),
                parameters: std::collections::BTreeMap::new(),
                start_ns: start_ns / 4,
                stop_ns: rest.map(|rest| start_ns / 4 + rest),
                bytes,
                mss_bytes,
                forward: paths.0,
                reverse: paths.1,
                ecn,
                pacing,
                device_rate_bit_per_s: None,
                receive_window_bytes: window,
                pair: None,
                sender: None,
                receiver: None,
                application: None,
            }
        })
}

/// Write pattern of an application that is not a bulk sender.
fn application() -> impl Strategy<Value = ApplicationSpec> {
    prop_oneof![
        rate_bit_per_s().prop_map(|rate_bit_per_s| ApplicationSpec::Rate(RateSpec { rate_bit_per_s })),
        (rate_bit_per_s(), distribution(), distribution()).prop_map(|(rate_bit_per_s, on, off)| {
            ApplicationSpec::OnOff(OnOffSpec { rate_bit_per_s, on, off })
        }),
        (magnitude(18.0), distribution())
            .prop_map(|(chunk_bytes, every)| { ApplicationSpec::Chunks(ChunksSpec { chunk_bytes, every }) }),
        (magnitude(18.0), distribution()).prop_map(|(response_bytes, think)| {
            ApplicationSpec::Requests(RequestsSpec { response_bytes, think })
        }),
    ]
}

/// A [`flow`] with any application; some are UDP flows.
fn any_flow(elements: usize, duration_ns: u64) -> impl Strategy<Value = FlowSpec> {
    let written = prop_oneof![4 => Just(None), 3 => application().prop_map(Some)];
    (flow(elements, duration_ns), written, 0..3).prop_map(|(flow, application, choice)| {
        let by_udp =
            FlowSpec { algorithm: UDP.to_owned(), bytes: None, ecn: false, pacing: false, ..flow.clone() };
        let is_udp = application.is_some() && choice == 0;
        FlowSpec { application, ..if is_udp { by_udp } else { flow } }
    })
}

fn sampling() -> impl Strategy<Value = Sampling> {
    let every = (3 * NS_PER_MS..NS_PER_S).prop_map(Sampling::EveryNs);
    prop_oneof![Just(Sampling::Off), Just(Sampling::Change), every]
}

/// Sizes of a socket's buffer.
fn socket_buffer() -> impl Strategy<Value = Option<SocketBuffer>> {
    let size = || magnitude(15.0).prop_map(|bytes| u32::try_from(bytes).expect("15 bits"));
    let sizes = (size(), size(), magnitude(20.0)).prop_map(|(min_bytes, more, most)| {
        let default_bytes = 8192.max(min_bytes) + more;
        let max_bytes = default_bytes + u32::try_from(most).expect("20 bits");
        Some(SocketBuffer { min_bytes, default_bytes, max_bytes })
    });
    prop_oneof![2 => Just(None), 1 => sizes]
}

/// Hosts with any buffers and queues.
fn hosts() -> impl Strategy<Value = Host> {
    let rest = (rarely(), prop_oneof![3 => Just(1i8), 1 => -2..4i8], rarely());
    (socket_buffer(), socket_buffer(), rest, with_queues()).prop_map(|(rmem, wmem, rest, queues)| {
        let (fixed, adv_win_scale, without_sack) = rest;
        Host { rmem, wmem, moderate_rcvbuf: !fixed, adv_win_scale, sack: !without_sack, ..queues }
    })
}

/// Any network of one to seven elements and one to six flows; a few are invalid.
pub(crate) fn run() -> impl Strategy<Value = Run> {
    let sizes = (1..8usize, prop_oneof![1 => magnitude(30.0), 3 => NS_PER_S / 10..8 * NS_PER_S]);
    sizes.prop_flat_map(|(elements, duration_ns)| {
        (
            prop::collection::vec(element_kind(), elements),
            prop::collection::vec(any_flow(elements, duration_ns), 1..=6),
            (0..=duration_ns, 0..=duration_ns),
            (sampling(), rarely(), any::<u64>(), hosts()),
        )
            .prop_map(move |(kinds, flows, edges, (sampling, events, seed, hosts))| Run {
                format: FORMAT,
                profile: ProfileName::Linux6_1,
                seed,
                duration_ns,
                steady: Interval { from_ns: edges.0.min(edges.1), to_ns: edges.0.max(edges.1) },
                record: Record { sampling, events },
                hosts,
                flows: named_flows(flows, &kinds),
                elements: named_elements(kinds),
            })
    })
}

/// Hosts with any queue. The rate of a device is that of the first element, if it is a link.
fn with_queues() -> impl Strategy<Value = Host> {
    let qdisc = prop_oneof![
        3 => Just(Qdisc::None), 1 => Just(Qdisc::PfifoFast), 1 => Just(Qdisc::Fq), 1 => Just(Qdisc::FqCodel)
    ];
    let limit = prop_oneof![3 => Just(Some(1 << 20)), 1 => magnitude(24.0).prop_map(Some), 1 => Just(None)];
    (qdisc, 1..20u32, limit).prop_map(|(qdisc, txqueuelen, limit_output_bytes)| Host {
        qdisc,
        txqueuelen,
        limit_output_bytes,
        ..Host::default()
    })
}

fn named_elements(kinds: Vec<ElementKind>) -> Vec<ElementSpec> {
    kinds
        .into_iter()
        .enumerate()
        .map(|(i, element_kind)| element(&format!("element-{i}"), element_kind))
        .collect()
}

/// Rate of the device of a flow that begins with a link: that of the link, or any.
fn device_rate(flow: &FlowSpec, kinds: &[ElementKind]) -> Option<u64> {
    let first = flow.forward.first()?;
    let index: usize = first.strip_prefix("element-")?.parse().ok()?;
    match &kinds[index] {
        ElementKind::Link(link) => Some(link.rate_bit_per_s.max(1)),
        other => other.is_link().then_some(10_000_000),
    }
}

/// Names the flows. A flow that no link limits gets a receive window, because its congestion window would grow
/// without end.
fn named_flows(flows: Vec<FlowSpec>, kinds: &[ElementKind]) -> Vec<FlowSpec> {
    let links: Vec<_> = (0..kinds.len())
        .filter(|&index| kinds[index].is_link())
        .map(|index| format!("element-{index}"))
        .collect();
    let named = flows.into_iter().enumerate().map(|(index, flow)| {
        let is_limited = flow.forward.iter().any(|name| links.contains(name));
        let window = if is_limited { None } else { Some(100 * u64::from(flow.mss_bytes)) };
        FlowSpec {
            name: format!("flow-{index}"),
            receive_window_bytes: flow.receive_window_bytes.or(window),
            device_rate_bit_per_s: device_rate(&flow, kinds),
            sender: None,
            receiver: None,
            ..flow
        }
    });
    named.collect()
}

/// A path of delays and of links with unlimited queues: no packet is dropped.
fn clean_path() -> impl Strategy<Value = Vec<ElementKind>> {
    let endless = QueueSpec::Fifo(FifoSpec { limit_packets: None, limit_bytes: None });
    let link = (6.0..14.0f64, delay_ns()).prop_map(move |(exponent, delay_ns)| {
        let packets_per_s = magnitude_of(exponent);
        let rate_bit_per_s = packets_per_s * 8 * PACKET_BYTES;
        ElementKind::Link(LinkSpec { rate_bit_per_s, delay_ns, queue: endless.clone(), changes: Vec::new() })
    });
    let delay = delay_ns().prop_map(|delay_ns| ElementKind::Delay(DelaySpec { delay_ns }));
    prop::collection::vec(prop_oneof![link, delay], 1..4)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a power below 2^63")]
fn magnitude_of(exponent: f64) -> u64 {
    exponent.exp2() as u64
}

/// A finite flow over a path without drops, in a run of ten minutes.
pub(crate) fn clean_run() -> impl Strategy<Value = Run> {
    (clean_path(), clean_path(), magnitude(20.0), flow(1, NS_PER_S)).prop_map(
        |(forward, reverse, bytes, flow)| {
            let split = forward.len();
            let elements = named_elements(forward.into_iter().chain(reverse).collect());
            let names: Vec<_> = elements.iter().map(|element| element.name.clone()).collect();
            let flow = FlowSpec {
                bytes: Some(bytes),
                stop_ns: None,
                mss_bytes: flow.mss_bytes.max(100),
                forward: names[..split].to_vec(),
                reverse: names[split..].to_vec(),
                ..flow
            };
            super::network::run(elements, vec![flow], 0..600 * NS_PER_S)
        },
    )
}
