//! Calls of clients and their answers. Every create has an idempotency key.

use overnight_app::errors::AppError;
use overnight_app::idempotency::{Answered, Repeatable};
use overnight_app::{batches, requests};
use overnight_domain::ids::{BatchId, RequestId};
use overnight_domain::records::{BatchRecord, RequestSummary};
use overnight_domain::scheduler::AccountKey;

use super::World;
use crate::broken::{Broken, Step, ensure};
use crate::events::{Client, Event};
use crate::oracle::BatchFacts;
use crate::outcomes::{Outcome, UseCase};
use crate::plan::is_free;
use crate::tags::Tag;
use crate::texts;

impl World<'_> {
    /// While the process is down, a call gets no answer.
    pub(super) async fn serve_client(&mut self, client: Client) -> Step {
        let Some(life) = &self.life else { return Ok(()) };
        let services = life.services.clone();
        match client {
            Client::Create(request) => self.create(request).await,
            Client::Cancel(request) => {
                let Some(id) = self.id_of(request) else { return Ok(()) };
                let account = self.oracle.request(request)?.account;
                self.hasten(&[request]);
                let operation = async move {
                    let answer = requests::cancel(&services, account, id).await;
                    Outcome::Cancelled { request, answer }
                };
                self.begin(true, Box::pin(operation)).await
            }
            Client::Group { batch, account, requests } => {
                let known = requests.into_iter().filter(|request| self.id_of(*request).is_some());
                let requests: Vec<Tag> = known.collect();
                if requests.is_empty() {
                    return Ok(());
                }
                self.oracle.batches.insert(batch, BatchFacts::new(batch, account, requests));
                self.group(batch).await
            }
            Client::CancelGroup(batch) => {
                let Some(facts) = self.oracle.batches.get_mut(&batch) else { return Ok(()) };
                let (Some(id), account) = (facts.id, facts.account) else { return Ok(()) };
                facts.is_cancel_sent = true;
                let requests = facts.requests.clone();
                self.cancelling.insert(batch);
                self.hasten(&requests);
                let operation = async move {
                    let answer = batches::cancel(&services, account, id).await;
                    Outcome::GroupCancelled { batch, answer }
                };
                self.begin(true, Box::pin(operation)).await
            }
            Client::Upload(batch) => self.upload(batch).await,
            Client::EndUpload(batch) => self.end_upload(batch).await,
            Client::DeleteFile(batch) => self.delete_file(batch).await,
            Client::Delete(tag) => self.delete(tag).await,
            Client::Repeat(tag) if self.oracle.batches.contains_key(&tag) => self.group(tag).await,
            Client::Repeat(tag) if self.oracle.requests.contains_key(&tag) => self.create(tag).await,
            Client::ReuseKey(tag) if self.oracle.batches.contains_key(&tag) => {
                self.reuse_key_of_batch(tag).await
            }
            Client::ReuseKey(tag) if self.oracle.requests.contains_key(&tag) => {
                self.reuse_key_of_request(tag).await
            }
            // The batch was never sent: none of its requests exists.
            Client::Repeat(_) | Client::ReuseKey(_) => Ok(()),
        }
    }

    async fn create(&mut self, request: Tag) -> Step {
        let sent_at = self.summary.commits;
        let services = self.life()?.services.clone();
        let facts = self.oracle.request(request)?;
        facts.calls.send();
        let (account, body) = (facts.account, texts::create_request(&facts.prompt, request));
        let operation = async move {
            let call = Some(call(request, write_request));
            let answer = requests::create(&services, account, requests::Sent::chat(body, Ok, call)).await;
            Outcome::Created { request, sent_at, answer }
        };
        self.begin(false, Box::pin(operation)).await
    }

    pub(super) async fn group(&mut self, batch: Tag) -> Step {
        let sent_at = self.summary.commits;
        let Some(make) = self.make_batch(batch, false)? else { return Ok(()) };
        self.oracle.batch(batch)?.calls.send();
        let operation = async move { Outcome::Grouped { batch, sent_at, answer: make.await } };
        self.begin(true, Box::pin(operation)).await
    }

    /// The call that creates a batch, or another one with its key; `None` if its client cannot send it yet.
    fn make_batch(&mut self, batch: Tag, is_other: bool) -> Step<Option<UseCase<BatchRecord>>> {
        if self.oracle.batch(batch)?.file.is_some() {
            let Some(make) = self.make_of_file(batch, [u8::from(is_other); 32])? else { return Ok(None) };
            return Ok(Some(Box::pin(async move {
                Ok(match make.await? {
                    Answered::New(batch) => Answered::New(batch.record),
                    Answered::Repeat(body) => Answered::Repeat(body),
                })
            })));
        }
        let services = self.life()?.services.clone();
        let (account, mut body) = self.read_group(batch)?;
        if is_other {
            body.push(' ');
        }
        Ok(Some(Box::pin(async move {
            let call = Some(call(batch, write_batch));
            batches::create(&services, account, body.into(), call).await
        })))
    }

    /// The account of a batch, and its client's body.
    fn read_group(&mut self, batch: Tag) -> Step<(AccountKey, String)> {
        let facts = self.oracle.batch(batch)?;
        let (account, requests) = (facts.account, facts.requests.clone());
        let ids = requests.iter().filter_map(|request| self.id_of(*request));
        let ids: Vec<String> = ids.map(|id| id.to_string()).collect();
        Ok((account, texts::create_batch(&ids, batch)))
    }

    /// Only if the key is taken, or will be by a write earlier in the queue: otherwise the other call would be the first.
    async fn reuse_key_of_request(&mut self, request: Tag) -> Step {
        let facts = self.oracle.request(request)?;
        let is_beside = facts.id.is_none();
        if is_beside && !(facts.calls.is_under_way() && is_free(facts.model)) {
            return Ok(());
        }
        let body = texts::create_request(&texts::other_prompt(&facts.prompt), request);
        let (account, services) = (facts.account, self.life()?.services.clone());
        let operation = async move {
            let call = Some(call(request, write_request));
            let answer = requests::create(&services, account, requests::Sent::chat(body, Ok, call)).await;
            Outcome::KeyReused { tag: request, is_beside, error: answer.err() }
        };
        self.begin(false, Box::pin(operation)).await
    }

    async fn reuse_key_of_batch(&mut self, batch: Tag) -> Step {
        if self.oracle.batch(batch)?.id.is_none() {
            return Ok(());
        }
        let Some(make) = self.make_batch(batch, true)? else { return Ok(()) };
        let operation =
            async move { Outcome::KeyReused { tag: batch, is_beside: false, error: make.await.err() } };
        self.begin(true, Box::pin(operation)).await
    }

    /// Answers some of these requests at the moment of their cancel.
    fn hasten(&mut self, requests: &[Tag]) {
        for request in requests {
            if let Some((replica, lease)) = self.engines.find(*request)
                && self.chance.strikes(400)
            {
                let delay_ms = self.chance.between(0, 16);
                self.timeline.after(delay_ms, Event::Answer { replica, lease });
            }
        }
    }

    pub(super) fn note_created(
        &mut self,
        request: Tag,
        sent_at: u64,
        answer: Result<Answered<RequestSummary>, AppError>,
    ) -> Step {
        let facts = self.oracle.request(request)?;
        match answer {
            Err(AppError::InsufficientCredits { required, available }) => {
                ensure!(
                    required > available,
                    "request {request} was refused with {available} for {required}"
                );
                ensure!(facts.id.is_none(), "request {request} is stored, and its repeat was refused");
                facts.calls.refuse();
                self.summary.creates_refused += 1;
                self.plan_repeat_of_refused(request);
                Ok(())
            }
            Err(error) => Err(error.into()),
            Ok(Answered::New(summary)) => {
                facts.calls.end_new(&mut self.summary)?;
                facts.is_acknowledged = true;
                self.note(format_args!("request {request} is {}", summary.id));
                self.oracle.name(summary.id, request)?;
                self.oracle.request(request)?.see(&summary)
            }
            Ok(Answered::Repeat(body)) => {
                facts.calls.end_repeat(sent_at, &mut self.summary)?;
                facts.is_acknowledged = true;
                let id = read(&body, RequestId::parse)?;
                self.note(format_args!("request {request} is {id}, says a repeat"));
                self.oracle.name(id, request)
            }
        }
    }

    pub(super) fn note_grouped(
        &mut self,
        batch: Tag,
        sent_at: u64,
        answer: Result<Answered<BatchRecord>, AppError>,
    ) -> Step {
        let facts = self.oracle.batch(batch)?;
        let mut is_to_fill = false;
        let id = match answer {
            Ok(Answered::New(record)) => {
                facts.calls.end_new(&mut self.summary)?;
                is_to_fill = facts.file.is_some();
                record.id
            }
            Err(AppError::InsufficientCredits { .. }) if facts.file.is_some() && facts.id.is_none() => {
                facts.calls.refuse();
                self.summary.creates_refused += 1;
                self.plan_repeat_of_refused(batch);
                return Ok(());
            }
            Ok(Answered::Repeat(body)) => {
                facts.calls.end_repeat(sent_at, &mut self.summary)?;
                self.summary.batch_repeats += 1;
                read(&body, BatchId::parse)?
            }
            Err(AppError::Invalid(faults)) => {
                ensure!(
                    facts.id.is_none(),
                    "batch {batch} is stored, and its repeat was refused: {faults:?}"
                );
                facts.calls.refuse();
                let is_file_gone = facts.file.as_ref().is_some_and(|file| file.is_deleted);
                facts.is_refused = true;
                let members = facts.requests.clone();
                let is_taken = |request: &Tag| {
                    let facts = self.oracle.requests.get(request);
                    facts.is_some_and(|it| it.batch.is_some_and(|taker| taker != batch))
                };
                let has_reason = members.iter().any(|it| is_taken(it) || self.oracle.may_be_gone(*it));
                ensure!(is_file_gone || has_reason, "batch {batch} was refused: {faults:?}");
                self.summary.batches_refused += 1;
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        };
        facts.name(id)?;
        if is_to_fill {
            self.note_of_file(batch);
        }
        let facts = self.oracle.batch(batch)?;
        for request in facts.requests.clone() {
            let taken = self.oracle.request(request)?.batch.replace(batch);
            ensure!(taken.is_none_or(|it| it == batch), "request {request} is in two batches");
        }
        Ok(())
    }

    pub(super) fn note_key_reused(&mut self, tag: Tag, is_beside: bool, error: Option<&AppError>) -> Step {
        ensure!(
            matches!(error, Some(AppError::IdempotencyKeyReused)),
            "another call with the key of {tag} was not refused: {error:?}"
        );
        match is_beside {
            true => self.summary.keys_reused_beside += 1,
            false => self.summary.keys_reused += 1,
        }
        Ok(())
    }
}

pub(super) fn call<T>(tag: Tag, write: fn(&T, &mut Vec<u8>)) -> Repeatable<T> {
    let mut hash = [0; 32];
    hash[..8].copy_from_slice(&tag.to_be_bytes());
    Repeatable { hash, write }
}

fn write_request(request: &RequestSummary, out: &mut Vec<u8>) {
    out.extend_from_slice(request.id.to_string().as_bytes());
}

fn write_batch(batch: &BatchRecord, out: &mut Vec<u8>) {
    out.extend_from_slice(batch.id.to_string().as_bytes());
}

/// The identifier in the answer to a repeat.
fn read<T>(body: &[u8], parse: fn(&str) -> Option<T>) -> Step<T> {
    let id = std::str::from_utf8(body).ok().and_then(parse);
    id.ok_or_else(|| Broken(format!("a repeat was answered {:?}", String::from_utf8_lossy(body))))
}
