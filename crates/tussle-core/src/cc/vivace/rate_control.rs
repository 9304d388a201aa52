//! Rate control: converts the slope of the utility into a change of the rate, with a confidence amplifier and
//! a dynamic change boundary.

/// Rate change in Mbit/s for a utility slope of one per Mbit/s. (Paper, 4.2: `θ0`.)
const CONVERSION: f64 = 1.0;
/// First boundary of a change, as fraction of the rate. (Paper, 4.2: `ω0`.)
const FIRST_BOUNDARY: f64 = 0.05;
/// Step by which the boundary widens each time a change reaches it. (Paper, 4.2: `δ`.)
const BOUNDARY_STEP: f64 = 0.1;
/// Decisions in one direction before the amplifier grows faster. (Paper, 4.2: `m(τ)`.)
const SLOW_DECISIONS: u32 = 3;

/// State of the rate control. (Paper, 4.2.)
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RateControl {
    /// Last known slope of the utility. (Paper: `γ`.)
    slope: f64,
    /// Consecutive decisions in the direction of the slope. (Paper: `τ`.)
    decisions: u32,
    /// Number of times that the boundary was widened. (Paper: `k`.)
    widened: u32,
}

impl RateControl {
    /// Slope at the last decision.
    pub(super) fn slope(&self) -> f64 {
        self.slope
    }

    /// Change of `rate`, in Mbit/s, at this `slope` of the utility.
    pub(super) fn change(&mut self, slope: f64, rate: f64) -> f64 {
        if (slope > 0.0) == (self.slope > 0.0) {
            self.decisions = self.decisions.saturating_add(1);
        } else {
            (self.decisions, self.widened) = (1, 0);
        }
        self.slope = slope;
        let wanted = self.amplifier() * CONVERSION * slope;
        let limit = self.boundary() * rate;
        if wanted.abs() > limit {
            self.widened = self.widened.saturating_add(1);
            return if wanted > 0.0 { limit } else { -limit };
        }
        let tighter = |widened: u32| RateControl { widened, ..*self }.boundary() * rate;
        while self.widened > 0 && wanted.abs() <= tighter(self.widened - 1) {
            self.widened -= 1;
        }
        wanted
    }

    /// Confidence amplifier. (Paper: `m(τ)`.)
    fn amplifier(&self) -> f64 {
        let tau = self.decisions;
        f64::from(if tau <= SLOW_DECISIONS { tau } else { tau.saturating_mul(2) - SLOW_DECISIONS })
    }

    /// Change boundary, as fraction of the rate. (Paper: `ω`.)
    pub(super) fn boundary(&self) -> f64 {
        FIRST_BOUNDARY + BOUNDARY_STEP * f64::from(self.widened)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_changes(rate_control: &mut RateControl, slope: f64, changes: &[f64]) {
        for &expected in changes {
            let change = rate_control.change(slope, 100.0);
            assert!((change - expected).abs() < 1e-9, "{change}, not {expected}");
        }
    }

    /// Slope 0.5: the amplifier is 1, 2, 3, then 2 × 4 - 3 = 5, 7 and 9; all within 5 % of 100 Mbit/s.
    #[test]
    fn confidence_grows_while_the_direction_stays() {
        assert_changes(&mut RateControl::default(), 0.5, &[0.5, 1.0, 1.5, 2.5, 3.5, 4.5]);
    }

    /// After three decisions in one direction, the first one in the other direction has an amplifier of 1.
    #[test]
    fn a_change_of_direction_resets_the_confidence() {
        let mut rate_control = RateControl::default();
        assert_changes(&mut rate_control, 0.5, &[0.5, 1.0, 1.5, 2.5]);
        assert_changes(&mut rate_control, -0.5, &[-0.5, -1.0]);
    }

    /// A slope of -1000 exceeds every boundary: 5, 15, 25, 35 % of 100 Mbit/s; after a change of direction 5
    /// % again.
    #[test]
    fn the_boundary_widens_while_changes_reach_it() {
        let mut rate_control = RateControl::default();
        assert_changes(&mut rate_control, -1000.0, &[-5.0, -15.0, -25.0, -35.0]);
        assert_changes(&mut rate_control, 1000.0, &[5.0]);
    }

    /// The boundary has widened to 25 %; the third decision is a change of 3 × 4 = 12 %, so that 15 %
    /// suffice.
    #[test]
    fn the_boundary_narrows_when_a_change_does_not_reach_it() {
        let mut rate_control = RateControl::default();
        assert_changes(&mut rate_control, 1000.0, &[5.0, 15.0]);
        assert_changes(&mut rate_control, 4.0, &[12.0]);
        assert!((rate_control.boundary() - 0.15).abs() < 1e-9);
    }
}
