//! Whether the object store takes, gives and deletes what it is asked to.

use overnight_server::app::object_store_options;
use overnight_server::config::{Config, ObjectStoreConfig};
use overnight_server::object_store::ObjectStore;

use super::Finding;

const CHECK: &str = "object store";

/// `None` where all bodies are in the database.
pub(super) async fn check(config: &Config) -> Option<Finding> {
    let object_store = config.object_store.as_ref()?;
    let ObjectStoreConfig { url, enabled, .. } = object_store;
    let probed = match ObjectStore::open(&object_store_options(object_store)) {
        Ok(store) => Box::pin(store.probe()).await,
        Err(error) => Err(error),
    };
    Some(match probed {
        Ok(()) => {
            let state = if *enabled { "on" } else { "read only: `object_store.enabled` is false" };
            Finding::ok(CHECK, format!("{state}; an object was put into {url}, read, listed and deleted"))
        }
        Err(error) => Finding::fail(CHECK, error.to_string(), "see docs/operating/object-store.md"),
    })
}
