//! The client of one replica: sends a request and judges the answer.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Once};

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};
use hyper::http;
use hyper::{Method, Request, Uri};
use overnight_base::clock::SharedClock;
use overnight_base::log_lines::Throttle;
use overnight_base::tasks;
use overnight_domain::answers::Completion;
use overnight_domain::chat::{CacheSalt, has_output_limit};
use overnight_domain::endpoints::Endpoint;
use overnight_domain::json::Json;
use overnight_domain::scheduler::{AttemptError, EngineLoad};
use tokio::sync::watch;

use super::command::CommandProcess;
use super::embedded::{Embedded, EmbeddedState};
use super::limit_fields::LimitFields;
use super::load;
use super::loaded_model::LoadedModel;
use super::models::{KnownModels, ListedModel, ModelList, Traits};
use super::refusal::Refusal;
use super::served::ServedEndpoints;
use super::target::Target;
use crate::config::{CacheSaltUse, EngineConfig};
use crate::transport::{AGENT, Proxies, Transport, Unread, in_words, read_whole};

/// The longest list of models taken in, in bytes.
const MODELS_BYTES_MAX: usize = 4 << 20;

/// How long the list of models may take.
const MODELS_TIMEOUT_MS: i64 = 10_000;

/// How long it may take where it decides what requests carry: the first requests of a replica wait for it.
const RECOGNITION_TIMEOUT_MS: i64 = 2_000;

/// How long a page of metrics may take, and how long it may be.
const LOAD_TIMEOUT_MS: i64 = 2_000;
const METRICS_BYTES_MAX: usize = 4 << 20;

/// A replica as configured, and the connections to it.
pub struct EngineClient {
    pub(super) config: EngineConfig,
    pub(super) source: Source,
    pub(super) transport: Transport,
    pub(super) clock: SharedClock,
    pub(super) known_models: KnownModels,
    pub(super) served: ServedEndpoints,
    pub(super) limit_fields: LimitFields,
    pub(super) odd_answers: Throttle,
    /// Logs once that it counts no tokens.
    pub(super) zero_usage: Once,
    /// What its key-value cache holds; 0 until it tells.
    cache_tokens: AtomicU64,
}

/// How the replica's address is known. Clients that share one share its process.
#[derive(Clone)]
pub(super) enum Source {
    Fixed(Arc<Target>),
    /// From the child process, which has another one in each life.
    Embedded(Arc<Embedded>),
    /// From the settings of a process that the service starts.
    Command(Arc<Target>, Arc<CommandProcess>),
    /// From the settings of an engine that holds one model at a time, of which this is one.
    Turns(Arc<Target>, Arc<LoadedModel>),
}

