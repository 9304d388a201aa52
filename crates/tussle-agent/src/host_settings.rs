//! Settings of a host's TCP in Linux: the sysctls of its network namespace, and the metrics of its routes.

use anyhow::{Context, bail, ensure};
use netlink_packet_route::link::LinkAttribute;
use netlink_packet_route::route::RouteMetric;
use tussle_core::Run;
use tussle_core::run::{
    BufferTuning, Growth, Host, LossDetection, Qdisc, Reduction, SocketBuffer, Timestamps,
};

use crate::namespace::{has, read, set};
use crate::netlink::{self, Netlink};
use crate::network::Refusal;

/// A sysctl below `net/ipv4`.
struct Sysctl {
    /// Key of the table `[hosts]`.
    key: &'static str,
    name: &'static str,
    value: String,
    /// Linux's default; `None`: it depends on the kernel and its memory, and a host without the setting keeps it.
    default: Option<&'static str>,
}

/// Sysctls that `kernel/patches/hosts.toml` adds. A kernel with the first of them also honours the metric `ssthresh` of a
/// route.
const PATCHED: [&str; 2] = ["tcp_abc", "tcp_metrics_pair"];

/// Sizes of a receive buffer that does not limit. The sockets of a run set their own size; but Linux lets a window grow with
/// packets smaller than their metadata only to a quarter of the maximum, and derives that from the memory of the machine.
const UNLIMITED_RMEM: &str = "4096\t131072\t2147483647";

/// Sysctls of a host, which belongs to a `pair` of hosts that share metrics of ended connections.
fn sysctls(host: &Host, pair: Option<u32>) -> Vec<Sysctl> {
    let sysctl = |key, name, default, value: &str| Sysctl {
        key,
        name,
        value: value.to_owned(),
        default: Some(default),
    };
    let buffer = |key, name, sizes: Option<SocketBuffer>| {
        sizes.map(|SocketBuffer { min_bytes, default_bytes, max_bytes }| {
            let value = format!("{min_bytes}\t{default_bytes}\t{max_bytes}");
            Sysctl { key, name, value, default: None }
        })
    };
    let switch = |on: bool| if on { "1" } else { "0" };
    let timestamps = match host.timestamps {
        Timestamps::Random => "1",
        Timestamps::Synchronised => "2",
        Timestamps::Off => "0",
    };
    let recovery = match host.recovery {
        LossDetection::Rack => "1",
        LossDetection::Rfc6675 => "0",
    };
    let pair = pair.filter(|_| host.metrics_save).map_or(0, |pair| pair + 1);
    let growth = match host.growth {
        Growth::Packet => "1",
        Growth::Ack | Growth::AckCorrected => "0",
    };
    let buffers = [
        buffer("rmem", "tcp_rmem", host.rmem)
            .or_else(|| Some(sysctl("rmem", "tcp_rmem", UNLIMITED_RMEM, UNLIMITED_RMEM))),
        buffer("wmem", "tcp_wmem", host.wmem),
    ];
    // Without a limit nothing waits in the device: see `check`.
    let limit_output = host
        .limit_output_bytes
        .or(Host::default().limit_output_bytes)
        .map_or_else(String::new, |bytes| bytes.to_string());
    let sysctls = [
        sysctl("timestamps", "tcp_timestamps", "1", timestamps),
        sysctl("growth", "tcp_abc", "1", growth),
        sysctl("sack", "tcp_sack", "1", switch(host.sack)),
        sysctl("dsack", "tcp_dsack", "1", switch(host.dsack)),
        sysctl("recovery", "tcp_recovery", "1", recovery),
        sysctl("tlp", "tcp_early_retrans", "3", if host.tlp { "3" } else { "0" }),
        sysctl("frto", "tcp_frto", "2", if host.frto { "2" } else { "0" }),
        sysctl("metrics_save", "tcp_no_ssthresh_metrics_save", "1", switch(!host.metrics_save)),
        sysctl("metrics_save", "tcp_metrics_pair", "0", &pair.to_string()),
        sysctl("slow_start_after_idle", "tcp_slow_start_after_idle", "1", switch(host.slow_start_after_idle)),
        sysctl("limit_output", "tcp_limit_output_bytes", "1048576", &limit_output),
        sysctl("moderate_rcvbuf", "tcp_moderate_rcvbuf", "1", switch(host.moderate_rcvbuf)),
        sysctl("adv_win_scale", "tcp_adv_win_scale", "1", &host.adv_win_scale.to_string()),
    ];
    sysctls.into_iter().chain(buffers.into_iter().flatten()).collect()
}

