//! Reviewing all requests before any is created.

use overnight_domain::faults::codes;
use overnight_domain::money::Credits;
use overnight_domain::scheduler::AccountKey;

use super::drafts::{Draft, DraftFault, DraftSource, Drafts, bytes_of};
use crate::errors::{AppError, InputFault, InvalidInput};
use crate::parsing::parse;
use crate::requests::{Reviewed, review};
use crate::{Services, accounts};

const FAULTS_KEPT_MAX: usize = 100;

/// The content and maximum cost of a submission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    pub requests: usize,
    /// By model, in order of appearance.
    pub by_model: Vec<ModelShare>,
    /// The bytes that they store.
    pub bytes: i64,
    /// The maximum cost of all requests.
    pub hold: Credits,
    /// Whether any request has a price.
    pub is_priced: bool,
    /// The account's available credits; negative after a payment was taken back.
    pub available: Credits,
    /// The first 100 faults.
    pub faults: Vec<DraftFault>,
    pub faults_total: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelShare {
    pub model: String,
    pub requests: usize,
    pub hold: Credits,
}

pub(super) async fn review_all(
    services: &Services,
    account: AccountKey,
    mut drafts: impl Drafts,
) -> Result<Checked, AppError> {
    let available = accounts::get_own(services, account).await?.available();
    let mut checked = Checked {
        requests: 0,
        by_model: Vec::new(),
        bytes: 0,
        hold: Credits::ZERO,
        is_priced: false,
        available,
        faults: Vec::new(),
        faults_total: 0,
    };
    while let Some(page) = drafts.next_page().await? {
        let bytes = bytes_of(&page);
        let check = move |services: &Services| {
            checked.check(services, &page);
            Ok(checked)
        };
        checked = parse(services, account, bytes, check).await?;
    }
    Ok(checked)
}

/// The request of a draft, or the reason why there is none, for people.
pub(super) fn reviewed(services: &Services, draft: &Draft) -> Result<Reviewed, String> {
    let body = draft.body.as_ref().map_err(String::clone)?;
    let bytes_max = services.config().limits.request_body_bytes;
    // A stored request was within the limit when it arrived.
    if body.len() > bytes_max && matches!(draft.source, DraftSource::Line(_)) {
        return Err(format!("the request is longer than {bytes_max} bytes"));
    }
    review(services, draft.endpoint, body).map_err(|error| error.to_string())
}

impl Checked {
    fn check(&mut self, services: &Services, drafts: &[Draft]) {
        for draft in drafts {
            match reviewed(services, draft) {
                Ok(request) => self.add(&request),
                Err(message) => self.refuse(draft, message),
            }
        }
    }

    fn add(&mut self, request: &Reviewed) {
        let hold = request.hold();
        let amount = hold.map_or(Credits::ZERO, |hold| hold.amount);
        self.is_priced |= hold.is_some();
        self.requests += 1;
        self.bytes += request.stored_bytes();
        self.hold = sum(self.hold, amount);
        let name = &request.model.config.name;
        match self.by_model.iter_mut().find(|share| share.model == *name) {
            Some(share) => (share.requests, share.hold) = (share.requests + 1, sum(share.hold, amount)),
            None => self.by_model.push(ModelShare { model: name.clone(), requests: 1, hold: amount }),
        }
    }

    fn refuse(&mut self, draft: &Draft, message: String) {
        self.faults_total += 1;
        if self.faults.len() < FAULTS_KEPT_MAX {
            self.faults.push(DraftFault { source: draft.source, message });
        }
    }

    /// Fails with [`AppError::Invalid`] if any request has a fault, and with [`AppError::InsufficientCredits`] if the account cannot pay
    /// them.
    pub(super) fn require(self) -> Result<(), AppError> {
        if self.faults_total > 0 {
            return Err(invalid(self.faults, self.faults_total));
        }
        if self.requests == 0 {
            return Err(AppError::invalid("batch", codes::OUT_OF_RANGE, "has no failed requests any more"));
        }
        if self.is_priced && self.hold > self.available {
            return Err(AppError::InsufficientCredits { required: self.hold, available: self.available });
        }
        Ok(())
    }
}

pub(super) fn invalid(faults: Vec<DraftFault>, total: usize) -> AppError {
    let details = faults.into_iter().map(|DraftFault { source, message }| InputFault {
        message: format!("{source}: {message}"),
        param: source.to_string(),
        id: None,
        code: codes::INVALID_LINE,
    });
    AppError::Invalid(InvalidInput { details: details.collect(), total: Some(total) })
}

/// Saturates at more than any account has.
fn sum(left: Credits, right: Credits) -> Credits {
    left.checked_add(right).unwrap_or(Credits::from_nanos(i64::MAX))
}
