//! From samples to three numbers.

/// The middle of some samples, and how far they spread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// Half of the samples are below.
    pub median: f64,
    /// A quarter of the samples is below.
    pub p25: f64,
    /// Three quarters of the samples are below.
    pub p75: f64,
}

impl Summary {
    /// Sums samples up; nothing if there are none. Samples that are not numbers are left out.
    #[must_use]
    pub fn of(samples: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = samples
            .into_iter()
            .filter(|sample| sample.is_finite())
            .collect();
        sorted.sort_by(f64::total_cmp);
        Some(Self {
            median: quantile(&sorted, 0.5)?,
            p25: quantile(&sorted, 0.25)?,
            p75: quantile(&sorted, 0.75)?,
        })
    }

    /// The median of `above[i] / below[i]`: noise that hits both sides of a round cancels out.
    #[must_use]
    pub fn of_ratios(above: &[f64], below: &[f64]) -> Option<Self> {
        Self::of(above.iter().zip(below).map(|(above, below)| above / below))
    }

    /// Half of the distance between the quartiles, in percent of the median.
    #[must_use]
    pub fn spread_percent(&self) -> f64 {
        if self.median == 0.0 {
            return 0.0;
        }
        (self.p75 - self.p25) / 2.0 / self.median * 100.0
    }
}

/// The value below which `share` of the samples lie, between neighbours by straight line.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "positions in a short list"
)]
fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let position = share * last as f64;
    let below = sorted.get(position.floor() as usize)?;
    let above = sorted.get(position.ceil() as usize)?;
    Some(below + (above - below) * position.fract())
}

#[cfg(test)]
mod tests {
    use super::Summary;

    #[test]
    fn the_median_does_not_mind_an_outlier() {
        let summary = Summary::of([3.0, 1.0, 1_000_000.0, 2.0, 4.0]).unwrap();
        assert_eq!((summary.p25, summary.median, summary.p75), (2.0, 3.0, 4.0));
    }

    #[test]
    fn between_neighbours_it_is_a_straight_line() {
        let summary = Summary::of([1.0, 2.0, 3.0, 4.0]).unwrap();
        assert_eq!(
            (summary.p25, summary.median, summary.p75),
            (1.75, 2.5, 3.25)
        );
        let one = Summary::of([7.0]).unwrap();
        assert_eq!((one.p25, one.median, one.p75), (7.0, 7.0, 7.0));
        assert_eq!(Summary::of([]), None);
    }

    #[test]
    fn ratios_are_taken_within_a_round() {
        // The machine is twice as slow in the second round; the ratio is not.
        let ratio = Summary::of_ratios(&[11.0, 22.0, 11.0], &[10.0, 20.0, 10.0]).unwrap();
        assert!((ratio.median - 1.1).abs() < 1e-9);
        assert!(ratio.spread_percent() < 1e-9);
    }

    #[test]
    fn what_is_no_number_is_left_out() {
        let ratio = Summary::of_ratios(&[0.0, 2.0], &[0.0, 1.0]).unwrap();
        assert_eq!(ratio.median, 2.0);
    }
}
