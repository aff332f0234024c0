//! Dialects of the API. `router.rs` lists them; each has its handlers in a folder here, and its types in `wire`.

use axum::http::{HeaderMap, HeaderName, HeaderValue, Method};
use overnight_app::RateStanding;

use super::errors::WriteRefusal;

/// The common properties of a dialect's calls.
#[derive(Debug, Clone, Copy)]
pub(super) struct Dialect {
    /// Everything at and under this path needs a key, whether or not it exists.
    pub(super) prefix: &'static str,
    pub(super) write_refusal: WriteRefusal,
    /// A header, in lower case, that names the call in every answer in addition to `X-Request-Id`.
    pub(super) call_header: Option<&'static str>,
    /// A path whose bodies are stored while they arrive, without a limit of time.
    pub(super) streamed_path: Option<&'static str>,
    /// Whether unknown query parameters are ignored; otherwise they are refused.
    pub(super) ignores_queries: bool,
    /// The rate-limit headers, if the dialect has them.
    pub(super) rate: Option<Rate>,
}

/// The rate-limit headers of a dialect.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rate {
    /// Each POST at these paths creates one request, and its answer has the headers.
    pub(super) paths: &'static [&'static str],
    /// The headers for the limit, the rest, and the time until a full limit, in lower case.
    pub(super) headers: [&'static str; 3],
    /// Formats that time; also gets the current time.
    pub(super) write_reset: fn(&RateStanding, i64) -> String,
}

impl Rate {
    /// Whether the answer to this method and path has the headers.
    pub(super) fn is_told(&self, method: &Method, path: &str) -> bool {
        method == Method::POST && self.paths.contains(&path.strip_suffix('/').unwrap_or(path))
    }

    /// Adds the headers for the standing at `now`, in milliseconds.
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

    /// The same, but unknown query parameters are ignored.
    pub(super) const fn ignoring_queries(self) -> Self {
        Self { ignores_queries: true, ..self }
    }

    /// Whether bodies of calls at this path are stored while they arrive.
    pub(super) fn streams(&self, path: &str) -> bool {
        self.streamed_path.is_some_and(|streamed| path.strip_suffix('/').unwrap_or(path) == streamed)
    }

    /// Whether the path belongs to the dialect.
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
