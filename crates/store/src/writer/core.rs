//! The writer's connection, and how it does a group, as a task or by hand.

mod manual;
mod refusing;

use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::sync::mpsc::{self, UnboundedSender};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

pub use self::manual::ManualWriter;
use overnight_base::clock::SharedClock;
use overnight_base::supervision::{Pulse, Supervisor};
use overnight_base::tasks;

use crate::database::{
    self, Checkpointer, Connection, Database, Dialect, Numbered, Outcome, end_process, outcome_of, statements,
};
use crate::disk_space::{self, FREE_PAGES};
use crate::error::{StoreError, Trouble};
use crate::file_watch::{FILES, FileWatch};
use crate::outages::UNREACHABLE;
use crate::writer::disk::DiskWatch;
use crate::writer::group::{CrashPoint, Done, Failure, NotDone, WriteGroup};
use crate::writer::pace::Pace;
use crate::writer::queues::WriteQueues;
use crate::writer::{WRITER, Writer};
use crate::writes::{Sequences, WriteContext};

const ANSWERS: &str = "store_answers";
const BUSY: &str = "other nodes write the same rows";
const TEST_WRITE_MS: i64 = 1_000;
/// Interval of looks at the disk while idle: writes may be accepted again.
const IDLE_LOOK_MS: i64 = 1_000;
/// Conflicts with other nodes after which a group runs member by member.
const AGAIN_MAX: u32 = 5;
/// Waits for a lock, of 3 s each, after which the store is not ready; and members of a group in a row that wait in vain, after which the others
/// are refused.
const LOCKED_MAX: u32 = 2;
/// Interval of asking for a commit's outcome.
const OUTCOME_MS: i64 = 100;

statements! {
    /// Shows whether the database accepts writes.
    TEST_WRITE = {
        sqlite: "INSERT INTO settings (name, value) VALUES ('test_write', randomblob(16384))
            ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        postgres: "INSERT INTO settings (name, value) VALUES ('test_write', ''::bytea)
            ON CONFLICT (name) DO UPDATE SET value = excluded.value",
    };
}

/// The writing connection, and the row numbers it gives out.
pub(crate) struct WriterCore {
    database: Database,
    connection: Connection,
    sequences: Sequences,
    context: WriteContext,
    /// Of the last group, to ask for its outcome.
    number: i64,
    queues: Arc<WriteQueues>,
    pace: Pace,
    checkpointer: Option<Checkpointer>,
    /// `None` if the database is on another machine.
    disk: Option<DiskWatch>,
    /// `None` if the database is on another machine.
    files: Option<Arc<FileWatch>>,
    /// The task that answers callers; `None` if the writer does so itself.
    done: Option<UnboundedSender<Done>>,
    supervisor: Arc<Supervisor>,
    pulse: Arc<Pulse>,
}

impl WriterCore {
    pub(crate) fn new(
        writer: &Writer,
        database: Database,
        connection: Connection,
        sequences: Sequences,
        context: WriteContext,
        disk: Option<DiskWatch>,
        supervisor: Arc<Supervisor>,
    ) -> Self {
        let queues = Arc::clone(&writer.queues);
        let pulse = supervisor.pulse(WRITER, connection.dialect() == Dialect::Postgres);
        Self {
            database,
            connection,
            sequences,
            context,
            number: 0,
            queues,
            pace: Pace::default(),
            checkpointer: None,
            disk,
            files: None,
            done: None,
            supervisor,
            pulse,
        }
    }

    /// With the files that it writes to.
    pub(crate) fn over(self, files: Option<Arc<FileWatch>>) -> Self {
        Self { files, ..self }
    }

    /// Writes until the queues are closed and empty; never aborted. SQLite is written on a separate thread, on which a statement is a
    /// function call.
    ///
    /// If it ends otherwise, waiting and new writes are refused.
    pub(crate) fn spawn(mut self, clock: SharedClock) -> Result<JoinHandle<()>, StoreError> {
        let supervisor = Arc::clone(&self.supervisor);
        let queues = Arc::clone(&self.queues);
        self.checkpointer = self.database.start_checkpoints(&mut self.connection, move || queues.wake())?;
        let (queues, is_over) = (Arc::clone(&self.queues), Arc::clone(&self.queues));
        let is_over = move || is_over.is_closed();
        Ok(match self.connection.dialect() {
            Dialect::Postgres => {
                let writing = Box::pin(supervisor.watch_until(WRITER, self.write_all(clock), is_over));
                tasks::spawn(async move {
                    writing.await;
                    queues.abandon();
                })
            }
            Dialect::Sqlite => {
                queues.take_transactions_in();
                let (runtime, (ended, end)) = (Handle::current(), oneshot::channel());
                let writing = Arc::clone(&supervisor);
                database::spawn_thread(&supervisor, WRITER, move || {
                    runtime.block_on(writing.watch_until(WRITER, self.write_and_answer(clock), is_over));
                    queues.abandon();
                    let _ = ended.send(());
                })?;
                tasks::spawn(async move { _ = end.await })
            }
        })
    }

