//! The processes of engines that the service starts: started until the engine answers, watched, stopped. A model of an engine that holds
//! one at a time is loaded and unloaded in the same way.

use std::sync::Arc;

use overnight_config::EngineKind;
use overnight_domain::endpoints::Endpoint;
use overnight_domain::scheduler::ProbeOutcome;
use tokio::net::TcpStream;
use tokio::sync::watch;

use super::client::{EngineClient, Source};
use super::command::{NotReady, NotYet, ProcessStatus};

impl EngineClient {
    /// Its process, for another client of an engine of that kind; `None` if it has none, or the settings need another.
    pub(super) fn process_source(&self, kind: &EngineKind) -> Option<Source> {
        (self.has_process() && self.config.kind == *kind).then(|| self.source.clone())
    }

    /// Whether both clients have the same process of this service, or the same model that takes turns.
    pub fn shares_process(&self, other: &Self) -> bool {
        match (&self.source, &other.source) {
            (Source::Embedded(one), Source::Embedded(other)) => Arc::ptr_eq(one, other),
            (Source::Command(_, one), Source::Command(_, other)) => Arc::ptr_eq(one, other),
            (Source::Turns(_, one), Source::Turns(_, other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }

    /// Whether it continues `before`: with the same process, or both without one.
    pub fn succeeds(&self, before: &Self) -> bool {
        before.shares_process(self) || !before.has_process() && !self.has_process()
    }

    /// Whether it is a process of this service, or a model that takes turns.
    pub const fn has_process(&self) -> bool {
        !matches!(self.source, Source::Fixed(_))
    }

    /// The state of its process or model; `None` if the service manages neither.
    pub fn process_status(&self) -> Option<watch::Receiver<ProcessStatus>> {
        match &self.source {
            Source::Command(_, process) => Some(process.status()),
            Source::Turns(_, model) => Some(model.status()),
            Source::Fixed(_) | Source::Embedded(_) => None,
        }
    }

    /// Starts the engine's process, or loads its model, and waits until the engine has answered a probe of its first model, within
    /// `start_timeout`. Has no effect on other engines. If dropped before that, the process is ended.
    pub async fn start_process(&self) -> Result<(), NotReady> {
        match &self.source {
            Source::Command(_, process) => process.start(&|| Box::pin(self.check_ready())).await,
            Source::Turns(_, model) => model.load(|limit_ms| self.ask_for_model(limit_ms)).await,
            Source::Fixed(_) | Source::Embedded(_) => Ok(()),
        }
    }

    /// Waits until a process that was ready no longer runs. Returns why it ended by itself; `None` if it was stopped, or its model was
    /// unloaded. Never ends for other engines.
    pub async fn process_ended(&self) -> Option<String> {
        match &self.source {
            Source::Command(_, process) => process.ended().await,
            Source::Turns(_, model) => {
                model.unloaded().await;
                None
            }
            Source::Fixed(_) | Source::Embedded(_) => std::future::pending().await,
        }
    }

    /// Ends the engine's process with everything that it started, and waits until nothing is left and its port is free. Has no effect if it
    /// does not run. An embedded engine is not restarted. A model that takes turns is unloaded. Fails if a process cannot be killed, or
    /// another one is at the port.
    pub async fn stop_process(&self) -> Result<(), String> {
        match &self.source {
            Source::Fixed(_) => {}
            Source::Embedded(embedded) => embedded.stop().await,
            Source::Command(_, process) => return process.stop().await,
            Source::Turns(_, model) => model.unload().await,
        }
        Ok(())
    }

    /// Waits until nothing of the engine's process is left, however long. Returns immediately if it does not run.
    pub async fn process_gone(&self) {
        match &self.source {
            Source::Command(_, process) => _ = process.stopped().await,
            Source::Turns(_, model) => model.unloaded().await,
            Source::Fixed(_) | Source::Embedded(_) => {}
        }
    }

    /// Asks for a completion of its first model, which makes the engine load it.
    async fn ask_for_model(&self, limit_ms: i64) -> ProbeOutcome {
        match self.config.models.keys().next() {
            Some(model) => {
                // The model was not asked for anything before, and an embedding model does not chat.
                self.served.note_asked(model, Endpoint::Embeddings);
                self.probe_within(model, false, limit_ms).await
            }
            None => ProbeOutcome::Failed("it serves no model".to_owned()),
        }
    }

    async fn check_ready(&self) -> Result<(), NotYet> {
        let loading = |why: &str| NotYet::Loading(why.to_owned());
        let url = self.config.openai().map(|openai| &openai.base_url);
        let place = url.and_then(|url| Some((url.host_str()?, url.port_or_known_default()?)));
        let (host, port) = place.ok_or_else(|| loading("it has no address"))?;
        // A loopback address answers immediately, so this needs no limit.
        let connected = TcpStream::connect((host.trim_matches(['[', ']']), port)).await;
        connected.map_err(|_| NotYet::Loading(format!("nothing listens at port {port}")))?;
        let model = self.config.models.keys().next().ok_or_else(|| loading("it serves no model"))?;
        match self.probe(model, false).await {
            ProbeOutcome::Healthy | ProbeOutcome::Refused { .. } => Ok(()),
            ProbeOutcome::Busy { .. } => Err(loading("it answers that it cannot serve yet")),
            ProbeOutcome::Failed(why) => {
                self.learn_models().await;
                let is_lacking = self.known_models.lacks(self.engine_model(model));
                Err(if is_lacking { NotYet::Lacking(why) } else { NotYet::Loading(why) })
            }
            ProbeOutcome::TimedOut(why) => Err(NotYet::Loading(why)),
        }
    }
}
