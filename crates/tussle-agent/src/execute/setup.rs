//! Construction of the network of a run: namespaces, devices, routes and queue disciplines.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use tussle_core::Run;

use super::driver::Driver;
use super::tun::{BURST_PACKETS, Tun};
use super::tunnels::TunnelEnds;
use super::{Environment, classifier, offloads};
use crate::host_settings;
use crate::namespace::{self, enter, open, set};
use crate::netlink;
use crate::netlink::Netlink;
use crate::network::{
    HOST_DEVICE, Handling, Hop, LossProgram, Namespace, Network, Port, Tunnel, largest_packet_bytes,
};

/// Largest number of packets between two devices at one instant. The default, 1000, would drop bursts.
const MAX_BURST_PACKETS: u32 = 10_000_000;

/// Interval between checks whether a device is up.
const CHECK_INTERVAL: Duration = Duration::from_millis(20);
/// Number of checks after which a device counts as failed. Two are added per veth pair, because Linux needs a
/// second for a hundred devices.
const MAX_CHECKS: usize = 500;

/// Open namespaces of a run's hosts and queues.
#[derive(Debug)]
pub(crate) struct Hosts {
    /// Namespaces of the senders, one per flow.
    pub(crate) senders: Vec<File>,
    /// Namespaces of the receivers, as in [`Network::receivers`].
    pub(crate) receivers: Vec<File>,
    /// Namespaces with queues, by name.
    pub(crate) queues: Vec<(String, File)>,
    /// Open devices of the tunnels.
    pub(crate) tunnels: Vec<TunnelEnds>,
    /// The driver of the guest's kernel, if it carries the packets.
    pub(crate) driver: Option<Driver>,
}

/// Builds the network.
pub(crate) fn build(run: &Run, network: &Network, environment: &Environment) -> anyhow::Result<Hosts> {
    if let Environment::Guest = environment {
        set("net/core/netdev_max_backlog", &MAX_BURST_PACKETS.to_string())?;
        set("net/ipv4/tcp_mem", "100000000 100000000 100000000")?;
    }
    fs::create_dir_all(namespace::FOLDER).context("the folder of namespaces")?;
    let home = namespace::current()?;
    for namespace in network.namespaces() {
        make(namespace)?;
        configure(run, network, namespace)?;
    }
    let tunnels = network.tunnels.iter().map(open_tunnel).collect::<anyhow::Result<_>>()?;
    enter(&home)?;
    let mtu_bytes = largest_packet_bytes(run);
    lay(network, mtu_bytes)?;
    let driver = network.uses_driver.then(|| attach_to_driver(run, network, mtu_bytes)).transpose()?;
    for namespace in network.namespaces() {
        enter(&open(&namespace.name)?)?;
        connect(run, network, namespace, mtu_bytes)?;
        if let Environment::Guest = environment
            && network.has_device_queue(run, namespace)
        {
            classifier::prepare(HOST_DEVICE)?;
        }
    }
    enter(&home)?;
    for namespace in network.namespaces() {
        let disciplines = disciplines(network, namespace);
        if !disciplines.is_empty() {
            command("tc", Some(&namespace.name), &disciplines)?;
        }
    }
    for veth in &network.veth_pairs {
        if let Some(Hop { handling: Handling::Classifier(losses), .. }) = &veth.hop {
            classifier::attach(&open(&veth.entry.namespace)?, &veth.entry.device, losses)?;
        }
    }
    wait_for_devices(network)?;
    enter(&home)?;
    let opened = |namespaces: &[Namespace]| -> anyhow::Result<Vec<File>> {
        namespaces.iter().map(|each| open(&each.name)).collect()
    };
    Ok(Hosts {
        senders: opened(&network.senders)?,
        receivers: opened(&network.receivers)?,
        queues: network
            .routers
            .iter()
            .filter(|router| has_queues(network, router))
            .map(|router| Ok((router.name.clone(), open(&router.name)?)))
            .collect::<anyhow::Result<_>>()?,
        tunnels,
        driver,
    })
}

