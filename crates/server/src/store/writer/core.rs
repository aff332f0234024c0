//! The writer's own connection and what it does with a group, as a task or by hand.

use std::sync::Arc;

use sqlx::{Connection, SqliteConnection};
use tokio::task::JoinHandle;

use super::Writer;
use super::group::{CrashPoint, Group};
use super::lanes::Lanes;
use super::unit::Sequences;
use crate::clock::SharedClock;
use crate::store::error::{StoreError, Trouble};
use crate::store::owners::OwnerKey;
use crate::store::tx::Tx;

const PROBE_MS: i64 = 1_000;
const EXIT_IO_ERROR: i32 = 74;
const DISK: &str = "the disk is full, or another process holds the database";

/// The connection that writes, and the row numbers it hands out.
pub(in crate::store) struct WriterCore {
    connection: SqliteConnection,
    sequences: Sequences,
    owner: OwnerKey,
    lanes: Arc<Lanes>,
}

impl WriterCore {
    pub(in crate::store) fn new(
        writer: &Writer,
        connection: SqliteConnection,
        sequences: Sequences,
        owner: OwnerKey,
    ) -> Self {
        Self { connection, sequences, owner, lanes: Arc::clone(&writer.lanes) }
    }

    /// Writes until the lanes are closed and empty. Never cancelled half-way: it is a task that nobody aborts.
    pub(in crate::store) fn spawn(mut self, clock: SharedClock) -> JoinHandle<()> {
        tokio::spawn(async move {
            loop {
                if let Some(group) = self.lanes.take() {
                    self.run(group, &clock).await;
                } else if self.lanes.is_closed() {
                    break;
                } else {
                    self.lanes.rung().await;
                }
            }
            let _ = self.connection.close().await;
        })
    }

    async fn attempt(&mut self, group: Group, crash: Option<CrashPoint>) -> Result<(), (Group, StoreError)> {
        let count = group.count() as u64;
        let outcome = group.run(&mut self.connection, &mut self.sequences, self.owner, crash).await;
        if outcome.is_ok() {
            metrics::counter!("overnight_store_commits_total").increment(1);
            metrics::counter!("overnight_store_writes_total").increment(count);
        }
        outcome
    }

    async fn run(&mut self, group: Group, clock: &SharedClock) {
        let Err((group, error)) = self.attempt(group, None).await else { return };
        match error.trouble() {
            Trouble::Constraint => self.run_each_alone(group, clock).await,
            Trouble::Refusing => self.refuse_until_well(group, &error, clock).await,
            Trouble::Fatal => end_process(&error),
        }
    }

    /// One member is at fault, so each runs alone once: the others must not fail with it.
    async fn run_each_alone(&mut self, group: Group, clock: &SharedClock) {
        for single in group.split() {
            let Err((single, error)) = self.attempt(single, None).await else {
                continue;
            };
            match error.trouble() {
                Trouble::Constraint => single.refuse(|| StoreError::Refused(error.to_string())),
                Trouble::Refusing => self.refuse_until_well(single, &error, clock).await,
                Trouble::Fatal => end_process(&error),
            }
        }
    }

    /// Refuses writes, reads go on; tries each second whether the disk takes writes again.
    async fn refuse_until_well(&mut self, group: Group, error: &StoreError, clock: &SharedClock) {
        tracing::error!(%error, "the store refuses writes until the disk takes them again");
        self.lanes.set_refusing(Some(DISK));
        group.refuse(|| StoreError::Unavailable(DISK));
        loop {
            clock.sleep_until(clock.now() + PROBE_MS).await;
            match self.probe().await {
                Ok(()) => break,
                Err(error) if error.trouble() == Trouble::Fatal => end_process(&error),
                Err(_) => {}
            }
            while let Some(group) = self.lanes.take() {
                group.refuse(|| StoreError::Unavailable(DISK));
            }
        }
        tracing::info!("the store takes writes again");
        self.lanes.set_refusing(None);
    }

    async fn probe(&mut self) -> Result<(), StoreError> {
        let mut tx = Tx::begin(&mut self.connection).await?;
        let text = "INSERT INTO settings (name, value) VALUES ('probe', randomblob(16384))
                    ON CONFLICT (name) DO UPDATE SET value = excluded.value";
        tx.execute(sqlx::query(text)).await?;
        tx.commit().await
    }
}

/// After an I/O error nobody knows what is on the disk: the next start reads it afresh.
#[expect(clippy::exit, reason = "no answer may be given, and no destructor may write")]
fn end_process(error: &StoreError) -> ! {
    tracing::error!(%error, "the store failed: the process ends, and what was acknowledged is on disk");
    std::process::exit(EXIT_IO_ERROR)
}

/// The writer in the hand of a test: nothing is written but what it asks for.
pub struct ManualWriter(WriterCore);

impl ManualWriter {
    pub(in crate::store) fn new(core: WriterCore) -> Self {
        Self(core)
    }

    /// Commits the next group and answers its askers; `false` when nothing waits. Constraint errors are handled as
    /// the task does; any other error is returned.
    pub async fn commit_next(&mut self) -> Result<bool, StoreError> {
        let Some(group) = self.0.lanes.take() else { return Ok(false) };
        let core = &mut self.0;
        let Err((group, error)) = core.attempt(group, None).await else {
            return Ok(true);
        };
        if error.trouble() != Trouble::Constraint {
            return Err(error);
        }
        for single in group.split() {
            if let Err((single, error)) = core.attempt(single, None).await {
                single.refuse(|| StoreError::Refused(error.to_string()));
            }
        }
        Ok(true)
    }

    /// Writes the next group up to `point` and ends as a killed process would: nobody is answered.
    pub async fn crash(mut self, point: CrashPoint) -> Result<(), StoreError> {
        if let Some(group) = self.0.lanes.take() {
            let core = &mut self.0;
            core.attempt(group, Some(point)).await.map_err(|(_, error)| error)?;
        }
        self.0.lanes.close();
        Ok(self.0.connection.close().await?)
    }
}
