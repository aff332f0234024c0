//! The models that the service has.

use overnight_client::Client;

use crate::errors::CliError;

/// Refuses a model that the service does not have; says which it has.
pub(crate) async fn check(client: &Client, model: &str) -> Result<(), CliError> {
    let known = client.list_models().await?;
    if known.iter().any(|it| it.has_name(model)) {
        return Ok(());
    }
    let names: Vec<&str> = known.iter().map(|it| it.id.as_str()).collect();
    Err(CliError::refused(format!("the service has no model {model:?}; it has {}", names.join(", "))))
}
