mod usage;

use std::borrow::Cow;
use std::fmt::Display;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use overnight_domain::batches::BatchStatus;
use overnight_domain::faults::{Faults, Quoted, codes};
use overnight_domain::ids::{BatchId, Id, Kind, RequestId};
use overnight_domain::requests::RequestStatus;

pub(super) use self::usage::read_usage_query;
use overnight_app::batches::BatchQuery;
use overnight_app::errors::AppError;
use overnight_app::requests::{Direction, ListQuery};
use overnight_base::percent;
use overnight_base::spelling::nearest;

use super::context::Shared;
use super::errors::Refusal;

/// The largest limit of a native list: the maximum of the reference's type, `int64`.
const LIMIT_MAX: u64 = i64::MAX as u64;

/// The parameters of a query, each known and present at most once.
pub(super) struct Parameters<'a> {
    pairs: Vec<(Cow<'a, str>, Cow<'a, str>)>,
    faults: Faults,
}

impl<'a> Parameters<'a> {
    /// Reads a query with only `known` names.
    pub(super) fn read(query: &'a str, known: &[&str]) -> Result<Self, Refusal> {
        let parameters = Self::collect(query, known)?;
        if parameters.faults.is_empty() {
            Ok(parameters)
        } else {
            Err(AppError::from(parameters.faults).into())
        }
    }

