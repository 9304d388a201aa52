//! The push flags of what an application writes.
//!
//! A socket sets the flag of the last packet of each write, so that the receiver hands it to its application, and
//! acknowledges it, without waiting for more. [RFC 9293, 3.9.1.2](https://www.rfc-editor.org/rfc/rfc9293#section-3.9.1.2)
//! Inside of a write, Linux sets it after half of the largest window (`forced_push`).

use std::collections::VecDeque;

/// Packets with the push flag. At least those that are not acknowledged are known.
#[derive(Clone, Debug, Default)]
pub(super) struct Pushes {
    /// Numbers of the packets, in ascending order.
    numbers: VecDeque<u32>,
    /// First packet after the last one that was given the flag (Linux: `pushed_seq`).
    end: u32,
    /// Largest window that the receiver has offered, in packets (Linux: `max_window`); zero before the handshake.
    largest_window: u32,
}

impl Pushes {
    /// Whether packet `number` carries the flag.
    pub(super) fn has(&self, number: u32) -> bool {
        self.numbers.binary_search(&number).is_ok()
    }

    /// Sets the flag of packet `number`, the last one written. Packets before `una` are acknowledged, and are forgotten.
    pub(super) fn add(&mut self, number: u32, una: u32) {
        while self.numbers.front().is_some_and(|number| *number < una) {
            self.numbers.pop_front();
        }
        if self.numbers.back() != Some(&number) {
            self.numbers.push_back(number);
        }
        self.end = number + 1;
    }

    /// Moves the flag of the last packet of a buffer that ends before packet `end`, if it has one, by the `packets` that
    /// are added to this buffer.
    pub(super) fn move_last(&mut self, end: u32, packets: u32) {
        if let Some(number) = self.numbers.back_mut().filter(|number| **number + 1 == end) {
            *number += packets;
        }
    }

    /// Forgets the packets from `end` on, which are not sent.
    pub(super) fn discard(&mut self, end: u32) {
        while self.numbers.back().is_some_and(|number| *number >= end) {
            self.numbers.pop_back();
        }
    }

    /// Records a window that the receiver offers. The first one completes the flags of what was written before it.
    pub(super) fn on_window(&mut self, packets: u32) {
        let is_first = self.largest_window == 0;
        self.largest_window = self.largest_window.max(packets);
        if is_first {
            self.end = 0;
            for number in std::mem::take(&mut self.numbers) {
                self.write(number + 1, 0);
            }
        }
    }

    /// Whether half of the largest window was written, up to packet `written`, since the last flag.
    pub(super) fn is_far(&self, written: u32) -> bool {
        written.saturating_sub(self.end) > self.largest_window / 2
    }

    /// Sets the flags inside of a write, of which the socket has taken the packets before `written`.
    pub(super) fn write_on(&mut self, written: u32, una: u32) {
        let half = self.largest_window / 2;
        while half > 0 && self.is_far(written) {
            self.add(self.end + half, una);
        }
    }

    /// Sets the flags of a write that ends before packet `written`, or pauses there.
    pub(super) fn write(&mut self, written: u32, una: u32) {
        self.write_on(written, una);
        if self.end < written {
            self.add(written - 1, una);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_stays_at_the_end_of_a_buffer_that_grows() {
        let mut pushes = Pushes::default();
        for number in [2, 5] {
            pushes.add(number, 0);
        }
        pushes.move_last(6, 3);
        assert_eq!([2, 5, 8].map(|number| pushes.has(number)), [true, false, true]);
        // The last buffer ends before packet 9, this one elsewhere.
        pushes.move_last(7, 3);
        assert!(pushes.has(8));
    }

    #[test]
    fn acknowledged_and_discarded_packets_are_forgotten() {
        let mut pushes = Pushes::default();
        for (number, una) in [(1, 0), (4, 0), (7, 2), (9, 2)] {
            pushes.add(number, una);
        }
        pushes.discard(9);
        assert_eq!([1, 4, 7, 9].map(|number| pushes.has(number)), [false, true, true, false]);
        assert_eq!(pushes.end, 10);
    }

    /// The fifth packet is the first one after half of eight packets, and the ninth ends the write.
    #[test]
    fn a_long_write_has_a_flag_after_half_of_the_largest_window() {
        let mut pushes = Pushes::default();
        pushes.on_window(8);
        pushes.write(9, 0);
        pushes.write(13, 0);
        let flags: Vec<_> = (0..13).filter(|number| pushes.has(*number)).collect();
        assert_eq!(flags, [4, 8, 12]);
    }

    #[test]
    fn writes_before_the_handshake_have_their_flags_as_if_written_after_it() {
        let (mut early, mut late) = (Pushes::default(), Pushes::default());
        late.on_window(8);
        for pushes in [&mut early, &mut late] {
            for written in [2, 20, 21] {
                pushes.write(written, 0);
            }
        }
        early.on_window(8);
        assert_eq!((early.numbers, early.end), (late.numbers, late.end));
    }
}
