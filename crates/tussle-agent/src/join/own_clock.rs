//! Time limits of flows by the client's own clock, so that no server can keep a flow open for longer.

/// Time allowed for data in flight when a server stops, and for a later start at the server.
const TAIL_NS: u64 = 2_000_000_000;
/// Longest time until all written data have arrived: ten minutes.
pub(super) const LONGEST_REST_NS: u64 = 600 * 1_000_000_000;
/// Reciprocal of the largest relative drift of two clocks.
const DRIFT_DIVISOR: u64 = 100;

/// Clock of one flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct OwnClock {
    opened_ns: u64,
    for_ns: u64,
    patience_ns: u64,
    /// Time at which everything was written, and the last increase of the acknowledged bytes.
    stopped_ns: Option<u64>,
    acked_bytes: u64,
    acked_at_ns: u64,
}

/// Progress of an upload at the client.
#[derive(Clone, Copy, Debug)]
pub(super) struct Upload {
    /// Bytes that the server's host has acknowledged.
    pub(super) acked_bytes: u64,
    /// Whether everything is written.
    pub(super) has_stopped: bool,
}

/// State of a flow by the client's own clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FlowStatus {
    Running,
    /// The flow has used up its time.
    TimeOver,
    /// Written data are no longer acknowledged.
    Stalled,
}

impl OwnClock {
    /// Creates the clock of a flow that opens now, and sends or receives for `for_ns`.
    pub(super) fn new(now_ns: u64, for_ns: u64, patience_ns: u64) -> OwnClock {
        OwnClock {
            opened_ns: now_ns,
            for_ns,
            patience_ns,
            stopped_ns: None,
            acked_bytes: 0,
            acked_at_ns: now_ns,
        }
    }

    /// Whether a server that started at the same time as this flow may have stopped by its own clock.
    pub(super) fn may_have_stopped(&self, now_ns: u64) -> bool {
        now_ns.saturating_sub(self.opened_ns) >= self.for_ns - self.for_ns / DRIFT_DIVISOR
    }

    pub(super) fn check_download(&self, now_ns: u64) -> FlowStatus {
        let longest_ns = self.for_ns.saturating_add(TAIL_NS);
        if now_ns.saturating_sub(self.opened_ns) < longest_ns {
            FlowStatus::Running
        } else {
            FlowStatus::TimeOver
        }
    }

    /// Records the progress of an upload; returns the state of the flow.
    pub(super) fn check_upload(&mut self, now_ns: u64, upload: Upload) -> FlowStatus {
        if upload.acked_bytes > self.acked_bytes {
            (self.acked_bytes, self.acked_at_ns) = (upload.acked_bytes, now_ns);
        }
        if !upload.has_stopped {
            return FlowStatus::Running;
        }
        let stopped_ns = *self.stopped_ns.get_or_insert(now_ns);
        let silent_ns = now_ns.saturating_sub(self.acked_at_ns.max(stopped_ns));
        let rest_ns = now_ns.saturating_sub(stopped_ns);
        if silent_ns > self.patience_ns || rest_ns > LONGEST_REST_NS {
            FlowStatus::Stalled
        } else {
            FlowStatus::Running
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    fn written(acked_bytes: u64) -> Upload {
        Upload { acked_bytes, has_stopped: true }
    }

    #[test]
    fn a_download_ends_when_its_time_is_over() {
        let clock = OwnClock::new(5 * S, 10 * S, 60 * S);
        assert_eq!(clock.check_download(16 * S), FlowStatus::Running);
        assert_eq!(clock.check_download(17 * S), FlowStatus::TimeOver);
        assert!(!clock.may_have_stopped(14 * S));
        assert!(clock.may_have_stopped(15 * S));
    }

    #[test]
    fn a_written_upload_ends_once_acknowledgements_stop() {
        let mut clock = OwnClock::new(0, 10 * S, 3 * S);
        let writing = Upload { acked_bytes: 1, has_stopped: false };
        assert_eq!(clock.check_upload(9 * S, writing), FlowStatus::Running);
        assert_eq!(clock.check_upload(10 * S, written(1)), FlowStatus::Running);
        assert_eq!(clock.check_upload(12 * S, written(2)), FlowStatus::Running);
        assert_eq!(clock.check_upload(15 * S, written(2)), FlowStatus::Running);
        assert_eq!(clock.check_upload(16 * S, written(2)), FlowStatus::Stalled);
    }

    #[test]
    fn slow_acknowledgements_do_not_keep_a_flow_open() {
        let mut clock = OwnClock::new(0, S, 60 * S);
        let stuck = (1..1_000).find(|s| clock.check_upload(s * S, written(*s)) == FlowStatus::Stalled);
        assert_eq!(stuck, Some(602));
    }
}
