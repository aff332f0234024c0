//! Attempts: a leased request goes to an engine, and its completion to the store. One write stores all completions that arrived while the
//! previous one was made durable.

use std::sync::Arc;

use futures_util::FutureExt as _;
use overnight_app::Services;
use overnight_app::write_retry::write_with_retry;
use overnight_base::clock::SharedClock;
use overnight_base::supervision::{Pulse, Supervisor};
use overnight_base::tasks;
use overnight_domain::chat::CacheSalt;
use overnight_domain::ids::RequestId;
use overnight_domain::records::FailedAttempt;
use overnight_domain::scheduler::{
    AccountKey, AttemptError, Lease, ReplicaKey, SchedulerCommand, SchedulerInput,
};
use overnight_outgoing::traces::Traces;
use overnight_store::queue::Prompt;
use overnight_store::queue::attempts::list_attempts;
use overnight_store::queue::settle::{self, Settlement};
use overnight_store::{Store, StoreError};
use overnight_wire::native::warnings::write_warnings;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::{JoinHandle, JoinSet};
use tracing::{Instrument, Span, field};

use super::commands;
use super::prompts::Prompts;
use super::replicas::Replicas;
use super::spans;
use super::subjects::{Subject, Subjects};

/// The name of the loop that stores completions.
const SETTLING: &str = "settling";

/// Completions of one write.
const SETTLED_AT_ONCE: usize = 256;

pub(super) struct Attempts {
    clock: SharedClock,
    store: Store,
    supervisor: Arc<Supervisor>,
    prompts: Arc<Prompts>,
    subjects: Arc<Subjects>,
    traces: Arc<Traces>,
    /// The source of the accounts' salts: the same on every node, and moved with the data.
    salt_secret: [u8; 32],
    /// To `Shell::work_until`, which passes them to the scheduler.
    answers: UnboundedSender<SchedulerInput>,
    /// To [`settle_until_closed`].
    completions: UnboundedSender<(Settlement, Subject)>,
}

impl Attempts {
    /// Attempts that report to the scheduler through `answers`; and the task that stores their completions, which ends after all of them.
    pub(super) fn begin(
        services: &Services,
        (prompts, subjects): (Arc<Prompts>, Arc<Subjects>),
        answers: UnboundedSender<SchedulerInput>,
    ) -> (Arc<Self>, JoinHandle<()>) {
        let (completions, completed) = unbounded_channel();
        let pulse = services.supervisor.pulse(SETTLING, services.store.is_shared());
        pulse.rest();
        let is_closed = {
            let completions = completions.downgrade();
            move || completions.upgrade().is_none()
        };
        let settle = settle_until_closed(services.clone(), completed, pulse);
        let settling = tasks::spawn(services.supervisor.watch_until(SETTLING, settle, is_closed));
        let clock = Arc::clone(&services.clock);
        let store = services.store.clone();
        let salt_secret = *store.sort_key_secret();
        let (traces, supervisor) = (Arc::clone(&services.traces), Arc::clone(&services.supervisor));
        let attempts =
            Self { clock, store, supervisor, prompts, subjects, traces, salt_secret, answers, completions };
        (Arc::new(attempts), settling)
    }

    /// Sends the request, tells the scheduler the outcome, and hands a completion over to be stored. Aborting its task drops the connection
    /// to the engine. Its log lines name the engine and the request, once that is read.
    pub(super) async fn run(self: Arc<Self>, replicas: Arc<Replicas>, replica: ReplicaKey, lease: Lease) {
        // A more severe level than its log lines, or nothing would name the request at high log levels.
        let span = tracing::error_span!(
            "attempt",
            model = replicas.model_name(lease.key.partition.model),
            replica = replicas.name(replica),
            request = field::Empty,
            account = field::Empty,
            trace_id = field::Empty,
        );
        let seq = lease.key.position.seq;
        // Boxed, because each layer around it would move all of it.
        let attempt = self.attempt(&replicas, replica, lease).boxed();
        if self.supervisor.item("attempts", seq, attempt).instrument(span).await.is_err() {
            let message = "the service failed while it worked on the request".to_owned();
            let error = AttemptError::Status { code: 500, message, retry_after_ms: None };
            self.answer(SchedulerInput::AttemptFailed { seq, error });
        }
    }

