//! Every queue of the registry.

use serde_json::json;
use tussle_core::net::queue::{Limits, QueueSpec};

/// A queue by its name, with the mandatory settings and limits; without limits, the default one.
pub(crate) fn queue_named(name: &str, limits: Limits) -> QueueSpec {
    let mut fields = match name {
        "threshold" => json!({"mark_above_packets": 5}),
        "red" => json!({"min_packets": 2.0, "max_packets": 20.0, "weight": 0.05}),
        _ => json!({}),
    };
    fields["kind"] = name.into();
    fields["limit_packets"] = limits.packets.into();
    fields["limit_bytes"] = limits.bytes.into();
    serde_json::from_value(fields).expect("a queue needs no other settings")
}
