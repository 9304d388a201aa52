//! Queue disciplines as arguments of `tc`.

use tussle_core::net::queue::{
    CakeSpec, CodelSpec, FifoSpec, FqCodelSpec, FqPieSpec, PieSpec, QueueSpec, RedSpec, SfqSpec,
};

/// Size of the Ethernet header, which Linux counts at a queue, whereas links of a run count IP packets.
const ETHERNET_BYTES: i32 = 14;
/// Size of a full packet.
const PACKET_BYTES: u64 = 1500;
const NS_PER_S: u128 = 1_000_000_000;
/// Value for no limit, in packets or bytes.
const UNLIMITED: u64 = u32::MAX as u64;
/// Largest number of packets of one flow in SFQ (`SFQ_MAX_DEPTH`).
const MAX_SFQ_PACKETS: u64 = 127;
/// CAKE's interval as a multiple of its target.
const CAKE_TARGETS: u64 = 20;
/// Relative tolerance for RED's weight, since Linux's RED has powers of two only.
const WEIGHT_TOLERANCE: f64 = 0.05;

/// Arguments of `tc qdisc add` after the device's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Qdisc {
    /// The outer queue discipline.
    pub(crate) root: String,
    /// The inner queue disciplines, each inside the one before.
    pub(crate) inner: Vec<String>,
}

impl Qdisc {
    /// Kinds of the queue disciplines, from the outside in.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = &str> {
        let (_, root) = self.root.rsplit_once("linklayer ethernet ").unwrap_or(("", &self.root));
        std::iter::once(root)
            .chain(self.inner.iter().map(String::as_str))
            .filter_map(|words| words.split_whitespace().next())
    }

    /// Lines of `tc` that add the queue disciplines to a device, or change them there.
    pub(crate) fn lines(&self, verb: &str, device: &str) -> Vec<String> {
        let root = format!("qdisc {verb} dev {device} root handle 1: {}", self.root);
        // Repeated after a change of tbf, which sets the limit of an inner fifo.
        let inner = self.inner.iter().zip(1..).map(|(inner, outside)| {
            format!("qdisc {verb} dev {device} parent {outside}:1 handle {}: {inner}", outside + 1)
        });
        std::iter::once(root).chain(inner).collect()
    }
}

/// Largest delay of a shaper's timer on hosts and in guests without `kernel/patches/clock.toml`, and more than
/// the ticks to which `tc` rounds a burst.
const LATE_NS: u64 = 1000;

/// A link's queue behind a shaper that releases a packet as soon as the transmission of the previous one
/// ends.
///
/// The bucket holds one full packet, which limits the credit of an idle link, plus the tokens of a timer's
/// delay, which would otherwise reduce the rate.
pub(super) fn shaper(rate_bit_per_s: u64, queue: &QueueSpec, packet_bytes: u32) -> Result<Qdisc, String> {
    if let QueueSpec::Cake(spec) = queue {
        return cake(rate_bit_per_s, spec);
    }
    let discipline = discipline(queue, rate_bit_per_s)?;
    let late_bytes = (u128::from(rate_bit_per_s) * u128::from(LATE_NS)).div_ceil(8 * NS_PER_S);
    let burst_bytes = u128::from(packet_bytes) + late_bytes;
    let inner = if matches!(queue, QueueSpec::Red(_)) {
        // RED's average falls while the queue is idle. `tbf` does not notify RED of idle times; `netem`
        // without a delay does.
        vec![format!("netem limit {UNLIMITED}"), discipline]
    } else {
        vec![discipline]
    };
    let root = format!(
        "stab overhead -{ETHERNET_BYTES} linklayer ethernet \
         tbf rate {rate_bit_per_s}bit burst {burst_bytes}b limit {UNLIMITED}b"
    );
    Ok(Qdisc { root, inner })
}

