//! What operator commands work on: the store itself, beside a running service or without one.

use std::sync::Arc;

use overnight_base::clock::SystemClock;
use overnight_base::ids::Ids;
use overnight_server::app::{Services, store_options};
use overnight_server::config::{Config, Database};
use overnight_server::store::{DATABASE_FILE, FolderLock, Store, StoreOptions, is_used};

use crate::errors::CliError;
use crate::globals::Globals;
use crate::serve_file;

/// Opens the store of the settings, which must exist.
pub(crate) async fn open(globals: &Globals) -> Result<Services, CliError> {
    refuse_absent(&globals.load_operator_config()?)?;
    open_or_make(globals).await
}

/// As [`open`], for a command that reads: the schema stays as it is.
pub(crate) async fn open_to_read(globals: &Globals) -> Result<Services, CliError> {
    let store = open_store_to_read(globals).await?;
    services(store, globals.load_operator_config()?).await
}

/// The store alone, for a command that reads.
pub(crate) async fn open_store_to_read(globals: &Globals) -> Result<Store, CliError> {
    let config = globals.load_operator_config()?;
    refuse_absent(&config)?;
    Ok(Store::open_to_read(&options(&config)).await?)
}

/// How this command opens the store of these settings: the audit log names who runs it.
pub(crate) fn options(config: &Config) -> StoreOptions {
    StoreOptions { operator: Some(name()), ..store_options(config) }
}

/// What the system calls the user who runs this command, as far as the environment says; the number of the user where it does not.
fn name() -> String {
    let named =
        ["SUDO_USER", "USER", "LOGNAME"].into_iter().filter_map(|variable| std::env::var(variable).ok());
    let fits = |name: &String| !name.is_empty() && name.len() <= 64 && !name.contains(char::is_control);
    named.into_iter().find(fits).unwrap_or_else(user_number)
}

#[cfg(unix)]
fn user_number() -> String {
    format!("uid {}", rustix::process::getuid().as_raw())
}

#[cfg(not(unix))]
fn user_number() -> String {
    "unknown".to_owned()
}

fn refuse_absent(config: &Config) -> Result<(), CliError> {
    refuse_another(config)?;
    if is_absent(config) && !is_used(&config.data_dir) {
        let message = format!("{} holds no database", config.data_dir.display());
        return Err(CliError::unusable(message)
            .with_hint("say where it is with --data-dir; `overnight serve` makes it"));
    }
    Ok(())
}

/// A service that makes no database in its folder has another one.
fn refuse_another(config: &Config) -> Result<(), CliError> {
    let holder = FolderLock::holder(&config.data_dir).filter(|_| is_absent(config));
    holder.map_or(Ok(()), |pid| {
        let message = format!(
            "process {pid} serves {}, which holds no database: it uses another",
            config.data_dir.display()
        );
        Err(CliError::unusable(message)
            .with_hint("say which with --database-url, or name its settings with --config"))
    })
}

/// Whether there is no database yet.
pub(crate) fn is_absent(config: &Config) -> bool {
    config.database == Database::Sqlite && !config.data_dir.join(DATABASE_FILE).exists()
}

/// Opens the store of the settings; makes it where there is none and nothing serves the folder.
pub(crate) async fn open_or_make(globals: &Globals) -> Result<Services, CliError> {
    let config = globals.load_operator_config()?;
    refuse_another(&config)?;
    let store = Store::open_beside(&options(&config)).await?;
    services(store, config).await
}

async fn services(store: Store, mut config: Config) -> Result<Services, CliError> {
    // A service that let the system choose its port is reached there, and not where the settings say.
    if let Some(address) = serve_file::address_of_running(&config.data_dir) {
        config.listen = address;
    }
    let (clock, ids) = (Arc::new(SystemClock), Arc::new(Ids::from_system()));
    Ok(Services::new(store, clock, ids, Arc::new(config)).await?)
}
