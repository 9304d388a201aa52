//! Comparison of a link of Linux with the simulator's link: both receive the same packets at the same times,
//! and tests compare the departures.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::os::fd::AsFd;
use std::path::Path;

use anyhow::Context;
use etherparse::{IpEcn, Ipv4Header, Ipv4HeaderSlice, UdpHeader};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use tussle_core::Run;
use tussle_core::Time;
use tussle_core::net::packet::{DATAGRAM_HEADER_BYTES, Ecn, Kind, Packet};
use tussle_core::util::rng::named_seed;

use crate::execute::Environment;
use crate::execute::clock::{Clock, exact_timers};
use crate::execute::setup::{self, command};
use crate::execute::tun::{BURST_PACKETS, Tun};
use crate::namespace::{self, enter};
use crate::network::{Datapath, Network, PORT, receiver_address, sender_address};

/// Arrival of a packet: its time in ns, its size as an IP packet in bytes, and the index of its flow. The
/// payload is at least four bytes, for the packet number.
type Arrival = (u64, u32, usize);

/// Departure of a packet: its time in ns, and whether it is marked; `None` if it was dropped.
type Departure = Option<(u64, bool)>;

/// Sends the packets of `arrivals.json`, a run and a list of [`Arrival`], through the first element of the
/// run, until the run ends. Writes the departures to `departures.json`, in the order of the arrivals, under
/// `linux` and `simulator`.
pub(super) fn execute(share: &Path) -> anyhow::Result<()> {
    let text = fs::read_to_string(share.join("arrivals.json")).context("arrivals.json")?;
    let (run, arrivals): (Run, Vec<Arrival>) = serde_json::from_str(&text).context("arrivals.json")?;
    let departures = BTreeMap::from([
        ("linux", Link::open(&run)?.offer(&run, &arrivals)?),
        ("simulator", simulated(&run, &arrivals).map_err(anyhow::Error::msg)?),
    ]);
    fs::write(share.join("departures.json"), serde_json::to_string(&departures)?)
        .context("writing departures")
}

/// Departures from the simulator's element.
fn simulated(run: &Run, arrivals: &[Arrival]) -> Result<Vec<Departure>, String> {
    let spec = &run.elements[0];
    let mut element = spec.kind.build(named_seed(run.seed, &spec.name))?;
    let mut left = vec![None; arrivals.len()];
    let mut dropped = Vec::new();
    let end = (run.duration_ns, None);
    let arrivals = (0..).zip(arrivals).map(|(number, arrival)| (arrival.0, Some((number, arrival))));
    for (at_ns, arrival) in arrivals.chain([end]) {
        while element.next() <= Time::from_ns(at_ns) {
            let now = element.next();
            if let Some(packet) = element.release(now, &mut dropped) {
                left[packet.number as usize] = Some((now.ns(), packet.ecn == Ecn::Ce));
            }
        }
        let Some((number, (_, size_bytes, flow))) = arrival else { continue };
        let packet = Packet {
            number,
            size_bytes: *size_bytes,
            ecn: if run.flows[*flow].ecn { Ecn::Ect0 } else { Ecn::NotEct },
            ..Packet::new(Kind::Datagram, u32::try_from(*flow).expect("there are few flows"))
        };
        if let Some(passed) = element.accept(packet, Time::from_ns(at_ns), &mut dropped) {
            left[passed.number as usize] = Some((at_ns, passed.ecn == Ecn::Ce));
        }
    }
    Ok(left)
}

/// The first element of a run as a network of Linux, with devices where packets enter and leave.
struct Link {
    source: Tun,
    sink: Tun,
    clock: Clock,
    timer: TimerFd,
}

