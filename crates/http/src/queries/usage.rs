use overnight_app::errors::AppError;
use overnight_app::usage::{Grouping, UsageQuery, read_day};

use super::Parameters;
use crate::errors::Refusal;

const KNOWN: [&str; 5] = ["group_by", "first_day", "last_day", "after", "limit"];

const LIMIT_DEFAULT: u32 = 100;
const LIMIT_MAX: u32 = 1_000;

pub(crate) fn read_usage_query(query: &str) -> Result<UsageQuery, Refusal> {
    let mut parameters = Parameters::collect(query, &KNOWN)?;
    let day = "a day, as 2026-11-01";
    let in_range = |text: &str| text.parse().ok().filter(|limit| (1..=LIMIT_MAX).contains(limit));
    let query = UsageQuery {
        grouping: parameters
            .value("group_by", "some of day, model and api_key, with commas between them", read_grouping)
            .unwrap_or(Grouping { day: true, model: true, api_key: false }),
        first_day: parameters.value("first_day", day, read_day),
        last_day: parameters.value("last_day", day, read_day),
        after: parameters.value("after", "the next of a page", |text| Some(text.to_owned())),
        limit: parameters
            .value("limit", format_args!("an integer from 1 to {LIMIT_MAX}"), in_range)
            .unwrap_or(LIMIT_DEFAULT),
    };
    if parameters.faults.is_empty() { Ok(query) } else { Err(AppError::from(parameters.faults).into()) }
}

/// One to three parts, in any order.
fn read_grouping(text: &str) -> Option<Grouping> {
    const PARTS_MAX: usize = 3;
    let mut grouping = Grouping::default();
    for (place, part) in text.split(',').enumerate() {
        match part {
            _ if place == PARTS_MAX => return None,
            "day" => grouping.day = true,
            "model" => grouping.model = true,
            "api_key" => grouping.api_key = true,
            _ => return None,
        }
    }
    Some(grouping)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grouping_names_its_parts() {
        let told = |day, model, api_key| Some(Grouping { day, model, api_key });
        assert_eq!(read_grouping("day"), told(true, false, false));
        assert_eq!(read_grouping("api_key,model"), told(false, true, true));
        assert_eq!(read_grouping("model,day,api_key"), told(true, true, true));
        assert_eq!(read_grouping("day,day,model"), told(true, true, false));
        assert_eq!(["", "days", "day,", "day,day,day,day", "day model"].map(read_grouping), [None; 5]);
    }
}
