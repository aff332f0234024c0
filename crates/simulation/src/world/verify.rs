//! Reads what the service shows and compares it with what clients know. Nothing is written between two reads, so what
//! one read shows of a batch and another of its requests must agree to the last count.

use std::collections::BTreeSet;

use overnight_domain::batches::BatchStatus;
use overnight_domain::ids::RequestId;
use overnight_domain::records::BatchRecord;
use overnight_domain::scheduler::AccountKey;
use overnight_server::app::pages::Pages;
use overnight_server::app::{Services, batches, requests};
use overnight_server::store::operations::audit;
use overnight_server::store::queue;

use super::World;
use crate::broken::{Broken, Step, ensure};
use crate::events::Event;
use crate::tags::Tag;
use crate::texts;

const GRACE_MS: i64 = 3_000;

impl World<'_> {
    /// Reads everything there is.
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
        for facts in self.oracle.requests.values() {
            let is_lost = facts.id.is_some() && !shown.contains(&facts.tag);
            ensure!(!is_lost, "request {} was acknowledged and is gone", facts.tag);
        }
        self.verify_batches(&services).await?;
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
                        batch.requests_ids.iter().map(|id| self.oracle.tag_of(*id)).collect();
                    let (members, facts) = (members?, self.oracle.batch(tag)?);
                    ensure!(
                        facts.account == account && facts.requests == members,
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
        for facts in self.oracle.batches.values() {
            let is_lost = facts.id.is_some() && !shown.contains(&facts.tag);
            ensure!(!is_lost, "batch {} was acknowledged and is gone", facts.tag);
        }
        Ok(())
    }

    /// Compares a batch that was just read with its requests, read now.
    pub(super) async fn see_batch(&mut self, tag: Tag, record: &BatchRecord) -> Step {
        let account = self.oracle.batch(tag)?.account;
        let services = self.life()?.services.clone();
        let mut pages = batches::list_requests(&services, account, record.id).await?;
        let mut statuses = Vec::new();
        while let Some(page) = pages.next_page().await? {
            for summary in page {
                statuses.push(summary.state.status());
                let request = self.oracle.tag_of(summary.id)?;
                self.oracle.request(request)?.see(&summary)?;
            }
        }
        self.oracle.batch(tag)?.see(record, &statuses)
    }

    pub(super) async fn look_at_batch(&mut self, tag: Tag) -> Step {
        let facts = self.oracle.batch(tag)?;
        let (Some(id), account) = (facts.id, facts.account) else { return Ok(()) };
        let services = self.life()?.services.clone();
        let record = batches::get_record(&services, account, id).await?;
        self.see_batch(tag, &record).await
    }

    /// After a commit: from its mark on, nothing in a batch that is being cancelled runs or settles.
    pub(super) async fn look_at_cancels(&mut self) -> Step {
        for tag in self.cancelling.clone() {
            self.look_at_batch(tag).await?;
        }
        Ok(())
    }

    pub(super) async fn is_marked(&mut self, tag: Tag) -> Step<bool> {
        let facts = self.oracle.batch(tag)?;
        let (Some(id), account) = (facts.id, facts.account) else { return Ok(false) };
        let services = self.life()?.services.clone();
        let record = batches::get_record(&services, account, id).await?;
        Ok(record.state.status() == BatchStatus::Cancelled)
    }

    /// Whether the request has ended, as shown now.
    pub(super) async fn look_at_request(&mut self, account: AccountKey, id: RequestId) -> Step<bool> {
        let services = self.life()?.services.clone();
        let record = requests::get_record(&services, account, id).await?;
        let tag = self.oracle.tag_of(id)?;
        self.oracle.request(tag)?.see_record(&record)?;
        Ok(record.summary.state.is_terminal())
    }

    /// The expirer has had its turn at `now`: nothing that was overdue then is live.
    pub(super) async fn check_overdue(&mut self, now: i64) -> Step {
        let overdue =
            self.oracle.requests.values().filter(|facts| facts.is_live() && facts.expires_at <= now);
        let overdue: Vec<_> =
            overdue.filter_map(|facts| Some((facts.tag, facts.account, facts.id?))).collect();
        for (tag, account, id) in overdue {
            let has_ended = self.look_at_request(account, id).await?;
            ensure!(has_ended, "request {tag} is overdue and live after the expirer's turn");
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

    /// What must hold in the database, recounted by the service's own audit.
    pub(super) async fn audit(&mut self) -> Step {
        let checks = audit::run(self.life()?.store()).await?;
        let breaches: Vec<_> = checks.into_iter().filter(|check| check.breaches > 0).collect();
        ensure!(breaches.is_empty(), "the audit found {breaches:?}");
        self.summary.audits += 1;
        Ok(())
    }

    /// At the end nothing waits, runs or gathers.
    pub(super) async fn check_rest(&mut self) -> Step {
        let is_idle = self.engines.is_idle();
        let life = self.life()?;
        let waiting = queue::backlogs(life.store()).await?;
        let gathering = queue::next_ready_at(life.store()).await?;
        ensure!(waiting.is_empty() && gathering.is_none(), "left at the end: {waiting:?}, {gathering:?}");
        ensure!(is_idle && life.scheduler.is_idle(), "the scheduler holds leases at the end");
        Ok(())
    }
}
