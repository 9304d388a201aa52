//! Validity of a measurement: the host of a flow, limits besides the network, and whether the host kept up.

use std::fs;
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd};

use anyhow::Context;
use nix::sys::socket::{self, SockaddrLike, SockaddrStorage};
use serde::{Deserialize, Serialize};
use tussle_core::Histogram;
use tussle_core::table::{Labels, Table, Values};

use crate::algorithms::algorithm_of;
use crate::columns::column;
use crate::netlink::Netlink;
use crate::sys;
use crate::tcp_info::TcpInfo;

/// Requests of `include/uapi/linux/ethtool.h` for one feature each, by the short names of `ethtool -k`.
const OFFLOADS: [(&str, u32); 3] = [("tso", 0x1e), ("gso", 0x23), ("gro", 0x2b)];
/// Request for several flags of a device, and the flag of large receive offload.
const FLAGS: u32 = 0x25;
const LRO: u32 = 1 << 15;
/// `IPV6_MTU`, which libc does not define for every target.
const IPV6_MTU: i32 = 24;

/// Largest part of the CPU time in use on a host that keeps up. Beyond it, a burst of work is late.
const MAX_CPU_SHARE: f64 = 0.95;
/// Largest 99th percentile of timer delays on a host that keeps up. 1 ms is the delay of a short path.
const MAX_SLIP_MS: f64 = 1.0;
/// Largest part of a sender's busy time that its application may limit, on a host that keeps up.
const MAX_SENDER_LIMITED: f64 = 0.05;

/// Longest name of a host, or of a kernel's release (`__NEW_UTS_LEN`).
const MAX_NAME_BYTES: usize = 64;
/// Longest plausible time in s, and longest plausible timer delay in ms.
const MAX_S: f64 = 1e6;
const MAX_LATE_MS: f64 = 1e8;
/// Largest plausible difference of two clocks, in s. A clock that was never set shows 1970.
const MAX_OFFSET_S: f64 = 1e11;

/// Description of a host and of a flow that it sends or receives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Validity {
    /// Name of the host, and release of its kernel.
    pub(crate) host: String,
    pub(crate) kernel: String,
    /// Congestion control, as read back from the socket.
    pub(crate) algorithm: String,
    /// Interface by which packets leave, its queue discipline, and its active offloads.
    pub(crate) interface: Option<String>,
    pub(crate) qdisc: Option<String>,
    pub(crate) offloads: Option<String>,
    pub(crate) path_mtu_bytes: Option<u32>,
    /// Offset of the host's clock to the clock of the measurement, if that is another one.
    pub(crate) clock: Option<ClockOffset>,
    /// Time with data to send; of it, the time limited by the receive window, and by the application.
    pub(crate) busy_s: f64,
    pub(crate) receiver_limited_s: f64,
    pub(crate) sender_limited_s: f64,
    /// CPU load and timer delays of the host.
    pub(crate) load: HostLoad,
}

/// An estimate of a clock's offset, positive if the clock is ahead.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ClockOffset {
    pub(crate) offset_s: f64,
    /// Largest error of the estimate.
    pub(crate) error_s: f64,
}

/// CPU load and timer delays of a host.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct HostLoad {
    /// Part of the CPU time in use, 0 to 1; time of niced processes does not count.
    pub(crate) cpu_share: f64,
    /// Timer delays: the 99th percentile, and the largest.
    pub(crate) timer_slip_p99_ms: f64,
    pub(crate) timer_slip_max_ms: f64,
}

impl Validity {
    /// Describes a connected socket, from within its namespace.
    pub(crate) fn of(socket: impl AsFd, load: HostLoad) -> anyhow::Result<Validity> {
        let info = TcpInfo::of(&socket).context("TCP_INFO")?;
        let (host, kernel) = Validity::here()?;
        let device = peer(&socket).and_then(|peer| Device::towards(peer).ok());
        let seconds = |us: u64| std::time::Duration::from_micros(us).as_secs_f64();
        Ok(Validity {
            host,
            kernel,
            algorithm: algorithm_of(&socket)?,
            offloads: device.as_ref().and_then(|device| offloads(&socket, &device.name)),
            interface: device.as_ref().map(|device| device.name.clone()),
            qdisc: device.and_then(|device| device.qdisc),
            path_mtu_bytes: path_mtu_bytes(&socket),
            clock: None,
            busy_s: seconds(info.busy_us),
            receiver_limited_s: seconds(info.rwnd_limited_us),
            sender_limited_s: seconds(info.sndbuf_limited_us),
            load,
        })
    }

