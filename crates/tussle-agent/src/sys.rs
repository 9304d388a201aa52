//! System calls without a wrapper in a library: `TCP_INFO`, socket options, and the seed of the kernel's
//! random numbers; and filters of system calls.

use std::collections::BTreeMap;
use std::ffi::CStr;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

use anyhow::Context;
use nix::unistd::Pid;
use seccompiler::{SeccompAction, SeccompFilter, SeccompRule};

/// Size of the buffer for `struct tcp_info`, with space for later kernels.
pub(crate) const TCP_INFO_MAX_BYTES: usize = 512;

/// The `struct tcp_info` of a TCP socket as bytes, and the number of bytes written by the kernel.
///
/// # Errors
/// Fails where `getsockopt` fails.
#[expect(unsafe_code, reason = "nix supports the option only with libc's structure, which lacks most fields")]
pub(crate) fn tcp_info(socket: impl AsFd) -> nix::Result<([u8; TCP_INFO_MAX_BYTES], usize)> {
    let mut bytes = [0; TCP_INFO_MAX_BYTES];
    let mut length = libc::socklen_t::try_from(TCP_INFO_MAX_BYTES).expect("fits");
    // SAFETY: the kernel writes at most `length` bytes to `bytes`, and their number to `length`.
    nix::errno::Errno::result(unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            bytes.as_mut_ptr().cast(),
            &raw mut length,
        )
    })?;
    Ok((bytes, length as usize))
}

/// Least real-time priority.
pub(crate) const LEAST_PRIORITY: i32 = 1;
/// Highest real-time priority.
pub(crate) const HIGHEST_PRIORITY: i32 = 99;

/// Gives this thread, but not its children, real-time priority.
///
/// # Errors
/// EPERM without the permission.
pub(crate) fn run_first(priority: i32) -> nix::Result<()> {
    set_scheduler(libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, priority)
}

/// Ends the real-time priority of this thread.
///
/// # Errors
/// Fails where `sched_setscheduler` fails.
pub(crate) fn run_as_usual() -> nix::Result<()> {
    set_scheduler(libc::SCHED_OTHER, 0)
}

#[expect(unsafe_code, reason = "nix offers no call for this request")]
fn set_scheduler(policy: libc::c_int, priority: i32) -> nix::Result<()> {
    let parameters = libc::sched_param { sched_priority: priority };
    // SAFETY: the kernel reads one `sched_param`.
    let result = unsafe { libc::sched_setscheduler(0, policy, &raw const parameters) };
    nix::errno::Errno::result(result).map(drop)
}

/// Size of the buffer for the floating-point state of a process. With AMX, the state has 11 008 bytes.
pub(crate) const STATE_MAX_BYTES: usize = 1 << 16;

/// The register set with the whole floating-point state of a process on x86 (`NT_X86_XSTATE` of
/// `linux/elf.h`).
const XSTATE: libc::c_int = 0x202;

/// Saves the floating-point state of a stopped child into `state`, and returns its size in bytes.
///
/// # Errors
/// Fails where `PTRACE_GETREGSET` fails.
pub(crate) fn extended_state(child: Pid, state: &mut [u8]) -> nix::Result<usize> {
    register_set(libc::PTRACE_GETREGSET, child, state)
}

/// Restores the floating-point state of a stopped child.
///
/// # Errors
/// Fails where `PTRACE_SETREGSET` fails: EFAULT if `state` is shorter than the state that the host saves.
pub(crate) fn set_extended_state(child: Pid, state: &mut [u8]) -> nix::Result<()> {
    register_set(libc::PTRACE_SETREGSET, child, state).map(drop)
}

/// Moves a register set between a child and `state`, and returns the number of bytes moved.
#[expect(unsafe_code, reason = "nix supports register sets of a fixed size only")]
fn register_set(request: libc::c_uint, child: Pid, state: &mut [u8]) -> nix::Result<usize> {
    let mut register_set = libc::iovec { iov_base: state.as_mut_ptr().cast(), iov_len: state.len() };
    // SAFETY: the kernel reads or writes at most `iov_len` bytes of `state`, and sets `iov_len` to their
    // number.
    nix::errno::Errno::result(unsafe {
        libc::ptrace(request, child.as_raw(), XSTATE, &raw mut register_set)
    })?;
    Ok(register_set.iov_len)
}

/// Words of entropy that fill the kernel's entropy pool.
const SEED_WORDS: usize = 8;

