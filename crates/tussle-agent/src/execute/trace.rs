//! The kernel's tracepoints of TCP: every ACK at a sender, and every change of its state.
//!
//! Records are read from pages of the kernel's ring buffer, as described by
//! Documentation/trace/ring-buffer-design.rst and the `format` and `header_page` files.

use std::fs::{self, File};
use std::io::{ErrorKind, PipeReader, PipeWriter, Read};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::PathBuf;

use anyhow::{Context, bail};
use nix::fcntl::{FcntlArg, SpliceFFlags, fcntl, splice};

use crate::network::PORT;

const FOLDER: &str = "/sys/kernel/tracing";
/// Size of the trace's buffer, in KiB, for the time between two readings.
const BUFFER_KIB: u32 = 16 * 1024;
const PAGE_BYTES: usize = 4096;
/// Number of pages that are read at once, as many as a pipe holds without privileges.
const PAGES: usize = 256;
/// Bytes of the statistics that are read; the number of unread records comes first.
const STATISTICS_BYTES: usize = 64;
/// Size of a page's header: time of the first record, and number of bytes that follow.
const PAGE_HEADER_BYTES: usize = 16;
/// Flag in the number of bytes of a page: records were lost before this page.
const MISSED: u64 = 1 << 31;
/// Mask of the number of bytes of a page, without its flags.
const COMMITTED: u64 = 0x00ff_ffff;
const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;

/// A record of the trace.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Record {
    /// A packet arrived at a sender, whose state just before follows.
    Probe(Probe),
    /// A sender entered a state (`enum tcp_ca_state`).
    State(u8),
}

/// State of a sender just before it processes a packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Probe {
    pub(crate) snd_una: u32,
    pub(crate) srtt_us: u32,
    pub(crate) cwnd: u32,
    pub(crate) ssthresh: u32,
}

/// A record with its time and flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Traced {
    pub(crate) monotonic_ns: u64,
    pub(crate) flow: usize,
    pub(crate) record: Record,
}

/// An open trace.
#[derive(Debug)]
pub(crate) struct Trace {
    file: File,
    statistics: File,
    /// Pipe through which full pages come, many at a time: reading the file gives one, and a system call costs more than
    /// an ACK.
    full: (PipeReader, PipeWriter),
    pages: Vec<u8>,
    /// Largest number of records in a page.
    page_records: usize,
    probe: ProbeFormat,
    state: StateFormat,
}

/// Offsets of the fields of `tcp_probe`.
#[derive(Debug)]
struct ProbeFormat {
    id: u16,
    saddr: usize,
    snd_una: usize,
    srtt: usize,
    snd_cwnd: usize,
    ssthresh: usize,
}

/// Offsets of the fields of `tcp_cong_state_set`.
#[derive(Debug)]
struct StateFormat {
    id: u16,
    saddr: usize,
    cong_state: usize,
}

impl Trace {
    /// Starts the trace.
    pub(crate) fn start() -> anyhow::Result<Trace> {
        write("trace_clock", "mono")?;
        write("buffer_size_kb", &BUFFER_KIB.to_string())?;
        let format = Format::of("tcp_probe")?;
        let probe_bytes = format.bytes;
        let probe = ProbeFormat {
            id: format.id,
            saddr: format.at("saddr")?,
            snd_una: format.at("snd_una")?,
            srtt: format.at("srtt")?,
            snd_cwnd: format.at("snd_cwnd")?,
            ssthresh: format.at("ssthresh")?,
        };
        let format = Format::of("tcp_cong_state_set")?;
        let page_records = PAGE_BYTES / probe_bytes.min(format.bytes);
        let state =
            StateFormat { id: format.id, saddr: format.at("saddr")?, cong_state: format.at("cong_state")? };
        for tracepoint in ["tcp_probe", "tcp_cong_state_set"] {
            // Trace senders only: receivers have this port themselves.
            write(&format!("events/tcp/{tracepoint}/filter"), &format!("dport == {PORT}"))?;
            write(&format!("events/tcp/{tracepoint}/enable"), "1")?;
        }
        let buffer = PathBuf::from(FOLDER).join("per_cpu/cpu0");
        let file =
            File::options().read(true).custom_flags(libc::O_NONBLOCK).open(buffer.join("trace_pipe_raw"));
        let file = file.context("the trace")?;
        let statistics = File::open(buffer.join("stats")).context("the trace's statistics")?;
        let full = std::io::pipe().context("a pipe for the trace")?;
        let pages = vec![0; PAGES * PAGE_BYTES];
        fcntl(&full.1, FcntlArg::F_SETPIPE_SZ(i32::try_from(pages.len())?))
            .context("a pipe for the trace")?;
        Ok(Trace { file, statistics, full, pages, page_records, probe, state })
    }