    async fn attempt(&self, replicas: &Replicas, replica: ReplicaKey, lease: Lease) {
        let seq = lease.key.position.seq;
        let prompt = match self.read_prompt(replica, &lease).await {
            Ok(prompt) => prompt,
            Err(unread) => return self.answer(unread),
        };
        let partition = lease.key.partition;
        let subject = self.name(partition.account, &prompt).await;
        let (model, engine) = (replicas.model_name(partition.model), replicas.name(replica));
        if subject.trace.is_some() && !self.subjects.has_failed(seq) {
            spans::record_wait(&self.traces, &prompt, &lease, model);
        }
        let span = spans::begin_attempt(&self.traces, &prompt, model, engine);
        let traceparent = span.as_ref().map_or_else(|| self.traces.unrecorded(), |it| Some(it.traceparent()));
        let cache_salt = CacheSalt::new(&self.salt_secret, partition.account);
        let is_limited = !self.prompts.take_refusal(seq);
        let traceparent = traceparent.as_deref();
        let answered =
            replicas.complete(replica, partition.model, &prompt, is_limited, &cache_salt, traceparent).await;
        if let Some(span) = span {
            spans::end_attempt(span, answered.as_ref().map(|(completion, _)| completion));
        }
        match answered {
            Ok((completion, warnings)) => {
                self.subjects.take(seq);
                let (cost, tokens) = (completion.usage.cost(), completion.usage.tokens());
                let settlement = Settlement::completed(lease, completion, self.clock.now())
                    .by_engine(replicas.name(replica).into());
                let warnings = write_warnings(&warnings).map(Into::into);
                let _ = self.completions.send((settlement.with_warnings(warnings), subject));
                self.answer(SchedulerInput::Completed { seq, cost, tokens });
            }
            Err(error @ AttemptError::LimitRefused) => {
                self.subjects.note_failed(seq, subject);
                self.prompts.note_refusal(seq);
                self.answer(SchedulerInput::AttemptFailed { seq, error });
            }
            Err(error) => {
                tracing::debug!(?error, "attempt failed");
                metrics::counter!("overnight_attempts_failed_total").increment(1);
                let limit_ms = replicas.request_timeout_ms(replica);
                let error = self.look_back(limit_ms, partition.account, prompt.id, error).await;
                self.subjects.note_failed(seq, subject);
                self.answer(SchedulerInput::AttemptFailed { seq, error });
            }
        }
    }

    /// The prompt; otherwise what the scheduler is told instead.
    async fn read_prompt(&self, replica: ReplicaKey, lease: &Lease) -> Result<Prompt, SchedulerInput> {
        let seq = lease.key.position.seq;
        match self.prompts.take(seq).await {
            Ok(Some(prompt)) => Ok(prompt),
            Ok(None) => Err(SchedulerInput::Ended { seqs: vec![seq] }),
            Err(StoreError::ObjectStore(error)) => {
                tracing::warn!(%error, seq, "reading a large prompt failed; request returns to the queue");
                Err(SchedulerInput::Unread(lease.clone()))
            }
            Err(error) => {
                tracing::warn!(%error, seq, "reading a prompt failed; request returns to the queue");
                let lease = lease.clone();
                Err(SchedulerInput::Undone(SchedulerCommand::Send { replica, lease }))
            }
        }
    }

    /// Names the request in further log lines.
    async fn name(&self, account: AccountKey, prompt: &Prompt) -> Subject {
        let log = Span::current();
        log.record("request", field::display(prompt.id));
        if let Some(account) = self.subjects.account(account).await {
            log.record("account", field::display(account));
        }
        let trace = prompt.trace.filter(|_| self.traces.is_on());
        if let Some(trace) = trace {
            log.record("trace_id", field::display(trace.trace()));
        }
        Subject { request: prompt.id, log, trace }
    }

