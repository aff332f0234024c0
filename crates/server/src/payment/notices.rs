//! What a provider tells of payments.

use overnight_domain::ids::PaymentId;

/// What a provider sent, once it is believed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    Notice(Notice),
    /// That something happened, and to what: what that is now is to be fetched.
    Reference(NoticeReference),
}

/// What happened, without what it happened to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoticeReference {
    /// The provider's word for what happened.
    pub kind: String,
    /// The provider's name of what it happened to.
    pub id: String,
}

/// Something that happened to a payment. The same is told more than once, and not always in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    Paid(Receipt),
    /// Money is paid back, or that failed. Once it does not stand, it never stands again: a notice of the same refund
    /// that says otherwise was overtaken.
    Refund {
        /// The provider's name of the refund.
        id: String,
        /// The provider's name of the payment, which need not be one of ours.
        reference: String,
        /// How much is paid back, in minor units; not negative.
        amount: i64,
        /// The currency: three small letters.
        currency: String,
        /// Whether it is paid back: false once it failed or was cancelled.
        is_standing: bool,
    },
    /// Money was taken back through the payer's bank, or given again after that. Once it was given again, a notice of
    /// the same dispute that says otherwise was overtaken.
    Dispute {
        /// The provider's name of the dispute.
        id: String,
        /// The provider's name of the payment, which need not be one of ours.
        reference: String,
        /// How much is disputed, in minor units; not negative.
        amount: i64,
        /// The currency: three small letters.
        currency: String,
        /// Whether the money is gone: false once it was given again.
        is_withdrawn: bool,
    },
    Nothing,
}

/// What became of the page at which an order is paid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionState {
    Paid(Receipt),
    /// It can still be paid, or the money is on its way.
    Open,
    /// Nothing was paid there, and nothing will be.
    Closed,
}

/// That an order was paid. What was paid is the provider's word; whether it is what was ordered is for the reader to
/// compare.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    pub payment: PaymentId,
    /// The provider's name of the payment, by which refunds and disputes name it.
    pub reference: String,
    /// How much was paid, in minor units; not negative.
    pub amount: i64,
    /// In which currency: three small letters.
    pub currency: String,
}
