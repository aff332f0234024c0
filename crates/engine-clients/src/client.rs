//! The client of one replica: sends requests and judges answers.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Once};

use bytes::Bytes;
use http_body_util::Full;
use hyper::{Method, Request, Uri};
use overnight_base::clock::SharedClock;
use overnight_base::log_lines::Throttle;
use overnight_base::tasks;
use overnight_config::{CacheSaltUse, EngineConfig};
use overnight_domain::answers::Completion;
use overnight_domain::chat::{CacheSalt, has_output_limit};
use overnight_domain::endpoints::Endpoint;
use overnight_domain::json::Json;
use overnight_domain::scheduler::{AttemptError, EngineLoad};
use overnight_outgoing::transport::{Proxies, Transport, Unread, in_words, read_whole};
use tokio::sync::watch;

use super::command::CommandProcess;
use super::discovery;
use super::embedded::{Embedded, EmbeddedState};
use super::limit_fields::LimitFields;
use super::load;
use super::loaded_model::LoadedModel;
use super::models::{KnownModels, ListedModel, ModelList, Traits};
use super::refusal::Refusal;
use super::served::ServedEndpoints;
use super::target::Target;

const MODELS_BYTES_MAX: usize = 4 << 20;

/// Limit for the list of models.
const MODELS_TIMEOUT_MS: i64 = 10_000;

/// The same if the list decides what requests carry: a replica's first requests wait for it.
const RECOGNITION_TIMEOUT_MS: i64 = 2_000;

/// Limits for the metrics page: time, and bytes.
const LOAD_TIMEOUT_MS: i64 = 2_000;
const METRICS_BYTES_MAX: usize = 4 << 20;

pub struct EngineClient {
    pub(super) config: EngineConfig,
    pub(super) source: Source,
    pub(super) transport: Transport,
    pub(super) clock: SharedClock,
    pub(super) known_models: KnownModels,
    pub(super) served: ServedEndpoints,
    pub(super) limit_fields: LimitFields,
    pub(super) odd_answers: Throttle,
    pub(super) zero_usage: Once,
    /// The size of its key-value cache; 0 if unknown.
    cache_tokens: AtomicU64,
}

/// Where the replica's address comes from. Clients that share one share its process.
#[derive(Clone)]
pub(super) enum Source {
    Fixed(Arc<Target>),
    /// The child process, which has a new address in each life.
    Embedded(Arc<Embedded>),
    /// The settings of a process that the service starts.
    Command(Arc<Target>, Arc<CommandProcess>),
    /// The settings of an engine that holds one model at a time, of which this is one.
    Turns(Arc<Target>, Arc<LoadedModel>),
}

#[derive(Clone, Copy)]
pub struct Asked<'a> {
    pub endpoint: Endpoint,
    pub model: &'a str,
    /// Our limit for a body without one.
    pub max_tokens: Option<u32>,
    /// The account's salt, unless the model's cache is shared.
    pub cache_salt: Option<&'a CacheSalt>,
    /// Names the account to an embedded engine, whose accounts take turns; `None`: a request of the operator.
    pub account: Option<&'a CacheSalt>,
    pub traceparent: Option<&'a str>,
    /// Whether the answer is charged, and so needs a usage.
    pub is_charged: bool,
    /// Whether only the operator sees the outcome.
    pub is_probe: bool,
    pub body: Json<'a>,
}

impl EngineClient {
    pub(super) fn new(
        config: EngineConfig,
        source: Source,
        transport: Transport,
        clock: SharedClock,
    ) -> Self {
        let (known_models, cache_tokens) = (KnownModels::unknown(), AtomicU64::new(0));
        let served = ServedEndpoints::new(config.models.keys());
        let limit_fields = LimitFields::new(config.models.keys());
        let odd_answers = Throttle::default();
        Self {
            config,
            source,
            transport,
            clock,
            known_models,
            served,
            limit_fields,
            odd_answers,
            zero_usage: Once::new(),
            cache_tokens,
        }
    }

    pub fn config(&self) -> &EngineConfig {
        &self.config
    }

    /// The proxy of its calls, without a password; `None`: direct calls.
    pub fn proxy(&self) -> Option<String> {
        let openai = self.config.openai()?;
        let base_url = Uri::try_from(openai.base_url.as_str()).ok()?;
        Proxies::new(&openai.outgoing.proxy).describe(&base_url)
    }

    /// Its address: of an embedded engine that is ready, or of a base URL that has an address instead of a name.
    pub(super) fn address(&self) -> Option<SocketAddr> {
        if let Some(state) = self.embedded_state() {
            return match &*state.borrow() {
                EmbeddedState::Ready(endpoint) => endpoint.address(),
                EmbeddedState::Starting | EmbeddedState::Downloading { .. } | EmbeddedState::Down { .. } => {
                    None
                }
            };
        }
        discovery::address(&self.config)
    }

