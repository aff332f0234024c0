//! Export and import: out of one database and into the other.

mod refusals;
mod round_trips;
mod sample_data;

pub(super) use self::sample_data::{insert_sample_data, order};
use std::sync::atomic::AtomicU32;

use crate::tests::prelude::*;

pub(super) struct Target {
    pub(super) options: StoreOptions,
    folder: TempDir,
}

impl Target {
    pub(super) fn on_sqlite() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        Self { options: options(&folder), folder }
    }

    pub(super) fn on_postgres() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("moving_{}", COUNT.fetch_add(1, Ordering::Relaxed));
        let url = Cluster::shared().database(&name).expect("a database");
        let Self { options, folder } = Self::on_sqlite();
        Self { options: StoreOptions { server_url: Some(url), ..options }, folder }
    }

    async fn import(&self, mut file: &[u8]) -> Result<Counts, ImportError> {
        import(&self.options, &mut file, START).await
    }

    async fn open(&self) -> Store {
        open(&self.options).await
    }
}

pub(super) async fn exported(store: &Store) -> Vec<u8> {
    let mut file = Vec::new();
    export(store, &mut file).await.expect("an export");
    file
}
