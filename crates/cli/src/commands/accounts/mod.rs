//! `overnight account`: accounts, their credits and their quotas.

mod closing;
mod ledger;
mod payments;
mod settings;
mod spend;

use clap::{Args, Subcommand};
use overnight_app::errors::AppError;
use overnight_app::{Services, accounts, payments as orders};
use overnight_config::ProviderConfig;
use overnight_domain::ids::AccountId;
use overnight_domain::money::Credits;
use overnight_domain::text;
use overnight_store::identity::accounts::Account;
use overnight_wire::native::accounts::{Account as Record, LowCredits, QuotaUse};
use serde_json::json;

use super::operator;
use crate::errors::{CliError, Exit};
use crate::globals::Globals;
use crate::lists::{Columns, List};
use crate::output::Output;
use crate::times;

const COLUMNS: Columns = &[
    ("ACCOUNT", 31),
    ("CREATED", 20),
    ("AVAILABLE", 14),
    ("HELD", 14),
    ("PAYMENTS", 9),
    ("STATE", 9),
    ("NAME", 0),
];

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make an account without credits; prints its identifier.
    Create(Create),
    /// List every account.
    List,
    /// Show one account, its credits and its quotas.
    Show(One),
    /// Activate an account's payments: until then its keys do nothing.
    Activate(One),
    /// Suspend an account: its keys and members read, and change nothing; felt by a running service within a second.
    Suspend(One),
    /// Let an account go on that was suspended.
    Resume(One),
    /// Close an account for good: its keys are revoked, and what waits is cancelled.
    Close(One),
    /// Erase what a closed account had: all but the entries of its ledger.
    Erase(closing::Erase),
    /// Set how long ended requests of an account are kept.
    Retention(settings::Retention),
    /// Give an account credits, or take some back.
    Grant(Grant),
    /// Grant an account credits each calendar month (UTC), once a month; what it does not use, it keeps.
    Monthly(settings::Monthly),
    /// Have a webhook told when the credits of an account are low.
    LowCredits(settings::Low),
    /// Set what an account may use: each limit is a number, `none`, or `default` for that of the settings.
    Limit(settings::Limits),
    /// Order credits at the payment provider; prints the address at which they are paid.
    TopUp(TopUp),
    /// List what was ordered at the payment provider, and whether it was paid.
    Payments(payments::Arguments),
    /// List what moved an account's balance, newest first.
    Ledger(ledger::Arguments),
    /// Show what an account was charged, by day, model and API key.
    Spend(spend::Arguments),
}

#[derive(Debug, Args)]
pub(crate) struct Create {
    /// What to call it.
    #[arg(long)]
    name: String,
}

#[derive(Debug, Args)]
pub(crate) struct One {
    /// Its identifier, acct_….
    #[arg(value_parser = parse_id)]
    account: AccountId,
}