    /// Name of this host, and release of its kernel.
    pub(crate) fn here() -> anyhow::Result<(String, String)> {
        Ok((read_sysctl("kernel/hostname")?, read_sysctl("kernel/osrelease")?))
    }

    /// The first implausible value, in words. Another host may have reported it.
    pub(crate) fn implausible(&self) -> Option<&'static str> {
        let optional = [&self.interface, &self.qdisc, &self.offloads];
        let names = [&self.host, &self.kernel, &self.algorithm];
        let is_name = |name: &String| name.len() <= MAX_NAME_BYTES && !name.chars().any(char::is_control);
        if !names.into_iter().chain(optional.into_iter().flatten()).all(is_name) {
            return Some("a name that is too long, or has control characters");
        }
        let times = [self.busy_s, self.receiver_limited_s, self.sender_limited_s];
        if !times.iter().all(|time| (0.0..=MAX_S).contains(time)) {
            return Some("a time that is negative, or too long");
        }
        let clock = self.clock.unwrap_or(ClockOffset { offset_s: 0.0, error_s: 0.0 });
        if clock.offset_s.abs() > MAX_OFFSET_S || !(0.0..=MAX_S).contains(&clock.error_s) {
            return Some("a clock that is too far off");
        }
        let HostLoad { cpu_share, timer_slip_p99_ms, timer_slip_max_ms } = self.load;
        let is_late = |slip_ms: f64| (0.0..=MAX_LATE_MS).contains(&slip_ms);
        let is_load =
            (0.0..=1.0).contains(&cpu_share) && is_late(timer_slip_p99_ms) && is_late(timer_slip_max_ms);
        (!is_load).then_some("a CPU load or a timer delay that no machine has")
    }

    /// Reason why the host did not keep up; `None` if it did.
    pub(crate) fn shortfall(&self) -> Option<String> {
        if let Some(reason) = self.load.shortfall() {
            return Some(reason);
        }
        let limited = self.sender_limited_s / self.busy_s.max(f64::MIN_POSITIVE);
        (limited > MAX_SENDER_LIMITED)
            .then(|| format!("the sender wrote too late for {:.0} % of the time", 100.0 * limited))
    }
}

impl HostLoad {
    /// Reason why the host did not keep up; `None` if it did.
    pub(crate) fn shortfall(&self) -> Option<String> {
        if self.cpu_share > MAX_CPU_SHARE {
            return Some(format!("the CPUs were in use {:.0} % of the time", 100.0 * self.cpu_share));
        }
        (self.timer_slip_p99_ms > MAX_SLIP_MS)
            .then(|| format!("1 % of timers were more than {:.1} ms late", self.timer_slip_p99_ms))
    }
}

/// Monitor of a host's load during a measurement.
#[derive(Debug)]
pub(crate) struct LoadMonitor {
    before: CpuTimes,
    slips_us: Histogram,
    max_us: u32,
}

impl LoadMonitor {
    /// Starts to measure the load.
    pub(crate) fn start() -> anyhow::Result<LoadMonitor> {
        Ok(LoadMonitor { before: CpuTimes::now()?, slips_us: Histogram::default(), max_us: 0 })
    }

    /// Records the delay of a timer.
    pub(crate) fn slip(&mut self, late_ns: u64) {
        let slip_us = u32::try_from(late_ns / 1000).unwrap_or(u32::MAX);
        self.slips_us.add(slip_us);
        self.max_us = self.max_us.max(slip_us);
    }