    /// Passes every record since the last reading to `visit`.
    ///
    /// No system call fails: in user-mode Linux, one that does takes 1 µs, during which no other process begins.
    pub(crate) fn read(&mut self, visit: &mut dyn FnMut(Traced)) -> anyhow::Result<()> {
        let mut unread = self.unread()?;
        while unread > 0 {
            // More records than fit into two pages fill one.
            let read = if unread > 2 * self.page_records {
                self.read_full_pages()
            } else {
                self.file.read(&mut self.pages[..PAGE_BYTES])
            };
            let length = match read {
                Ok(0) => return Ok(()),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                other => other.context("reading the trace")?,
            };
            for page in self.pages[..length].chunks(PAGE_BYTES) {
                for_each_event(page, &mut |monotonic_ns, bytes| {
                    unread = unread.saturating_sub(1);
                    if let Some((flow, record)) = self.record(bytes) {
                        visit(Traced { monotonic_ns, flow, record });
                    }
                })?;
            }
        }
        Ok(())
    }

    /// Number of records that were not read yet.
    fn unread(&self) -> anyhow::Result<usize> {
        let mut text = [0; STATISTICS_BYTES];
        let length = self.statistics.read_at(&mut text, 0).context("the trace's statistics")?;
        unread(std::str::from_utf8(&text[..length])?).context("the trace's statistics are not understood")
    }

    /// Reads at most [`PAGES`] full pages; returns their number of bytes.
    fn read_full_pages(&mut self) -> std::io::Result<usize> {
        let (from, into) = &mut self.full;
        let length = splice(&self.file, None, &*into, None, self.pages.len(), SpliceFFlags::empty())?;
        from.read_exact(&mut self.pages[..length])?;
        Ok(length)
    }

    fn record(&self, bytes: &[u8]) -> Option<(usize, Record)> {
        let id = u16::from_ne_bytes(bytes[..2].try_into().expect("two bytes"));
        if id == self.probe.id {
            // A `sockaddr_in`: family, port, address.
            let flow = flow_of(&bytes[self.probe.saddr + 4..])?;
            let probe = Probe {
                snd_una: u32_at(bytes, self.probe.snd_una),
                srtt_us: u32_at(bytes, self.probe.srtt),
                cwnd: u32_at(bytes, self.probe.snd_cwnd),
                ssthresh: u32_at(bytes, self.probe.ssthresh),
            };
            return Some((flow, Record::Probe(probe)));
        }
        (id == self.state.id).then_some(())?;
        Some((flow_of(&bytes[self.state.saddr..])?, Record::State(bytes[self.state.cong_state])))
    }
}

/// Calls `visit` with the time in ns and the record of each event in a page of the kernel's ring buffer.
fn for_each_event(page: &[u8], visit: &mut dyn FnMut(u64, &[u8])) -> anyhow::Result<()> {
    let mut time_ns = u64_at(page, 0);
    let commit = u64_at(page, 8);
    if commit & MISSED != 0 {
        bail!("the kernel's trace overflowed between two samples: give a shorter sampling interval");
    }
    let end = page.len().min(PAGE_HEADER_BYTES + usize::try_from(commit & COMMITTED)?);
    let mut at = PAGE_HEADER_BYTES;
    while at + 4 <= end {
        let header = u32_at(page, at);
        let (kind, delta_ns) = (header & 0x1f, u64::from(header >> 5));
        at += 4;
        match kind {
            PADDING if delta_ns == 0 => break,
            PADDING => at += u32_at(page, at) as usize,
            TIME_EXTEND => {
                time_ns += delta_ns + (u64::from(u32_at(page, at)) << 27);
                at += 4;
            }
            TIME_STAMP => {
                time_ns = delta_ns + (u64::from(u32_at(page, at)) << 27);
                at += 4;
            }
            0 => {
                time_ns += delta_ns;
                // The length of the record precedes it, and counts itself.
                let next = at + u32_at(page, at) as usize;
                visit(time_ns, &page[at + 4..next]);
                at = next;
            }
            words => {
                time_ns += delta_ns;
                let next = at + 4 * words as usize;
                visit(time_ns, &page[at..next]);
                at = next;
            }
        }
    }
    Ok(())
}

/// Number of unread records in the statistics of a buffer.
fn unread(statistics: &str) -> Option<usize> {
    statistics.lines().next()?.strip_prefix("entries: ")?.parse().ok()
}

/// Index of the flow of a sender's address: the inverse of [`crate::network::sender_address`].
fn flow_of(address: &[u8]) -> Option<usize> {
    match address {
        [10, 1, high, low, ..] => usize::from(u16::from_be_bytes([*high, *low])).checked_sub(256),
        _ => None,
    }
}

