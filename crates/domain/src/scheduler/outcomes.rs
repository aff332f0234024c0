//! How attempts and probes end without a completion.

/// Why an attempt failed. Messages are for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttemptError {
    /// No connection could be made; the engine never saw the request.
    Connect(String),
    /// The connection broke before the answer was complete.
    Reset(String),
    /// No answer within the time allowed.
    TimedOut(String),
    /// No answer in time, after a counted attempt of the request that timed out too; it fails if the engine works. For its client.
    TooSlow(String),
    /// The engine refused the request because of the output limit that was added to it, and calls are counted: the request is to be sent
    /// once more without that limit.
    LimitRefused,
    /// An answer with a status other than 2xx.
    Status {
        /// The HTTP status.
        code: u16,
        /// The engine's words.
        message: String,
        /// What `Retry-After` asked for, in milliseconds.
        retry_after_ms: Option<i64>,
    },
    /// A 400 or 422 from an engine whose list of models lacks that of the request: it may refuse every request.
    UnlistedModel {
        /// The HTTP status.
        code: u16,
        /// The engine's words.
        message: String,
    },
    /// The engine has the model, but not the endpoint of the request, which fails immediately: the HTTP status, if the engine was asked,
    /// and a message for the client.
    NotServed(Option<u16>, String),
    /// A 2xx whose body is not of the requested kind; the next attempt may succeed.
    NotACompletion(String),
    /// The engine aborted the generation (a `finish_reason` such as `abort` or `error`): its message, for the client.
    Aborted(String),
    /// An answer longer than is accepted; it fails immediately.
    TooLong(String),
    /// An answer that must be charged and has no usable `usage`; the engine is asked once more.
    NoUsage(String),
    /// The same for a request with an earlier such attempt; it fails immediately.
    BadUsage(String),
}

/// The result of a probe: a tiny completion that any engine can give.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProbeOutcome {
    /// It answered as a working engine does.
    Healthy,
    /// It has no room now (429 or 503).
    Busy {
        /// What `Retry-After` asked for, in milliseconds.
        retry_after_ms: Option<i64>,
        /// The engine's message.
        message: String,
    },
    /// It refused the probe itself (400, 413 or 422): it works, unless it refuses every request in this way.
    Refused {
        /// The HTTP status.
        code: u16,
        /// The engine's message.
        message: String,
    },
    /// It does not work; why, for the operator.
    Failed(String),
    /// No answer in time: it does not work, or is overloaded; for the operator.
    TimedOut(String),
}
