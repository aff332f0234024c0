//! Many requests from one form: checked, priced, and sent as a batch.

use crate::pages::{NewPage, Section};
use axum::body::{Bytes, HttpBody};
use axum::extract::multipart::Field;
use axum::extract::{DefaultBodyLimit, FromRequest, Multipart, Request};
use overnight_app::Services;
use overnight_app::errors::AppError;
use overnight_app::idempotency::FormKey;
use overnight_app::submissions::{self, Checked, TEXT_BYTES_MAX};
use overnight_base::tasks;
use overnight_domain::records::BatchRecord;
use overnight_domain::roles::Permission;
use overnight_domain::scheduler::AccountKey;
use tracing::Instrument;

use super::forms;
use super::replies::{self, PageError, PageResult};
use super::uploads::{Spool, Upload};
use super::visitors::MemberVisit;

/// A file up to this size is returned with its faults, as text.
const SENT_BACK_MAX: usize = 512 << 10;

/// The longest field other than the text, in bytes.
const FIELD_BYTES_MAX: usize = 64 << 10;

/// The form: lines of text, or a file of them.
#[derive(Default)]
struct Draft {
    text: Bytes,
    name: String,
    webhook: String,
    token: String,
}

/// The longest form with a file.
const BODY_BYTES_MAX: usize = TEXT_BYTES_MAX + (64 << 10);

pub(super) fn body_limit() -> DefaultBodyLimit {
    DefaultBodyLimit::max(BODY_BYTES_MAX)
}

impl Draft {
    /// Reads the form if the visitor may send it.
    async fn read(visit: &MemberVisit, request: Request) -> Result<(Self, Upload), PageError> {
        visit.require(Permission::Work)?;
        if request.body().size_hint().lower() > BODY_BYTES_MAX as u64 {
            return Err(unread());
        }
        let mut upload = Upload::begin(visit.account.id).await?;
        let mut parts = Multipart::from_request(request, &visit.visit.context)
            .await
            .map_err(|_| PageError::Unreadable("The form came in a shape that is not read.".into()))?;
        let mut draft = Self::default();
        let mut spool = Spool::new(&visit.services().config().data_dir).map_err(not_kept)?;
        while let Some(mut part) = parts.next_field().await.map_err(|_| unread())? {
            let field = part.name().unwrap_or_default().to_owned();
            match &*field {
                "file" | "lines" => {
                    let has_other = spool.len() > 0;
                    if spool_text(&mut part, &mut spool, visit.services()).await? && has_other {
                        let both = "Send lines or a file, and not both: nothing was sent.";
                        return Err(PageError::Unreadable(both.into()));
                    }
                }
                "name" => draft.name = short_text(&mut part).await?,
                "webhook" => draft.webhook = short_text(&mut part).await?,
                forms::TOKEN => draft.token = short_text(&mut part).await?,
                _ => drop(short_text(&mut part).await?),
            }
        }
        draft.text = upload.load(spool).await.map_err(not_kept)?;
        Ok((draft, upload))
    }

    /// The key of the form's submission without its lines.
    fn key(&self) -> Option<FormKey> {
        let fields = [(forms::TOKEN, &*self.token), ("name", &*self.name), ("webhook", &*self.webhook)];
        forms::key("new", fields)
    }

    fn name(&self) -> Option<&str> {
        Some(&*self.name).filter(|name| !name.is_empty())
    }

    fn webhook(&self) -> Option<&str> {
        Some(&*self.webhook).filter(|webhook| !webhook.is_empty())
    }
}

/// Stores a text while the disk has room. Returns whether it is more than white space.
async fn spool_text(part: &mut Field<'_>, spool: &mut Spool, services: &Services) -> Result<bool, PageError> {
    let (start, mut is_blank) = (spool.len(), true);
    while let Some(chunk) = part.chunk().await.map_err(|_| unread())? {
        is_blank &= chunk.trim_ascii().is_empty();
        services.store.check_room(chunk.len()).map_err(AppError::from)?;
        spool.write(&chunk).await.map_err(not_kept)?;
    }
    if is_blank {
        spool.truncate(start).await.map_err(not_kept)?;
    }
    Ok(!is_blank)
}

