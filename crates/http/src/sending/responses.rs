//! The body of a response on its way to the client, with the permits that it holds until it is sent.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as Task, Poll, ready};

use axum::body::{Body, Bytes, HttpBody};
use axum::http::Response;
use http_body::{Frame, SizeHint};

use super::streams::{self, Flow};
use crate::activity::OpenCall;
use crate::shares::{self, CallPermit, MemoryPermit};

/// The longest frame of HTTP/2. A client that takes one within `stalled_response` is not cut.
const FRAME_BYTES_MAX: usize = 16 << 10;

/// The body of a response. Over HTTP/2 it ends once all of it was written.
pub(crate) struct Outgoing {
    body: Body,
    /// The part of the body that is not in frames yet.
    rest: Bytes,
    is_over: bool,
    flow: Option<Arc<Flow>>,
    memory: Option<Arc<MemoryPermit>>,
    _call: OpenCall,
    _permit: Option<Arc<CallPermit>>,
}

impl Outgoing {
    /// The response to `call`, with the permits that `calls.rs` left in its extensions.
    pub(crate) fn response(response: Response<Body>, mut call: OpenCall) -> Response<Self> {
        let (mut head, body) = response.into_parts();
        let (memory, permit) = (head.extensions.remove(), head.extensions.remove::<Arc<CallPermit>>());
        call.answered(permit.as_ref().is_some_and(|permit| permit.is_of_account()));
        let flow = streams::current_flow();
        let body =
            Self { body, rest: Bytes::new(), is_over: false, flow, memory, _call: call, _permit: permit };
        Response::from_parts(head, body)
    }

    fn held(&self, bytes: Bytes) -> Bytes {
        match &self.memory {
            Some(memory) => shares::hold(bytes, Arc::clone(memory)),
            None => bytes,
        }
    }

    fn next_frame(&mut self, flow: &Arc<Flow>) -> Option<Result<Frame<Bytes>, axum::Error>> {
        let length = self.rest.len().min(FRAME_BYTES_MAX);
        (length > 0).then(|| Ok(Frame::data(flow.frame(self.rest.split_to(length)))))
    }
}

impl HttpBody for Outgoing {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        task: &mut Task<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let flow = self.flow.clone();
        if let Some(flow) = &flow {
            ready!(flow.poll_room(task));
            if let Some(frame) = self.next_frame(flow) {
                return Poll::Ready(Some(frame));
            }
        }
        while !self.is_over {
            let Some(frame) = ready!(Pin::new(&mut self.body).poll_frame(task)) else {
                self.is_over = true;
                break;
            };
            let frame = frame?.map_data(|bytes| self.held(bytes));
            let Some(flow) = &flow else { return Poll::Ready(Some(Ok(frame))) };
            match frame.into_data() {
                Ok(bytes) => self.rest = bytes,
                Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
            }
            if let Some(frame) = self.next_frame(flow) {
                return Poll::Ready(Some(frame));
            }
        }
        if let Some(flow) = &flow {
            ready!(flow.poll_sent(task));
        }
        Poll::Ready(None)
    }

    fn is_end_stream(&self) -> bool {
        let is_sent = self.flow.as_ref().is_none_or(|flow| flow.is_sent());
        self.rest.is_empty() && is_sent && (self.is_over || self.body.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        let mut hint = self.body.size_hint();
        let rest = self.rest.len() as u64;
        if let Some(upper) = hint.upper() {
            hint.set_upper(upper + rest);
        }
        hint.set_lower(hint.lower() + rest);
        hint
    }
}
