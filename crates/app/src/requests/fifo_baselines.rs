//! Estimates what engines' prefix caches would hold if requests were sent in order of arrival. The estimate is made when a request arrives
//! and stored with it, so that its completion can show what the queue's order saved.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use overnight_domain::endpoint_rules::RequestBody;
use overnight_domain::fifo_baseline::{FifoBaseline, Prompt};
use overnight_domain::scheduler::{AccountKey, ModelKey};
use overnight_domain::sort_key::{PromptBlocks, SortKey};
use overnight_store::StoreError;
use overnight_store::nodes::engine_reports;

use crate::engines::EngineReport;
use crate::settings::Model;
use crate::{Models, Services};

/// A baseline for each model whose engines report their cache size. Each node counts the requests that it accepts itself.
#[derive(Default)]
pub struct FifoBaselines {
    models: RwLock<BTreeMap<ModelKey, Arc<Mutex<OfModel>>>>,
}

#[derive(Default)]
struct OfModel {
    baseline: FifoBaseline,
    sizes: Vec<u64>,
    answer_weight: u64,
}

/// The prompt of an arriving request.
pub(super) struct Arrival {
    of_model: Arc<Mutex<OfModel>>,
    blocks: PromptBlocks,
    body_bytes: usize,
    owner: u64,
}

impl Arrival {
    /// The part of the prompt that a prefix cache would hold, in thousandths.
    pub(super) fn hit_permille(&self) -> Option<u16> {
        let known = self.of_model.lock().unwrap_or_else(PoisonError::into_inner);
        known.baseline.hit(&self.prompt(known.answer_weight))
    }

    /// Called once the request is stored: refused requests change nothing.
    pub(super) fn arrive(&self) {
        let mut known = self.of_model.lock().unwrap_or_else(PoisonError::into_inner);
        let prompt = self.prompt(known.answer_weight);
        known.baseline.arrive(&prompt);
    }

    fn prompt(&self, answer_weight: u64) -> Prompt<'_> {
        Prompt { blocks: &self.blocks, body_bytes: self.body_bytes, answer_weight, owner: self.owner }
    }
}

impl FifoBaselines {
    /// The sort key of an arriving request, and its arrival if an engine's cache size is known.
    pub(super) fn read(
        &self,
        secret: &[u8; 32],
        account: AccountKey,
        model: &Model,
        request: &RequestBody,
    ) -> (SortKey, Option<Arrival>) {
        let known = self.models.read().unwrap_or_else(PoisonError::into_inner).get(&model.key).cloned();
        let body = request.text().as_json();
        // Embeddings use no cache.
        let known = known.filter(|_| request.endpoint().has_output());
        let Some(of_model) = known else { return (SortKey::compute(secret, body), None) };
        let (sort_key, blocks) = SortKey::compute_with_blocks(secret, body);
        let owner = if model.config.shared_cache { 0 } else { account.0.cast_unsigned() };
        (sort_key, Some(Arrival { of_model, blocks, body_bytes: request.text().as_str().len(), owner }))
    }

    /// Updates the sizes from the engines' reports.
    fn tell(&self, models: &Models, reports: &[EngineReport]) {
        for model in models.iter() {
            let engines = reports.iter().map(|report| &report.engine);
            let serving = engines.filter(|it| it.is_driven && it.serves(&model.config.name));
            let caches =
                serving.filter_map(|it| Some((it.prefix_cache.body_bytes?, it.prefix_cache.answer_bytes)));
            let (sizes, answers): (Vec<u64>, Vec<u64>) = caches.unzip();
            // A moment without engines does not clear their caches.
            let Some(longest) = answers.into_iter().max() else { continue };
            let mut models = self.models.write().unwrap_or_else(PoisonError::into_inner);
            let of_model = Arc::clone(models.entry(model.key).or_default());
            drop(models);
            let OfModel { baseline, sizes: known, answer_weight } =
                &mut *of_model.lock().unwrap_or_else(PoisonError::into_inner);
            *answer_weight = longest;
            if *known != sizes {
                baseline.set_sizes(sizes.clone());
                *known = sizes;
            }
        }
    }
}

pub async fn learn_cache_sizes(services: &Services) -> Result<(), StoreError> {
    let reports = engine_reports::list(&services.store).await?;
    services.fifo_baselines.tell(&services.models(), &reports);
    Ok(())
}
