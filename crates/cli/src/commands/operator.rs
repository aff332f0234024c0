//! What operator commands work on: the store itself, beside a running service or without one.

use std::sync::Arc;

use overnight_server::app::{Services, store_options};
use overnight_server::clock::SystemClock;
use overnight_server::config::Database;
use overnight_server::ids::Ids;
use overnight_server::store::{DATABASE_FILE, Store};

use crate::errors::CliError;
use crate::globals::Globals;

/// Opens the store of the settings, which must exist.
pub(crate) async fn open(globals: &Globals) -> Result<Services, CliError> {
    let config = globals.load_config()?;
    if config.database == Database::Sqlite && !config.data_dir.join(DATABASE_FILE).exists() {
        let message = format!("{} holds no database", config.data_dir.display());
        return Err(CliError::unusable(message)
            .with_hint("say where it is with --data-dir; `overnight serve` makes it"));
    }
    open_or_make(globals).await
}

/// Opens the store of the settings; makes it where there is none.
pub(crate) async fn open_or_make(globals: &Globals) -> Result<Services, CliError> {
    let config = globals.load_config()?;
    let store = Store::open_beside(&store_options(&config)).await?;
    let (clock, ids) = (Arc::new(SystemClock), Arc::new(Ids::from_system()));
    Ok(Services::new(store, clock, ids, Arc::new(config)).await?)
}
