//! Checks retiring and removed models, and requests that wait for them.

use overnight_config::Config;

use super::Finding;
use crate::times;

const NAME: &str = "models";

/// Requests that wait for models that are no longer in the settings.
pub(super) fn left_behind(left: &[(String, i64)]) -> Option<Finding> {
    let told: Vec<String> = left.iter().map(|(model, waiting)| format!("{model} ({waiting})")).collect();
    let hint = "they expire: configure a model of that name, or name it in the `aliases` of the model that is to \
                answer them, and run `overnight reload`";
    let message = format!("requests wait for models that are not configured: {}", told.join(", "));
    (!told.is_empty()).then(|| Finding::warn(NAME, message, hint))
}

pub(super) fn retirements(config: &Config) -> Option<Finding> {
    let now = times::now();
    let retired = config.models.iter().filter(|model| !model.is_offered(now));
    let names: Vec<&str> = retired.map(|model| model.name.as_str()).collect();
    let message = format!("retired, and served while requests wait: {}", names.join(", "));
    (!names.is_empty()).then(|| Finding::ok(NAME, message))
}
