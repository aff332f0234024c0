//! One life of the process: all state that a crash loses.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::thread;

use overnight_app::Services;
use overnight_app::files::Upload;
use overnight_base::clock::SharedClock;
use overnight_base::ids::Ids;
use overnight_config::Config;
use overnight_domain::scheduler::{AccountKey, ModelKey, Replica, Scheduler, Settings};
use overnight_store::queue::Prompt;
use overnight_store::{CrashPoint, Durability, ManualWriter, Store, StoreOptions};

use super::broken::{Broken, Step};
use super::pending::Pending;
use super::plan::MODELS;
use super::tags::Tag;
use super::timeline::Slot;

/// The shortest time between two ticks of an idle scheduler.
const TICK_MS: i64 = 1_000;
/// The longest time. The service ticks each second; idle ticks at that rate would dominate a run.
const TICK_MAX_MS: i64 = 64_000;

pub(super) struct Life {
    pub(super) services: Services,
    pub(super) scheduler: Scheduler,
    pub(super) pending: Pending,
    /// Prompts that were read for leased requests, as in the shell.
    pub(super) prompts: BTreeMap<i64, Prompt>,
    /// The scheduler's wake time, by the machine's clock.
    pub(super) wake_at: i64,
    pub(super) tick: Option<Slot>,
    pub(super) commit: Option<Slot>,
    pub(super) drain_signals: Option<Slot>,
    pub(super) expirer: Option<Slot>,
    pub(super) filler: Option<Slot>,
    /// Accounts with a filling task.
    pub(super) filling: BTreeSet<AccountKey>,
    /// Uploads in progress, with their start times.
    pub(super) uploads: BTreeMap<Tag, (i64, Upload)>,
    /// Set if the process dies with the next group of writes.
    pub(super) crash_point: Option<CrashPoint>,
    tick_ms: i64,
    writer: ManualWriter,
}

impl Life {
    /// Opens the store and builds the services, as the program does at its start.
    pub(super) async fn begin(
        folder: &Path,
        config: Arc<Config>,
        clock: SharedClock,
        seed: u64,
    ) -> Step<Self> {
        let options = StoreOptions {
            durability: Durability::ProcessOnly,
            readers: 1,
            sort_key_secret: Some([7; 32]),
            ..StoreOptions::new(folder)
        };
        let (store, writer) = Store::open_manual(&options, clock.now()).await?;
        let ids = Arc::new(Ids::from_seed(seed));
        let services = Services::new(store.clone(), clock, ids, config).await?;
        Ok(Self {
            services,
            scheduler: Scheduler::new(Settings::default(), seed),
            pending: Pending::new(store),
            prompts: BTreeMap::new(),
            wake_at: i64::MAX,
            tick: None,
            commit: None,
            drain_signals: None,
            expirer: None,
            filler: None,
            filling: BTreeSet::new(),
            uploads: BTreeMap::new(),
            crash_point: None,
            tick_ms: TICK_MS,
            writer,
        })
    }

    pub(super) const fn store(&self) -> &Store {
        &self.services.store
    }

    /// In the order of the models' names.
    pub(super) fn models(&self) -> Vec<ModelKey> {
        let models = self.services.models();
        MODELS.iter().filter_map(|name| models.find(name)).map(|model| model.key).collect()
    }

    /// Whether the scheduler knows of no waiting or running request.
    pub(super) fn is_idle(&self, replicas: &[Replica]) -> bool {
        self.pending.is_empty()
            && self.scheduler.is_idle()
            && self.models().iter().all(|model| self.scheduler.waiting(*model) == 0)
            && replicas.iter().all(|replica| !self.scheduler.is_paused(replica.key))
    }

    pub(super) async fn commit_next(&mut self) -> Step {
        self.writer.commit_next().await?;
        Ok(())
    }

    /// The time until the next tick, which doubles while nothing happens.
    pub(super) fn rest_ms(&mut self) -> i64 {
        let rest_ms = self.tick_ms;
        self.tick_ms = (rest_ms * 2).min(TICK_MAX_MS);
        rest_ms
    }

    pub(super) const fn stir(&mut self) {
        self.tick_ms = TICK_MS;
    }

    /// Dies at this point of the next group, if one waits. No caller is told, and the folder is free afterwards.
    pub(super) async fn crash(self, point: CrashPoint) -> Step {
        let Self { services, pending, uploads, writer, .. } = self;
        drop(pending);
        forget(uploads)?;
        writer.crash(point).await?;
        services.store.close().await;
        Ok(())
    }
}

/// Drops uploads as a dying process or a silently lost client does: without giving them up.
pub(super) fn forget(uploads: impl Send + 'static) -> Step {
    // Without a runtime they cannot be given up.
    let forgotten = thread::spawn(move || drop(uploads)).join();
    forgotten.map_err(|_| Broken("an upload could not be dropped".to_owned()))
}