/// Number of a tracepoint, the size of its records, and the offsets of its fields.
#[derive(Debug)]
struct Format {
    id: u16,
    bytes: usize,
    offsets: Vec<(String, usize)>,
}

impl Format {
    fn of(tracepoint: &str) -> anyhow::Result<Format> {
        let place = PathBuf::from(FOLDER).join("events/tcp").join(tracepoint).join("format");
        let text = fs::read_to_string(&place).with_context(|| {
            format!("the kernel has no tracepoint tcp:{tracepoint}: it needs CONFIG_FTRACE")
        })?;
        Format::parse(&text).with_context(|| format!("the format of tcp:{tracepoint} is not understood"))
    }

    fn parse(text: &str) -> Option<Format> {
        let id = text.lines().find_map(|line| line.strip_prefix("ID: "))?.parse().ok()?;
        let mut bytes = 0;
        let mut offsets = Vec::new();
        for line in text.lines().filter_map(|line| line.trim().strip_prefix("field:")) {
            let (declared, rest) = line.split_once(';')?;
            let name = declared.split('[').next()?.rsplit(' ').next()?;
            let number =
                |key: &str| rest.split(';').find_map(|part| part.trim().strip_prefix(key)?.parse().ok());
            let (offset, size): (usize, usize) = (number("offset:")?, number("size:")?);
            bytes = bytes.max(offset + size);
            offsets.push((name.to_owned(), offset));
        }
        Some(Format { id, bytes, offsets })
    }

    fn at(&self, field: &str) -> anyhow::Result<usize> {
        let found = self.offsets.iter().find(|(name, _)| name == field);
        Ok(found.with_context(|| format!("a tracepoint of the kernel has no field {field}"))?.1)
    }
}

fn write(name: &str, value: &str) -> anyhow::Result<()> {
    fs::write(PathBuf::from(FOLDER).join(name), value)
        .with_context(|| format!("cannot trace ({name}): the kernel needs CONFIG_FTRACE"))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_ne_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_in_a_format() {
        let text = "name: tcp_probe\nID: 232\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\n\n\
                    \tfield:__u8 saddr[28];\toffset:8;\tsize:28;\tsigned:0;\n\
                    \tfield:__u32 srtt;\toffset:100;\tsize:4;\tsigned:0;\n";
        let format = Format::parse(text).unwrap();
        assert_eq!((format.id, format.at("saddr").unwrap(), format.at("srtt").unwrap()), (232, 8, 100));
        assert_eq!(format.bytes, 104);
        assert!(format.at("cwnd").is_err());
    }

    /// A page of the ring buffer: a record of two words at once, a time step of 2^27 + 3 ns, a long record
    /// after 5 ns.
    #[test]
    fn events_are_read_with_their_times() {
        let header = |kind: u32, delta_ns: u32| (kind | (delta_ns << 5)).to_ne_bytes();
        let mut page = Vec::new();
        page.extend(1000u64.to_ne_bytes());
        let events = [
            [&header(2, 0)[..], &[1; 8]].concat(),
            [header(TIME_EXTEND, 3), 1u32.to_ne_bytes()].concat(),
            [&header(0, 5)[..], &12u32.to_ne_bytes(), &[2; 8]].concat(),
        ]
        .concat();
        page.extend((events.len() as u64).to_ne_bytes());
        page.extend(events);
        page.resize(PAGE_BYTES, 0xff);
        let mut found = Vec::new();
        for_each_event(&page, &mut |time_ns, bytes| found.push((time_ns, bytes.to_vec()))).unwrap();
        assert_eq!(found, [(1000, vec![1; 8]), (1000 + (1 << 27) + 3 + 5, vec![2; 8])]);
    }

    #[test]
    fn unread_records_come_first_in_the_statistics() {
        assert_eq!(unread("entries: 17\noverrun: 0\ncommit overrun: 0\nbytes: 1234\n"), Some(17));
        assert_eq!(unread("entr"), None);
    }

    #[test]
    fn lost_events_stop_the_run() {
        let mut page = vec![0; PAGE_BYTES];
        page[8..16].copy_from_slice(&MISSED.to_ne_bytes());
        let problem = for_each_event(&page, &mut |_, _| {}).unwrap_err();
        assert!(problem.to_string().contains("overflowed"), "{problem}");
    }

    #[test]
    fn a_senders_address_gives_its_flow() {
        for flow in [0, 1, 255, 256, 60_000] {
            assert_eq!(flow_of(&crate::network::sender_address(flow).octets()), Some(flow));
        }
        assert_eq!(flow_of(&crate::network::receiver_address(3).octets()), None);
    }
}
