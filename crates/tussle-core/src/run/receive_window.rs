//! Bytes that fill the path of a flow, and the receive window of the flow.

use crate::net::path::ElementKind;
use crate::run::FlowSpec;

/// Assumed size of a queue without a limit, in bytes.
const UNLIMITED_BYTES: u64 = 256 << 20;
const PACKET_BYTES: u64 = 1500;
const NS_PER_S: u128 = 1_000_000_000;

/// Smallest window that is chosen: the largest one of a Linux receiver with autotuning, half of the 6 MiB in `tcp_rmem`.
const MIN_WINDOW_BYTES: u64 = 3 << 20;
/// Largest window that TCP can advertise. [RFC 7323, 2.3](https://www.rfc-editor.org/rfc/rfc7323#section-2.3)
const MAX_WINDOW_BYTES: u64 = 65_535 << 14;

/// Largest window that a flow's receiver advertises, in bytes: the value set for the flow, else twice the
/// bytes that fill `path`, its forward and reverse path, so that the window never limits the flow.
pub fn receive_window_bytes<'a>(flow: &FlowSpec, path: impl Iterator<Item = &'a ElementKind>) -> u64 {
    flow.receive_window_bytes
        .unwrap_or_else(|| path_bytes(path).saturating_mul(2).clamp(MIN_WINDOW_BYTES, MAX_WINDOW_BYTES))
}

/// Bytes in flight that fill a path and all its queues.
pub fn path_bytes<'a>(path: impl Iterator<Item = &'a ElementKind>) -> u64 {
    let (mut delay, mut queued, mut rate) = (0_u64, 0_u64, None::<u64>);
    for element in path {
        delay = delay.saturating_add(element.delays().longest_ns);
        queued = queued.saturating_add(queue_bytes(element));
        rate = rate.into_iter().chain(element.link().map(|link| link.highest_rate_bit_per_s)).min();
    }
    let moving = u128::from(rate.unwrap_or_default()) * u128::from(delay) / NS_PER_S / 8;
    u64::try_from(moving).unwrap_or(u64::MAX).saturating_add(queued)
}

/// Capacity of an element's queue, in bytes.
pub fn queue_bytes(element: &ElementKind) -> u64 {
    let Some(link) = element.link() else { return 0 };
    link.queue.limits().in_bytes(PACKET_BYTES).unwrap_or(UNLIMITED_BYTES).min(UNLIMITED_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn element(value: &Value) -> ElementKind {
        serde_json::from_value(value.clone()).unwrap()
    }

    /// A link on the forward path and one on the reverse path, with a total delay of 100 ms.
    fn path(rate_bit_per_s: u64, queue: &Value) -> Vec<ElementKind> {
        let link = json!({"kind": "link", "rate_bit_per_s": rate_bit_per_s, "delay_ns": 50_000_000,
                                      "queue": queue});
        vec![serde_json::from_value(link).unwrap(); 2]
    }

    fn flow(receive_window_bytes: Option<u64>) -> FlowSpec {
        serde_json::from_value(json!({
            "name": "a", "algorithm": "reno", "start_ns": 0, "mss_bytes": 1448, "forward": ["forward"],
            "reverse": ["back"], "receive_window_bytes": receive_window_bytes,
        }))
        .unwrap()
    }

    /// 1 Gbit/s over 100 ms are 12.5 MB, and each of two queues holds 1 MB: 14.5 MB.
    #[test]
    fn the_receive_window_is_twice_the_bytes_of_the_path() {
        let path = path(1_000_000_000, &json!({"kind": "fifo", "limit_bytes": 1_000_000}));
        assert_eq!(path_bytes(path.iter()), 14_500_000);
        assert_eq!(receive_window_bytes(&flow(None), path.iter()), 29_000_000);
    }

    /// Each link holds at most 30 ms at 100 Mbit/s, 375 kB; a queue of a hundred packets holds 150 kB.
    #[test]
    fn every_element_counts_with_its_highest_rate_and_its_longest_delay() {
        let queue = json!({"kind": "fifo", "limit_packets": 100});
        let rise = json!([{"at_ns": 5, "rate_bit_per_s": 100_000_000, "delay_ns": 30_000_000}]);
        let constant = json!({"constant_ns": 30_000_000});
        let fast = |more: Value| {
            let mut link = json!({"rate_bit_per_s": 100_000_000, "delay_ns": 30_000_000, "queue": queue});
            link.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            link
        };
        let slow =
            json!({"kind": "link", "rate_bit_per_s": 1000, "delay_ns": 9, "queue": queue, "changes": rise});
        for link in [
            fast(json!({"kind": "link"})),
            slow,
            fast(json!({"kind": "arq", "block_error": 0.1, "attempts": 3, "delay_ns": 15_000_000,
                        "retry_delay_ns": 5_000_000})),
            fast(json!({"kind": "wifi", "stations": 0, "signal_dbm": -50.0})),
        ] {
            assert_eq!(path_bytes(std::iter::once(&element(&link))), 525_000, "{link}");
        }
        let at_once = element(&fast(json!({"kind": "link", "delay_ns": 0})));
        for delay in [
            json!({"kind": "delay", "delay_ns": 30_000_000}),
            json!({"kind": "jitter", "delay": constant}),
            json!({"kind": "ramp", "begin_ns": 0, "end_ns": 9, "from_delay_ns": 5, "to_delay_ns": 30_000_000}),
            json!({"kind": "handover", "every_ns": 15_000_000_000u64, "delay": {"constant_ns": 20_000_000},
                   "pause_ns": 10_000_000}),
            json!({"kind": "outage", "up": {"constant_ns": 1_000_000_000}, "down": constant}),
            json!({"kind": "aggregate", "hold_ns": 30_000_000}),
        ] {
            assert_eq!(path_bytes([&at_once, &element(&delay)].into_iter()), 525_000, "{delay}");
        }
    }

    /// A packet every 2 ms, and in one interval of 0.1 s a packet every ms: 12 Mbit/s, or 45 kB in 30 ms.
    #[test]
    fn a_recorded_link_counts_with_its_busiest_tenth_of_a_second() {
        let opportunities_ms: Vec<u32> = (0..500).map(|at| 2 * at).chain(1000..1100).collect();
        let trace = json!({"kind": "trace", "opportunities_ms": opportunities_ms, "delay_ns": 30_000_000,
                           "queue": {"kind": "fifo", "limit_packets": 100}});
        assert_eq!(path_bytes(std::iter::once(&element(&trace))), 45_000 + 150_000);
    }

    #[test]
    fn a_small_path_has_linuxs_default_window() {
        let path = path(1_000_000, &json!({"kind": "codel", "limit_packets": 10}));
        assert_eq!(receive_window_bytes(&flow(None), path.iter()), 3 << 20);
    }

    #[test]
    fn a_flow_may_set_its_window() {
        let path = path(1_000_000_000, &json!({"kind": "fifo"}));
        assert_eq!(receive_window_bytes(&flow(Some(100_000)), path.iter()), 100_000);
    }

    #[test]
    fn a_queue_without_a_limit_counts_as_256_mib() {
        let path = path(400_000_000_000, &json!({"kind": "fifo"}));
        // 40 Gbit are 5 GB.
        assert_eq!(receive_window_bytes(&flow(None), path.iter()), 65_535 << 14);
        assert_eq!(queue_bytes(&path[0]), 256 << 20);
    }
}
