//! Template filters.

#![expect(unreachable_pub, reason = "what a filter becomes is public")]

use std::fmt::Display;

use askama::{Result, Values};
use overnight_domain::batches::Counters;

use super::Holds;
use super::pictures::{Night, State};
use super::times::{Grain, Instant};

#[askama::filter_fn]
pub(crate) fn state(word: impl Display, _: &dyn Values) -> Result<State> {
    Ok(State(word.to_string()))
}

#[askama::filter_fn]
pub(crate) fn batch_state(status: impl Display, _: &dyn Values, counters: &Counters) -> Result<State> {
    Ok(State::of_batch(status.to_string(), counters))
}

/// The status as everywhere in the console.
#[askama::filter_fn]
pub(crate) fn word(status: impl Display, _: &dyn Values) -> Result<String> {
    let status = status.to_string();
    Ok(if status == "registered" { "waiting".to_owned() } else { status })
}

#[askama::filter_fn]
pub(crate) fn night(counters: &Counters, _: &dyn Values) -> Result<Night> {
    Ok(Night(*counters))
}

#[askama::filter_fn]
pub(crate) fn count(number: impl Display, _: &dyn Values) -> Result<String> {
    Ok(super::count(&number))
}

#[askama::filter_fn]
pub(crate) fn duration(milliseconds: impl Holds<i64>, _: &dyn Values) -> Result<String> {
    Ok(super::duration(&milliseconds.held()))
}

#[askama::filter_fn]
pub(crate) fn short(id: impl Display, _: &dyn Values) -> Result<String> {
    Ok(super::short(&id))
}

#[askama::filter_fn]
pub(crate) fn time(milliseconds: impl Holds<i64>, _: &dyn Values) -> Result<Instant> {
    Ok(Instant { milliseconds: milliseconds.held(), grain: Grain::Minute })
}

#[askama::filter_fn]
pub(crate) fn second(milliseconds: impl Holds<i64>, _: &dyn Values) -> Result<Instant> {
    Ok(Instant { milliseconds: milliseconds.held(), grain: Grain::Second })
}

#[askama::filter_fn]
pub(crate) fn day(milliseconds: impl Holds<i64>, _: &dyn Values) -> Result<Instant> {
    Ok(Instant { milliseconds: milliseconds.held(), grain: Grain::Day })
}
