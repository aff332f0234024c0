//! The running service, asked as its clients ask it.

use overnight_client::Client;
use overnight_server::config::Config;

use super::Finding;
use crate::connection::{explain, find_key, find_url, named_url};
use crate::errors::CliError;
use crate::globals::Globals;
use crate::serve_file::url_of_running;

/// Whether it answers, and takes writes and the key.
pub(super) async fn check(globals: &Globals, config: &Config) -> Finding {
    let name = "service";
    let url = match find_url(globals) {
        Ok(url) => url,
        Err(error) => return Finding::fail(name, error.message(), "correct the address"),
    };
    let key = find_key(globals).unwrap_or_default();
    let asked = async { Ok::<_, CliError>(Client::new(&url, &key)?.with_retries(0).list_models().await?) };
    match asked.await {
        Ok(models) => Finding::ok(name, format!("answers at {url}; models: {}", models.len())),
        Err(error) if url_of_running(&config.data_dir).is_none() && named_url(globals).is_none() => {
            let error = explain(error, globals);
            Finding::warn(name, error.message(), error.hint().unwrap_or("start it with `overnight serve`"))
        }
        Err(error) => Finding::fail(name, error.message(), error.hint().unwrap_or("see its log")),
    }
}
