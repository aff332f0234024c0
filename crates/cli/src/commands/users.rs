//! `overnight user`: users of the console.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use overnight_app::sessions::{self, Link};
use overnight_app::users::{Standing, User};
use overnight_app::{Services, accounts, users};
use overnight_domain::ids::AccountId;
use overnight_domain::roles::Role;
use serde_json::{Value, json};

use super::accounts::parse_id;
use super::operator;
use crate::errors::{CliError, Exit};
use crate::globals::Globals;
use crate::lists::{Columns, List};
use crate::output::Output;
use crate::times::{self, seconds};

const COLUMNS: Columns = &[
    ("USER", 31),
    ("CREATED", 20),
    ("SIGNED IN LAST", 20),
    ("SIGNS IN BY", 14),
    ("OPERATOR", 8),
    ("E-MAIL", 0),
];

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List everybody who signs in.
    List,
    /// Make a user; prints the link that signs them in once.
    Create(Create),
    /// Print a new link that signs a user in once; one that was made before works no more. With --subject, link the user to a
    /// subject of the single sign-on provider instead.
    Link(Linked),
    /// Remove a user, signed out at once; accounts, keys and requests stay.
    Remove(One),
    /// End every session of a user, and take back the link.
    SignOut(One),
}

#[derive(Debug, Args)]
pub(crate) struct Create {
    /// The e-mail address, by which others know them.
    #[arg(value_name = "EMAIL")]
    email: String,
    /// Let them see and do everything, in every account.
    #[arg(long)]
    operator: bool,
    /// An account that they are to belong to, acct_….
    #[arg(long, value_parser = parse_id, requires = "role")]
    account: Option<AccountId>,
    /// As what.
    #[arg(long, value_parser = roles(), requires = "account")]
    role: Option<Role>,
}

#[derive(Debug, Args)]
pub(crate) struct One {
    /// The identifier, usr_…, or the e-mail address.
    #[arg(value_name = "USER_OR_EMAIL")]
    user: String,
}

#[derive(Debug, Args)]
pub(crate) struct Linked {
    #[command(flatten)]
    one: One,
    /// The provider's name of the user, `sub` in its ID tokens. Prints no link: from now on the provider signs the user in, and the
    /// password, the link and every session end.
    #[arg(long, value_name = "SUBJECT", allow_hyphen_values = true)]
    subject: Option<String>,
    /// The provider's issuer, where it is not that of `console.oidc.issuer`.
    #[arg(long, value_name = "URL", requires = "subject")]
    issuer: Option<String>,
    /// Replace another subject that the user has.
    #[arg(long, requires = "subject")]
    replace: bool,
}

fn record(user: &User) -> Value {
    json!({
        "id": user.id.to_string(), "email": user.email, "is_operator": user.is_operator,
        "has_password": user.has_password, "issuer": user.issuer, "created_at": seconds(user.created_at),
        "signed_in_at": user.signed_in_at.map(seconds),
    })
}

const fn way(user: &User) -> &'static str {
    match (user.has_password, user.issuer.is_some()) {
        (true, true) => "password, SSO",
        (true, false) => "password",
        (false, true) => "SSO",
        (false, false) => "link",
    }
}

fn roles() -> impl TypedValueParser<Value = Role> {
    PossibleValuesParser::new(Role::ALL.map(Role::as_str)).try_map(|name| Role::parse(&name).ok_or("no role"))
}

pub(crate) async fn run(command: Command, globals: &Globals, output: &Output) -> Result<Exit, CliError> {
    let services = match command {
        Command::List => operator::open_to_read(globals).await?,
        _ => operator::open(globals).await?,
    };
    match command {
        Command::List => list(&services, output).await?,
        Command::Create(create) => {
            let (user, link) = make(&services, &create).await?;
            print_link(&services, &user, &link, output)?;
        }
        Command::Link(linked) => {
            let user = users::named(&services, &linked.one.user).await?;
            match &linked.subject {
                Some(subject) => link_subject(&services, &user, subject, &linked, output).await?,
                None => {
                    let link = sessions::make_link(&services, &user).await?;
                    print_link(&services, &user, &link, output)?;
                }
            }
        }
        Command::Remove(One { user }) => {
            let user = users::named(&services, &user).await?;
            users::remove(&services, user.id).await?;
            output.either(&record(&user), || format!("{} is removed", user.id))?;
        }
        Command::SignOut(One { user }) => {
            let user = users::named(&services, &user).await?;
            let ended = sessions::sign_out_everywhere(&services, &user, None).await?;
            let told = json!({"id": user.id.to_string(), "ended_sessions": ended});
            output.either(&told, || format!("{} is signed out everywhere: {ended} sessions", user.id))?;
        }
    }
    Ok(Exit::Done)
}

async fn list(services: &Services, output: &Output) -> Result<(), CliError> {
    let mut list = List::begin(output, COLUMNS);
    for user in users::list(services).await? {
        let created = times::utc(seconds(user.created_at));
        let signed_in = times::utc_or_dash(user.signed_in_at.map(seconds));
        let operator = if user.is_operator { "yes" } else { "-" };
        let email = user.email.as_deref().unwrap_or("-");
        list.row(&record(&user), &[&user.id.to_string(), &created, &signed_in, way(&user), operator, email])?;
    }
    list.end()?;
    Ok(())
}

/// Checks the account before it creates the user.
async fn make(services: &Services, create: &Create) -> Result<(User, Link), CliError> {
    let account = match create.account {
        Some(account) => Some(accounts::get(services, account).await?),
        None => None,
    };
    let standing = if create.operator { Standing::Operator } else { Standing::Ordinary };
    let membership = account.as_ref().zip(create.role);
    Ok(users::create_with_link(services, &create.email, standing, membership).await?)
}

async fn link_subject(
    services: &Services,
    user: &User,
    subject: &str,
    linked: &Linked,
    output: &Output,
) -> Result<(), CliError> {
    let config = services.config();
    let configured = config.console.oidc.as_ref().map(|oidc| &oidc.issuer);
    let issuer = linked.issuer.as_ref().or(configured).ok_or_else(|| {
        CliError::unusable("`console.oidc.issuer` is not set: name the provider's issuer with --issuer")
    })?;
    users::link_subject(services, user, issuer, subject, linked.replace).await?;
    let user = users::get(services, user.id).await?;
    output.either(&record(&user), || format!("{} signs in as {subject:?} at {issuer}", user.id))?;
    if configured.is_some_and(|configured| configured != issuer) {
        output.say("this is not the provider of `console.oidc.issuer`: there the user is not known by this");
    }
    Ok(())
}

fn print_link(services: &Services, user: &User, link: &Link, output: &Output) -> Result<(), CliError> {
    let (url, expires_at) = (&link.url, seconds(link.expires_at));
    let told = json!({"user": record(user), "url": url, "expires_at": expires_at});
    output.either(&told, || url.clone())?;
    let until = times::utc(expires_at);
    output.note(&format!("it signs {} in once, until {until}: hand it to nobody else", user.id));
    if services.config().console_origin().is_err() {
        output.say("there is no console at this address: `overnight doctor` says why");
    }
    Ok(())
}
