//! `overnight explain`: the reasons for a request's state.

use std::fmt::Write;

use clap::Args;
use overnight_app::engines::EngineReport;
use overnight_app::requests::explanation::{self, Explanation, QueuePlace};
use overnight_app::requests::waiting::WaitingReason;
use overnight_domain::ids::RequestId;
use overnight_domain::requests::RequestState;
use overnight_domain::text;
use serde_json::{Value, json};

use super::operator;
use crate::errors::{CliError, Exit};
use crate::globals::Globals;
use crate::output::Output;
use crate::times::{self, seconds};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// A request (req_…) of any account.
    #[arg(value_name = "REQUEST", value_parser = parse_id)]
    request: RequestId,
}

fn parse_id(text: &str) -> Result<RequestId, String> {
    RequestId::parse(text).ok_or_else(|| "a request's identifier is req_ and 26 characters".to_owned())
}

pub(crate) async fn run(arguments: Arguments, globals: &Globals, output: &Output) -> Result<Exit, CliError> {
    let services = operator::open_to_read(globals).await?;
    let explanation = explanation::explain(&services, arguments.request).await?;
    output.either(&shape_of(&explanation), || describe(&explanation))?;
    Ok(Exit::Done)
}

fn shape_of(explanation: &Explanation) -> Value {
    let Explanation { account, model, record, waiting, place, retry_at, .. } = explanation;
    let waiting_for = waiting.as_ref().map(|reason| {
        let running_model = match reason {
            WaitingReason::EnginesStopped { running, .. } => running.as_deref(),
            _ => None,
        };
        json!({
            "sentence": sentence(reason), "until": reason.until().map(seconds), "words": reason.words(),
            "running_model": running_model,
        })
    });
    let place = place.map(|it| {
        json!({
            "waiting": it.waiting, "waiting_before": it.waiting_before, "waiting_since_leased": it.waiting_since_leased,
            "cuts": it.cuts, "shared_with_previous": it.shared_with_previous, "shared_with_next": it.shared_with_next,
            "is_suspect": it.is_suspect, "failed_attempts": it.failed_attempts,
        })
    });
    let attempts = record.attempts.iter();
    let attempts: Vec<_> = attempts
        .map(|it| json!({"at": seconds(it.at), "status": it.status, "message": it.message}))
        .collect();
    let queues = explanation.queues.iter().map(|(account, queue)| {
        json!({"account": account.id.to_string(), "name": account.name, "waiting": queue.waiting, "leased": queue.leased})
    });
    json!({
        "id": record.summary.id.to_string(),
        "account": account.id.to_string(),
        "batch": record.batch_id.map(|id| id.to_string()),
        "model": model,
        "status": record.summary.state.status().as_str(),
        "created_at": seconds(record.summary.created_at),
        "expires_at": seconds(record.summary.expires_at),
        "waiting_for": waiting_for,
        "is_leased": explanation.is_leased,
        "place": place,
        "retry_at": retry_at.map(seconds),
        "attempts": attempts,
        "engines": explanation.engines.iter().map(shape_of_engine).collect::<Vec<_>>(),
        "accounts": queues.collect::<Vec<_>>(),
        "more_accounts": explanation.more_queues,
    })
}

fn shape_of_engine(report: &EngineReport) -> Value {
    let engine = &report.engine;
    json!({
        "name": engine.name, "node": report.node, "reported_at": seconds(report.reported_at),
        "is_driven": engine.is_driven, "in_flight": engine.in_flight, "max_concurrency": engine.max_concurrency,
        "is_paused": engine.pause.is_some(),
        "paused_until": engine.pause.as_ref().and_then(|pause| pause.until).map(seconds),
        "reason": engine.pause.as_ref().map(|pause| &pause.reason),
        "closed_until": engine.closed_until.map(seconds),
        "process": engine.process.map(|process| json!({
            "status": process.status.as_str(), "ready_at": process.ready_at.map(seconds),
        })),
        "models_out": engine.models_out.iter().map(|out| json!({
            "model": out.model, "until": out.until.map(seconds), "reason": out.reason,
            "is_over_budget": out.is_over_budget, "is_busy": out.is_busy,
        })).collect::<Vec<_>>(),
        "tokens_per_second": engine.rates.tokens_per_second, "cache_hit_percent": engine.rates.cache_hit_percent,
        "fifo_hit_percent": engine.prefix_cache.fifo_hit_percent, "saved_prompt_tokens": engine.prefix_cache.saved_tokens,
    })
}

fn sentence(reason: &WaitingReason) -> String {
    format!("the request {reason}")
}

