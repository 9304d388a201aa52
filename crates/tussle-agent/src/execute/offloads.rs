//! Segmentation offload of a host: the bursts that its TCP passes to its device, and packets that the device merges.
//!
//! The stack splits a burst into packets just before the device (GSO), so that elements handle single packets as they do
//! behind a network card.

use anyhow::{Context, ensure};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
use tussle_core::run::Host;

use crate::netlink::{self, Netlink};
use crate::sys;

/// Requests for a feature of a device, to read and to set it (`include/uapi/linux/ethtool.h`).
struct Feature {
    name: &'static str,
    get: u32,
    set: u32,
}

const GRO: Feature = Feature { name: "gro", get: 0x2b, set: 0x2c };
const TSO: Feature = Feature { name: "tso", get: 0x1e, set: 0x1f };
/// Value of a feature that is turned off.
const OFF: u32 = 0;

/// Largest number of packets of a burst that a device can have, which is its default (Linux: `GSO_MAX_SEGS`).
const MAX_PACKETS: u32 = 65_535;

/// Turns a host's device on, with or without offloads, and reads them back.
pub(super) fn apply(device: &str, host: &Host) -> anyhow::Result<()> {
    let kernel = Netlink::open()?;
    let packets = if host.offloads { MAX_PACKETS } else { 1 };
    kernel.turn_on(device, &netlink::burst(packets))?;
    let found = kernel.burst_packets(device)?;
    ensure!(found == packets, "hosts.offloads: gso_max_segs is {found} after it was set to {packets}");
    set(device, &GRO, u32::from(host.offloads))
}

/// Lets the stack split bursts before a device, which would pass them on whole to its peer.
pub(super) fn pass_single_packets(device: &str) -> anyhow::Result<()> {
    set(device, &TSO, OFF)
}

fn set(device: &str, Feature { name, get, set }: &Feature, wanted: u32) -> anyhow::Result<()> {
    let socket =
        socket(AddressFamily::Inet, SockType::Datagram, SockFlag::empty(), None).context("a socket")?;
    let read = || sys::ethtool(&socket, device, *get).with_context(|| format!("reading {name} of {device}"));
    if read()? != wanted {
        sys::set_ethtool(&socket, device, *set, wanted)
            .with_context(|| format!("hosts.offloads: setting {name} of {device}"))?;
        let found = read()?;
        ensure!(found == wanted, "hosts.offloads: {name} is {found} after it was set to {wanted}");
    }
    Ok(())
}
