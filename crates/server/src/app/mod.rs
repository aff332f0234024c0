//! The use cases: what people and operators can do. They know the store, and nothing of HTTP.

pub mod failures;
pub mod models;
mod signals;

use std::sync::Arc;

pub use self::models::Models;
pub use self::signals::{News, Signals};
use crate::clock::SharedClock;
use crate::config::Config;
use crate::ids::Ids;
use crate::store::{Store, StoreError};

/// What every use case and every worker needs; clones share it.
#[derive(Clone)]
pub struct Services {
    /// What is kept.
    pub store: Store,
    /// The time.
    pub clock: SharedClock,
    /// Identifiers and chance.
    pub ids: Arc<Ids>,
    /// The settings.
    pub config: Arc<Config>,
    /// The configured models.
    pub models: Arc<Models>,
    /// News for the scheduler.
    pub signals: Arc<Signals>,
}

impl Services {
    /// Puts them together over an open store; each configured model gets its row.
    pub async fn new(
        store: Store,
        clock: SharedClock,
        ids: Arc<Ids>,
        config: Arc<Config>,
    ) -> Result<Self, StoreError> {
        let models = Arc::new(Models::load(&store, &config).await?);
        Ok(Self { store, clock, ids, config, models, signals: Arc::default() })
    }
}
