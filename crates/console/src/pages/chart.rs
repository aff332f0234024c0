//! Charts: bars over time, as SVG paths. The text beside them has the same information, and a script shows the value of a selected bar.

use std::fmt::Write as _;

/// In the picture's own units.
const SIZE: (f64, f64) = (720.0, 150.0);

/// The part of a bar's width that is left free beside it.
const GAP: f64 = 0.15;

/// Values of one kind, one per bar.
pub(crate) struct Series<'v> {
    pub class: &'static str,
    /// What is counted, if there are several series.
    pub word: &'static str,
    pub values: &'v [i64],
}

/// Bars at equal intervals.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Chart {
    /// For each series its class and the path of its bars, stacked on the series before.
    pub(super) paths: Vec<(&'static str, String)>,
    /// The values at the full and at half the height.
    pub(super) ticks: [String; 2],
    /// A text for each bar, separated by `|`; empty for empty bars.
    pub(super) told: String,
    /// The beginning of the first bar, in milliseconds.
    pub(super) first_at: i64,
    pub(super) step_ms: i64,
    /// The end of the last bar, in milliseconds.
    pub(super) last_at: i64,
    pub(super) peak: String,
    pub(super) total: String,
    is_flat: bool,
}

impl Chart {
    /// A chart of series of the same length without negative values. `show` formats a value.
    pub(crate) fn of(
        series: &[Series<'_>],
        first_at: i64,
        step_ms: i64,
        show: impl Fn(i64) -> String,
    ) -> Self {
        let count = series.first().map_or(0, |it| it.values.len());
        let sum_at = |place: usize| series.iter().fold(0_i64, |sum, it| sum.saturating_add(it.values[place]));
        let sums: Vec<i64> = (0..count).map(sum_at).collect();
        let peak = sums.iter().copied().max().unwrap_or(0);
        let top = nice(peak);
        let mut floors = vec![0_i64; count];
        let paths = series.iter().map(|it| (it.class, path(it.values, &mut floors, top))).collect();
        let told: Vec<String> = (0..count).map(|place| tell(series, place, &show)).collect();
        Self {
            paths,
            ticks: [show(top), show(top / 2)],
            told: told.join("|"),
            first_at,
            step_ms,
            last_at: first_at + step_ms * count as i64,
            peak: show(peak),
            total: show(sums.iter().fold(0, |sum, it| sum.saturating_add(*it))),
            is_flat: peak == 0,
        }
    }

    /// Whether all values are 0.
    pub(crate) const fn is_flat(&self) -> bool {
        self.is_flat
    }

    /// The middle of the interval, in milliseconds.
    pub(super) const fn middle_at(&self) -> i64 {
        self.first_at + (self.last_at - self.first_at) / 2
    }
}

pub(super) fn line(values: &[i64]) -> String {
    let peak = values.iter().copied().max().unwrap_or(0).max(1) as f64;
    let steps = (values.len().max(2) - 1) as f64;
    let mut line = String::with_capacity(values.len() * 12);
    for (place, value) in values.iter().enumerate() {
        let (x, y) = (place as f64 / steps * SIZE.0, SIZE.1 * (1.0 - *value as f64 / peak));
        // Writing to memory cannot fail.
        let _ = write!(line, "{x:.0},{y:.0} ");
    }
    line
}

fn path(values: &[i64], floors: &mut [i64], top: i64) -> String {
    let room = SIZE.0 / values.len().max(1) as f64;
    let height = |value: i64| value as f64 / top.max(1) as f64 * SIZE.1;
    let mut path = String::new();
    for (place, (value, floor)) in values.iter().zip(floors).enumerate().filter(|(_, (value, _))| **value > 0)
    {
        let (x, width) = ((place as f64 + GAP / 2.0) * room, (1.0 - GAP) * room);
        // The least visible height of a value above 0.
        let (y, tall) = (SIZE.1 - height(*floor), height(*value).max(1.5));
        // Writing to memory cannot fail.
        let _ = write!(path, "M{x:.1} {y:.1}v-{tall:.1}h{width:.1}v{tall:.1}z");
        *floor = floor.saturating_add(*value);
    }
    path
}

fn tell(series: &[Series<'_>], place: usize, show: impl Fn(i64) -> String) -> String {
    let some = series.iter().filter(|it| it.values[place] > 0);
    let told = some.map(|it| match it.word {
        "" => show(it.values[place]),
        word => format!("{} {word}", show(it.values[place])),
    });
    told.collect::<Vec<_>>().join(", ")
}

/// The next round value of an axis: 1, 2 or 5 times a power of ten.
fn nice(peak: i64) -> i64 {
    let Some(power) = peak.max(0).checked_ilog10().and_then(|digits| 10_i64.checked_pow(digits)) else {
        return 2;
    };
    let steps = [1, 2, 4, 5, 10].into_iter().filter_map(|times| power.checked_mul(times));
    steps.into_iter().find(|step| *step >= peak).unwrap_or(peak).max(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series<'v>(class: &'static str, word: &'static str, values: &'v [i64]) -> Series<'v> {
        Series { class, word, values }
    }

    #[test]
    fn bars_stand_on_each_other_under_a_top_that_people_like_to_read() {
        let both = [series("done", "completed", &[0, 60, 30]), series("fail", "failed", &[0, 20, 0])];
        let chart = Chart::of(&both, 1_000, 500, |value| value.to_string());
        assert_eq!(chart.ticks, ["100", "50"]);
        assert_eq!(chart.told, "|60 completed, 20 failed|30 completed");
        let [(_, done), (_, fail)] = &chart.paths[..] else { panic!("{chart:?}") };
        assert_eq!(done, "M258.0 150.0v-90.0h204.0v90.0zM498.0 150.0v-45.0h204.0v45.0z");
        assert_eq!(fail, "M258.0 60.0v-30.0h204.0v30.0z");
        assert_eq!((chart.last_at, chart.middle_at()), (2_500, 1_750));
        assert_eq!((&*chart.peak, &*chart.total, chart.is_flat()), ("80", "110", false));
    }

    #[test]
    fn nothing_is_flat() {
        let show = |value: i64| value.to_string();
        assert!(Chart::of(&[series("done", "", &[0, 0])], 0, 1, show).is_flat());
        assert!(Chart::of(&[], 0, 1, show).is_flat());
    }

    #[test]
    fn the_top_of_an_axis_is_round() {
        for (peak, top) in
            [(0, 2), (1, 2), (3, 4), (7, 10), (11, 20), (193, 200), (450, 500), (i64::MAX, i64::MAX)]
        {
            assert_eq!(nice(peak), top);
        }
    }

    #[test]
    fn a_line_goes_from_side_to_side() {
        assert_eq!(line(&[0, 5, 10]), "0,150 360,75 720,0 ");
    }
}
