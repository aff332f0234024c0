//! The scheduler's settings.

/// Settings of an installation. The default suits every size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Whether other nodes take from the same queue. Then a scan takes the next run of a shared sweep, and
    /// [`super::SchedulerInput::Waiting`] reports waiting requests.
    pub is_shared: bool,
    /// Maximum of requests that a release moves.
    pub release_max: u32,
    /// Maximum of requests that a lease takes.
    pub run_max: u32,
    /// Maximum of requests that a scan reads.
    pub look_max: u32,
    /// How long before its deadline a request should be done, in milliseconds.
    pub deadline_guard_ms: i64,
    /// How often a request may break its connection, or an engine, while it runs by itself, before it fails.
    pub breakages_max: u32,
    /// How long a breaker stays open the first time, in milliseconds; doubled until a request completes.
    pub pause_base_ms: i64,
    /// The longest it stays open before the next probe, in milliseconds.
    pub pause_cap_ms: i64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            is_shared: false,
            release_max: 1024,
            run_max: 256,
            look_max: 512,
            deadline_guard_ms: 600_000,
            breakages_max: 8,
            pause_base_ms: 500,
            pause_cap_ms: 10_000,
        }
    }
}
