//! Access to the metrics. They name no account and no request, but show charges and load.

use std::ffi::OsString;

use overnight_base::secrets::Secret;
use subtle::ConstantTimeEq;
use thiserror::Error;

/// The variable that should hold the metrics token has no usable value.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("metrics: the environment variable {variable}, which should hold their token, {reason}")]
pub struct MetricsTokenUnusable {
    variable: String,
    reason: &'static str,
}

/// Admits callers with the token, or all callers if none is configured.
#[derive(Debug, Clone)]
pub struct MetricsAccess {
    token: Result<Option<Secret>, MetricsTokenUnusable>,
}

impl MetricsAccess {
    /// Reads the token from the environment variable of this name, if one is given. A missing token is reported by
    /// [`MetricsAccess::check`], and admits no caller.
    pub fn new(variable: Option<&str>) -> Self {
        Self::with(variable, |variable| std::env::var_os(variable))
    }

    /// The same with the environment passed in.
    pub fn with(variable: Option<&str>, value: impl Fn(&str) -> Option<OsString>) -> Self {
        let read = |variable: &str| {
            let unusable = |reason| MetricsTokenUnusable { variable: variable.to_owned(), reason };
            Secret::read(value(variable)).map_err(unusable)
        };
        Self { token: variable.map(read).transpose() }
    }

    /// Checks that the token is usable. The error is for the operator.
    pub fn check(&self) -> Result<(), MetricsTokenUnusable> {
        self.token.as_ref().map(drop).map_err(Clone::clone)
    }

    /// Whether the settings name a token.
    pub const fn has_token(&self) -> bool {
        !matches!(self.token, Ok(None))
    }

    /// `token` is empty if the caller sent none.
    pub fn admits(&self, token: &[u8]) -> bool {
        match &self.token {
            Ok(None) => true,
            Ok(Some(expected)) => expected.bytes().ct_eq(token).into(),
            Err(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_shows_the_token_is_admitted_and_a_missing_one_admits_nobody() {
        let value = |name: &str| (name == "SCRAPE").then(|| "secret-token\n".into());
        let (open, closed, broken) = (
            MetricsAccess::with(None, value),
            MetricsAccess::with(Some("SCRAPE"), value),
            MetricsAccess::with(Some("ABSENT"), value),
        );
        for (token, expected) in [
            (&b""[..], [true, false, false]),
            (b"secret-token", [true, true, false]),
            (b"secret-toke", [true, false, false]),
            (b"secret-token2", [true, false, false]),
        ] {
            assert_eq!([&open, &closed, &broken].map(|access| access.admits(token)), expected, "{token:?}");
        }
        assert_eq!([&open, &closed, &broken].map(|access| access.has_token()), [false, true, true]);
        assert_eq!((open.check(), closed.check()), (Ok(()), Ok(())));
        let told = broken.check().unwrap_err().to_string();
        assert_eq!(
            told,
            "metrics: the environment variable ABSENT, which should hold their token, is not set"
        );
        assert!(!format!("{closed:?}").contains("secret"), "{closed:?}");
    }
}
