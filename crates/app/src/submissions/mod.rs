//! Submissions: many requests that are accepted together as one batch, from a text of lines, or from failed requests.
//!
//! A submission stores all of its lines or none, as far as possible. It reads the lines twice, a page at a time: the first pass checks and
//! prices every line, the second stores them like single creates. A failure midway cancels the stored requests.

mod again;
mod drafts;
mod lines;
mod review;
mod sending;

use bytes::Bytes;
use overnight_domain::records::BatchRecord;
use overnight_domain::scheduler::AccountKey;

pub use self::again::send_again;
pub use self::drafts::{DraftFault, DraftSource};
use self::lines::Lines;
pub use self::lines::TEXT_BYTES_MAX;
pub use self::review::{Checked, ModelShare};
use self::sending::{Terms, send};
use super::Services;
use super::errors::AppError;
use super::idempotency::FormKey;

/// The models and maximum cost of a text of lines. Each line has one of the shapes of `overnight_wire::prompts`, and is reviewed like
/// Create Request; nothing is stored. The result holds faults of lines. Fails with [`AppError::Invalid`] if the text is longer than
/// [`TEXT_BYTES_MAX`], has no line, or more than `limits.batch_requests`.
pub async fn check(services: &Services, account: AccountKey, text: Bytes) -> Result<Checked, AppError> {
    review::review_all(services, account, Lines::of(services, &text)?).await
}

/// Accepts every line of a text as one batch with the `batch_name` `name` and this webhook. Runs to completion even if the caller leaves.
/// After a failure midway the stored requests are cancelled; those that have ended by then stay. Repeats of a form get the first batch.
///
/// Before anything is stored, [`AppError::Invalid`] has the first 100 faults of lines and the count of all, or a fault of the text, name or
/// webhook. [`AppError::InsufficientCredits`] and [`AppError::QuotaExceeded`] mean that the account has no room for all lines; they also
/// occur midway if other calls used up the rest.
pub async fn submit(
    services: &Services,
    account: AccountKey,
    text: Bytes,
    name: Option<&str>,
    webhook: Option<&str>,
    form: Option<FormKey>,
) -> Result<BatchRecord, AppError> {
    let terms = Terms::new(services, name, webhook)?;
    let lines = Lines::of(services, &text)?;
    let form = match form {
        Some(form) => Some(form.with_text(services, account, &text).await?),
        None => None,
    };
    send(services, account, lines, terms, form).await
}
