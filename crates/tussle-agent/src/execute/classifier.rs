//! BPF classifiers that drop packets, attached to the egress of a device.

use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};

use anyhow::Context;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::tc::{
    TcAttribute, TcBpfFlags, TcFilterBpf, TcFilterBpfOption, TcHandle, TcMessage, TcOption,
};

use crate::namespace::enter;
use crate::netlink::{Netlink, index};
use crate::network::LossProgram;
use crate::sys::{self, Word};

/// The instruction that loads the address of the program's memory into r6. The memory is a map of one value,
/// whose address the kernel writes into this instruction (`BPF_PSEUDO_MAP_VALUE`).
const MEMORY_TO_R6: [u8; 2] = [0x18, 0x26];

/// Adds the queue discipline for programs to a device of this thread's namespace. It must be there before
/// the run, because adding it empties the queue of the device.
pub(super) fn prepare(device: &str) -> anyhow::Result<()> {
    let index = i32::try_from(index(device)?)?;
    Netlink::open()?.replace(clsact(index)).with_context(|| format!("preparing {device} for programs"))
}

/// Attaches a program to a device of a namespace, by the queue discipline `clsact`. This thread stays in the
/// namespace.
pub(super) fn attach(namespace: &File, device: &str, losses: &LossProgram) -> anyhow::Result<()> {
    enter(namespace)?;
    let memory = sys::bpf_memory(&losses.memory).context("the memory of a program")?;
    let program = sys::bpf_classifier(&code(losses, &memory)).context("a program for losses")?;
    let (kernel, index) = (Netlink::open()?, i32::try_from(index(device)?)?);
    kernel
        .replace(clsact(index))
        .and_then(|()| kernel.add(filter(index, &program)?))
        .with_context(|| format!("attaching a program to {device}"))
}

/// The program, after the instruction that loads its memory's address.
fn code(losses: &LossProgram, memory: &OwnedFd) -> Vec<Word> {
    let mut first = [0; 8];
    first[..2].copy_from_slice(&MEMORY_TO_R6);
    first[4..].copy_from_slice(&memory.as_raw_fd().to_ne_bytes());
    let rest = losses.code.chunks_exact(size_of::<Word>()).map(|word| word.try_into().expect("eight bytes"));
    [first, [0; 8]].into_iter().chain(rest).map(u64::from_ne_bytes).collect()
}

/// Request for the queue discipline `clsact`, which holds filters and queues no packets.
fn clsact(index: i32) -> RouteNetlinkMessage {
    let mut message = TcMessage::with_index(index);
    message.header.handle = TcHandle { minor: 0, ..TcHandle::CLSACT };
    message.header.parent = TcHandle::CLSACT;
    message.attributes = vec![TcAttribute::Kind("clsact".to_owned())];
    RouteNetlinkMessage::NewQueueDiscipline(message)
}

/// Request for a filter that runs `program` on every outgoing packet.
fn filter(index: i32, program: &OwnedFd) -> anyhow::Result<RouteNetlinkMessage> {
    let mut message = TcMessage::with_index(index);
    message.header.parent = TcHandle { major: TcHandle::CLSACT.major, minor: TcHandle::MIN_EGRESS };
    // Highest priority (upper half), for packets of every protocol (lower half).
    let every_protocol = u16::try_from(libc::ETH_P_ALL)?.to_be();
    message.header.info = 1 << 16 | u32::from(every_protocol);
    message.attributes = vec![
        TcAttribute::Kind(TcFilterBpf::KIND.to_owned()),
        TcAttribute::Options(vec![
            TcOption::Bpf(TcFilterBpfOption::ProgFd(u32::try_from(program.as_raw_fd())?)),
            TcOption::Bpf(TcFilterBpfOption::ProgName("losses".to_owned())),
            TcOption::Bpf(TcFilterBpfOption::Flags(TcBpfFlags::DirectAction)),
        ]),
    ];
    Ok(RouteNetlinkMessage::NewTrafficFilter(message))
}
