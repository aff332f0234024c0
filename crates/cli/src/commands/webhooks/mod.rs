//! `overnight webhook`: signing secrets, events and deliveries, delivering again, and testing a receiver.

mod deliveries;
mod events;
mod secrets;

use clap::{Args, Subcommand};
use overnight_app::{Services, accounts, api_keys, webhooks};
use overnight_config::Millis;
use overnight_domain::ids::{AccountId, EventId};
use serde_json::json;

use super::accounts::parse_id;
use super::operator;
use crate::connection::find_key;
use crate::errors::{CliError, Exit};
use crate::globals::Globals;
use crate::output::Output;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Print the secret that an account's webhooks are signed with.
    Secret(Of),
    /// Replace the secret; for a while the one before is signed with too.
    Rotate(Rotate),
    /// List events, newest first: delivered, waiting, given up.
    Events(events::Arguments),
    /// List the tries to deliver events, newest first.
    Deliveries(deliveries::Arguments),
    /// Deliver an event again: the same identifier, the same bytes.
    Replay(Replay),
    /// Send a receiver an event that says it is a test.
    Test(Test),
}

/// Whose; without it, the account for which requests are sent.
#[derive(Debug, Args)]
pub(crate) struct Of {
    /// The account, acct_… [default: the only one there is, else that of the key which requests are sent with].
    #[arg(long, value_parser = parse_id)]
    account: Option<AccountId>,
}

/// Whose; everybody's, where none is named.
#[derive(Debug, Args)]
pub(crate) struct OfAny {
    /// Only those of this account, acct_….
    #[arg(long, value_parser = parse_id)]
    account: Option<AccountId>,
}

#[derive(Debug, Args)]
pub(crate) struct Rotate {
    #[command(flatten)]
    of: Of,
    /// How long the secret before is still signed with: 0s to 30d.
    #[arg(long, value_name = "DURATION", default_value = "24h", value_parser = str::parse::<Millis>)]
    overlap: Millis,
}

#[derive(Debug, Args)]
pub(crate) struct Replay {
    /// The event's identifier, evt_….
    #[arg(value_name = "EVENT", value_parser = parse_event_id, required_unless_present = "exhausted")]
    event: Option<EventId>,
    /// Every event of the account that was given up.
    #[arg(long, requires = "account", conflicts_with = "event")]
    exhausted: bool,
    /// The account, acct_….
    #[arg(long, value_parser = parse_id, requires = "exhausted")]
    account: Option<AccountId>,
}

#[derive(Debug, Args)]
pub(crate) struct Test {
    #[command(flatten)]
    of: Of,
    /// Where to, as a request's `webhook` names it.
    #[arg(value_name = "URL")]
    url: String,
}

/// How many rows are listed.
#[derive(Debug, Args)]
pub(crate) struct Limit {
    /// The newest so many: 1 to 10,000.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    limit: u32,
}

impl Of {
    async fn account(&self, services: &Services, globals: &Globals) -> Result<AccountId, CliError> {
        if let Some(account) = self.account {
            return Ok(account);
        }
        let all = accounts::list(services).await?;
        if let [only] = all.as_slice() {
            return Ok(only.id);
        }
        let own = match find_key(globals) {
            Ok(key) => api_keys::find_account(services, &key).await?,
            Err(_) => None,
        };
        own.ok_or_else(|| {
            CliError::unusable(format!("there are {} accounts: say which with --account", all.len()))
                .with_hint("`overnight account list` shows them")
        })
    }
}

/// The address, shortened for a line of a table.
fn shortened(url: &str) -> String {
    const LENGTH_MAX: usize = 60;
    match url.char_indices().nth(LENGTH_MAX) {
        Some((place, _)) => format!("{}…", &url[..place]),
        None => url.to_owned(),
    }
}

fn parse_event_id(text: &str) -> Result<EventId, String> {
    EventId::parse(text).ok_or_else(|| "an event's identifier is evt_ and 26 characters".to_owned())
}

pub(crate) async fn run(command: Command, globals: &Globals, output: &Output) -> Result<Exit, CliError> {
    let services = match command {
        Command::Secret(_) | Command::Events(_) | Command::Deliveries(_) => {
            operator::open_to_read(globals).await?
        }
        _ => operator::open(globals).await?,
    };
    match command {
        Command::Secret(of) => {
            let account = of.account(&services, globals).await?;
            secrets::print(&webhooks::secrets(&services, account).await?, output)?;
        }
        Command::Rotate(Rotate { of, overlap }) => {
            let account = of.account(&services, globals).await?;
            secrets::print(&webhooks::rotate(&services, account, overlap, None).await?, output)?;
        }
        Command::Events(arguments) => events::run(&arguments, &services, output).await?,
        Command::Deliveries(arguments) => deliveries::run(&arguments, &services, output).await?,
        Command::Replay(Replay { event: Some(event), .. }) => {
            let event = webhooks::replay(&services, event).await?;
            output.either(&events::record(&event), || format!("{} is due", event.id))?;
        }
        Command::Test(Test { of, url }) => {
            let account = of.account(&services, globals).await?;
            let event = webhooks::send_test(&services, account, &url, None).await?;
            output.either(&events::record(&event), || format!("{} is due", event.id))?;
        }
        Command::Replay(Replay { account, .. }) => {
            let Some(account) = account else {
                return Err(CliError::unusable("say which account: --account"));
            };
            let replayed = webhooks::replay_exhausted(&services, account).await?;
            output.either(&json!({ "replayed": replayed }), || match replayed {
                0 => "nothing was given up".to_owned(),
                1 => "1 event is due".to_owned(),
                replayed => format!("{replayed} events are due"),
            })?;
        }
    }
    Ok(Exit::Done)
}