/// The first setting of a host that a kernel does not have, and what to do; `has` tells which sysctls it has.
fn lacking(host: &Host, pair: Option<u32>, has: impl Fn(&str) -> bool) -> Option<String> {
    if host.initial_ssthresh.is_some() && !has(PATCHED[0]) {
        let problem = "this kernel takes it from earlier connections alone; take a kernel that Tussle builds";
        return Some(format!("hosts.initial_ssthresh: {problem}"));
    }
    let mut changed =
        sysctls(host, pair).into_iter().filter(|sysctl| Some(sysctl.value.as_str()) != sysctl.default);
    changed.find(|sysctl| !has(sysctl.name)).map(|Sysctl { key, name, .. }| {
        let remedy =
            if PATCHED.contains(&name) { "take a kernel that Tussle builds" } else { "leave it out" };
        format!("hosts.{key}: this kernel has no net.ipv4.{name}; {remedy}")
    })
}

/// Sets the sysctls of this thread's namespace, and reads them back. Those with the right value are not written, so that a
/// host with default settings is not changed.
pub(crate) fn apply(host: &Host, pair: Option<u32>) -> anyhow::Result<()> {
    let has = |name: &str| has(&format!("net/ipv4/{name}"));
    if let Some(problem) = lacking(host, pair, has) {
        bail!(problem);
    }
    ensure!(
        host.adv_win_scale == Host::default().adv_win_scale
            || !ignores_adv_win_scale(&read("kernel/osrelease")?),
        "hosts.adv_win_scale: Linux has ignored net.ipv4.tcp_adv_win_scale since 6.6; leave it out, or take an older kernel"
    );
    for Sysctl { key, name, value, .. } in sysctls(host, pair).into_iter().filter(|sysctl| has(sysctl.name)) {
        let file = format!("net/ipv4/{name}");
        if read(&file)? != value {
            set(&file, &value)?;
            let found = read(&file)?;
            ensure!(found == value, "hosts.{key}: net.ipv4.{name} is {found} after it was set to {value}");
        }
    }
    apply_clock_offset(host)
}

/// Sysctl that `kernel/patches/clock_offset.toml` adds, in ms.
const CLOCK_OFFSET: &str = "net/ipv4/tcp_ts_offset";

/// Sets the offset of the clock of timestamps in this thread's namespace.
fn apply_clock_offset(host: &Host) -> anyhow::Result<()> {
    if host.clock_offset_ms == 0 {
        return Ok(());
    }
    ensure!(
        has(CLOCK_OFFSET),
        "hosts.clock_offset: this kernel has no net.ipv4.tcp_ts_offset; give a kernel that Tussle built, or leave it out"
    );
    let offset_ms = host.clock_offset_ms.to_string();
    set(CLOCK_OFFSET, &offset_ms)?;
    let found = read(CLOCK_OFFSET)?;
    ensure!(
        found == offset_ms,
        "hosts.clock_offset: net.ipv4.tcp_ts_offset is {found} after it was set to {offset_ms}"
    );
    Ok(())
}

/// Reads the metrics of this thread's routes back, after they were set.
pub(crate) fn check_routes(kernel: &Netlink, host: &Host) -> anyhow::Result<()> {
    let wanted = metrics(host);
    if wanted.is_empty() {
        return Ok(());
    }
    let routes = kernel.routes()?;
    ensure!(!routes.is_empty(), "hosts: the kernel has no route after one was set");
    for found in routes {
        if let Some(metric) = wanted.iter().find(|&metric| !found.contains(metric)) {
            bail!("hosts.{}: the routes have {found:?} after {metric:?} was set", key_of(metric));
        }
    }
    Ok(())
}

