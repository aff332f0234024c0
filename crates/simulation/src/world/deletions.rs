//! Deletions of ended requests and batches by clients, interrupted by crashes.

use overnight_app::errors::AppError;
use overnight_app::{batches, requests};
use overnight_domain::money::EntryKind;
use overnight_domain::requests::RequestStatus;
use overnight_store::{CrashPoint, ledger};

use super::World;
use crate::broken::{Step, ensure};
use crate::events::{Client, Event};
use crate::oracle::Deletion;
use crate::outcomes::Outcome;
use crate::plan::is_free;
use crate::tags::Tag;

/// The longest time between a call and the deletion of its result.
const DELETE_MS_MAX: i64 = 12 * 3_600_000;
const ENTRIES: u32 = 512;

impl World<'_> {
    /// Draws whether and when what is sent at `at` is deleted.
    pub(super) fn plan_deletion(&mut self, at: i64, tag: Tag, per_thousand: i64) {
        while self.chance.strikes(per_thousand) {
            let delay_ms = self.chance.between(0, DELETE_MS_MAX);
            self.timeline.after(at + delay_ms, Event::Client(Client::Delete(tag)));
        }
    }

    /// A client that sees that a request or batch has ended deletes it.
    pub(super) async fn delete(&mut self, tag: Tag) -> Step {
        match self.oracle.batches.contains_key(&tag) {
            true => self.delete_batch(tag).await?,
            false => self.delete_request(tag).await?,
        }
        if self.oracle.may_be_gone(tag) && !self.is_draining && self.chance.strikes(200) {
            let point = *self.chance.pick(&[CrashPoint::AfterCommit, CrashPoint::BeforeCommit]);
            let delay_ms = self.chance.between(0, 12);
            self.timeline.after(delay_ms, Event::Crash(Some(point)));
        }
        Ok(())
    }

    async fn delete_request(&mut self, tag: Tag) -> Step {
        let services = self.life()?.services.clone();
        let Some(id) = self.id_of(tag) else { return Ok(()) };
        let account = self.oracle.request(tag)?.account;
        if !self.look_at_request(account, id).await? {
            return Ok(());
        }
        self.oracle.request(tag)?.deletion.send();
        let operation = async move {
            let answer = requests::delete(&services, account, id).await;
            Outcome::Deleted { tag, answer }
        };
        self.begin(true, Box::pin(operation)).await
    }

    async fn delete_batch(&mut self, tag: Tag) -> Step {
        let services = self.life()?.services.clone();
        self.look_at_batch(tag).await?;
        let facts = self.oracle.batch(tag)?;
        let (Some(id), account) = (facts.id, facts.account) else { return Ok(()) };
        if !facts.has_ended() {
            return Ok(());
        }
        facts.deletion.send();
        let operation = async move {
            let answer = batches::delete(&services, account, id).await;
            Outcome::Deleted { tag, answer }
        };
        self.begin(true, Box::pin(operation)).await
    }

    pub(super) fn note_deleted(&mut self, tag: Tag, answer: Result<(), AppError>) -> Step {
        let may_be_gone = self.oracle.may_be_gone(tag);
        let batch = self.oracle.batches.get_mut(&tag);
        match answer {
            Ok(()) => {}
            Err(AppError::NotFound(_)) if may_be_gone => {}
            // The end of its cancel was not written yet.
            Err(AppError::NotEnded(_)) if batch.as_ref().is_some_and(|facts| facts.is_cancel_sent) => {
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        }
        let is_told = answer.is_ok();
        let Some(facts) = batch else {
            let facts = self.oracle.request(tag)?;
            ensure!(!is_told || facts.deletion == Deletion::Sent, "request {tag} was deleted twice");
            facts.deletion = Deletion::Gone;
            self.summary.requests_deleted += u64::from(is_told);
            return Ok(());
        };
        facts.deletion = Deletion::Gone;
        // Another call may have marked it, and be deleting its requests.
        if is_told {
            self.summary.batches_deleted += 1;
            for request in facts.requests.clone() {
                self.oracle.request(request)?.deletion = Deletion::Gone;
            }
        }
        Ok(())
    }

    /// Everything was read, and these were missing: they were deleted, even if the process died before it answered.
    pub(super) fn note_missing(&mut self, tag: Tag) -> Step {
        ensure!(self.oracle.may_be_gone(tag), "{tag} was acknowledged and is gone");
        let batch = self.oracle.batches.get_mut(&tag).map(|facts| &mut facts.deletion);
        let deletion = match batch {
            Some(deletion) => deletion,
            None => &mut self.oracle.request(tag)?.deletion,
        };
        self.summary.unheard_deletions_done += u64::from(*deletion == Deletion::Sent);
        *deletion = Deletion::Gone;
        Ok(())
    }

    /// The process has just started, and everything was read: whatever is shown was not deleted.
    pub(super) fn forget_deletions(&mut self) {
        let of_requests = self.oracle.requests.values_mut().map(|facts| &mut facts.deletion);
        let of_batches = self.oracle.batches.values_mut().map(|facts| &mut facts.deletion);
        for deletion in of_requests.chain(of_batches).filter(|it| **it == Deletion::Sent) {
            *deletion = Deletion::None;
            self.summary.unheard_deletions_undone += 1;
        }
    }

    /// At the end a deleted batch has no requests left.
    pub(super) fn check_deleted(&self) -> Step {
        let is_gone = |batch: &Tag| {
            self.oracle.batches.get(batch).is_some_and(|facts| facts.deletion == Deletion::Gone)
        };
        let left = self.oracle.requests.values().find(|facts| {
            facts.id.is_some()
                && facts.deletion != Deletion::Gone
                && facts.batch.as_ref().is_some_and(is_gone)
        });
        ensure!(left.is_none(), "the batch of a request is gone, and it is shown: {left:?}");
        Ok(())
    }

    /// Exactly the completed requests with a price were charged, whether or not they were deleted since.
    pub(super) async fn check_charges(&mut self) -> Step {
        let store = self.life()?.store().clone();
        for account in self.accounts.clone() {
            let mut charged = Vec::new();
            let mut before = None;
            loop {
                let page = ledger::list(&store, account, Some(EntryKind::Charge), before, ENTRIES).await?;
                before = page.rest();
                for entry in page.rows {
                    let request = entry.request.map(|id| self.oracle.tag_of(id)).transpose()?;
                    charged.extend(request);
                }
                if before.is_none() {
                    break;
                }
            }
            charged.sort_unstable();
            let requests = self.oracle.requests.values().filter(|facts| facts.account == account);
            let completed = requests.filter(|facts| {
                let status = facts.state.map(|state| state.status());
                !is_free(facts.model) && status == Some(RequestStatus::Completed)
            });
            let completed: Vec<Tag> = completed.map(|facts| facts.tag).collect();
            ensure!(charged == completed, "{charged:?} were charged, and {completed:?} completed");
        }
        Ok(())
    }
}
