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
