//! The models that requests may name.

use std::sync::Arc;

use overnight_domain::endpoint_rules::RequestBody;
use overnight_domain::money::Pricing;
use overnight_domain::scheduler::ModelKey;

use crate::config::{Config, ModelConfig};
use crate::store::ledger::holds::Hold;
use crate::store::ledger::price_points::{self, PriceKey};
use crate::store::{self, Store, StoreError};

/// A configured model and its row number.
#[derive(Debug, Clone)]
pub struct Model {
    /// Its row number in the store.
    pub key: ModelKey,
    /// Its settings.
    pub config: ModelConfig,
    /// What its tokens cost now; `None` where nothing is charged.
    pub price: Option<(PriceKey, Pricing)>,
}

impl Model {
    /// What a request to it is to hold; `None` where nothing is charged.
    pub fn hold(&self, body: &RequestBody) -> Option<Hold> {
        let (price, pricing) = self.price?;
        Some(Hold { amount: pricing.hold(body.token_bound(&self.config.sizing())), price })
    }
}

/// The configured models, in the order of the settings.
#[derive(Debug)]
pub struct Models(Vec<Arc<Model>>);

impl Models {
    /// Gives each configured model its row, and its price too.
    pub async fn load(store: &Store, config: &Config) -> Result<Self, StoreError> {
        let names: Vec<&str> = config.models.iter().map(|model| model.name.as_str()).collect();
        let keys = store::requests::models::ensure(store, &names).await?;
        let mut models = Vec::with_capacity(keys.len());
        for (key, model) in keys.into_iter().zip(&config.models) {
            let price = match model.pricing().filter(|_| config.billing.enabled) {
                Some(pricing) => Some((price_points::ensure(store, pricing).await?, pricing)),
                None => None,
            };
            models.push(Arc::new(Model { key, config: model.clone(), price }));
        }
        Ok(Self(models))
    }

    /// The model with this name.
    pub fn find(&self, name: &str) -> Option<&Arc<Model>> {
        self.0.iter().find(|model| model.config.name == name)
    }

    /// The model with this row number.
    pub fn get(&self, key: ModelKey) -> Option<&Arc<Model>> {
        self.0.iter().find(|model| model.key == key)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Model>> {
        self.0.iter()
    }
}
