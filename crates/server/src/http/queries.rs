//! Query strings.

use std::borrow::Cow;
use std::fmt::Display;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use overnight_domain::faults::{Faults, Quoted, codes};
use overnight_domain::ids::RequestId;
use overnight_domain::requests::RequestStatus;

use super::context::Shared;
use super::errors::Refusal;
use super::percent;
use crate::app::errors::AppError;
use crate::app::requests::{Direction, ListQuery};
use crate::spelling::nearest;

/// The parameters of a query, each known and there once.
pub(super) struct Parameters<'a> {
    pairs: Vec<(Cow<'a, str>, Cow<'a, str>)>,
    faults: Faults,
}

impl<'a> Parameters<'a> {
    /// Reads a query of which only `known` names may be in.
    pub(super) fn read(query: &'a str, known: &[&str]) -> Result<Self, Refusal> {
        let parameters = Self::collect(query, known)?;
        if parameters.faults.is_empty() {
            Ok(parameters)
        } else {
            Err(AppError::from(parameters.faults).into())
        }
    }

    fn collect(query: &'a str, known: &[&str]) -> Result<Self, Refusal> {
        let mut pairs: Vec<(Cow<'a, str>, Cow<'a, str>)> = Vec::new();
        let mut faults = Faults::default();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (Some(name), Some(value)) = (percent::decode_query(name), percent::decode_query(value))
            else {
                faults.push("query", codes::INVALID_ENCODING, "is not percent-encoded UTF-8");
                continue;
            };
            if !known.contains(&name.as_ref()) {
                faults.push(Quoted(&name), codes::UNKNOWN_PARAMETER, hint(&name, known));
            } else if pairs.iter().any(|(other, _)| *other == name) {
                faults.push(&name, codes::DUPLICATE_PARAMETER, "stands more than once in the query");
            } else {
                pairs.push((name, value));
            }
        }
        Ok(Self { pairs, faults })
    }

    fn value<T>(
        &mut self,
        name: &str,
        expected: impl Display,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        let (_, text) = self.pairs.iter().find(|(known, _)| known == name)?;
        let value = read(text);
        if value.is_none() {
            let message = format_args!("must be {expected}, not '{}'", Quoted(text));
            self.faults.push(name, codes::UNKNOWN_VALUE, message);
        }
        value
    }
}

fn hint(name: &str, known: &[&str]) -> String {
    match nearest(name, known) {
        Some(nearest) => format!("is not a known query parameter; did you mean {nearest}?"),
        None if known.is_empty() => "is not known: this call takes no query parameters".to_owned(),
        None => format!("is not a known query parameter; the known ones are {}", known.join(", ")),
    }
}

/// What List Requests is asked for.
pub(super) struct RequestsQuery {
    /// Whole records, not just how they stand.
    pub(super) full: bool,
    /// Which requests.
    pub(super) list: ListQuery,
}

const KNOWN: [&str; 8] =
    ["full", "status", "model", "created_after", "created_before", "limit", "after", "order"];

impl RequestsQuery {
    /// Reads a query in which statuses have the names that `name_of` gives them.
    pub(super) fn read(query: &str, name_of: fn(RequestStatus) -> &'static str) -> Result<Self, Refusal> {
        let mut parameters = Parameters::collect(query, &KNOWN)?;
        let statuses = RequestStatus::ALL.map(name_of).join(", ");
        let status_of = |name: &str| RequestStatus::ALL.into_iter().find(|&status| name_of(status) == name);
        let second = "an integer, in Unix seconds";
        let query = Self {
            full: parameters.value("full", "true, false, 1 or 0", read_flag).unwrap_or(false),
            list: ListQuery {
                status: parameters.value("status", format_args!("one of {statuses}"), status_of),
                model: parameters.value("model", "the name of a model", |text| Some(text.to_owned())),
                created_after: parameters.value("created_after", second, |text| text.parse().ok()),
                created_before: parameters.value("created_before", second, |text| text.parse().ok()),
                limit: parameters.value("limit", "an integer from 1 on", |text| {
                    text.parse().ok().filter(|limit| *limit > 0)
                }),
                after: parameters.value("after", "the id of a request", |text| {
                    Some(RequestId::parse(text).unwrap_or(RequestId::from_bits(0)))
                }),
                direction: parameters.value("order", "asc or desc", read_order).unwrap_or_default(),
            },
        };
        if parameters.faults.is_empty() { Ok(query) } else { Err(AppError::from(parameters.faults).into()) }
    }
}

fn read_flag(text: &str) -> Option<bool> {
    match text {
        "true" | "1" => Some(true),
        "false" | "0" => Some(false),
        _ => None,
    }
}

fn read_order(text: &str) -> Option<Direction> {
    match text {
        "asc" => Some(Direction::OldestFirst),
        "desc" => Some(Direction::NewestFirst),
        _ => None,
    }
}

impl FromRequestParts<Shared> for RequestsQuery {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &Shared) -> Result<Self, Refusal> {
        Self::read(parts.uri.query().unwrap_or_default(), RequestStatus::as_str)
    }
}