#[derive(Clone, Copy)]
pub struct Asked<'a> {
    pub endpoint: Endpoint,
    pub model: &'a str,
    /// A limit of ours, for a body that has none.
    pub max_tokens: Option<u32>,
    /// The salt of the account, unless the cache of the model is shared.
    pub cache_salt: Option<&'a CacheSalt>,
    /// The trace that the call belongs to.
    pub traceparent: Option<&'a str>,
    /// Whether the answer must be charged, and so needs a usage.
    pub is_charged: bool,
    /// Whether only the operator reads the outcome.
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

    /// The proxy that its calls go through, without a password; `None` if they go to the engine directly.
    pub fn proxy(&self) -> Option<String> {
        let openai = self.config.openai()?;
        let base_url = Uri::try_from(openai.base_url.as_str()).ok()?;
        Proxies::new(&openai.outgoing.proxy).describe(&base_url)
    }

    /// How its child process is, if it has one.
    pub fn embedded_state(&self) -> Option<watch::Receiver<EmbeddedState>> {
        match &self.source {
            Source::Fixed(_) | Source::Command(..) | Source::Turns(..) => None,
            Source::Embedded(embedded) => Some(embedded.state()),
        }
    }

    /// Whether it calls with the keys, headers and parameters of `target`.
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

    /// Sends a stored request body to the engine's endpoint of its kind and waits for its completion, within `request_timeout`. The engine is sent its own
    /// name of `model`, an explicit output limit (`max_tokens`, where the body has none), and the salt, where one is given
    /// and the engine takes it. If the engine refuses the name of the limit, it is sent the other name, and later requests begin with that. A limit that is not the client's is left out where the engine's context is no longer, and
    /// where the engine refuses the request with it: then the context leaves less, and the engine stops there. llama-server
    /// is asked for several choices one by one, because its `usage` counts one of them; other engines are asked so for those that
    /// they left out. Where calls of the replica count
    /// against limits of ours, that is not done, and what it refuses is not sent again here, but [`AttemptError::LimitRefused`] asks for that.
    /// An engine that has nothing at the endpoint, but answers for the model at another, is [`AttemptError::NotServed`].
    /// Dropped, the connection is closed and the engine stops working.
    /// `traceparent` goes with each call.
    /// Called by `Attempts` (`scheduler/attempts.rs`), which hands the completion on to be settled.
    ///
    /// # Errors
    /// Why this attempt brought no completion; whether another may is the scheduler's to say.
    pub async fn complete(self: &Arc<Self>, asked: Asked<'_>) -> Result<Completion, AttemptError> {
        let Asked { endpoint, model, max_tokens, cache_salt, .. } = asked;
        let limit_ms = self.config.request_timeout.0;
        let attempt = async {
            let traits = self.traits_of(model).await;
            let cache_salt = cache_salt.filter(|_| self.takes_cache_salt(traits));
            // The client's own limit is part of the body; ours is left out where the context is no longer.
            let is_shorter = |limit: &u32| traits.context.is_none_or(|context| u64::from(*limit) < context);
            let asked = Asked { max_tokens: max_tokens.filter(is_shorter), cache_salt, ..asked };
            self.attempt_whole(traits.is_llama_server, asked).await
        };
        let outcome = self.within(limit_ms, attempt, AttemptError::TimedOut).await;
        let judge = |error| self.served.judge(model, self.engine_model(model), endpoint, error);
        outcome.map_err(|error| self.doubt_model(model, judge(error)))
    }

    /// A refusal by an engine that does not list the model may be of the model, and not of the request.
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

    /// An attempt that is repeated without a limit of ours, where it was refused with it.
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

    /// What the replica's list of models says of a model. The first request waits for the list, within a bound; later ones
    /// go by the newest that came. An embedded engine is known without one.
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

    /// Whether the replica is to be sent `cache_salt` with requests of such a model.
    fn takes_cache_salt(&self, model: Traits) -> bool {
        match self.config.openai().map(|openai| openai.cache_salt) {
            Some(CacheSaltUse::Always) => true,
            Some(CacheSaltUse::Auto) => model.is_vllm,
            Some(CacheSaltUse::Never) | None => false,
        }
    }

    pub(super) async fn learn_models(&self) {
        let listed = self.within(RECOGNITION_TIMEOUT_MS, self.fetch_models(), |words| words).await;
        if let Some(models) = self.known_models.tell(listed) {
            let engine = &self.config.name;
            for (model, traits) in self.config.models.values().filter_map(|name| models.get_key_value(name)) {
                let (context, takes_cache_salt) = (traits.context, self.takes_cache_salt(*traits));
                tracing::info!(engine, model, context, takes_cache_salt, "engine lists a model");
            }
        }
    }

    /// The engine's name of a model of ours.
    pub(super) fn engine_model<'a>(&'a self, model: &'a str) -> &'a str {
        self.config.models.get(model).map_or(model, String::as_str)
    }

    /// How loaded the engine's metrics say it is; `None` where it has none, or they are none that we know.
    pub async fn load(&self) -> Option<EngineLoad> {
        self.within(LOAD_TIMEOUT_MS, self.fetch_load(), |words| words).await.ok().flatten()
    }

    /// How many tokens its key-value cache holds, as its metrics said when they were asked for last; `None` where they never did.
    pub fn cache_tokens(&self) -> Option<u64> {
        Some(self.cache_tokens.load(Relaxed)).filter(|tokens| *tokens > 0)
    }

    /// Whether it keeps a prefix cache; `None` where its metrics do not tell.
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

    /// The engine's page of metrics; `None` where it has none.
    async fn fetch_metrics(&self) -> Result<Option<String>, String> {
        let target = self.target().await?;
        let Some(metrics) = &target.metrics else { return Ok(None) };
        let request =
            request(Method::GET, metrics, &target, Bytes::new()).map_err(|error| in_words(&error))?;
        let response = self.transport.send(request).await.map_err(|error| in_words(&error))?;
        if !response.status().is_success() {
            return Ok(None);
        }
        let Ok(page) = read_whole(response.into_body(), METRICS_BYTES_MAX).await else { return Ok(None) };
        Ok(Some(String::from_utf8_lossy(&page).into_owned()))
    }

    /// The models that the engine lists under `GET /models`, asked with its key.
    ///
    /// # Errors
    /// What is wrong with the engine or its answer, in words.
    pub async fn list_models(&self) -> Result<Vec<ListedModel>, String> {
        Ok(self.within(MODELS_TIMEOUT_MS, self.fetch_models(), |words| words).await?.data)
    }

    /// What `work` comes to, or that it took too long.
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
        let request = request.map_err(|error| in_words(&error))?;
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

    /// Where the engine is; a child that is not ready is waited for as long as connecting may take.
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

pub(super) fn request(
    method: Method,
    uri: &Uri,
    target: &Target,
    body: Bytes,
) -> http::Result<Request<Full<Bytes>>> {
    let mut request = Request::builder()
        .method(method)
        .uri(uri.clone())
        .header(USER_AGENT, AGENT)
        .header(ACCEPT, "application/json")
        .header(CONTENT_TYPE, "application/json");
    if let Some(headers) = request.headers_mut() {
        headers.extend(target.headers.clone());
    }
    request.body(Full::new(body))
}
