//! The settings as last loaded, and their models.

use std::sync::{Arc, PoisonError, RwLock};

use overnight_config::{Config, ModelConfig};
use overnight_domain::endpoint_rules::RequestBody;
use overnight_domain::money::Pricing;
use overnight_domain::scheduler::ModelKey;
use overnight_store::ledger::holds::Hold;
use overnight_store::ledger::price_points::{self, PriceKey};
use overnight_store::queue::counts;
use overnight_store::{self as store, Store, StoreError};

/// The current settings for every part of the process. A reader keeps the version that it got.
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

    /// Replaces both atomically.
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

/// A configured model and its row number.
#[derive(Debug, Clone)]
pub struct Model {
    /// New requests wait under this row, whichever of the model's names they use.
    pub key: ModelKey,
    /// The row numbers of its aliases, with requests that arrived when the alias was the name of a model.
    pub aliases: Vec<ModelKey>,
    pub config: ModelConfig,
    /// The current price of tokens; `None` if requests are free.
    pub price: Option<(PriceKey, Pricing)>,
}

impl Model {
    /// `None` if requests are free.
    pub fn hold(&self, body: &RequestBody) -> Option<Hold> {
        let (price, pricing) = self.price?;
        Some(Hold { amount: pricing.hold(body.token_bound(&self.config.sizing())), price })
    }

    /// The row numbers under which requests wait for it, its own first.
    pub fn keys(&self) -> impl Iterator<Item = ModelKey> {
        [self.key].into_iter().chain(self.aliases.iter().copied())
    }

    /// The row number of an alias; `None` for any other name.
    pub fn alias(&self, name: &str) -> Option<ModelKey> {
        let mut aliases = self.config.aliases.iter().zip(&self.aliases);
        aliases.find(|(own, _)| *own == name).map(|(_, key)| *key)
    }
}

/// The configured models, in the order of the settings.
#[derive(Debug)]
pub struct Models(Vec<Arc<Model>>);

impl Models {
    /// Gives each name of each configured model a row, and each model a price.
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

    /// By name or alias.
    pub fn find(&self, name: &str) -> Option<&Arc<Model>> {
        self.0.iter().find(|model| model.config.names().any(|own| own == name))
    }

    /// By row number, its own or an alias's.
    pub fn get(&self, key: ModelKey) -> Option<&Arc<Model>> {
        self.0.iter().find(|model| model.keys().any(|own| own == key))
    }

    pub fn iter(&self) -> impl Iterator<Item = &Arc<Model>> {
        self.0.iter()
    }

    /// The models that accept new requests at `now`, in milliseconds.
    pub fn offered(&self, now: i64) -> impl Iterator<Item = &Arc<Model>> {
        self.0.iter().filter(move |model| model.config.is_offered(now))
    }
}

/// Names without a configured model for which requests still wait, with their number, in order of first use. These requests are sent to no
/// engine until the settings have a model or alias of the name.
pub async fn left_behind(store: &Store, config: &Config) -> Result<Vec<(String, i64)>, StoreError> {
    let is_configured = |name: &str| config.models.iter().any(|model| model.names().any(|own| own == name));
    let mut left = Vec::new();
    for (key, name) in store::requests::models::list(store).await? {
        if !is_configured(&name) {
            let waiting = counts::waiting(store, key).await?;
            left.extend((waiting > 0).then_some((name, waiting)));
        }
    }
    Ok(left)
}
