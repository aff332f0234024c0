//! `overnight webhook secret` and `rotate`.

use overnight_store::outbox::webhook_secrets::WebhookSecret;
use serde_json::json;

use crate::errors::CliError;
use crate::output::Output;
use crate::times::{self, seconds};

/// Prints the newest secret, and how long earlier ones still sign.
pub(super) fn print(secrets: &[WebhookSecret], output: &Output) -> Result<(), CliError> {
    let [newest, older @ ..] = secrets else {
        return Err(CliError::unavailable("the account has no secret: rotate it"));
    };
    let expires = |secret: &WebhookSecret| secret.expires_at.map(seconds);
    let previous = older.iter().map(|of| {
        json!({"secret": of.secret.reveal(), "created_at": seconds(of.created_at), "expires_at": expires(of)})
    });
    let previous: Vec<_> = previous.collect();
    let secret = newest.secret.reveal();
    let record = json!({"secret": secret, "created_at": seconds(newest.created_at), "previous": previous});
    output.either(&record, || secret)?;
    for until in older.iter().filter_map(expires) {
        output.note(&format!("until {} a secret before it is signed with too", times::utc(until)));
    }
    Ok(())
}
