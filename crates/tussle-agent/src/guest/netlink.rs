//! Requests to the kernel's network. Programs as `ip` ask the same, but starting one costs a guest of user-mode Linux
//! more than all that it asks.

use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, OwnedFd};

use anyhow::{Context, bail};
use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REQUEST, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::address::{AddressAttribute, AddressMessage};
use netlink_packet_route::link::{
    InfoData, InfoKind, InfoVeth, LinkAttribute, LinkFlags, LinkInfo, LinkMessage,
};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use nix::net::if_::if_nametoindex;
use nix::sys::socket::{self, MsgFlags, SockFlag, SockProtocol, SockType};

/// More than an answer of the kernel takes.
const ANSWER_BYTES: usize = 4096;
/// Bits of an IPv4 address.
const WHOLE_ADDRESS: u8 = 32;
/// One address for every device: with it, and without ARP, no packet is ever held for a neighbour.
const MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];

/// A way to the kernel, for the namespace that the thread was in when it was opened.
#[derive(Debug)]
pub(super) struct Netlink(OwnedFd);

impl Netlink {
    /// Opens it.
    pub(super) fn open() -> anyhow::Result<Netlink> {
        let family = socket::AddressFamily::Netlink;
        let socket = socket::socket(family, SockType::Raw, SockFlag::empty(), SockProtocol::NetlinkRoute);
        Ok(Netlink(socket.context("a netlink socket")?))
    }

    /// Asks for something new.
    pub(super) fn add(&self, body: RouteNetlinkMessage) -> anyhow::Result<()> {
        self.tell(body, NLM_F_CREATE | NLM_F_EXCL)
    }

    /// Turns a device on, with settings.
    pub(super) fn turn_on(&self, device: &str, settings: &[LinkAttribute]) -> anyhow::Result<()> {
        let mut message = LinkMessage::default();
        message.header.index = index(device)?;
        (message.header.flags, message.header.change_mask) = (LinkFlags::Up, LinkFlags::Up);
        message.attributes = settings.to_vec();
        self.tell(RouteNetlinkMessage::SetLink(message), 0).with_context(|| format!("turning {device} on"))
    }

    fn tell(&self, body: RouteNetlinkMessage, flags: u16) -> anyhow::Result<()> {
        let mut message = NetlinkMessage::from(body);
        message.header.flags = NLM_F_REQUEST | NLM_F_ACK | flags;
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        socket::send(self.0.as_raw_fd(), &bytes, MsgFlags::empty())?;
        let mut answer = [0; ANSWER_BYTES];
        let length = socket::recv(self.0.as_raw_fd(), &mut answer, MsgFlags::empty())?;
        match NetlinkMessage::<RouteNetlinkMessage>::deserialize(&answer[..length])?.payload {
            NetlinkPayload::Error(told) if told.code.is_none() => Ok(()),
            NetlinkPayload::Error(told) => bail!("{told}"),
            other => bail!("the kernel said {other:?}"),
        }
    }
}

/// The number of a device of the namespace that the thread is in.
pub(super) fn index(device: &str) -> anyhow::Result<u32> {
    if_nametoindex(device).with_context(|| format!("device {device}"))
}

/// One end of a pair of devices: its name, and its namespace.
pub(super) type End<'a> = (&'a str, &'a std::fs::File);

/// A pair of virtual Ethernet devices, each in a namespace. They send no ARP, and cut nothing into segments:
/// otherwise bursts of 64 kB would stand for packets.
pub(super) fn pair((near, far): (End, End), mtu_bytes: u32) -> RouteNetlinkMessage {
    let mut message = device(near, mtu_bytes);
    message.attributes.push(LinkAttribute::LinkInfo(vec![
        LinkInfo::Kind(InfoKind::Veth),
        LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(device(far, mtu_bytes)))),
    ]));
    RouteNetlinkMessage::NewLink(message)
}

/// Settings of a TUN device: it, too, cuts nothing into segments.
pub(super) fn tun(mtu_bytes: u32, burst_packets: u32) -> [LinkAttribute; 3] {
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

/// An address of a host.
pub(super) fn address(address: Ipv4Addr, device: &str) -> anyhow::Result<RouteNetlinkMessage> {
    let mut message = AddressMessage::default();
    message.header.family = AddressFamily::Inet;
    message.header.prefix_len = WHOLE_ADDRESS;
    message.header.index = index(device)?;
    message.attributes =
        vec![AddressAttribute::Local(address.into()), AddressAttribute::Address(address.into())];
    Ok(RouteNetlinkMessage::NewAddress(message))
}

/// Where packets to an address go on, or all those that no other route is for.
pub(super) fn route(to: Option<Ipv4Addr>, device: &str) -> anyhow::Result<RouteNetlinkMessage> {
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
    message.attributes = to.into_iter().chain([RouteAttribute::Oif(index(device)?)]).collect();
    Ok(RouteNetlinkMessage::NewRoute(message))
}
