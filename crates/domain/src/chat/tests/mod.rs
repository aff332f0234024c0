mod accepted;
mod choices;
mod completions;
mod engine_bodies;
mod media;
mod refusals;
mod tools;
mod warnings;

use super::ChatBody;
use crate::faults::Faults;
use crate::json::minimize;
use crate::limits::Limits;

fn parse(body: &str, limits: &Limits) -> Result<ChatBody, Faults> {
    let text = minimize(body.as_bytes(), 1).expect("well-formed");
    ChatBody::parse(text.as_json(), "request_body", limits)
}

fn accept(body: &str) -> ChatBody {
    parse(body, &Limits::default()).expect(body)
}

/// The faults of `body` as `param code`, in the order found.
fn faults_of(body: &str) -> Vec<String> {
    let faults = parse(body, &Limits::default()).expect_err(body);
    faults.kept().iter().map(|fault| format!("{} {}", fault.param, fault.code)).collect()
}

fn with(fields: &str) -> String {
    format!(r#"{{"model":"m","messages":[{{"role":"user","content":"hi"}}],{fields}}}"#)
}

/// A body whose one user message has `part` as its content.
fn with_part(part: &str) -> String {
    format!(r#"{{"model":"m","messages":[{{"role":"user","content":[{part}]}}]}}"#)
}
