//! Trace context as W3C defines it: the trace of a span, and its parent.

use std::fmt;

const STORED_BYTES: usize = 24;

const HEADER_CHARS: usize = 55;

/// A span by its trace and its own number. Neither is zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TraceContext {
    trace: u128,
    span: u64,
}

/// The contents of a caller's `traceparent`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Traceparent {
    /// The caller's span.
    pub context: TraceContext,
    /// Whether the caller records its trace.
    pub is_sampled: bool,
}

/// The identifier of a trace, as headers, logs and collectors spell it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceId(u128);

impl TraceContext {
    /// The first span of a new trace. No part of the random numbers may be used again.
    pub const fn root(trace: u128, span: u64) -> Self {
        Self { trace: if trace == 0 { 1 } else { trace }, span: if span == 0 { 1 } else { span } }
    }

    /// A span of the same trace.
    #[must_use]
    pub const fn child(self, span: u64) -> Self {
        Self::root(self.trace, span)
    }

    /// Its trace.
    pub const fn trace(self) -> TraceId {
        TraceId(self.trace)
    }

    /// Its own number.
    pub const fn span(self) -> u64 {
        self.span
    }

    /// The `traceparent` for calls made in the span.
    pub fn traceparent(self, is_sampled: bool) -> String {
        format!("00-{:032x}-{:016x}-0{}", self.trace, self.span, u8::from(is_sampled))
    }

    /// The stored form.
    pub fn to_bytes(self) -> Vec<u8> {
        [&self.trace.to_be_bytes()[..], &self.span.to_be_bytes()].concat()
    }

    /// Reads the stored form; `None` if invalid.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (trace, span) = bytes.split_first_chunk().filter(|_| bytes.len() == STORED_BYTES)?;
        let (trace, span) = (u128::from_be_bytes(*trace), u64::from_be_bytes(span.try_into().ok()?));
        (trace != 0 && span != 0).then_some(Self { trace, span })
    }
}

impl Traceparent {
    /// Reads the header; `None` if W3C's rules ignore it. A later version may have more behind the known parts.
    pub fn parse(header: &str) -> Option<Self> {
        let (known, rest) = header.split_at_checked(HEADER_CHARS)?;
        let mut parts = known.split('-');
        let (version, trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let version = hex(version, 2)?;
        let fits = match version {
            0xff => false,
            0 => rest.is_empty(),
            _ => rest.is_empty() || rest.starts_with('-'),
        };
        let (trace, span, flags) = (hex(trace, 32)?, hex(span, 16)?, hex(flags, 2)?);
        let span = u64::try_from(span).ok()?;
        let is_whole = parts.next().is_none() && trace != 0 && span != 0;
        let context = TraceContext { trace, span };
        (fits && is_whole).then_some(Self { context, is_sampled: flags & 1 == 1 })
    }
}

impl fmt::Display for TraceId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:032x}", self.0)
    }
}

fn hex(digits: &str, count: usize) -> Option<u128> {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let fits = digits.len() == count && digits.bytes().all(is_digit);
    fits.then(|| u128::from_str_radix(digits, 16).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

    #[test]
    fn the_example_of_the_standard_is_read_and_written() {
        let header = format!("00-{TRACE}-b7ad6b7169203331-01");
        let read = Traceparent::parse(&header).unwrap();
        assert!(read.is_sampled);
        assert_eq!(read.context.trace().to_string(), TRACE);
        assert_eq!(read.context.traceparent(true), header);
        let child = read.context.child(0xff);
        assert_eq!(child.traceparent(false), format!("00-{TRACE}-00000000000000ff-00"));
        assert_eq!(TraceContext::from_bytes(&child.to_bytes()), Some(child));
        // Only the first flag counts, and a later version may be longer.
        assert!(!Traceparent::parse(&format!("00-{TRACE}-b7ad6b7169203331-02")).unwrap().is_sampled);
        assert!(Traceparent::parse(&format!("cc-{TRACE}-b7ad6b7169203331-03-more")).unwrap().is_sampled);
    }

    #[test]
    fn what_the_standard_refuses_is_none() {
        for header in [
            String::new(),
            format!("00-{TRACE}-b7ad6b7169203331-1"),
            format!("00-{TRACE}-b7ad6b7169203331-01-more"),
            format!("cc-{TRACE}-b7ad6b7169203331-01.more"),
            format!("ff-{TRACE}-b7ad6b7169203331-01"),
            format!("00-{TRACE}-0000000000000000-01"),
            format!("00-{}-b7ad6b7169203331-01", "0".repeat(32)),
            format!("00-{}-b7ad6b7169203331-01", TRACE.to_uppercase()),
            format!("00-{TRACE}-b7ad6b716920333+-01"),
            format!("00-{TRACE}7-b7ad6b716920333-01"),
            format!("00-{}é-b7ad6b7169203331-01", &TRACE[..30]),
        ] {
            assert_eq!(Traceparent::parse(&header), None, "{header}");
        }
        for stored in [&[][..], &[0; 24], &[1; 23], &[1; 25]] {
            assert_eq!(TraceContext::from_bytes(stored), None);
        }
    }
}
