//! Engines that hold one of their models at a time and load another when a request names it. Their models take turns.

use super::command::{self, TIME_SLICE};
use super::{EngineConfig, EngineKind, LIMITS};
use crate::section::Section;
use crate::values::flag;
use crate::{Millis, Read};

const KEY: &str = "one_model_at_a_time";

/// Settings shared with engines that the service starts.
pub(super) const COMMON_KEYS: [&str; 2] = ["start_timeout", "time_slice"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelTurns {
    /// For loading a model and completing a first request.
    pub start_timeout: Millis,
    /// How long it works for a model while another one waits.
    pub time_slice: Millis,
}

impl EngineConfig {
    /// Whether each of its models is a replica.
    pub fn holds_one_model(&self) -> bool {
        matches!(&self.kind, EngineKind::OpenAi(openai) if openai.turns.is_some())
    }

    /// Its replicas: itself, or one for each of its models.
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

    /// The `exclusive` device, or the engine that holds one model, and for how long a replica may keep it while another waits.
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

pub(super) fn read(section: &Section<'_>) -> Read<Option<ModelTurns>> {
    if !section.find(KEY, flag)?.unwrap_or(false) {
        let alone = COMMON_KEYS.into_iter().find(|key| section.has(key));
        let what = format!("needs `{KEY} = true`, or kind = \"command\"");
        return alone.map_or(Ok(None), |key| Err(section.refuse(key, what)));
    }
    let other = ["discovery", "colocated_share"].into_iter().chain(LIMITS).find(|key| section.has(key));
    let what = |other| format!("cannot be combined with `{other}`: each model is a replica of its own");
    section.forbid(KEY, other.map(what))?;
    let time_slice = command::time_slice(section)?.unwrap_or(TIME_SLICE);
    Ok(Some(ModelTurns { start_timeout: command::start_timeout(section)?, time_slice }))
}

/// The name of each model's replica must be unique.
pub(super) fn refuse_shared_name(
    section: &Section<'_>,
    engine: &EngineConfig,
    others: &[EngineConfig],
) -> Read<()> {
    let others: Vec<_> = others.iter().flat_map(EngineConfig::of_each_model).collect();
    let replicas = engine.of_each_model();
    let taken = replicas.iter().find(|replica| others.iter().any(|other| other.name == replica.name));
    section.forbid("name", taken.map(|replica| format!("gives two replicas the name {:?}", replica.name)))
}
