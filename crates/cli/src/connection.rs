//! The service that client commands call, and its key.

use std::path::{Path, PathBuf};

use overnight_app::bootstrap::KEY_FILE;
use overnight_client::Client;
use overnight_config::Config;

use crate::errors::{CliError, Trouble};
use crate::globals::Globals;
use crate::neighbours::{Neighbour, running_beside};
use crate::serve_file::{url_of_running, url_of_service};

/// The limit of other services in a message.
const NEIGHBOURS_SHOWN: usize = 3;

const MAKE_A_KEY: &str =
    "make a key with `overnight key create --account ACCOUNT` and set OVERNIGHT_API_KEY to it";

/// A client of the service that the flags, the environment or the data folder names, in this order.
pub(crate) fn connect(globals: &Globals) -> Result<Client, CliError> {
    Ok(Client::new(&find_url(globals)?, &find_key(globals)?)?)
}

pub(crate) fn find_url(globals: &Globals) -> Result<String, CliError> {
    if let Some(url) = named_url(globals) {
        return Ok(url);
    }
    Ok(url_by_settings(&globals.load_config()?))
}

pub(crate) fn named_url(globals: &Globals) -> Option<String> {
    globals.url.clone().or_else(|| variable("OVERNIGHT_URL"))
}

/// The running service of these settings, else its configured address.
fn url_by_settings(config: &Config) -> String {
    url_of_running(&config.data_dir).unwrap_or_else(|| match &config.public_url {
        Some(url) => url.as_str().to_owned(),
        None => url_of_service(config, config.listen),
    })
}

pub(crate) fn find_key(globals: &Globals) -> Result<String, CliError> {
    match variable("OVERNIGHT_API_KEY") {
        Some(key) => Ok(key),
        None => {
            let data_dir = globals.load_config()?.data_dir;
            read_key(&data_dir)?.ok_or_else(|| no_key(&data_dir))
        }
    }
}

fn no_key(data_dir: &Path) -> CliError {
    let folder = whole(data_dir);
    let message = format!("OVERNIGHT_API_KEY is not set, and {} holds no file {KEY_FILE}", folder.display());
    let error = CliError::unusable(message);
    // The service created its key together with the database.
    if url_of_running(data_dir).is_some() {
        return error.with_hint(MAKE_A_KEY);
    }
    error.with_hint(format!(
        "{}; the first `overnight serve` or `overnight run` makes that file",
        how_to_name_another(data_dir)
    ))
}

/// Adds to the error of a service that was not named where it was looked for, and how to name another.
pub(crate) fn explain(error: CliError, globals: &Globals) -> CliError {
    let (Some(trouble), None, Ok(config)) = (error.trouble(), named_url(globals), globals.load_config())
    else {
        return error;
    };
    let data_dir = &config.data_dir;
    if url_of_running(data_dir).is_some() {
        return error;
    }
    let (folder, url) = (whole(data_dir), url_by_settings(&config));
    let is_here = match trouble {
        Trouble::Unreachable => "start it with `overnight serve`, or",
        Trouble::UnknownKey => "what answers there is another's:",
    };
    let hint = format!(
        "no service runs over the data folder {}, so {url} of the settings was called; {is_here} {}",
        folder.display(),
        how_to_name_another(data_dir)
    );
    error.with_better_hint(hint)
}

/// How to name another service than that of `data_dir`, with the services that run.
fn how_to_name_another(data_dir: &Path) -> String {
    let services: Vec<String> = running_beside(data_dir)
        .into_iter()
        .take(NEIGHBOURS_SHOWN)
        .map(|Neighbour { data_dir, url, .. }| format!("`--data-dir {}` ({url})", data_dir.display()))
        .collect();
    match services.is_empty() {
        true => {
            "name another folder with --data-dir, or another address with --url or OVERNIGHT_URL".to_owned()
        }
        false => format!("name a service that runs: {}", services.join(", ")),
    }
}

/// The folder as an absolute path.
pub(crate) fn whole(folder: &Path) -> PathBuf {
    std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned())
}

/// The key of a service over `data_dir` on this machine: the one of its first start, else the environment's.
pub(crate) fn local_key(data_dir: &Path) -> Result<String, CliError> {
    read_key(data_dir)?.or_else(|| variable("OVERNIGHT_API_KEY")).ok_or_else(|| {
        CliError::unusable(format!(
            "{} is missing, and OVERNIGHT_API_KEY is not set",
            data_dir.join(KEY_FILE).display()
        ))
        .with_hint(MAKE_A_KEY)
    })
}

fn read_key(data_dir: &Path) -> Result<Option<String>, CliError> {
    let path = data_dir.join(KEY_FILE);
    match std::fs::read_to_string(&path) {
        Ok(text) => Ok(Some(text.trim().to_owned()).filter(|key| !key.is_empty())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(CliError::file(&path, &error)),
    }
}

/// An environment variable; an empty one counts as absent.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
}
