//! TUN devices: packets that the kernel sends can be read, and written packets reach the kernel.

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;

use anyhow::Context;

use crate::sys;

/// Queue length of a device, for bursts.
pub(crate) const BURST_PACKETS: u32 = 30_000;
const MAX_BYTES: usize = 1 << 16;

#[derive(Debug)]
pub(crate) struct Tun {
    file: File,
    buffer: Vec<u8>,
}

impl Tun {
    /// Creates a named device in this thread's network. It is removed with this value.
    pub(crate) fn open(name: &str) -> anyhow::Result<Tun> {
        let file = File::options()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK)
            .open("/dev/net/tun")
            .context("/dev/net/tun; this kernel may lack CONFIG_TUN")?;
        sys::name_tun(&file, name).context("making a TUN device")?;
        Ok(Tun { file, buffer: vec![0; MAX_BYTES] })
    }

    /// Passes a packet to the kernel, which has processed it when this returns.
    pub(crate) fn write(&mut self, packet: &[u8]) -> std::io::Result<()> {
        self.file.write_all(packet)
    }

    /// Reads a packet that the kernel has sent, if there is one.
    pub(crate) fn read(&mut self) -> std::io::Result<Option<&[u8]>> {
        match self.file.read(&mut self.buffer) {
            Ok(bytes) => Ok(Some(&self.buffer[..bytes])),
            Err(problem) if problem.kind() == ErrorKind::WouldBlock => Ok(None),
            Err(problem) => Err(problem),
        }
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}
