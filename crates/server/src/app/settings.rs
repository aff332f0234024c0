//! The settings as last loaded, and the models that they name.

use std::sync::{Arc, PoisonError, RwLock};

use super::Models;
use crate::config::Config;

/// What every part of the process reads its settings from. Who asks gets those of the moment, and keeps them while it needs them.
#[derive(Debug)]
pub struct Settings(RwLock<Loaded>);

#[derive(Debug, Clone)]
struct Loaded {
    config: Arc<Config>,
    models: Arc<Models>,
}

impl Settings {
    pub(super) const fn new(config: Arc<Config>, models: Arc<Models>) -> Self {
        Self(RwLock::new(Loaded { config, models }))
    }

    /// Puts others in their place, both at the same moment.
    pub(super) fn replace(&self, config: Arc<Config>, models: Arc<Models>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Loaded { config, models };
    }

    pub(super) fn config(&self) -> Arc<Config> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner).config)
    }

    pub(super) fn models(&self) -> Arc<Models> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner).models)
    }
}
