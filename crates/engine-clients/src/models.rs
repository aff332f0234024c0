//! An engine's list under `GET /models`: for each model its server software and its context.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::Relaxed};

use serde::Deserialize;
use serde_json::Value;
use tokio::sync::watch;

/// `owned_by` of vLLM and llama-server.
const VLLM: &str = "vllm";
const LLAMA_SERVER: &str = "llamacpp";
/// `owned_by` of llama-swap, Ollama (for a model of its library) and LM Studio.
const SWAPPING: [&str; 3] = ["llama-swap", "library", "organization_owner"];

/// After this time the next request asks for the list again.
const ASK_EVERY_MS: i64 = 60_000;
/// The same before the first list: until then the models are unknown.
const ASK_AGAIN_MS: i64 = 1_000;

#[derive(Deserialize)]
pub(super) struct ModelList {
    pub(super) data: Vec<ListedModel>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "Entry")]
pub struct ListedModel {
    pub id: String,
    /// Tokens of a prompt and its completion together; `None` if unknown.
    pub context: Option<u64>,
    /// Whether the engine loads it when a request names it, and may unload another for it.
    pub is_loaded_on_demand: bool,
    pub(super) is_vllm: bool,
    pub(super) is_llama_server: bool,
}

/// An entry of the list. A value of a wrong type counts as absent.
#[derive(Deserialize)]
struct Entry {
    id: String,
    #[serde(default)]
    owned_by: Value,
    #[serde(default)]
    max_model_len: Value,
    #[serde(default)]
    meta: Value,
    /// llama-server in router mode: whether the model is loaded, in `value`.
    #[serde(default)]
    status: Value,
}

