//! Many requests at once: checked, priced, and sent as a batch.

use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, FromRequest, Multipart, Request};
use axum::http::StatusCode;
use overnight_domain::roles::Permission;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::replies::{self, Reply, Stop};
use super::visitors::MemberVisit;
use crate::app::errors::AppError;
use crate::app::submissions::{self, Checked, TEXT_BYTES_MAX};
use crate::console::{NewPage, Section};
use crate::http::context::Shared;

/// Files that are in memory at once.
const AT_ONCE: usize = 2;

/// A file up to this size is sent back with what was found in it, as text.
const SENT_BACK_MAX: usize = 512 << 10;

static PLACES: Semaphore = Semaphore::const_new(AT_ONCE);

/// What the form sends: lines of text or a file of them.
pub(super) struct Draft {
    text: Bytes,
    name: String,
    webhook: String,
    _place: SemaphorePermit<'static>,
}

/// What a form with a file may come to, in bytes.
pub(super) fn body_limit() -> DefaultBodyLimit {
    DefaultBodyLimit::max(TEXT_BYTES_MAX + (64 << 10))
}

impl FromRequest<Shared> for Draft {
    type Rejection = Stop;

    async fn from_request(request: Request, context: &Shared) -> Result<Self, Stop> {
        let crowded = || AppError::Unavailable("others are sending files; try again in a moment".to_owned());
        let place = PLACES.try_acquire().map_err(|_| crowded())?;
        let unread = |_| Stop::Unreadable("The lines did not come whole, or are more than 32 MiB.");
        let mut parts = Multipart::from_request(request, context)
            .await
            .map_err(|_| Stop::Unreadable("The form came in a shape that is not read."))?;
        let mut draft =
            Self { text: Bytes::new(), name: String::new(), webhook: String::new(), _place: place };
        while let Some(part) = parts.next_field().await.map_err(unread)? {
            let field = part.name().unwrap_or_default().to_owned();
            let bytes = part.bytes().await.map_err(unread)?;
            match &*field {
                "file" | "lines" if !bytes.trim_ascii().is_empty() => draft.text = bytes,
                "name" => draft.name = String::from_utf8_lossy(&bytes).trim().to_owned(),
                "webhook" => draft.webhook = String::from_utf8_lossy(&bytes).trim().to_owned(),
                _ => {}
            }
        }
        Ok(draft)
    }
}

impl Draft {
    fn name(&self) -> Option<&str> {
        Some(&*self.name).filter(|name| !name.is_empty())
    }

    fn webhook(&self) -> Option<&str> {
        Some(&*self.webhook).filter(|webhook| !webhook.is_empty())
    }
}

/// `GET /console/{account}/new`.
pub(super) async fn page(visit: MemberVisit) -> Reply {
    show(&visit, None, None, None).await
}

/// `POST /console/{account}/new/check`: what it is and may cost. Nothing is stored.
pub(super) async fn check(visit: MemberVisit, draft: Draft) -> Reply {
    visit.require(Permission::Work)?;
    match submissions::check(visit.services(), visit.account.key, draft.text.clone()).await {
        Ok(checked) => show(&visit, Some(&draft), Some(checked), None).await,
        Err(error) => show(&visit, Some(&draft), None, Some(replies::mendable(error)?)).await,
    }
}

/// `POST /console/{account}/new`.
pub(super) async fn submit(visit: MemberVisit, draft: Draft) -> Reply {
    visit.require(Permission::Work)?;
    let services = visit.services();
    let sent =
        submissions::submit(services, visit.account.key, draft.text.clone(), draft.name(), draft.webhook())
            .await;
    match sent {
        Ok(batch) => replies::see_other(&visit.at(&format!("batches/{}?said=batch_sent", batch.id))),
        Err(AppError::Invalid(invalid)) if !draft.text.is_empty() => {
            // What is wrong with lines is told line by line.
            let checked = submissions::check(services, visit.account.key, draft.text.clone()).await.ok();
            let checked = checked.filter(|checked| checked.faults_total > 0);
            let refused = replies::mendable(AppError::Invalid(invalid))?;
            show(&visit, Some(&draft), checked, Some(refused)).await
        }
        Err(error) => show(&visit, Some(&draft), None, Some(replies::mendable(error)?)).await,
    }
}

async fn show(
    visit: &MemberVisit,
    draft: Option<&Draft>,
    checked: Option<Checked>,
    refused: Option<String>,
) -> Reply {
    let services = visit.services();
    let status = if refused.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    let mut chrome = visit.chrome(Section::New).await?;
    chrome.refused = refused;
    let text = draft.map_or(&b""[..], |draft| &draft.text);
    let is_short = text.len() <= SENT_BACK_MAX;
    let lines = if is_short { String::from_utf8_lossy(text) } else { "".into() };
    let page = NewPage {
        chrome,
        may_work: visit.role.may(Permission::Work),
        lines: &lines,
        name: draft.map_or("", |draft| &draft.name),
        webhook: draft.map_or("", |draft| &draft.webhook),
        checked,
        is_to_be_chosen_again: !is_short,
        model: services.models.iter().next().map_or("", |model| &model.config.name),
        url: services.config.public_address("/v1"),
    };
    replies::page_with(status, &page)
}
