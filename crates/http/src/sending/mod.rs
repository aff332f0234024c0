//! Responses on their way to clients that may read slowly or not at all.
//!
//! A response is cut when its client accepts no bytes for a while. Over HTTP/1.1 the socket shows that (`sockets.rs`). Over HTTP/2 a client
//! may block one response and take others, so each is watched separately (`streams.rs`), in small frames (`responses.rs`).

mod responses;
mod sockets;
mod stalls;
mod streams;

pub(super) use self::responses::Outgoing;
pub(super) use self::sockets::Socket;
pub(super) use self::streams::Streams;
