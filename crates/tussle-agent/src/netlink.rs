//! Netlink requests to the kernel's network. Programs such as `ip` make the same requests, but starting one
//! costs a guest of user-mode Linux more than all requests together.

use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::{AsRawFd, OwnedFd};

use anyhow::{Context, bail};
use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_DUMP, NLM_F_EXCL, NLM_F_REPLACE, NLM_F_REQUEST, NetlinkMessage,
    NetlinkPayload,
};
use netlink_packet_route::address::{AddressAttribute, AddressMessage};
use netlink_packet_route::link::{
    InfoData, InfoKind, InfoVeth, LinkAttribute, LinkFlags, LinkInfo, LinkMessage, State,
};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteMetric, RouteProtocol, RouteScope,
    RouteType,
};
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use nix::net::if_::if_nametoindex;
use nix::sys::socket::{self, MsgFlags, SockFlag, SockProtocol, SockType};

/// Size of the buffer for an answer of the kernel.
const ANSWER_BYTES: usize = 16 * 1024;
/// Alignment of messages in an answer.
const ALIGNMENT_BYTES: usize = 4;
/// Bits of an IPv4 address.
const WHOLE_ADDRESS: u8 = 32;
/// MAC address of every device. With equal addresses, and without ARP, no packet waits for address
/// resolution.
const MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];

/// A netlink socket in the namespace in which it was opened.
#[derive(Debug)]
pub(crate) struct Netlink(OwnedFd);

impl Netlink {
    /// Opens a netlink socket in this thread's namespace.
    pub(crate) fn open() -> anyhow::Result<Netlink> {
        let family = socket::AddressFamily::Netlink;
        let socket = socket::socket(family, SockType::Raw, SockFlag::empty(), SockProtocol::NetlinkRoute);
        Ok(Netlink(socket.context("a netlink socket")?))
    }

    /// Creates an address, a route, a device or a queue discipline.
    pub(crate) fn add(&self, body: RouteNetlinkMessage) -> anyhow::Result<()> {
        self.request(body, NLM_F_CREATE | NLM_F_EXCL)
    }

    /// Replaces the queue discipline of a device.
    pub(crate) fn replace(&self, body: RouteNetlinkMessage) -> anyhow::Result<()> {
        self.request(body, NLM_F_CREATE | NLM_F_REPLACE)
    }

    /// Queue discipline of a device, and its `txqueuelen`.
    pub(crate) fn queue(&self, device: &str) -> anyhow::Result<(String, u32)> {
        let link = self.link(index(device)?)?;
        let mut found = (String::new(), 0);
        for attribute in link.attributes {
            match attribute {
                LinkAttribute::Qdisc(name) => found.0 = name,
                LinkAttribute::TxQueueLen(packets) => found.1 = packets,
                _ => {}
            }
        }
        Ok(found)
    }

    /// Turns a device on, and changes its settings.
    pub(crate) fn turn_on(&self, device: &str, settings: &[LinkAttribute]) -> anyhow::Result<()> {
        let mut message = LinkMessage::default();
        message.header.index = index(device)?;
        (message.header.flags, message.header.change_mask) = (LinkFlags::Up, LinkFlags::Up);
        message.attributes = settings.to_vec();
        self.request(RouteNetlinkMessage::SetLink(message), 0).with_context(|| format!("turning {device} on"))
    }

    /// Whether a device is operational. Until then, a device without a queue discipline drops packets and
    /// does not count them.
    pub(crate) fn is_up(&self, device: &str) -> anyhow::Result<bool> {
        let link = self.link(index(device)?)?;
        Ok(link.attributes.contains(&LinkAttribute::OperState(State::Up)))
    }

    /// Whether the kernel has a queue discipline. The kernel looks the kind up before it checks the settings.
    pub(crate) fn has_discipline(&self, kind: &str) -> anyhow::Result<bool> {
        let answer = self.exchange(discipline("lo", kind)?, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL)?;
        let NetlinkPayload::Error(result) = answer else { bail!("the kernel answered {answer:?}") };
        Ok(result.code.is_none_or(|code| code.get() != -libc::ENOENT))
    }

    /// Largest number of packets that TCP passes to a device as one.
    pub(crate) fn burst_packets(&self, device: &str) -> anyhow::Result<u32> {
        let attributes = self.link(index(device)?)?.attributes;
        let burst = attributes.into_iter().find_map(|attribute| match attribute {
            LinkAttribute::GsoMaxSegs(packets) => Some(packets),
            _ => None,
        });
        burst.with_context(|| format!("device {device} has no gso_max_segs"))
    }

