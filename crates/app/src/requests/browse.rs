//! Requests for people, page by page: those of an account newest first, those of a batch in the order sent.

use overnight_domain::chat::excerpt;
use overnight_domain::ids::{BatchId, RequestId};
use overnight_domain::json::Json;
use overnight_domain::records::RequestSummary;
use overnight_domain::requests::RequestStatus;
use overnight_domain::scheduler::AccountKey;
use overnight_store::requests::models;
use overnight_store::requests::{self, ListFilter, ListScope, ListedRequest};

use super::NOUN;
use super::labels::Label;
use crate::errors::AppError;
use crate::failures::Failure;
use crate::{Services, batches, input};
pub use overnight_store::requests::{RequestCharge, RequestHandling};

/// The characters of the prompt that a row shows.
const EXCERPT_CHARS_MAX: usize = 120;

/// Filters for requests.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BrowseQuery {
    pub status: Option<RequestStatus>,
    /// For this model; a model that was never configured has no requests.
    pub model: Option<String>,
    /// Of this batch; a batch of another account has no requests.
    pub batch: Option<BatchId>,
    /// Filters by this text in the metadata, or by `key=value` with a string, number, `true` or `false`. Surrounding white
    /// space is ignored.
    pub search: Option<String>,
    pub before: Option<RequestId>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestsPage {
    /// Newest first, or for a batch in order of arrival: 50 at most.
    pub rows: Vec<RequestRow>,
    /// The cursor of the next page, if there is one.
    pub next: Option<RequestId>,
    /// The cursor to continue a search that stopped after 20,000 requests before the page was full.
    pub looked_through: Option<RequestId>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestRow {
    pub summary: RequestSummary,
    pub batch_id: Option<BatchId>,
    pub model: String,
    /// The beginning of the last user message, on one line of at most 120 characters; `None` if the body is longer than 16 KiB or has no
    /// text.
    pub excerpt: Option<String>,
    pub body_bytes: i64,
    pub charge: RequestCharge,
    pub failure: Option<Failure>,
    pub label: Label,
    /// In a list of a batch, its position in order of arrival, from 1. `None` if requests of the batch are deleted.
    pub place: Option<i64>,
}

/// A page of an account's requests. Fails with [`AppError::NotFound`] if `before` is not the account's, and with [`AppError::Invalid`] if
/// the search is longer than [`SEARCH_CHARS_MAX`](crate::SEARCH_CHARS_MAX) characters.
pub async fn browse(
    services: &Services,
    account: AccountKey,
    query: &BrowseQuery,
) -> Result<RequestsPage, AppError> {
    let store = &services.store;
    let search = input::search(query.search.as_deref())?;
    let before = match query.before {
        Some(id) => Some(requests::find_seq(store, account, id).await?.ok_or(AppError::NotFound(NOUN))?),
        None => None,
    };
    let scope = match query.batch {
        None => ListScope::Account(account),
        Some(id) => match batches::find(services, account, id).await {
            Ok((batch, _)) => ListScope::Batch(account, batch),
            Err(AppError::NotFound(_)) => return Ok(RequestsPage::default()),
            Err(error) => return Err(error),
        },
    };
    let model = match &query.model {
        None => None,
        Some(name) => match models::find(store, name).await? {
            Some(model) => Some(model),
            None => return Ok(RequestsPage::default()),
        },
    };
    let filter = ListFilter { status: query.status, model, search };
    let page = requests::list_page(store, scope, &filter, before).await?;
    let places = match scope {
        ListScope::Account(_) => Vec::new(),
        ListScope::Batch(_, batch) => places(services, account, batch, &filter, &page.rows).await?,
    };
    let places = places.into_iter().map(Some).chain(std::iter::repeat(None));
    Ok(RequestsPage {
        rows: page.rows.into_iter().zip(places).map(|(listed, place)| row(listed, place)).collect(),
        next: id_of(services, page.next).await?,
        looked_through: id_of(services, page.looked_through).await?,
    })
}

pub async fn charge_of(
    services: &Services,
    account: AccountKey,
    id: RequestId,
) -> Result<RequestCharge, AppError> {
    requests::find_charge(&services.store, account, id).await?.ok_or(AppError::NotFound(NOUN))
}

/// The recorded handling of a request.
pub async fn handling(
    services: &Services,
    account: AccountKey,
    id: RequestId,
) -> Result<RequestHandling, AppError> {
    Ok(requests::find_handling(&services.store, account, id).await?)
}

async fn id_of(services: &Services, seq: Option<i64>) -> Result<Option<RequestId>, AppError> {
    match seq {
        Some(seq) => Ok(requests::find_id(&services.store, seq).await?),
        None => Ok(None),
    }
}

/// The positions of requests in their batch; empty if deletions made them meaningless. Neighbours in an unfiltered list need no count.
async fn places(
    services: &Services,
    account: AccountKey,
    batch: i64,
    filter: &ListFilter,
    rows: &[ListedRequest],
) -> Result<Vec<i64>, AppError> {
    let is_whole = *filter == ListFilter::default();
    let (mut places, mut behind, mut place) = (Vec::with_capacity(rows.len()), i64::MIN, 0);
    for row in rows {
        place += match is_whole && place > 0 {
            true => 1,
            false => match requests::count_between(&services.store, account, batch, (behind, row.seq)).await?
            {
                Some(count) => count,
                None => return Ok(Vec::new()),
            },
        };
        behind = row.seq;
        places.push(place);
    }
    Ok(places)
}

fn row(listed: ListedRequest, place: Option<i64>) -> RequestRow {
    let body = listed.body.as_deref().and_then(|body| Json::from_stored(body).ok());
    RequestRow {
        summary: listed.summary,
        batch_id: listed.batch_id,
        model: listed.model,
        excerpt: body.and_then(|body| excerpt(body, EXCERPT_CHARS_MAX)),
        body_bytes: listed.body_bytes,
        charge: listed.charge,
        failure: listed.error.as_deref().and_then(Failure::read),
        label: listed.metadata.as_deref().map(Label::read).unwrap_or_default(),
        place,
    }
}
