//! What of a batch has ended, in the order of its ends; with `follow`, for as long as the batch goes on. Whoever follows holds a
//! connection for hours, so its share is apart from that of calls.

mod followers;
mod reader;

use std::sync::Arc;

use axum::body::Body;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::Response;
use futures_util::stream;
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
use crate::app::ReadsFor;
use crate::app::api_keys::Opened;
use crate::app::batches::{AfterEnd, EndedPages, Ends};
use crate::app::errors::AppError;

const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");
const LAST_EVENT_ID: &str = "last-event-id";
const ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// What is wanted of the order in which a batch's requests end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wanted {
    /// Whether to go on until the batch has ended.
    follow: bool,
    after: Option<AfterEnd>,
    format: Format,
}

/// What Get Batch Results is asked for, and the call that asks: every request in order of arrival where nothing is wanted of the order of
/// ends.
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
    /// A browser that connects again calls the same URL as before, and says in the header how far it has come: that counts.
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

/// The ends of a batch, as far as they are wanted.
///
/// # Errors
///
/// A batch that is none of the account's, a place that is none in it, and what the store could not do;
/// [`Refusal::TooManyCalls`] where the account follows as many as it may.
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
        // A browser that is answered otherwise connects again and again.
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

/// Asks a proxy to hand on each line as it comes.
fn unbuffered(mut response: Response) -> Response {
    response.headers_mut().insert(ACCEL_BUFFERING, HeaderValue::from_static("no"));
    response
}

#[cfg(test)]
mod tests;
