//! Dialects of the API. `router.rs` lists them; each has its handlers in a folder here, and its shapes in one of `wire`.

use super::errors::WriteRefusal;

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
}

impl Dialect {
    /// A dialect that refuses unknown query parameters.
    pub(super) const fn new(prefix: &'static str, write_refusal: WriteRefusal) -> Self {
        Self { prefix, write_refusal, call_header: None, streamed_path: None, ignores_queries: false }
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
