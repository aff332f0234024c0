//! The target of the service's log.

mod json;

use std::fs::File;
use std::io;
use std::sync::Arc;

use overnight_base::log_lines::LogLines;
use overnight_config::{Config, LogFormat};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::format::JsonFields;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use self::json::JsonLine;

pub(crate) fn to_stderr(config: &Config, is_coloured: bool) {
    begin(config, is_coloured, move || LogLines { writer: io::stderr(), is_coloured });
}

pub(crate) fn to_file(config: &Config, file: File) {
    let file = Arc::new(file);
    begin(config, false, move || LogLines { writer: Arc::clone(&file), is_coloured: false });
}

fn begin<W>(config: &Config, is_coloured: bool, writer: W)
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let level = config.log.as_str().parse().unwrap_or(LevelFilter::INFO);
    let mut filter = Targets::new().with_default(level);
    // At information level and below, libraries log messages on which operators cannot act.
    if level < LevelFilter::TRACE {
        filter = filter
            .with_targets(["sqlx", "hyper", "h2"].map(|library| (library, level.min(LevelFilter::WARN))));
    }
    let log = tracing_subscriber::fmt().with_max_level(level).with_ansi(is_coloured).with_writer(writer);
    // The library would print its own faults to standard error, and panic if that fails.
    let log = log.log_internal_errors(false);
    match config.log_format {
        LogFormat::Text => log.finish().with(filter).init(),
        LogFormat::Json => {
            let log = log.fmt_fields(JsonFields::new()).event_format(JsonLine);
            log.finish().with(filter).init();
        }
    }
}