    /// Index of the device by which packets to an address leave.
    pub(crate) fn device_towards(&self, address: IpAddr) -> anyhow::Result<u32> {
        let mut message = RouteMessage::default();
        message.header.address_family =
            if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
        message.header.destination_prefix_length = if address.is_ipv4() { 32 } else { 128 };
        message.attributes = vec![RouteAttribute::Destination(address.into())];
        let route = match self.exchange(RouteNetlinkMessage::GetRoute(message), 0)? {
            NetlinkPayload::InnerMessage(RouteNetlinkMessage::NewRoute(route)) => route,
            other => bail!("the kernel answered {other:?}"),
        };
        let device = route.attributes.iter().find_map(|attribute| match attribute {
            RouteAttribute::Oif(device) => Some(*device),
            _ => None,
        });
        device.with_context(|| format!("no device leads to {address}"))
    }

    /// Metrics of each IPv4 route that was added to the main table.
    pub(crate) fn routes(&self) -> anyhow::Result<Vec<Vec<RouteMetric>>> {
        let mut message = RouteMessage::default();
        message.header.address_family = AddressFamily::Inet;
        self.send(RouteNetlinkMessage::GetRoute(message), NLM_F_DUMP)?;
        let mut found = Vec::new();
        loop {
            let mut answer = [0; ANSWER_BYTES];
            let length = socket::recv(self.0.as_raw_fd(), &mut answer, MsgFlags::empty())?;
            let mut rest = &answer[..length];
            while !rest.is_empty() {
                let message = NetlinkMessage::<RouteNetlinkMessage>::deserialize(rest)?;
                let bytes = (message.header.length as usize).next_multiple_of(ALIGNMENT_BYTES);
                rest = rest.get(bytes..).unwrap_or_default();
                match message.payload {
                    NetlinkPayload::InnerMessage(RouteNetlinkMessage::NewRoute(route)) => {
                        found.extend(added_metrics(&route));
                    }
                    NetlinkPayload::Done(_) => return Ok(found),
                    other => bail!("the kernel answered {other:?}"),
                }
            }
        }
    }

    /// Name and queue discipline of a device.
    pub(crate) fn device(&self, index: u32) -> anyhow::Result<(String, Option<String>)> {
        let (mut name, mut qdisc) = (None, None);
        for attribute in self.link(index)?.attributes {
            match attribute {
                LinkAttribute::IfName(answer) => name = Some(answer),
                LinkAttribute::Qdisc(answer) => qdisc = Some(answer),
                _ => {}
            }
        }
        Ok((name.context("a device without a name")?, qdisc))
    }

    fn link(&self, index: u32) -> anyhow::Result<LinkMessage> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        match self.exchange(RouteNetlinkMessage::GetLink(message), 0)? {
            NetlinkPayload::InnerMessage(RouteNetlinkMessage::NewLink(link)) => Ok(link),
            other => bail!("the kernel answered {other:?}"),
        }
    }

    fn request(&self, body: RouteNetlinkMessage, flags: u16) -> anyhow::Result<()> {
        match self.exchange(body, NLM_F_ACK | flags)? {
            NetlinkPayload::Error(answer) if answer.code.is_none() => Ok(()),
            NetlinkPayload::Error(answer) => bail!("{answer}"),
            other => bail!("the kernel answered {other:?}"),
        }
    }

    fn exchange(
        &self,
        body: RouteNetlinkMessage,
        flags: u16,
    ) -> anyhow::Result<NetlinkPayload<RouteNetlinkMessage>> {
        self.send(body, flags)?;
        let mut answer = [0; ANSWER_BYTES];
        let length = socket::recv(self.0.as_raw_fd(), &mut answer, MsgFlags::empty())?;
        Ok(NetlinkMessage::<RouteNetlinkMessage>::deserialize(&answer[..length])?.payload)
    }

    fn send(&self, body: RouteNetlinkMessage, flags: u16) -> anyhow::Result<()> {
        let mut message = NetlinkMessage::from(body);
        message.header.flags = NLM_F_REQUEST | flags;
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        socket::send(self.0.as_raw_fd(), &bytes, MsgFlags::empty())?;
        Ok(())
    }
}

/// Metrics of a route of the main table that a program added; `None` for others, which the kernel makes for addresses.
fn added_metrics(route: &RouteMessage) -> Option<Vec<RouteMetric>> {
    let is_added =
        route.header.table == RouteHeader::RT_TABLE_MAIN && route.header.protocol == RouteProtocol::Boot;
    let metrics = route.attributes.iter().find_map(|attribute| match attribute {
        RouteAttribute::Metrics(metrics) => Some(metrics.clone()),
        _ => None,
    });
    is_added.then(|| metrics.unwrap_or_default())
}