    /// Load of the host until now.
    pub(crate) fn load(&self) -> anyhow::Result<HostLoad> {
        Ok(HostLoad {
            cpu_share: CpuTimes::now()?.share_since(self.before),
            timer_slip_p99_ms: self.slips_us.quantile(99).unwrap_or_default() / 1e3,
            timer_slip_max_ms: f64::from(self.max_us) / 1e3,
        })
    }
}

/// CPU times of a host since boot, in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CpuTimes {
    all: u64,
    idle: u64,
}

impl CpuTimes {
    fn now() -> anyhow::Result<CpuTimes> {
        let text = fs::read_to_string("/proc/stat").context("the times of the CPUs")?;
        CpuTimes::read(&text).context("the times of the CPUs are not understood")
    }

    /// Reads the first line: user, nice, system, idle, iowait, irq, softirq and steal. Time of guests is part
    /// of user. Niced processes yield to others, and do not count.
    fn read(text: &str) -> Option<CpuTimes> {
        let times: Vec<u64> =
            text.lines().next()?.split_whitespace().skip(1).map_while(|word| word.parse().ok()).collect();
        let counted = times.get(..8)?;
        Some(CpuTimes { all: counted.iter().sum(), idle: counted[1] + counted[3] + counted[4] })
    }

    #[expect(clippy::cast_precision_loss, reason = "ticks of a run are far below 2^53")]
    fn share_since(self, before: CpuTimes) -> f64 {
        // The time spent waiting for a disk may decrease (proc(5)).
        let idle = self.idle.saturating_sub(before.idle) as f64;
        let all = self.all.saturating_sub(before.all) as f64;
        if all > 0.0 { (1.0 - idle / all).clamp(0.0, 1.0) } else { 0.0 }
    }
}

/// An interface and its queue discipline.
struct Device {
    name: String,
    qdisc: Option<String>,
}

impl Device {
    /// The interface by which packets to an address leave.
    fn towards(address: IpAddr) -> anyhow::Result<Device> {
        let kernel = Netlink::open()?;
        let (name, qdisc) = kernel.device(kernel.device_towards(address)?)?;
        Ok(Device { name, qdisc })
    }
}

fn peer(socket: &impl AsFd) -> Option<IpAddr> {
    let address: SockaddrStorage = socket::getpeername(socket.as_fd().as_raw_fd()).ok()?;
    match address.family()? {
        socket::AddressFamily::Inet => Some(IpAddr::V4(address.as_sockaddr_in()?.ip())),
        socket::AddressFamily::Inet6 => Some(IpAddr::V6(address.as_sockaddr_in6()?.ip())),
        _ => None,
    }
}

/// Active offloads of a device, separated by spaces; `None` if the device does not report them.
fn offloads(socket: &impl AsFd, device: &str) -> Option<String> {
    let mut on = Vec::new();
    for (name, request) in OFFLOADS {
        if sys::ethtool(socket, device, request).ok()? != 0 {
            on.push(name);
        }
    }
    if sys::ethtool(socket, device, FLAGS).ok()? & LRO != 0 {
        on.push("lro");
    }
    Some(on.join(" "))
}

fn path_mtu_bytes(socket: &impl AsFd) -> Option<u32> {
    let v4 = || sys::option(socket, libc::IPPROTO_IP, libc::IP_MTU);
    let v6 = || sys::option(socket, libc::IPPROTO_IPV6, IPV6_MTU);
    v4().or_else(|_| v6()).ok()?.try_into().ok()
}

fn read_sysctl(sysctl: &str) -> anyhow::Result<String> {
    let text =
        fs::read_to_string(format!("/proc/sys/{sysctl}")).with_context(|| format!("reading {sysctl}"))?;
    Ok(text.trim().to_owned())
}

/// A row of the `validity` table.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) flow: u32,
    pub(crate) sender: Validity,
    /// `None` if the receiver's host reports nothing.
    pub(crate) receiver: Option<Validity>,
}

