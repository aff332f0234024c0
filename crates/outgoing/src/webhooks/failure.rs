//! Why a try got no answer.

use std::error::Error;

use crate::transport::in_words;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Failure {
    /// The URL is not allowed, whatever its addresses.
    Url,
    /// The URL has a forbidden address.
    Refused,
    /// The host name had no address in time.
    Unresolved,
    /// No address accepted the connection in time.
    Unreachable,
    /// The TLS handshake failed: usually the certificate is for another host, or its authority is not trusted.
    Tls,
    TimedOut,
    /// The connection broke, or the answer was not HTTP.
    Broken,
}

impl Failure {
    pub const ALL: [Self; 7] = [
        Self::Url,
        Self::Refused,
        Self::Unresolved,
        Self::Unreachable,
        Self::Tls,
        Self::TimedOut,
        Self::Broken,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Url => "unusable_url",
            Self::Refused => "refused_address",
            Self::Unresolved => "unresolved",
            Self::Unreachable => "unreachable",
            Self::Tls => "tls",
            Self::TimedOut => "timed_out",
            Self::Broken => "broken_answer",
        }
    }

    /// Logs the cause for the operator only: the tenant that chose the URL learns nothing of this network.
    pub(super) fn because(self, cause: &dyn Error) -> Self {
        tracing::debug!(cause = in_words(cause), "webhook delivery attempt failed: {}", self.as_str());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_failure_has_a_code_of_its_own() {
        let codes: std::collections::BTreeSet<_> = Failure::ALL.map(Failure::as_str).into();
        assert_eq!(codes.len(), Failure::ALL.len());
    }
}
