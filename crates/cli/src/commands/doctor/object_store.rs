//! Checks that the object store belongs to this database, and stores, returns and deletes objects.

use overnight_app::object_store_options;
use overnight_config::{Config, ObjectStoreConfig, OutgoingConfig};
use overnight_store::object_store::{ObjectStore, ObjectStoreError};
use overnight_store::objects;

use super::{Finding, open_database};
use crate::commands::operator;

const CHECK: &str = "object store";

/// `None` if all bodies are in the database.
pub(super) async fn check(config: &Config) -> Option<Finding> {
    let object_store = config.object_store.as_ref()?;
    Some(match open_database(config).await {
        Some(store) => {
            let probed = objects::probe(&store).await.map_err(|error| error.to_string());
            store.close().await;
            judge(object_store, probed)
        }
        None => match Box::pin(probe(object_store, &config.outgoing)).await {
            Ok(Some(claim)) => {
                let message = format!("`{claim}` there says that it belongs to a database");
                let hint = match operator::is_absent(config) {
                    true => {
                        "there is no database here yet: give it a prefix of its own, or restore the database of these objects"
                    }
                    false => {
                        "mend the check `database` first: then this one tells whether it is that database"
                    }
                };
                Finding::warn(CHECK, message, hint)
            }
            Ok(None) => judge(object_store, Ok(false)),
            Err(error) => judge(object_store, Err(error.to_string())),
        },
    })
}

/// Tests an object store that belongs to no database; otherwise reads the object that names its database.
async fn probe(
    settings: &ObjectStoreConfig,
    outgoing: &OutgoingConfig,
) -> Result<Option<String>, ObjectStoreError> {
    let object_store = ObjectStore::open(&object_store_options(settings, outgoing))?;
    let claim = object_store.find_claim().await?;
    if claim.is_none() {
        object_store.probe().await?;
    }
    Ok(claim)
}

/// `probed` is whether the object store belongs to this database, or the failure.
fn judge(settings: &ObjectStoreConfig, probed: Result<bool, String>) -> Finding {
    match probed {
        Ok(is_owned) => {
            let state = if settings.enabled { "on" } else { "read only: `object_store.enabled` is false" };
            let owner = if is_owned { "it is this database's" } else { "it belongs to no database yet" };
            let message = format!(
                "{state}; {owner}; an object was put into {}, read, listed and deleted",
                settings.url
            );
            Finding::ok(CHECK, message)
        }
        Err(error) => Finding::fail(CHECK, error, "see docs/operating/object-store.md"),
    }
}
