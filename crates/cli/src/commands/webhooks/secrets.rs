//! `overnight webhook secret` and `rotate`.

use overnight_server::store::webhook_secrets::WebhookSecret;
use serde::Serialize;

use crate::errors::CliError;
use crate::output::Output;
use crate::times;

#[derive(Debug, Serialize)]
struct Record {
    secret: String,
    created_at: i64,
    /// The one that it replaces, while that is still signed with.
    previous: Option<Previous>,
}

#[derive(Debug, Serialize)]
struct Previous {
    secret: String,
    created_at: i64,
    expires_at: Option<i64>,
}

/// Prints the newest secret, and says how long the one before still works.
pub(super) fn print(secrets: &[WebhookSecret], output: &Output) -> Result<(), CliError> {
    let [newest, older @ ..] = secrets else {
        return Err(CliError::unavailable("the account has no secret: rotate it"));
    };
    let previous = older.first().map(|secret| Previous {
        secret: secret.secret.reveal(),
        created_at: secret.created_at.div_euclid(1_000),
        expires_at: secret.expires_at.map(|time| time.div_euclid(1_000)),
    });
    let record =
        Record { secret: newest.secret.reveal(), created_at: newest.created_at.div_euclid(1_000), previous };
    output.either(&record, || record.secret.clone())?;
    if let Some(until) = record.previous.and_then(|previous| previous.expires_at) {
        output.note(&format!("until {} the secret before is signed with too", times::utc(until)));
    }
    Ok(())
}
