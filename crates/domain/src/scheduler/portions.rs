//! What the owner of a segment keeps of it, where another replica takes what lies behind. Of a short rest that is half. Of a long one it
//! is a portion: what the owner does within minutes, because until it has done that nobody knows how far others will have come, and so
//! which of them goes on with what lies behind. With larger parts forecasts would be wrong by as much as those take.

/// Requests that are read at most to find where a segment is cut.
pub const SURVEY_MAX: u32 = 4_096;
/// A rest of more portions than this is long.
const PORTIONS: u32 = 4;
/// A portion is no smaller than this.
const PORTION_MIN: u32 = 256;
/// A portion is what a replica does in about this.
pub(super) const PORTION_MS: i64 = 120_000;

/// So many requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Portion(u32);

impl Default for Portion {
    /// While nobody knows how fast replicas are.
    fn default() -> Self {
        Self(SURVEY_MAX / PORTIONS)
    }
}

impl Portion {
    /// For replicas that do so many requests in [`PORTION_MS`].
    pub(super) fn new(requests: i64) -> Self {
        let requests = requests.clamp(PORTION_MIN.into(), SURVEY_MAX.into());
        Self(u32::try_from(requests).unwrap_or(SURVEY_MAX))
    }

    /// So many requests.
    pub(super) const fn requests(self) -> u32 {
        self.0
    }

    /// How many requests are read to cut a rest in two.
    pub(super) fn survey(self, rest: i64) -> u32 {
        let most = survey_max(self.0);
        if rest > most.into() { self.0 } else { most }
    }
}

/// Of a rest of more requests than this its owner keeps a portion.
pub fn survey_max(portion: u32) -> u32 {
    portion.saturating_mul(PORTIONS).min(SURVEY_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_rest_a_survey_reads_a_portion_and_of_a_short_one_all() {
        for (done, rest, expected) in [
            (0, 1_024, 1_024),
            (0, 1_025, 256),
            (500, 2_000, 2_000),
            (500, 2_001, 500),
            (3_000, 4_096, 4_096),
            (3_000, 4_097, 3_000),
            (i64::MAX, i64::MAX, 4_096),
        ] {
            assert_eq!(Portion::new(done).survey(rest), expected, "{done} {rest}");
        }
        assert_eq!((Portion::default().survey(4_096), Portion::default().survey(4_097)), (4_096, 1_024));
    }
}
