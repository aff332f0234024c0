//! Metrics of engines.

use metrics::Unit;

use super::MetricKind::{Counter, Gauge, Histogram};
use super::{ENGINE, ENGINE_START, Labels, Metric, RUN_LENGTH, metric};

pub(super) const METRICS: &[Metric] = &[
    metric(
        "overnight_engine_prompt_tokens_total",
        Counter,
        Unit::Count,
        ENGINE,
        "Tokens of prompts that the engine completed.",
    ),
    metric(
        "overnight_engine_cached_prompt_tokens_total",
        Counter,
        Unit::Count,
        ENGINE,
        "Of the tokens of prompts, those that the engine found in its prefix cache.",
    ),
    metric(
        "overnight_engine_completion_tokens_total",
        Counter,
        Unit::Count,
        ENGINE,
        "Tokens of the engine's completions.",
    ),
    metric(
        "overnight_engine_prompt_tokens_saved_by_order",
        Gauge,
        Unit::Count,
        ENGINE,
        "Tokens of prompts that the order of the queue saved since the process began, an estimate.",
    ),
    metric(
        RUN_LENGTH,
        Histogram,
        Unit::Count,
        ENGINE,
        "Requests leased together for the engine. A run has at most 256, and is as short as the free slots of the engine need.",
    ),
    metric(
        "overnight_engine_ignored_fields_total",
        Counter,
        Unit::Count,
        Labels::OfEngine(
            "field",
            &["n", "max_tokens", "max_completion_tokens", "logprobs", "response_format", "tool_choice"],
        ),
        "Completions that show a field that the engine did not honour, by field.",
    ),
    metric(
        "overnight_engine_odd_answers_total",
        Counter,
        Unit::Count,
        Labels::OfEngine("part", &["json", "usage", "finish_reason", "content", "tool_calls"]),
        "Answers that were taken with a warning, by the part that is odd.",
    ),
    metric(
        "overnight_engine_requests_in_flight",
        Gauge,
        Unit::Count,
        ENGINE,
        "Requests in flight at the engine.",
    ),
    metric(
        "overnight_engine_concurrency_limit",
        Gauge,
        Unit::Count,
        ENGINE,
        "How many requests there may be in flight, now.",
    ),
    metric(
        "overnight_engine_driven",
        Gauge,
        Unit::Count,
        ENGINE,
        "1 if this node drives the engine, else 0.",
    ),
    metric(
        "overnight_engine_paused",
        Gauge,
        Unit::Count,
        ENGINE,
        "1 while the engine is paused: its probe failed, and nothing is sent to it until one is answered.",
    ),
    metric("overnight_engine_open", Gauge, Unit::Count, ENGINE, "1 within the hours of the engine, else 0."),
    metric(
        "overnight_engine_running",
        Gauge,
        Unit::Count,
        ENGINE,
        "1 while the engine runs, 0 while one that the service starts is stopped, starts or stops, or has another model loaded.",
    ),
    metric(
        "overnight_engine_starts_total",
        Counter,
        Unit::Count,
        Labels::OfEngine("outcome", &["ready", "failed", "stopped"]),
        "Starts of an engine that the service starts, and loads of a model that takes turns, by outcome.",
    ),
    metric(
        ENGINE_START,
        Histogram,
        Unit::Seconds,
        ENGINE,
        "Seconds from the start of such an engine to its readiness.",
    ),
    metric(
        "overnight_engine_rate_limited",
        Gauge,
        Unit::Count,
        ENGINE,
        "1 while a rate limit of the engine holds requests back that wait for it, else 0.",
    ),
    metric(
        "overnight_engine_over_budget",
        Gauge,
        Unit::Count,
        ENGINE,
        "1 while the daily budget of the engine has no room for what waits for it, else 0.",
    ),
    metric(
        "overnight_engine_busy",
        Gauge,
        Unit::Count,
        ENGINE,
        "1 while the engine refuses requests because it has no room (429 or 503) and completes none, else 0.",
    ),
    metric(
        "overnight_engine_budget_tokens_used",
        Gauge,
        Unit::Count,
        ENGINE,
        "Tokens of its daily budget that the engine used today, those in flight as estimated. Shown by the node that drives it.",
    ),
    metric(
        "overnight_engine_budget_requests_used",
        Gauge,
        Unit::Count,
        ENGINE,
        "Requests of its daily budget that the engine used today, those in flight too. Shown by the node that drives it.",
    ),
];
