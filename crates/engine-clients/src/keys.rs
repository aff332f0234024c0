//! The keys of engines. They are read with the settings and kept, so that a file that disappears or hangs does not affect running engines.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use futures_util::future::try_join_all;
use overnight_base::clock::SharedClock;
use overnight_base::secret_files;
use overnight_base::secrets::Secret;
use overnight_config::{EngineConfig, KeySource, OpenAiConfig};

use super::EngineUnusable;

/// Limit for one file: a mount may hang.
const READ_MS: i64 = 5_000;

#[derive(Default)]
pub(super) struct Keys(BTreeMap<KeySource, Secret>);

impl Keys {
    /// Reads the keys of all engines, on this thread.
    pub(super) fn read_now(configs: &[EngineConfig]) -> Result<Self, EngineUnusable> {
        let key = |(source, engine): (&KeySource, &str)| {
            let text = match source {
                KeySource::Variable(name) => Ok(std::env::var_os(name)),
                KeySource::File(path) => secret_files::read(path).map(|text| Some(text.into())),
            };
            Ok((source.clone(), understood(engine, source, text)?))
        };
        sources(configs).into_iter().map(key).collect::<Result<_, _>>().map(Self)
    }

    /// The same, with files read on blocking threads, within [`READ_MS`].
    pub(super) async fn read(configs: &[EngineConfig], clock: &SharedClock) -> Result<Self, EngineUnusable> {
        let keys = sources(configs).into_iter().map(|(source, engine)| async move {
            let text = match source {
                KeySource::Variable(name) => Ok(std::env::var_os(name)),
                KeySource::File(path) => {
                    let path: PathBuf = path.clone();
                    within(clock, move || secret_files::read(&path).map(Into::into)).await.map(Some)
                }
            };
            Ok((source.clone(), understood(engine, source, text)?))
        });
        Ok(Self(try_join_all(keys).await?.into_iter().collect()))
    }

    /// The engine's key, which must have been read.
    pub(super) fn of(&self, config: &EngineConfig) -> Option<&Secret> {
        self.get(config.openai()?.api_key.as_ref()?)
    }

    /// The value of a source, which must have been read.
    pub(super) fn get(&self, source: &KeySource) -> Option<&Secret> {
        self.0.get(source)
    }
}

/// The sources of keys and other secrets, each once, with an engine that has it.
fn sources(configs: &[EngineConfig]) -> BTreeMap<&KeySource, &str> {
    let mut sources = BTreeMap::new();
    for config in configs {
        let secrets = config.openai().into_iter().flat_map(OpenAiConfig::secrets);
        sources.extend(secrets.map(|source| (source, config.name.as_str())));
    }
    sources
}

fn understood(
    engine: &str,
    source: &KeySource,
    text: Result<Option<OsString>, String>,
) -> Result<Secret, EngineUnusable> {
    let key = text.and_then(|text| Secret::read(text).map_err(str::to_owned));
    key.map_err(|reason| EngineUnusable::Key { engine: engine.to_owned(), place: source.to_string(), reason })
}

async fn within(
    clock: &SharedClock,
    reading: impl FnOnce() -> Result<OsString, String> + Send + 'static,
) -> Result<OsString, String> {
    tokio::select! {
        text = tokio::task::spawn_blocking(reading) => text.unwrap_or_else(|_| Err("cannot be read".to_owned())),
        () = clock.sleep_until(clock.now().saturating_add(READ_MS)) => {
            Err(format!("was not read within {} s", READ_MS / 1_000))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::mpsc;

    use overnight_base::clock::HurriedClock;

    use super::*;

    #[tokio::test]
    async fn a_file_that_does_not_answer_is_given_up() {
        let (answer, answered) = mpsc::channel();
        let reading = move || Ok(answered.recv().unwrap_or_default());
        let clock: SharedClock = Arc::new(HurriedClock);
        assert_eq!(within(&clock, reading).await.unwrap_err(), "was not read within 5 s");
        answer.send(OsString::from("too late")).unwrap_or_default();
    }
}
