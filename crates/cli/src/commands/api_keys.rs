//! `overnight key`: API keys.

use clap::{Args, Subcommand};
use overnight_app::administration::api_keys::record;
use overnight_app::api_keys::{self, ENDED_LISTED_MAX, KeyDraft, KeyList};
use overnight_config::Millis;
use overnight_domain::api_keys::KeyScope;
use overnight_domain::ids::{AccountId, KeyId};
use overnight_wire::native::administration::ApiKey;
use serde_json::json;

use super::accounts::parse_id;
use super::operator;
use crate::errors::{CliError, Exit};
use crate::globals::Globals;
use crate::lists::{Columns, List};
use crate::output::Output;
use crate::times;

const COLUMNS: Columns = &[
    ("KEY", 30),
    ("PREFIX", 14),
    ("STATE", 7),
    ("SCOPE", 5),
    ("CREATED", 20),
    ("EXPIRES", 20),
    ("LAST USED", 20),
    ("NAME", 0),
];

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make a key; prints it, this once.
    Create(Create),
    /// List the keys of an account.
    List(Of),
    /// Revoke a key; felt by a running service within a second.
    Revoke(Revoke),
}

#[derive(Debug, Args)]
pub(crate) struct Create {
    /// The account that it opens, acct_….
    #[arg(long, value_parser = parse_id)]
    account: AccountId,
    /// What to call it.
    #[arg(long)]
    name: Option<String>,
    /// What it may do: `write` reads and writes, `read` changes nothing, `admin` also administrates every account under /v1/admin.
    #[arg(long, value_name = "SCOPE", value_parser = ["write", "read", "admin"], default_value = "write")]
    scope: String,
    /// How long it works, such as 90d [default: for ever].
    #[arg(long, value_name = "DURATION", value_parser = str::parse::<Millis>)]
    expires_in: Option<Millis>,
}

#[derive(Debug, Args)]
pub(crate) struct Of {
    /// The account, acct_….
    #[arg(long, value_parser = parse_id)]
    account: AccountId,
}

#[derive(Debug, Args)]
pub(crate) struct Revoke {
    /// The key's identifier, key_….
    #[arg(value_name = "KEY_ID", value_parser = parse_key_id)]
    key: KeyId,
}

fn parse_key_id(text: &str) -> Result<KeyId, String> {
    KeyId::parse(text).ok_or_else(|| "a key's identifier is key_ and 26 characters".to_owned())
}

pub(crate) async fn run(command: Command, globals: &Globals, output: &Output) -> Result<Exit, CliError> {
    let services = match command {
        Command::List(_) => operator::open_to_read(globals).await?,
        _ => operator::open(globals).await?,
    };
    match command {
        Command::Create(Create { account, name, scope, expires_in }) => {
            let expires_in_ms = expires_in.map(|Millis(ms)| ms);
            let scope = KeyScope::parse(&scope).unwrap_or(KeyScope::Write);
            let draft = KeyDraft { name: name.as_deref(), scope, expires_in_ms };
            let made = api_keys::create(&services, account, draft).await?;
            let ApiKey { id, prefix, name, scope, created_at, expires_at, .. } = record(made.record);
            let told = json!({
                "id": id, "key": made.key, "prefix": prefix, "name": name, "scope": scope, "created_at": created_at,
                "expires_at": expires_at,
            });
            output.either(&told, || made.key)?;
            let until =
                expires_at.map_or_else(|| "for ever".to_owned(), |at| format!("until {}", times::utc(at)));
            output.note(&format!("made {id}, which works {until}; the key itself is not shown again"));
        }
        Command::List(Of { account }) => {
            let mut list = List::begin(output, COLUMNS);
            let KeyList { keys, is_cut } = api_keys::list(&services, account).await?;
            for key in keys {
                let key = record(key);
                let created = times::utc(key.created_at);
                let expires = times::utc_or_dash(key.expires_at);
                let used = times::utc_or_dash(key.last_used_at);
                let name = key.name.as_deref().unwrap_or("-");
                list.row(
                    &key,
                    &[&key.id, &key.prefix, state(&key), &key.scope, &created, &expires, &used, name],
                )?;
            }
            list.end()?;
            if is_cut {
                output.say(&format!(
                    "of the keys that were revoked or have expired, the newest {ENDED_LISTED_MAX} are listed"
                ));
            }
        }
        Command::Revoke(Revoke { key }) => {
            let key = record(api_keys::revoke(&services, key).await?);
            output.either(&key, || format!("{} is revoked", key.id))?;
        }
    }
    Ok(Exit::Done)
}

fn state(key: &ApiKey) -> &'static str {
    match key {
        ApiKey { revoked_at: Some(_), .. } => "revoked",
        ApiKey { expires_at: Some(at), .. } if *at <= times::seconds(times::now()) => "expired",
        _ => "works",
    }
}
