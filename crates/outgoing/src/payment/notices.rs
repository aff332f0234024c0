//! Notices of a payment provider.

use overnight_domain::ids::PaymentId;

/// The content of a verified notification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    Notice(Notice),
    /// Only a reference: the object is to be fetched.
    Reference(NoticeReference),
}

/// An event without its object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoticeReference {
    /// The provider's type of the event.
    pub kind: String,
    pub id: String,
}

/// Something that happened to a payment. Notices may be duplicated and reordered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    Paid(Receipt),
    /// Money is paid back, or that failed. A failed refund never succeeds later: a notice of the same refund that says so is outdated.
    Refund {
        id: String,
        /// The provider's id of the payment, which need not be one of ours.
        reference: String,
        /// In minor units; not negative.
        amount: i64,
        currency: String,
        /// False once the refund failed or was cancelled.
        is_standing: bool,
    },
    /// Money was taken back through the payer's bank, or returned after that. Once it was returned, a notice of the same dispute that says
    /// otherwise is outdated.
    Dispute {
        id: String,
        /// The provider's id of the payment, which need not be one of ours.
        reference: String,
        /// In minor units; not negative.
        amount: i64,
        currency: String,
        /// False once the money was returned.
        is_withdrawn: bool,
    },
    Nothing,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionState {
    Paid(Receipt),
    /// It can still be paid, or the payment is pending.
    Open,
    /// Not paid, and never will be.
    Closed,
}

/// An order was paid, according to the provider; the reader compares it with the order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    pub payment: PaymentId,
    /// The provider's id of the payment, which refunds and disputes refer to.
    pub reference: String,
    /// In minor units; not negative.
    pub amount: i64,
    /// Three lower-case letters.
    pub currency: String,
}
