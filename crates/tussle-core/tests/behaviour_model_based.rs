//! What algorithms that model the path do on one bottleneck: directions and bounds argued from their papers.

use serde_json::{Value, json};
use tussle_core::table::{Table, Values};
use tussle_core::{Outcome, Run, Simulation};

/// Packets of 1500 bytes that 50 Mbit/s carry in 40 ms.
const BDP_PACKETS: f64 = 166.7;

/// 50 Mbit/s and 40 ms, with one buffer.
#[derive(Clone, Copy)]
struct Bottleneck {
    buffer_packets: u64,
    loss: f64,
}

/// What was seen from second 10 to second 40.
struct Seen(Outcome);

impl Bottleneck {
    fn run(self, algorithms: &[&str]) -> Seen {
        let link = |name: &str, queue: Value| {
            json!({ "name": name, "kind": "link", "rate_bit_per_s": 50_000_000, "delay_ns": 20_000_000,
                    "queue": queue })
        };
        let flow = |(index, algorithm): (usize, &&str)| {
            json!({ "name": format!("flow-{index}"), "algorithm": algorithm, "start_ns": index * 500_000_000,
                    "mss_bytes": 1448, "forward": ["loss", "bottleneck"], "reverse": ["reverse"] })
        };
        let run = json!({
            "format": 1, "profile": "linux-6.1", "seed": 1, "duration_ns": 40_000_000_000_u64,
            "steady": { "from_ns": 10_000_000_000_u64, "to_ns": 40_000_000_000_u64 },
            "record": { "sampling": "off", "events": false },
            "elements": [
                link("bottleneck", json!({ "kind": "fifo", "limit_packets": self.buffer_packets })),
                link("reverse", json!({ "kind": "fifo" })),
                json!({ "name": "loss", "kind": "loss", "probability": self.loss }),
            ],
            "flows": algorithms.iter().enumerate().map(flow).collect::<Vec<_>>(),
        });
        let run: Run = serde_json::from_value(run).expect("the run follows the format");
        let simulation = Simulation::new(&run).expect("the run makes sense");
        Seen(simulation.run_to_end().expect("no invariant breaks"))
    }
}

impl Seen {
    /// The last row of the bottleneck, which covers the steady interval.
    fn bottleneck(&self, column: &str) -> f64 {
        let links = &self.0.links;
        let Values::Label { codes, names } = values(links, "link") else { panic!("links.link is a label") };
        let row = codes.iter().rposition(|&code| names[code as usize] == "bottleneck");
        numbers(links, column)[row.expect("the bottleneck has rows")]
    }

    fn utilisation(&self) -> f64 {
        self.bottleneck("utilisation")
    }

    fn mean_backlog_bdp(&self) -> f64 {
        self.bottleneck("mean_backlog_packets") / BDP_PACKETS
    }

    fn goodputs(&self) -> Vec<f64> {
        numbers(&self.0.flows, "goodput_bit_per_s")
    }

    /// Jain's index of the goodputs: 1 if all are equal, 1/n if one has all.
    #[expect(clippy::cast_precision_loss, reason = "a handful of flows")]
    fn fairness(&self) -> f64 {
        let goodputs = self.goodputs();
        let sum: f64 = goodputs.iter().sum();
        sum * sum / (goodputs.len() as f64 * goodputs.iter().map(|goodput| goodput * goodput).sum::<f64>())
    }

    fn retransmitted_part(&self) -> f64 {
        let sum = |column: &str| numbers(&self.0.flows, column).iter().sum::<f64>();
        sum("steady_retransmitted_packets") / sum("steady_sent_packets")
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

const DEEP: Bottleneck = Bottleneck { buffer_packets: 667, loss: 0.0 };
const ONE_BDP: Bottleneck = Bottleneck { buffer_packets: 167, loss: 0.0 };
const SHALLOW: Bottleneck = Bottleneck { buffer_packets: 8, loss: 0.0 };
const LOSSY: Bottleneck = Bottleneck { buffer_packets: 167, loss: 0.01 };

const BBRS: [&str; 2] = ["bbr", "bbr3"];

/// BBR paces 1 % below the bandwidth and stops for 200 ms in 10 s: 97 % at least; 2 % are allowed for headers
/// that the goodput, but not the link, leaves out.
#[test]
fn bbr_alone_fills_the_link() {
    for name in BBRS {
        for bottleneck in [DEEP, ONE_BDP] {
            let used = bottleneck.run(&[name]).utilisation();
            assert!(used > 0.95, "{name} uses {used}");
        }
    }
}

/// The window is twice what fits, so the queue never exceeds one BDP, but for bursts; alone, pacing keeps it
/// close to empty. CUBIC fills four BDP and backs off to 0.7 × 5 - 1 = 2.5.
#[test]
fn bbr_holds_the_queue_below_one_bdp_where_cubic_fills_it() {
    let cubic = DEEP.run(&["cubic"]).mean_backlog_bdp();
    assert!(cubic > 2.0, "CUBIC's queue is {cubic} BDP");
    for name in BBRS {
        let alone = DEEP.run(&[name]).mean_backlog_bdp();
        assert!(alone < 0.25, "{name}'s queue is {alone} BDP");
        let two = DEEP.run(&[name, name]).mean_backlog_bdp();
        assert!(two < 1.25, "the queue of two {name} is {two} BDP");
    }
}

/// For CUBIC 1 % is a loss every 100 packets, where Reno's window would be 1.22 / √0.01 = 12 packets of 167.
#[test]
fn bbr_withstands_one_percent_of_random_loss_where_cubic_collapses() {
    let cubic = LOSSY.run(&["cubic"]).utilisation();
    assert!(cubic < 0.3, "CUBIC uses {cubic}");
    let bbr = LOSSY.run(&["bbr"]).utilisation();
    assert!(bbr > 0.9, "bbr uses {bbr}");
    // Each round trip between two probes leaves what it delivered, 99 %; there are 63 of them at most, so that
    // (1 - 0.99^63) / 0.63 = 0.74 remain on average.
    let bbr3 = LOSSY.run(&["bbr3"]).utilisation();
    assert!(bbr3 > 0.74, "bbr3 uses {bbr3}");
}

#[test]
fn two_bbr_flows_share_the_link() {
    for name in BBRS {
        let seen = ONE_BDP.run(&[name, name]);
        assert!(seen.fairness() > 0.8, "{name}: {:?}", seen.goodputs());
        assert!(seen.utilisation() > 0.95, "{name} uses {}", seen.utilisation());
    }
}

/// Two windows of twice what fits overflow a buffer of a twentieth of it. Version 1 does not mind; version 3 bounds
/// what is in flight by where it lost 2 %.
#[test]
fn bbr_fills_a_shallow_buffer_with_losses_and_bbr3_does_not() {
    let of = |name| SHALLOW.run(&[name, name]).retransmitted_part();
    let (bbr, bbr3) = (of("bbr"), of("bbr3"));
    assert!(bbr > 0.02, "{bbr}");
    assert!(bbr3 < 0.02 && bbr3 < bbr / 2.0, "{bbr3}, {bbr}");
}
