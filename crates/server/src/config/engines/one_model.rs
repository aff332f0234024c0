//! Engines that hold one of their models at a time and load another when a request names it. Their models take turns.

use super::command::{self, TIME_SLICE};
use super::{EngineConfig, EngineKind};
use crate::config::section::Section;
use crate::config::{ConfigError, Millis, daily_limits, rate_limits};

const KEY: &str = "one_model_at_a_time";

/// The settings that it has in common with engines that the service starts.
pub(super) const COMMON_KEYS: [&str; 2] = ["start_timeout", "time_slice"];

/// How the models of an engine take turns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelTurns {
    /// How long the engine may take to load a model and to complete a first request.
    pub start_timeout: Millis,
    /// How long it works for a model while another one waits.
    pub time_slice: Millis,
}

impl EngineConfig {
    /// Whether it stands for one replica for each of its models.
    pub fn holds_one_model(&self) -> bool {
        matches!(&self.kind, EngineKind::OpenAi(openai) if openai.turns.is_some())
    }

    /// The replicas that it stands for: itself, or one for each of its models.
    #[must_use]
    pub fn of_each_model(&self) -> Vec<Self> {
        if !self.holds_one_model() {
            return vec![self.clone()];
        }
        let of_one = |(ours, theirs): (&String, &String)| {
            let (name, models) = (format!("{}/{ours}", self.name), [(ours.clone(), theirs.clone())].into());
            Self { name, models, ..self.clone() }
        };
        self.models.iter().map(of_one).collect()
    }

    /// What it shares with other replicas, of which one runs at a time, and for how long it may keep that: an `exclusive` device, or
    /// the engine that holds one model.
    pub fn device(&self) -> Option<(&str, Millis)> {
        match &self.kind {
            EngineKind::Command(command) => {
                command.exclusive.as_ref().map(|device| (&*device.name, device.time_slice))
            }
            EngineKind::OpenAi(openai) => {
                openai.turns.as_ref().map(|turns| (openai.base_url.as_str(), turns.time_slice))
            }
            EngineKind::Embedded(_) => None,
        }
    }
}

pub(super) fn read(section: &Section<'_>) -> Result<Option<ModelTurns>, ConfigError> {
    if !section.boolean(KEY)?.unwrap_or(false) {
        return match COMMON_KEYS.into_iter().find(|key| section.has(key)) {
            Some(key) => Err(section.refuse(key, format!("needs `{KEY} = true`, or kind = \"command\""))),
            None => Ok(None),
        };
    }
    let limits = [rate_limits::REQUESTS, rate_limits::TOKENS, daily_limits::REQUESTS, daily_limits::TOKENS];
    let others = ["discovery", "colocated_share"].into_iter().chain(limits);
    if let Some(other) = others.into_iter().find(|key| section.has(key)) {
        let what = format!("cannot be combined with `{other}`: each model is a replica of its own");
        return Err(section.refuse(KEY, what));
    }
    let time_slice = command::time_slice(section)?.unwrap_or(TIME_SLICE);
    Ok(Some(ModelTurns { start_timeout: command::start_timeout(section)?, time_slice }))
}

/// The replica of a model has a name of its own.
pub(super) fn refuse_shared_name(
    section: &Section<'_>,
    engine: &EngineConfig,
    others: &[EngineConfig],
) -> Result<(), ConfigError> {
    let others: Vec<_> = others.iter().flat_map(EngineConfig::of_each_model).collect();
    let is_taken = |replica: &EngineConfig| others.iter().any(|other| other.name == replica.name);
    match engine.of_each_model().iter().find(|replica| is_taken(replica)) {
        Some(replica) => {
            Err(section.refuse("name", format!("gives two replicas the name {:?}", replica.name)))
        }
        None => Ok(()),
    }
}