/// Transmission at a rate, followed by a propagation delay.
pub(super) fn netem_serialiser(rate_bit_per_s: u64, delay_ns: u64) -> Qdisc {
    netem(&format!("rate {rate_bit_per_s}bit -{ETHERNET_BYTES}{}", delay_words(delay_ns)))
}

/// A constant delay.
pub(super) fn netem_delay(delay_ns: u64) -> Qdisc {
    netem(delay_words(delay_ns).trim_start())
}

fn netem(words: &str) -> Qdisc {
    Qdisc { root: format!("netem limit {UNLIMITED} {words}").trim_end().to_owned(), inner: Vec::new() }
}

fn delay_words(delay_ns: u64) -> String {
    if delay_ns == 0 { String::new() } else { format!(" delay {}", micros(delay_ns)) }
}

/// A time for `tc`, which reads microseconds with fractions, but no nanoseconds.
fn micros(ns: u64) -> String {
    format!("{}.{:03}us", ns / 1000, ns % 1000)
}

fn discipline(queue: &QueueSpec, rate_bit_per_s: u64) -> Result<String, String> {
    match queue {
        QueueSpec::Fifo(spec) => fifo(spec),
        QueueSpec::Red(spec) => red(spec, rate_bit_per_s),
        QueueSpec::Codel(spec) => codel(spec),
        QueueSpec::FqCodel(spec) => fq_codel(spec),
        QueueSpec::Pie(spec) => pie(spec),
        QueueSpec::FqPie(spec) => fq_pie(spec),
        QueueSpec::Sfq(spec) => sfq(spec),
        QueueSpec::Cake(_) => Err("kind: cake is a shaper of its own".to_owned()),
        QueueSpec::Threshold(_) => {
            Err("kind: Linux has no discipline that marks above a fixed length; it has red and codel"
                .to_owned())
        }
        QueueSpec::Dualpi2(_) => Err("kind: Linux 6.1 has no dualpi2; it has pie and fq_pie".to_owned()),
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
    let codel = packets_only("codel", spec.limit_packets.or(Some(UNLIMITED)), spec.limit_bytes)?;
    let (target, interval) = (micros(spec.target_ns), micros(spec.interval_ns));
    Ok(format!("{codel} target {target} interval {interval} {}", ecn_word(spec.ecn)))
}

fn fq_codel(spec: &FqCodelSpec) -> Result<String, String> {
    let fq_codel = packets_only("fq_codel", spec.limit_packets, spec.limit_bytes)?;
    let (target, interval) = (micros(spec.target_ns), micros(spec.interval_ns));
    let FqCodelSpec { flows, quantum_bytes, .. } = spec;
    Ok(format!(
        "{fq_codel} flows {flows} quantum {quantum_bytes} target {target} interval {interval} \
         memory_limit {UNLIMITED} {}",
        ecn_word(spec.ecn)
    ))
}

fn pie(spec: &PieSpec) -> Result<String, String> {
    let pie = packets_only("pie", spec.limit_packets, spec.limit_bytes)?;
    let (target, update) = (micros(spec.target_ns), micros(spec.update_ns));
    Ok(format!("{pie} target {target} tupdate {update} {}", ecn_word(spec.ecn)))
}

fn fq_pie(spec: &FqPieSpec) -> Result<String, String> {
    let fq_pie = packets_only("fq_pie", spec.limit_packets, spec.limit_bytes)?;
    let (target, update) = (micros(spec.target_ns), micros(spec.update_ns));
    let FqPieSpec { flows, quantum_bytes, .. } = spec;
    Ok(format!(
        "{fq_pie} flows {flows} target {target} tupdate {update} quantum {quantum_bytes} \
         memory_limit {UNLIMITED} {}",
        ecn_word(spec.ecn)
    ))
}

fn sfq(spec: &SfqSpec) -> Result<String, String> {
    let sfq = packets_only("sfq", spec.limit_packets, spec.limit_bytes)?;
    if spec.limit_packets.is_some_and(|packets| packets > MAX_SFQ_PACKETS) {
        return Err(format!("limit_packets: Linux's sfq holds at most {MAX_SFQ_PACKETS} packets of a flow"));
    }
    let SfqSpec { flows, quantum_bytes, .. } = spec;
    Ok(format!("{sfq} flows {flows} quantum {quantum_bytes}"))
}

/// CAKE, which is a shaper itself, and derives its target from its parameter `rtt`. Each flow has its own
/// queue, regardless of its hosts.
fn cake(rate_bit_per_s: u64, spec: &CakeSpec) -> Result<Qdisc, String> {
    if spec.limit_packets.or(spec.limit_bytes).is_some() {
        return Err("limit: Linux's cake limits memory, not packets or bytes; leave it out".to_owned());
    }
    if spec.target_ns != spec.interval_ns / CAKE_TARGETS {
        let target = micros(spec.interval_ns / CAKE_TARGETS);
        return Err(format!("target_ns: in Linux's cake it follows from the interval; here it is {target}"));
    }
    let interval = micros(spec.interval_ns);
    let root = format!("cake bandwidth {rate_bit_per_s}bit besteffort flows rtt {interval} overhead 0");
    Ok(Qdisc { root, inner: Vec::new() })
}

/// RED, which counts bytes on Linux. `tc` derives the weight from a burst.
fn red(spec: &RedSpec, rate_bit_per_s: u64) -> Result<String, String> {
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
        return Err(format!(
            "weight: {}; Linux takes powers of two, such as {below} or {above}",
            spec.weight
        ));
    }
    let burst = burst_of(spec.min_packets, halvings).ok_or_else(|| {
        format!("weight: no burst of `tc` gives {} with min_packets {}", spec.weight, spec.min_packets)
    })?;
    let ecn = if spec.ecn { " ecn" } else { "" };
    let adaptive = if spec.adaptive { " adaptive" } else { "" };
    Ok(format!(
        "red limit {limit_bytes} min {min} max {max} avpkt {PACKET_BYTES} burst {burst} \
         bandwidth {rate_bit_per_s}bit probability {}{ecn}{adaptive}",
        spec.max_probability
    ))
}

