//! Faults of an engine, and their rates.

/// One way in which an engine misbehaves for one request. In a marker it is written as the quoted name below: `[[sim:status=503]]`,
/// `[[sim:drip=20]]`, `[[sim:hang x2]]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// `status=CODE` or `status=CODE/SECONDS`: an error of that status (300 to 599), with `Retry-After` if given.
    Status {
        code: u16,
        retry_after_s: Option<u32>,
    },
    /// `reset`: the connection is reset before any byte of the answer.
    ResetBeforeHeaders,
    /// `reset_after_headers`: the connection is reset in the middle of the body.
    ResetAfterHeaders,
    /// `hang`: no byte of an answer arrives.
    Hang,
    /// `hang_mid_body`: only the headers and half of the body arrive.
    HangMidBody,
    /// `delay=MS`: the right answer, that many milliseconds late.
    Delay {
        /// Milliseconds added.
        ms: u64,
    },
    /// `drip=MS`: the right answer in chunked coding, 16 bytes at a time with that pause between them.
    Drip {
        /// Milliseconds between two chunks.
        pause_ms: u64,
    },
    /// `bad_json`: 200 with a body that is not JSON.
    BadJson,
    /// `truncated`: the connection closes before all bytes that `Content-Length` promises.
    TruncatedBody,
    /// `huge`: a well-formed completion of more than 16 MiB.
    HugeBody,
    /// `pretty`: the right body over many lines (CRLF and tabs between tokens).
    Pretty,
    /// `usage_inflated`: more completion tokens than `max_tokens` allows.
    UsageInflated,
    /// `lie`: the answer to another request, by another model.
    Lie,
    /// `die=MS`: the whole engine dies as a killed process would (listener and connections closed, cache lost), and listens on the same
    /// port again after this time.
    Die {
        /// Milliseconds until it listens again.
        ms: u64,
    },
    /// A canned answer. Markers name it by a behaviour: `behaviour=NAME`.
    Canned(Canned),
    Gzipped(Canned),
    /// A canned answer to a request that has this field; the usual answer to others.
    Refusal(&'static str, Canned),
}

/// An exact answer of an engine or gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Canned {
    pub status: u16,
    /// Headers in addition to `Content-Length`.
    pub headers: &'static [(&'static str, &'static str)],
    pub body: &'static [u8],
}

impl Fault {
    /// Returns `None` for an unknown name or a wrong argument.
    pub(super) fn parse(name: &str, argument: Option<&str>) -> Option<Self> {
        let milliseconds = || argument?.parse().ok();
        if let Some(fault) = match name {
            "status" => return Self::parse_status(argument?),
            "delay" => Some(Self::Delay { ms: milliseconds()? }),
            "drip" => Some(Self::Drip { pause_ms: milliseconds()? }),
            "die" => Some(Self::Die { ms: milliseconds()? }),
            _ => None,
        } {
            return Some(fault);
        }
        let fault = match name {
            "reset" => Self::ResetBeforeHeaders,
            "reset_after_headers" => Self::ResetAfterHeaders,
            "hang" => Self::Hang,
            "hang_mid_body" => Self::HangMidBody,
            "bad_json" => Self::BadJson,
            "truncated" => Self::TruncatedBody,
            "huge" => Self::HugeBody,
            "pretty" => Self::Pretty,
            "usage_inflated" => Self::UsageInflated,
            "lie" => Self::Lie,
            _ => return None,
        };
        argument.is_none().then_some(fault)
    }

    fn parse_status(argument: &str) -> Option<Self> {
        let (code, retry_after) = match argument.split_once('/') {
            Some((code, seconds)) => (code, Some(seconds.parse().ok()?)),
            None => (argument, None),
        };
        let code = code.parse().ok().filter(|code| (300..=599).contains(code))?;
        Some(Self::Status { code, retry_after_s: retry_after })
    }
}

/// Each rate is a share of all attempts, from 0 to 1. The sum is at most 1.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FaultRates(Vec<(Fault, f64)>);

impl FaultRates {
    pub fn none() -> Self {
        Self::default()
    }

    #[must_use]
    pub fn with(mut self, fault: Fault, rate: f64) -> Self {
        self.0.push((fault, rate));
        self
    }

    /// The fault for a uniform draw from 0 to 1.
    pub(super) fn draw(&self, uniform: f64) -> Option<Fault> {
        let mut below = 0.0;
        self.0.iter().find_map(|(fault, rate)| {
            below += rate;
            (uniform < below).then_some(*fault)
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