/// The `validity` table.
pub(crate) fn table(rows: &[Row]) -> Table {
    let text = |of: &dyn Fn(&Validity) -> &str| {
        Values::Text(rows.iter().map(|row| of(&row.sender).to_owned()).collect())
    };
    let f64s = |of: &dyn Fn(&Validity) -> f64| Values::F64(rows.iter().map(|row| of(&row.sender)).collect());
    let maybe_f64s = |of: &dyn Fn(&Validity) -> Option<f64>| {
        Values::MaybeF64(rows.iter().map(|row| of(&row.sender)).collect())
    };
    let labels = |of: &dyn Fn(&Row) -> Option<String>| maybe_labels(rows.iter().map(of));
    let columns = vec![
        column("flow", Values::U32(rows.iter().map(|row| row.flow).collect())),
        column("host", text(&|each| &each.host)),
        column("kernel", text(&|each| &each.kernel)),
        column("receiver_host", labels(&|row| Some(row.receiver.as_ref()?.host.clone()))),
        column("receiver_kernel", labels(&|row| Some(row.receiver.as_ref()?.kernel.clone()))),
        column("algorithm", text(&|each| &each.algorithm)),
        column("interface", labels(&|row| row.sender.interface.clone())),
        column("qdisc", labels(&|row| row.sender.qdisc.clone())),
        column("offloads", labels(&|row| row.sender.offloads.clone())),
        column(
            "path_mtu_bytes",
            Values::MaybeU32(rows.iter().map(|row| row.sender.path_mtu_bytes).collect()),
        ),
        column("clock_offset_s", maybe_f64s(&|each| Some(each.clock?.offset_s))),
        column("clock_offset_error_s", maybe_f64s(&|each| Some(each.clock?.error_s))),
        column("busy_s", f64s(&|each| each.busy_s)),
        column("receiver_limited_s", f64s(&|each| each.receiver_limited_s)),
        column("sender_limited_s", f64s(&|each| each.sender_limited_s)),
        column("cpu_share", f64s(&|each| each.load.cpu_share)),
        column("timer_slip_p99_ms", f64s(&|each| each.load.timer_slip_p99_ms)),
        column("timer_slip_max_ms", f64s(&|each| each.load.timer_slip_max_ms)),
        column("kept_up", Values::U32(rows.iter().map(|row| u32::from(shortfall(row).is_none())).collect())),
        column("shortfall", labels(&shortfall)),
    ];
    Table { name: "validity", columns }
}

/// Reason why one of a flow's hosts did not keep up.
fn shortfall(Row { sender, receiver, .. }: &Row) -> Option<String> {
    let at_receiver = || {
        let receiver = receiver.as_ref()?;
        receiver.load.shortfall().map(|reason| format!("{}: {reason}", receiver.host))
    };
    sender.shortfall().or_else(at_receiver)
}

