//! `overnight account`: who requests belong to.

use clap::{Args, Subcommand};
use overnight_domain::ids::AccountId;
use overnight_server::app::accounts;
use overnight_server::store::accounts::Account;
use serde::Serialize;

use super::operator;
use crate::errors::{CliError, Exit};
use crate::globals::Globals;
use crate::lists::{Columns, List};
use crate::output::Output;
use crate::times;

const COLUMNS: Columns = &[("ACCOUNT", 31), ("CREATED", 20), ("NAME", 0)];

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make an account; prints its identifier.
    Create(Create),
    /// List every account.
    List,
    /// Show one account.
    Show(Show),
}

#[derive(Debug, Args)]
pub(crate) struct Create {
    /// What to call it.
    #[arg(long)]
    name: String,
}

#[derive(Debug, Args)]
pub(crate) struct Show {
    /// Its identifier, acct_….
    #[arg(value_parser = parse_id)]
    account: AccountId,
}

#[derive(Debug, Serialize)]
struct Record {
    id: String,
    name: String,
    created_at: i64,
}

impl From<Account> for Record {
    fn from(account: Account) -> Self {
        Self { id: account.id.to_string(), name: account.name, created_at: account.created_at / 1_000 }
    }
}

/// Reads an account's identifier, as clap wants its readers.
pub(crate) fn parse_id(text: &str) -> Result<AccountId, String> {
    AccountId::parse(text).ok_or_else(|| "an account's identifier is acct_ and 26 characters".to_owned())
}

pub(crate) async fn run(command: Command, globals: &Globals, output: &Output) -> Result<Exit, CliError> {
    match command {
        Command::Create(Create { name }) => {
            let services = operator::open_or_make(globals).await?;
            let account = Record::from(accounts::create(&services, &name).await?);
            output.either(&account, || account.id.clone())?;
            output.note(&format!(
                "made the account; give it a key with `overnight key create --account {}`",
                account.id
            ));
        }
        Command::List => {
            let services = operator::open(globals).await?;
            let mut list = List::begin(output, COLUMNS);
            for account in accounts::list(&services).await? {
                let account = Record::from(account);
                let created = times::utc(account.created_at);
                list.row(&account, &[&account.id, &created, &account.name])?;
            }
            list.end()?;
        }
        Command::Show(Show { account }) => {
            let services = operator::open(globals).await?;
            let account = Record::from(accounts::get(&services, account).await?);
            let created = times::utc(account.created_at);
            output.either(&account, || {
                format!("{}\nname     {}\ncreated  {created}", account.id, account.name)
            })?;
        }
    }
    Ok(Exit::Done)
}