    /// Changes the error of a second attempt that timed out or had no usable usage, on any node and replica, because a third would hardly
    /// end otherwise. Returns every other error unchanged.
    async fn look_back(
        &self,
        limit_ms: i64,
        account: AccountKey,
        id: RequestId,
        error: AttemptError,
    ) -> AttemptError {
        let ended_so = match &error {
            AttemptError::TimedOut(_) => FailedAttempt::is_timeout,
            AttemptError::NoUsage(_) => FailedAttempt::lacks_usage,
            _ => return error,
        };
        match list_attempts(&self.store, account, id).await {
            Ok(attempts) if attempts.iter().any(ended_so) => end_again(limit_ms, error),
            Ok(_) => error,
            Err(unread) => {
                tracing::warn!(error = %unread, "reading failed attempts failed; this attempt counts as the first with its error");
                error
            }
        }
    }

    /// Fails if the scheduler is gone, when the process ends.
    fn answer(&self, input: SchedulerInput) {
        let _ = self.answers.send(input);
    }
}

/// The error of a request whose second attempt ends like the first.
fn end_again(limit_ms: i64, error: AttemptError) -> AttemptError {
    match error {
        AttemptError::TimedOut(_) => {
            let limit_s = limit_ms / 1_000;
            AttemptError::TooSlow(format!(
                "the engine works and had not answered after {limit_s} s, its `request_timeout`, as once before: \
                 the request is too long for it"
            ))
        }
        AttemptError::NoUsage(why) => AttemptError::BadUsage(format!(
            "{why}, as once before; the model has a price, and its tokens must be charged"
        )),
        error => error,
    }
}

/// Settles until every sender is gone: finished work must be lost neither to an abort nor to a temporary failure of the store.
async fn settle_until_closed(
    services: Services,
    mut completions: UnboundedReceiver<(Settlement, Subject)>,
    pulse: Arc<Pulse>,
) {
    let (mut page, mut large) = (Vec::new(), JoinSet::new());
    while completions.recv_many(&mut page, SETTLED_AT_ONCE).await > 0 {
        pulse.turn();
        // Completions for the object store delay no others.
        for (settlement, subject) in page.extract_if(.., |(it, _)| services.store.is_large(&it.body)) {
            let services = services.clone();
            large.spawn(async move { settle_page(&services, [settlement].into(), &[subject]).await });
        }
        let (settlements, subjects): (Vec<_>, Vec<_>) = page.drain(..).unzip();
        settle_page(&services, settlements.into(), &subjects).await;
        while large.try_join_next().is_some() {}
        pulse.rest();
    }
    while large.join_next().await.is_some() {}
}

/// Settles a page. If that panics, each of its settlements is written alone, and one that panics alone is set aside.
async fn settle_page(services: &Services, settlements: Arc<[Settlement]>, subjects: &[Subject]) {
    if let [subject] = subjects {
        let settling = settle_together(services, settlements, subjects);
        if services.supervisor.item(SETTLING, subject.request, settling).await.is_err() {
            let _named = subject.log.enter();
            tracing::error!("result not stored; its request runs again or expires");
        }
        return;
    }
    let together = settle_together(services, Arc::clone(&settlements), subjects);
    if services.supervisor.call(SETTLING, "a page", together).await.is_err() {
        for (settlement, subject) in settlements.iter().zip(subjects) {
            let alone = settle_together(services, [settlement.clone()].into(), std::slice::from_ref(subject));
            _ = services.supervisor.item(SETTLING, subject.request, alone).await;
        }
    }
}

async fn settle_together(services: &Services, settlements: Arc<[Settlement]>, subjects: &[Subject]) {
    let settle = |settlements| settle::settle_all(&services.store, settlements);
    let held = write_with_retry(&services.clock, "results", Arc::clone(&settlements), settle).await;
    for ((settlement, subject), held) in settlements.iter().zip(subjects).zip(held) {
        match held {
            Some(held) => {
                commands::count_fenced_write(held);
                spans::record_settle(&services.traces, subject.traced(), settlement.now, held, None);
            }
            None => {
                let seq = settlement.lease.key.position.seq;
                let _named = subject.log.enter();
                tracing::error!(seq, "result not stored; its request runs again or expires");
            }
        }
    }
}
