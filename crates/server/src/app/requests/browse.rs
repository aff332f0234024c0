//! Requests as people look through them, page by page: those of an account the newest first, those of a batch as they were sent.

use overnight_domain::chat::excerpt;
use overnight_domain::ids::{BatchId, RequestId};
use overnight_domain::json::Json;
use overnight_domain::records::RequestSummary;
use overnight_domain::requests::RequestStatus;
use overnight_domain::scheduler::AccountKey;

use super::NOUN;
use super::labels::Label;
use crate::app::errors::AppError;
use crate::app::failures::Failure;
use crate::app::{Services, batches, input};
use crate::store::requests::models;
use crate::store::requests::{self, ListFilter, ListScope, ListedRequest};
pub use crate::store::requests::{RequestCharge, RequestHandling};

/// How much of what was asked a row shows, in characters.
const EXCERPT_CHARS_MAX: usize = 120;

/// Which requests to look through.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BrowseQuery {
    pub status: Option<RequestStatus>,
    /// Those for this model; a model that was never configured has none.
    pub model: Option<String>,
    /// Those of this batch; a batch that is none of the account's has none.
    pub batch: Option<BatchId>,
    /// Those whose metadata hold this text; or, where it is `key=value`, that have such a key with this string, number,
    /// `true` or `false`. White space around it does not count.
    pub search: Option<String>,
    pub before: Option<RequestId>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestsPage {
    /// The requests, the newest first, or of a batch in order of arrival: 50 at most.
    pub rows: Vec<RequestRow>,
    /// Behind which the next page begins, if there is one.
    pub next: Option<RequestId>,
    /// Behind which to look on, where 20,000 requests were looked through and the page is not full.
    pub looked_through: Option<RequestId>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestRow {
    pub summary: RequestSummary,
    /// The batch it belongs to, if any.
    pub batch_id: Option<BatchId>,
    pub model: String,
    /// The beginning of the last thing that the user says, on one line of 120 characters at most; `None` where the body is
    /// longer than 16 KiB, and where nothing is said in words.
    pub excerpt: Option<String>,
    /// How long the body is, in bytes.
    pub body_bytes: i64,
    pub charge: RequestCharge,
    /// Why it failed, if it did.
    pub failure: Option<Failure>,
    pub label: Label,
    /// In a list of a batch, its row there, in order of arrival, counted from 1. `None` where requests of the
    /// batch are deleted.
    pub place: Option<i64>,
}

/// A page of an account's requests.
///
/// # Errors
///
/// [`AppError::NotFound`] where `before` is none of the account's; [`AppError::Invalid`] for a search of more than
/// [`SEARCH_CHARS_MAX`](crate::app::SEARCH_CHARS_MAX) characters.
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

/// How a request was handled, as far as that was noted.
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

/// The places of requests in their batch; none where they say nothing any more. Neighbours in a list of all need no count.
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
