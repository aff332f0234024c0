//! Charts: one line over time, as the points of an SVG. They are pictures; the words beside them say the same.

use std::fmt::Write as _;

/// The width and height of the picture's own units.
const SIZE: (f64, f64) = (720.0, 150.0);

/// Of the height, so much is left free above the highest value.
const HEADROOM: f64 = 0.08;

/// One value for each of several times that follow each other evenly.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Chart {
    /// The points of the line.
    pub(crate) line: String,
    /// The highest value.
    pub(crate) peak: i64,
    /// The sum of the values.
    pub(crate) total: i64,
}

impl Chart {
    /// The chart of these values, none of them negative.
    pub(crate) fn of(values: &[i64]) -> Self {
        let peak = values.iter().copied().max().unwrap_or(0);
        let steps = (values.len().max(2) - 1) as f64;
        let mut line = String::with_capacity(values.len() * 12);
        for (place, value) in values.iter().enumerate() {
            let x = place as f64 / steps * SIZE.0;
            let share = *value as f64 / peak.max(1) as f64;
            let y = SIZE.1 * (1.0 - share * (1.0 - HEADROOM));
            let _ = write!(line, "{x:.1},{y:.1} ");
        }
        Self { line, peak, total: values.iter().sum() }
    }

    /// Whether there is anything to see.
    pub(crate) const fn is_flat(&self) -> bool {
        self.peak == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_fills_its_width_and_leaves_room_above() {
        let chart = Chart::of(&[0, 5, 10]);
        assert_eq!(chart.line, "0.0,150.0 360.0,81.0 720.0,12.0 ");
        assert_eq!((chart.peak, chart.total, chart.is_flat()), (10, 15, false));
    }

    #[test]
    fn nothing_is_a_flat_line() {
        assert!(Chart::of(&[0, 0]).is_flat() && Chart::of(&[]).is_flat());
        assert_eq!(Chart::of(&[0]).line, "0.0,150.0 ");
    }
}
