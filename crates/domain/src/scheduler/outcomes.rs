//! How attempts and probes end that bring no completion.

/// Why an attempt at an engine brought no result. Messages are for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttemptError {
    /// No connection could be made; the engine never saw the request.
    Connect(String),
    /// The connection broke before the whole answer had come.
    Reset(String),
    /// No answer within the time allowed.
    TimedOut(String),
    /// The same for a request of which an attempt that counts timed out before; it fails if the engine works. For its client.
    TooSlow(String),
    /// The engine refused the request for the output limit that was added to it, and its requests are counted: it is to be sent
    /// once more, without that limit.
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
    /// A 400 or 422 of an engine whose list of models lacks that of the request: it may refuse every request.
    UnlistedModel {
        /// The HTTP status.
        code: u16,
        /// The engine's words.
        message: String,
    },
    /// The engine answers for the model, but has nothing at the endpoint of the request, which fails at once: the HTTP status, where
    /// the engine was asked, and words for its client.
    NotServed(Option<u16>, String),
    /// A 2xx that is none of the objects that were asked for; it may be better the next time.
    NotACompletion(String),
    /// The engine reports that it gave the generation up (a `finish_reason` such as `abort` or `error`): its message, for the client.
    Aborted(String),
    /// An answer longer than is taken in; it fails at once.
    TooLong(String),
    /// An answer that must be charged for and has no usable `usage`; the engine is asked once more.
    NoUsage(String),
    /// The same for a request of which an attempt ended so before; it fails at once.
    BadUsage(String),
}

/// What a replica made of a probe: a tiny completion that any engine can give.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProbeOutcome {
    /// It answered as an engine does that works.
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
    /// It does not work; why, in words for the operator.
    Failed(String),
    /// No answer came in time: it does not work, or has too much to do; in words for the operator.
    TimedOut(String),
}
