//! Many requests at once: checked, priced, and sent as a batch.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, FromRequest, Multipart, Request};
use overnight_domain::records::BatchRecord;
use overnight_domain::roles::Permission;
use overnight_domain::scheduler::AccountKey;
use tracing::Instrument;

use super::replies::{self, PageError, PageResult};
use super::visitors::MemberVisit;
use crate::app::Services;
use crate::app::errors::AppError;
use crate::app::submissions::{self, Checked, TEXT_BYTES_MAX};
use crate::console::{NewPage, Section};

/// Files that are in memory at once, one of each account.
const AT_ONCE: usize = 4;

/// A file up to this size is sent back with what was found in it, as text.
const SENT_BACK_MAX: usize = 512 << 10;

static PERMITS: Mutex<BTreeSet<i64>> = Mutex::new(BTreeSet::new());

/// The right of an account to have a file in memory: until the work on it is done, whether or not somebody waits for that.
struct Permit(i64);

impl Permit {
    fn take(account: AccountKey) -> Result<Self, PageError> {
        let mut taken = PERMITS.lock().unwrap_or_else(PoisonError::into_inner);
        if taken.len() >= AT_ONCE || !taken.insert(account.0) {
            let message = "a file is being read already; try again in a moment";
            return Err(AppError::Unavailable(message.to_owned()).into());
        }
        Ok(Self(account.0))
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        PERMITS.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.0);
    }
}

/// What the form sends: lines of text or a file of them.
#[derive(Default)]
struct Draft {
    text: Bytes,
    name: String,
    webhook: String,
}

/// What a form with a file may come to, in bytes.
pub(super) fn body_limit() -> DefaultBodyLimit {
    DefaultBodyLimit::max(TEXT_BYTES_MAX + (64 << 10))
}

impl Draft {
    /// Reads the form of somebody who may send it.
    async fn read(visit: &MemberVisit, request: Request) -> Result<(Self, Permit), PageError> {
        visit.require(Permission::Work)?;
        let permit = Permit::take(visit.account.key)?;
        let unread = |_| {
            let mib = TEXT_BYTES_MAX >> 20;
            PageError::Unreadable(format!("The lines did not come whole, or are more than {mib} MiB.").into())
        };
        let mut parts = Multipart::from_request(request, &visit.visit.context)
            .await
            .map_err(|_| PageError::Unreadable("The form came in a shape that is not read.".into()))?;
        let mut draft = Self::default();
        while let Some(part) = parts.next_field().await.map_err(unread)? {
            let field = part.name().unwrap_or_default().to_owned();
            let bytes = part.bytes().await.map_err(unread)?;
            match &*field {
                "file" | "lines" if !bytes.trim_ascii().is_empty() => {
                    if !draft.text.is_empty() {
                        let both = "Send lines or a file, and not both: nothing was sent.";
                        return Err(PageError::Unreadable(both.into()));
                    }
                    draft.text = bytes;
                }
                "name" => draft.name = String::from_utf8_lossy(&bytes).trim().to_owned(),
                "webhook" => draft.webhook = String::from_utf8_lossy(&bytes).trim().to_owned(),
                _ => {}
            }
        }
        Ok((draft, permit))
    }

    fn name(&self) -> Option<&str> {
        Some(&*self.name).filter(|name| !name.is_empty())
    }

    fn webhook(&self) -> Option<&str> {
        Some(&*self.webhook).filter(|webhook| !webhook.is_empty())
    }
}

/// `GET /console/{account}/new`.
pub(super) async fn page(visit: MemberVisit) -> PageResult {
    show(&visit, None, None, None).await
}

/// `POST /console/{account}/new/check`: what it is and may cost. Nothing is stored.
pub(super) async fn check(visit: MemberVisit, request: Request) -> PageResult {
    let (draft, _place) = Draft::read(&visit, request).await?;
    match submissions::check(visit.services(), visit.account.key, draft.text.clone()).await {
        Ok(checked) => show(&visit, Some(&draft), Some(checked), None).await,
        Err(error) => show(&visit, Some(&draft), None, Some(replies::mendable(error)?)).await,
    }
}

/// `POST /console/{account}/new`.
pub(super) async fn submit(visit: MemberVisit, request: Request) -> PageResult {
    let (draft, permit) = Draft::read(&visit, request).await?;
    let services = visit.services();
    let sent = send(services.clone(), visit.account.key, &draft, permit).await;
    match sent {
        Ok(batch) => replies::see_other(&visit.at(&format!("batches/{}?flash=batch_sent", batch.id))),
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

/// Goes on if whoever sends leaves, and keeps the permit until it is done.
async fn send(
    services: Services,
    account: AccountKey,
    draft: &Draft,
    permit: Permit,
) -> Result<BatchRecord, AppError> {
    let text = draft.text.clone();
    let (name, webhook) = (draft.name().map(str::to_owned), draft.webhook().map(str::to_owned));
    let work = async move {
        let _permit = permit;
        submissions::submit(&services, account, text, name.as_deref(), webhook.as_deref()).await
    };
    let worked = tokio::spawn(work.in_current_span()).await;
    worked.unwrap_or_else(|_| Err(AppError::stopping()))
}

async fn show(
    visit: &MemberVisit,
    draft: Option<&Draft>,
    checked: Option<Checked>,
    refused: Option<String>,
) -> PageResult {
    let services = visit.services();
    let mut layout = visit.layout(Section::New).await?;
    layout.refused = refused;
    let text = draft.map_or(&b""[..], |draft| &draft.text);
    let is_short = text.len() <= SENT_BACK_MAX;
    let lines = if is_short { String::from_utf8_lossy(text) } else { "".into() };
    let page = NewPage {
        layout,
        may_work: visit.role.may(Permission::Work),
        lines: &lines,
        name: draft.map_or("", |draft| &draft.name),
        webhook: draft.map_or("", |draft| &draft.webhook),
        checked,
        is_to_be_chosen_again: !is_short,
        model: services.models.iter().next().map_or("", |model| &model.config.name),
        url: services.config.public_address("/v1"),
    };
    replies::page(&page)
}
