//! Notices from the payment provider, which may be repeated and in any order. Each ledger entry has the provider's identifier of the event
//! as its source, so it is posted once.

use overnight_domain::money::{Credits, EntryKind};
use overnight_outgoing::payment::{Notice, NoticeReference, NoticeRefused, Receipt, Told};
use overnight_store::ledger::payments::{self, Payment};
use overnight_store::ledger::{self, NewEntry, Posting};

use crate::Services;
use crate::errors::AppError;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    Posted,
    PostedBefore,
    Nothing,
    /// The paid amount differs from the order, and nothing was posted; the log has the reason.
    Doubtful(&'static str),
}

/// An event that takes money back, and may be undone.
#[derive(Clone, Copy)]
struct Reversal<'a> {
    kind: EntryKind,
    id: &'a str,
    reference: &'a str,
    amount: i64,
    currency: &'a str,
    /// Once false, it stays false.
    stands: bool,
}

/// The answer to a notice without a signature, whose body is not read.
pub fn unsigned() -> AppError {
    AppError::Notice(NoticeRefused::NoSignature)
}

/// Posts the event of a notice. After success the provider need not repeat it. [`AppError::Notice`] means that verification failed; after
/// other errors the provider must repeat it.
pub async fn hear(services: &Services, signature: &[u8], body: &[u8]) -> Result<Heard, AppError> {
    let notice = services.payments.read_notice(Some(signature), body, services.clock.now());
    let notice = match notice.inspect_err(note_refusal)? {
        Told::Notice(notice) => notice,
        Told::Reference(reference) => fetch(services, &reference).await?,
    };
    let heard = match &notice {
        Notice::Nothing => Heard::Nothing,
        Notice::Paid(receipt) => post_payment(services, receipt).await?,
        Notice::Refund { id, reference, amount, currency, is_standing } => {
            let (kind, amount, stands) = (EntryKind::Refund, *amount, *is_standing);
            take_back(services, Reversal { kind, id, reference, amount, currency, stands }).await?
        }
        Notice::Dispute { id, reference, amount, currency, is_withdrawn } => {
            let (kind, amount, stands) = (EntryKind::Dispute, *amount, *is_withdrawn);
            take_back(services, Reversal { kind, id, reference, amount, currency, stands }).await?
        }
    };
    note(&notice, heard);
    Ok(heard)
}

/// Fetches the event that a notice refers to. If it is not known yet, the provider repeats the notice.
async fn fetch(services: &Services, reference: &NoticeReference) -> Result<Notice, AppError> {
    let NoticeReference { kind, id } = reference;
    let fetched = services.payments.fetch_notice(reference).await;
    let fetched = fetched.inspect_err(|error| {
        tracing::warn!(%error, kind, id, "what a payment notice refers to was not fetched");
        count("not_fetched");
    });
    Ok(fetched?)
}

/// Posts the credits of an order, or of its paid part.
pub(super) async fn post_payment(services: &Services, receipt: &Receipt) -> Result<Heard, AppError> {
    let Some(ordered) = payments::find(&services.store, receipt.payment).await? else {
        return Ok(Heard::Nothing);
    };
    if receipt.currency != ordered.currency {
        return Ok(Heard::Doubtful("it was paid in another currency than ordered"));
    }
    let credits = ordered.credits.share(receipt.amount, ordered.amount);
    if credits == Credits::ZERO {
        return Ok(Heard::Doubtful("nothing of its price was paid"));
    }
    let paid = Payment { credits, amount: receipt.amount, ..ordered };
    let posting = payments::post(&services.store, &paid, &receipt.reference, services.clock.now()).await?;
    let why = "its order was paid before by another payment, its payment paid another order, or its account would have more than a billion credits";
    Ok(heard(posting, why))
}

/// Posts a reversal. If it has been undone by now, both directions are posted, whichever notices arrived before.
async fn take_back(services: &Services, reversal: Reversal<'_>) -> Result<Heard, AppError> {
    let Reversal { kind, id, reference, amount, currency, stands } = reversal;
    let payment = match find_payment(services, reference).await? {
        Ok(payment) => payment,
        Err(unpaid) => return Ok(unpaid),
    };
    if currency != payment.currency {
        return Ok(Heard::Doubtful("it is in another currency than was paid"));
    }
    let credits = payment.credits.share(amount, payment.amount);
    let (account, amount, source, now) = (payment.account, -credits, id.to_owned(), services.clock.now());
    let entry = NewEntry { account, kind, amount, source, now };
    let posting = match stands {
        true => ledger::post(&services.store, &entry).await?,
        false => ledger::post_undone(&services.store, &entry, &format!("{id} undone")).await?,
    };
    Ok(heard(posting, "its account would owe more than a billion credits"))
}

/// The paid order, or the outcome of a reversal without one. If its payment was not reported yet, the provider is asked, and the payment is
/// posted first.
async fn find_payment(services: &Services, reference: &str) -> Result<Result<Payment, Heard>, AppError> {
    if let Some(payment) = payments::find_paid(&services.store, reference).await? {
        return Ok(Ok(payment));
    }
    let unpaid = match services.payments.find_receipt(reference).await? {
        Some(receipt) => post_payment(services, &receipt).await?,
        None => Heard::Nothing,
    };
    let unpaid = if let Heard::Doubtful(_) = unpaid { unpaid } else { Heard::Nothing };
    Ok(payments::find_paid(&services.store, reference).await?.ok_or(unpaid))
}

const fn heard(posting: Posting, why_refused: &'static str) -> Heard {
    match posting {
        Posting::Posted => Heard::Posted,
        Posting::PostedBefore => Heard::PostedBefore,
        Posting::Refused => Heard::Doubtful(why_refused),
    }
}

fn note_refusal(refused: &NoticeRefused) {
    tracing::warn!(%refused, "payment notice refused");
    count("refused");
}

/// Counts and logs a notice.
fn note(notice: &Notice, heard: Heard) {
    let (id, reference, amount, currency) = match notice {
        Notice::Nothing => return count("nothing"),
        Notice::Paid(Receipt { payment, reference, amount, currency }) => {
            (payment.to_string(), reference, amount, currency)
        }
        Notice::Refund { id, reference, amount, currency, .. }
        | Notice::Dispute { id, reference, amount, currency, .. } => {
            (id.clone(), reference, amount, currency)
        }
    };
    match heard {
        Heard::Doubtful(why) => {
            let say = "a payment was told of and is not posted: look at it at the provider";
            tracing::error!(id, reference, amount, currency, why, "{say}");
            count("doubtful");
        }
        Heard::Posted => {
            tracing::info!(id, reference, amount, currency, "payment notice posted");
            count("posted");
        }
        Heard::PostedBefore => {
            note_repeat(notice, &id, reference, *amount);
            count("posted_before");
        }
        Heard::Nothing => {
            tracing::info!(id, reference, "payment notice ignored: not a payment of this service");
            count("nothing");
        }
    }
}

/// Most repeats have no effect, but a dispute may take its funds a second time.
fn note_repeat(notice: &Notice, id: &str, reference: &str, amount: i64) {
    match notice {
        Notice::Dispute { is_withdrawn: true, .. } => {
            let say = "a dispute was told of again and is posted once: look at the provider whether it took its funds twice";
            tracing::warn!(id, reference, amount, "{say}");
        }
        _ => tracing::info!(id, reference, amount, "payment notice was posted before"),
    }
}

fn count(outcome: &'static str) {
    metrics::counter!("overnight_payment_notices_total", "outcome" => outcome).increment(1);
}
