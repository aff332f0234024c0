//! What engines' prefix caches would hold of each request if requests were sent in order of arrival: estimated as requests come, and
//! stored with them, so that whoever completes one can tell what the order of the queue saved.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError, RwLock};

use overnight_domain::chat::ChatBody;
use overnight_domain::fifo_baseline::{FifoBaseline, Prompt};
use overnight_domain::scheduler::{AccountKey, ModelKey};
use overnight_domain::sort_key::SortKey;

use super::engines::EngineReport;
use super::models::Model;
use super::{Models, Services};
use crate::store::StoreError;
use crate::store::nodes::engine_reports;

/// A baseline for each model whose engines tell the size of their caches. Each node counts what it takes in itself.
#[derive(Default)]
pub struct FifoBaselines {
    models: RwLock<BTreeMap<ModelKey, Mutex<OfModel>>>,
}

#[derive(Default)]
struct OfModel {
    baseline: FifoBaseline,
    answer_weight: u64,
}

impl FifoBaselines {
    /// The sort key of a request that has come, and what a prefix cache would hold of its prompt, in thousandths; `None` where no
    /// engine's cache is known.
    pub(super) fn arrive(
        &self,
        secret: &[u8; 32],
        account: AccountKey,
        model: &Model,
        chat: &ChatBody,
    ) -> (SortKey, Option<u16>) {
        let models = self.models.read().unwrap_or_else(PoisonError::into_inner);
        let body = chat.body.as_json();
        let Some(known) = models.get(&model.key) else { return (SortKey::compute(secret, body), None) };
        let (sort_key, blocks) = SortKey::compute_with_blocks(secret, body);
        let owner = if model.config.shared_cache { 0 } else { account.0.cast_unsigned() };
        let OfModel { baseline, answer_weight } = &mut *known.lock().unwrap_or_else(PoisonError::into_inner);
        let (answer_weight, body_bytes) = (*answer_weight, chat.body.as_str().len());
        (sort_key, baseline.arrive(&Prompt { blocks: &blocks, body_bytes, answer_weight, owner }))
    }

    /// Takes in what is known of the engines now.
    fn tell(&self, models: &Models, reports: &[EngineReport]) {
        let mut known = self.models.write().unwrap_or_else(PoisonError::into_inner);
        for model in models.iter() {
            let engines = reports.iter().map(|report| &report.engine);
            let serving = engines.filter(|it| it.is_driven && it.serves(&model.config.name));
            let caches =
                serving.filter_map(|it| Some((it.prefix_cache.body_bytes?, it.prefix_cache.answer_bytes)));
            let (sizes, answers): (Vec<u64>, Vec<u64>) = caches.unzip();
            // An engine that is away for a moment has not lost its cache.
            if let Some(longest) = answers.into_iter().max() {
                let of_model = known.entry(model.key).or_default();
                let of_model = of_model.get_mut().unwrap_or_else(PoisonError::into_inner);
                of_model.baseline.set_sizes(sizes);
                of_model.answer_weight = longest;
            }
        }
    }
}

/// Learns the sizes of the engines' prefix caches.
///
/// # Errors
///
/// Only what the store could not do.
pub async fn learn_cache_sizes(services: &Services) -> Result<(), StoreError> {
    let reports = engine_reports::list(&services.store).await?;
    services.fifo_baselines.tell(&services.models, &reports);
    Ok(())
}
