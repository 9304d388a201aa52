//! `HighSpeed`: Reno up to 38 packets. Above, a larger window grows faster and falls by less, so that a
//! window of 83000 packets needs no more than one loss in ten million packets. Source: RFC 3649. Agrees with:
//! Linux 6.1 `highspeed`, which steps through the RFC's table instead of using its formulas, and counts ACKs:
//! with one ACK for two packets it grows half as fast. Departs: nowhere known.

use super::{CongestionControl, Control, Entry};
use crate::tcp::{Ack, Cause, Flow};

pub(super) const ENTRY: Entry = Entry {
    name: "highspeed",
    idea: "A larger window grows faster and falls by less after a loss.",
    source: "RFC 3649",
    agrees_with: "Linux 6.1",
    parameters: &[],
    build: |_, _| Box::new(HighSpeed::default()),
};

/// Table of windows. Row n holds the largest window, in packets, that grows by n + 1 packets per round trip,
/// and the decrease of a window of this row after a loss, in 1/256. The RFC's table has a 73rd row, of 94717
/// packets and 0.09, that Linux lacks. [RFC 3649](https://www.rfc-editor.org/rfc/rfc3649), appendix B
#[rustfmt::skip]
const TABLE: [(u32, u32); 72] = [
    (38, 128), (118, 112), (221, 104), (347, 98), (495, 93), (663, 89), (851, 86), (1058, 83), (1284, 81),
    (1529, 78), (1793, 76), (2076, 74), (2378, 72), (2699, 71), (3039, 69), (3399, 68), (3778, 66),
    (4177, 65), (4596, 64), (5036, 62), (5497, 61), (5979, 60), (6483, 59), (7009, 58), (7558, 57),
    (8130, 56), (8726, 55), (9346, 54), (9991, 53), (10661, 52), (11358, 52), (12082, 51), (12834, 50),
    (13614, 49), (14424, 48), (15265, 48), (16137, 47), (17042, 46), (17981, 45), (18955, 45), (19965, 44),
    (21013, 43), (22101, 43), (23230, 42), (24402, 41), (25618, 41), (26881, 40), (28193, 39), (29557, 39),
    (30975, 38), (32450, 38), (33986, 37), (35586, 36), (37253, 36), (38992, 35), (40808, 35), (42707, 34),
    (44694, 33), (46776, 33), (48961, 32), (51258, 32), (53677, 31), (56230, 30), (58932, 30), (61799, 29),
    (64851, 28), (68113, 28), (71617, 27), (75401, 26), (79517, 26), (84035, 25), (89053, 24),
];
/// Unit of the decrease: 1/256.
const DECREASE_ONE: u32 = 256;
/// Largest window, in packets, for which Linux's arithmetic does not wrap.
const CWND_MAX: u32 = u32::MAX / 128;

#[derive(Debug, Default)]
struct HighSpeed {
    /// Row of [`TABLE`] at the last growth.
    row: usize,
}

impl HighSpeed {
    /// Growth in a round trip with one ACK per packet, in packets. (RFC: a(w).)
    #[expect(clippy::cast_possible_truncation, reason = "a row of the table")]
    fn increase(&self) -> u32 {
        self.row as u32 + 1
    }

    /// Decrease after a loss, in 1/256. (RFC: b(w).)
    fn decrease(&self) -> u32 {
        TABLE[self.row].1
    }
}

/// First row whose window is at least `cwnd`; the last row for a larger window.
fn row_of(cwnd: u32) -> usize {
    TABLE.partition_point(|&(window, _)| window < cwnd).min(TABLE.len() - 1)
}

impl CongestionControl for HighSpeed {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn on_start(&mut self, _flow: &Flow, control: &mut Control) {
        control.cwnd_clamp = control.cwnd_clamp.min(CWND_MAX);
    }

    /// Grows the window. Packets that the last ACK of slow start delivered beyond ssthresh do not count.
    fn on_ack(&mut self, ack: &Ack, flow: &Flow, control: &mut Control) {
        if !flow.cwnd_limited(control) {
            return;
        }
        if control.in_slow_start() {
            control.slow_start(ack.delivered);
            return;
        }
        self.row = row_of(control.cwnd);
        if control.cwnd < control.cwnd_clamp {
            control.credit += self.increase();
            if control.credit >= control.cwnd {
                control.credit -= control.cwnd;
                control.cwnd += 1;
            }
        }
    }

    /// Reduces the window by the row of the last growth; a window that only slow start has grown is halved.
    fn on_congestion(&mut self, _cause: Cause, _flow: &Flow, control: &Control) -> u32 {
        (control.cwnd - control.cwnd_part(self.decrease(), DECREASE_ONE)).max(2)
    }