#[repr(C)]
struct PoolInfo {
    entropy_bits: libc::c_int,
    size_bytes: libc::c_int,
    words: [u32; SEED_WORDS],
}

mod request {
    nix::ioctl_write_ptr!(add_entropy, b'R', 0x03, [libc::c_int; 2]);
}

/// Seeds the kernel's random number generator. The seed is mixed into the entropy pool and credited, so that
/// the generator starts again from the pool.
///
/// # Errors
/// Fails where `/dev/random` cannot be opened, or refuses the request.
#[expect(unsafe_code, reason = "nix offers no call for this request")]
pub(crate) fn seed_kernel(seed: u64) -> std::io::Result<()> {
    let device = std::fs::File::options().write(true).open("/dev/random")?;
    let mut words = [0; SEED_WORDS];
    for (index, word) in words.iter_mut().enumerate() {
        let half = if index % 2 == 0 { seed } else { seed >> 32 };
        *word = u32::try_from(half & u64::from(u32::MAX)).expect("32 bits");
    }
    let size_bytes = libc::c_int::try_from(size_of_val(&words)).expect("small");
    let pool = PoolInfo { entropy_bits: 8 * size_bytes, size_bytes, words };
    // SAFETY: the request reads one PoolInfo, whose `size_bytes` is the length of its array; the number of
    // the request counts the two integers alone.
    unsafe { request::add_entropy(device.as_raw_fd(), (&raw const pool).cast()) }?;
    Ok(())
}

#[repr(C)]
struct TunRequest {
    name: [u8; libc::IFNAMSIZ],
    flags: libc::c_short,
    rest: [u8; 22],
}

mod tun_request {
    nix::ioctl_readwrite_bad!(
        set,
        nix::request_code_write!(b'T', 202, size_of::<libc::c_int>()),
        super::TunRequest
    );
}

/// Makes an open `/dev/net/tun` a TUN device with a name, in the network in which it was opened.
///
/// # Errors
/// Fails where the kernel refuses the request.
#[expect(unsafe_code, reason = "nix offers no call for this request")]
pub(crate) fn name_tun(device: impl AsFd, name: &str) -> nix::Result<()> {
    let flags = libc::c_short::try_from(libc::IFF_TUN | libc::IFF_NO_PI).expect("small");
    let mut request = TunRequest { name: [0; libc::IFNAMSIZ], flags, rest: [0; 22] };
    request.name[..name.len()].copy_from_slice(name.as_bytes());
    // SAFETY: the request reads and writes one `struct ifreq`, which is as long as TunRequest: 40 bytes.
    unsafe { tun_request::set(device.as_fd().as_raw_fd(), &raw mut request) }.map(drop)
}

/// Requests to the driver in a guest's kernel.
#[expect(unsafe_code, reason = "nix offers no calls for these requests")]
pub(crate) mod driver {
    use std::os::fd::{AsFd, AsRawFd};

    use tussle_datapath::Tally;
    use tussle_datapath::requests::{Copies, Device, NextLoss, Observe};

    mod raw {
        use tussle_datapath::Tally;
        use tussle_datapath::requests::{Copies, Device, NextLoss, Observe, TYPE, number};

        nix::ioctl_read!(interface, TYPE, number::INTERFACE, u32);
        nix::ioctl_write_ptr!(device, TYPE, number::DEVICE, Device);
        nix::ioctl_write_ptr!(start, TYPE, number::START, u64);
        nix::ioctl_readwrite!(observe, TYPE, number::OBSERVE, Observe);
        nix::ioctl_readwrite!(tally, TYPE, number::TALLY, Tally);
        nix::ioctl_readwrite!(copies, TYPE, number::COPIES, Copies);
        nix::ioctl_readwrite!(next_loss, TYPE, number::LOSS, NextLoss);
    }

    /// Version of the driver's interface.
    pub(crate) fn interface(driver: impl AsFd) -> nix::Result<u32> {
        let mut found = 0;
        // SAFETY: the request writes one u32.
        unsafe { raw::interface(driver.as_fd().as_raw_fd(), &raw mut found) }?;
        Ok(found)
    }

    /// Makes a device.
    pub(crate) fn device(driver: impl AsFd, device: Device) -> nix::Result<()> {
        // SAFETY: the request reads one Device.
        unsafe { raw::device(driver.as_fd().as_raw_fd(), &raw const device) }.map(drop)
    }

