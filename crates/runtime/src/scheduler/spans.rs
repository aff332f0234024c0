//! Trace spans of a request: its wait, its attempts, its end.

use std::borrow::Cow;
use std::sync::Arc;

use overnight_domain::answers::Completion;
use overnight_domain::endpoints::Endpoint;
use overnight_domain::ids::RequestId;
use overnight_domain::scheduler::{AttemptError, Lease};
use overnight_domain::traces::TraceContext;
use overnight_outgoing::traces::{Attribute, OpenSpan, SpanKind, Traces};
use overnight_store::queue::Prompt;

const REQUEST: &str = "overnight.request.id";

/// Records the wait since the request arrived, now that it is sent under `lease`.
pub(super) fn record_wait(traces: &Traces, prompt: &Prompt, lease: &Lease, model: &str) {
    let Some(trace) = prompt.trace else { return };
    let attributes: Vec<(_, Attribute)> = vec![
        (REQUEST, prompt.id.to_string().into()),
        ("gen_ai.request.model", model.to_owned().into()),
        ("overnight.lease.epoch", lease.epoch.into()),
    ];
    traces.record(trace, "wait", prompt.created_at, attributes, None);
}

/// Begins the span of an attempt; `None` if the request is not traced.
pub(super) fn begin_attempt(
    traces: &Arc<Traces>,
    prompt: &Prompt,
    model: &str,
    engine: &str,
) -> Option<OpenSpan> {
    let operation = match prompt.endpoint {
        Endpoint::ChatCompletions => "chat",
        Endpoint::Completions => "text_completion",
        Endpoint::Embeddings => "embeddings",
    };
    let mut span = traces.begin(prompt.trace?, format!("{operation} {model}"), SpanKind::Client)?;
    span.set("gen_ai.operation.name", operation);
    // The engine's API.
    span.set("gen_ai.provider.name", "openai");
    span.set("gen_ai.request.model", model.to_owned());
    span.set("overnight.engine.name", engine.to_owned());
    span.set(REQUEST, prompt.id.to_string());
    Some(span)
}

/// Ends the span of an attempt with the engine's counts, or the failure.
pub(super) fn end_attempt(mut span: OpenSpan, outcome: Result<&Completion, &AttemptError>) {
    let error = match outcome {
        Ok(completion) => {
            let usage = completion.usage;
            let number = |tokens: u64| i64::try_from(tokens).unwrap_or(i64::MAX);
            span.set("gen_ai.usage.input_tokens", number(usage.prompt_tokens));
            span.set("gen_ai.usage.output_tokens", number(usage.completion_tokens));
            if let Some(cached) = usage.cached_tokens {
                span.set("gen_ai.usage.cache_read.input_tokens", number(cached));
            }
            let reasons = finish_reasons(completion);
            if !reasons.is_empty() {
                span.set("gen_ai.response.finish_reasons", reasons);
            }
            None
        }
        Err(error) => {
            if let AttemptError::Status { code, .. } = error {
                span.set("http.response.status_code", i64::from(*code));
            }
            Some(error_type(error))
        }
    };
    span.end(error);
}

/// Records the write that ended a traced request, from its beginning until now.
pub(super) fn record_settle(
    traces: &Traces,
    (trace, request): (Option<TraceContext>, RequestId),
    begun_at: i64,
    is_held: bool,
    failure: Option<&'static str>,
) {
    let Some(trace) = trace else { return };
    let status = if failure.is_some() { "failed" } else { "completed" };
    let error = failure.or((!is_held).then_some("lease_lost"));
    let attributes = vec![(REQUEST, request.to_string().into()), ("overnight.request.status", status.into())];
    traces.record(trace, "settle", begun_at, attributes, error);
}

/// For each choice. An engine's own word is cut at the length of the longest known one.
fn finish_reasons(completion: &Completion) -> Vec<String> {
    let object = completion.body.as_json().to_object();
    let choices = object.and_then(|object| object.get("choices")?.elements());
    let reason = |choice: overnight_domain::json::Json<'_>| {
        let reason = choice.to_object()?.get("finish_reason")?.decode_string()?;
        Some(reason.chars().take(REASON_CHARS_MAX).collect())
    };
    choices.into_iter().flatten().take(CHOICES_MAX).filter_map(reason).collect()
}

const REASON_CHARS_MAX: usize = 32;
const CHOICES_MAX: usize = 16;

/// The kind of a failure; an engine's message may repeat the prompt, and is never in traces.
fn error_type(error: &AttemptError) -> Cow<'static, str> {
    match error {
        AttemptError::Status { code, .. } | AttemptError::UnlistedModel { code, .. } => {
            code.to_string().into()
        }
        AttemptError::Connect(_) => "connect".into(),
        AttemptError::Reset(_) => "connection_broken".into(),
        AttemptError::TimedOut(_) | AttemptError::TooSlow(_) => "timeout".into(),
        AttemptError::NotACompletion(_) | AttemptError::NoUsage(_) | AttemptError::BadUsage(_) => {
            "invalid_response".into()
        }
        AttemptError::Aborted(_) => "aborted".into(),
        AttemptError::TooLong(_) => "response_too_long".into(),
        AttemptError::LimitRefused => "output_limit_refused".into(),
        AttemptError::NotServed(..) => "not_served".into(),
    }
}
