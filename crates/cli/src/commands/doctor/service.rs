//! Checks the running service, called as its clients do, and the settings that it has loaded.

use overnight_client::Client;
use overnight_config::Config;

use super::Finding;
use crate::connection::{explain, find_key, find_url, named_url};
use crate::errors::CliError;
use crate::globals::Globals;
use crate::serve_file::{settings_of_running, url_of_running};
use crate::settings_file::ReloadOutcome;
use crate::times;

/// The time limit of its list of models.
const ANSWER_MS: i64 = 10_000;

/// Whether it answers, is ready, and accepts the key.
pub(super) async fn check(globals: &Globals, config: &Config) -> Finding {
    let name = "service";
    let url = match find_url(globals) {
        Ok(url) => url,
        Err(error) => return Finding::fail(name, error.message(), "correct the address"),
    };
    let key = find_key(globals).unwrap_or_default();
    let asked = async {
        let client = Client::new(&url, &key)?.with_retries(0);
        let models = client.list_models().await?;
        Ok::<_, CliError>((models, client.check_ready().await))
    };
    let answer = tokio::select! {
        answer = asked => answer,
        () = times::pause(ANSWER_MS) => {
            let message = format!("{url} gives no answer within {}", times::duration(ANSWER_MS));
            return Finding::fail(name, message, "see its log; end a process that hangs, and start it again");
        }
    };
    match answer {
        Ok((models, Ok(()))) => Finding::ok(name, format!("answers at {url}; models: {}", models.len())),
        Ok((_, Err(error))) => Finding::fail(
            name,
            format!("{url} is not ready: {error}"),
            "see its log, which names the part; restart it",
        ),
        Err(error) if url_of_running(&config.data_dir).is_none() && named_url(globals).is_none() => {
            let error = explain(error, globals);
            Finding::warn(name, error.message(), error.hint().unwrap_or("start it with `overnight serve`"))
        }
        Err(error) => Finding::fail(name, error.message(), error.hint().unwrap_or("see its log")),
    }
}

/// Settings that the running service has not loaded, or does not apply.
pub(super) fn settings(config: &Config) -> Vec<Finding> {
    let name = "loaded settings";
    let Some((_, Some(settings))) = settings_of_running(&config.data_dir) else { return Vec::new() };
    let mut findings = Vec::new();
    if let Some(path) = settings.file.changed() {
        let message = format!("{} has changed since the service read it", path.display());
        findings.push(Finding::warn(name, message, "run `overnight reload`"));
    }
    match settings.last {
        Some(ReloadOutcome::Refused(why)) => {
            let message = format!("the service goes on with the settings of before: {why}");
            findings.push(Finding::warn(name, message, "correct them and run `overnight reload`"));
        }
        Some(ReloadOutcome::Loaded { needs_restart, .. }) if !needs_restart.is_empty() => {
            let message =
                format!("the service does not go by changed settings: {}", needs_restart.join(", "));
            findings.push(Finding::warn(name, message, "restart the service"));
        }
        _ => {}
    }
    findings
}