fn describe(explanation: &Explanation) -> String {
    let Explanation { account, model, record, waiting, place, retry_at, .. } = explanation;
    let summary = &record.summary;
    let mut text = summary.id.to_string();
    let mut line = |name: &str, value: &str| {
        let _ = write!(text, "\n{name:<13}{value}");
    };
    line("status", summary.state.status().as_str());
    line("model", model);
    line("account", &format!("{} {}", account.id, text::escaped(&account.name)));
    if let Some(batch) = record.batch_id {
        line("batch", &batch.to_string());
    }
    line("created", &times::utc(seconds(summary.created_at)));
    line("expires", &times::utc(seconds(summary.expires_at)));
    if let RequestState::InProgress { in_progress_at } = summary.state {
        line("in progress", &times::utc(seconds(in_progress_at)));
    }
    if let Some(ended_at) = summary.state.ended_at() {
        line("ended", &times::utc(seconds(ended_at)));
    }
    for attempt in &record.attempts {
        let status = attempt.status.map_or_else(String::new, |status| format!("{status}: "));
        line("attempt", &format!("{} {status}{}", times::utc(seconds(attempt.at)), attempt.message));
    }
    if explanation.is_leased {
        line("leased", "it is with an engine, or about to be");
    }
    if let Some(reason) = waiting {
        line("waits", &sentence(reason));
        reason.until().into_iter().for_each(|at| line("until", &times::utc(seconds(at))));
        reason.words().into_iter().for_each(|words| line("reason", words));
    }
    retry_at.iter().for_each(|at| line("tried again", &times::utc(seconds(*at))));
    place.iter().flat_map(describe_place).for_each(|(name, value)| line(name, &value));
    explanation.engines.iter().for_each(|it| line("engine", &describe_engine(it)));
    for (account, queue) in &explanation.queues {
        let counts = format!("{} waiting, {} leased", queue.waiting, queue.leased);
        line("queue", &format!("{} {}: {counts}", account.id, text::escaped(&account.name)));
    }
    if explanation.more_queues > 0 {
        line("queue", &format!("{} more accounts", explanation.more_queues));
    }
    text
}

fn describe_place(place: &QueuePlace) -> Vec<(&'static str, String)> {
    let QueuePlace { waiting, waiting_before, cuts, shared_with_previous, shared_with_next, .. } = place;
    let mut lines =
        vec![("order", format!("{waiting_before} of {waiting} others of the account come before it"))];
    if let Some(count) = place.waiting_since_leased {
        lines.push(("sweep", format!("leased up to {count} places before it")));
    }
    lines.push((
        "prompt",
        format!("shares {shared_with_previous} of {cuts} cuts with the one before it, {shared_with_next} with the one after"),
    ));
    if place.is_suspect {
        lines.push(("suspect", "an engine may have died of it: it is tried apart if one dies again".into()));
    }
    lines
}

fn describe_engine(report: &EngineReport) -> String {
    let EngineReport { node, engine, .. } = report;
    // Hours that never begin have no time.
    let until = |at: Option<i64>| {
        at.filter(|at| *at < i64::MAX)
            .map_or_else(String::new, |at| format!(" until {}", times::utc(seconds(at))))
    };
    let is_running = engine.process.is_none_or(|process| process.is_running());
    let words = engine.process.map_or("", |process| process.words());
    let state = match (&engine.pause, engine.closed_until) {
        _ if !engine.is_driven => "driven by another node".to_owned(),
        (_, Some(at)) => format!("outside its hours{}", until(Some(at))),
        (Some(pause), None) => format!("paused{}: {}", until(pause.until), pause.reason),
        (None, None) if !is_running => match engine.process.and_then(|process| process.ready_at) {
            Some(at) => format!("{words}, ready about {}", times::utc(seconds(at))),
            None => words.to_owned(),
        },
        (None, None) => format!("{} of {} slots in use", engine.in_flight, engine.max_concurrency),
    };
    let tokens = engine.rates.tokens_per_second.map_or_else(String::new, |it| format!(", {it} tokens/s"));
    let cached = engine.rates.cache_hit_percent.map_or_else(String::new, |it| format!(", {it} % cached"));
    let fifo = engine.prefix_cache.fifo_hit_percent;
    let fifo = fifo.map_or_else(String::new, |it| format!(" ({it} % in order of arrival)"));
    let out = engine.models_out.iter().map(|out| {
        let reason = out.reason.as_ref().map_or_else(String::new, |reason| format!(": {reason}"));
        format!("; {} {}{}{reason}", out.model, out.state(), until(out.until))
    });
    format!("{} on {node}: {state}{tokens}{cached}{fifo}{}", engine.name, out.collect::<String>())
}
