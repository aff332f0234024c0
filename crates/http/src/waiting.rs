//! Calls that wait for the end of a request, for hours if necessary. Such a call has a separate share and no time-out. A client that leaves
//! frees its place, and its request stays in the queue.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use overnight_app::errors::AppError;
use overnight_app::requests;
use overnight_base::clock::SharedClock;
use overnight_domain::ids::RequestId;
use overnight_domain::scheduler::AccountKey;
use tokio::sync::Notify;

use super::calls::Caller;
use super::context::Shared;
use super::counters;
use super::errors::Refusal;
use super::held_requests::HeldRequest;
use super::idempotency::CallName;
use super::shares::CallPermit;

/// A call that may begin to wait.
pub(super) struct MayWait {
    context: Shared,
    account: AccountKey,
    permit: Arc<CallPermit>,
    is_repeatable: bool,
}

impl FromRequestParts<Shared> for MayWait {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, context: &Shared) -> Result<Self, Refusal> {
        let Caller(account) = Caller::from_request_parts(parts, context).await?;
        let is_repeatable = CallName::from_request_parts(parts, context).await?.is_some();
        let permit = parts.extensions.get::<Arc<CallPermit>>().map(Arc::clone);
        let permit = permit.ok_or(Refusal::App(AppError::InvalidApiKey))?;
        Ok(Self { context: Arc::clone(context), account, permit, is_repeatable })
    }
}

impl MayWait {
    /// The call waits from now on, to the last byte of its answer. Call this before creating the request. Fails with
    /// [`Refusal::TooManyWaiting`] if the account has too many such calls.
    pub(super) fn begin(self) -> Result<Waiting, Refusal> {
        let Self { context, account, permit, is_repeatable } = self;
        let Some(lost) = context.shares.begin_waiting(&permit) else {
            counters::count_over_share("waiting");
            return Err(Refusal::TooManyWaiting);
        };
        Ok(Waiting { context, account, lost, is_repeatable })
    }
}

/// A call that waits.
pub(super) struct Waiting {
    context: Shared,
    account: AccountKey,
    lost: Arc<Notify>,
    is_repeatable: bool,
}

impl Waiting {
    pub(super) fn clock(&self) -> SharedClock {
        Arc::clone(&self.context.services.clock)
    }

    /// The request once it has ended. Fails with [`AppError::NotFound`] if it is unknown or was deleted meanwhile, and with
    /// [`Refusal::StillWaiting`] if the service stops, or another account has the place of the call.
    pub(super) async fn ended(&self, id: RequestId) -> Result<HeldRequest, Refusal> {
        let Self { context, account, lost, is_repeatable } = self;
        let once_accepted = |error| Refusal::once_accepted(error, id, *is_repeatable);
        tokio::select! {
            biased;
            ended = requests::wait(&context.services, *account, id) => ended.map_err(once_accepted)?,
            () = lost.notified() => {
                return Err(Refusal::StillWaiting { id, is_repeatable: *is_repeatable });
            }
        }
        HeldRequest::read_patiently(context, *account, id).await.map_err(once_accepted)
    }

    /// The current request. Fails with [`AppError::NotFound`] if it is unknown or was deleted, and with [`Refusal::StillWaiting`] if it
    /// cannot be read now.
    pub(super) async fn current(&self, id: RequestId) -> Result<HeldRequest, Refusal> {
        let held = HeldRequest::read_patiently(&self.context, self.account, id).await;
        held.map_err(|error| Refusal::once_accepted(error, id, self.is_repeatable))
    }
}
