//! Opens the store for operator commands, with or without a running service.

use std::sync::Arc;

use overnight_app::{Services, store_options};
use overnight_base::clock::SystemClock;
use overnight_base::ids::Ids;
use overnight_config::{Config, Database};
use overnight_store::{DATABASE_FILE, FolderLock, Store, StoreOptions, is_used};

use crate::errors::CliError;
use crate::globals::Globals;
use crate::serve_file;

/// Opens the store of the settings, which must exist.
pub(crate) async fn open(globals: &Globals) -> Result<Services, CliError> {
    refuse_absent(&globals.load_operator_config()?)?;
    open_or_make(globals).await
}

/// Like [`open`], for a command that reads: the schema is not changed.
pub(crate) async fn open_to_read(globals: &Globals) -> Result<Services, CliError> {
    let store = open_store_to_read(globals).await?;
    services(store, globals.load_operator_config()?).await
}

/// The store only, for a command that reads.
pub(crate) async fn open_store_to_read(globals: &Globals) -> Result<Store, CliError> {
    let config = globals.load_operator_config()?;
    refuse_absent(&config)?;
    Ok(Store::open_to_read(&options(&config)).await?)
}

/// Store options with this user's name for the audit log.
pub(crate) fn options(config: &Config) -> StoreOptions {
    StoreOptions { operator: Some(name()), ..store_options(config) }
}

/// The user's name from the environment, or the user's number.
fn name() -> String {
    let named =
        ["SUDO_USER", "USER", "LOGNAME"].into_iter().filter_map(|variable| std::env::var(variable).ok());
    let fits = |name: &String| !name.is_empty() && name.len() <= 64 && !name.contains(char::is_control);
    named.into_iter().find(fits).unwrap_or_else(|| format!("uid {}", rustix::process::getuid().as_raw()))
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

/// If the service does not create a database in this folder, it has another one.
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

pub(crate) fn is_absent(config: &Config) -> bool {
    config.database == Database::Sqlite && !config.data_dir.join(DATABASE_FILE).exists()
}

/// Opens the store of the settings. Creates it if there is none and no service holds the folder.
pub(crate) async fn open_or_make(globals: &Globals) -> Result<Services, CliError> {
    let config = globals.load_operator_config()?;
    refuse_another(&config)?;
    let store = Store::open_beside(&options(&config)).await?;
    services(store, config).await
}

async fn services(store: Store, mut config: Config) -> Result<Services, CliError> {
    // A running service may have another port than the settings, if the system chose it.
    if let Some(address) = serve_file::address_of_running(&config.data_dir) {
        config.listen = address;
    }
    let (clock, ids) = (Arc::new(SystemClock), Arc::new(Ids::from_system()));
    Ok(Services::new(store, clock, ids, Arc::new(config)).await?)
}