/// Column of labels; a row may have none.
fn maybe_labels(rows: impl Iterator<Item = Option<String>>) -> Values {
    let mut labels = Labels::default();
    let mut has_one = Vec::new();
    for name in rows {
        has_one.push(name.is_some());
        labels.push(name.as_deref().unwrap_or_default());
    }
    match labels.values() {
        Values::Label { codes, names } => Values::MaybeLabel {
            codes: codes.into_iter().zip(has_one).map(|(code, has_one)| has_one.then_some(code)).collect(),
            names,
        },
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    const LIGHT_LOAD: HostLoad = HostLoad { cpu_share: 0.2, timer_slip_p99_ms: 0.1, timer_slip_max_ms: 3.0 };

    fn over_loopback() -> Validity {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let socket = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        Validity::of(&socket, LIGHT_LOAD).unwrap()
    }

    #[test]
    fn a_socket_over_loopback_leaves_by_lo() {
        let validity = over_loopback();
        assert_eq!(validity.interface.as_deref(), Some("lo"));
        assert_eq!(validity.qdisc.as_deref(), Some("noqueue"));
        // Loopback has an MTU of 65536 bytes by default.
        assert!(validity.path_mtu_bytes.is_some_and(|bytes| bytes > 1000));
        assert!(validity.offloads.is_some());
        assert!(!validity.algorithm.is_empty() && !validity.kernel.is_empty());
        assert_eq!(validity.shortfall(), None);
    }

    #[test]
    fn a_host_that_did_not_keep_up_has_a_reason() {
        let busy = HostLoad { cpu_share: 0.97, ..LIGHT_LOAD };
        let late = HostLoad { timer_slip_p99_ms: 2.34, ..LIGHT_LOAD };
        assert_eq!(busy.shortfall().unwrap(), "the CPUs were in use 97 % of the time");
        assert_eq!(late.shortfall().unwrap(), "1 % of timers were more than 2.3 ms late");
        let slow = Validity { busy_s: 10.0, sender_limited_s: 1.0, ..over_loopback() };
        assert_eq!(slow.shortfall().unwrap(), "the sender wrote too late for 10 % of the time");
        let receiver = Validity { load: late, host: "there".to_owned(), ..slow.clone() };
        let sender = Validity { sender_limited_s: 0.0, ..slow };
        assert_eq!(
            shortfall(&Row { flow: 0, sender, receiver: Some(receiver) }).unwrap(),
            "there: 1 % of timers were more than 2.3 ms late"
        );
    }

    /// 400 ticks passed: 90 were idle, 100 waited for a disk and 10 were niced; guests' 50 are part of user.
    #[test]
    fn cpu_time_in_use_is_neither_idle_nor_waiting_nor_niced() {
        let before = CpuTimes { all: 0, idle: 0 };
        let now = CpuTimes::read("cpu  100 10 50 90 100 10 20 20 50 0\ncpu0 1 1 1\n").unwrap();
        assert_eq!(now, CpuTimes { all: 400, idle: 200 });
        assert!((now.share_since(before) - 0.5).abs() < 1e-9);
        assert_eq!(CpuTimes::read("intr 1 2 3\n"), None);
    }

    /// Three of 200 timers are late, so that the 198th, the third latest, is at the 99th percentile.
    #[test]
    fn the_largest_timer_delay_is_recorded() {
        let mut watch = LoadMonitor::start().unwrap();
        (0..197).for_each(|_| watch.slip(0));
        (0..3).for_each(|_| watch.slip(5_000_000));
        let load = watch.load().unwrap();
        assert!((load.timer_slip_p99_ms - 5.0).abs() < 0.02, "{load:?}");
        assert!((load.timer_slip_max_ms - 5.0).abs() < 1e-9);
    }

    #[test]
    fn a_row_may_lack_offloads() {
        let validity = Validity { offloads: None, ..over_loopback() };
        let table = table(&[
            Row { flow: 0, sender: validity.clone(), receiver: None },
            Row {
                flow: 1,
                sender: Validity { offloads: Some("gso".to_owned()), ..validity },
                receiver: None,
            },
        ]);
        let offloads = table.columns.iter().find(|each| each.name == "offloads").unwrap();
        let names = vec![String::new(), "gso".to_owned()];
        assert_eq!(offloads.values, Values::MaybeLabel { codes: vec![None, Some(1)], names });
    }

    #[test]
    fn implausible_values_are_found() {
        let validity = over_loopback();
        assert_eq!(validity.implausible(), None);
        let clock = Some(ClockOffset { offset_s: 1e300, error_s: 0.1 });
        for changed in [
            Validity { host: "\u{1b}[2J".to_owned(), ..validity.clone() },
            Validity { qdisc: Some("x".repeat(65)), ..validity.clone() },
            Validity { busy_s: -1.0, ..validity.clone() },
            Validity { sender_limited_s: 1e300, ..validity.clone() },
            Validity { clock, ..validity.clone() },
            Validity { load: HostLoad { cpu_share: 2.0, ..LIGHT_LOAD }, ..validity.clone() },
            Validity { load: HostLoad { timer_slip_p99_ms: -1.0, ..LIGHT_LOAD }, ..validity.clone() },
        ] {
            assert!(changed.implausible().is_some(), "{changed:?}");
        }
    }

    #[test]
    fn validity_is_read_back_from_json() {
        let validity = over_loopback();
        let text = serde_json::to_string(&validity).unwrap();
        assert_eq!(serde_json::from_str::<Validity>(&text).unwrap(), validity);
    }
}
