//! `struct tcp_info` of Linux, field by field, at the offsets of include/uapi/linux/tcp.h.

use std::os::fd::AsFd;

use crate::sys;

/// State of a socket as reported by the kernel; fields that the kernel does not have are 0.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TcpInfo {
    pub(crate) tcp_state: u8,
    pub(crate) ca_state: u8,
    pub(crate) rto_us: u32,
    pub(crate) unacked: u32,
    pub(crate) sacked: u32,
    pub(crate) lost: u32,
    pub(crate) retrans: u32,
    pub(crate) rtt_us: u32,
    pub(crate) ssthresh: u32,
    pub(crate) cwnd: u32,
    pub(crate) total_retrans: u32,
    pub(crate) pacing_bytes_per_s: u64,
    pub(crate) bytes_acked: u64,
    pub(crate) sequence_received: u64,
    pub(crate) min_rtt_us: u32,
    pub(crate) data_segs_in: u32,
    pub(crate) data_segs_out: u32,
    pub(crate) delivery_bytes_per_s: u64,
    pub(crate) busy_us: u64,
    pub(crate) rwnd_limited_us: u64,
    pub(crate) sndbuf_limited_us: u64,
    pub(crate) delivered: u32,
    pub(crate) delivered_ce: u32,
    pub(crate) dsack_dups: u32,
    pub(crate) reordering_seen: u32,
    /// Window that the peer offers (since Linux 5.4).
    pub(crate) snd_wnd_bytes: u32,
}

impl TcpInfo {
    /// Reads the state of a socket.
    pub(crate) fn of(socket: impl AsFd) -> nix::Result<TcpInfo> {
        let (bytes, _) = sys::tcp_info(socket)?;
        let u32_at = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        let u64_at = |at: usize| u64::from_ne_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        Ok(TcpInfo {
            tcp_state: bytes[0],
            ca_state: bytes[1],
            rto_us: u32_at(8),
            unacked: u32_at(24),
            sacked: u32_at(28),
            lost: u32_at(32),
            retrans: u32_at(36),
            rtt_us: u32_at(68),
            ssthresh: u32_at(76),
            cwnd: u32_at(80),
            total_retrans: u32_at(100),
            pacing_bytes_per_s: u64_at(104),
            bytes_acked: u64_at(120),
            sequence_received: u64_at(128),
            min_rtt_us: u32_at(148),
            data_segs_in: u32_at(152),
            data_segs_out: u32_at(156),
            delivery_bytes_per_s: u64_at(160),
            busy_us: u64_at(168),
            rwnd_limited_us: u64_at(176),
            sndbuf_limited_us: u64_at(184),
            delivered: u32_at(192),
            delivered_ce: u32_at(196),
            dsack_dups: u32_at(216),
            reordering_seen: u32_at(220),
            snd_wnd_bytes: u32_at(228),
        })
    }

    /// Bytes received in order. The kernel counts sequence numbers, and the end of the stream takes one of
    /// them.
    pub(crate) fn bytes_received(&self) -> u64 {
        /// State of a connection that the peer has closed (`enum tcp_state`).
        const CLOSE_WAIT: u8 = 8;
        self.sequence_received.saturating_sub(u64::from(self.tcp_state == CLOSE_WAIT))
    }

    /// Packets in flight, as the kernel computes them (`tcp_packets_in_flight`).
    pub(crate) fn in_flight(&self) -> u32 {
        let sent = u64::from(self.unacked) + u64::from(self.retrans);
        let left_network = u64::from(self.sacked) + u64::from(self.lost);
        u32::try_from(sent.saturating_sub(left_network)).unwrap_or(u32::MAX)
    }

    /// Name of the sender's state in the `samples` table.
    pub(crate) fn state(&self) -> &'static str {
        state_name(self.ca_state)
    }
}

/// Name of a state of congestion control (`enum tcp_ca_state`).
pub(crate) fn state_name(ca_state: u8) -> &'static str {
    match ca_state {
        0 => "open",
        1 => "disorder",
        2 => "cwr",
        3 => "recovery",
        _ => "loss",
    }
}
