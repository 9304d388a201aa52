//! Counters of queue disciplines, read by netlink.

use std::collections::HashMap;
use std::fs::File;
use std::io::IoSliceMut;
use std::os::fd::{AsRawFd, OwnedFd};

use crate::namespace::enter;
use anyhow::{Context, bail};
use netlink_packet_core::{NLM_F_DUMP, NLM_F_REQUEST, NetlinkMessage, NetlinkPayload, NlasIterator};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::tc::{TcAttribute, TcFqCodelXstats, TcHandle, TcMessage, TcStats2, TcXstats};
use nix::net::if_::if_nametoindex;
use nix::sys::socket::{self, AddressFamily, MsgFlags, MultiHeaders, SockFlag, SockProtocol, SockType};

/// Size of the buffer for a message of the kernel.
const ANSWER_BYTES: usize = 32 * 1024;

/// Queue disciplines of one namespace.
#[derive(Debug)]
pub(crate) struct Qdiscs {
    socket: OwnedFd,
    request: Vec<u8>,
    buffer: Vec<u8>,
    /// The caller's indices of devices, by the kernel's indices.
    index_of: HashMap<i32, usize>,
}

/// Counters and backlog of a queue discipline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct QdiscCounts {
    pub(crate) sent_bytes: u64,
    pub(crate) sent_packets: u64,
    pub(crate) dropped_packets: u64,
    pub(crate) backlog_packets: u64,
    pub(crate) backlog_bytes: u64,
    pub(crate) marked_packets: u64,
    /// Packets that classifiers in front of the queue discipline have seen.
    pub(crate) classified_packets: u64,
}

impl Qdiscs {
    /// Opens the queue disciplines of devices in a namespace. This thread stays there.
    pub(crate) fn open(namespace: &File, devices: &[(usize, String)]) -> anyhow::Result<Qdiscs> {
        enter(namespace)?;
        let socket = socket::socket(
            AddressFamily::Netlink,
            SockType::Raw,
            SockFlag::empty(),
            SockProtocol::NetlinkRoute,
        )
        .context("a netlink socket")?;
        let index_of = devices
            .iter()
            .map(|(index, name)| {
                let number = if_nametoindex(name.as_str()).with_context(|| format!("device {name}"))?;
                Ok((i32::try_from(number)?, *index))
            })
            .collect::<anyhow::Result<_>>()?;
        Ok(Qdiscs { socket, request: request(), buffer: vec![0; 2 * ANSWER_BYTES], index_of })
    }

    /// Passes the counters of each device to `visit`, by the caller's index.
    pub(crate) fn read(&mut self, visit: &mut dyn FnMut(usize, QdiscCounts)) -> anyhow::Result<()> {
        let socket = self.socket.as_raw_fd();
        socket::send(socket, &self.request, MsgFlags::empty()).context("asking for queue disciplines")?;
        let mut found: HashMap<usize, QdiscCounts> = HashMap::new();
        let mut is_done = false;
        while !is_done {
            // The end of an answer is a message of its own. One call receives both.
            let (first, second) = self.buffer.split_at_mut(ANSWER_BYTES);
            let mut parts = [[IoSliceMut::new(first)], [IoSliceMut::new(second)]];
            let mut headers = MultiHeaders::<()>::preallocate(parts.len(), None);
            let received =
                socket::recvmmsg(socket, &mut headers, &mut parts, MsgFlags::MSG_WAITFORONE, None)?;
            for message in received {
                for part in message.iovs() {
                    is_done |= take_all(part, &self.index_of, &mut found)?;
                }
            }
        }
        let mut found: Vec<_> = found.into_iter().collect();
        found.sort_unstable_by_key(|(index, _)| *index);
        for (index, counts) in found {
            visit(index, counts);
        }
        Ok(())
    }
}

