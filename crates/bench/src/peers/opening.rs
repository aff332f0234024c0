//! A service's store, opened without the service.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use overnight_app::{Services, bootstrap, store_options};
use overnight_base::clock::{SharedClock, SystemClock};
use overnight_base::ids::Ids;
use overnight_config::{Config, Sources};
use overnight_store::{Durability, Store, StoreOptions};

/// Opens the store that the settings name, with what the first start makes. Its commits may wait for the disk or not.
pub(super) async fn open(config: PathBuf, durability: Durability) -> io::Result<Services> {
    let sources = Sources { file: Some(config), ..Sources::default() };
    let config = Arc::new(Config::load(&sources).map_err(io::Error::other)?);
    let clock: SharedClock = Arc::new(SystemClock);
    let options = StoreOptions { durability, ..store_options(&config) };
    let store = Store::open(&options, Arc::clone(&clock)).await.map_err(io::Error::other)?;
    let ids = Arc::new(Ids::from_system());
    let services = Services::new(store, clock, ids, config).await.map_err(io::Error::other)?;
    bootstrap::run(&services).await.map_err(io::Error::other)?;
    Ok(services)
}
