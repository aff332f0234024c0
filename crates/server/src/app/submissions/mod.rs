//! Submissions: many requests taken in together and grouped as one batch, from a text of lines, or from what failed before.
//!
//! They are gone through twice, some at a time: first every one is reviewed, and only then is anything stored.
//!
//! A submission stores all of its lines or none, as far as possible. `crates/server/src/app/submissions/` reads the lines twice, a
//! page at a time: the first pass checks and prices every line, the second stores them as single creates. A failure midway cancels
//! what was stored.

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

/// What a text of lines asks for and may cost. Each line is one of the shapes of `overnight_wire::prompts`, and is reviewed
/// as Create Request would; nothing is stored.
///
/// # Errors
///
/// [`AppError::Invalid`] for a text that is longer than [`TEXT_BYTES_MAX`], holds no line, or more than
/// `limits.batch_requests`. What is wrong with lines stands in the answer.
pub async fn check(services: &Services, account: AccountKey, text: Bytes) -> Result<Checked, AppError> {
    review::review_all(services, account, Lines::of(services, &text)?).await
}

/// Takes in every line of a text, and groups them as one batch with `name` as the `batch_name` of its metadata, whose end is
/// told at `webhook`. Carried through even if the caller leaves. Where something fails midway, what was stored by then is
/// cancelled; what has ended by then stays as it is. Repeats of what a form sends are answered with the first batch.
///
/// # Errors
///
/// Before anything is stored: [`AppError::Invalid`] with what is wrong with lines, the first 100 and the count of all, or
/// with the text, the name or the webhook; [`AppError::PaymentsNotActivated`]; [`AppError::InsufficientCredits`] where the
/// account cannot pay the most that all of them may cost; [`AppError::QuotaExceeded`] where it has no room for all of them.
/// Midway: the last two, where others used that up meanwhile, and [`AppError::Unavailable`] where nothing is taken in any more.
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
