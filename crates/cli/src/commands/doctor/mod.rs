//! `overnight doctor`: possible faults of this installation, with advice.

mod backups;
mod billing;
mod certificates;
mod console;
mod encryption;
mod engines;
mod folder;
mod leases;
mod metrics;
mod models;
mod object_store;
mod pauses;
mod service;
mod tls;
mod webhooks;

use overnight_app::store_options;
use overnight_config::Config;
use overnight_store::Store;
use serde::Serialize;
use serde_json::json;

use super::operator;
use crate::errors::{CliError, Exit};
use crate::globals::{Globals, refuse_closed};
use crate::output::{Output, Tone};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum State {
    Ok,
    Warn,
    Fail,
}

#[derive(Debug, Serialize)]
struct Finding {
    check: String,
    state: State,
    message: String,
    hint: Option<String>,
}

impl Finding {
    fn ok(check: impl Into<String>, message: impl Into<String>) -> Self {
        Self { check: check.into(), state: State::Ok, message: message.into(), hint: None }
    }

    fn add_if_ok(&mut self, words: &str) {
        if matches!(self.state, State::Ok) {
            self.message.push_str(words);
        }
    }

    fn warn(check: impl Into<String>, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { check: check.into(), state: State::Warn, message: message.into(), hint: Some(hint.into()) }
    }

    fn fail(check: impl Into<String>, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { check: check.into(), state: State::Fail, message: message.into(), hint: Some(hint.into()) }
    }
}

pub(crate) async fn run(globals: &Globals, output: &Output) -> Result<Exit, CliError> {
    let mut findings = match globals.load_config() {
        Ok(config) => match refuse_closed(&config) {
            Ok(()) => examine(globals, &config).await,
            Err(error) => {
                vec![Finding::fail("data folder", error.message(), error.hint().unwrap_or_default())]
            }
        },
        Err(error) => {
            let hint = "every setting stands in the manual, overnight.default.toml";
            vec![Finding::fail("settings", error.message(), hint)]
        }
    };
    // Commands in a hint must be about the same service.
    let command = format!("`{} ", globals.command());
    for hint in findings.iter_mut().filter_map(|finding| finding.hint.as_mut()) {
        *hint = hint.replace("`overnight ", &command);
    }
    report(&findings, output)
}

async fn examine(globals: &Globals, config: &Config) -> Vec<Finding> {
    let mut findings = Vec::new();
    let models: Vec<&str> = config.models.iter().map(|model| model.name.as_str()).collect();
    let message = format!("they can be used; models: {}", models.join(", "));
    findings.push(Finding::ok("settings", message));
    for warning in config.warnings() {
        findings.push(Finding::warn("settings", warning, "add the model to an engine's `models`"));
    }
    findings.extend(folder::check(&config.data_dir));
    // This opens the database, which makes the files private.
    findings.push(folder::clock(config).await);
    findings.extend(folder::database(config).await);
    findings.extend(folder::pages(config).await);
    findings.extend(models::retirements(config));
    findings.extend(folder::log(&config.data_dir));
    findings.extend(backups::check(config));
    findings.extend(encryption::check(config).await);
    findings.extend(object_store::check(config).await);
    findings.extend(leases::check(config).await);
    findings.extend(certificates::check(config));
    findings.extend(engines::check(config).await);
    findings.extend(pauses::check(config).await);
    findings.extend(billing::check(config));
    findings.extend(console::check(config).await);
    findings.extend(tls::check(config));
    findings.push(metrics::check(config));
    findings.extend(webhooks::check(globals, config).await);
    findings.push(service::check(globals, config).await);
    findings.extend(service::settings(config));
    findings
}

/// `None` if there is no database yet, or it cannot be opened, which the check `database` reports.
async fn open_database(config: &Config) -> Option<Store> {
    if operator::is_absent(config) {
        return None;
    }
    Store::open_to_read(&store_options(config)).await.ok()
}

fn report(findings: &[Finding], output: &Output) -> Result<Exit, CliError> {
    let is_well = findings.iter().all(|finding| finding.state != State::Fail);
    if output.is_json {
        output.object(&json!({"is_well": is_well, "checks": findings}))?;
    } else {
        for finding in findings {
            let (word, tone) = match finding.state {
                State::Ok => ("ok  ", Tone::Good),
                State::Warn => ("warn", Tone::Doubtful),
                State::Fail => ("fail", Tone::Bad),
            };
            output.line(&format!(
                "{}  {}: {}",
                output.set_off(word, tone),
                finding.check,
                finding.message
            ))?;
            if let Some(hint) = &finding.hint {
                output.line(&format!("      {hint}"))?;
            }
        }
    }
    Ok(if is_well { Exit::Done } else { Exit::Failed })
}