impl From<Entry> for ListedModel {
    fn from(Entry { id, owned_by, max_model_len, meta, status }: Entry) -> Self {
        let context = max_model_len.as_u64().or_else(|| meta.get("n_ctx")?.as_u64());
        let is_of = |software: &str| owned_by.as_str() == Some(software);
        let (is_vllm, is_llama_server) = (is_of(VLLM), is_of(LLAMA_SERVER));
        let has_status = status.get("value").is_some_and(Value::is_string);
        let is_loaded_on_demand = has_status || SWAPPING.into_iter().any(is_of);
        let context = context.filter(|tokens| *tokens > 0);
        Self { id, context, is_loaded_on_demand, is_vllm, is_llama_server }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Traits {
    pub(super) is_vllm: bool,
    /// The `usage` of llama-server counts a single choice.
    pub(super) is_llama_server: bool,
    /// In tokens, if known.
    pub(super) context: Option<u64>,
}

pub(super) struct KnownModels {
    /// `None` until the first answer or failure.
    known: watch::Sender<Option<Arc<BTreeMap<String, Traits>>>>,
    asked_at: AtomicI64,
    is_learnt: AtomicBool,
}

impl KnownModels {
    pub(super) fn unknown() -> Self {
        Self {
            known: watch::Sender::new(None),
            asked_at: AtomicI64::new(i64::MIN),
            is_learnt: AtomicBool::new(false),
        }
    }

    /// Whether the list must be requested. Of several callers only one gets true.
    pub(super) fn is_due(&self, now: i64) -> bool {
        let asked_at = self.asked_at.load(Relaxed);
        let every_ms = if self.is_learnt.load(Relaxed) { ASK_EVERY_MS } else { ASK_AGAIN_MS };
        // A clock that was set back does not delay it for long.
        let is_recent = (asked_at..asked_at.saturating_add(every_ms)).contains(&now);
        !is_recent && self.asked_at.compare_exchange(asked_at, now, Relaxed, Relaxed).is_ok()
    }

    /// Stores the list; a failure keeps the old one. Returns the models if they have changed.
    pub(super) fn tell(&self, listed: Result<ModelList, String>) -> Option<Arc<BTreeMap<String, Traits>>> {
        let listed = listed.map(|list| {
            let traits = |model: ListedModel| {
                let ListedModel { id, is_vllm, is_llama_server, context, .. } = model;
                (id, Traits { is_vllm, is_llama_server, context })
            };
            Arc::new(list.data.into_iter().map(traits).collect::<BTreeMap<_, _>>())
        });
        self.is_learnt.fetch_or(listed.is_ok(), Relaxed);
        let mut changed = None;
        self.known.send_if_modified(|known| match listed {
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

    /// Waits for the first answer; [`Self::is_due`] must have been called before.
    pub(super) async fn traits_of(&self, model: &str) -> Traits {
        let mut known = self.known.subscribe();
        let known = known.wait_for(Option::is_some).await;
        let known = known.ok().and_then(|known| known.clone()).unwrap_or_default();
        known.get(model).copied().unwrap_or_else(|| of_any_name(&known))
    }

    /// Whether the list is known and lacks this model.
    pub(super) fn lacks(&self, model: &str) -> bool {
        let known = self.known.borrow();
        known.as_ref().is_some_and(|known| !known.is_empty() && !known.contains_key(model))
    }
}

/// The traits of a model that is not listed: llama-server answers any name with its one loaded model.
fn of_any_name(known: &BTreeMap<String, Traits>) -> Traits {
    let mut listed = known.values();
    match (listed.next(), listed.next()) {
        (Some(only), None) if only.is_llama_server => *only,
        _ => Traits::default(),
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
        let models = KnownModels::unknown();
        let listed = r#"{"data":[{"id":"a","owned_by":"vllm"},{"id":"b","owned_by":"library"},{"id":"c"},{"id":"d","owned_by":null},{"id":"e","owned_by":7},{"id":"f","owned_by":"llamacpp"}]}"#;
        assert!(models.tell(list(listed)).is_some());
        for (model, expected) in
            [("a", true), ("b", false), ("c", false), ("d", false), ("e", false), ("f", false)]
        {
            let Traits { is_vllm, is_llama_server, .. } = models.traits_of(model).await;
            assert_eq!((is_vllm, is_llama_server), (expected, model == "f"), "{model}");
        }
    }

    #[test]
    fn a_context_is_found_where_vllm_and_llama_server_write_it() {
        for (listed, expected) in [
            (r#"{"id":"a","max_model_len":4096}"#, Some(4_096)),
            (r#"{"id":"a","meta":{"n_ctx":2048,"n_ctx_train":131072}}"#, Some(2_048)),
            (r#"{"id":"a","meta":{"n_ctx_train":131072}}"#, None),
            (r#"{"id":"a","max_model_len":null,"meta":null}"#, None),
            (r#"{"id":"a","max_model_len":0}"#, None),
            (r#"{"id":"a","max_model_len":-1,"meta":[]}"#, None),
            (r#"{"id":"a","max_model_len":"4096","meta":"x"}"#, None),
            (r#"{"id":"a"}"#, None),
        ] {
            let model: ListedModel = serde_json::from_str(listed).unwrap();
            assert_eq!(model.context, expected, "{listed}");
        }
    }

    #[test]
    fn engines_that_load_models_on_demand_are_known_by_their_lists() {
        for (listed, expected) in [
            (r#"{"id":"a","object":"model","status":{"value":"unloaded"}}"#, true),
            (r#"{"id":"a","status":{"value":"loaded","args":["llama-server","-ctx","4096"]}}"#, true),
            (r#"{"id":"a","owned_by":"llama-swap"}"#, true),
            (r#"{"id":"a","owned_by":"library"}"#, true),
            (r#"{"id":"a","owned_by":"organization_owner"}"#, true),
            (r#"{"id":"a","owned_by":"llamacpp","status":"ready"}"#, false),
            (r#"{"id":"a","owned_by":"vllm","status":{"value":1}}"#, false),
            (r#"{"id":"a"}"#, false),
        ] {
            let model: ListedModel = serde_json::from_str(listed).unwrap();
            assert_eq!(model.is_loaded_on_demand, expected, "{listed}");
        }
    }

    #[tokio::test]
    async fn a_failure_leaves_what_was_known_and_a_newer_list_replaces_it() {
        let models = KnownModels::unknown();
        assert_eq!(models.tell(Err("away".to_owned())), None);
        assert_eq!(models.traits_of("a").await, Traits::default());
        let vllm = r#"{"data":[{"id":"a","owned_by":"vllm","max_model_len":512}]}"#;
        assert!(models.tell(list(vllm)).is_some() && models.traits_of("a").await.is_vllm);
        assert_eq!(models.tell(list(vllm)), None);
        assert_eq!(models.tell(Err("away".to_owned())), None);
        assert_eq!(
            models.traits_of("a").await,
            Traits { is_vllm: true, context: Some(512), ..Traits::default() }
        );
        assert!(models.tell(list(r#"{"data":[{"id":"a"}]}"#)).is_some());
        assert_eq!(models.traits_of("a").await, Traits::default());
    }

    #[tokio::test]
    async fn a_name_that_is_not_listed_is_that_of_the_only_model_of_a_llama_server() {
        let llama = r#"{"id":"a.gguf","owned_by":"llamacpp","meta":{"n_ctx":2048}}"#;
        let vllm = r#"{"id":"b","owned_by":"vllm","max_model_len":512}"#;
        for (listed, expected) in [
            (llama.to_owned(), Traits { is_llama_server: true, context: Some(2_048), ..Traits::default() }),
            (vllm.to_owned(), Traits::default()),
            (format!("{llama},{vllm}"), Traits::default()),
            (String::new(), Traits::default()),
        ] {
            let models = KnownModels::unknown();
            assert!(!models.lacks("other"), "nothing was told");
            models.tell(list(&format!(r#"{{"data":[{listed}]}}"#)));
            assert_eq!(models.traits_of("other").await, expected, "{listed}");
            assert_eq!((models.lacks("other"), models.lacks("b")), (!listed.is_empty(), listed == llama));
        }
    }

    #[test]
    fn one_caller_a_minute_is_told_to_ask() {
        let models = KnownModels::unknown();
        let due = [0, 999, 1_000, 1_001].map(|now| models.is_due(now));
        assert_eq!(due, [true, false, true, false], "while nothing was learnt, a caller a second");
        let models = KnownModels::unknown();
        models.tell(list(r#"{"data":[]}"#));
        let due = [0, 1, 59_999, 60_000, 60_001, 200_000, 1_000, 1_001].map(|now| models.is_due(now));
        assert_eq!(due, [true, false, false, true, false, true, true, false]);
    }
}
