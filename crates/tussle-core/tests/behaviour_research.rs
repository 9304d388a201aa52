//! Behaviour of research algorithms on one bottleneck, with bounds derived from their papers.

use serde_json::{Value, json};
use tussle_core::{Outcome, Run, Simulation};

use crate::common::tables::{last_of_link, numbers};

/// A bottleneck for packets of 1500 bytes, and the measured interval.
#[derive(Clone, Copy)]
struct Dumbbell {
    mbit_per_s: u64,
    rtt_ms: u64,
    buffer_packets: u64,
    duration_s: u64,
    /// Start of the steady interval, in s.
    from_s: u64,
}

impl Dumbbell {
    fn queue(self) -> Value {
        json!({ "kind": "fifo", "limit_packets": self.buffer_packets })
    }

    /// Rate of the link, in packets per ms.
    #[expect(clippy::cast_precision_loss, reason = "a rate is far below 2^53 Mbit/s")]
    fn packets_per_ms(self) -> f64 {
        self.mbit_per_s as f64 / 12.0
    }

    /// Runs `flows` over the dumbbell.
    fn run(self, flows: &[Flow]) -> Measured {
        self.run_through(&Forward { loss: 0.0, queue: self.queue() }, flows)
    }

    /// Runs `flows` over the dumbbell with random loss; `loss` is a fraction.
    fn run_with_loss(self, loss: f64, flows: &[Flow]) -> Measured {
        self.run_through(&Forward { loss, queue: self.queue() }, flows)
    }

    fn run_through(self, forward: &Forward, flows: &[Flow]) -> Measured {
        let link = |name: &str, queue: &Value| {
            json!({ "name": name, "kind": "link", "rate_bit_per_s": self.mbit_per_s * 1_000_000,
                    "delay_ns": self.rtt_ms * 500_000, "queue": queue })
        };
        let flows: Vec<_> = flows.iter().enumerate().map(|(index, flow)| flow.spec(index)).collect();
        let run = json!({
            "format": 1, "profile": "linux-6.1", "seed": 1, "duration_ns": self.duration_s * 1_000_000_000,
            "steady": { "from_ns": self.from_s * 1_000_000_000, "to_ns": self.duration_s * 1_000_000_000 },
            "record": { "sampling": "off", "events": false },
            "elements": [{ "name": "loss", "kind": "loss", "probability": forward.loss },
                         link("bottleneck", &forward.queue), link("reverse", &json!({ "kind": "fifo" }))],
            "flows": flows,
        });
        let run: Run = serde_json::from_value(run).expect("the run follows the format");
        let simulation = Simulation::new(&run).expect("the run makes sense");
        Measured { outcome: simulation.run_to_end().expect("no invariant breaks"), dumbbell: self }
    }
}

/// The forward path.
struct Forward {
    /// Fraction of packets lost at random.
    loss: f64,
    queue: Value,
}

/// A flow with unlimited data.
#[derive(Clone, Copy)]
struct Flow {
    algorithm: &'static str,
    start_s: u64,
    /// A parameter with another value than its default.
    parameter: Option<(&'static str, i64)>,
}

impl Flow {
    fn of(algorithm: &'static str) -> Flow {
        Flow { algorithm, start_s: 0, parameter: None }
    }

    fn spec(&self, index: usize) -> Value {
        let parameters: serde_json::Map<_, _> =
            self.parameter.iter().map(|&(name, value)| (name.to_owned(), json!(value))).collect();
        json!({ "name": format!("flow-{index}"), "algorithm": self.algorithm, "parameters": parameters,
                "start_ns": self.start_s * 1_000_000_000, "mss_bytes": 1448,
                "forward": ["loss", "bottleneck"], "reverse": ["reverse"] })
    }
}

/// Outcome of a run.
struct Measured {
    outcome: Outcome,
    dumbbell: Dumbbell,
}

impl Measured {
    /// The last row of the bottleneck, which covers the steady interval.
    fn bottleneck(&self, column: &str) -> f64 {
        last_of_link(&self.outcome.links, "bottleneck", column)
    }

    fn utilisation(&self) -> f64 {
        self.bottleneck("utilisation")
    }

    fn mean_backlog_packets(&self) -> f64 {
        self.bottleneck("mean_backlog_packets")
    }

    fn mean_queueing_ms(&self) -> f64 {
        self.mean_backlog_packets() / self.dumbbell.packets_per_ms()
    }

