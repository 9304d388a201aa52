//! What the research algorithms do on one bottleneck: directions and bounds argued from their papers.

use serde_json::{Value, json};
use tussle_core::table::{Table, Values};
use tussle_core::{Outcome, Run, Simulation};

/// A bottleneck of 1500-byte packets, and how long to look at it.
#[derive(Clone, Copy)]
struct Dumbbell {
    mbit_per_s: u64,
    rtt_ms: u64,
    buffer_packets: u64,
    duration_s: u64,
    /// What is measured begins here.
    from_s: u64,
}

impl Dumbbell {
    fn queue(self) -> Value {
        json!({ "kind": "fifo", "limit_packets": self.buffer_packets })
    }

    /// Packets that the link sends in a millisecond.
    #[expect(clippy::cast_precision_loss, reason = "a rate is far below 2^53 Mbit/s")]
    fn packets_per_ms(self) -> f64 {
        self.mbit_per_s as f64 / 12.0
    }

    /// Runs `flows` over it.
    fn run(self, flows: &[Flow]) -> Measured {
        self.run_through(&Forward { loss: 0.0, queue: self.queue() }, flows)
    }

    /// Runs with a part of the packets lost at random.
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
    /// Part of the packets lost at random.
    loss: f64,
    queue: Value,
}

