//! The reason why a request waits.

use serde::{Deserialize, Serialize};

/// What keeps a registered request from an engine, as of a second ago or less.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(example = json!({
    "reason": "queue",
    "others": 41
})))]
pub struct WaitingFor {
    /// What it is.
    pub reason: WaitingReason,
    /// Until when, in Unix seconds. Absent where nobody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub until: Option<i64>,
    /// With `queue`, how many other requests wait for the same model, those of all accounts counted: some run before this one and
    /// some after. Absent with every other reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub others: Option<i64>,
    /// With `engines_stopped`, the model that has the device of these engines now, if they share one. Absent with every other reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub running_model: Option<String>,
}

/// Why a registered request waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum WaitingReason {
    /// Its siblings are gathered for a moment.
    Gathering,
    /// What is left of the disk is kept for the results of what runs.
    DiskSpace,
    /// No engine serves its model.
    NoEngine,
    /// The engines of its model are paused.
    EnginesPaused,
    /// The engines of its model are outside their hours.
    EnginesClosed,
    /// The daily budgets of the engines of its model are used up: they are used again at 00:00 UTC.
    EnginesOverBudget,
    /// The engines of its model do not run, or have another model loaded: one is started or loads it when there is enough work for it, or its
    /// turn comes.
    EnginesStopped,
    /// It was sent to an engine, which had no room for it, or its attempt failed: it is sent again at the earliest at `until`.
    Retry,
    /// Its turn has not come.
    Queue,
}
