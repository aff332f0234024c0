//! What the provider tells of payments, more than once and in any order. Every entry has the provider's own name for what
//! happened as its source, so that each is booked once.

use overnight_domain::money::{Credits, EntryKind};

use crate::app::Services;
use crate::app::errors::AppError;
use crate::payment::{Notice, NoticeRefused, Receipt};
use crate::store::ledger::{self, Booking, NewEntry};
use crate::store::payments::{self, Payment};

/// What became of a notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    /// The ledger has a new entry.
    Booked,
    /// It was told before.
    BookedBefore,
    /// It concerns nothing of ours.
    Nothing,
    /// What was paid is not what was ordered, and nothing was booked: the operator is told.
    Doubtful,
}

/// Something that takes money back, and may be undone.
struct Reversal<'a> {
    kind: EntryKind,
    id: &'a str,
    reference: &'a str,
    amount: i64,
    currency: &'a str,
    /// Once it does not, it never does again.
    stands: bool,
}

/// What a notice without a signature is answered with, unread.
pub fn unsigned() -> AppError {
    AppError::Notice(NoticeRefused::NoSignature)
}

/// Books what the provider tells. Once this returns it need not be told again.
///
/// # Errors
///
/// [`AppError::Notice`] where it is not believed; [`AppError::Unavailable`] or another where it is to be told again.
pub async fn hear(services: &Services, signature: &[u8], body: &[u8]) -> Result<Heard, AppError> {
    let notice = services.payments.read_notice(Some(signature), body, services.clock.now())?;
    let heard = match &notice {
        Notice::Nothing => Heard::Nothing,
        Notice::Paid(receipt) => book_payment(services, receipt).await?,
        Notice::Refund { id, reference, amount, currency, is_standing } => {
            let (kind, amount, stands) = (EntryKind::Refund, *amount, *is_standing);
            take_back(services, &Reversal { kind, id, reference, amount, currency, stands }).await?
        }
        Notice::Dispute { id, reference, amount, currency, is_withdrawn } => {
            let (kind, amount, stands) = (EntryKind::Dispute, *amount, *is_withdrawn);
            take_back(services, &Reversal { kind, id, reference, amount, currency, stands }).await?
        }
    };
    if heard == Heard::Doubtful {
        tracing::error!(
            ?notice,
            "a payment is not what was ordered: nothing was booked, look at it at the provider"
        );
    }
    metrics::counter!("overnight_payment_notices_total", "outcome" => heard.as_str()).increment(1);
    Ok(heard)
}

/// Asks the provider whether an order was paid, and books it if so: for where it could not tell.
///
/// # Errors
///
/// [`AppError::Payment`] or [`AppError::Unavailable`] for what the provider says.
pub async fn check(services: &Services, order: &Payment) -> Result<Heard, AppError> {
    let Some(session) = order.session.as_deref().filter(|_| order.paid_at.is_none()) else {
        return Ok(Heard::Nothing);
    };
    match services.payments.find_receipt_of_session(session).await? {
        Some(receipt) => book_payment(services, &receipt).await,
        None => Ok(Heard::Nothing),
    }
}

/// Books the credits of an order, or the part of them that was paid.
async fn book_payment(services: &Services, receipt: &Receipt) -> Result<Heard, AppError> {
    let Some(ordered) = payments::find(&services.store, receipt.payment).await? else {
        tracing::warn!(payment = %receipt.payment, "a payment of another installation was told of");
        return Ok(Heard::Nothing);
    };
    let credits = ordered.credits.share(receipt.amount, ordered.amount);
    if receipt.currency != ordered.currency || credits == Credits::ZERO {
        return Ok(Heard::Doubtful);
    }
    let amount = receipt.amount.min(ordered.amount);
    let paid = Payment { credits, amount, ..ordered };
    let booking = payments::book(&services.store, &paid, &receipt.reference, services.clock.now()).await?;
    Ok(booking.into())
}

/// Books what takes money back. What was undone by now is booked both ways, whatever was heard before.
async fn take_back(services: &Services, reversal: &Reversal<'_>) -> Result<Heard, AppError> {
    let Some(payment) = find_payment(services, reversal.reference).await? else {
        return Ok(Heard::Nothing);
    };
    if reversal.currency != payment.currency {
        return Ok(Heard::Doubtful);
    }
    let credits = payment.credits.share(reversal.amount, payment.amount);
    let book = async |amount, source| {
        let (account, kind, now) = (payment.account, reversal.kind, services.clock.now());
        ledger::book(&services.store, &NewEntry { account, kind, amount, source, now }).await
    };
    let mut booking = book(-credits, reversal.id.to_owned()).await?;
    if !reversal.stands {
        booking = book(credits, format!("{} undone", reversal.id)).await?;
    }
    Ok(booking.into())
}

/// The order that was paid. Where the payment has not been told of yet, the provider is asked, and it is booked first.
async fn find_payment(services: &Services, reference: &str) -> Result<Option<Payment>, AppError> {
    if let Some(payment) = payments::find_paid(&services.store, reference).await? {
        return Ok(Some(payment));
    }
    if let Some(receipt) = services.payments.find_receipt(reference).await? {
        book_payment(services, &receipt).await?;
    }
    Ok(payments::find_paid(&services.store, reference).await?)
}

impl Heard {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Booked => "booked",
            Self::BookedBefore => "booked_before",
            Self::Nothing => "nothing",
            Self::Doubtful => "doubtful",
        }
    }
}

impl From<Booking> for Heard {
    fn from(booking: Booking) -> Self {
        match booking {
            Booking::Booked => Self::Booked,
            Booking::BookedBefore => Self::BookedBefore,
            Booking::Refused => Self::Doubtful,
        }
    }
}