    /// Starts the time of the run at a reading of `CLOCK_MONOTONIC` in ns.
    pub(crate) fn start(driver: impl AsFd, zero_ns: u64) -> nix::Result<()> {
        // SAFETY: the request reads one u64.
        unsafe { raw::start(driver.as_fd().as_raw_fd(), &raw const zero_ns) }.map(drop)
    }

    /// Asks for the state of a link.
    pub(crate) fn observe(driver: impl AsFd, asked: &mut Observe) -> nix::Result<()> {
        // SAFETY: the request reads and writes one Observe.
        unsafe { raw::observe(driver.as_fd().as_raw_fd(), asked) }.map(drop)
    }

    /// Asks for the packets by outcome.
    pub(crate) fn tally(driver: impl AsFd) -> nix::Result<Tally> {
        let mut tally = Tally::default();
        // SAFETY: the request reads and writes one Tally.
        unsafe { raw::tally(driver.as_fd().as_raw_fd(), &raw mut tally) }?;
        Ok(tally)
    }

    /// Asks for the copies of a flow.
    pub(crate) fn copies(driver: impl AsFd, asked: &mut Copies) -> nix::Result<()> {
        // SAFETY: the request reads and writes one Copies.
        unsafe { raw::copies(driver.as_fd().as_raw_fd(), asked) }.map(drop)
    }

    /// Asks for the next loss.
    pub(crate) fn next_loss(driver: impl AsFd, asked: &mut NextLoss) -> nix::Result<()> {
        // SAFETY: the request reads and writes one NextLoss.
        unsafe { raw::next_loss(driver.as_fd().as_raw_fd(), asked) }.map(drop)
    }
}

/// Sets a socket option whose value is an integer.
///
/// # Errors
/// Fails where `setsockopt` fails.
#[expect(unsafe_code, reason = "nix lacks most options of TCP")]
pub(crate) fn set_option<T: Integer>(socket: impl AsFd, level: i32, name: i32, value: T) -> nix::Result<()> {
    let length = libc::socklen_t::try_from(size_of::<T>()).expect("small");
    // SAFETY: the kernel reads `length` bytes from a value of that size.
    nix::errno::Errno::result(unsafe {
        libc::setsockopt(socket.as_fd().as_raw_fd(), level, name, (&raw const value).cast(), length)
    })
    .map(drop)
}

/// Integer types of socket options.
pub(crate) trait Integer: Copy {}
impl Integer for i32 {}
impl Integer for u64 {}

/// An instruction of a BPF program.
pub(crate) type Word = u64;

/// Argument of the system call `bpf` (`union bpf_attr` of `include/uapi/linux/bpf.h`). The kernel takes
/// missing fields as zeros.
#[repr(C)]
struct MapRequest {
    kind: u32,
    key_bytes: u32,
    value_bytes: u32,
    entries: u32,
}

#[repr(C)]
struct ElementRequest {
    map: u32,
    unused: u32,
    key: u64,
    value: u64,
    flags: u64,
}

#[repr(C)]
struct ProgramRequest {
    kind: u32,
    instructions: u32,
    code: u64,
    license: u64,
}

/// `BPF_MAP_TYPE_ARRAY`.
const ARRAY: u32 = 2;
/// `BPF_PROG_TYPE_SCHED_CLS`.
const CLASSIFIER: u32 = 3;

/// Memory of a BPF program, with its initial content.
///
/// # Errors
/// Fails where `bpf` fails.
pub(crate) fn bpf_memory(words: &[u64]) -> nix::Result<OwnedFd> {
    let value_bytes = u32::try_from(size_of_val(words)).expect("small");
    let map = bpf_descriptor(0, &MapRequest { kind: ARRAY, key_bytes: 4, value_bytes, entries: 1 })?;
    let number = u32::try_from(map.as_raw_fd()).expect("open");
    let key = &raw const FIRST;
    let value = words.as_ptr();
    let request = ElementRequest { map: number, unused: 0, key: key as u64, value: value as u64, flags: 0 };
    bpf(2, &request)?;
    Ok(map)
}

/// The key of an array's first value.
static FIRST: u32 = 0;

/// A BPF program that decides what happens to packets.
///
/// # Errors
/// Fails where `bpf` fails: the kernel verifies each program.
pub(crate) fn bpf_classifier(code: &[Word]) -> nix::Result<OwnedFd> {
    const LICENSE: &CStr = c"Dual MIT/GPL";
    let instructions = u32::try_from(code.len()).expect("a short program");
    let request = ProgramRequest {
        kind: CLASSIFIER,
        instructions,
        code: code.as_ptr() as u64,
        license: LICENSE.as_ptr() as u64,
    };
    bpf_descriptor(5, &request)
}