    /// The state of its child process, if it has one.
    pub fn embedded_state(&self) -> Option<watch::Receiver<EmbeddedState>> {
        match &self.source {
            Source::Fixed(_) | Source::Command(..) | Source::Turns(..) => None,
            Source::Embedded(embedded) => Some(embedded.state()),
        }
    }

    /// Whether its calls have the keys, headers and parameters of `target`.
    pub(super) fn calls_like(&self, target: Option<&Target>) -> bool {
        let own = match &self.source {
            Source::Fixed(target) | Source::Command(target, _) | Source::Turns(target, _) => Some(&**target),
            Source::Embedded(_) => None,
        };
        match (own, target) {
            (Some(own), Some(target)) => own.is_called_like(target),
            (own, target) => own.is_none() == target.is_none(),
        }
    }

    /// Sends a stored request body to the engine's endpoint of its kind and waits for its completion, within `request_timeout`. If dropped,
    /// the connection is closed and the engine stops working.
    ///
    /// The body gets the engine's name of `model`, an output limit (`max_tokens`, if it has none), and the salt, if one is given and the
    /// engine accepts it; each call gets `traceparent`.
    ///
    /// - If the engine refuses the name of the limit, the request is repeated with the other name, which later requests use first.
    /// - A limit of ours is omitted if the engine's context is not longer. If the engine refuses the request with it, the request is
    ///   repeated without: less of the context is left, and the engine stops there.
    /// - llama-server is asked for several choices one by one, because its `usage` counts one of them; other engines only for missing
    ///   choices.
    /// - If calls of the replica count against configured limits, nothing is repeated here: a refused limit is
    ///   [`AttemptError::LimitRefused`].
    /// - If the endpoint does not exist, but the model answers at another, the error is [`AttemptError::NotServed`].
    ///
    /// Called by `Attempts` (`scheduler/attempts.rs`), which settles the completion. The scheduler decides about further attempts.
    pub async fn complete(self: &Arc<Self>, asked: Asked<'_>) -> Result<Completion, AttemptError> {
        let Asked { endpoint, model, max_tokens, cache_salt, .. } = asked;
        let limit_ms = self.config.request_timeout.0;
        let attempt = async {
            let traits = self.traits_of(model).await;
            let cache_salt = cache_salt.filter(|_| self.takes_cache_salt(traits.is_vllm));
            // The client's own limit is part of the body; ours is omitted if the context is not longer.
            let is_shorter = |limit: &u32| traits.context.is_none_or(|context| u64::from(*limit) < context);
            let asked = Asked { max_tokens: max_tokens.filter(is_shorter), cache_salt, ..asked };
            self.attempt_whole(traits.is_llama_server, asked).await
        };
        let outcome = self.within(limit_ms, attempt, AttemptError::TimedOut).await;
        let judge = |error| self.served.judge(model, self.engine_model(model), endpoint, error);
        outcome.map_err(|error| self.doubt_model(model, judge(error)))
    }

    /// If the engine does not list the model, a refusal may be about the model and not the request.
    pub(super) fn doubt_model(&self, model: &str, error: AttemptError) -> AttemptError {
        match error {
            AttemptError::Status { code: code @ (400 | 422), message, .. }
                if self.known_models.lacks(self.engine_model(model)) =>
            {
                AttemptError::UnlistedModel { code, message }
            }
            error => error,
        }
    }

    /// Repeats an attempt without our limit if it was refused with it.
    pub(super) async fn attempt_in_context(&self, asked: Asked<'_>) -> Result<Completion, AttemptError> {
        match self.attempt(asked).await {
            Err(AttemptError::Status { code: 400 | 422, .. })
                if asked.max_tokens.is_some() && !has_output_limit(asked.body) =>
            {
                if self.config.counts_calls() {
                    return Err(AttemptError::LimitRefused);
                }
                self.attempt(Asked { max_tokens: None, ..asked }).await
            }
            outcome => outcome,
        }
    }

    /// A model's traits in the replica's list. The first request waits for the list, within a bound; later ones use the newest list. An
    /// embedded engine needs none.
    async fn traits_of(self: &Arc<Self>, model: &str) -> Traits {
        if self.config.openai().is_none() {
            return Traits::default();
        }
        if self.known_models.is_due(self.clock.now()) {
            let client = Arc::clone(self);
            tasks::spawn(async move { client.learn_models().await });
        }
        self.known_models.traits_of(self.engine_model(model)).await
    }

    /// Whether requests of a listed model carry the salt of their account unless the model has `shared_cache`: then accounts share no prefix
    /// in the engine's cache. `None`: the engine does not list the model.
    pub fn separates_accounts(&self, model: Option<&ListedModel>) -> bool {
        self.takes_cache_salt(model.is_some_and(|model| model.is_vllm))
    }

    /// An embedded engine always takes it.
    fn takes_cache_salt(&self, is_vllm: bool) -> bool {
        match self.config.openai().map(|openai| openai.cache_salt) {
            Some(CacheSaltUse::Always) | None => true,
            Some(CacheSaltUse::Auto) => is_vllm,
            Some(CacheSaltUse::Never) => false,
        }
    }

