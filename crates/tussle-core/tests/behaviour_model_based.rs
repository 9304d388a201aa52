//! Behaviour of model-based algorithms on one bottleneck, with bounds derived from their papers.

use serde_json::{Value, json};
use tussle_core::{Outcome, Run, Simulation};

use crate::common::tables::{last_of_link, numbers};

/// BDP of 50 Mbit/s and 40 ms, in packets of 1500 bytes.
const BDP_PACKETS: f64 = 166.7;

/// A bottleneck of 50 Mbit/s and 40 ms.
#[derive(Clone, Copy)]
struct Bottleneck {
    buffer_packets: u64,
    loss: f64,
}

/// Outcome of a run, with a steady interval from 10 to 40 s.
struct Steady(Outcome);

impl Bottleneck {
    fn run(self, algorithms: &[&str]) -> Steady {
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
        Steady(simulation.run_to_end().expect("no invariant breaks"))
    }
}

impl Steady {
    /// The last row of the bottleneck, which covers the steady interval.
    fn bottleneck(&self, column: &str) -> f64 {
        last_of_link(&self.0.links, "bottleneck", column)
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

    /// Jain's index of the goodputs: 1 if all are equal, 1/n if one flow has everything.
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

const DEEP: Bottleneck = Bottleneck { buffer_packets: 667, loss: 0.0 };
const ONE_BDP: Bottleneck = Bottleneck { buffer_packets: 167, loss: 0.0 };
const SHALLOW: Bottleneck = Bottleneck { buffer_packets: 8, loss: 0.0 };
const LOSSY: Bottleneck = Bottleneck { buffer_packets: 167, loss: 0.01 };

const BBRS: [&str; 2] = ["bbr", "bbr3"];

/// BBR paces 1 % below the bandwidth and nearly stops for 200 ms every 10 s: at least 97 % utilisation.
/// Tolerance: 2 %.
#[test]
fn a_single_bbr_flow_fills_the_link() {
    for name in BBRS {
        for bottleneck in [DEEP, ONE_BDP] {
            let used = bottleneck.run(&[name]).utilisation();
            assert!(used > 0.95, "{name} uses {used}");
        }
    }
}

/// The window is twice the BDP, so that the queue of several flows is at most one BDP, apart from bursts;
/// pacing keeps the queue of a single flow almost empty. CUBIC fills a buffer of four BDP, and backs off to
/// 0.7 × 5 - 1 = 2.5 BDP.
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

/// At a loss of 1 % Reno's window would be 1.22 / √0.01 = 12 packets of 167, and CUBIC's is not much larger.
#[test]
fn bbr_withstands_one_percent_of_random_loss_where_cubic_collapses() {
    let cubic = LOSSY.run(&["cubic"]).utilisation();
    assert!(cubic < 0.3, "CUBIC uses {cubic}");
    let bbr = LOSSY.run(&["bbr"]).utilisation();
    assert!(bbr > 0.9, "bbr uses {bbr}");
    // Each round trip between two probes reduces the bound to the delivered 99 %; with at most 63 round
    // trips, (1 - 0.99^63) / 0.63 = 0.74 remain on average.
    let bbr3 = LOSSY.run(&["bbr3"]).utilisation();
    assert!(bbr3 > 0.74, "bbr3 uses {bbr3}");
}

#[test]
fn two_bbr_flows_share_the_link() {
    for name in BBRS {
        let steady = ONE_BDP.run(&[name, name]);
        assert!(steady.fairness() > 0.8, "{name}: {:?}", steady.goodputs());
        assert!(steady.utilisation() > 0.95, "{name} uses {}", steady.utilisation());
    }
}

/// Two flows with windows of 2 BDP overflow a buffer of 0.05 BDP. Version 1 ignores the losses; version 3
/// bounds the data in flight by the amount at which it lost 2 %.
#[test]
fn bbr_fills_a_shallow_buffer_with_losses_and_bbr3_does_not() {
    let of = |name| SHALLOW.run(&[name, name]).retransmitted_part();
    let (bbr, bbr3) = (of("bbr"), of("bbr3"));
    assert!(bbr > 0.02, "{bbr}");
    assert!(bbr3 < 0.02 && bbr3 < bbr / 2.0, "{bbr3}, {bbr}");
}
