//! How many bytes a run can have under way: what sockets and the guest need room for.

use tussle_core::Run;
use tussle_core::path::EffectSpec;
use tussle_core::run::FlowSpec;

/// What stands for the bytes in a queue without a limit.
const UNLIMITED_BYTES: u64 = 256 << 20;
const PACKET_BYTES: u64 = 1500;
const NS_PER_S: u128 = 1_000_000_000;

/// Largest receive buffer that Linux gives a socket by itself (`tcp_rmem`).
const USUAL_RECEIVE_BUFFER_BYTES: u64 = 6 << 20;
/// Most that a socket may have.
const MAX_BUFFER_BYTES: u64 = 1 << 30;

/// A kernel with nothing to do, and what it needs for a socket at each end.
const GUEST_BYTES: u64 = 160 << 20;
const FLOW_BYTES: u64 = 1 << 20;
/// Memory for a full packet: its two copies, the sender's and the one under way, with what describes them.
const PACKET_MEMORY_BYTES: u64 = 5 << 10;
/// Most memory that a guest is given.
const MAX_GUEST_BYTES: u64 = 8 << 30;

/// The receive buffer of a flow. Half of it is the window that is offered in the end, and while that grows,
/// Linux acknowledges every packet: so it has room for twice the path, but is no larger without need.
pub(crate) fn receive_buffer_bytes(run: &Run, flow: &FlowSpec) -> u64 {
    (4 * path_bytes(run, flow)).clamp(USUAL_RECEIVE_BUFFER_BYTES, MAX_BUFFER_BYTES)
}

/// Memory for a guest.
pub(crate) fn guest_bytes(run: &Run) -> u64 {
    let flows = run.flows.len() as u64;
    // No link is in use twice at once; flows without one in common add up.
    let queued: u64 = run.elements.iter().map(|element| queue_bytes(&element.effect)).sum();
    let moving: u64 = run.flows.iter().map(|flow| path_bytes(run, flow)).max().unwrap_or_default();
    let packets = (queued + moving) / PACKET_BYTES;
    (GUEST_BYTES + flows * FLOW_BYTES + packets * PACKET_MEMORY_BYTES).min(MAX_GUEST_BYTES)
}

/// Bytes that fill the path of a flow there and back, and all its queues.
fn path_bytes(run: &Run, flow: &FlowSpec) -> u64 {
    let elements: Vec<_> = run
        .elements
        .iter()
        .filter(|element| flow.forward.contains(&element.name) || flow.reverse.contains(&element.name))
        .map(|element| &element.effect)
        .collect();
    let delay_ns: u64 = elements.iter().map(|effect| delay_ns(effect)).sum();
    let rate = elements.iter().filter_map(|effect| rate_bit_per_s(effect)).min().unwrap_or_default();
    let moving = u128::from(rate) * u128::from(delay_ns) / NS_PER_S / 8;
    let queued: u64 = elements.iter().map(|effect| queue_bytes(effect)).sum();
    u64::try_from(moving).unwrap_or(u64::MAX).saturating_add(queued)
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

fn queue_bytes(effect: &EffectSpec) -> u64 {
    let EffectSpec::Link(link) = effect else { return 0 };
    // Every discipline calls its limits by these names.
    let spec = serde_json::to_value(&link.queue).unwrap_or_default();
    let limit = |name| spec.get(name).and_then(serde_json::Value::as_u64);
    let (packets, bytes): (Option<u64>, _) = (limit("limit_packets"), limit("limit_bytes"));
    let limits = [packets.map(|packets| packets.saturating_mul(PACKET_BYTES)), bytes];
    limits.into_iter().flatten().min().unwrap_or(UNLIMITED_BYTES).min(UNLIMITED_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One flow over a link there and a link back.
    fn run(link: &serde_json::Value) -> Run {
        let element = |name: &str| {
            let mut element = link.clone();
            element["name"] = name.into();
            element
        };
        serde_json::from_value(serde_json::json!({
            "format": 1, "profile": "linux-6.1", "seed": 1, "duration_ns": 1_000_000_000u64,
            "steady": {"from_ns": 0, "to_ns": 1_000_000_000u64},
            "record": {"sampling": "off", "events": "off"},
            "elements": [element("there"), element("back")],
            "flows": [{"name": "a", "algorithm": "reno", "start_ns": 0, "mss_bytes": 1448,
                       "forward": ["there"], "reverse": ["back"]}],
        }))
        .unwrap()
    }

    fn link(rate_bit_per_s: u64, queue: &serde_json::Value) -> serde_json::Value {
        serde_json::json!({"kind": "link", "rate_bit_per_s": rate_bit_per_s, "delay_ns": 50_000_000, "queue": queue})
    }

    /// 1 Gbit/s over 100 ms are 12.5 MB, and each of two queues holds 1 MB: 14.5 MB, four times which are 58 MB.
    #[test]
    fn a_receive_buffer_has_room_for_twice_the_path() {
        let run = run(&link(1_000_000_000, &serde_json::json!({"kind": "fifo", "limit_bytes": 1_000_000})));
        assert_eq!(receive_buffer_bytes(&run, &run.flows[0]), 58_000_000);
        // 14.5 MB of the path and 2 MB of queues are 11 000 packets of 1500 bytes, of 5 kB of memory each.
        assert_eq!(guest_bytes(&run), (160 << 20) + (1 << 20) + 11_000 * 5120);
    }

    #[test]
    fn a_small_path_has_the_buffer_that_linux_gives() {
        let run = run(&link(1_000_000, &serde_json::json!({"kind": "codel", "limit_packets": 10})));
        assert_eq!(receive_buffer_bytes(&run, &run.flows[0]), 6 << 20);
    }

    #[test]
    fn a_queue_without_a_limit_does_not_ask_for_the_whole_machine() {
        let run = run(&link(400_000_000_000, &serde_json::json!({"kind": "fifo"})));
        assert_eq!(receive_buffer_bytes(&run, &run.flows[0]), 1 << 30);
        assert_eq!(guest_bytes(&run), 8 << 30);
    }
}
