//! Fractions of a packet of window, which `control.cwnd` cannot hold.

use super::Control;

/// Parts per packet: 2^20, so that growth by a packet per round trip is exact up to a window of 2^20 packets.
pub(super) const PACKET: i64 = 1 << 20;

/// Difference between the exact window and `control.cwnd`, in parts of a packet.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fraction {
    parts: i64,
}

impl Fraction {
    /// Exact window, in parts.
    pub(super) fn window(self, control: &Control) -> i64 {
        i64::from(control.cwnd) * PACKET + self.parts
    }

    /// Sets the exact window, in parts: at least `floor` packets, at most the clamp.
    pub(super) fn set(&mut self, window: i64, floor: u32, control: &mut Control) {
        let cap = i64::from(control.cwnd_clamp) * PACKET;
        control.cwnd = self.split(window.max(i64::from(floor) * PACKET).min(cap));
    }

    /// Keeps the fraction of an exact `window` and returns its whole packets.
    pub(super) fn split(&mut self, window: i64) -> u32 {
        self.parts = window % PACKET;
        u32::try_from(window / PACKET).expect("a window is at most its clamp, which fits u32")
    }

    /// Resets the fraction after another change of the window.
    pub(super) fn clear(&mut self) {
        self.parts = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten times a quarter of a packet: 10 + 2.5.
    #[test]
    fn quarters_of_a_packet_add_up() {
        let (mut fraction, mut control) = (Fraction::default(), Control::default());
        for _ in 0..10 {
            fraction.set(fraction.window(&control) + PACKET / 4, 1, &mut control);
        }
        assert_eq!((control.cwnd, fraction.window(&control)), (12, 12 * PACKET + PACKET / 2));
    }

    #[test]
    fn the_window_stays_between_floor_and_clamp() {
        let (mut fraction, mut control) = (Fraction::default(), Control::default());
        control.cwnd_clamp = 20;
        fraction.set(-5 * PACKET, 2, &mut control);
        assert_eq!((control.cwnd, fraction.parts), (2, 0));
        fraction.set(25 * PACKET + 1, 2, &mut control);
        assert_eq!((control.cwnd, fraction.parts), (20, 0));
    }
}
