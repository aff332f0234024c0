//! What an engine lists under `GET /models`, and which of its models vLLM serves by that.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::Relaxed};

use serde::Deserialize;
use tokio::sync::watch;

/// What vLLM writes into `owned_by`.
const VLLM: &str = "vllm";

/// An answer is asked for again after this time, by the next request.
const ASK_EVERY_MS: i64 = 60_000;
/// The same, while none has ever come: until then requests carry no salt.
const ASK_AGAIN_MS: i64 = 1_000;

/// A list of models, as far as it is read.
#[derive(Deserialize)]
pub(super) struct ModelList {
    pub(super) data: Vec<ListedModel>,
}

/// One model of it.
#[derive(Deserialize)]
pub(super) struct ListedModel {
    pub(super) id: String,
    #[serde(default)]
    owned_by: Option<String>,
}

/// The models of a replica that vLLM serves, as far as the replica has told.
pub(super) struct VllmModels {
    /// `None` until the first answer, or the first failure to get one.
    known: watch::Sender<Option<Arc<BTreeSet<String>>>>,
    asked_at: AtomicI64,
    is_learnt: AtomicBool,
}

impl VllmModels {
    /// Nothing is known yet.
    pub(super) fn unknown() -> Self {
        Self {
            known: watch::Sender::new(None),
            asked_at: AtomicI64::new(i64::MIN),
            is_learnt: AtomicBool::new(false),
        }
    }

    /// Whether it is time to ask. Of several callers one is told so.
    pub(super) fn is_due(&self, now: i64) -> bool {
        let asked_at = self.asked_at.load(Relaxed);
        let every_ms = if self.is_learnt.load(Relaxed) { ASK_EVERY_MS } else { ASK_AGAIN_MS };
        // A clock that was set back does not put it off for long.
        let is_recent = (asked_at..asked_at.saturating_add(every_ms)).contains(&now);
        !is_recent && self.asked_at.compare_exchange(asked_at, now, Relaxed, Relaxed).is_ok()
    }

    /// Takes in the list; a failure to get one leaves what was known. Returns the models where they are others than before.
    pub(super) fn tell(&self, listed: Result<ModelList, String>) -> Option<Arc<BTreeSet<String>>> {
        let of_vllm = listed.map(|list| {
            let owned = list.data.into_iter().filter(|model| model.owned_by.as_deref() == Some(VLLM));
            Arc::new(owned.map(|model| model.id).collect::<BTreeSet<_>>())
        });
        self.is_learnt.fetch_or(of_vllm.is_ok(), Relaxed);
        let mut changed = None;
        self.known.send_if_modified(|known| match of_vllm {
            Ok(models) => {
                let before = known.replace(Arc::clone(&models));
                changed = (before.unwrap_or_default() != models).then_some(models);
                true
            }
            Err(_) if known.is_none() => {
                *known = Some(Arc::default());
                true
            }
            Err(_) => false,
        });
        changed
    }

    /// Whether vLLM serves this model. Waits for the first answer; [`Self::is_due`] must have been asked before.
    pub(super) async fn contains(&self, model: &str) -> bool {
        let mut known = self.known.subscribe();
        let known = known.wait_for(Option::is_some).await;
        known.is_ok_and(|known| known.as_ref().is_some_and(|models| models.contains(model)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> Result<ModelList, String> {
        Ok(serde_json::from_str(text).unwrap())
    }

    #[tokio::test]
    async fn a_model_is_vllms_where_the_list_says_so() {
        let models = VllmModels::unknown();
        let listed = r#"{"data":[{"id":"a","owned_by":"vllm"},{"id":"b","owned_by":"library"},{"id":"c"},{"id":"d","owned_by":null}]}"#;
        assert_eq!(models.tell(list(listed)), Some(Arc::new(["a".to_owned()].into())));
        for (model, expected) in [("a", true), ("b", false), ("c", false), ("d", false), ("e", false)] {
            assert_eq!(models.contains(model).await, expected, "{model}");
        }
    }

    #[tokio::test]
    async fn a_failure_leaves_what_was_known_and_a_newer_list_replaces_it() {
        let models = VllmModels::unknown();
        assert_eq!(models.tell(Err("away".to_owned())), None);
        assert!(!models.contains("a").await);
        let vllm = r#"{"data":[{"id":"a","owned_by":"vllm"}]}"#;
        assert!(models.tell(list(vllm)).is_some() && models.contains("a").await);
        assert_eq!(models.tell(list(vllm)), None);
        assert_eq!(models.tell(Err("away".to_owned())), None);
        assert!(models.contains("a").await);
        assert_eq!(models.tell(list(r#"{"data":[{"id":"a"}]}"#)), Some(Arc::default()));
        assert!(!models.contains("a").await);
    }

    #[test]
    fn one_caller_a_minute_is_told_to_ask() {
        let models = VllmModels::unknown();
        let due = [0, 999, 1_000, 1_001].map(|now| models.is_due(now));
        assert_eq!(due, [true, false, true, false], "while nothing was learnt, a caller a second");
        let models = VllmModels::unknown();
        models.tell(list(r#"{"data":[]}"#));
        let due = [0, 1, 59_999, 60_000, 60_001, 200_000, 1_000, 1_001].map(|now| models.is_due(now));
        assert_eq!(due, [true, false, false, true, false, true, true, false]);
    }
}
