//! `overnight account close` and `overnight account erase`: the end of an account.

use clap::Args;
use overnight_app::closing;
use overnight_domain::ids::AccountId;

use super::{One, operator, parse_id, print};
use crate::errors::CliError;
use crate::globals::Globals;
use crate::output::Output;

#[derive(Debug, Args)]
pub(crate) struct Erase {
    /// Its identifier, acct_….
    #[arg(value_parser = parse_id)]
    account: AccountId,
    /// Erase it: nothing brings back what it had.
    #[arg(long)]
    yes: bool,
}

pub(super) async fn close(One { account }: One, globals: &Globals, output: &Output) -> Result<(), CliError> {
    let services = operator::open(globals).await?;
    let closed = closing::close(&services, account).await?;
    print(&services, output, &closed).await?;
    output.note("a running service, or the next one, cancels what waits and runs");
    Ok(())
}

pub(super) async fn erase(
    Erase { account, yes }: Erase,
    globals: &Globals,
    output: &Output,
) -> Result<(), CliError> {
    if !yes {
        return Err(
            CliError::unusable("nothing brings back what is erased").with_hint("say --yes to erase it")
        );
    }
    let services = operator::open(globals).await?;
    let marked = closing::erase(&services, account).await?;
    print(&services, output, &marked).await?;
    if marked.erased_at.is_none() {
        output.note("a running service, or the next one, erases it piece by piece");
    }
    Ok(())
}
