//! Maximum of a sliding window, from the three best samples.
//!
//! Source: K. Nichols' windowed filter, as described in draft-cardwell-iccrg-bbr-congestion-control-00, 4.1.

/// Maximum of the values in a sliding window; for the minimum, wrap values in [`std::cmp::Reverse`].
///
/// The estimate may be below the true maximum for up to a quarter of the window; it is never above.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WindowedMax<T> {
    /// The best value, the best one after it, and the best one after that; each as `(at, value)`.
    best: [(u64, T); 3],
}

impl<T: Copy + PartialOrd> WindowedMax<T> {
    /// Creates a filter with the single value `value` at `at`.
    pub(crate) fn new(value: T, at: u64) -> WindowedMax<T> {
        WindowedMax { best: [(at, value); 3] }
    }

    pub(crate) fn get(&self) -> T {
        self.best[0].1
    }

    /// Adds `value` at `at`, and forgets values older than `window`, in the unit of `at`.
    #[inline]
    pub(crate) fn update(&mut self, value: T, at: u64, window: u64) {
        let sample = (at, value);
        let best = &mut self.best;
        if value >= best[0].1 || at - best[2].0 > window {
            *best = [sample; 3];
            return;
        }
        if value >= best[1].1 {
            best[1] = sample;
            best[2] = sample;
        } else if value >= best[2].1 {
            best[2] = sample;
        }
        let age = at - best[0].0;
        if age > window {
            *best = [best[1], best[2], sample];
            if at - best[0].0 > window {
                *best = [best[1], best[2], sample];
            }
        } else if best[1].0 == best[0].0 && age > window / 4 {
            best[1] = sample;
            best[2] = sample;
        } else if best[2].0 == best[1].0 && age > window / 2 {
            best[2] = sample;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_maximum_is_forgotten_after_its_window() {
        let mut max = WindowedMax::new(100, 0);
        for at in 1..=11 {
            max.update(50, at, 10);
            assert_eq!(max.get(), if at <= 10 { 100 } else { 50 }, "at {at}");
        }
    }

    /// 100 at 0, 80 at 6, otherwise 50: the maximum is 80 from 11 on, and 50 from 17 on.
    #[test]
    fn the_second_best_value_follows_the_best() {
        let mut max = WindowedMax::new(100, 0);
        let seen: Vec<_> = (1..=17)
            .map(|at| {
                max.update(if at == 6 { 80 } else { 50 }, at, 10);
                max.get()
            })
            .collect();
        assert_eq!((seen[9], seen[10], seen[15], seen[16]), (100, 80, 80, 50));
    }

    #[test]
    fn a_greater_value_is_the_maximum_at_once() {
        let mut max = WindowedMax::new(100, 0);
        max.update(101, 1, 10);
        assert_eq!(max.get(), 101);
    }
}