    /// As [`Self::write_all`], with transactions between the groups, and a task that answers callers: waking each would take the thread's
    /// time.
    async fn write_and_answer(mut self, clock: SharedClock) {
        let (done, mut committed) = mpsc::unbounded_channel::<Done>();
        let sender = done.downgrade();
        let answer = async move {
            while let Some(done) = committed.recv().await {
                done.answer();
            }
        };
        let answering =
            tasks::spawn(self.supervisor.watch_until(ANSWERS, answer, move || sender.upgrade().is_none()));
        self.done = Some(done);
        while !self.is_done() {
            self.write_next(&clock).await;
            // One, then the next group: creates and settles wait for at most one such commit.
            if let Some(transaction) = self.queues.take_transaction() {
                let run = transaction.run(&mut self.connection);
                if self.supervisor.item(WRITER, "a transaction", run).await.is_err() {
                    // Fails if the panic was before the transaction began.
                    _ = self.connection.execute_all("ROLLBACK").await;
                }
            }
        }
        drop(self);
        let _ = answering.await;
    }

    async fn write_all(mut self, clock: SharedClock) {
        while !self.is_done() {
            self.write_next(&clock).await;
        }
        let _ = self.connection.close().await;
    }

    fn is_done(&self) -> bool {
        self.queues.is_closed() && self.queues.is_empty()
    }

    async fn write_next(&mut self, clock: &SharedClock) {
        self.pulse.turn();
        if let Some(checkpointer) = &mut self.checkpointer {
            self.connection.look_at_checkpoint(checkpointer);
        }
        let began = clock.now();
        self.look_at_disk(began).await;
        self.hold_large(began);
        if !self.queues.is_ready() {
            return self.wait(clock).await;
        }
        let Some(group) = self.queues.take() else { return };
        self.run(group, clock).await;
        if self.queues.has_made_others_wait() {
            self.pace.made_others_wait(began, clock.now());
        }
    }

    /// Large intake waits during a rest, and while the log grows faster than it is copied.
    fn hold_large(&self, now: i64) {
        let is_behind = self.checkpointer.as_ref().is_some_and(Checkpointer::is_behind);
        let is_held = is_behind || self.pace.rest(now).is_some();
        self.queues.hold_large(is_held && !self.queues.is_closed());
    }

    /// Ends with the next write, the end of a rest, or the next look at the disk.
    async fn wait(&mut self, clock: &SharedClock) {
        let now = clock.now();
        tokio::select! {
            () = self.queues.woken() => {}
            () = clock.sleep_until(self.pace.rest(now).unwrap_or(now + IDLE_LOOK_MS)) => {}
        }
    }

    /// If it is time, determines how much room the disk has.
    pub(crate) async fn look_at_disk(&mut self, now: i64) {
        let Some(disk) = &mut self.disk else { return };
        if !disk.is_due(self.queues.allowance().intake_bytes, now) {
            return;
        }
        let read = self.connection.fetch_one(FREE_PAGES.unbound()).await;
        // An unreadable database shows at the next write.
        let free_pages = read.and_then(|row| disk_space::read_free_pages(&row)).unwrap_or(0);
        self.queues.allow(disk.look(free_pages, now));
    }

    fn answer(&self, done: Done) {
        match &self.done {
            // Without that task the process is ending.
            Some(sender) => _ = sender.send(done),
            None => done.answer(),
        }
    }

    async fn attempt(&mut self, group: WriteGroup, crash: Option<CrashPoint>) -> Result<Done, Failure> {
        let count = group.count() as u64;
        self.number += 1;
        let (connection, sequences) = (&mut self.connection, &mut self.sequences);
        let run = group.run(connection, sequences, &self.context, self.number, crash, &self.supervisor);
        match run.await {
            Ok(answers) => {
                self.queues.set_stuck(None);
                metrics::counter!("overnight_store_commits_total").increment(1);
                metrics::counter!("overnight_store_writes_total").increment(count);
                Ok(Done { group, answers })
            }
            Err(NotDone { error, unanswered }) => Err(Failure { group, error, unanswered }),
        }
    }

