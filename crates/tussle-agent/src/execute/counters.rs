//! Counters of a namespace: its TCP, and its devices.

use std::fs::File;
use std::io::{Read, Seek};
use std::sync::Mutex;

use anyhow::{Context, bail};

/// Counters of TCP in one namespace. A sender's namespace has a single flow
/// (`Documentation/networking/snmp_counter.rst` of Linux).
#[derive(Debug)]
pub(crate) struct Netstat(Mutex<File>);

/// Counters of a sender.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TcpCounts {
    /// Expiries of the retransmission timer.
    pub(crate) timeouts: u32,
    /// Timeouts found to be spurious.
    pub(crate) spurious_timeouts: u32,
    /// Episodes of fast recovery.
    pub(crate) recoveries: u32,
    /// Recoveries found to be spurious and undone.
    pub(crate) undone_recoveries: u32,
    /// Tail loss probes.
    pub(crate) probes: u32,
}

impl Netstat {
    /// Opens the counters of this thread's namespace.
    pub(crate) fn open() -> anyhow::Result<Netstat> {
        let file = File::open("/proc/thread-self/net/netstat").context("the counters of TCP")?;
        Ok(Netstat(Mutex::new(file)))
    }

    /// Reads the counters.
    pub(crate) fn read(&self) -> anyhow::Result<TcpCounts> {
        let mut file = self.0.lock().expect("no thread panics while it holds the lock");
        let text = reread(&mut file)?;
        let of = |name: &str| counter(&text, name);
        Ok(TcpCounts {
            timeouts: of("TCPTimeouts")?,
            spurious_timeouts: of("TCPLossUndo")?,
            recoveries: of("TCPSackRecovery")? + of("TCPRenoRecovery")?,
            undone_recoveries: of("TCPFullUndo")? + of("TCPPartialUndo")? + of("TCPDSACKUndo")?,
            probes: of("TCPLossProbes")?,
        })
    }
}

/// Finds a counter in two lines, of names and of values.
fn counter(text: &str, name: &str) -> anyhow::Result<u32> {
    let lines: Vec<_> = text.lines().collect();
    let found = lines.chunks_exact(2).find_map(|pair| {
        let at = pair[0].split(' ').position(|word| word == name)?;
        pair[1].split(' ').nth(at)?.parse().ok()
    });
    found.with_context(|| format!("the kernel has no counter {name}"))
}

/// Counters of a host's device.
#[derive(Debug)]
pub(crate) struct HostDevice(File);

/// Packets that a host's device has received and sent.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Carried {
    pub(crate) received_packets: u64,
    pub(crate) sent_packets: u64,
}

impl HostDevice {
    /// Opens the counters of the device `net` in this thread's namespace.
    pub(crate) fn open() -> anyhow::Result<HostDevice> {
        Ok(HostDevice(File::open("/proc/thread-self/net/dev").context("the counters of devices")?))
    }

    /// Reads the counters.
    pub(crate) fn read(&mut self) -> anyhow::Result<Carried> {
        carried(&reread(&mut self.0)?)
    }
}

/// Parses the counters of the device `net`: eight of received packets, of which the second is their number,
/// then eight of sent packets.
fn carried(text: &str) -> anyhow::Result<Carried> {
    let Some(line) = text.lines().find_map(|line| line.trim().strip_prefix("net:")) else {
        bail!("a host has no device");
    };
    let counts: Vec<u64> = line.split_whitespace().map_while(|word| word.parse().ok()).collect();
    match counts.as_slice() {
        [_, received_packets, _, _, _, _, _, _, _, sent_packets, ..] => {
            Ok(Carried { received_packets: *received_packets, sent_packets: *sent_packets })
        }
        _ => bail!("the counters of a device are not understood: {line}"),
    }
}

fn reread(file: &mut File) -> anyhow::Result<String> {
    let mut text = String::new();
    file.rewind()?;
    file.read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_is_found_by_its_name() {
        let text = "TcpExt: SyncookiesSent TCPTimeouts TCPLossUndo\nTcpExt: 0 7 2\n\
                    IpExt: InNoRoutes InCEPkts\nIpExt: 1 9\n";
        assert_eq!(counter(text, "TCPTimeouts").unwrap(), 7);
        assert_eq!(counter(text, "InCEPkts").unwrap(), 9);
        assert_eq!(counter(text, "TCPNews").unwrap_err().to_string(), "the kernel has no counter TCPNews");
    }

    #[test]
    fn packets_are_the_second_and_the_tenth_counter() {
        let text = "Inter-| Receive | Transmit\n face |bytes packets\n    lo: 0 0\n   \
                    net: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n";
        let found = carried(text).unwrap();
        assert_eq!((found.received_packets, found.sent_packets), (2, 10));
    }
}
