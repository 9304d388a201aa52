//! How many bytes a flow can have under way, and the window that its receiver offers for them.

use crate::net::path::{Change, ElementKind};
use crate::run::FlowSpec;

/// What stands for the bytes in a queue without a limit.
const UNLIMITED_BYTES: u64 = 256 << 20;
const PACKET_BYTES: u64 = 1500;
const NS_PER_S: u128 = 1_000_000_000;
/// Over which time a recorded link is at its fastest: near a base RTT, so that a spike of 1 ms counts little.
const BUSY_MS: u32 = 100;

/// Largest window of a Linux receiver that tunes its buffer by itself: half of `tcp_rmem`'s 6 MiB.
const USUAL_WINDOW_BYTES: u64 = 3 << 20;
/// Largest window that TCP can offer. [RFC 7323, 2.3](https://www.rfc-editor.org/rfc/rfc7323#section-2.3)
const MAX_WINDOW_BYTES: u64 = 65_535 << 14;

/// The window that a flow's receiver offers in the end, in bytes: as the flow says, else twice what its `path`
/// there and back holds, so that it never limits.
pub fn receive_window_bytes<'a>(flow: &FlowSpec, path: impl Iterator<Item = &'a ElementKind>) -> u64 {
    flow.receive_window_bytes
        .unwrap_or_else(|| path_bytes(path).saturating_mul(2).clamp(USUAL_WINDOW_BYTES, MAX_WINDOW_BYTES))
}

/// Bytes that fill a path there and back, and all its queues.
pub fn path_bytes<'a>(path: impl Iterator<Item = &'a ElementKind>) -> u64 {
    let (mut delay, mut queued, mut rate) = (0_u64, 0_u64, None::<u64>);
    for effect in path {
        delay = delay.saturating_add(delay_ns(effect));
        queued = queued.saturating_add(queue_bytes(effect));
        rate = rate.into_iter().chain(rate_bit_per_s(effect)).min();
    }
    let moving = u128::from(rate.unwrap_or_default()) * u128::from(delay) / NS_PER_S / 8;
    u64::try_from(moving).unwrap_or(u64::MAX).saturating_add(queued)
}

/// Bytes that can wait in the queue of an element.
pub fn queue_bytes(effect: &ElementKind) -> u64 {
    let Some(queue) = effect.queue() else { return 0 };
    let (packets, bytes) = queue.limits();
    let limits = [packets.map(|packets| packets.saturating_mul(PACKET_BYTES)), bytes];
    limits.into_iter().flatten().min().unwrap_or(UNLIMITED_BYTES).min(UNLIMITED_BYTES)
}

/// How long an element holds a packet that is not queued, at the longest: hardly any is held longer.
fn delay_ns(effect: &ElementKind) -> u64 {
    match effect {
        ElementKind::Link(link) => longest(link.delay_ns, &link.changes),
        ElementKind::Arq(arq) => {
            let retries_ns = u64::from(arq.attempts).saturating_mul(arq.retry_delay_ns);
            longest(arq.delay_ns, &arq.changes).saturating_add(retries_ns)
        }
        ElementKind::Trace(trace) => trace.delay_ns,
        ElementKind::Wifi(wifi) => wifi.delay_ns,
        ElementKind::Delay(delay) => delay.delay_ns,
        ElementKind::Jitter(jitter) => jitter.delay.long_ns(),
        ElementKind::Ramp(ramp) => ramp.from_delay_ns.max(ramp.to_delay_ns),
        ElementKind::Handover(handover) => handover.delay.long_ns().saturating_add(handover.pause_ns),
        ElementKind::Outage(outage) => outage.down.long_ns(),
        ElementKind::Aggregate(aggregate) => aggregate.hold_ns,
        _ => 0,
    }
}

/// The highest rate of a link.
fn rate_bit_per_s(effect: &ElementKind) -> Option<u64> {
    match effect {
        ElementKind::Link(link) => Some(fastest(link.rate_bit_per_s, &link.changes)),
        ElementKind::Arq(arq) => Some(fastest(arq.rate_bit_per_s, &arq.changes)),
        ElementKind::Trace(trace) => Some(busiest_bit_per_s(&trace.opportunities_ms)),
        ElementKind::Wifi(wifi) => Some(wifi.rate_bit_per_s),
        _ => None,
    }
}

fn longest(first_ns: u64, changes: &[Change]) -> u64 {
    changes.iter().filter_map(|change| change.delay_ns).fold(first_ns, u64::max)
}

fn fastest(first_bit_per_s: u64, changes: &[Change]) -> u64 {
    changes.iter().filter_map(|change| change.rate_bit_per_s).fold(first_bit_per_s, u64::max)
}

