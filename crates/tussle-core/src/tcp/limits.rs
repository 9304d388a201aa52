//! Time in which buffers, and not the congestion window, limited a sender (Linux: `tcp_chrono`).

use crate::Time;

/// Buffer that limits a sender; the later one has precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Limiting {
    /// No buffer.
    Nothing,
    /// The receive window is full, and there are packets to send.
    ReceiveWindow,
    /// The send buffer is full of packets that were sent, and the congestion window is not full.
    SendBuffer,
}

/// Time limited by buffers so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    limiting: Limiting,
    since: Time,
    receive_window: Time,
    send_buffer: Time,
}

/// Time in which buffers limited a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LimitedTimes {
    /// Limited by the receive window.
    pub receive_window: Time,
    /// Limited by the send buffer.
    pub send_buffer: Time,
}

impl Limits {
    pub(super) fn new() -> Limits {
        Limits {
            limiting: Limiting::Nothing,
            since: Time::ZERO,
            receive_window: Time::ZERO,
            send_buffer: Time::ZERO,
        }
    }

    /// Whether a buffer limits the sender.
    #[inline]
    pub(super) fn is_limited(&self) -> bool {
        self.limiting != Limiting::Nothing
    }

    /// Records whether the receive window stopped a transmission.
    pub(super) fn on_transmission(&mut self, by_window: bool, now: Time) {
        match (by_window, self.limiting) {
            (true, Limiting::Nothing) => self.change(Limiting::ReceiveWindow, now),
            (false, Limiting::ReceiveWindow) => self.change(Limiting::Nothing, now),
            _ => {}
        }
    }

    /// Records that the send buffer has no more packets to send.
    pub(super) fn on_full_buffer(&mut self, now: Time) {
        self.change(Limiting::SendBuffer, now);
    }

    /// Records that the application writes again.
    pub(super) fn on_room(&mut self, now: Time) {
        if self.limiting == Limiting::SendBuffer {
            self.change(Limiting::Nothing, now);
        }
    }

    fn change(&mut self, limiting: Limiting, now: Time) {
        let LimitedTimes { receive_window, send_buffer } = self.until(now);
        *self = Limits { limiting, since: now, receive_window, send_buffer };
    }

    /// Times until `now`.
    pub(super) fn until(&self, now: Time) -> LimitedTimes {
        let (mut receive_window, mut send_buffer) = (self.receive_window, self.send_buffer);
        match self.limiting {
            Limiting::Nothing => {}
            Limiting::ReceiveWindow => receive_window += now.since(self.since),
            Limiting::SendBuffer => send_buffer += now.since(self.since),
        }
        LimitedTimes { receive_window, send_buffer }
    }
}
