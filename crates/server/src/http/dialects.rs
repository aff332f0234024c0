//! Dialects of the API. `router.rs` lists them; each has its handlers in a folder here, and its shapes in one of `wire`.

use axum::http::{HeaderMap, HeaderName, HeaderValue, Method};

use super::errors::WriteRefusal;
use crate::app::RateStanding;

/// What all calls of a dialect have in common.
#[derive(Debug, Clone, Copy)]
pub(super) struct Dialect {
    /// Everything at and under this path needs a key, whether anything is served there or not.
    pub(super) prefix: &'static str,
    /// Writes how a refusal looks.
    pub(super) write_refusal: WriteRefusal,
    /// A header beside `X-Request-Id` that names the call in every answer, in lower case.
    pub(super) call_header: Option<&'static str>,
    /// A path whose bodies are stored while they come, however long that takes.
    pub(super) streamed_path: Option<&'static str>,
    /// Whether query parameters that a call does not take are ignored; otherwise they are refused.
    pub(super) ignores_queries: bool,
    /// How an account is told how it stands with its rate of requests, if it is.
    pub(super) rate: Option<Rate>,
}

/// How an account is told how it stands with its rate of requests.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rate {
    /// Where it is told: what is posted at these paths creates one request each.
    pub(super) paths: &'static [&'static str],
    /// The headers for what it may create at once, what of it is left, and when it may create as much again, in lower case.
    pub(super) headers: [&'static str; 3],
    /// Writes that time; it is also told the time now.
    pub(super) write_reset: fn(&RateStanding, i64) -> String,
}

impl Rate {
    /// Whether calls of this method and path are told.
    pub(super) fn is_told(&self, method: &Method, path: &str) -> bool {
        method == Method::POST && self.paths.contains(&path.strip_suffix('/').unwrap_or(path))
    }

    /// Tells of the standing at `now`, in milliseconds.
    pub(super) fn tell(&self, standing: &RateStanding, now: i64, headers: &mut HeaderMap) {
        let reset = (self.write_reset)(standing, now);
        let texts = [standing.limit.to_string(), standing.remaining.to_string(), reset];
        for (name, text) in self.headers.into_iter().zip(texts) {
            if let Ok(text) = HeaderValue::try_from(text) {
                headers.insert(HeaderName::from_static(name), text);
            }
        }
    }
}

impl Dialect {
    /// A dialect that refuses unknown query parameters.
    pub(super) const fn new(prefix: &'static str, write_refusal: WriteRefusal) -> Self {
        Self {
            prefix,
            write_refusal,
            call_header: None,
            streamed_path: None,
            ignores_queries: false,
            rate: None,
        }
    }

    /// The same, where unknown query parameters are ignored.
    pub(super) const fn ignoring_queries(self) -> Self {
        Self { ignores_queries: true, ..self }
    }

    /// Whether the bodies of calls of this path are stored while they come.
    pub(super) fn streams(&self, path: &str) -> bool {
        self.streamed_path.is_some_and(|streamed| path.strip_suffix('/').unwrap_or(path) == streamed)
    }

    /// Whether a path belongs to it.
    pub(super) fn has(&self, path: &str) -> bool {
        path.strip_prefix(self.prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_under_its_path_belongs_to_a_dialect_and_nothing_else_does() {
        let dialect = Dialect::new("/exxa/v1", |_, _, _| {});
        for (path, expected) in [
            ("/exxa/v1", true),
            ("/exxa/v1/", true),
            ("/exxa/v1/nothing", true),
            ("/exxa/v11", false),
            ("/exxa", false),
            ("/v1", false),
            ("*", false),
            ("", false),
        ] {
            assert_eq!(dialect.has(path), expected, "{path}");
        }
    }
}