#[expect(unsafe_code, reason = "the number becomes a file that closes itself")]
fn bpf_descriptor<T>(command: libc::c_int, request: &T) -> nix::Result<OwnedFd> {
    let number = bpf(command, request)?;
    // SAFETY: the commands for maps and programs return a descriptor that nobody else has.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

#[expect(unsafe_code, reason = "neither nix nor libc wraps the call")]
fn bpf<T>(command: libc::c_int, request: &T) -> nix::Result<libc::c_int> {
    // SAFETY: the kernel reads a request of that size, and what it points to, which lives as long as the
    // call.
    let answer = unsafe { libc::syscall(libc::SYS_bpf, command, &raw const *request, size_of::<T>()) };
    nix::errno::Errno::result(answer).map(|answer| i32::try_from(answer).expect("a descriptor or zero"))
}

/// Request for a feature of a device, and its answer (`struct ethtool_value`).
#[repr(C)]
struct EthtoolValue {
    command: u32,
    value: u32,
}

/// `struct ifreq`, with a pointer as its last field.
#[repr(C)]
struct DeviceRequest {
    name: [u8; libc::IFNAMSIZ],
    value: *mut EthtoolValue,
    rest: [u8; 16],
}

mod device_request {
    nix::ioctl_readwrite_bad!(ethtool, libc::SIOCETHTOOL, super::DeviceRequest);
}

/// Answer of a device to a request of `include/uapi/linux/ethtool.h` for one number. Any socket will do.
///
/// # Errors
/// Fails where the device does not support the request.
pub(crate) fn ethtool(socket: impl AsFd, device: &str, command: u32) -> nix::Result<u32> {
    exchange_ethtool(socket, device, EthtoolValue { command, value: 0 })
}

/// Sets a feature of a device by a request of `include/uapi/linux/ethtool.h`. Any socket will do.
///
/// # Errors
/// Fails where the device does not support the request, or this process may not make it.
pub(crate) fn set_ethtool(socket: impl AsFd, device: &str, command: u32, value: u32) -> nix::Result<()> {
    exchange_ethtool(socket, device, EthtoolValue { command, value }).map(drop)
}

#[expect(unsafe_code, reason = "nix offers no call for this request")]
fn exchange_ethtool(socket: impl AsFd, device: &str, mut asked: EthtoolValue) -> nix::Result<u32> {
    let mut request = DeviceRequest { name: [0; libc::IFNAMSIZ], value: &raw mut asked, rest: [0; 16] };
    let name = device.as_bytes();
    request.name.get_mut(..name.len()).ok_or(nix::errno::Errno::ENODEV)?.copy_from_slice(name);
    // SAFETY: the request reads and writes one `struct ifreq`, which is as long as DeviceRequest: 40 bytes;
    // and the EthtoolValue that it points to, which lives as long as the call.
    unsafe { device_request::ethtool(socket.as_fd().as_raw_fd(), &raw mut request) }?;
    Ok(asked.value)
}

/// Reads a socket option whose value is an integer.
///
/// # Errors
/// Fails where `getsockopt` fails.
#[expect(unsafe_code, reason = "nix lacks some options of IP")]
pub(crate) fn option(socket: impl AsFd, level: i32, name: i32) -> nix::Result<i32> {
    let mut value = 0;
    let mut length = libc::socklen_t::try_from(size_of::<i32>()).expect("small");
    // SAFETY: the kernel writes at most `length` bytes to an integer of that size.
    nix::errno::Errno::result(unsafe {
        libc::getsockopt(socket.as_fd().as_raw_fd(), level, name, (&raw mut value).cast(), &raw mut length)
    })?;
    Ok(value)
}

/// A filter of system calls. `rules` has the conditions under which a call is answered with `answer`; a call without
/// conditions always is. The filter allows calls that are not in `rules`.
///
/// # Errors
/// Fails on processors without such filters.
pub(crate) fn filter(
    rules: BTreeMap<i64, Vec<SeccompRule>>,
    answer: SeccompAction,
) -> anyhow::Result<Vec<seccompiler::sock_filter>> {
    let architecture = std::env::consts::ARCH.try_into().context("no seccomp on this machine")?;
    Ok(SeccompFilter::new(rules, SeccompAction::Allow, answer, architecture)?.try_into()?)
}