    /// Runs a group until its outcome is known; the error says why it was not done.
    async fn run_to_an_outcome(
        &mut self,
        mut group: WriteGroup,
        again_max: u32,
        clock: &SharedClock,
    ) -> Result<(), (WriteGroup, StoreError)> {
        let mut tries = 0;
        loop {
            let Failure { group: undone, error, unanswered } = match self.attempt(group, None).await {
                Ok(done) => {
                    self.answer(done);
                    return Ok(());
                }
                Err(failure) => failure,
            };
            let Some((id, answers)) = unanswered else {
                tries += 1;
                if error.is_locked() && tries == LOCKED_MAX {
                    self.queues.set_stuck(error.outage());
                }
                if error.trouble() != Trouble::Again || tries == again_max {
                    return Err((undone, error));
                }
                metrics::counter!("overnight_store_retries_total").increment(1);
                group = undone;
                continue;
            };
            metrics::counter!("overnight_store_unanswered_commits_total").increment(1);
            tracing::warn!(%error, "commit not answered; reading its outcome from the database");
            match self.outcome_of(id, clock).await {
                Some(Outcome::Committed) => {
                    self.answer(Done { group: undone, answers: *answers });
                    return Ok(());
                }
                Some(_) => group = undone,
                None => return Err((undone, StoreError::Stopped)),
            }
        }
    }

    /// The outcome of a commit without an answer; waits while the database is unreachable. `None` if the process ends before it is known.
    async fn outcome_of(&mut self, id: Numbered, clock: &SharedClock) -> Option<Outcome> {
        self.queues.set_refusing(Some(UNREACHABLE));
        let outcome = loop {
            match self.ask_outcome(id).await {
                Ok(outcome) => break Some(outcome),
                Err(_) if self.queues.is_closed() => break None,
                Err(error) => tracing::warn!(%error, "reading the outcome of a commit failed; retrying"),
            }
            clock.sleep_until(clock.now() + OUTCOME_MS).await;
        };
        self.queues.set_refusing(None);
        outcome
    }

    async fn ask_outcome(&mut self, id: Numbered) -> Result<Outcome, StoreError> {
        self.pulse.turn();
        self.connection = self.database.connect().await?;
        outcome_of(&mut self.connection, id).await
    }

    async fn run(&mut self, group: WriteGroup, clock: &SharedClock) {
        let Err((group, error)) = self.run_to_an_outcome(group, AGAIN_MAX, clock).await else { return };
        match error.trouble() {
            Trouble::Constraint | Trouble::Again => {
                let again_max = if error.is_locked() { 1 } else { AGAIN_MAX };
                self.run_each_alone(group, again_max, clock).await;
            }
            Trouble::Refusing => self.refuse_until_well(group, &error, clock).await,
            Trouble::Fatal => self.give_up(group, error),
        }
    }

    /// One member is at fault: each runs by itself, so that the others do not fail with it.
    async fn run_each_alone(&mut self, group: WriteGroup, again_max: u32, clock: &SharedClock) {
        let mut locked = 0;
        for single in group.split() {
            if locked == LOCKED_MAX {
                single.refuse(|| StoreError::Unavailable(BUSY));
                continue;
            }
            let Err((single, error)) = self.run_to_an_outcome(single, again_max, clock).await else {
                locked = 0;
                continue;
            };
            match error.trouble() {
                Trouble::Constraint => self.refuse_single(single, &error, clock).await,
                Trouble::Again => {
                    locked += u32::from(error.is_locked());
                    self.queues.set_stuck(error.outage());
                    single.refuse(|| StoreError::Unavailable(BUSY));
                }
                Trouble::Refusing => self.refuse_until_well(single, &error, clock).await,
                Trouble::Fatal => self.give_up(single, error),
            }
        }
    }

    async fn write_for_test(&mut self) -> Result<(), StoreError> {
        self.pulse.turn();
        if self.connection.dialect() == Dialect::Postgres {
            self.connection = self.database.connect().await?;
        }
        self.connection.execute(TEST_WRITE.unbound()).await.map(drop)
    }

    /// After an I/O error the state of this machine's disk is unknown: the process ends, and the next start reads it again. Errors of a
    /// PostgreSQL server end no process. If a file is gone, the supervisor ends it.
    fn give_up(&self, group: WriteGroup, error: StoreError) {
        if let Some(fault) = self.files.as_ref().and_then(|files| files.fault()) {
            self.supervisor.files_gone(FILES, fault);
            self.queues.abandon();
            return group.refuse(|| StoreError::Stopped);
        }
        match (self.connection.dialect(), error) {
            (_, StoreError::Stopped) => group.refuse(|| StoreError::Stopped),
            (Dialect::Sqlite, error) => end_process(&error),
            (Dialect::Postgres, error) => {
                tracing::error!(%error, "store refused a write group");
                group.refuse(|| StoreError::Refused(error.to_string()));
            }
        }
    }
}

#[cfg(test)]
mod tests;
