//! The errors of use cases. They know nothing of HTTP; each interface has its own words for them.
//!
//! Failures of the store become one of the last three variants. In two of them the store's message is for the operator and is not repeated
//! to clients.

use overnight_domain::faults::{Fault, Faults, codes};
use overnight_domain::money::Credits;
use overnight_domain::quotas::{Quota, QuotaExceeded};
use overnight_outgoing::payment::{NoticeRefused, PaymentError};
use overnight_store::StoreError;
use thiserror::Error;

/// Why a use case failed. Nothing was changed, except that the outcome of [`AppError::Internal`] may be unknown.
#[derive(Debug, Error)]
pub enum AppError {
    /// The key is missing, unknown, revoked or expired; the error is the same for all of these.
    #[error("a valid API key is required, in the header X-API-Key")]
    InvalidApiKey,
    /// The account's payments are not activated: its keys have no access.
    #[error("payments are not activated for this account: a first top-up or the operator activates them")]
    PaymentsNotActivated,
    /// The account cannot pay the maximum cost of the request.
    #[error("the request needs {required} credits, the most that it may cost, and {available} are available")]
    InsufficientCredits { required: Credits, available: Credits },
    #[error("the account's quota {} is reached: {}", .0.quota.name(), quota_words(.0))]
    QuotaExceeded(QuotaExceeded),
    /// The account is suspended, and the call would change something.
    #[error("{}", StoreError::AccountSuspended)]
    AccountSuspended,
    /// Members of the account, or the user, have reached the limit of changes per day.
    #[error("{}", StoreError::TooManyChanges(*.0))]
    TooManyChanges(u32),
    /// The caller owns no such object.
    #[error("there is no such {0}")]
    NotFound(&'static str),
    #[error("{}", .0.message())]
    Invalid(InvalidInput),
    /// The idempotency key was used before with another body.
    #[error(
        "this Idempotency-Key was used before with another body: use a key for one call and its repeats only"
    )]
    IdempotencyKeyReused,
    /// A completed or failed object cannot be cancelled.
    #[error("the {what} has already ended: it is {status}")]
    AlreadyEnded {
        /// "request" or "batch".
        what: &'static str,
        status: &'static str,
    },
    /// A waiting or running object cannot be deleted.
    #[error("the {0} has not ended: cancel it first")]
    NotEnded(&'static str),
    /// The payment provider refused for good.
    #[error("{0}")]
    Payment(PaymentError),
    /// A payment notice failed verification.
    #[error("{0}")]
    Notice(NoticeRefused),
    /// The store accepts no writes now; nothing was accepted, and a retry may succeed.
    #[error("the service cannot do this now: {0}")]
    Unavailable(String),
    /// The database is unreachable; a retry may succeed.
    #[error("the store is not available at the moment: {}; {}", outage(.cause), .advice.as_deref().unwrap_or("try again"))]
    StoreAway {
        /// The driver's error.
        #[source]
        cause: StoreError,
        /// Advice other than to retry.
        advice: Option<String>,
    },
    /// A bug, or damage of the database.
    #[error("{}", if .0.is_damage() { "a part of the database is damaged: its operator must restore it" } else { "something went wrong here" })]
    Internal(#[source] StoreError),
}

#[derive(Debug, Default)]
pub struct InvalidInput {
    /// The first faults, in the order found.
    pub details: Vec<InputFault>,
    /// The number of all faults, if the caller is to learn it; `details` may have fewer.
    pub total: Option<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputFault {
    /// A path such as `request_body.messages[0].role`; empty for the input as a whole.
    pub param: String,
    /// The identifier at fault, if it is one.
    pub id: Option<String>,
    pub code: &'static str,
    /// For people: a whole sentence without a full stop.
    pub message: String,
}

impl InvalidInput {
    /// The message of the first fault, and how many more there are.
    pub fn message(&self) -> String {
        let first = self.details.first().map_or("the input is invalid", |fault| &fault.message);
        match self.total.unwrap_or(self.details.len()) {
            0 | 1 => first.to_owned(),
            2 => format!("{first} (and 1 more fault)"),
            total => format!("{first} (and {} more faults)", total - 1),
        }
    }
}

impl AppError {
    /// One fault at `param`; `message` is a predicate such as "must be a string".
    pub fn invalid(param: &str, code: &'static str, message: &str) -> Self {
        let fault = Fault { param: param.to_owned(), code, message: message.to_owned() };
        Self::Invalid(InvalidInput { details: vec![fault.into()], total: None })
    }

    /// The call was too late: the process is stopping.
    pub fn stopping() -> Self {
        Self::Unavailable("the service is stopping".to_owned())
    }

    /// For the log: includes the store's message that clients do not see.
    pub fn in_full(&self) -> String {
        match self {
            Self::StoreAway { cause, .. } | Self::Internal(cause) => cause.to_string(),
            told => told.to_string(),
        }
    }
}

/// The reason of an outage, without details of the installation.
fn outage(cause: &StoreError) -> &'static str {
    cause.outage().unwrap_or("it does not answer")
}

fn quota_words(QuotaExceeded { quota, limit, .. }: &QuotaExceeded) -> String {
    match quota {
        Quota::StoredBytes => format!("it may store {limit} bytes"),
        Quota::LiveRequests => format!("{limit} of its requests may wait or run at once"),
        Quota::RequestsPerSecond => format!("it may create {limit} requests a second"),
        Quota::TokensPerDay => format!("its requests may use {limit} tokens a day, UTC"),
    }
}

impl From<QuotaExceeded> for AppError {
    fn from(exceeded: QuotaExceeded) -> Self {
        metrics::counter!("overnight_quota_exceeded_total", "quota" => exceeded.quota.name()).increment(1);
        Self::QuotaExceeded(exceeded)
    }
}

impl From<Faults> for AppError {
    fn from(faults: Faults) -> Self {
        let details = faults.into_kept().into_iter().map(InputFault::from).collect();
        Self::Invalid(InvalidInput { details, total: None })
    }
}

impl From<Fault> for InputFault {
    fn from(fault: Fault) -> Self {
        let subject = if fault.param.is_empty() { "the body" } else { &fault.param };
        let message = format!("{subject} {}", fault.message);
        Self { param: fault.param, id: None, code: fault.code, message }
    }
}

impl From<PaymentError> for AppError {
    fn from(error: PaymentError) -> Self {
        if error.is_passing() { Self::Unavailable(error.to_string()) } else { Self::Payment(error) }
    }
}

impl From<NoticeRefused> for AppError {
    fn from(refused: NoticeRefused) -> Self {
        match refused {
            NoticeRefused::NotTaken => Self::NotFound("payment provider"),
            NoticeRefused::Unusable(unusable) => {
                // The operator needs the name of the missing variable; callers do not.
                tracing::error!(%unusable, "payment notices cannot be verified");
                Self::Unavailable("payments are not set up".to_owned())
            }
            refused => Self::Notice(refused),
        }
    }
}

impl From<StoreError> for AppError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::TooManyChanges(most) => Self::TooManyChanges(most),
            StoreError::AccountSuspended => Self::AccountSuspended,
            StoreError::AccountClosed => Self::invalid("account", codes::CONFLICT, "is closed for good"),
            error if error.outage().is_some() => Self::StoreAway { cause: error, advice: None },
            error if error.is_passing() => Self::Unavailable(error.to_string()),
            error => Self::Internal(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use overnight_store::DatabaseError;

    use super::*;

    #[test]
    fn what_the_driver_of_the_database_said_is_for_the_log_alone() {
        let said = std::io::Error::other("no route to 10.1.2.3");
        let away = AppError::from(StoreError::Database(DatabaseError::Postgres(said.into())));
        let told = "the store is not available at the moment: the database does not answer; try again";
        assert_eq!(away.to_string(), told);
        assert!(away.in_full().contains("10.1.2.3"), "{}", away.in_full());
        let pooled = AppError::from(StoreError::Pooled);
        assert!(
            matches!(pooled, AppError::StoreAway { .. })
                && pooled.to_string().ends_with("by transaction; try again")
        );
        let full = AppError::from(StoreError::Unavailable("the disk is full"));
        let told = "the service cannot do this now: the store accepts no writes now: the disk is full";
        assert_eq!((full.to_string(), full.in_full()), (told.to_owned(), told.to_owned()));
    }

    #[test]
    fn damage_is_told_without_its_place() {
        let told = AppError::from(StoreError::DamagedColumn("held"));
        assert_eq!(told.to_string(), "a part of the database is damaged: its operator must restore it");
        assert!(told.in_full().contains("held"), "{}", told.in_full());
    }

    #[test]
    fn a_fault_of_the_store_is_told_without_its_tables_paths_and_values() {
        let said = || std::io::Error::other("/var/lib/overnight");
        let failed = rusqlite::Error::InvalidColumnName("webhook_secrets.secret".to_owned());
        for (fault, words) in [
            (StoreError::Database(DatabaseError::Sqlite(failed)), "webhook_secrets.secret"),
            (StoreError::Refused("UNIQUE constraint failed: users.email".to_owned()), "users.email"),
            (StoreError::File { path: "overnight.db".to_owned(), source: said() }, "/var/lib/overnight"),
        ] {
            let told = AppError::from(fault);
            assert_eq!(told.to_string(), "something went wrong here");
            assert!(told.in_full().contains(words), "{}", told.in_full());
        }
    }
}