/// Processes a netlink datagram, and returns whether it is the last one.
fn take_all(
    mut rest: &[u8],
    index_of: &HashMap<i32, usize>,
    found: &mut HashMap<usize, QdiscCounts>,
) -> anyhow::Result<bool> {
    while !rest.is_empty() {
        let message = NetlinkMessage::<RouteNetlinkMessage>::deserialize(rest)
            .context("an answer of the kernel is not understood")?;
        rest = rest.get(aligned(message.header.length as usize)..).unwrap_or_default();
        match message.payload {
            NetlinkPayload::Done(_) => return Ok(true),
            NetlinkPayload::Error(error) => bail!("asking for queue disciplines: {error}"),
            NetlinkPayload::InnerMessage(RouteNetlinkMessage::NewQueueDiscipline(message)) => {
                if let Some(index) = index_of.get(&message.header.index) {
                    found.entry(*index).or_default().take(&message);
                }
            }
            _ => {}
        }
    }
    Ok(false)
}

impl QdiscCounts {
    /// Processes the counters of a message. Marks are counted by the inner queue discipline, everything else
    /// by the outer one.
    fn take(&mut self, message: &TcMessage) {
        let mut kind = "";
        for attribute in &message.attributes {
            match attribute {
                TcAttribute::Kind(name) => kind = name,
                TcAttribute::Stats2(stats) => stats.iter().for_each(|stat| match stat {
                    TcStats2::App(own) => self.marked_packets += marked(kind, own),
                    TcStats2::Basic(basic) if is_at_device(message) => {
                        self.sent_bytes = basic.bytes;
                        self.sent_packets = u64::from(basic.packets);
                        if message.header.parent == TcHandle::CLSACT {
                            self.classified_packets = self.sent_packets;
                        }
                    }
                    TcStats2::Queue(queue) if is_at_device(message) => {
                        self.dropped_packets += u64::from(queue.drops);
                        self.backlog_packets = u64::from(queue.qlen);
                        self.backlog_bytes = u64::from(queue.backlog);
                    }
                    _ => {}
                }),
                _ => {}
            }
        }
    }
}

/// Whether a queue discipline is the outer one of a device.
fn is_at_device(message: &TcMessage) -> bool {
    [TcHandle::ROOT, TcHandle::CLSACT].contains(&message.header.parent)
}

/// Marked packets from a queue discipline's own statistics, at the offsets of
/// `include/uapi/linux/pkt_sched.h`.
fn marked(kind: &str, own: &TcXstats) -> u64 {
    let (bytes, at) = match (kind, own) {
        (_, TcXstats::FqCodel(TcFqCodelXstats::Qdisc(stats))) => return u64::from(stats.ecn_mark),
        ("cake", TcXstats::Other(bytes)) => return marked_by_cake(bytes),
        ("red", TcXstats::Other(bytes)) => (bytes, 12),
        ("codel", TcXstats::Other(bytes)) => (bytes, 24),
        ("pie", TcXstats::Other(bytes)) => (bytes, 36),
        ("fq_pie", TcXstats::Other(bytes)) => (bytes, 16),
        _ => return 0,
    };
    u32_at(bytes, at)
}

/// Marked packets from CAKE's statistics, which are nested attributes: the attribute of tins holds the
/// attributes of each tin.
fn marked_by_cake(bytes: &[u8]) -> u64 {
    const TINS: u16 = 10;
    const MARKED_PACKETS: u16 = 8;
    sum_over(bytes, &|kind, tins| {
        if kind != TINS {
            return 0;
        }
        sum_over(tins, &|_, tin| {
            sum_over(tin, &|kind, value| if kind == MARKED_PACKETS { u32_at(value, 0) } else { 0 })
        })
    })
}

/// Sum of `value_of` over all attributes.
fn sum_over(attributes: &[u8], value_of: &dyn Fn(u16, &[u8]) -> u64) -> u64 {
    NlasIterator::new(attributes)
        .flatten()
        .map(|attribute| value_of(attribute.kind(), attribute.value()))
        .sum()
}

fn u32_at(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 4).map_or(0, |word| u32::from_ne_bytes(word.try_into().expect("four bytes")).into())
}

/// Request for all queue disciplines of a namespace.
fn request() -> Vec<u8> {
    let body = RouteNetlinkMessage::GetQueueDiscipline(TcMessage::default());
    let mut message = NetlinkMessage::from(body);
    message.header.flags = NLM_F_REQUEST | NLM_F_DUMP;
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    bytes
}

/// Rounds up to the alignment of messages, four bytes.
fn aligned(length: usize) -> usize {
    length.next_multiple_of(4)
}
