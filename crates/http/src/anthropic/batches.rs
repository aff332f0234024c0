//! Batches over HTTP, of every dialect.

use axum::extract::{FromRequestParts, RawQuery, State};
use axum::http::HeaderValue;
use axum::http::request::Parts;
use overnight_app::batches::{self, CountedBatch, PageEdge};
use overnight_domain::ids::{BatchId, BatchKind, MessageBatchId, MessageBatchKind};
use overnight_wire::anthropic::batches::{Batch, has_ended, write_batch, write_deleted};
use overnight_wire::anthropic::lists::write_page;
use overnight_wire::anthropic::results::write_result;

use super::errors::invalid;
use crate::answers;
use crate::calls::Caller;
use crate::context::Shared;
use crate::errors::{Answer, Refusal};
use crate::extract::PathId;
use crate::hosts;
use crate::json_lines;
use crate::queries::EdgeQuery;

/// The media type of JSON Lines in this dialect.
const LINES: HeaderValue = HeaderValue::from_static("application/x-jsonl");

/// The dialect's path at the service's address.
const PATH: &str = "/anthropic";

/// The address under which the client reaches the dialect: that of the settings, or the called name.
pub(super) struct BaseUrl(pub(super) String);

impl FromRequestParts<Shared> for BaseUrl {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, context: &Shared) -> Result<Self, Refusal> {
        let config = &context.services.config();
        let named = hosts::named(&parts.uri, &parts.headers);
        Ok(Self(match config.public_url.is_none() && !named.is_empty() {
            true => format!("{}://{named}{PATH}", config.scheme()),
            false => config.public_address(PATH),
        }))
    }
}

fn write(batch: &CountedBatch, BaseUrl(base_url): &BaseUrl, out: &mut Vec<u8>) {
    write_batch(&Batch { record: &batch.record, expired: batch.expired, base_url }, out);
}

pub(super) async fn get(
    State(context): State<Shared>,
    caller: Caller,
    base_url: BaseUrl,
    PathId(id): PathId<MessageBatchKind>,
) -> Answer {
    let batch = batches::get_counted(&context.services, caller.0, id.renamed()).await?;
    Ok(answers::ok(|out| write(&batch, &base_url, out)))
}

/// The newest first.
pub(super) async fn list(
    State(context): State<Shared>,
    caller: Caller,
    base_url: BaseUrl,
    RawQuery(query): RawQuery,
) -> Answer {
    let query = EdgeQuery::read(query.as_deref().unwrap_or_default())?;
    let edge = match (&query.before, &query.after) {
        (Some(before), _) => PageEdge::Before(batch_id(before)),
        (None, Some(after)) => PageEdge::After(batch_id(after)),
        (None, None) => PageEdge::Newest,
    };
    let (page, has_more) = batches::page_counted(&context.services, caller.0, edge, query.limit).await?;
    let id = |batch: &CountedBatch| batch.record.id.renamed::<MessageBatchKind>().to_string();
    let ids: Vec<String> = page.iter().map(id).collect();
    Ok(answers::ok(|out| write_page(&ids, has_more, out, |place, out| write(&page[place], &base_url, out))))
}

/// A malformed identifier becomes zero, which is never found.
fn batch_id(text: &str) -> BatchId {
    MessageBatchId::parse(text).map_or(BatchId::from_bits(0), MessageBatchId::renamed::<BatchKind>)
}

pub(super) async fn cancel(
    State(context): State<Shared>,
    caller: Caller,
    base_url: BaseUrl,
    PathId(id): PathId<MessageBatchKind>,
) -> Answer {
    batches::cancel(&context.services, caller.0, id.renamed()).await?;
    let batch = batches::get_counted(&context.services, caller.0, id.renamed()).await?;
    Ok(answers::ok(|out| write(&batch, &base_url, out)))
}

pub(super) async fn delete(
    State(context): State<Shared>,
    caller: Caller,
    PathId(id): PathId<MessageBatchKind>,
) -> Answer {
    batches::delete(&context.services, caller.0, id.renamed()).await?;
    Ok(answers::ok(|out| write_deleted(id, out)))
}

/// Only once the whole batch has ended.
pub(super) async fn results(
    State(context): State<Shared>,
    caller: Caller,
    PathId(id): PathId<MessageBatchKind>,
) -> Answer {
    let id = id.renamed();
    let batch = batches::get_record(&context.services, caller.0, id).await?;
    if !has_ended(&batch) {
        return Err(invalid("the batch has no results yet: it has not ended").into());
    }
    let pages = batches::list_results(&context.services, caller.0, id).await?;
    Ok(json_lines::answer(&context, caller.0, pages, LINES, write_result).await?)
}
