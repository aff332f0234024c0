//! The table of behaviours: names, sources, bytes on the wire, and its document.

use std::collections::BTreeSet;
use std::{env, fs};

use overnight_testkit::engine::{Behaviour, Fault, Outcome, SimConfig, SimEngine};

use super::client::Client;

const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/engine-behaviours.md");

#[test]
fn every_behaviour_has_a_name_of_its_own_and_a_url_as_its_source() {
    let mut names = BTreeSet::new();
    for Behaviour { name, source, says, .. } in Behaviour::all() {
        let is_kebab = name.bytes().all(|it| it == b'-' || it.is_ascii_lowercase() || it.is_ascii_digit());
        assert!(is_kebab && names.insert(name), "{name}");
        let path = source.strip_prefix("https://").and_then(|it| it.split_once('/'));
        assert!(path.is_some_and(|(host, path)| host.contains('.') && !path.is_empty()), "{name}: {source}");
        assert!(!source.contains(' ') && *says != Some(""), "{name}");
    }
}

#[tokio::test]
async fn a_marker_gives_the_answer_of_its_behaviour() {
    let engine = SimEngine::start(SimConfig::default()).unwrap();
    let client = Client::of(&engine);
    for Behaviour { name, fault, .. } in Behaviour::all() {
        let Fault::Canned(canned) = fault else { continue };
        let answer = client.ask(&format!("[[sim:behaviour={name}]]")).await.unwrap();
        assert_eq!((answer.status, &*answer.body), (canned.status, canned.body), "{name}");
        for (header, value) in canned.headers {
            assert_eq!(answer.headers[*header], *value, "{name}");
        }
    }
    let compressed = client.ask("[[sim:behaviour=gateway-gzip]]").await.unwrap();
    assert_eq!(compressed.body[..2], [0x1f, 0x8b]);
    assert_eq!(client.ask("[[sim:behaviour=vllm-refuses-max-completion-tokens]]").await.unwrap().status, 200);
    assert_eq!(client.ask("[[sim:behaviour=unknown]]").await.unwrap().status, 400);
}

#[test]
fn the_document_lists_every_behaviour() {
    let text = fs::read_to_string(DOCUMENT).unwrap();
    let begin = text.find("| Engine |").unwrap();
    if env::var_os("UPDATE").is_some() {
        fs::write(DOCUMENT, format!("{}{}", &text[..begin], table())).unwrap();
        return;
    }
    assert_eq!(&text[begin..], table(), "UPDATE=1 writes the table");
}

fn table() -> String {
    let mut table = String::from(
        "| Engine | Behaviour | Answer | Blamed | The client sees | Source |\n|---|---|---|---|---|---|\n",
    );
    for behaviour in Behaviour::all() {
        let Behaviour { engine, name, source, outcome, .. } = behaviour;
        table.push_str(&format!(
            "| {engine} | `{name}` | {} | {} | {} | [{}]({source}) |\n",
            answer(behaviour.fault),
            blamed(*outcome),
            seen(behaviour),
            short(source)
        ));
    }
    table
}

fn answer(fault: Fault) -> String {
    match fault {
        Fault::Canned(canned) | Fault::Gzipped(canned) | Fault::Refusal(_, canned) => {
            canned.status.to_string()
        }
        Fault::Hang => "none".to_owned(),
        Fault::TruncatedBody => "part of a body".to_owned(),
        Fault::ResetAfterHeaders => "reset after the headers".to_owned(),
        Fault::ResetBeforeHeaders => "reset".to_owned(),
        Fault::Die { .. } => "the engine dies".to_owned(),
        other => unreachable!("{other:?} has no name in the document"),
    }
}

fn blamed(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Completed | Outcome::CompletedWithWarning(_) | Outcome::CompletedByOtherName => "",
        Outcome::RetriedUncounted => "engine",
        Outcome::Waits(_) => "request, account, engine",
        Outcome::PausesIfEveryRequest => "engine or its account",
        Outcome::NoUsage
        | Outcome::Retried
        | Outcome::Unreadable
        | Outcome::TimedOut
        | Outcome::FailsAtOnce
        | Outcome::Unlucky => "request",
    }
}

fn seen(behaviour: &Behaviour) -> String {
    let outcome = match behaviour.outcome {
        Outcome::Completed => return "completed".to_owned(),
        Outcome::CompletedByOtherName => return "completed by the other name".to_owned(),
        Outcome::CompletedWithWarning(param) => return format!("completed, warning about `{param}`"),
        Outcome::NoUsage => "no usage".to_owned(),
        Outcome::Retried => "retried".to_owned(),
        Outcome::Unreadable => "unreadable".to_owned(),
        Outcome::TimedOut => "timed out".to_owned(),
        Outcome::RetriedUncounted => "retried, uncounted".to_owned(),
        Outcome::Waits(None) => "waits".to_owned(),
        Outcome::Waits(Some(ms)) => format!("waits {} s", ms as f64 / 1_000.0),
        Outcome::FailsAtOnce => "fails".to_owned(),
        Outcome::Unlucky => "retried 7 times".to_owned(),
        Outcome::PausesIfEveryRequest => "paused".to_owned(),
    };
    match behaviour.says {
        Some(words) => format!("{outcome}: {}", words.replace('\\', "\\\\").replace('|', "\\|")),
        None => outcome,
    }
}

/// The repository and number of an issue, or the repository or host of another source.
fn short(source: &str) -> String {
    let parts: Vec<_> = source.split('/').skip(2).collect();
    match parts[..] {
        ["github.com", owner, repository, "issues" | "pull", number] => {
            format!("{owner}/{repository}#{number}")
        }
        ["github.com", owner, repository, ..] => format!("{owner}/{repository}"),
        _ => parts[0].to_owned(),
    }
}