/// The burst from which `tc` derives a weight of 2^-`halvings`.
///
/// `tc` takes the largest weight W with which a burst of B packets does not raise the average from 0 above
/// `min`, that is, with B + 1 - min <= (1 - (1 - W)^B) / W.
fn burst_of(min_packets: f64, halvings: f64) -> Option<u32> {
    const MOST_HALVINGS: i32 = 31;
    let least_burst = min_packets.ceil();
    (0..100_000).map(|more| least_burst + f64::from(more)).find_map(|burst| {
        let excess = burst + 1.0 - min_packets;
        let found = (1..=MOST_HALVINGS).find(|&halvings| {
            let weight = (-f64::from(halvings)).exp2();
            excess <= (1.0 - (1.0 - weight).powf(burst)) / weight
        });
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small whole number")]
        (burst >= 1.0 && excess >= 1.0 && found.map(f64::from) == Some(halvings)).then_some(burst as u32)
    })
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates, as it should")]
fn whole_bytes(packets: f64) -> u32 {
    (packets * 1500.0).round() as u32
}

/// A queue discipline with a limit in packets; without a limit it has Linux's default, as in the simulator.
fn packets_only(kind: &str, packets: Option<u64>, bytes: Option<u64>) -> Result<String, String> {
    if bytes.is_some() {
        return Err(format!("limit_bytes: Linux limits {kind} in packets; give limit_packets"));
    }
    packets.map_or_else(
        || Ok(kind.to_owned()),
        |_| Ok(format!("{kind} limit {}", limit("limit_packets", packets)?)),
    )
}

fn limit(name: &str, given: Option<u64>) -> Result<u64, String> {
    let limit = given.unwrap_or(UNLIMITED);
    if limit > UNLIMITED {
        return Err(format!("{name}: {limit}; Linux takes at most {UNLIMITED}"));
    }
    Ok(limit)
}

fn ecn_word(ecn: bool) -> &'static str {
    if ecn { "ecn" } else { "noecn" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shaped(queue: serde_json::Value) -> Result<Vec<String>, String> {
        let queue: QueueSpec = serde_json::from_value(queue).unwrap();
        shaper(10_000_000, &queue, 1500).map(|qdisc| qdisc.lines("add", "e0"))
    }

    #[test]
    fn a_fifo_stands_inside_the_shaper() {
        assert_eq!(
            shaped(serde_json::json!({"kind": "fifo", "limit_packets": 83})).unwrap(),
            [
                "qdisc add dev e0 root handle 1: stab overhead -14 linklayer ethernet \
                 tbf rate 10000000bit burst 1502b limit 4294967295b",
                "qdisc add dev e0 parent 1:1 handle 2: pfifo limit 83",
            ]
        );
        let bytes = shaped(serde_json::json!({"kind": "fifo", "limit_bytes": 300_000})).unwrap();
        assert_eq!(bytes[1], "qdisc add dev e0 parent 1:1 handle 2: bfifo limit 300000b");
    }

    /// The burst B for a minimum of 10 packets and a weight of 2^-9: with W = 1/512 the average of B packets
    /// rises to (1 - (511/512)^B) / W, about B - B^2/1024. It must be at least B - 9, and with W = 1/256 it
    /// must not. B^2/1024 < 9 holds up to B = 96, and B^2/512 < 9 up to B = 68, so that the burst is about
    /// 69.
    #[test]
    fn the_burst_of_red_gives_its_weight() {
        let burst = burst_of(10.0, 9.0).unwrap();
        assert!((66..=72).contains(&burst), "{burst}");
        assert_eq!(burst_of(10.0, 40.0), None);
    }

    #[test]
    fn red_is_notified_of_idle_times_by_a_netem_without_delay() {
        let lines =
            shaped(serde_json::json!({"kind": "red", "min_packets": 10.0, "max_packets": 30.0})).unwrap();
        assert_eq!(lines[1], "qdisc add dev e0 parent 1:1 handle 2: netem limit 4294967295");
        assert!(
            lines[2].starts_with(
                "qdisc add dev e0 parent 2:1 handle 3: red limit 4294967295 min 15000 max 45000 avpkt 1500"
            ),
            "{}",
            lines[2]
        );
    }

    #[test]
    fn settings_that_linux_lacks_are_refused_by_name() {
        let cases = [
            (
                serde_json::json!({"kind": "fifo", "limit_packets": 9, "limit_bytes": 9000}),
                "limit_bytes: Linux limits",
            ),
            (serde_json::json!({"kind": "codel", "limit_bytes": 9000}), "queue.limit_bytes"),
            (
                serde_json::json!({"kind": "red", "min_packets": 5.0, "max_packets": 15.0, "weight": 0.003}),
                "weight: 0.003",
            ),
            (serde_json::json!({"kind": "sfq", "limit_packets": 128}), "limit_packets: Linux's sfq holds"),
            (serde_json::json!({"kind": "cake", "limit_packets": 128}), "limit: Linux's cake limits memory"),
            (serde_json::json!({"kind": "cake", "target_ns": 1_000_000}), "target_ns: in Linux's cake"),
        ];
        for (queue, expected) in cases {
            let refusal = shaped(queue.clone()).unwrap_err();
            assert!(refusal.starts_with(expected.trim_start_matches("queue.")), "{queue}: {refusal}");
        }
    }

    #[test]
    fn times_keep_their_nanoseconds() {
        assert_eq!(micros(20_000_123), "20000.123us");
        assert_eq!(
            netem_serialiser(8_000_000, 5).root,
            "netem limit 4294967295 rate 8000000bit -14 delay 0.005us"
        );
        assert_eq!(netem_serialiser(8_000_000, 0).root, "netem limit 4294967295 rate 8000000bit -14");
    }
}
