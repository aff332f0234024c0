//! What the service does by itself, and the audit.

use std::io;
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use super::{Growth, connect};
use crate::child::Process;
use crate::clock;
use crate::create::{AGGREGATION_PERIOD, NO_ENGINE};
use crate::dispatch::{COMPLETED, drain};

const DISPATCHED: usize = 10_000;
/// Deletions that are measured.
const DELETED: usize = 4_000;
const DELETIONS: &str = "overnight_requests_deleted_total";
const POLL_MS: u64 = 25;
/// Retention begins a minute after the start at the latest.
const DELETION_MAX: Duration = Duration::from_secs(120);

#[derive(Deserialize)]
struct Identified {
    id: String,
}

impl Growth<'_> {
    /// Completes a batch on an engine that takes no time, and reads its results.
    pub(super) async fn dispatch(&mut self) -> io::Result<()> {
        self.site.fill_batch(DISPATCHED).await?;
        self.stored += DISPATCHED;
        self.configure(self.engine, "0s", "")?;
        let before = self.database_time()?;
        let service = self.site.serve().await?;
        let (_, of_service) = drain(service, COMPLETED, DISPATCHED).await?;
        let of_service = Duration::from_secs_f64(of_service * DISPATCHED as f64 / 1e6);
        let of_database = self.database_time()?.saturating_sub(before);
        self.table.note("dispatch", DISPATCHED, of_service + of_database);
        let service = self.site.serve().await?;
        let mut connection = connect(&service).await?;
        let newest = connection.get("/v1/batches?limit=1&order=desc&requests_ids=false").await?;
        let Identified { id } = serde_json::from_slice(&newest)?;
        let path = format!("/v1/batches/{id}/results");
        let results = async |_| connection.drain(&path).await.map(drop);
        self.cost_of("results of a batch of 10,000", 1, &service, results).await?;
        service.process.kill().await
    }

    pub(super) async fn audit(&mut self) -> io::Result<()> {
        let before = self.database_time()?;
        let config = self.site.config();
        let arguments = [Path::new("audit"), Path::new("--json"), Path::new("--config"), &config];
        let (_, of_command) = Process::run_command::<_, Value>(arguments).await?;
        let used = of_command + self.database_time()?.saturating_sub(before);
        self.table.note_of_all("audit, a request", self.stored, used);
        Ok(())
    }

    /// Deletes some of the oldest requests.
    pub(super) async fn retention(&mut self) -> io::Result<()> {
        self.configure(NO_ENGINE, AGGREGATION_PERIOD, "retention = \"1d\"\n")?;
        let service = self.site.serve().await?;
        let mut connection = connect(&service).await?;
        let began_at = clock::now();
        let mut first = None;
        loop {
            let deleted = service.counter(&mut connection, DELETIONS).await?;
            let used = self.cpu_time(&service)?;
            let (few, before) = *first.get_or_insert((deleted, used));
            if few == 0 && deleted > 0 {
                first = Some((deleted, used));
            } else if deleted >= few + DELETED {
                self.table.note("deletion by retention", deleted - few, used.saturating_sub(before));
                self.stored = self.stored.saturating_sub(deleted);
                return service.process.kill().await;
            }
            if began_at.elapsed() > DELETION_MAX {
                return Err(io::Error::other(format!("after two minutes {deleted} requests were deleted")));
            }
            clock::sleep_ms(POLL_MS).await;
        }
    }
}
