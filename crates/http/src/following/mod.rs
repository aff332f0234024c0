//! A batch's ended requests, in the order of their ends; with `follow`, until the batch ends. Followers hold a connection for hours, so
//! their share is separate from that of calls.

mod followers;
mod reader;

use std::sync::Arc;

use axum::body::Body;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::Response;
use futures_util::stream;
use overnight_app::ReadsFor;
use overnight_app::api_keys::Opened;
use overnight_app::batches::{AfterEnd, EndedPages, Ends};
use overnight_app::errors::AppError;
use overnight_base::tasks;
use overnight_domain::ids::BatchId;
use overnight_wire::native::requests::write_full;
use tracing::{Instrument, Span};

use self::followers::Follower;
use super::context::Shared;
use super::counters;
use super::errors::{Answer, Refusal};
use super::feeds::{Format, write_event};
use super::json_lines::{self, JSON_LINES};
use super::queries::ResultsQuery;
use super::shares::CallPermit;
use super::{accept, answers};

const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");
const LAST_EVENT_ID: &str = "last-event-id";
const ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// Options of a list in the order of ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wanted {
    /// Whether to continue until the batch has ended.
    follow: bool,
    after: Option<AfterEnd>,
    format: Format,
}

/// The query of Get Batch Results, and the call: without options, every request in order of arrival.
pub(super) struct ResultsWanted(pub(super) Option<(Wanted, Arc<CallPermit>)>);

impl FromRequestParts<Shared> for ResultsWanted {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &Shared) -> Result<Self, Refusal> {
        let query = ResultsQuery::read(parts.uri.query().unwrap_or_default())?;
        let permit = parts.extensions.get::<Arc<CallPermit>>().map(Arc::clone);
        let permit = permit.ok_or(Refusal::App(AppError::InvalidApiKey))?;
        Ok(Self(Wanted::read(query, &parts.headers).map(|wanted| (wanted, permit))))
    }
}

impl Wanted {
    /// A browser that reconnects calls the same URL, and sends its position in the header, which takes precedence.
    fn read(ResultsQuery { follow, after }: ResultsQuery, headers: &HeaderMap) -> Option<Self> {
        if !follow && after.is_none() {
            return None;
        }
        let format = if accept::names(headers, "text/event-stream") { Format::Events } else { Format::Lines };
        let last = headers.get(LAST_EVENT_ID).filter(|id| format == Format::Events && !id.is_empty());
        let last = last.map(|id| ("Last-Event-ID", String::from_utf8_lossy(id.as_bytes()).into_owned()));
        let after = last.or(after.map(|id| ("after", id))).map(|(param, id)| AfterEnd { param, id });
        Some(Self { follow, after, format })
    }
}

/// The ends of a batch. Fails with [`Refusal::TooManyCalls`] if the account follows too many batches.
pub(super) async fn answer(
    context: &Shared,
    opened: Opened,
    call: &CallPermit,
    batch: BatchId,
    wanted: Wanted,
) -> Answer {
    let account = opened.account;
    let ends = Ends::of_batch(&context.services, account, batch).await?;
    let place = match &wanted.after {
        Some(after) => ends.place_after(after).await?,
        None => 0,
    };
    let so_far = ends.so_far().await?;
    if so_far.is_over && place >= so_far.ended && wanted.format == Format::Events {
        // A browser would reconnect after any other answer.
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NO_CONTENT;
        return Ok(response);
    }
    if so_far.is_over || !wanted.follow {
        let pages = EndedPages::new(ends, place);
        let response = match wanted.format {
            Format::Lines => json_lines::answer(context, account, pages, JSON_LINES, write_full).await?,
            Format::Events => json_lines::answer(context, account, pages, EVENTS, write_event).await?,
        };
        return Ok(unbuffered(response));
    }
    let Some(lost) = context.shares.begin_following(call) else {
        counters::count_over_share("followers");
        return Err(Refusal::TooManyCalls);
    };
    let member = context.feeds.join(ends.batch(), so_far.ended, |feed| {
        let read = reader::read(Arc::clone(context), ends.clone(), feed);
        tasks::spawn(ReadsFor::Account(account).scope(read.instrument(Span::current())));
    });
    let follower = Follower::new(context, opened, ends, member, place, wanted.format, lost);
    let chunks = Body::from_stream(stream::try_unfold(follower, Follower::next_chunk));
    Ok(unbuffered(match wanted.format {
        Format::Lines => json_lines::response(JSON_LINES, chunks),
        Format::Events => answers::typed(StatusCode::OK, EVENTS, chunks),
    }))
}

/// Asks proxies to forward each line immediately.
fn unbuffered(mut response: Response) -> Response {
    response.headers_mut().insert(ACCEL_BUFFERING, HeaderValue::from_static("no"));
    response
}

#[cfg(test)]
mod tests;
