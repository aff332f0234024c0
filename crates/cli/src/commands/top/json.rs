//! A snapshot in the form of `--json`.

use overnight_app::engines::EngineReport;
use overnight_app::snapshot::Snapshot;
use serde_json::{Value, json};

use crate::times::seconds;

pub(super) fn of(snapshot: &Snapshot) -> Value {
    let Snapshot { at, rates, models, accounts, engines, webhooks, disk, attempts, .. } = snapshot;
    let models = models.iter().map(|model| {
        let hindrance = model.hindrance.as_ref().map(ToString::to_string);
        json!({"name": model.name, "waiting": model.waiting, "leased": model.leased, "hindrance": hindrance})
    });
    let accounts = accounts.iter().map(|account| {
        json!({
            "name": account.name, "waiting": account.waiting, "leased": account.leased,
            "next_deadline": seconds(account.next_deadline),
        })
    });
    let attempts = attempts.iter().map(|attempt| {
        json!({
            "at": seconds(attempt.at), "engine": attempt.engine, "status": attempt.status, "message": attempt.message,
        })
    });
    json!({
        "at": seconds(*at), "waiting": snapshot.waiting(), "leased": snapshot.leased(),
        "oldest": snapshot.oldest().map(seconds), "next_deadline": snapshot.next_deadline.map(seconds),
        "done_at": snapshot.done_at().map(seconds),
        "per_hour": {
            "completed": rates.completed, "failed": rates.failed, "cancelled": rates.cancelled, "tokens": rates.tokens,
            "nano_credits": rates.amount,
        },
        "models": models.collect::<Vec<_>>(), "accounts": accounts.collect::<Vec<_>>(),
        "engines": engines.iter().map(engine).collect::<Vec<_>>(),
        "webhooks": {
            "waiting": webhooks.waiting, "failing": webhooks.failing,
            "failing_since": webhooks.failing_since.map(seconds),
        },
        "disk": disk.map(|disk| json!({"free_bytes": disk.free, "reserve_bytes": disk.reserve})),
        "failed_attempts": attempts.collect::<Vec<_>>(),
    })
}

fn engine(EngineReport { node, engine, .. }: &EngineReport) -> Value {
    json!({
        "name": engine.name, "node": node, "is_driven": engine.is_driven, "in_flight": engine.in_flight,
        "max_concurrency": engine.max_concurrency,
        "reason": engine.pause.as_ref().map(|pause| &pause.reason),
        "paused_until": engine.pause.as_ref().and_then(|pause| pause.until).map(seconds),
        "closed_until": engine.closed_until.map(seconds),
        "process": engine.process.map(|process| process.status.as_str()),
        "tokens_per_second": engine.rates.tokens_per_second, "cache_hit_percent": engine.rates.cache_hit_percent,
    })
}
