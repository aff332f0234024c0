//! Figures and their output.

use std::fmt;

use serde::Serialize;

/// A measured quantity, with its rounds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figure {
    pub name: String,
    pub unit: &'static str,
    /// The value to reach, if there is one.
    pub goal: Option<&'static str>,
    pub min: f64,
    pub median: f64,
    pub max: f64,
    /// Every round, in order.
    pub rounds: Vec<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// The benchmark and its size.
    pub benchmark: String,
    pub figures: Vec<Figure>,
}

impl Figure {
    pub(super) fn new(name: impl Into<String>, unit: &'static str, rounds: Vec<f64>) -> Self {
        let mut sorted = rounds.clone();
        sorted.sort_by(f64::total_cmp);
        let at = |place: usize| sorted.get(place).copied().unwrap_or(f64::NAN);
        let middle = sorted.len() / 2;
        let median = if sorted.len() % 2 == 1 {
            at(middle)
        } else {
            f64::midpoint(at(middle.wrapping_sub(1)), at(middle))
        };
        let (min, max) = (at(0), at(sorted.len().wrapping_sub(1)));
        Self { name: name.into(), unit, goal: None, min, median, max, rounds }
    }

    /// The ratio of this figure to `reference`, round by round.
    pub(super) fn ratio(&self, reference: &Self, name: impl Into<String>) -> Self {
        let pairs = self.rounds.iter().zip(&reference.rounds);
        Self::new(name, "x", pairs.map(|(one, other)| one / other).collect())
    }

    pub(super) fn with_goal(mut self, goal: &'static str) -> Self {
        self.goal = Some(goal);
        self
    }
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "{}", self.benchmark)?;
        for figure in &self.figures {
            let unit = if figure.unit == "x" { String::new() } else { format!(" {}", figure.unit) };
            let value =
                |value: f64| if value.abs() < 100.0 { format!("{value:.2}") } else { format!("{value:.0}") };
            write!(formatter, "  {:<58} {:>8}{unit}", figure.name, value(figure.median))?;
            if figure.rounds.len() > 1 {
                write!(formatter, "  ({} to {})", value(figure.min), value(figure.max))?;
            }
            if let Some(goal) = figure.goal {
                write!(formatter, "  goal {goal}")?;
            }
            if figure.unit == "x" && figure.rounds.len() > 1 {
                let pairs: Vec<String> = figure.rounds.iter().map(|ratio| value(*ratio)).collect();
                write!(formatter, "  pairs {}", pairs.join(" "))?;
            }
            writeln!(formatter)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_the_median_of_its_rounds_and_a_ratio_is_taken_pair_by_pair() {
        let ours = Figure::new("ours", "us", vec![9.0, 1.0, 4.0]);
        assert_eq!((ours.min, ours.median, ours.max), (1.0, 4.0, 9.0));
        let theirs = Figure::new("theirs", "us", vec![3.0, 1.0, 1.0]);
        assert_eq!(ours.ratio(&theirs, "ratio").rounds, [3.0, 1.0, 4.0]);
        assert_eq!(Figure::new("even", "us", vec![1.0, 3.0]).median, 2.0);
    }
}
