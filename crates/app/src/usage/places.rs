//! Cursors of usage pages: `LAST_DAY,DAY,API_KEY,MODEL` of the last record of a page. A part that the grouping sums over is empty; the API
//! key is `none` for requests without one. The last day makes every page of a list cover the same days.

use overnight_domain::ids::KeyId;
use overnight_store::ledger::usage::{Grouping, Names};
use overnight_wire::native::usage::UsageRecord;

use super::days::{read_day, spell_day};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NamedPlace {
    /// The last day of its list.
    pub(super) last_day: i64,
    /// The day of its record; 0 if days are summed.
    pub(super) day: i64,
    /// The model and API key of its record.
    pub(super) names: Names,
}

/// Replaces the API key of requests without one.
const NO_KEY: &str = "none";

/// The cursor of a record, in a list of this grouping up to `last_day`. The model is last because it may hold a comma.
pub(super) fn name_of(record: &UsageRecord, grouping: Grouping, last_day: i64) -> String {
    let part = |text: &Option<String>| text.clone().unwrap_or_default();
    let api_key = match &record.api_key_id {
        None if grouping.api_key => NO_KEY.to_owned(),
        api_key => part(api_key),
    };
    [spell_day(last_day), part(&record.day), api_key, part(&record.model)].join(",")
}

/// Reads a cursor; `None` if it is not of this grouping.
pub(super) fn read_place(name: &str, grouping: Grouping) -> Option<NamedPlace> {
    let mut parts = name.splitn(4, ',');
    let last_day = read_day(parts.next()?)?;
    let mut part = || parts.next().map(|part| Some(part).filter(|part| !part.is_empty()));
    let (day, api_key, model) = (part()?, part()?, part()?);
    if grouping != (Grouping { day: day.is_some(), model: model.is_some(), api_key: api_key.is_some() }) {
        return None;
    }
    let day = match day {
        Some(day) => read_day(day)?,
        None => 0,
    };
    let api_key = match api_key {
        Some(key) if key != NO_KEY => Some(KeyId::parse(key)?),
        _ => None,
    };
    Some(NamedPlace { last_day, day, names: Names { model: model.map(str::to_owned), api_key } })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Grouping = Grouping { day: true, model: true, api_key: true };

    fn record(day: Option<&str>, api_key_id: Option<String>, model: Option<&str>) -> UsageRecord {
        UsageRecord {
            day: day.map(str::to_owned),
            model: model.map(str::to_owned),
            api_key_id,
            api_key_name: None,
            requests: 1,
            prompt_tokens: 1,
            completion_tokens: 1,
            credits: "0".to_owned(),
        }
    }

    #[test]
    fn a_place_is_read_as_it_is_named_whatever_its_model_is_called() {
        let key = KeyId::from_bits(7);
        for model in ["tiny", "-", ",", "a,b&c=d", " "] {
            for api_key in [None, Some(key)] {
                let record = record(Some("2026-11-26"), api_key.map(|key| key.to_string()), Some(model));
                let names = Names { model: Some(model.to_owned()), api_key };
                let place = NamedPlace { last_day: 20_784, day: 20_783, names };
                assert_eq!(read_place(&name_of(&record, ALL, 20_784), ALL), Some(place));
            }
        }
        let whole = name_of(&record(None, None, None), Grouping::default(), 20_784);
        assert_eq!(whole, "2026-11-27,,,");
        assert!(read_place(&whole, Grouping::default()).is_some());
    }

    #[test]
    fn a_place_of_another_grouping_is_none() {
        let groupings: Vec<Grouping> = (0..8_u8)
            .map(|bits| Grouping { day: bits & 1 > 0, model: bits & 2 > 0, api_key: bits & 4 > 0 })
            .collect();
        for of in &groupings {
            for api_key in [None, Some(KeyId::from_bits(7).to_string())] {
                let api_key = api_key.filter(|_| of.api_key);
                let named = record(of.day.then_some("2026-11-26"), api_key, of.model.then_some("tiny"));
                let name = name_of(&named, *of, 20_784);
                for asked in &groupings {
                    assert_eq!(read_place(&name, *asked).is_some(), of == asked, "{name}");
                }
            }
        }
    }

    #[test]
    fn what_no_page_names_is_no_place() {
        let key = KeyId::from_bits(7);
        let wrong = [
            "",
            "7",
            "2026-11-27",
            "2026-11-27,,",
            "2026-11-27,,,tiny",
            ",2026-11-26,none,tiny",
            "2026-11-27,2026-11-31,none,tiny",
            "2026-11-27,2026-11-26,key_1,tiny",
            "2026-11-27,2026-11-26,,tiny",
            "2026-11-27,2026-11-26,none,",
        ];
        assert_eq!(wrong.map(|name| read_place(name, ALL)), [const { None }; 10]);
        assert!(read_place(&format!("2026-11-27,2026-11-26,{key},tiny"), ALL).is_some());
    }
}