    fn internals(&self, record: &mut dyn FnMut(&'static str, f64)) {
        record("a_packets", f64::from(self.increase()));
        record("b", f64::from(self.decrease()) / f64::from(DECREASE_ONE));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::WindowUse;

    fn flow() -> Flow {
        Flow { usage: WindowUse::limited(), ..Flow::new(250, 1448) }
    }

    /// Formula b(w) = (0.1 - 0.5) (log w - log 38) / (log 83000 - log 38) + 0.5.
    /// [RFC 3649, 5](https://www.rfc-editor.org/rfc/rfc3649#section-5)
    fn b(w: f64) -> f64 {
        (0.1 - 0.5) * (w.ln() - 38.0_f64.ln()) / (83_000.0_f64.ln() - 38.0_f64.ln()) + 0.5
    }

    /// Formula a(w) = w² p(w) 2 b(w) / (2 - b(w)) with p(w) = 0.078 / w^1.2, which the RFC's program writes
    /// as 1 / (12.8 w^1.2). [RFC 3649, 5](https://www.rfc-editor.org/rfc/rfc3649#section-5)
    fn a(w: f64) -> f64 {
        w.powi(2) * 2.0 * b(w) / ((2.0 - b(w)) * w.powf(1.2) * 12.8)
    }

    /// Table as the RFC's program makes it: from 38 on, a row for each window at which a(w) has grown by more
    /// than 1 since the previous row. [RFC 3649](https://www.rfc-editor.org/rfc/rfc3649), appendix B
    fn rows_of_the_rfc() -> Vec<(u32, f64)> {
        let (mut rows, mut last) = (vec![(38, 0.5)], 1.0);
        for window in 39..100_000 {
            let w = f64::from(window);
            if a(w) > last + 1.0 {
                rows.push((window, b(w)));
                last = a(w);
            }
        }
        rows
    }

    /// 0.4407 × 256 = 112.8 is 112 in the table: the reduction is slightly smaller than in the RFC's formula.
    #[test]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 128")]
    fn the_table_is_that_of_the_rfc() {
        let rows = rows_of_the_rfc();
        assert_eq!(rows.len(), TABLE.len() + 1);
        for (row, (&(window, decrease), &(w, b))) in TABLE.iter().zip(&rows).enumerate() {
            assert_eq!((window, decrease), (w, (b * 256.0) as u32), "row {row}");
        }
    }

    /// RFC: 38 packets 1 and 0.50, 118 packets 2 and 0.44, 10661 packets 30 and 0.21, 84035 packets 71 and
    /// 0.10.
    #[test]
    fn rows_that_the_rfc_prints() {
        for (window, increase, decrease) in
            [(38, 1, 0.50), (118, 2, 0.44), (1058, 8, 0.33), (10_661, 30, 0.21), (84_035, 71, 0.10)]
        {
            let highspeed = HighSpeed { row: row_of(window) };
            assert_eq!(highspeed.increase(), increase, "{window}");
            let found = f64::from(highspeed.decrease()) / 256.0;
            assert!((found - decrease).abs() < 0.01, "{window}: {found}, not {decrease}");
        }
    }

    /// 38 is the last window of the first row, 39 the first of the second; the last row holds above 89053.
    #[test]
    fn a_row_holds_up_to_its_window() {
        assert_eq!([1, 38, 39, 118, 119].map(row_of), [0, 0, 1, 1, 2]);
        assert_eq!([84_036, 89_053, 89_054, 1 << 20].map(row_of), [71, 71, 71, 71]);
    }

    /// A window of 100 is in the second row: it grows by 2 packets per 100 ACKs, however many packets each
    /// acknowledges.
    #[test]
    fn growth_counts_acks() {
        for delivered in [1, 2] {
            let (mut highspeed, mut control) = (HighSpeed::default(), Control::new(100, 2));
            for _ in 0..101 {
                highspeed.on_ack(&Ack { delivered, ..Ack::default() }, &flow(), &mut control);
            }
            assert_eq!(control.cwnd, 102);
        }
    }

    /// Five delivered packets at a window of 98 and ssthresh 100: two reach ssthresh, and the other three do
    /// not count.
    #[test]
    fn the_ack_that_ends_slow_start_has_no_other_effect() {
        let (mut highspeed, mut control) = (HighSpeed::default(), Control::new(98, 100));
        highspeed.on_ack(&Ack { delivered: 5, ..Ack::default() }, &flow(), &mut control);
        assert_eq!((control.cwnd, control.credit), (100, 0));
    }

    /// 38: half. 1000 is in the row of 1058: 1000 × 83 / 256 = 324. 3: 3 - 1 = 2.
    #[test]
    fn a_loss_reduces_the_window_by_the_decrease_of_the_row() {
        for (cwnd, left) in [(38, 19), (1000, 676), (3, 2), (1, 2)] {
            let mut highspeed = HighSpeed { row: row_of(cwnd) };
            assert_eq!(highspeed.on_congestion(Cause::Loss, &flow(), &Control::new(cwnd, 2)), left);
        }
    }

    #[test]
    fn a_loss_in_slow_start_halves_however_large_the_window() {
        let mut highspeed = HighSpeed::default();
        assert_eq!(highspeed.on_congestion(Cause::Loss, &flow(), &Control::new(10_000, 20_000)), 5_000);
    }

    /// A window of 10000 is in the 30th row, one of 1000 in the eighth.
    #[test]
    fn the_row_follows_a_window_that_falls() {
        let mut highspeed = HighSpeed::default();
        for (cwnd, row) in [(10_000, 29), (1000, 7)] {
            highspeed.on_ack(&Ack::default(), &flow(), &mut Control::new(cwnd, 2));
            assert_eq!(highspeed.row, row);
        }
    }

    #[test]
    fn the_window_stops_at_its_clamp() {
        let (mut highspeed, mut control) = (HighSpeed::default(), Control::new(100, 2));
        highspeed.on_start(&flow(), &mut control);
        assert_eq!(control.cwnd_clamp, 33_554_431);
        control.cwnd_clamp = 100;
        (0..200).for_each(|_| highspeed.on_ack(&Ack::default(), &flow(), &mut control));
        assert_eq!(control.cwnd, 100);
    }
}
