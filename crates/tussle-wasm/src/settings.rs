//! The settings of the studio, and the run that they describe.
//!
//! Python resolves scenarios of every kind. This is the one kind that the studio offers, and
//! `tests/studio` compares the results of both.

use blake2::digest::{Update, VariableOutput};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// Packet size that buffers in multiples of the BDP are counted in.
const PACKET_BYTES: u128 = 1500;
const NS_PER_S: u128 = 1_000_000_000;
const MSS_BYTES: u32 = 1448;
const SAMPLING_NS: u64 = 50_000_000;
/// The part of the time that all flows share which is left out of the steady interval.
const UNSETTLED: u64 = 3;

/// Flows over one bottleneck.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settings {
    seed: u64,
    duration_ns: u64,
    rate_bit_per_s: u64,
    rtt_ns: u64,
    /// Buffer in thousandths of the BDP.
    buffer_bdp_thousandths: u64,
    /// Lost packets per million.
    loss_ppm: u32,
    queue: String,
    /// Settings of all hosts, by their names in a run.
    hosts: Map<String, Value>,
    pacing: bool,
    ecn: bool,
    flows: Vec<FlowSettings>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FlowSettings {
    algorithm: String,
    start_ns: u64,
}

impl Settings {
    /// The run of the first repetition of the scenario, as JSON.
    pub(crate) fn run(&self) -> Value {
        let queue = json!({"kind": self.queue, "limit_packets": self.buffer_packets()});
        let link = |name: &str| {
            json!({"name": name, "kind": "link", "rate_bit_per_s": self.rate_bit_per_s, "queue": queue,
                   "delay_ns": self.rtt_ns / 2})
        };
        let mut elements = vec![link("bottleneck"), link("bottleneck-reverse")];
        let mut forward = vec!["bottleneck"];
        if self.loss_ppm > 0 {
            let probability = f64::from(self.loss_ppm) / 1e6;
            elements.insert(0, json!({"name": "loss", "kind": "loss", "probability": probability}));
            forward.insert(0, "loss");
        }
        let flows: Vec<_> =
            self.flows.iter().enumerate().map(|(i, flow)| self.flow(i, flow, &forward)).collect();
        json!({
            "format": 1,
            "profile": "linux-6.1",
            "seed": seed_of_first_repetition(self.seed),
            "duration_ns": self.duration_ns,
            "steady": {"from_ns": self.steady_from_ns(), "to_ns": self.duration_ns},
            "record": {"sampling": {"every_ns": SAMPLING_NS}, "events": true},
            "hosts": self.hosts,
            "elements": elements,
            "flows": flows,
        })
    }

    fn flow(&self, index: usize, flow: &FlowSettings, forward: &[&str]) -> Value {
        json!({
            "name": format!("flow-{index}"), "algorithm": flow.algorithm, "start_ns": flow.start_ns,
            "mss_bytes": MSS_BYTES, "forward": forward, "reverse": ["bottleneck-reverse"],
            "ecn": self.ecn, "pacing": self.pacing,
        })
    }

    /// The buffer in packets, rounded to the nearest one; halves go up.
    fn buffer_packets(&self) -> u128 {
        let bits_ns = u128::from(self.rate_bit_per_s) * u128::from(self.rtt_ns);
        let thousandths = bits_ns * u128::from(self.buffer_bdp_thousandths);
        let one = 8 * NS_PER_S * PACKET_BYTES * 1000;
        ((2 * thousandths + one) / (2 * one)).max(1)
    }

    fn steady_from_ns(&self) -> u64 {
        let last_start_ns = self.flows.iter().map(|flow| flow.start_ns).max().unwrap_or(0);
        last_start_ns + self.duration_ns.saturating_sub(last_start_ns) / UNSETTLED
    }
}

/// 53 bits of a hash, as the seeds of repetitions are made.
fn seed_of_first_repetition(seed: u64) -> u64 {
    let mut hash = blake2::Blake2bVar::new(8).expect("BLAKE2b has digests of 8 bytes");
    hash.update(format!("{seed}/repetition/0").as_bytes());
    let mut digest = [0; 8];
    hash.finalize_variable(&mut digest).expect("the digest has 8 bytes");
    u64::from_be_bytes(digest) >> (64 - 53)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> Settings {
        serde_json::from_value(json!({
            "seed": 1, "duration_ns": 20_000_000_000_u64, "rate_bit_per_s": 10_000_000, "rtt_ns": 40_000_000,
            "buffer_bdp_thousandths": 1000, "loss_ppm": 0, "queue": "fifo", "hosts": {}, "pacing": false,
            "ecn": false,
            "flows": [{"algorithm": "cubic", "start_ns": 0}, {"algorithm": "reno", "start_ns": 5_000_000_000_u64}],
        }))
        .expect("the settings are complete")
    }

    /// 10 Mbit/s in 40 ms are 50 kB, 33.3 packets; 0.765 of that are 25.5; 0.01 of that are 0.3.
    #[test]
    fn a_buffer_is_rounded_to_whole_packets_and_holds_one() {
        let packets =
            |thousandths| Settings { buffer_bdp_thousandths: thousandths, ..settings() }.buffer_packets();
        assert_eq!([packets(1000), packets(765), packets(10)], [33, 26, 1]);
    }

    /// The flows share 15 s; a third of it are 5 s.
    #[test]
    fn the_steady_interval_leaves_out_a_third_of_the_shared_time() {
        assert_eq!(settings().steady_from_ns(), 10_000_000_000);
    }

    /// `hashlib.blake2b(b"1/repetition/0", digest_size=8)` in Python, without its last 11 bits.
    #[test]
    fn the_seed_is_that_of_a_scenario() {
        assert_eq!(seed_of_first_repetition(1), 4_457_500_809_491_821);
    }
}
