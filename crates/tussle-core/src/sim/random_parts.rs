//! The parts of a run that use random numbers, and hence differ between repetitions.

use std::fmt::Debug;

use super::algorithms;
use crate::run::check::{RunError, check_udp_parameters};
use crate::run::{Run, Timestamps};

impl Run {
    /// Names of the elements, then of the flows, whose behaviour depends on random numbers.
    ///
    /// A part is random if another seed gives it another state, or if it is an algorithm that declares that
    /// it depends on the random offset of timestamps.
    ///
    /// # Errors
    /// The first invalid element or flow.
    pub fn random_parts(&self) -> Result<Vec<&str>, RunError> {
        let mut found = Vec::new();
        for (i, element) in self.elements.iter().enumerate() {
            let build = |seed| {
                let built = element.kind.build(seed);
                built.map_err(|problem| RunError::new(format!("elements.{i}"), problem))
            };
            if are_different(&build(1)?, &build(2)?) {
                found.push(element.name.as_str());
            }
        }
        for (i, flow) in self.flows.iter().enumerate() {
            if flow.is_udp() {
                check_udp_parameters(flow).map_err(|error| error.of_flow(i))?;
                continue;
            }
            let build = |seed| algorithms::registered(flow, seed).map_err(|error| error.of_flow(i));
            let reads_offset = self.ends(flow).receiver.timestamps == Timestamps::Random
                && build(1)?.needs().timestamp_offset;
            if reads_offset || are_different(&build(1)?, &build(2)?) {
                found.push(flow.name.as_str());
            }
        }
        Ok(found)
    }
}

/// Whether two parts have different states. The `Debug` text of a part includes its random number generators.
fn are_different(one: &impl Debug, other: &impl Debug) -> bool {
    format!("{one:?}") != format!("{other:?}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc;
    use crate::run::Host;
    use serde_json::{Value, json};

    /// A run of one flow over a link with that queue, after an element.
    fn run(algorithm: &str, queue: &Value, element: &Value) -> Run {
        let mut first = json!({"name": "first"});
        first.as_object_mut().unwrap().extend(element.as_object().unwrap().clone());
        serde_json::from_value(json!({
            "format": 1, "profile": "linux-6.1", "seed": 1, "duration_ns": 1_000_000_000u64,
            "steady": {"from_ns": 0, "to_ns": 1_000_000_000u64},
            "record": {"sampling": "off", "events": false},
            "elements": [
                first,
                {"name": "link", "kind": "link", "rate_bit_per_s": 10_000_000, "delay_ns": 10_000_000,
                 "queue": queue},
            ],
            "flows": [{"name": "a", "algorithm": algorithm, "start_ns": 0, "mss_bytes": 1448,
                       "forward": ["first", "link"], "reverse": []}],
        }))
        .unwrap()
    }

    fn fifo() -> Value {
        json!({"kind": "fifo", "limit_packets": 20})
    }

    fn delay() -> Value {
        json!({"kind": "delay", "delay_ns": 10_000_000})
    }

    #[test]
    fn a_queue_with_random_numbers_makes_its_link_random() {
        let of = |queue: &Value| run("reno", queue, &delay()).random_parts().unwrap().join(" ");
        assert_eq!(of(&fifo()), "");
        assert_eq!(of(&json!({"kind": "codel", "limit_packets": 20})), "");
        assert_eq!(of(&json!({"kind": "pie", "limit_packets": 20})), "link");
    }

    #[test]
    fn sampled_times_are_random_and_constant_ones_are_not() {
        let jitter = |delay: Value| json!({"kind": "jitter", "delay": delay, "order": "kept"});
        let of = |element: &Value| run("reno", &fifo(), element).random_parts().unwrap().join(" ");
        assert_eq!(of(&json!({"kind": "loss", "probability": 0.01})), "first");
        assert_eq!(of(&jitter(json!({"uniform": {"least_ns": 0, "most_ns": 1000}}))), "first");
        assert_eq!(of(&jitter(json!({"constant_ns": 1000}))), "");
    }

    /// BBR selects its first phase at random, CDG its backoffs, and NV the lifetime of its smallest RTT; LP
    /// depends on the random offset of timestamps. The others are deterministic.
    #[test]
    fn five_algorithms_are_random() {
        let random = |name: &&str| run(name, &fifo(), &delay()).random_parts().unwrap() == ["a"];
        let names: Vec<&str> = cc::REGISTRY.iter().map(|entry| entry.name).filter(random).collect();
        assert_eq!(names, ["lp", "bbr", "bbr3", "cdg", "nv"]);
    }

    #[test]
    fn lp_is_random_if_timestamp_offsets_are() {
        let with = |timestamps| Run {
            hosts: Host { timestamps, ..Host::default() },
            ..run("lp", &fifo(), &delay())
        };
        assert_eq!(with(Timestamps::Random).random_parts().unwrap(), ["a"]);
        assert_eq!(with(Timestamps::Synchronised).random_parts().unwrap(), [""; 0]);
    }

    #[test]
    fn invalid_flows_are_refused() {
        let refused = run("renault", &fifo(), &delay()).random_parts().unwrap_err();
        assert_eq!(refused.at, "flows.0.algorithm");
    }
}
