//! How many bytes a flow can have under way, and the window that its receiver offers for them.

use crate::path::EffectSpec;
use crate::run::FlowSpec;

/// What stands for the bytes in a queue without a limit.
const UNLIMITED_BYTES: u64 = 256 << 20;
const PACKET_BYTES: u64 = 1500;
const NS_PER_S: u128 = 1_000_000_000;

/// Largest window of a Linux receiver that tunes its buffer by itself: half of `tcp_rmem`'s 6 MiB.
const USUAL_WINDOW_BYTES: u64 = 3 << 20;
/// Largest window that TCP can offer. [RFC 7323, 2.3](https://www.rfc-editor.org/rfc/rfc7323#section-2.3)
const MAX_WINDOW_BYTES: u64 = 65_535 << 14;

/// The window that a flow's receiver offers in the end, in bytes: as the flow says, else twice what its `path`
/// there and back holds, so that it never limits.
pub fn receive_window_bytes<'a>(flow: &FlowSpec, path: impl Iterator<Item = &'a EffectSpec>) -> u64 {
    flow.receive_window_bytes
        .unwrap_or_else(|| path_bytes(path).saturating_mul(2).clamp(USUAL_WINDOW_BYTES, MAX_WINDOW_BYTES))
}

/// Bytes that fill a path there and back, and all its queues.
pub fn path_bytes<'a>(path: impl Iterator<Item = &'a EffectSpec>) -> u64 {
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
pub fn queue_bytes(effect: &EffectSpec) -> u64 {
    let EffectSpec::Link(link) = effect else { return 0 };
    let (packets, bytes) = link.queue.limits();
    let limits = [packets.map(|packets| packets.saturating_mul(PACKET_BYTES)), bytes];
    limits.into_iter().flatten().min().unwrap_or(UNLIMITED_BYTES).min(UNLIMITED_BYTES)
}

fn delay_ns(effect: &EffectSpec) -> u64 {
    match effect {
        EffectSpec::Link(link) => link.delay_ns,
        EffectSpec::Delay(delay) => delay.delay_ns,
        _ => 0,
    }
}

fn rate_bit_per_s(effect: &EffectSpec) -> Option<u64> {
    match effect {
        EffectSpec::Link(link) => Some(link.rate_bit_per_s),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A link there and a link back, of 100 ms together.
    fn path(rate_bit_per_s: u64, queue: &serde_json::Value) -> Vec<EffectSpec> {
        let link = serde_json::json!({"kind": "link", "rate_bit_per_s": rate_bit_per_s, "delay_ns": 50_000_000,
                                      "queue": queue});
        vec![serde_json::from_value(link).unwrap(); 2]
    }

    fn flow(receive_window_bytes: Option<u64>) -> FlowSpec {
        serde_json::from_value(serde_json::json!({
            "name": "a", "algorithm": "reno", "start_ns": 0, "mss_bytes": 1448, "forward": ["there"],
            "reverse": ["back"], "receive_window_bytes": receive_window_bytes,
        }))
        .unwrap()
    }

    /// 1 Gbit/s over 100 ms are 12.5 MB, and each of two queues holds 1 MB: 14.5 MB.
    #[test]
    fn a_receive_window_has_room_for_twice_the_path() {
        let path = path(1_000_000_000, &serde_json::json!({"kind": "fifo", "limit_bytes": 1_000_000}));
        assert_eq!(path_bytes(path.iter()), 14_500_000);
        assert_eq!(receive_window_bytes(&flow(None), path.iter()), 29_000_000);
    }

    #[test]
    fn a_small_path_has_the_window_that_linux_gives() {
        let path = path(1_000_000, &serde_json::json!({"kind": "codel", "limit_packets": 10}));
        assert_eq!(receive_window_bytes(&flow(None), path.iter()), 3 << 20);
    }

    #[test]
    fn a_window_that_a_flow_asks_for_is_its_own() {
        let path = path(1_000_000_000, &serde_json::json!({"kind": "fifo"}));
        assert_eq!(receive_window_bytes(&flow(Some(100_000)), path.iter()), 100_000);
    }

    #[test]
    fn a_queue_without_a_limit_does_not_ask_for_the_whole_machine() {
        let path = path(400_000_000_000, &serde_json::json!({"kind": "fifo"}));
        // 40 Gbit are 5 GB.
        assert_eq!(receive_window_bytes(&flow(None), path.iter()), 65_535 << 14);
        assert_eq!(queue_bytes(&path[0]), 256 << 20);
    }
}