/// Disconnects every sender: its own device drops and counts all further packets.
pub(crate) fn silence(network: &Network, environment: &Environment) -> anyhow::Result<()> {
    network.senders.iter().try_for_each(|sender| {
        let namespace = open(&sender.name)?;
        match environment {
            Environment::Guest => classifier::attach(&namespace, HOST_DEVICE, &LossProgram::all()),
            // Every kernel has this queue discipline; the one for classifiers may be missing.
            Environment::Host(_) => {
                enter(&namespace)?;
                Netlink::open()?.replace(netlink::blackhole(HOST_DEVICE)?).context("cutting a sender off")
            }
        }
    })
}

/// Changes a queue discipline during the run.
pub(crate) fn change(namespace: &str, line: &str) -> anyhow::Result<()> {
    command("tc", Some(namespace), &format!("{line}\n"))
}

fn open_tunnel(tunnel: &Tunnel) -> anyhow::Result<TunnelEnds> {
    let end = |Port { namespace, device }: &Port| {
        enter(&open(namespace)?)?;
        Tun::open(device)
    };
    Ok(TunnelEnds { element: tunnel.element, entry: end(&tunnel.entry)?, exit: end(&tunnel.exit)? })
}

fn has_queues(network: &Network, namespace: &Namespace) -> bool {
    network.veth_pairs.iter().any(|veth| veth.hop.is_some() && veth.entry.namespace == namespace.name)
}

/// Creates a named namespace, and moves this thread there.
fn make(namespace: &Namespace) -> anyhow::Result<()> {
    let place = format!("{}/{}", namespace::FOLDER, namespace.name);
    File::create(&place)
        .and_then(|_| Ok(unshare(CloneFlags::CLONE_NEWNET)?))
        .and_then(|()| {
            let here = Some("/proc/thread-self/ns/net");
            Ok(mount(here, place.as_str(), None::<&str>, MsFlags::MS_BIND, None::<&str>)?)
        })
        .with_context(|| format!("making namespace {}", namespace.name))
}

/// Creates the veth pairs.
fn lay(network: &Network, mtu_bytes: u32) -> anyhow::Result<()> {
    let kernel = Netlink::open()?;
    for veth in &network.veth_pairs {
        let [entry, exit] = [open(&veth.entry.namespace)?, open(&veth.exit.namespace)?];
        kernel
            .add(netlink::pair((&veth.entry.device, &entry), (&veth.exit.device, &exit), mtu_bytes))
            .with_context(|| format!("creating the veth pair {}", veth.entry.device))?;
    }
    Ok(())
}

/// Makes the device of each host; this thread ends up in the last one's namespace. Receivers have the number
/// after those of all senders.
fn attach_to_driver(run: &Run, network: &Network, mtu_bytes: u32) -> anyhow::Result<Driver> {
    let driver = Driver::open(run)?;
    for (exit, host) in network.senders.iter().chain(&network.receivers).enumerate() {
        enter(&open(&host.name)?)?;
        // Senders come first.
        let rate_bit_per_s = run.flows.get(exit).and_then(|flow| flow.device_rate_bit_per_s);
        driver.add_device(exit, mtu_bytes, rate_bit_per_s.unwrap_or(0))?;
        offloads::apply(HOST_DEVICE, &network.host(run, host))?;
    }
    Ok(driver)
}

/// Turns on the devices of this thread's namespace, and sets its addresses and routes.
fn connect(run: &Run, network: &Network, namespace: &Namespace, mtu_bytes: u32) -> anyhow::Result<()> {
    let kernel = Netlink::open()?;
    for Port { namespace: owner, device } in
        network.tunnels.iter().flat_map(|tunnel| [&tunnel.entry, &tunnel.exit])
    {
        if *owner == namespace.name {
            kernel.turn_on(device, &netlink::tun(mtu_bytes, BURST_PACKETS))?;
        }
    }
    let is_host = !namespace.addresses.is_empty();
    for device in veth_devices(network, namespace) {
        if is_host {
            offloads::apply(device, &network.host(run, namespace))?;
        } else {
            kernel.turn_on(device, &[])?;
        }
    }
    if network.hosts_offload(run) {
        veth_devices(network, namespace).try_for_each(offloads::pass_single_packets)?;
    }
    for &address in &namespace.addresses {
        kernel.add(netlink::address(address, HOST_DEVICE)?).with_context(|| format!("address {address}"))?;
    }
    if network.has_device_queue(run, namespace) {
        host_settings::queue(&kernel, HOST_DEVICE, &network.host(run, namespace))?;
    }
    let host = is_host.then(|| network.host(run, namespace));
    let metrics = host.map_or_else(Vec::new, |host| host_settings::metrics(&host));
    for (&to, device) in &namespace.routes {
        kernel.add(netlink::route(to, device, &metrics)?).with_context(|| format!("a route by {device}"))?;
    }
    host.map_or(Ok(()), |host| host_settings::check_routes(&kernel, &host))
}

