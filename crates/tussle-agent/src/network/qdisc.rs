//! Queue disciplines in the words of `tc`.

use tussle_core::path::LinkSpec;
use tussle_core::queue::{CodelSpec, FifoSpec, QueueSpec, RedSpec};
use tussle_core::run::Switch;

/// The Ethernet header, which Linux counts at a queue and links of a run do not.
const ETHERNET_BYTES: i32 = 14;
/// A full packet.
const PACKET_BYTES: u64 = 1500;
/// What stands for no limit, in packets or bytes.
const UNLIMITED: u64 = u32::MAX as u64;
/// Linux's RED keeps weights that are powers of two: those so near to one are taken as it.
const WEIGHT_TOLERANCE: f64 = 0.05;

/// Arguments of `tc qdisc add` after the device's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Qdisc {
    /// The discipline at the device.
    pub(crate) root: String,
    /// What waits inside it, if that is another one.
    pub(crate) child: Option<String>,
}

/// A link's queue behind a shaper that sends a packet as soon as the one before has been transmitted.
pub(super) fn shaper(link: &LinkSpec) -> Result<Qdisc, String> {
    let child = queue(&link.queue).map_err(|problem| format!("queue.{problem}"))?;
    let root = format!(
        "stab overhead -{ETHERNET_BYTES} linklayer ethernet {}",
        token_bucket(link.rate_bit_per_s)
    );
    Ok(Qdisc { root, child: Some(child) })
}

/// The shaper alone. A bucket of one full packet: a link that was idle has no more credit than that.
pub(crate) fn token_bucket(rate_bit_per_s: u64) -> String {
    format!("tbf rate {rate_bit_per_s}bit burst {PACKET_BYTES}b limit {UNLIMITED}b")
}

/// Transmission at a rate, and the wire after it.
pub(crate) fn netem_serialiser(rate_bit_per_s: u64, delay_ns: u64) -> Qdisc {
    netem(&format!("rate {rate_bit_per_s}bit -{ETHERNET_BYTES}{}", delay_words(delay_ns)))
}

/// A constant delay.
pub(super) fn netem_delay(delay_ns: u64) -> Qdisc {
    netem(delay_words(delay_ns).trim_start())
}

/// Independent loss.
pub(super) fn netem_loss(probability: f64) -> Qdisc {
    netem(&format!("loss {:.8}%", probability * 100.0))
}

fn netem(words: &str) -> Qdisc {
    Qdisc { root: format!("netem limit {UNLIMITED} {words}").trim_end().to_owned(), child: None }
}

fn delay_words(delay_ns: u64) -> String {
    if delay_ns == 0 { String::new() } else { format!(" delay {}", micros(delay_ns)) }
}

/// A time as `tc` reads it: it knows no nanoseconds, but fractions.
fn micros(ns: u64) -> String {
    format!("{}.{:03}us", ns / 1000, ns % 1000)
}

fn queue(queue: &QueueSpec) -> Result<String, String> {
    match queue {
        QueueSpec::Fifo(spec) => fifo(spec),
        QueueSpec::Red(spec) => red(spec),
        QueueSpec::Codel(spec) => codel(spec),
        QueueSpec::Threshold(_) => {
            Err("kind: Linux has no discipline that marks above a fixed length; it has red and codel".to_owned())
        }
    }
}

fn fifo(spec: &FifoSpec) -> Result<String, String> {
    match (spec.limit_packets, spec.limit_bytes) {
        (Some(_), Some(_)) => {
            Err("limit_bytes: Linux limits a fifo in packets or in bytes, not in both; give one".to_owned())
        }
        (packets, None) => Ok(format!("pfifo limit {}", limit("limit_packets", packets)?)),
        (None, bytes) => Ok(format!("bfifo limit {}b", limit("limit_bytes", bytes)?)),
    }
}

fn codel(spec: &CodelSpec) -> Result<String, String> {
    let limit = packets_only("codel", spec.limit_packets, spec.limit_bytes)?;
    let (target, interval) = (micros(spec.target_ns), micros(spec.interval_ns));
    Ok(format!("codel limit {limit} target {target} interval {interval} {}", ecn_word(spec.ecn)))
}

/// RED counts bytes on Linux, and `tc` asks for the burst that it derives the weight from.
fn red(spec: &RedSpec) -> Result<String, String> {
    let limit_bytes = match (spec.limit_packets, spec.limit_bytes) {
        (Some(_), Some(_)) => {
            return Err("limit_packets: Linux limits red in bytes; give limit_bytes alone".to_owned());
        }
        (Some(packets), None) => packets.saturating_mul(PACKET_BYTES).min(UNLIMITED),
        (None, bytes) => bytes.unwrap_or(UNLIMITED).min(UNLIMITED),
    };
    let (min, max) = (whole_bytes(spec.min_packets), whole_bytes(spec.max_packets));
    let halvings = (-spec.weight.log2()).round();
    if (spec.weight * halvings.exp2() - 1.0).abs() > WEIGHT_TOLERANCE {
        let (below, above) = ((-halvings.ceil()).exp2(), (1.0 - halvings).exp2());
        return Err(format!("weight: {}; Linux takes powers of two, as {below} or {above}", spec.weight));
    }
    let burst = burst_of(spec.min_packets, halvings).ok_or_else(|| {
        format!("weight: no burst of `tc` gives {} with min_packets {}", spec.weight, spec.min_packets)
    })?;
    let ecn = if spec.ecn == Switch::On { " ecn" } else { "" };
    Ok(format!(
        "red limit {limit_bytes} min {min} max {max} avpkt {PACKET_BYTES} burst {burst} probability {}{ecn}",
        spec.max_probability
    ))
}

/// The burst from which `tc` derives a weight of 2^-`halvings`: it takes the largest weight W with which a burst
/// of B packets does not raise the average from 0 above `min`, that is, with
/// B + 1 - min <= (1 - (1 - W)^B) / W.
fn burst_of(min_packets: f64, halvings: f64) -> Option<u32> {
    const MOST_HALVINGS: i32 = 31;
    let least_burst = min_packets.ceil();
    (0..100_000).map(|more| least_burst + f64::from(more)).find_map(|burst| {
        let room = burst + 1.0 - min_packets;
        let found = (1..=MOST_HALVINGS).find(|&halvings| {
            let weight = (-f64::from(halvings)).exp2();
            room <= (1.0 - (1.0 - weight).powf(burst)) / weight
        });
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small whole number")]
        (burst >= 1.0 && room >= 1.0 && found.map(f64::from) == Some(halvings)).then_some(burst as u32)
    })
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates, as it should")]
fn whole_bytes(packets: f64) -> u32 {
    (packets * 1500.0).round() as u32
}

fn packets_only(kind: &str, packets: Option<u64>, bytes: Option<u64>) -> Result<u64, String> {
    if bytes.is_some() {
        return Err(format!("limit_bytes: Linux limits {kind} in packets; give limit_packets"));
    }
    limit("limit_packets", packets)
}

fn limit(name: &str, given: Option<u64>) -> Result<u64, String> {
    let limit = given.unwrap_or(UNLIMITED);
    if limit > UNLIMITED {
        return Err(format!("{name}: {limit}; Linux takes at most {UNLIMITED}"));
    }
    Ok(limit)
}

fn ecn_word(ecn: Switch) -> &'static str {
    match ecn {
        Switch::On => "ecn",
        Switch::Off => "noecn",
    }
}