    pub(super) async fn learn_models(&self) {
        let listed = self.within(RECOGNITION_TIMEOUT_MS, self.fetch_models(), |words| words).await;
        if let Some(models) = self.known_models.tell(listed) {
            let engine = &self.config.name;
            for (model, traits) in self.config.models.values().filter_map(|name| models.get_key_value(name)) {
                let (context, takes_cache_salt) = (traits.context, self.takes_cache_salt(traits.is_vllm));
                tracing::info!(engine, model, context, takes_cache_salt, "engine lists a model");
            }
        }
    }

    pub(super) fn engine_model<'a>(&'a self, model: &'a str) -> &'a str {
        self.config.models.get(model).map_or(model, String::as_str)
    }

    /// The engine's load by its metrics; `None` if it has none that are known.
    pub async fn load(&self) -> Option<EngineLoad> {
        self.within(LOAD_TIMEOUT_MS, self.fetch_load(), |words| words).await.ok().flatten()
    }

    /// The tokens that its key-value cache holds, by the last metrics; `None` if unknown.
    pub fn cache_tokens(&self) -> Option<u64> {
        Some(self.cache_tokens.load(Relaxed)).filter(|tokens| *tokens > 0)
    }

    /// Whether it has a prefix cache; `None` if its metrics do not say.
    pub async fn prefix_caching(&self) -> Option<bool> {
        let page = self.within(LOAD_TIMEOUT_MS, self.fetch_metrics(), |words| words).await.ok().flatten()?;
        load::read_prefix_caching(&page)
    }

    async fn fetch_load(&self) -> Result<Option<EngineLoad>, String> {
        let Some(page) = self.fetch_metrics().await? else { return Ok(None) };
        if let Some(tokens) = load::read_cache_tokens(&page) {
            self.cache_tokens.store(tokens, Relaxed);
        }
        Ok(load::read(&page))
    }

    /// `None` if the engine has no metrics.
    async fn fetch_metrics(&self) -> Result<Option<String>, String> {
        let target = self.target().await?;
        let Some(metrics) = &target.metrics else { return Ok(None) };
        let request = request(Method::GET, metrics, &target, Bytes::new());
        let response = self.transport.send(request).await.map_err(|error| in_words(&error))?;
        if !response.status().is_success() {
            return Ok(None);
        }
        let Ok(page) = read_whole(response.into_body(), METRICS_BYTES_MAX).await else { return Ok(None) };
        Ok(Some(String::from_utf8_lossy(&page).into_owned()))
    }

    /// The models under `GET /models`, requested with the engine's key. Fails with a description of the fault.
    pub async fn list_models(&self) -> Result<Vec<ListedModel>, String> {
        Ok(self.within(MODELS_TIMEOUT_MS, self.fetch_models(), |words| words).await?.data)
    }

    /// The result of `work`, or `timed_out` after the limit.
    pub(super) async fn within<T, E>(
        &self,
        limit_ms: i64,
        work: impl Future<Output = Result<T, E>>,
        timed_out: fn(String) -> E,
    ) -> Result<T, E> {
        tokio::select! {
            outcome = work => outcome,
            () = self.clock.sleep_until(self.clock.now().saturating_add(limit_ms)) => {
                Err(timed_out(format!("no answer within {} s", limit_ms / 1_000)))
            }
        }
    }

    async fn fetch_models(&self) -> Result<ModelList, String> {
        let target = self.target().await?;
        let request = request(Method::GET, &target.models, &target, Bytes::new());
        let response = self.transport.send(request).await.map_err(|error| in_words(&error))?;
        if !response.status().is_success() {
            let Refusal { code, message, .. } = self.read_refusal(response, &target).await;
            return Err(format!("GET {} answers {code}: {message}", target.models.path()));
        }
        let answer = read_whole(response.into_body(), MODELS_BYTES_MAX).await;
        let answer = answer.map_err(|unread| match unread {
            Unread::TooLong => "the list of models is too long".to_owned(),
            Unread::Broken(error) => in_words(&error),
        })?;
        serde_json::from_slice(&answer)
            .map_err(|error| format!("GET {} answers no list of models: {error}", target.models.path()))
    }

    /// The engine's target; a child that is not ready is awaited for as long as connecting may take.
    pub(super) async fn target(&self) -> Result<Arc<Target>, String> {
        match &self.source {
            Source::Fixed(target) | Source::Command(target, _) | Source::Turns(target, _) => {
                Ok(Arc::clone(target))
            }
            Source::Embedded(embedded) => {
                let until = self.clock.now().saturating_add(self.config.connect_timeout.0);
                embedded.target(self.clock.sleep_until(until)).await
            }
        }
    }
}

pub(super) fn request(method: Method, uri: &Uri, target: &Target, body: Bytes) -> Request<Full<Bytes>> {
    let mut request = Request::new(Full::new(body));
    *request.method_mut() = method;
    *request.uri_mut() = uri.clone();
    *request.headers_mut() = target.headers.clone();
    request
}