/// A flow without end.
#[derive(Clone, Copy)]
struct Flow {
    algorithm: &'static str,
    start_s: u64,
    /// A parameter that is not at its default.
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

/// What was seen from `from_s` on.
struct Measured {
    outcome: Outcome,
    dumbbell: Dumbbell,
}

impl Measured {
    /// The last row of the bottleneck, which covers the steady interval.
    fn bottleneck(&self, column: &str) -> f64 {
        let links = &self.outcome.links;
        let Values::Label { codes, names } = values(links, "link") else { panic!("links.link is a label") };
        let row = codes.iter().rposition(|&code| names[code as usize] == "bottleneck");
        numbers(links, column)[row.expect("the bottleneck has rows")]
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

    /// The part of the first flow in what all flows got.
    fn share_of_first(&self) -> f64 {
        let goodput = numbers(&self.outcome.flows, "goodput_bit_per_s");
        goodput[0] / goodput.iter().sum::<f64>()
    }
}

fn values<'a>(table: &'a Table, column: &str) -> &'a Values {
    let found = table.columns.iter().find(|candidate| candidate.name == column);
    &found.expect("the table has the column").values
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
fn numbers(table: &Table, column: &str) -> Vec<f64> {
    match values(table, column) {
        Values::U32(numbers) => numbers.iter().map(|&number| f64::from(number)).collect(),
        Values::U64(numbers) => numbers.iter().map(|&number| number as f64).collect(),
        Values::MaybeU64(numbers) => {
            numbers.iter().map(|number| number.expect("the simulator counts") as f64).collect()
        }
        Values::F64(numbers) => numbers.clone(),
        _ => panic!("{}.{column} is not a column of numbers", table.name),
    }
}

/// 20 Mbit/s and 40 ms hold 67 packets; the buffer of 500 packets takes 300 ms, three times the target.
const DEEP: Dumbbell =
    Dumbbell { mbit_per_s: 20, rtt_ms: 40, buffer_packets: 500, duration_s: 120, from_s: 60 };

/// One packet a round trip from 10 packets to 67 + 167 takes some 224 round trips of 40 to 140 ms, 20 s. The
/// clock of the delays counts ms, so the queue may be up to 1 ms off; 5 ms are allowed.
#[test]
fn ledbat_alone_fills_the_link_at_its_target_delay() {
    for target_ms in [25, 100] {
        let flow = Flow { parameter: Some(("target_ms", target_ms)), ..Flow::of("ledbat") };
        let seen = DEEP.run(&[flow]);
        assert!(seen.utilisation() > 0.99, "uses {}", seen.utilisation());
        let queueing_ms = seen.mean_queueing_ms();
        #[expect(clippy::cast_precision_loss, reason = "a target is at most 100 ms")]
        let target_ms = target_ms as f64;
        assert!(
            (queueing_ms - target_ms).abs() < 5.0,
            "the queue takes {queueing_ms} ms, not {target_ms} ms"
        );
    }
}

/// Reno's queue is between some 100 and 300 ms, above the target: LEDBAT is driven to its two packets of some
/// 500, and may take a little whenever Reno halves its window.
#[test]
fn ledbat_yields_to_reno() {
    let share = DEEP.run(&[Flow::of("ledbat"), Flow::of("reno")]).share_of_first();
    assert!(share < 0.1, "LEDBAT takes {share}");
}

/// 40 Mbit/s and 60 ms hold 200 packets; the buffer holds as many.
const WIDE: Dumbbell =
    Dumbbell { mbit_per_s: 40, rtt_ms: 60, buffer_packets: 200, duration_s: 60, from_s: 20 };

/// The paper's section 2.3: in equilibrium the queue goes from nothing to 2.5/δ packets and back, 1.25/δ on
/// average. Delayed ACKs add a packet or two.
#[test]
fn copa_alone_keeps_about_one_over_delta_packets_waiting() {
    for (delta_milli, inverse) in [(500, 2.0), (100, 10.0)] {
        let flow = Flow { parameter: Some(("delta_milli", delta_milli)), ..Flow::of("copa") };
        let seen = WIDE.run(&[flow]);
        assert!(seen.utilisation() > 0.9, "uses {}", seen.utilisation());
        let (backlog, most) = (seen.mean_backlog_packets(), 2.5 * inverse + 2.0);
        assert!(backlog > 0.25 * inverse && backlog < most, "{backlog} packets wait, 1/δ is {inverse}");
    }
}

/// Two flows want the same queueing delay, whoever came first.
#[test]
fn copa_shares_with_copa() {
    let late = Flow { start_s: 5, ..Flow::of("copa") };
    let share = WIDE.run(&[Flow::of("copa"), late]).share_of_first();
    assert!((share - 0.5).abs() < 0.1, "the first flow takes {share}");
}

/// Reno fills the buffer: in the default mode Copa would starve, in the competitive one it takes its part.
#[test]
fn copa_competes_where_the_buffer_is_kept_full() {
    let share = |compete| {
        let copa = Flow { parameter: Some(("compete", compete)), ..Flow::of("copa") };
        WIDE.run(&[copa, Flow::of("reno")]).share_of_first()
    };
    let (meek, competing) = (share(0), share(1));
    assert!(meek < 0.15 && competing > 0.25, "{meek} in the default mode, {competing} with the competitive");
}

/// Trying 5 % more and less around the link's rate leaves some 5 % unused at worst, and a change of at most
/// 5 % at first as much again; the buffer is only touched.
#[test]
fn vivace_alone_uses_the_link_without_filling_the_buffer() {
    let seen = WIDE.run(&[Flow::of("vivace")]);
    assert!(seen.utilisation() > 0.85, "uses {}", seen.utilisation());
    let backlog = seen.mean_backlog_packets();
    assert!(backlog < 40.0, "{backlog} packets wait");
}

/// One packet in a thousand lost at random holds Reno at sqrt(1.5 / 0.001) = 39 of the path's 200 packets. Copa
/// does not heed it; Vivace's utility loses 11.35 × 0.001 of the rate, where growth gains 0.9 / x^0.1.
#[test]
fn random_loss_does_not_keep_copa_and_vivace_from_the_link() {
    let utilisation = |algorithm| WIDE.run_with_loss(0.001, &[Flow::of(algorithm)]).utilisation();
    assert!(utilisation("reno") < 0.3);
    for algorithm in ["copa", "vivace"] {
        assert!(utilisation(algorithm) > 0.8, "{algorithm} uses {}", utilisation(algorithm));
    }
}

/// Marks above 40 packets, more than the seventh of 200 that a DCTCP-like flow needs: the queue stays about
/// there, the link is used, and nothing is dropped.
#[test]
fn prague_holds_a_marking_queue_at_its_threshold() {
    let queue = json!({ "kind": "threshold", "mark_above_packets": 40, "limit_packets": 400 });
    let seen = WIDE.run_through(&Forward { loss: 0.0, queue }, &[Flow::of("prague")]);
    let (utilisation, backlog) = (seen.utilisation(), seen.mean_backlog_packets());
    assert!(utilisation > 0.98, "uses {utilisation}");
    assert!((20.0..=45.0).contains(&backlog), "{backlog} packets wait");
    assert!(
        seen.bottleneck("max_backlog_packets") < 80.0,
        "{} packets wait",
        seen.bottleneck("max_backlog_packets")
    );
    assert!(seen.bottleneck("dropped_packets") < 1.0, "{} dropped", seen.bottleneck("dropped_packets"));
}