    /// Share of the first flow in the total goodput.
    fn share_of_first(&self) -> f64 {
        let goodput = numbers(&self.outcome.flows, "goodput_bit_per_s");
        goodput[0] / goodput.iter().sum::<f64>()
    }
}

/// 20 Mbit/s and 40 ms, a BDP of 67 packets; a buffer of 500 packets is 300 ms, three times LEDBAT's target.
const DEEP: Dumbbell =
    Dumbbell { mbit_per_s: 20, rtt_ms: 40, buffer_packets: 500, duration_s: 120, from_s: 60 };

/// With one packet per round trip, growth from 10 to 67 + 167 packets takes 224 round trips of 40 to 140 ms,
/// 20 s. The clock of the delays has a resolution of 1 ms. Tolerance: 5 ms.
#[test]
fn a_single_ledbat_flow_fills_the_link_at_its_target_delay() {
    for target_ms in [25, 100] {
        let flow = Flow { parameter: Some(("target_ms", target_ms)), ..Flow::of("ledbat") };
        let steady = DEEP.run(&[flow]);
        assert!(steady.utilisation() > 0.99, "uses {}", steady.utilisation());
        let queueing_ms = steady.mean_queueing_ms();
        #[expect(clippy::cast_precision_loss, reason = "a target is at most 100 ms")]
        let target_ms = target_ms as f64;
        assert!(
            (queueing_ms - target_ms).abs() < 5.0,
            "the queueing delay is {queueing_ms} ms, not {target_ms} ms"
        );
    }
}

/// Reno's queue is between about 100 and 300 ms, above the target: LEDBAT falls to its minimum of two packets
/// of about 500, and gains a little whenever Reno halves its window.
#[test]
fn ledbat_yields_to_reno() {
    let share = DEEP.run(&[Flow::of("ledbat"), Flow::of("reno")]).share_of_first();
    assert!(share < 0.1, "LEDBAT takes {share}");
}

/// 40 Mbit/s and 60 ms, a BDP of 200 packets; the buffer is 1 BDP.
const WIDE: Dumbbell =
    Dumbbell { mbit_per_s: 40, rtt_ms: 60, buffer_packets: 200, duration_s: 60, from_s: 20 };

/// The paper's section 2.3: in equilibrium the queue oscillates between 0 and 2.5/δ packets, 1.25/δ on
/// average. Delayed ACKs add one or two packets.
#[test]
fn a_single_copa_flow_keeps_about_one_over_delta_packets_queued() {
    for (delta_milli, inverse) in [(500, 2.0), (100, 10.0)] {
        let flow = Flow { parameter: Some(("delta_milli", delta_milli)), ..Flow::of("copa") };
        let steady = WIDE.run(&[flow]);
        assert!(steady.utilisation() > 0.9, "uses {}", steady.utilisation());
        let (backlog, most) = (steady.mean_backlog_packets(), 2.5 * inverse + 2.0);
        assert!(backlog > 0.25 * inverse && backlog < most, "{backlog} packets are queued, 1/δ is {inverse}");
    }
}

/// Two flows have the same target delay, whichever started first.
#[test]
fn two_copa_flows_share_equally() {
    let late = Flow { start_s: 5, ..Flow::of("copa") };
    let share = WIDE.run(&[Flow::of("copa"), late]).share_of_first();
    assert!((share - 0.5).abs() < 0.1, "the first flow takes {share}");
}

/// Reno fills the buffer: Copa would starve in the default mode, and competes in the competitive mode.
#[test]
fn copa_competes_if_the_buffer_is_kept_full() {
    let share = |compete| {
        let copa = Flow { parameter: Some(("compete", compete)), ..Flow::of("copa") };
        WIDE.run(&[copa, Flow::of("reno")]).share_of_first()
    };
    let (default_mode, competing) = (share(0), share(1));
    assert!(
        default_mode < 0.15 && competing > 0.25,
        "{default_mode} in the default mode, {competing} with the competitive"
    );
}

/// Probes of ±5 % around the link's rate leave at most about 5 % unused, and rate changes of initially at
/// most 5 % another 5 %. The queue stays short.
#[test]
fn a_single_vivace_flow_uses_the_link_without_filling_the_buffer() {
    let steady = WIDE.run(&[Flow::of("vivace")]);
    assert!(steady.utilisation() > 0.85, "uses {}", steady.utilisation());
    let backlog = steady.mean_backlog_packets();
    assert!(backlog < 40.0, "{backlog} packets are queued");
}

/// A random loss of 0.1 % limits Reno to sqrt(1.5 / 0.001) = 39 of the path's 200 packets. Copa ignores
/// losses; Vivace's utility loses 11.35 × 0.001 per unit of rate, and gains 0.9 / x^0.1.
#[test]
fn copa_and_vivace_use_a_link_with_random_loss() {
    let utilisation = |algorithm| WIDE.run_with_loss(0.001, &[Flow::of(algorithm)]).utilisation();
    assert!(utilisation("reno") < 0.3);
    for algorithm in ["copa", "vivace"] {
        assert!(utilisation(algorithm) > 0.8, "{algorithm} uses {}", utilisation(algorithm));
    }
}

/// The marking threshold of 40 packets exceeds the seventh of 200 that a DCTCP-like flow needs: the queue
/// stays near the threshold, the link is used, and no packet is dropped.
#[test]
fn prague_holds_a_marking_queue_at_its_threshold() {
    let queue = json!({ "kind": "threshold", "mark_above_packets": 40, "limit_packets": 400 });
    let steady = WIDE.run_through(&Forward { loss: 0.0, queue }, &[Flow::of("prague")]);
    let (utilisation, backlog) = (steady.utilisation(), steady.mean_backlog_packets());
    assert!(utilisation > 0.98, "uses {utilisation}");
    assert!((20.0..=45.0).contains(&backlog), "{backlog} packets are queued");
    assert!(
        steady.bottleneck("max_backlog_packets") < 80.0,
        "{} packets are queued",
        steady.bottleneck("max_backlog_packets")
    );
    assert!(steady.bottleneck("dropped_packets") < 1.0, "{} dropped", steady.bottleneck("dropped_packets"));
}
