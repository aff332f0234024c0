//! The models that requests may name.

use std::sync::Arc;

use overnight_domain::endpoint_rules::RequestBody;
use overnight_domain::money::Pricing;
use overnight_domain::scheduler::ModelKey;

use crate::config::{Config, ModelConfig};
use crate::store::ledger::holds::Hold;
use crate::store::ledger::price_points::{self, PriceKey};
use crate::store::queue::live_counts;
use crate::store::{self, Store, StoreError};

/// A configured model and its row number.
#[derive(Debug, Clone)]
pub struct Model {
    /// Its row number in the store. New requests wait under it, whichever of its names they have.
    pub key: ModelKey,
    /// The row numbers of its aliases. Requests wait under one that came when it was the name of a model.
    pub aliases: Vec<ModelKey>,
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

    /// Under which row numbers requests wait for it, its own first.
    pub fn keys(&self) -> impl Iterator<Item = ModelKey> {
        [self.key].into_iter().chain(self.aliases.iter().copied())
    }

    /// The row number of an alias; `None` of any other name.
    pub fn alias(&self, name: &str) -> Option<ModelKey> {
        let mut aliases = self.config.aliases.iter().zip(&self.aliases);
        aliases.find(|(own, _)| *own == name).map(|(_, key)| *key)
    }
}

/// The configured models, in the order of the settings.
#[derive(Debug)]
pub struct Models(Vec<Arc<Model>>);

impl Models {
    /// Gives each name of each configured model its row, and each model its price.
    pub async fn load(store: &Store, config: &Config) -> Result<Self, StoreError> {
        let names: Vec<&str> = config.models.iter().flat_map(ModelConfig::names).collect();
        let mut keys = store::requests::models::ensure(store, &names).await?.into_iter();
        let mut models = Vec::with_capacity(config.models.len());
        for model in &config.models {
            let price = match model.pricing().filter(|_| config.billing.enabled) {
                Some(pricing) => Some((price_points::ensure(store, pricing).await?, pricing)),
                None => None,
            };
            let key = keys.next().ok_or(StoreError::Damaged("a model"))?;
            let aliases = keys.by_ref().take(model.aliases.len()).collect();
            models.push(Arc::new(Model { key, aliases, config: model.clone(), price }));
        }
        Ok(Self(models))
    }

    /// The model with this name or alias.
    pub fn find(&self, name: &str) -> Option<&Arc<Model>> {
        self.0.iter().find(|model| model.config.names().any(|own| own == name))
    }

    /// The model with this row number, or with an alias that has it.
    pub fn get(&self, key: ModelKey) -> Option<&Arc<Model>> {
        self.0.iter().find(|model| model.keys().any(|own| own == key))
    }

    pub fn iter(&self) -> impl Iterator<Item = &Arc<Model>> {
        self.0.iter()
    }

    /// Those for which requests may be made at `now`, in milliseconds.
    pub fn offered(&self, now: i64) -> impl Iterator<Item = &Arc<Model>> {
        self.0.iter().filter(move |model| model.config.is_offered(now))
    }
}

/// The names that no configured model has any more, and for which requests wait: how many, in order of the names' first use. Nothing is
/// sent to engines of them, until the settings have a model or an alias of that name.
pub async fn left_behind(store: &Store, config: &Config) -> Result<Vec<(String, i64)>, StoreError> {
    let is_configured = |name: &str| config.models.iter().any(|model| model.names().any(|own| own == name));
    let mut left = Vec::new();
    for (key, name) in store::requests::models::list(store).await? {
        if !is_configured(&name) {
            let waiting = live_counts::count_waiting(store, key).await?;
            left.extend((waiting > 0).then_some((name, waiting)));
        }
    }
    Ok(left)
}
