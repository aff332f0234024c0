//! Why requests fail for good.

/// Why a request failed permanently: `result_body.error.code`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FailureCode {
    /// Its deadline passed.
    Expired,
    /// The engine refused it; its message is passed on.
    EngineRejected,
    /// Its attempts were used up.
    EngineUnavailable,
    /// The engine's answers were invalid.
    EngineInvalidResponse,
}

impl FailureCode {
    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Expired => "expired",
            Self::EngineRejected => "engine_rejected",
            Self::EngineUnavailable => "engine_unavailable",
            Self::EngineInvalidResponse => "engine_invalid_response",
        }
    }
}
