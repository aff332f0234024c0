//! The models that requests may name.

use overnight_domain::scheduler::ModelKey;

use crate::config::{Config, ModelConfig};
use crate::store::{self, Store, StoreError};

/// A configured model and its row number.
#[derive(Debug, Clone)]
pub struct Model {
    /// Its row number in the store.
    pub key: ModelKey,
    /// Its settings.
    pub config: ModelConfig,
}

/// The configured models, in the order of the settings.
#[derive(Debug)]
pub struct Models(Vec<Model>);

impl Models {
    /// Gives each configured model its row.
    pub async fn load(store: &Store, config: &Config) -> Result<Self, StoreError> {
        let names: Vec<&str> = config.models.iter().map(|model| model.name.as_str()).collect();
        let keys = store::models::ensure(store, &names).await?;
        Ok(Self(
            keys.into_iter()
                .zip(&config.models)
                .map(|(key, config)| Model { key, config: config.clone() })
                .collect(),
        ))
    }

    /// The model with this name.
    pub fn find(&self, name: &str) -> Option<&Model> {
        self.0.iter().find(|model| model.config.name == name)
    }

    /// The model with this row number.
    pub fn get(&self, key: ModelKey) -> Option<&Model> {
        self.0.iter().find(|model| model.key == key)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Model> {
        self.0.iter()
    }
}
