//! What a seed decides beforehand: the installation and the faults of a run.

use std::path::Path;

use overnight_config::{Config, Sources};
use overnight_domain::scheduler::{DailyLimits, ModelKey, RateLimits, Replica, ReplicaKey};

use super::broken::{Broken, Step};
use super::chance::Chance;

pub(super) const MODELS: [&str; 2] = ["alpha", "beta"];
/// Whether the model at this index has no price, so that no account lacks credits for it.
pub(super) const fn is_free(model: usize) -> bool {
    PRICES[model].is_empty()
}

/// A request of the first model holds about half a credit.
const PRICES: [&str; MODELS.len()] = ["input_price = \"1000\", output_price = \"2000\", ", ""];

pub(super) const ACCOUNTS: usize = 3;

const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 60 * MINUTE_MS;

/// One world in this many is calm: its capacity suffices, so nothing may expire.
const CALM_EVERY: u64 = 4;
/// One world in this many has all engines down for longer than a completion window.
const BLACKOUT_EVERY: u64 = 20;
/// One world in this many has a batch that is cancelled in several chunks.
const LARGE_EVERY: u64 = 25;

#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) hours: i64,
    /// Engines are down for a minute at most, the clock hardly moves, and the process restarts quickly.
    pub(super) is_calm: bool,
    pub(super) has_blackout: bool,
    /// One burst is larger than one chunk of a batch's cancel.
    pub(super) has_large_burst: bool,
    pub(super) request_timeout_ms: i64,
    pub(super) aggregation_ms: i64,
    pub(super) concurrencies: Vec<u32>,
    /// What each account is granted; an account may run out.
    pub(super) credits: [i64; ACCOUNTS],
}

impl Plan {
    pub(super) fn draw(seed: u64, hours: u32, chance: &mut Chance) -> Self {
        let is_calm = seed.is_multiple_of(CALM_EVERY);
        let timeout_ms = *chance.pick(&[10 * MINUTE_MS, 10 * MINUTE_MS, HOUR_MS, 5 * HOUR_MS]);
        let count = chance.between(2, 4);
        Self {
            hours: i64::from(hours),
            is_calm,
            has_blackout: seed % BLACKOUT_EVERY == 11,
            has_large_burst: seed % LARGE_EVERY == 7,
            request_timeout_ms: if is_calm { 10 * MINUTE_MS } else { timeout_ms },
            aggregation_ms: *chance.pick(&[0, 2_000, 2_000, 30_000]),
            concurrencies: (0..count).map(|_| *chance.pick(&[1, 2, 4, 8])).collect(),
            credits: [1_000_000, 1_000_000, *chance.pick(&[1, 20, 200])],
        }
    }

    /// The first replica serves every model; the others alternate.
    pub(super) fn replicas(&self, models: &[ModelKey]) -> Vec<Replica> {
        let serve = |place: usize| match place {
            0 => models.to_vec(),
            _ => vec![models[place % models.len()]],
        };
        let replica = |(place, &max_concurrency): (usize, &u32)| Replica {
            key: ReplicaKey(u32::try_from(place).unwrap_or(0)),
            models: serve(place),
            max_concurrency,
            first_concurrency: max_concurrency,
            colocated_percent: None,
            rate_limits: RateLimits::default(),
            daily_limits: DailyLimits::default(),
            process: None,
        };
        self.concurrencies.iter().enumerate().map(replica).collect()
    }

    /// The service's own settings; its engines are never connected to.
    pub(super) fn config(&self, folder: &Path) -> Step<Config> {
        let model = |(name, price)| format!("{{ {price}name = \"{name}\", default_max_tokens = 64 }}");
        let models = MODELS.into_iter().zip(PRICES).map(model).collect::<Vec<_>>().join(", ");
        let engines = r#"[{ name = "simulated", kind = "openai", base_url = "http://127.0.0.1:1/v1" }]"#;
        let settings = [
            ("DATA_DIR", folder.display().to_string()),
            ("AGGREGATION_PERIOD", format!("{}ms", self.aggregation_ms)),
            ("MODELS", format!("[{models}]")),
            ("ENGINES", engines.to_owned()),
        ];
        let environment = settings.map(|(name, value)| (format!("OVERNIGHT_{name}"), value)).into();
        let sources = Sources { environment, ..Sources::default() };
        Config::load(&sources).map_err(|error| Broken(error.to_string()))
    }
}
