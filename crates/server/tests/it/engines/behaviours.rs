//! Every behaviour of real engines that the test engine simulates, over HTTP.

use std::sync::Arc;

use overnight_domain::answers::Completion;
use overnight_domain::endpoints::Endpoint;
use overnight_domain::json::minimize;
use overnight_domain::scheduler::{AttemptError, ProbeOutcome};
use overnight_engine_clients::{Asked, EngineClient};
use overnight_testkit::engine::{Behaviour, Fault, FaultRates, Outcome, SimEngine};
use serde_json::{Value, json};

use super::{asked, client_of, impatient_client_of, send, simulate};

type Attempt = Result<Completion, AttemptError>;

#[tokio::test]
async fn every_behaviour_has_its_outcome_and_keeps_the_engines_message() {
    let mut wrong = Vec::new();
    for behaviour in Behaviour::all() {
        if let Err(why) = check(behaviour).await {
            wrong.push(format!("{}: {why}", behaviour.name));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

async fn check(behaviour: &Behaviour) -> Result<(), String> {
    let engine = simulate(|_| {});
    let client = match behaviour.outcome {
        Outcome::TimedOut => impatient_client_of(&engine),
        _ => client_of(&engine),
    };
    let body = body_for(behaviour);
    let attempt = send(&client, &body).await;
    let text = text_of(&attempt);
    if !is_required(behaviour.outcome, &attempt) {
        return Err(format!("{:?} is required, not {attempt:?}", behaviour.outcome));
    }
    if let Some(words) = behaviour.says.filter(|words| !text.contains(words)) {
        return Err(format!("`{words}` is not in `{text}`"));
    }
    if attempt.is_err() && text.contains(char::is_control) {
        return Err(format!("{text:?} is not one line"));
    }
    match behaviour.outcome {
        Outcome::CompletedByOtherName => match engine.attempts_of(prompt_of(&body)) {
            2 => Ok(()),
            calls => Err(format!("{calls} calls")),
        },
        Outcome::NoUsage => check_without_price(&client, &body).await,
        Outcome::PausesIfEveryRequest => check_probe(&engine, &client, behaviour).await,
        _ => Ok(()),
    }
}

/// A request for the behaviour, with the field that the engine refuses.
fn body_for(behaviour: &Behaviour) -> Value {
    let prompt = format!("[[sim:behaviour={}]]", behaviour.name);
    let mut body = json!({"model": "ours", "messages": [{"role": "user", "content": prompt}]});
    if let Fault::Refusal(field, _) = behaviour.fault {
        body[field] = 16.into();
    }
    body
}

fn prompt_of(body: &Value) -> &str {
    body["messages"][0]["content"].as_str().unwrap()
}

fn is_required(outcome: Outcome, attempt: &Attempt) -> bool {
    use AttemptError::{Aborted, NoUsage, NotACompletion, Reset, Status, TimedOut};
    match (outcome, attempt) {
        (Outcome::Completed | Outcome::CompletedByOtherName, Ok(completion)) => {
            completion.warnings.is_empty()
        }
        (Outcome::CompletedWithWarning(param), Ok(completion)) => has_warning(completion, param),
        (Outcome::Waits(ms), Err(Status { code, message, retry_after_ms })) => {
            by_status(*code, message) == "waits" && *retry_after_ms == ms
        }
        (Outcome::FailsAtOnce | Outcome::PausesIfEveryRequest, Err(Status { code, message, .. })) => {
            by_status(*code, message) == "fails"
        }
        (Outcome::Retried, Err(Status { code, message, .. })) => by_status(*code, message) == "is retried",
        // The scheduler's table has these words.
        (Outcome::Unlucky, Err(Status { code, .. })) => *code == 400,
        (Outcome::Retried, Err(Reset(_)))
        | (Outcome::NoUsage, Err(NoUsage(_)))
        | (Outcome::Unreadable, Err(NotACompletion(_)))
        | (Outcome::TimedOut, Err(TimedOut(_)))
        | (Outcome::RetriedUncounted, Err(Aborted(_))) => true,
        _ => false,
    }
}

/// The meaning of a status for a request, if the engine works.
fn by_status(code: u16, message: &str) -> &'static str {
    match code {
        429 if message.starts_with("Request too large for ") => "fails",
        429 | 503 => "waits",
        400 | 413 | 422 => "fails",
        401..=404 | 407..=409 | 423..=425 | 449 | 498 | 499 => "is retried",
        405..=499 | 501 => "fails",
        _ => "is retried",
    }
}

fn has_warning(completion: &Completion, param: &str) -> bool {
    completion.warnings.iter().map(|warning| warning.param).eq([param])
}

/// All text of an attempt that the client can read.
fn text_of(attempt: &Attempt) -> String {
    match attempt {
        Ok(completion) => {
            let warnings = completion.warnings.iter().map(|warning| warning.message.as_str());
            [completion.body.as_str()].into_iter().chain(warnings).collect::<Vec<_>>().join("\n")
        }
        Err(AttemptError::LimitRefused) => String::new(),
        Err(
            AttemptError::Connect(message)
            | AttemptError::Reset(message)
            | AttemptError::TimedOut(message)
            | AttemptError::TooSlow(message)
            | AttemptError::Status { message, .. }
            | AttemptError::UnlistedModel { message, .. }
            | AttemptError::NotServed(_, message)
            | AttemptError::NotACompletion(message)
            | AttemptError::Aborted(message)
            | AttemptError::TooLong(message)
            | AttemptError::NoUsage(message)
            | AttemptError::BadUsage(message),
        ) => message.clone(),
    }
}

/// A model without a price does not need `usage`.
async fn check_without_price(client: &Arc<EngineClient>, body: &Value) -> Result<(), String> {
    let body = minimize(body.to_string().as_bytes(), 0).unwrap();
    let free = Asked { is_charged: false, ..asked(Endpoint::ChatCompletions, body.as_json()) };
    match client.complete(free).await {
        Ok(completion) if completion.warnings.iter().any(|it| it.param == "result_body.usage") => Ok(()),
        attempt => Err(format!("without a price: {attempt:?}")),
    }
}

/// If every request is refused, so is the probe, with the same message.
async fn check_probe(
    engine: &SimEngine,
    client: &Arc<EngineClient>,
    behaviour: &Behaviour,
) -> Result<(), String> {
    engine.tune(|tunables| tunables.faults = FaultRates::none().with(behaviour.fault, 1.0));
    let words = behaviour.says.unwrap_or_default();
    match client.probe("ours", true).await {
        ProbeOutcome::Refused { message, .. } if message.contains(words) => Ok(()),
        outcome => Err(format!("the probe: {outcome:?}")),
    }
}
