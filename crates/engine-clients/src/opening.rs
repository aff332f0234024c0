//! Creates the client of an engine from its settings.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use overnight_base::clock::SharedClock;
use overnight_base::ids::Ids;
use overnight_base::supervision::Supervisor;
use overnight_config::{EmbeddedConfig, EngineConfig, EngineKind, ModelSource};
use overnight_outgoing::transport::Transport;

use super::EngineUnusable;
use super::boxed_model;
use super::client::{EngineClient, Source};
use super::command::CommandProcess;
use super::embedded::{Embedded, ModelFile, Program};
use super::keys::Keys;
use super::loaded_model::LoadedModel;
use super::target::Target;

pub(super) struct Opening {
    /// The program that guards the commands of engines.
    pub(super) guard: PathBuf,
    pub(super) data_dir: PathBuf,
    pub(super) clock: SharedClock,
    pub(super) ids: Arc<Ids>,
    /// The owner of the loops that watch processes.
    pub(super) supervisor: Arc<Supervisor>,
}

impl Opening {
    /// The client of an engine: `before` if it is unchanged, otherwise a new one, which keeps an unchanged process.
    pub(super) fn client(
        &self,
        config: &EngineConfig,
        keys: &Keys,
        before: Option<&Arc<EngineClient>>,
    ) -> Result<Arc<EngineClient>, EngineUnusable> {
        let target = target(config, keys)?;
        let is_same_key = |it: &&Arc<EngineClient>| it.calls_like(target.as_deref());
        let before = before.filter(is_same_key);
        if let Some(before) = before.filter(|it| it.config() == config) {
            return Ok(Arc::clone(before));
        }
        let source = match before.and_then(|it| it.process_source(&config.kind)) {
            Some(source) => source,
            None => self.source(config, target)?,
        };
        let transport = self.transport(config)?;
        Ok(Arc::new(EngineClient::new(config.clone(), source, transport, Arc::clone(&self.clock))))
    }

    fn source(&self, config: &EngineConfig, target: Option<Arc<Target>>) -> Result<Source, EngineUnusable> {
        Ok(match (&config.kind, target) {
            (EngineKind::Command(command), Some(target)) => {
                let (name, guard) = (config.name.clone(), self.guard.clone());
                let (clock, supervisor) = (Arc::clone(&self.clock), Arc::clone(&self.supervisor));
                let process = CommandProcess::new(name, command.clone(), guard, clock, supervisor);
                Source::Command(target, Arc::new(process))
            }
            (EngineKind::OpenAi(openai), Some(target)) => match &openai.turns {
                Some(turns) => {
                    let model = LoadedModel::new(turns, Arc::clone(&self.clock));
                    Source::Turns(target, Arc::new(model))
                }
                None => Source::Fixed(target),
            },
            (EngineKind::Embedded(embedded), _) => {
                let program = program(&config.name, embedded, &self.data_dir)?;
                let (clock, ids) = (Arc::clone(&self.clock), Arc::clone(&self.ids));
                Source::Embedded(Arc::new(Embedded::start(program, clock, ids, &self.supervisor)))
            }
            (EngineKind::OpenAi(_) | EngineKind::Command(_), None) => {
                unreachable!("an engine that is not embedded has an address")
            }
        })
    }

    fn transport(&self, config: &EngineConfig) -> Result<Transport, EngineUnusable> {
        let (clock, timeout_ms) = (Arc::clone(&self.clock), config.connect_timeout.0);
        match config.openai() {
            Some(openai) => Transport::open(openai.base_url.scheme(), &openai.outgoing, clock, timeout_ms)
                .map_err(|source| EngineUnusable::Tls { engine: config.name.clone(), source }),
            None => Ok(Transport::local(clock, timeout_ms)),
        }
    }
}

/// This program. On Linux that is the running file, whatever is at its path by now.
pub(super) fn own_program() -> PathBuf {
    if cfg!(target_os = "linux") {
        return PathBuf::from("/proc/self/exe");
    }
    std::env::current_exe().unwrap_or_else(|_| PathBuf::from("overnight"))
}

/// The engine's address in the settings, with its key.
fn target(config: &EngineConfig, keys: &Keys) -> Result<Option<Arc<Target>>, EngineUnusable> {
    let Some(openai) = config.openai() else { return Ok(None) };
    let target = Target::new(openai.base_url.as_str(), keys.of(config).cloned());
    let target = target.and_then(|target| target.with(&openai.extras, |source| keys.get(source)));
    let target = target.map_err(|source| EngineUnusable::Address { engine: config.name.clone(), source })?;
    Ok(Some(Arc::new(target)))
}

fn program(engine: &str, embedded: &EmbeddedConfig, data_dir: &Path) -> Result<Program, EngineUnusable> {
    let model = match &embedded.model {
        ModelSource::File(path) => ModelFile::At(path.clone()),
        ModelSource::Hub(name) => ModelFile::OfHub(name.clone()),
        ModelSource::Boxed => {
            let path = boxed_model::path_in(data_dir);
            boxed_model::place(&path)
                .map_err(|source| EngineUnusable::BoxedModel { path: path.clone(), source })?;
            ModelFile::At(path)
        }
    };
    Ok(Program { engine: engine.to_owned(), config: embedded.clone(), model })
}
