//! Bytes that a run can have in flight: sizes of socket buffers, and memory of the guest.

use tussle_core::Run;
use tussle_core::net::packet::HEADER_BYTES;
use tussle_core::net::path::ElementKind;
use tussle_core::run::FlowSpec;
use tussle_core::run::Sampling;
use tussle_core::run::receive_window::{path_bytes, queue_bytes, receive_window_bytes};

/// Part of the receive buffer for unread data and their metadata, in addition to the window.
const UNREAD_BYTES: u64 = 4 << 20;
/// Memory of a packet that waits for a hole: a full packet and its metadata.
const OUT_OF_ORDER_BYTES: u64 = 2560;
/// Largest buffer of a socket.
const MAX_BUFFER_BYTES: u64 = i32::MAX as u64 - 1;

/// Memory of an idle kernel, and of a socket at each end.
const GUEST_BYTES: u64 = 160 << 20;
const FLOW_BYTES: u64 = 1 << 20;
/// Memory of a full packet: the sender's copy and the copy in flight, with their metadata.
const PACKET_MEMORY_BYTES: u64 = 5 << 10;
/// Estimated memory of a row of `samples` or `links`, while it is recorded and when it is written.
const ROW_BYTES: u64 = 1 << 10;
/// Largest memory of a guest.
const MAX_GUEST_BYTES: u64 = 8 << 30;

/// The receive window of a flow, and the socket buffer that holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReceiveBuffer {
    /// The kernel chooses both, by its sysctls.
    OfKernel,
    /// The application chose the buffer.
    Fixed { buffer_bytes: u64 },
    /// A window, and a buffer that is larger than the window needs. Linux offers half of the buffer as window, and lets the
    /// window grow as far as the packets in the buffer leave room for it.
    Ample { window_bytes: u64, buffer_bytes: u64 },
}

/// Computes the receive window and the buffer of a flow.
pub(crate) fn receive_buffer(run: &Run, flow: &FlowSpec) -> ReceiveBuffer {
    match (run.ends(flow).receiver.rmem, flow.receive_window_bytes) {
        (None, _) => {
            let window_bytes = receive_window_bytes(flow, path(run, flow));
            let waiting_bytes = window_bytes / u64::from(flow.mss_bytes) * OUT_OF_ORDER_BYTES;
            let buffer_bytes = (2 * window_bytes + waiting_bytes + UNREAD_BYTES).min(MAX_BUFFER_BYTES);
            ReceiveBuffer::Ample { window_bytes, buffer_bytes }
        }
        (Some(_), Some(window_bytes)) => {
            ReceiveBuffer::Fixed { buffer_bytes: (2 * window_bytes).min(MAX_BUFFER_BYTES) }
        }
        (Some(_), None) => ReceiveBuffer::OfKernel,
    }
}

/// Memory of a guest.
pub(crate) fn guest_bytes(run: &Run) -> u64 {
    let flows = run.flows.len() as u64;
    // All queues count. The data in propagation count for the longest path only, because flows over a common
    // link share its BDP.
    let queued: u64 = run.elements.iter().map(|element| queue_bytes(&element.kind)).sum();
    let moving: u64 = run.flows.iter().map(|flow| path_bytes(path(run, flow))).max().unwrap_or_default();
    let smallest_mss_bytes = run.flows.iter().map(|flow| flow.mss_bytes).min().unwrap_or_default();
    let packets = (queued + moving) / u64::from(smallest_mss_bytes + HEADER_BYTES);
    let samples = match run.record.sampling {
        Sampling::EveryNs(interval_ns) => run.duration_ns / interval_ns.max(1),
        Sampling::Off | Sampling::Change => 0,
    };
    let rows = samples * (flows + run.elements.len() as u64);
    let needed = [GUEST_BYTES, flows * FLOW_BYTES, packets * PACKET_MEMORY_BYTES, rows * ROW_BYTES];
    needed.into_iter().sum::<u64>().min(MAX_GUEST_BYTES)
}

fn path<'a>(run: &'a Run, flow: &'a FlowSpec) -> impl Iterator<Item = &'a ElementKind> {
    let crossed = |name| flow.forward.contains(name) || flow.reverse.contains(name);
    run.elements.iter().filter(move |element| crossed(&element.name)).map(|element| &element.kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One flow over a link on the forward path and a link on the reverse path, of 100 ms together.
    fn run(rate_bit_per_s: u64, queue: &serde_json::Value) -> Run {
        let link = |name| {
            serde_json::json!({"name": name, "kind": "link", "rate_bit_per_s": rate_bit_per_s,
                               "delay_ns": 50_000_000, "queue": queue})
        };
        serde_json::from_value(serde_json::json!({
            "format": 1, "profile": "linux-6.1", "seed": 1, "duration_ns": 1_000_000_000u64,
            "steady": {"from_ns": 0, "to_ns": 1_000_000_000u64},
            "record": {"sampling": "off", "events": false},
            "elements": [link("forward"), link("reverse")],
            "flows": [{"name": "a", "algorithm": "reno", "start_ns": 0, "mss_bytes": 1448,
                       "forward": ["forward"], "reverse": ["reverse"]}],
        }))
        .unwrap()
    }

    /// The path holds 12.5 MB and each of two queues 1 MB, so the window is 29 MB, of 20 027 packets.
    #[test]
    fn a_receive_buffer_holds_twice_the_window_its_packets_out_of_order_and_unread_data() {
        let run = run(1_000_000_000, &serde_json::json!({"kind": "fifo", "limit_bytes": 1_000_000}));
        let buffer_bytes = 58_000_000 + 20_027 * 2560 + (4 << 20);
        let expected = ReceiveBuffer::Ample { window_bytes: 29_000_000, buffer_bytes };
        assert_eq!(receive_buffer(&run, &run.flows[0]), expected);
        // 14.5 MB of the path and 2 MB of queues are 11 000 packets of 1500 bytes, of 5 kB of memory each.
        assert_eq!(guest_bytes(&run), (160 << 20) + (1 << 20) + 11_000 * 5120);
    }

    /// 200 packets wait in the queue, and count once more as a part of the path.
    #[test]
    fn memory_includes_the_queues_of_radio_links() {
        let mut run = run(1, &serde_json::json!({"kind": "fifo"}));
        let radio = serde_json::json!({"name": "forward", "kind": "arq", "rate_bit_per_s": 1_000_000, "delay_ns": 0,
                                       "queue": {"kind": "fifo", "limit_packets": 200}, "block_error": 0.1,
                                       "attempts": 3});
        run.elements = vec![serde_json::from_value(radio).unwrap()];
        assert_eq!(guest_bytes(&run), (160 << 20) + (1 << 20) + 2 * 200 * 5120);
    }

    /// Packets of 152 bytes, and ten samples of a flow and two links.
    #[test]
    fn memory_includes_small_packets_and_samples() {
        let mut run = run(1_000_000_000, &serde_json::json!({"kind": "fifo", "limit_bytes": 1_000_000}));
        run.flows[0].mss_bytes = 100;
        run.record.sampling = Sampling::EveryNs(100_000_000);
        assert_eq!(guest_bytes(&run), (160 << 20) + (1 << 20) + 16_500_000 / 152 * 5120 + 10 * 3 * 1024);
    }

    #[test]
    fn a_queue_without_a_limit_has_a_limited_memory() {
        let run = run(400_000_000_000, &serde_json::json!({"kind": "fifo"}));
        assert_eq!(guest_bytes(&run), 8 << 30);
    }
}
