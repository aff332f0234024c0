//! Where the log of the service goes.

use std::fs::File;
use std::io;
use std::sync::Mutex;

use overnight_server::config::{Config, LogFormat};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

/// Logs to standard error, as the settings say.
pub(crate) fn to_stderr(config: &Config, is_coloured: bool) {
    begin(config, is_coloured, io::stderr);
}

/// Logs to a file, as the settings say.
pub(crate) fn to_file(config: &Config, file: File) {
    begin(config, false, Mutex::new(file));
}

fn begin<W>(config: &Config, is_coloured: bool, writer: W)
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let level = config.log.as_str();
    // Below debug, what the libraries have to say is their own business.
    let filter = match level {
        "debug" | "trace" => level.to_owned(),
        _ => format!("{level},sqlx=warn,hyper=warn,h2=warn"),
    };
    let log = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new(filter))
        .with_ansi(is_coloured)
        .with_writer(writer);
    match config.log_format {
        LogFormat::Text => log.init(),
        LogFormat::Json => log.json().flatten_event(true).init(),
    }
}
