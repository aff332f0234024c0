//! `overnight account payments`: orders of credits, and whether they were paid.

use clap::Args;
use overnight_app::Services;
use overnight_app::payments::{self, Heard};
use overnight_domain::ids::AccountId;
use overnight_domain::money::Currency;
use overnight_store::ledger::payments::Payment;
use serde_json::json;

use super::{operator, parse_id};
use crate::errors::{CliError, Exit};
use crate::globals::Globals;
use crate::lists::{Columns, List};
use crate::output::Output;
use crate::pages;
use crate::times::{self, seconds};

const COLUMNS: Columns =
    &[("ORDERED", 20), ("PAYMENT", 30), ("CREDITS", 14), ("AMOUNT", 14), ("PAID", 20), ("REFERENCE", 0)];

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Its identifier, acct_….
    #[arg(value_parser = parse_id)]
    account: AccountId,
    /// Ask the provider about those that are not paid, and credit what was.
    #[arg(long)]
    check: bool,
}

/// In whole units, such as `12.50`.
fn amount(payment: &Payment) -> String {
    match payment.currency.parse::<Currency>() {
        Ok(currency) => currency.amount(payment.amount),
        Err(_) => payment.amount.to_string(),
    }
}

pub(super) async fn run(arguments: Arguments, globals: &Globals, output: &Output) -> Result<Exit, CliError> {
    let Arguments { account, check } = arguments;
    let services = operator::open(globals).await?;
    let read = async |before, limit| payments::list(&services, account, before, limit).await;
    let mut exit = Exit::Done;
    if check {
        let post = async |order: Payment| {
            if !post(&services, &order, output).await {
                exit = Exit::Failed;
            }
            Ok(())
        };
        pages::each_row(u64::MAX, read, post).await?;
    }
    let mut list = List::begin(output, COLUMNS);
    let print = async |order: Payment| {
        let Payment { provider, currency, session, reference, .. } = &order;
        let (id, credits, amount) = (order.id.to_string(), order.credits.to_string(), amount(&order));
        let (created_at, paid_at) = (seconds(order.created_at), order.paid_at.map(seconds));
        let record = json!({
            "id": id, "provider": provider, "credits": credits, "amount": amount, "currency": currency,
            "created_at": created_at, "paid_at": paid_at, "session": session, "reference": reference,
        });
        let (ordered, paid) = (times::utc(created_at), times::utc_or_dash(paid_at));
        let amount = format!("{amount} {currency}");
        list.row(&record, &[&ordered, &id, &credits, &amount, &paid, reference.as_deref().unwrap_or("-")])
    };
    pages::each_row(u64::MAX, read, print).await?;
    if list.end()? == 0 {
        output.note("nothing was ordered");
    }
    Ok(exit)
}

/// Posts the credits of a paid order. False on a fault, which does not affect other orders.
async fn post(services: &Services, order: &Payment, output: &Output) -> bool {
    match payments::check(services, order).await {
        Ok(Heard::Posted) => output.note(&format!("{} was paid and is credited", order.id)),
        Ok(Heard::PostedBefore | Heard::Nothing) => {}
        Ok(Heard::Doubtful(why)) => {
            output.say(&format!("{} was paid, and is not credited: {why}", order.id));
            return false;
        }
        Err(error) => {
            output.say(&format!("{}: {error}", order.id));
            return false;
        }
    }
    true
}