/// Key of the table `[hosts]` for a metric of [`metrics`].
fn key_of(metric: &RouteMetric) -> &'static str {
    match metric {
        RouteMetric::InitCwnd(_) => "initial_cwnd",
        RouteMetric::InitRwnd(_) => "initial_rwnd",
        RouteMetric::QuickAck(_) => "quickack",
        _ => "initial_ssthresh",
    }
}

/// Whether a release of Linux, such as `6.12.8`, derives the window of a receive buffer from the memory of its packets.
fn ignores_adv_win_scale(release: &str) -> bool {
    let mut parts =
        release.split(|each: char| !each.is_ascii_digit()).map(|part| part.parse::<u32>().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0)) >= (6, 6)
}

/// Sets the queue of a sending host's device, and reads it back.
pub(crate) fn queue(kernel: &Netlink, device: &str, host: &Host) -> anyhow::Result<()> {
    let Some(name) = discipline(host) else { return Ok(()) };
    kernel
        .turn_on(device, &[LinkAttribute::TxQueueLen(host.txqueuelen)])
        .with_context(|| format!("hosts.txqueuelen: {}", host.txqueuelen))?;
    kernel
        .add(netlink::discipline(device, name)?)
        .with_context(|| format!("hosts.qdisc: this kernel has no {name}; give another one"))?;
    let found = kernel.queue(device)?;
    ensure!(
        found == (name.to_owned(), host.txqueuelen),
        "hosts.qdisc: {found:?} after it was set to {name} with txqueuelen {}",
        host.txqueuelen
    );
    Ok(())
}

/// Linux's name of the queue of a sending host's device.
fn discipline(host: &Host) -> Option<&'static str> {
    match host.qdisc {
        Qdisc::None => None,
        Qdisc::PfifoFast => Some("pfifo_fast"),
        Qdisc::Fq => Some("fq"),
        Qdisc::FqCodel => Some("fq_codel"),
    }
}

/// Metrics of the routes of a host.
pub(crate) fn metrics(host: &Host) -> Vec<RouteMetric> {
    let mut metrics = Vec::new();
    if host.initial_cwnd != Host::default().initial_cwnd {
        metrics.push(RouteMetric::InitCwnd(host.initial_cwnd));
    }
    metrics.extend(host.initial_ssthresh.map(RouteMetric::SsThresh));
    metrics.extend(host.initial_rwnd.map(RouteMetric::InitRwnd));
    metrics.extend(host.quickack.then_some(RouteMetric::QuickAck(1)));
    metrics
}

/// Refuses settings of a run that no Linux of today has.
pub(crate) fn check(run: &Run) -> Result<(), Refusal> {
    check_host("hosts", &run.hosts)?;
    for (index, flow) in run.flows.iter().enumerate() {
        if flow.device_rate_bit_per_s.is_some() && run.ends(flow).sender.limit_output_bytes.is_none() {
            let problem = "Linux has had a limit since 3.6; give a size, or the simulator";
            return Err(Refusal::new(format!("flows.{index}.sender.limit_output"), problem));
        }
        for (end, host) in [("sender", flow.sender), ("receiver", flow.receiver)] {
            if let Some(host) = host {
                check_host(&format!("flows.{index}.{end}"), &host)?;
                if host.hz != run.hosts.hz {
                    let problem = format!(
                        "{}, and {} on other hosts; they share a kernel, which has one tick",
                        host.hz, run.hosts.hz
                    );
                    return Err(Refusal::new(format!("flows.{index}.{end}.hz"), problem));
                }
            }
        }
    }
    Ok(())
}