/// Index of a device in this thread's namespace.
pub(crate) fn index(device: &str) -> anyhow::Result<u32> {
    if_nametoindex(device).with_context(|| format!("device {device}"))
}

/// One end of a pair of devices: its name and its namespace.
pub(crate) type End<'a> = (&'a str, &'a std::fs::File);

/// A pair of virtual Ethernet devices, each in a namespace. They do not use ARP, and do not segment: bursts
/// of 64 kB would pass as single packets otherwise.
pub(crate) fn pair(first: End, second: End, mtu_bytes: u32) -> RouteNetlinkMessage {
    let mut message = device(first, mtu_bytes);
    message.attributes.push(LinkAttribute::LinkInfo(vec![
        LinkInfo::Kind(InfoKind::Veth),
        LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(device(second, mtu_bytes)))),
    ]));
    RouteNetlinkMessage::NewLink(message)
}

/// Settings of a TUN device, which does not segment either.
pub(crate) fn tun(mtu_bytes: u32, burst_packets: u32) -> [LinkAttribute; 3] {
    [LinkAttribute::Mtu(mtu_bytes), LinkAttribute::GsoMaxSegs(1), LinkAttribute::TxQueueLen(burst_packets)]
}

fn device((name, namespace): End, mtu_bytes: u32) -> LinkMessage {
    let mut message = LinkMessage::default();
    (message.header.flags, message.header.change_mask) = (LinkFlags::Noarp, LinkFlags::Noarp);
    message.attributes = vec![
        LinkAttribute::IfName(name.to_owned()),
        LinkAttribute::NetNsFd(namespace.as_raw_fd()),
        LinkAttribute::Address(MAC.to_vec()),
        LinkAttribute::Mtu(mtu_bytes),
        LinkAttribute::GsoMaxSegs(1),
    ];
    message
}

/// Setting of a host's device: the largest number of packets that TCP passes to it as one.
pub(crate) fn burst(packets: u32) -> [LinkAttribute; 1] {
    [LinkAttribute::GsoMaxSegs(packets)]
}

/// An address of a host.
pub(crate) fn address(address: Ipv4Addr, device: &str) -> anyhow::Result<RouteNetlinkMessage> {
    let mut message = AddressMessage::default();
    message.header.family = AddressFamily::Inet;
    message.header.prefix_len = WHOLE_ADDRESS;
    message.header.index = index(device)?;
    message.attributes =
        vec![AddressAttribute::Local(address.into()), AddressAttribute::Address(address.into())];
    Ok(RouteNetlinkMessage::NewAddress(message))
}

/// A queue discipline that drops all packets of a device, and counts them.
pub(crate) fn blackhole(device: &str) -> anyhow::Result<RouteNetlinkMessage> {
    discipline(device, "blackhole")
}

/// A queue discipline with its default settings at a device.
pub(crate) fn discipline(device: &str, kind: &str) -> anyhow::Result<RouteNetlinkMessage> {
    let mut message = TcMessage::with_index(i32::try_from(index(device)?)?);
    message.header.parent = TcHandle::ROOT;
    message.attributes = vec![TcAttribute::Kind(kind.to_owned())];
    Ok(RouteNetlinkMessage::NewQueueDiscipline(message))
}

/// A route by a device to an address, with metrics for its connections; `None` is the default route.
pub(crate) fn route(
    to: Option<Ipv4Addr>,
    device: &str,
    metrics: &[RouteMetric],
) -> anyhow::Result<RouteNetlinkMessage> {
    let mut message = RouteMessage::default();
    message.header = RouteHeader {
        address_family: AddressFamily::Inet,
        destination_prefix_length: to.map_or(0, |_| WHOLE_ADDRESS),
        table: RouteHeader::RT_TABLE_MAIN,
        protocol: RouteProtocol::Boot,
        scope: RouteScope::Link,
        kind: RouteType::Unicast,
        ..RouteHeader::default()
    };
    let to = to.map(|address| RouteAttribute::Destination(RouteAddress::Inet(address)));
    let metrics = (!metrics.is_empty()).then(|| RouteAttribute::Metrics(metrics.to_vec()));
    message.attributes = to.into_iter().chain([RouteAttribute::Oif(index(device)?)]).chain(metrics).collect();
    Ok(RouteNetlinkMessage::NewRoute(message))
}
