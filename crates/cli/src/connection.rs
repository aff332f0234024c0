//! Which service the client commands call, and with which key.

use std::path::Path;

use overnight_client::Client;
use overnight_server::app::bootstrap::KEY_FILE;
use overnight_server::config::Config;

use crate::errors::CliError;
use crate::globals::Globals;
use crate::serve_file::{url_of, url_of_running};

/// A client of the service that the flags, the environment and the data folder name, in this order.
pub(crate) fn connect(globals: &Globals) -> Result<Client, CliError> {
    Ok(Client::new(&find_url(globals)?, &find_key(globals)?)?)
}

/// Where the service is.
pub(crate) fn find_url(globals: &Globals) -> Result<String, CliError> {
    if let Some(url) = named_url(globals) {
        return Ok(url);
    }
    Ok(url_by_settings(&globals.load_config()?))
}

/// The URL that the flags or the environment name.
pub(crate) fn named_url(globals: &Globals) -> Option<String> {
    globals.url.clone().or_else(|| variable("OVERNIGHT_URL"))
}

/// Where the service of these settings is: the running one, else where it would be.
fn url_by_settings(config: &Config) -> String {
    url_of_running(&config.data_dir).unwrap_or_else(|| match &config.public_url {
        Some(url) => url.as_str().to_owned(),
        None => url_of(config.listen),
    })
}

/// The key for it.
pub(crate) fn find_key(globals: &Globals) -> Result<String, CliError> {
    match variable("OVERNIGHT_API_KEY") {
        Some(key) => Ok(key),
        None => read_key(&globals.load_config()?.data_dir)?.ok_or_else(|| no_key(globals)),
    }
}

fn no_key(globals: &Globals) -> CliError {
    let folder = globals.data_dir.as_deref().unwrap_or("the data folder");
    CliError::unusable(format!("OVERNIGHT_API_KEY is not set, and {folder} holds no file {KEY_FILE}"))
        .with_hint("the first `overnight serve` or `overnight run` makes that file; `overnight key create` makes a key")
}

/// The key for a service over `data_dir` on this machine: the one of its first start, else that of the environment.
pub(crate) fn local_key(data_dir: &Path) -> Result<String, CliError> {
    read_key(data_dir)?.or_else(|| variable("OVERNIGHT_API_KEY")).ok_or_else(|| {
        CliError::unusable(format!(
            "{} is missing, and OVERNIGHT_API_KEY is not set",
            data_dir.join(KEY_FILE).display()
        ))
        .with_hint("make a key with `overnight key create --account ACCOUNT` and set OVERNIGHT_API_KEY to it")
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

/// An environment variable; an empty one is as absent.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
}
