//! `overnight serve`: runs the service until it is stopped.

use std::path::Path;

use clap::Args;
use overnight_config::{NoConsole, Reloaded};
use overnight_server::service::Service;
use overnight_store::{FolderLock, StoreError};
use serde_json::json;

use crate::errors::{CliError, Exit};
use crate::globals::Globals;
use crate::interrupt::{Hangups, Interrupt};
use crate::output::Output;
use crate::serve_file::{ServeFile, url_of_service};
use crate::settings_file::ReloadOutcome;
use crate::{logging, service_manager, taken_port};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The address and port to serve at [default: 127.0.0.1:8080].
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// Which part of the work to do, on a PostgreSQL [default: all].
    #[arg(long, value_name = "ROLE", value_parser = ["all", "api", "scheduler"])]
    role: Option<String>,
}

pub(crate) async fn run(arguments: Arguments, globals: &Globals, output: &Output) -> Result<Exit, CliError> {
    let Arguments { listen, role } = arguments;
    let flags = [("listen", listen), ("role", role)];
    let flags = flags.into_iter().filter_map(|(path, value)| Some((path.to_owned(), value?)));
    let flags: Vec<_> = flags.collect();
    let settings = globals.settings_file();
    let config = globals.config_with(flags.clone())?;
    logging::to_stderr(&config, output.is_coloured());
    config.warnings().iter().for_each(|warning| tracing::warn!("{warning}"));
    raise_open_files(config.connections.max);
    let data_dir = config.data_dir.clone();
    let no_console = config.console_origin().err().filter(|why| *why == NoConsole::Insecure);
    refuse_second(&data_dir)?;
    let interrupt = Interrupt::listen()?;
    let mut hangups = Hangups::listen()?;
    let address = config.listen;
    let started = Service::start(config).await;
    let service = started.map_err(|error| taken_port::explain(error, &data_dir, address))?;
    let url = url_of_service(&service.services().config(), service.address());
    let mut file = ServeFile::write(&data_dir, service.address(), &url, Some(settings))?;
    tell(&service, &url, output);
    if let Some(why) = no_console {
        output.note(&format!("there is no console. {}", why.reason()));
    }
    service_manager::ready();
    // Signals are also handled during a reload.
    let failure = tokio::select! {
        () = interrupt.raised() => None,
        failure = service.failed() => Some(failure),
        () = reload_at_hangups(&mut hangups, &service, globals, &flags, &mut file) => None,
    };
    drop(file);
    stop(service).await;
    failure.map_or(Ok(Exit::Done), |failure| Err(CliError::broken(&failure)))
}

/// Raises the limit of open files to what the system allows, and warns if that is below what the connections may need.
fn raise_open_files(connections: usize) {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    /// Beyond the connections of clients: docs/limits.md#health.
    const BESIDES: u64 = 292;
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, ..limit };
    let allowed = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => limit.maximum,
        Err(_) => limit.current,
    };
    let needed = connections as u64 + BESIDES;
    if let Some(allowed) = allowed.filter(|allowed| *allowed < needed) {
        tracing::warn!(
            "this process may open {allowed} files, and {connections} connections need {needed}: raise the limit (`ulimit -Hn`), or lower \
             `limits.connections`"
        );
    }
}

async fn stop(service: Service) {
    service_manager::stopping();
    tracing::info!("stopping; a second signal stops at once");
    service.shutdown().await;
    tracing::info!("stopped");
}

/// Reloads the settings on each signal; never ends.
async fn reload_at_hangups(
    hangups: &mut Hangups,
    service: &Service,
    globals: &Globals,
    flags: &[(String, String)],
    file: &mut ServeFile,
) {
    loop {
        hangups.next().await;
        reload(service, globals, flags, file).await;
    }
}

/// Reloads the settings. If they are unusable, the previous settings stay in effect, and the log gives the reason.
async fn reload(service: &Service, globals: &Globals, flags: &[(String, String)], file: &mut ServeFile) {
    service_manager::reloading();
    let settings = globals.settings_file();
    let outcome = match globals.config_with(flags.to_vec()) {
        Ok(config) => service.reload(config).await.map_err(CliError::from),
        Err(error) => Err(error),
    };
    log(&outcome);
    if let Err(error) = file.note_reload(settings, ReloadOutcome::of(&outcome)) {
        tracing::warn!("how the reload went was not noted: {}", error.message());
    }
    service_manager::ready();
}

fn log(outcome: &Result<Reloaded, CliError>) {
    match outcome {
        Ok(Reloaded { config, changed, needs_restart }) => {
            tracing::info!(?changed, ?needs_restart, "settings loaded again");
            config.warnings().iter().for_each(|warning| tracing::warn!("{warning}"));
        }
        Err(error) => tracing::error!("settings not loaded; those of before hold: {}", error.message()),
    }
}

/// Names the process that already serves the folder, before a conflict of ports hides it.
fn refuse_second(data_dir: &Path) -> Result<(), CliError> {
    match FolderLock::holder(data_dir) {
        Some(pid) => Err(StoreError::Locked { folder: data_dir.display().to_string(), pid }.into()),
        None => Ok(()),
    }
}

/// Prints the address, and the keys that the first start created. The service runs even if this cannot be written.
fn tell(service: &Service, url: &str, output: &Output) {
    if let Err(error) = print(service, url, output) {
        tracing::warn!("the address was not printed: {}", error.message());
    }
}

fn print(service: &Service, url: &str, output: &Output) -> Result<(), CliError> {
    let made = service.bootstrapped();
    if output.is_json {
        let key_path = made.map(|made| made.key_path.display().to_string());
        let link = service.sign_in_link().map(|link| &link.url);
        let told = json!({"url": url, "pid": std::process::id(), "key_file": key_path, "sign_in_url": link});
        return output.line(&told.to_string());
    }
    output.note(&format!("serving at {url}"));
    if let Some(made) = made {
        output.note(&format!(
            "made the account {} and its key, in {}",
            made.account,
            made.key_path.display()
        ));
    }
    if let Some(link) = service.sign_in_link() {
        output.note(&format!("sign in to the console, once: {}", link.url));
    }
    Ok(())
}
