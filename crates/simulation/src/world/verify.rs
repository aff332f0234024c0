//! Reads what the service shows and compares it with the clients' knowledge. Nothing is written between two reads, so one read of a batch
//! and another of its requests must agree exactly.

use std::collections::BTreeSet;

use overnight_app::errors::AppError;
use overnight_app::pages::Pages;
use overnight_app::{Services, batches, file_batches, requests};
use overnight_domain::batches::BatchStatus;
use overnight_domain::ids::RequestId;
use overnight_domain::records::BatchRecord;
use overnight_domain::requests::COMPLETION_WINDOW_MS;
use overnight_domain::scheduler::AccountKey;
use overnight_store::operations::audit;
use overnight_store::queue;

use super::World;
use crate::broken::{Broken, Step, ensure};
use crate::events::Event;
use crate::tags::Tag;
use crate::texts;

const GRACE_MS: i64 = 3_000;

impl World<'_> {
    pub(super) async fn verify(&mut self) -> Step {
        let Some(life) = &self.life else {
            self.timeline.after(60_000, Event::Verify);
            return Ok(());
        };
        let services = life.services.clone();
        let mut shown = BTreeSet::new();
        for account in self.accounts.clone() {
            let mut pages =
                requests::list_records(&services, account, &requests::ListQuery::default()).await?;
            while let Some(records) = pages.next_page().await? {
                for record in records {
                    let tag = texts::tag(record.client.metadata.as_deref())
                        .ok_or_else(|| Broken(format!("{record:?} has no tag")))?;
                    ensure!(shown.insert(tag), "request {tag} is shown twice");
                    self.oracle.name(record.summary.id, tag)?;
                    let facts = self.oracle.request(tag)?;
                    ensure!(facts.account == account, "request {tag} is shown to another account");
                    facts.see_record(&record)?;
                }
            }
        }
        let stored = self.oracle.requests.values().filter(|facts| facts.id.is_some());
        let missing: Vec<Tag> = stored.map(|facts| facts.tag).filter(|tag| !shown.contains(tag)).collect();
        for request in missing {
            self.note_missing(request)?;
        }
        self.verify_batches(&services).await?;
        self.check_charges().await?;
        self.check_punctuality()
    }

    async fn verify_batches(&mut self, services: &Services) -> Step {
        let mut shown = BTreeSet::new();
        for account in self.accounts.clone() {
            let mut pages = batches::list(services, account, batches::BatchQuery::default()).await?;
            while let Some(whole) = pages.next_page().await? {
                for batch in whole {
                    let tag = texts::tag(batch.record.metadata.as_deref())
                        .ok_or_else(|| Broken(format!("{batch:?} has no tag")))?;
                    ensure!(shown.insert(tag), "batch {tag} is shown twice");
                    let members: Step<Vec<Tag>> =
                        batch.requests_ids.iter().flatten().map(|id| self.oracle.tag_of(*id)).collect();
                    let (members, facts) = (members?, self.oracle.batch(tag)?);
                    // A file may have more lines than requests so far; `see_batch` checks their number.
                    let is_whole = facts.requests == members;
                    let is_begun = facts.file.is_some() && facts.requests.starts_with(&members);
                    ensure!(
                        facts.account == account && (is_whole || is_begun),
                        "batch {tag} holds {members:?}, not {:?}",
                        facts.requests
                    );
                    for request in members {
                        let taken = self.oracle.request(request)?.batch.replace(tag);
                        ensure!(taken.is_none_or(|it| it == tag), "request {request} is in two batches");
                    }
                    self.see_batch(tag, &batch.record).await?;
                }
            }
        }
        let stored = self.oracle.batches.values().filter(|facts| facts.id.is_some());
        let missing: Vec<Tag> = stored.map(|facts| facts.tag).filter(|tag| !shown.contains(tag)).collect();
        missing.into_iter().try_for_each(|batch| self.note_missing(batch))
    }

    /// Compares a batch that was just read with its requests, read now. Deleted requests are counted as they ended.
    pub(super) async fn see_batch(&mut self, tag: Tag, record: &BatchRecord) -> Step {
        let facts = self.oracle.batch(tag)?;
        let (account, is_of_file, mut unseen) = (facts.account, facts.file.is_some(), facts.requests.clone());
        let services = self.life()?.services.clone();
        let whole = match batches::get_whole(&services, account, record.id).await {
            Err(AppError::NotFound(_)) if self.oracle.may_be_gone(tag) => return Ok(()),
            whole => whole?,
        };
        for (id, request) in whole.requests_ids.iter().zip(&unseen) {
            self.oracle.name(*id, *request)?;
        }
        let input = file_batches::get_with_input(&services, account, record.id).await?.input;
        unseen.truncate(whole.requests_ids.len());
        ensure!(
            input.as_ref().is_none_or(|input| input.filled == unseen.len() as i64),
            "batch {tag} lists {unseen:?} and is {input:?}"
        );
        let mut pages = batches::list_requests(&services, account, record.id).await?;
        let mut statuses = Vec::new();
        let mut listed = BTreeSet::new();
        while let Some(page) = pages.next_page().await? {
            for summary in page {
                statuses.push(summary.state.status());
                let request = self.oracle.tag_of(summary.id)?;
                self.oracle.request(request)?.see(&summary)?;
                ensure!(
                    !is_of_file || summary.expires_at == record.created_at + COMPLETION_WINDOW_MS,
                    "line {request} of {record:?} is {summary:?}"
                );
                listed.insert(request);
            }
        }
        for request in unseen.into_iter().filter(|request| !listed.contains(request)) {
            let state = self.oracle.request(request)?.state;
            let may_be_gone = self.oracle.may_be_gone(request);
            ensure!(may_be_gone, "request {request} is not listed in its batch");
            statuses.extend(state.map(|state| state.status()));
        }
        self.oracle.batch(tag)?.see(record, &statuses, input.as_ref())
    }

    pub(super) async fn look_at_batch(&mut self, tag: Tag) -> Step {
        if let Some(record) = self.find_batch(tag).await? {
            self.see_batch(tag, &record).await?;
        }
        Ok(())
    }

    /// A batch as it is shown now; `None` if it was deleted or its identifier is unknown.
    async fn find_batch(&mut self, tag: Tag) -> Step<Option<BatchRecord>> {
        let facts = self.oracle.batch(tag)?;
        let (Some(id), account) = (facts.id, facts.account) else { return Ok(None) };
        let services = self.life()?.services.clone();
        match batches::get_record(&services, account, id).await {
            Err(AppError::NotFound(_)) if self.oracle.may_be_gone(tag) => Ok(None),
            record => Ok(Some(record?)),
        }
    }

    /// After a commit: from its mark on, no request of a cancelled batch runs or settles.
    pub(super) async fn look_at_cancels(&mut self) -> Step {
        for tag in self.cancelling.clone() {
            self.look_at_batch(tag).await?;
        }
        Ok(())
    }

    /// Whether it was cancelled or no longer exists.
    pub(super) async fn is_marked(&mut self, tag: Tag) -> Step<bool> {
        let record = self.find_batch(tag).await?;
        let is_gone = record.is_none() && self.oracle.may_be_gone(tag);
        Ok(is_gone || record.is_some_and(|it| it.state.status() == BatchStatus::Cancelled))
    }

    /// Whether the request has ended, as shown now; a deleted one has.
    pub(super) async fn look_at_request(&mut self, account: AccountKey, id: RequestId) -> Step<bool> {
        let services = self.life()?.services.clone();
        let tag = self.oracle.tag_of(id)?;
        let record = match requests::get_record(&services, account, id).await {
            Err(AppError::NotFound(_)) if self.oracle.may_be_gone(tag) => return Ok(true),
            record => record?,
        };
        self.oracle.request(tag)?.see_record(&record)?;
        Ok(record.summary.state.is_terminal())
    }

    /// The expirer has run at `now`: no request that was overdue then is live.
    pub(super) async fn check_overdue(&mut self, now: i64) -> Step {
        let overdue =
            self.oracle.requests.values().filter(|facts| facts.is_live() && facts.expires_at <= now);
        let overdue: Vec<_> =
            overdue.filter_map(|facts| Some((facts.tag, facts.account, facts.id?))).collect();
        for (tag, account, id) in overdue {
            let has_ended = self.look_at_request(account, id).await?;
            // The deadline of a line that was sent and not read yet is known only now.
            let is_overdue = self.oracle.request(tag)?.expires_at <= now;
            ensure!(has_ended || !is_overdue, "request {tag} is overdue and live after the expirer's turn");
        }
        Ok(())
    }

    fn check_punctuality(&self) -> Step {
        let now = self.timeline.now();
        if self.timeline.elapsed() < self.punctual_from {
            return Ok(());
        }
        let late = self.oracle.requests.values().find(|it| it.is_live() && it.expires_at + GRACE_MS < now);
        ensure!(late.is_none(), "a request outlived its deadline: {late:?}");
        Ok(())
    }

    pub(super) async fn audit(&mut self) -> Step {
        let checks = audit::run(self.life()?.store()).await?;
        let breaches: Vec<_> = checks.into_iter().filter(|check| check.breaches > 0).collect();
        ensure!(breaches.is_empty(), "the audit found {breaches:?}");
        self.summary.audits += 1;
        Ok(())
    }

    pub(super) async fn check_rest(&mut self) -> Step {
        let is_idle = self.engines.is_idle();
        let life = self.life()?;
        let (waiting, _) = queue::backlogs(life.store(), i64::MAX).await?;
        let gathering = queue::next_ready_at(life.store()).await?;
        ensure!(waiting.is_empty() && gathering.is_none(), "left at the end: {waiting:?}, {gathering:?}");
        ensure!(is_idle && life.scheduler.is_idle(), "the scheduler holds leases at the end");
        Ok(())
    }
}
