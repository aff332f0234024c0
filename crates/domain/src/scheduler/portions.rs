//! What the owner of a segment keeps of it when another replica takes the rest. Of a short rest that is half. Of a long one it is a
//! portion: the owner's work of some minutes. Until the owner has done it, it is not known how far the others will be, and so which of them
//! continues behind it. With larger parts, forecasts would be wrong by as much as those take.

/// Maximum of requests read to find where to cut a segment.
pub const SURVEY_MAX: u32 = 4_096;
/// A rest of more portions is long.
const PORTIONS: u32 = 4;
const PORTION_MIN: u32 = 256;
/// A portion is a replica's work of about this time.
pub(super) const PORTION_MS: i64 = 120_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Portion(u32);

impl Default for Portion {
    /// While the speed of replicas is unknown.
    fn default() -> Self {
        Self(SURVEY_MAX / PORTIONS)
    }
}

impl Portion {
    /// For replicas that do `requests` in [`PORTION_MS`].
    pub(super) fn new(requests: i64) -> Self {
        let requests = requests.clamp(PORTION_MIN.into(), SURVEY_MAX.into());
        Self(u32::try_from(requests).unwrap_or(SURVEY_MAX))
    }

    pub(super) const fn requests(self) -> u32 {
        self.0
    }

    /// Requests to read to cut a rest in two.
    pub(super) fn survey(self, rest: i64) -> u32 {
        let most = survey_max(self.0);
        if rest > most.into() { self.0 } else { most }
    }
}

/// Of a longer rest, in requests, the owner keeps only a portion.
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
