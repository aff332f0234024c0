//! What others get meanwhile.

/// The work that is done until `own` of it is one party's, where parties get the same and each of the others has so much:
/// processor sharing, which deficit round robin comes close to.
pub(super) fn with_others(own: f64, others: &[f64]) -> f64 {
    own + others.iter().map(|other| other.min(own)).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_other_party_gets_as_much_or_all_that_it_has() {
        assert_eq!(with_others(10.0, &[]), 10.0);
        assert_eq!(with_others(10.0, &[3.0, 10.0, 90.0]), 33.0);
    }
}