/// Waits until the devices of every veth pair are up. Linux handles two hundred of them at once, and the others in
/// later seconds (`net/core/link_watch.c`).
fn wait_for_devices(network: &Network) -> anyhow::Result<()> {
    let mut checks = MAX_CHECKS + 2 * network.veth_pairs.len();
    for namespace in network.namespaces() {
        enter(&open(&namespace.name)?)?;
        let kernel = Netlink::open()?;
        for device in veth_devices(network, namespace) {
            while !kernel.is_up(device)? {
                ensure!(checks > 0, "device {device} of {} does not come up", namespace.name);
                checks -= 1;
                thread::sleep(CHECK_INTERVAL);
            }
        }
    }
    Ok(())
}

/// Devices of veth pairs in a namespace.
fn veth_devices<'a>(network: &'a Network, namespace: &'a Namespace) -> impl Iterator<Item = &'a str> {
    let ends = network.veth_pairs.iter().flat_map(|veth| [&veth.entry, &veth.exit]);
    ends.filter(|port| port.namespace == namespace.name).map(|port| port.device.as_str())
}

fn disciplines(network: &Network, namespace: &Namespace) -> String {
    let mut lines = String::new();
    for veth in network.veth_pairs.iter().filter(|veth| veth.entry.namespace == namespace.name) {
        let Some(hop) = &veth.hop else { continue };
        for line in hop.handling.lines("add", &veth.entry.device) {
            _ = writeln!(lines, "{line}");
        }
    }
    lines
}

/// Sets the sysctls of this thread's namespace.
fn configure(run: &Run, network: &Network, namespace: &Namespace) -> anyhow::Result<()> {
    // Distribution kernels would send IPv6 neighbour discovery, whose packets belong to no flow.
    if Path::new("/proc/sys/net/ipv6").exists() {
        set("net/ipv6/conf/all/disable_ipv6", "1")?;
    }
    if namespace.addresses.is_empty() {
        for (name, value) in [("forwarding", "1"), ("rp_filter", "0"), ("send_redirects", "0")] {
            set(&format!("net/ipv4/conf/all/{name}"), value)?;
            set(&format!("net/ipv4/conf/default/{name}"), value)?;
        }
        return Ok(());
    }
    host_settings::apply(&network.host(run, namespace), network.pair(run, namespace))?;
    let sender = network.senders.iter().position(|sender| sender == namespace);
    if sender.is_some_and(|flow| run.flows[flow].ecn) {
        // 1: requests ECN. The default, 2, only accepts it.
        set("net/ipv4/tcp_ecn", "1")?;
    }
    Ok(())
}

/// Path of a program: guests have all programs in one folder, and some hosts in folders outside users' PATH.
fn program(name: &str) -> String {
    let places = ["/bin", "/sbin", "/usr/sbin", "/usr/bin"].map(|folder| format!("{folder}/{name}"));
    places.iter().find(|place| Path::new(place).exists()).unwrap_or(&places[0]).clone()
}

/// Runs `ip` or `tc` with a batch of lines.
pub(crate) fn command(name: &str, namespace: Option<&str>, lines: &str) -> anyhow::Result<()> {
    let place = namespace.map_or_else(Vec::new, |namespace| vec!["-n", namespace]);
    let mut child = Command::new(program(name))
        .args(place)
        .args(["-batch", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start {name}"))?;
    child
        .stdin
        .take()
        .expect("piped")
        .write_all(lines.as_bytes())
        .with_context(|| format!("telling {name}"))?;
    let output = child.wait_with_output().with_context(|| format!("waiting for {name}"))?;
    if !output.status.success() {
        bail!("{name}: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(())
}