/// The rate of the busiest [`BUSY_MS`] of a recording.
fn busiest_bit_per_s(opportunities_ms: &[u32]) -> u64 {
    let mut first = 0;
    let within = opportunities_ms.iter().enumerate().map(|(last, at_ms)| {
        while at_ms.saturating_sub(opportunities_ms[first]) >= BUSY_MS {
            first += 1;
        }
        last + 1 - first
    });
    within.max().unwrap_or_default() as u64 * PACKET_BYTES * 8 * 1000 / u64::from(BUSY_MS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn effect(value: &Value) -> ElementKind {
        serde_json::from_value(value.clone()).unwrap()
    }

    /// A link there and a link back, of 100 ms together.
    fn path(rate_bit_per_s: u64, queue: &Value) -> Vec<ElementKind> {
        let link = json!({"kind": "link", "rate_bit_per_s": rate_bit_per_s, "delay_ns": 50_000_000,
                                      "queue": queue});
        vec![serde_json::from_value(link).unwrap(); 2]
    }

    fn flow(receive_window_bytes: Option<u64>) -> FlowSpec {
        serde_json::from_value(json!({
            "name": "a", "algorithm": "reno", "start_ns": 0, "mss_bytes": 1448, "forward": ["there"],
            "reverse": ["back"], "receive_window_bytes": receive_window_bytes,
        }))
        .unwrap()
    }

    /// 1 Gbit/s over 100 ms are 12.5 MB, and each of two queues holds 1 MB: 14.5 MB.
    #[test]
    fn a_receive_window_has_room_for_twice_the_path() {
        let path = path(1_000_000_000, &json!({"kind": "fifo", "limit_bytes": 1_000_000}));
        assert_eq!(path_bytes(path.iter()), 14_500_000);
        assert_eq!(receive_window_bytes(&flow(None), path.iter()), 29_000_000);
    }

    /// Each holds 30 ms at 100 Mbit/s at the most, 375 kB; the hundred packets of a queue are 150 kB.
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
            assert_eq!(path_bytes(std::iter::once(&effect(&link))), 525_000, "{link}");
        }
        let at_once = effect(&fast(json!({"kind": "link", "delay_ns": 0})));
        for delay in [
            json!({"kind": "delay", "delay_ns": 30_000_000}),
            json!({"kind": "jitter", "delay": constant}),
            json!({"kind": "ramp", "begin_ns": 0, "end_ns": 9, "from_delay_ns": 5, "to_delay_ns": 30_000_000}),
            json!({"kind": "handover", "every_ns": 15_000_000_000u64, "delay": {"constant_ns": 20_000_000},
                   "pause_ns": 10_000_000}),
            json!({"kind": "outage", "up": {"constant_ns": 1_000_000_000}, "down": constant}),
            json!({"kind": "aggregate", "hold_ns": 30_000_000}),
        ] {
            assert_eq!(path_bytes([&at_once, &effect(&delay)].into_iter()), 525_000, "{delay}");
        }
    }

    /// A packet each 2 ms but for 0.1 s with one each ms: 12 Mbit/s, or 45 kB in 30 ms.
    #[test]
    fn a_recorded_link_counts_with_its_busiest_tenth_of_a_second() {
        let opportunities_ms: Vec<u32> = (0..500).map(|at| 2 * at).chain(1000..1100).collect();
        let trace = json!({"kind": "trace", "opportunities_ms": opportunities_ms, "delay_ns": 30_000_000,
                           "queue": {"kind": "fifo", "limit_packets": 100}});
        assert_eq!(path_bytes(std::iter::once(&effect(&trace))), 45_000 + 150_000);
    }

    #[test]
    fn a_small_path_has_the_window_that_linux_gives() {
        let path = path(1_000_000, &json!({"kind": "codel", "limit_packets": 10}));
        assert_eq!(receive_window_bytes(&flow(None), path.iter()), 3 << 20);
    }

    #[test]
    fn a_window_that_a_flow_asks_for_is_its_own() {
        let path = path(1_000_000_000, &json!({"kind": "fifo"}));
        assert_eq!(receive_window_bytes(&flow(Some(100_000)), path.iter()), 100_000);
    }

    #[test]
    fn a_queue_without_a_limit_does_not_ask_for_the_whole_machine() {
        let path = path(400_000_000_000, &json!({"kind": "fifo"}));
        // 40 Gbit are 5 GB.
        assert_eq!(receive_window_bytes(&flow(None), path.iter()), 65_535 << 14);
        assert_eq!(queue_bytes(&path[0]), 256 << 20);
    }
}