/// Refuses settings of one host that no Linux of today has.
pub(crate) fn check_host(table: &str, host: &Host) -> Result<(), Refusal> {
    let tunes_twice = host.rcvbuf_tuning == BufferTuning::Twice && host.rmem.is_some();
    let refused = [
        (
            host.reduction != Reduction::Prr,
            "reduction",
            "Linux has had no other since 3.2 than \"prr\"; give that, or the simulator",
        ),
        (
            host.growth == Growth::AckCorrected,
            "growth",
            "Linux of today corrects no ACKs; give \"packet\" or \"ack\", or the simulator",
        ),
        (host.fack, "fack", "Linux has had none since 4.15; give false, or the simulator"),
        (
            host.early_retransmit,
            "early_retransmit",
            "Linux has had none since 4.14; give false, or the simulator",
        ),
        (
            host.impatient,
            "impatient",
            "Linux restarts the timer with each partial ACK; give false, or the simulator",
        ),
        (
            tunes_twice,
            "rcvbuf_tuning",
            "Linux has tuned in another way since 3.14; give \"rising\", or the simulator",
        ),
    ];
    match refused.iter().find(|(is_refused, ..)| *is_refused) {
        Some((_, key, problem)) => Err(Refusal::new(format!("{table}.{key}"), *problem)),
        None => Ok(()),
    }
}

/// Words of `ip route` for the metrics of a host.
pub(crate) fn route_words(host: &Host) -> String {
    let words = metrics(host).into_iter().map(|metric| match metric {
        RouteMetric::InitCwnd(packets) => format!(" initcwnd {packets}"),
        RouteMetric::SsThresh(packets) => format!(" ssthresh {packets}"),
        RouteMetric::InitRwnd(packets) => format!(" initrwnd {packets}"),
        RouteMetric::QuickAck(on) => format!(" quickack {on}"),
        _ => String::new(),
    });
    words.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A kernel of a distribution has every sysctl but those of `kernel/patches/hosts.toml`; a kernel without IPv4 has none.
    #[test]
    fn settings_of_our_patch_need_a_kernel_that_tussle_builds() {
        let usual = |name: &str| !PATCHED.contains(&name);
        let lacking = |host: &Host, has: &dyn Fn(&str) -> bool| lacking(host, Some(7), has);
        let growth = Host { growth: Growth::Ack, ..Host::default() };
        let ssthresh = Host { initial_ssthresh: Some(20), ..Host::default() };
        let sack = Host { sack: false, ..Host::default() };
        assert_eq!(
            lacking(&growth, &usual).unwrap(),
            "hosts.growth: this kernel has no net.ipv4.tcp_abc; take a kernel that Tussle builds"
        );
        assert_eq!(
            lacking(&ssthresh, &usual).unwrap(),
            "hosts.initial_ssthresh: this kernel takes it from earlier connections alone; take a kernel that \
             Tussle builds"
        );
        assert_eq!(lacking(&sack, &usual), None);
        assert_eq!(
            lacking(&sack, &|_| false).unwrap(),
            "hosts.sack: this kernel has no net.ipv4.tcp_sack; leave it out"
        );
        let metrics_save = Host { metrics_save: true, ..Host::default() };
        assert_eq!(
            lacking(&metrics_save, &usual).unwrap(),
            "hosts.metrics_save: this kernel has no net.ipv4.tcp_metrics_pair; take a kernel that Tussle builds"
        );
        for host in [growth, ssthresh, sack, metrics_save] {
            assert_eq!(lacking(&host, &|_| true), None);
        }
        assert_eq!(lacking(&Host::default(), &|_| false), None);
    }

    #[test]
    fn metrics_of_routes_have_the_keys_of_their_settings() {
        let host = Host {
            initial_cwnd: 3,
            initial_ssthresh: Some(20),
            initial_rwnd: Some(4),
            quickack: true,
            ..Host::default()
        };
        let keys: Vec<_> = metrics(&host).iter().map(key_of).collect();
        assert_eq!(keys, ["initial_cwnd", "initial_ssthresh", "initial_rwnd", "quickack"]);
        assert_eq!(route_words(&host), " initcwnd 3 ssthresh 20 initrwnd 4 quickack 1");
    }

    #[test]
    fn linux_derives_windows_from_packets_since_6_6() {
        let releases = ["5.10.0-28-amd64", "6.1.192", "6.6.0", "6.12.8+deb13", "7.0.0-rc1"];
        assert_eq!(releases.map(ignores_adv_win_scale), [false, false, true, true, true]);
    }
}
