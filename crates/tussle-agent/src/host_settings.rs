//! Settings of a host's TCP in Linux: the sysctls of its network namespace, and the metrics of its routes.

use anyhow::ensure;
use netlink_packet_route::route::RouteMetric;
use tussle_core::Run;
use tussle_core::run::{Growth, Host, LossDetection, Timestamps};

use crate::execute::namespace::{has, read, set};
use crate::network::Refusal;

/// A sysctl below `net/ipv4`.
struct Sysctl {
    /// Key of the table `[hosts]`.
    key: &'static str,
    name: &'static str,
    value: &'static str,
    /// Linux's default.
    default: &'static str,
}

/// File of the sysctl that `kernel/patches/hosts.toml` adds. Where it is, the route's metric `ssthresh` is honoured.
const OF_OUR_PATCH: &str = "net/ipv4/tcp_abc";

/// Sysctls of a host.
fn sysctls(host: &Host) -> [Sysctl; 8] {
    let sysctl = |key, name, default, value| Sysctl { key, name, value, default };
    let switch = |on: bool| if on { "1" } else { "0" };
    let timestamps = match host.timestamps {
        Timestamps::Random => "1",
        Timestamps::Synchronised => "2",
    };
    let recovery = match host.recovery {
        LossDetection::Rack => "1",
        LossDetection::Rfc6675 => "0",
    };
    let growth = match host.growth {
        Growth::Packet => "1",
        Growth::Ack => "0",
    };
    [
        sysctl("timestamps", "tcp_timestamps", "1", timestamps),
        sysctl("growth", "tcp_abc", "1", growth),
        sysctl("sack", "tcp_sack", "1", switch(host.sack)),
        sysctl("dsack", "tcp_dsack", "1", switch(host.dsack)),
        sysctl("recovery", "tcp_recovery", "1", recovery),
        sysctl("tlp", "tcp_early_retrans", "3", if host.tlp { "3" } else { "0" }),
        sysctl("frto", "tcp_frto", "2", if host.frto { "2" } else { "0" }),
        sysctl("slow_start_after_idle", "tcp_slow_start_after_idle", "1", switch(host.slow_start_after_idle)),
    ]
}

/// Sets the sysctls of this thread's namespace, and reads them back. Those with the right value are not written, so that a
/// host with default settings is not changed.
pub(crate) fn apply(host: &Host) -> anyhow::Result<()> {
    ensure!(
        host.initial_ssthresh.is_none() || has(OF_OUR_PATCH),
        "hosts.initial_ssthresh: this kernel takes it from earlier connections alone; leave it out"
    );
    for Sysctl { key, name, value, default } in sysctls(host) {
        let file = format!("net/ipv4/{name}");
        if !has(&file) {
            ensure!(value == default, "hosts.{key}: this kernel has no net.ipv4.{name}; leave it out");
            continue;
        }
        if read(&file)? != value {
            set(&file, value)?;
            let found = read(&file)?;
            ensure!(found == value, "hosts.{key}: net.ipv4.{name} is {found} after it was set to {value}");
        }
    }
    Ok(())
}

/// Metrics of the routes of a host.
pub(crate) fn metrics(host: &Host) -> Vec<RouteMetric> {
    let mut metrics = Vec::new();
    if host.initial_cwnd != Host::default().initial_cwnd {
        metrics.push(RouteMetric::InitCwnd(host.initial_cwnd));
    }
    metrics.extend(host.initial_ssthresh.map(RouteMetric::SsThresh));
    metrics
}

/// Refuses settings of a run that no Linux of today has.
pub(crate) fn check(run: &Run) -> Result<(), Refusal> {
    check_host("hosts", &run.hosts)?;
    for (index, flow) in run.flows.iter().enumerate() {
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
    if host.prr {
        return Ok(());
    }
    let problem = "Linux has had no other reduction since 3.2; give true, or the simulator";
    Err(Refusal::new(format!("{table}.prr"), problem))
}

/// Words of `ip route` for the metrics of a host.
pub(crate) fn route_words(host: &Host) -> String {
    let words = metrics(host).into_iter().map(|metric| match metric {
        RouteMetric::InitCwnd(packets) => format!(" initcwnd {packets}"),
        RouteMetric::SsThresh(packets) => format!(" ssthresh {packets}"),
        _ => String::new(),
    });
    words.collect()
}