    /// Reads a query, ignoring all but the `known` names.
    fn read_some(query: &'a str, known: &[&str]) -> Result<Self, Refusal> {
        let is_known = |pair: &&str| {
            let name = pair.split('=').next().unwrap_or_default();
            percent::decode_query(name).is_some_and(|name| known.contains(&name.as_ref()))
        };
        let mut parameters = Self { pairs: Vec::new(), faults: Faults::default() };
        for pair in query.split('&').filter(is_known) {
            let one = Self::collect(pair, known)?;
            parameters.faults.append(one.faults);
            for (name, value) in one.pairs {
                if parameters.pairs.iter().any(|(other, _)| *other == name) {
                    parameters.faults.push(
                        &name,
                        codes::DUPLICATE_PARAMETER,
                        "stands more than once in the query",
                    );
                }
                parameters.pairs.push((name, value));
            }
        }
        Ok(parameters)
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

    fn second(&mut self, name: &str) -> Option<i64> {
        self.value(name, "an integer, in Unix seconds", |text| text.parse().ok())
    }

    fn flag(&mut self, name: &str) -> Option<bool> {
        self.value(name, "true, false, 1 or 0", read_flag)
    }

    fn limit(&mut self) -> Option<u64> {
        let in_range = |text: &str| text.parse().ok().filter(|limit| (1..=LIMIT_MAX).contains(limit));
        self.value("limit", format_args!("an integer from 1 to {LIMIT_MAX}"), in_range)
    }

    fn direction(&mut self) -> Direction {
        self.value("order", "asc or desc", read_order).unwrap_or_default()
    }
}

fn hint(name: &str, known: &[&str]) -> String {
    match nearest(name, known) {
        Some(nearest) => format!("is not a known query parameter; did you mean {nearest}?"),
        None if known.is_empty() => "is not known: this call takes no query parameters".to_owned(),
        None => format!("is not a known query parameter; the known ones are {}", known.join(", ")),
    }
}

pub(super) struct RequestsQuery {
    /// Whole records, not only their states.
    pub(super) full: bool,
    pub(super) list: ListQuery,
}

const KNOWN: [&str; 8] =
    ["full", "status", "model", "created_after", "created_before", "limit", "after", "order"];

impl RequestsQuery {
    /// `name_of` gives the names of statuses.
    pub(super) fn read(query: &str, name_of: fn(RequestStatus) -> &'static str) -> Result<Self, Refusal> {
        let mut parameters = Parameters::collect(query, &KNOWN)?;
        let statuses = RequestStatus::ALL.map(name_of).join(", ");
        let status_of = |name: &str| RequestStatus::ALL.into_iter().find(|&status| name_of(status) == name);
        let query = Self {
            full: parameters.flag("full").unwrap_or(false),
            list: ListQuery {
                status: parameters.value("status", format_args!("one of {statuses}"), status_of),
                model: parameters.value("model", "the name of a model", |text| Some(text.to_owned())),
                created_after: parameters.second("created_after"),
                created_before: parameters.second("created_before"),
                limit: parameters.limit(),
                after: parameters.value("after", "the id of a request", |text| {
                    Some(RequestId::parse(text).unwrap_or(RequestId::from_bits(0)))
                }),
                direction: parameters.direction(),
            },
        };
        if parameters.faults.is_empty() { Ok(query) } else { Err(AppError::from(parameters.faults).into()) }
    }
}

/// One parameter of a query, ignoring others; `None` if it is absent.
pub(super) fn read_value<T>(
    query: &str,
    name: &str,
    expected: &str,
    read: impl FnOnce(&str) -> Option<T>,
) -> Result<Option<T>, Refusal> {
    let mut parameters = Parameters::read_some(query, &[name])?;
    let value = parameters.value(name, expected, read);
    if parameters.faults.is_empty() { Ok(value) } else { Err(AppError::from(parameters.faults).into()) }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ResultsQuery {
    /// Whether to continue until the batch has ended.
    pub(super) follow: bool,
    /// As the client sent it.
    pub(super) after: Option<String>,
}

impl ResultsQuery {
    pub(super) fn read(query: &str) -> Result<Self, Refusal> {
        let mut parameters = Parameters::collect(query, &["follow", "after"])?;
        let follow = parameters.flag("follow").unwrap_or(false);
        let after = parameters.value("after", "the id of a request", |text| Some(text.to_owned()));
        if parameters.faults.is_empty() {
            Ok(Self { follow, after })
        } else {
            Err(AppError::from(parameters.faults).into())
        }
    }
}

/// `true` or `false`.
pub(super) fn read_flag(text: &str) -> Option<bool> {
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

pub(super) struct PageQuery<K> {
    /// Continues after this one. The identifier zero is never found.
    pub(super) after: Option<Id<K>>,
    pub(super) limit: u32,
    /// The newest first by default.
    pub(super) direction: Direction,
}

impl<K: Kind> PageQuery<K> {
    /// Reads `after`, `limit` (1 to `max`, or else `default`) and `order`; others are ignored.
    pub(super) fn read(query: &str, default: u32, max: u32) -> Result<Self, Refusal> {
        let mut parameters = Parameters::read_some(query, &["after", "limit", "order"])?;
        let in_range = |text: &str| text.parse().ok().filter(|limit| (1..=max).contains(limit));
        let query = Self {
            after: parameters
                .value("after", "an id", |text| Some(Id::parse(text).unwrap_or(Id::from_bits(0)))),
            limit: parameters
                .value("limit", format_args!("an integer from 1 to {max}"), in_range)
                .unwrap_or(default),
            direction: parameters.value("order", "asc or desc", read_order).unwrap_or(Direction::NewestFirst),
        };
        if parameters.faults.is_empty() { Ok(query) } else { Err(AppError::from(parameters.faults).into()) }
    }
}

/// A page of a list with a single order.
pub(super) struct PlaceQuery<T> {
    pub(super) after: Option<T>,
    pub(super) limit: u32,
}

impl<T> PlaceQuery<T> {
    /// Reads `after`, whose form is `expected`, and `limit`: 1 to `max`, or else `default`.
    pub(super) fn read(
        query: &str,
        expected: &str,
        place: impl FnOnce(&str) -> Option<T>,
        default: u32,
        max: u32,
    ) -> Result<Self, Refusal> {
        let mut parameters = Parameters::collect(query, &["after", "limit"])?;
        let in_range = |text: &str| text.parse().ok().filter(|limit| (1..=max).contains(limit));
        let query = Self {
            after: parameters.value("after", expected, place),
            limit: parameters
                .value("limit", format_args!("an integer from 1 to {max}"), in_range)
                .unwrap_or(default),
        };
        if parameters.faults.is_empty() { Ok(query) } else { Err(AppError::from(parameters.faults).into()) }
    }
}

/// A page before or after an item.
pub(super) struct EdgeQuery {
    pub(super) before: Option<String>,
    pub(super) after: Option<String>,
    pub(super) limit: usize,
}

impl EdgeQuery {
    const DEFAULT: usize = 20;
    const MAX: usize = 1_000;

    /// Reads `before_id` or `after_id`, and `limit`; others are ignored.
    pub(super) fn read(query: &str) -> Result<Self, Refusal> {
        let mut parameters = Parameters::read_some(query, &["before_id", "after_id", "limit"])?;
        let in_range = |text: &str| text.parse().ok().filter(|limit| (1..=Self::MAX).contains(limit));
        let id = |text: &str| Some(text.to_owned());
        let query = Self {
            before: parameters.value("before_id", "an id", id),
            after: parameters.value("after_id", "an id", id),
            limit: parameters
                .value("limit", format_args!("an integer from 1 to {}", Self::MAX), in_range)
                .unwrap_or(Self::DEFAULT),
        };
        if query.before.is_some() && query.after.is_some() {
            parameters.faults.push("before_id", codes::CONFLICT, "and after_id exclude each other");
        }
        if parameters.faults.is_empty() { Ok(query) } else { Err(AppError::from(parameters.faults).into()) }
    }
}

const BATCH_FILTERS: [&str; 7] =
    ["status", "created_after", "created_before", "limit", "after", "order", "requests_ids"];

/// Reads the filters of List Batches; `name_of` gives the names of statuses. Other parameters are ignored, because the call takes no other
/// input.
pub(super) fn read_batch_query(
    query: &str,
    name_of: fn(BatchStatus) -> &'static str,
) -> Result<BatchQuery, Refusal> {
    let mut parameters = Parameters::read_some(query, &BATCH_FILTERS)?;
    let statuses = BatchStatus::ALL.map(name_of).join(", ");
    let status_of = |name: &str| BatchStatus::ALL.into_iter().find(|&status| name_of(status) == name);
    let query = BatchQuery {
        status: parameters.value("status", format_args!("one of {statuses}"), status_of),
        created_after: parameters.second("created_after"),
        created_before: parameters.second("created_before"),
        limit: parameters.limit(),
        after: parameters.value("after", "the id of a batch", |text| {
            Some(BatchId::parse(text).unwrap_or(BatchId::from_bits(0)))
        }),
        direction: parameters.direction(),
        is_brief: parameters.flag("requests_ids") == Some(false),
    };
    if parameters.faults.is_empty() { Ok(query) } else { Err(AppError::from(parameters.faults).into()) }
}
