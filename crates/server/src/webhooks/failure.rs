//! Why a try brought no answer.

use std::error::Error;

use crate::transport::in_words;

/// Why a try brought no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Failure {
    /// The URL is none that may be called, whatever its name leads to.
    Url,
    /// The URL leads to an address that must not be called.
    Refused,
    /// The name of the host led to no address in time.
    Unresolved,
    /// Nobody took the connection in time.
    Unreachable,
    /// TLS was not agreed upon: most often, the certificate is not one of this host or of an authority trusted here.
    Tls,
    /// No answer came in time.
    TimedOut,
    /// The connection broke, or what came over it is no HTTP.
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

    /// This failure, whose cause is for the operator alone: whoever chose the address learns nothing of the network here.
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
