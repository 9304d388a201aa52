//! Every queue of the registry.

use serde_json::json;
use tussle_core::net::queue::QueueSpec;

/// A queue by its name, with the mandatory settings and limits; `None`: the default limit.
pub(crate) fn queue_named(name: &str, limit_packets: Option<u64>, limit_bytes: Option<u64>) -> QueueSpec {
    let mut fields = match name {
        "threshold" => json!({"mark_above_packets": 5}),
        "red" => json!({"min_packets": 2.0, "max_packets": 20.0, "weight": 0.05}),
        _ => json!({}),
    };
    fields["kind"] = name.into();
    fields["limit_packets"] = limit_packets.into();
    fields["limit_bytes"] = limit_bytes.into();
    serde_json::from_value(fields).expect("a queue needs no other settings")
}
