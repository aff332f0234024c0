//! `overnight webhook secret` and `rotate`.

use overnight_server::store::outbox::webhook_secrets::WebhookSecret;
use serde::Serialize;

use crate::errors::CliError;
use crate::output::Output;
use crate::times;

#[derive(Debug, Serialize)]
struct Record {
    secret: String,
    created_at: i64,
    /// Those that it replaces, the newest first, for as long as they are still signed with.
    previous: Vec<Previous>,
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
    let previous = older.iter().map(|secret| Previous {
        secret: secret.secret.reveal(),
        created_at: secret.created_at.div_euclid(1_000),
        expires_at: secret.expires_at.map(|time| time.div_euclid(1_000)),
    });
    let record = Record {
        secret: newest.secret.reveal(),
        created_at: newest.created_at.div_euclid(1_000),
        previous: previous.collect(),
    };
    output.either(&record, || record.secret.clone())?;
    for until in record.previous.iter().filter_map(|previous| previous.expires_at) {
        output.note(&format!("until {} a secret before it is signed with too", times::utc(until)));
    }
    Ok(())
}