impl Link {
    fn open(run: &Run) -> anyhow::Result<Link> {
        exact_timers().context("exact timers")?;
        let network = Network::plan(run, Datapath::Disciplines)?;
        setup::build(run, &network, &Environment::Guest)?;
        let veth_pairs: Vec<_> = network.veth_pairs.iter().filter(|veth| veth.element() == Some(0)).collect();
        let (first, last) =
            veth_pairs.first().zip(veth_pairs.last()).context("the first element has no veth pairs")?;
        let device = |host: &str, name: &str, more: &str| {
            enter(&namespace::open(host)?)?;
            let tun = Tun::open(name)?;
            let up = format!("link set {name} up gso_max_segs 1 txqueuelen {BURST_PACKETS}\n{more}");
            command("ip", Some(host), &up).map(|()| tun)
        };
        let mut routes = String::new();
        for flow in 0..run.flows.len() {
            _ = writeln!(routes, "route replace {} dev sink", receiver_address(flow));
        }
        Ok(Link {
            source: device(&first.entry.namespace, "source", "")?,
            sink: device(&last.exit.namespace, "sink", &routes)?,
            timer: TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_NONBLOCK).context("a timer")?,
            clock: Clock::from_next_second()?,
        })
    }

    /// Departures from the link.
    fn offer(&mut self, run: &Run, arrivals: &[Arrival]) -> anyhow::Result<Vec<Departure>> {
        let mut left = vec![None; arrivals.len()];
        for (number, arrival) in arrivals.iter().enumerate() {
            self.collect_until(arrival.0, &mut left)?;
            let ecn = run.flows[arrival.2].ecn;
            self.source.write(&datagram(number, arrival, ecn)?).context("offering a packet")?;
        }
        self.collect_until(run.duration_ns, &mut left)?;
        Ok(left)
    }

    /// Collects departures until a time.
    fn collect_until(&mut self, until_ns: u64, left: &mut [Departure]) -> anyhow::Result<()> {
        let at = TimeSpec::from_duration(self.clock.monotonic(until_ns));
        self.timer.set(Expiration::OneShot(at), TimerSetTimeFlags::TFD_TIMER_ABSTIME)?;
        loop {
            let mut both = [
                PollFd::new(self.sink.as_fd(), PollFlags::POLLIN),
                PollFd::new(self.timer.as_fd(), PollFlags::POLLIN),
            ];
            poll(&mut both, PollTimeout::NONE).context("waiting")?;
            let is_due = both[1].any().unwrap_or_default();
            let now_ns = self.clock.now_ns()?;
            while let Some(bytes) = self.sink.read().context("reading a departing packet")? {
                let (number, marked) = numbered(bytes)?;
                left[number] = Some((now_ns, marked));
            }
            if is_due {
                return Ok(());
            }
        }
    }
}

/// Creates a datagram that carries its number.
fn datagram(number: usize, (_, size_bytes, flow): &Arrival, ecn: bool) -> anyhow::Result<Vec<u8>> {
    let payload_bytes = size_bytes.checked_sub(DATAGRAM_HEADER_BYTES).context("a packet is too small")?;
    let mut payload = vec![0; payload_bytes as usize];
    payload
        .get_mut(..4)
        .context("a packet is too small")?
        .copy_from_slice(&u32::try_from(number)?.to_be_bytes());
    let (from, to) = (sender_address(*flow).octets(), receiver_address(*flow).octets());
    let mut ip = Ipv4Header::new(u16::try_from(size_bytes - 20)?, 64, etherparse::IpNumber::UDP, from, to)?;
    ip.ecn = if ecn { IpEcn::Ect0 } else { IpEcn::NotEct };
    ip.header_checksum = ip.calc_header_checksum();
    let udp = UdpHeader::with_ipv4_checksum(PORT, PORT, &ip, &payload)?;
    let mut bytes = ip.to_bytes().to_vec();
    bytes.extend_from_slice(&udp.to_bytes());
    bytes.append(&mut payload);
    Ok(bytes)
}

/// Number of a datagram, and whether it is marked.
fn numbered(bytes: &[u8]) -> anyhow::Result<(usize, bool)> {
    let ip = Ipv4HeaderSlice::from_slice(bytes)?;
    let at = DATAGRAM_HEADER_BYTES as usize;
    let number = bytes.get(at..at + 4).context("an unknown packet arrived")?;
    let number = u32::from_be_bytes(number.try_into().expect("four bytes"));
    Ok((number as usize, ip.ecn() == IpEcn::CongestionExperienced))
}