#[derive(Debug, Args)]
pub(crate) struct Grant {
    /// Its identifier, acct_….
    #[arg(value_parser = parse_id)]
    account: AccountId,
    /// How many credits, such as 25 or 0.5; a negative amount takes back what is available.
    #[arg(allow_negative_numbers = true)]
    amount: Credits,
    /// What it is for, such as an invoice's number: for the same source an account is granted once.
    #[arg(long, value_name = "TEXT")]
    source: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct TopUp {
    /// Its identifier, acct_….
    #[arg(value_parser = parse_id)]
    account: AccountId,
    /// How many credits.
    #[arg(allow_negative_numbers = true)]
    amount: Credits,
}

/// Parses an account's identifier for clap.
pub(crate) fn parse_id(text: &str) -> Result<AccountId, String> {
    AccountId::parse(text).ok_or_else(|| "an account's identifier is acct_ and 26 characters".to_owned())
}

pub(crate) async fn run(command: Command, globals: &Globals, output: &Output) -> Result<Exit, CliError> {
    match command {
        Command::Create(Create { name }) => create(&name, globals, output).await?,
        Command::List => list(globals, output).await?,
        Command::Show(one) => with_one(one, globals, output, accounts::get).await?,
        Command::Activate(one) => with_one(one, globals, output, accounts::activate).await?,
        Command::Suspend(one) => with_one(one, globals, output, accounts::suspend).await?,
        Command::Resume(one) => with_one(one, globals, output, accounts::resume).await?,
        Command::Close(one) => closing::close(one, globals, output).await?,
        Command::Erase(arguments) => closing::erase(arguments, globals, output).await?,
        Command::Retention(arguments) => settings::retain(arguments, globals, output).await?,
        Command::Grant(arguments) => grant(arguments, globals, output).await?,
        Command::Monthly(arguments) => settings::grant_monthly(arguments, globals, output).await?,
        Command::LowCredits(arguments) => settings::tell_of_low(arguments, globals, output).await?,
        Command::Limit(arguments) => settings::limit(arguments, globals, output).await?,
        Command::TopUp(arguments) => top_up(&arguments, globals, output).await?,
        Command::Payments(arguments) => return payments::run(arguments, globals, output).await,
        Command::Ledger(arguments) => ledger::run(arguments, globals, output).await?,
        Command::Spend(arguments) => spend::run(arguments, globals, output).await?,
    }
    Ok(Exit::Done)
}

/// Changes an account, and prints its new state.
async fn with_one(
    One { account }: One,
    globals: &Globals,
    output: &Output,
    what: impl AsyncFnOnce(&Services, AccountId) -> Result<Account, AppError>,
) -> Result<(), CliError> {
    let services = operator::open(globals).await?;
    let account = what(&services, account).await?;
    print(&services, output, &account).await
}

async fn create(name: &str, globals: &Globals, output: &Output) -> Result<(), CliError> {
    let services = operator::open_or_make(globals).await?;
    let account = accounts::create(&services, name).await?;
    let id = account.id;
    output.either(&accounts::record(&services, &account).await?, || id.to_string())?;
    output.note(&format!("made the account; give it a key with `overnight key create --account {id}`"));
    if services.config().billing.enabled {
        let how = match services.config().billing.provider {
            ProviderConfig::Stripe(_) => format!("`overnight account top-up {id} AMOUNT` is paid"),
            ProviderConfig::Manual => {
                format!("`overnight account activate {id}` and `overnight account grant {id} AMOUNT`")
            }
        };
        output.note(&format!("it can pay after {how}"));
    }
    Ok(())
}

async fn list(globals: &Globals, output: &Output) -> Result<(), CliError> {
    let services = operator::open_to_read(globals).await?;
    let mut list = List::begin(output, COLUMNS);
    for account in accounts::list(&services).await? {
        let account = accounts::record(&services, &account).await?;
        let created = times::utc(account.created_at);
        let payments = words(account.payments_activated);
        list.row(
            &account,
            &[
                &account.id,
                &created,
                &account.available,
                &account.held,
                payments,
                state(&account),
                &account.name,
            ],
        )?;
    }
    list.end()?;
    Ok(())
}

async fn grant(arguments: Grant, globals: &Globals, output: &Output) -> Result<(), CliError> {
    let Grant { account, amount, source } = arguments;
    let services = operator::open(globals).await?;
    let granted = accounts::grant(&services, account, amount, source.as_deref()).await?;
    if granted.is_new {
        output.note(&format!("granted, as source {}", granted.source));
    } else {
        output.say("this source was granted before: nothing changed");
    }
    print(&services, output, &accounts::get(&services, account).await?).await
}

async fn top_up(arguments: &TopUp, globals: &Globals, output: &Output) -> Result<(), CliError> {
    let services = operator::open(globals).await?;
    let ordered = orders::top_up(&services, arguments.account, arguments.amount, None).await?;
    let payment = ordered.payment.to_string();
    output.either(&json!({"payment": payment, "url": ordered.url}), || ordered.url.clone())?;
    output.note("the credits are there, and payments activated, once the provider has told the service of the payment");
    Ok(())
}

async fn print(services: &Services, output: &Output, account: &Account) -> Result<(), CliError> {
    let record = accounts::record(services, account).await?;
    let created = times::utc(record.created_at);
    output.either(&record, || {
        format!(
            "{}\nname       {}\nstate      {}\ncreated    {created}\nbalance    {}\nheld       {}\navailable  {}\npayments   {}\n\
             stored     {}\nlive       {}\nper second {}\ntokens/day {}\nretention  {}\nmonthly    {}\nlow        {}",
            record.id,
            text::escaped(&record.name),
            state(&record),
            record.balance,
            record.held,
            record.available,
            words(record.payments_activated),
            quota(&record.quotas.stored_bytes, "bytes"),
            quota(&record.quotas.live_requests, "requests"),
            quota(&record.quotas.requests_per_second, "requests"),
            quota(&record.quotas.tokens_per_day, "tokens"),
            retention(record.retention_seconds),
            record.monthly_credits.as_deref().unwrap_or("none"),
            low(record.low_credits.as_ref())
        )
    })
}

/// The threshold and address of the notice of low credits.
fn low(low_credits: Option<&LowCredits>) -> String {
    match low_credits {
        Some(LowCredits { threshold, webhook }) => {
            format!("below {threshold}, told at {}", text::escaped(webhook))
        }
        None => "not told".to_owned(),
    }
}

fn quota(QuotaUse { used, limit }: &QuotaUse, unit: &str) -> String {
    match (used, limit) {
        (Some(used), Some(limit)) => format!("{used} of {limit} {unit}"),
        (Some(used), None) => format!("{used} {unit}, no limit"),
        (None, Some(limit)) => format!("{limit} {unit}"),
        (None, None) => "no limit".to_owned(),
    }
}

/// In days, if they are whole.
fn retention(seconds: Option<i64>) -> String {
    match seconds {
        None => "for ever".to_owned(),
        Some(seconds) if seconds % 86_400 == 0 => format!("{}d", seconds / 86_400),
        Some(seconds) => format!("{seconds}s"),
    }
}

const fn state(account: &Record) -> &'static str {
    match account {
        Record { erased: true, .. } => "erased",
        Record { closed: true, .. } => "closed",
        Record { suspended: true, .. } => "suspended",
        _ => "active",
    }
}

const fn words(is_activated: bool) -> &'static str {
    if is_activated { "activated" } else { "not yet" }
}
