//! What an application has written ahead of the packets sent.
//!
//! Without `hosts.wmem` a socket takes a limited amount of unsent data (Linux: `TCP_NOTSENT_LOWAT`). It is still sent after the
//! application stops, and its last packet carries the push flag.

use crate::run::application::UNSENT_BYTES;

/// Packets that a socket has taken.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WrittenAhead {
    /// First packet that the socket has not taken.
    end: u32,
    /// Whether the application sleeps until the socket takes more.
    sleeps: bool,
}

impl WrittenAhead {
    /// Takes what the application writes, unless it sleeps and half of the limit is unsent: `nxt` is the first unsent
    /// packet, and the application has packets before `written` to write, with `mss_bytes` each.
    pub(super) fn fill(&mut self, nxt: u32, written: u32, mss_bytes: u32) {
        let mss_bytes = u64::from(mss_bytes);
        let unsent_bytes = u64::from(self.end.saturating_sub(nxt)) * mss_bytes;
        if self.sleeps && 2 * unsent_bytes >= UNSENT_BYTES {
            return;
        }
        let packets = u32::try_from(UNSENT_BYTES.div_ceil(mss_bytes)).unwrap_or(u32::MAX);
        let limit = nxt.saturating_add(packets);
        self.sleeps = limit < written;
        self.end = self.end.max(limit.min(written));
    }

    /// First packet that the socket has not taken; `nxt` is the first unsent one.
    pub(super) fn end(self, nxt: u32) -> u32 {
        self.end.max(nxt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 181 packets of 1448 bytes are less than 262 144 bytes, and 182 are not. 91 packets are more than half of them, 90 less.
    #[test]
    fn an_application_writes_when_less_than_half_of_the_limit_is_unsent() {
        let mut ahead = WrittenAhead::default();
        ahead.fill(10, u32::MAX, 1448);
        assert_eq!(ahead.end(10), 192);
        ahead.fill(101, u32::MAX, 1448);
        assert_eq!(ahead.end(101), 192);
        ahead.fill(102, u32::MAX, 1448);
        assert_eq!(ahead.end(102), 284);
    }

    #[test]
    fn no_more_is_taken_than_was_written() {
        let mut ahead = WrittenAhead::default();
        ahead.fill(10, 30, 1448);
        assert_eq!(ahead.end(10), 30);
        ahead.fill(30, 40, 1448);
        assert_eq!(ahead.end(30), 40);
    }

    /// 150 packets are more than half of the limit, and fewer than 182: the application, which is awake, writes them at once.
    #[test]
    fn an_application_that_does_not_sleep_writes_until_the_limit() {
        let mut ahead = WrittenAhead::default();
        for written in [100, 150] {
            ahead.fill(0, written, 1448);
        }
        assert_eq!(ahead.end(0), 150);
    }
}
