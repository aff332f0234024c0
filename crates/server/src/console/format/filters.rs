//! What templates write behind a bar.

#![expect(unreachable_pub, reason = "what a filter becomes is public")]

use std::fmt::Display;

use askama::{Result, Values};
use overnight_domain::batches::Counters;

use super::Holds;
use super::pictures::{Night, State};
use super::times::{Grain, Instant};

#[askama::filter_fn]
pub(in crate::console) fn state(word: impl Display, _: &dyn Values) -> Result<State> {
    Ok(State(word.to_string()))
}

/// How a batch stands that has this status and these counts.
#[askama::filter_fn]
pub(in crate::console) fn batch_state(
    status: impl Display,
    _: &dyn Values,
    counters: &Counters,
) -> Result<State> {
    Ok(State::of_batch(status.to_string(), counters))
}

/// A status in the word that people read everywhere.
#[askama::filter_fn]
pub(in crate::console) fn word(status: impl Display, _: &dyn Values) -> Result<String> {
    let status = status.to_string();
    Ok(if status == "registered" { "waiting".to_owned() } else { status })
}

#[askama::filter_fn]
pub(in crate::console) fn night(counters: &Counters, _: &dyn Values) -> Result<Night> {
    Ok(Night(*counters))
}

/// A whole number with its thousands apart.
#[askama::filter_fn]
pub(in crate::console) fn count(number: impl Display, _: &dyn Values) -> Result<String> {
    Ok(super::count(&number))
}

/// A length of time in milliseconds, in its two largest units.
#[askama::filter_fn]
pub(in crate::console) fn duration(milliseconds: impl Holds<i64>, _: &dyn Values) -> Result<String> {
    Ok(super::duration(&milliseconds.held()))
}

#[askama::filter_fn]
pub(in crate::console) fn short(id: impl Display, _: &dyn Values) -> Result<String> {
    Ok(super::short(&id))
}

#[askama::filter_fn]
pub(in crate::console) fn time(milliseconds: impl Holds<i64>, _: &dyn Values) -> Result<Instant> {
    Ok(Instant { milliseconds: milliseconds.held(), grain: Grain::Minute })
}

/// A time to the second.
#[askama::filter_fn]
pub(in crate::console) fn second(milliseconds: impl Holds<i64>, _: &dyn Values) -> Result<Instant> {
    Ok(Instant { milliseconds: milliseconds.held(), grain: Grain::Second })
}

/// A day.
#[askama::filter_fn]
pub(in crate::console) fn day(milliseconds: impl Holds<i64>, _: &dyn Values) -> Result<Instant> {
    Ok(Instant { milliseconds: milliseconds.held(), grain: Grain::Day })
}
