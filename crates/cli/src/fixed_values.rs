//! Options whose values are known: shells complete them, and others are refused with the list of them.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use overnight_client::RequestStatus;
use overnight_tables::Kind;

/// The names of formats; those of elsewhere are read, and not shown.
pub(crate) fn kinds() -> impl TypedValueParser<Value = Kind> {
    let shown = Kind::NAMES.map(PossibleValue::new);
    let others = Kind::OTHER_NAMES.map(|name| PossibleValue::new(name).hide(true));
    PossibleValuesParser::new(shown.into_iter().chain(others)).try_map(|name| name.parse::<Kind>())
}

/// The states of requests, among which are those of batches, as a shell has them in one word.
pub(crate) fn statuses() -> PossibleValuesParser {
    PossibleValuesParser::new(RequestStatus::ALL.map(|status| match status {
        RequestStatus::InProgress => PossibleValue::new("in_progress").alias(status.as_str()),
        _ => PossibleValue::new(status.as_str()),
    }))
}

/// A number of things, as clap wants its readers.
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
