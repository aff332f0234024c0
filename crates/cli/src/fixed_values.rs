//! Options with a fixed set of values: shells complete them, and errors list them.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use overnight_client::RequestStatus;
use overnight_tables::Kind;

/// The names of formats; foreign names are accepted, but not shown.
pub(crate) fn kinds() -> impl TypedValueParser<Value = Kind> {
    let shown = Kind::NAMES.map(PossibleValue::new);
    let others = Kind::OTHER_NAMES.map(|name| PossibleValue::new(name).hide(true));
    PossibleValuesParser::new(shown.into_iter().chain(others)).try_map(|name| name.parse::<Kind>())
}

/// The states of requests, which include those of batches. In a shell a state is one word.
pub(crate) fn statuses() -> PossibleValuesParser {
    PossibleValuesParser::new(RequestStatus::ALL.map(|status| match status {
        RequestStatus::InProgress => PossibleValue::new("in_progress").alias(status.as_str()),
        _ => PossibleValue::new(status.as_str()),
    }))
}

/// Parses a whole number for clap.
pub(crate) fn count(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| "must be a whole number, 0 or more".to_owned())
}

#[cfg(test)]
mod tests {
    use overnight_client::BatchStatus;

    use super::*;

    #[test]
    fn states_of_batches_are_among_those_of_requests() {
        let requests = RequestStatus::ALL.map(RequestStatus::as_str);
        assert!(BatchStatus::ALL.iter().all(|status| requests.contains(&status.as_str())));
    }
}