async fn short_text(part: &mut Field<'_>) -> Result<String, PageError> {
    let mut text = Vec::new();
    while let Some(chunk) = part.chunk().await.map_err(|_| unread())? {
        text.extend_from_slice(&chunk);
        if text.len() > FIELD_BYTES_MAX {
            return Err(PageError::Unreadable("A field is longer than 64 KiB.".into()));
        }
    }
    Ok(String::from_utf8_lossy(&text).trim().to_owned())
}

fn unread() -> PageError {
    let mib = TEXT_BYTES_MAX >> 20;
    PageError::Unreadable(format!("The lines did not come whole, or are more than {mib} MiB.").into())
}

#[expect(clippy::needless_pass_by_value, reason = "it is handed to `map_err`")]
fn not_kept(error: std::io::Error) -> PageError {
    tracing::error!(%error, "upload not written to the data folder or not read from it");
    AppError::Unavailable("the file cannot be kept now; try again in a moment".to_owned()).into()
}

/// `GET /console/{account}/new`.
pub(super) async fn page(visit: MemberVisit) -> PageResult {
    show(&visit, None, None, None).await
}

/// `POST /console/{account}/new/check`: the content and maximum cost. Stores nothing.
pub(super) async fn check(visit: MemberVisit, request: Request) -> PageResult {
    let (draft, _upload) = Draft::read(&visit, request).await?;
    match submissions::check(visit.services(), visit.account.key, draft.text.clone()).await {
        Ok(checked) => show(&visit, Some(&draft), Some(checked), None).await,
        Err(error) => show(&visit, Some(&draft), None, Some(replies::mendable(error)?)).await,
    }
}

/// `POST /console/{account}/new`.
pub(super) async fn submit(visit: MemberVisit, request: Request) -> PageResult {
    let (draft, upload) = Draft::read(&visit, request).await?;
    let services = visit.services();
    let (sent, _upload) = send(services.clone(), visit.account.key, &draft, upload).await;
    match sent {
        Ok(batch) => replies::see_other(&visit.at(&format!("batches/{}?flash=batch_sent", batch.id))),
        Err(AppError::Invalid(invalid)) if !draft.text.is_empty() => {
            // Faults of lines are shown line by line.
            let checked = submissions::check(services, visit.account.key, draft.text.clone()).await.ok();
            let checked = checked.filter(|checked| checked.faults_total > 0);
            let refused = replies::mendable(AppError::Invalid(invalid))?;
            show(&visit, Some(&draft), checked, Some(refused)).await
        }
        Err(error) => show(&visit, Some(&draft), None, Some(replies::mendable(error)?)).await,
    }
}

/// Continues if the visitor leaves, and remains the account's one upload until it is done.
async fn send(
    services: Services,
    account: AccountKey,
    draft: &Draft,
    upload: Upload,
) -> (Result<BatchRecord, AppError>, Option<Upload>) {
    let text = draft.text.clone();
    let (name, webhook) = (draft.name().map(str::to_owned), draft.webhook().map(str::to_owned));
    let key = draft.key();
    let work = async move {
        let (name, webhook) = (name.as_deref(), webhook.as_deref());
        let sent = submissions::submit(&services, account, text, name, webhook, key).await;
        (sent, Some(upload))
    };
    let worked = tasks::spawn(work.in_current_span()).await;
    worked.unwrap_or_else(|_| (Err(AppError::stopping()), None))
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
    let models = services.models();
    let offered: Vec<&str> = models.offered(services.clock.now()).map(|model| &*model.config.name).collect();
    let page = NewPage {
        layout,
        may_work: visit.role.may(Permission::Work),
        lines: &lines,
        name: draft.map_or("", |draft| &draft.name),
        webhook: draft.map_or("", |draft| &draft.webhook),
        checked,
        is_to_be_chosen_again: !is_short,
        model: offered.first().copied().unwrap_or_default(),
        models: offered,
        url: services.config().public_address("/v1"),
    };
    replies::page(&page)
}
