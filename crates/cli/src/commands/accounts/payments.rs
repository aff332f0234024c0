//! `overnight account payments`: orders of credits, and whether they were paid.

use clap::Args;
use overnight_domain::ids::AccountId;
use overnight_domain::money::Currency;
use overnight_server::app::Services;
use overnight_server::app::payments::{self, Heard};
use overnight_server::store::ledger::payments::Payment;
use serde::Serialize;

use super::{operator, parse_id};
use crate::errors::{CliError, Exit};
use crate::globals::Globals;
use crate::lists::{Columns, List};
use crate::output::Output;
use crate::{pages, times};

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

#[derive(Debug, Serialize)]
struct Record {
    id: String,
    provider: String,
    credits: String,
    amount: String,
    currency: String,
    created_at: i64,
    paid_at: Option<i64>,
    session: Option<String>,
    reference: Option<String>,
}

/// In whole units, such as `12.50`.
fn amount(payment: &Payment) -> String {
    match payment.currency.parse::<Currency>() {
        Ok(currency) => currency.amount(payment.amount),
        Err(_) => payment.amount.to_string(),
    }
}

impl From<Payment> for Record {
    fn from(payment: Payment) -> Self {
        let amount = amount(&payment);
        Self {
            id: payment.id.to_string(),
            provider: payment.provider,
            credits: payment.credits.to_string(),
            amount,
            currency: payment.currency,
            created_at: payment.created_at.div_euclid(1_000),
            paid_at: payment.paid_at.map(|paid_at| paid_at.div_euclid(1_000)),
            session: payment.session,
            reference: payment.reference,
        }
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
    let print = async |order| {
        let record = Record::from(order);
        let amount = format!("{} {}", record.amount, record.currency);
        let (ordered, paid) = (times::utc(record.created_at), times::utc_or_dash(record.paid_at));
        let reference = record.reference.as_deref().unwrap_or("-");
        list.row(&record, &[&ordered, &record.id, &record.credits, &amount, &paid, reference])
    };
    pages::each_row(u64::MAX, read, print).await?;
    if list.end()? == 0 {
        output.note("nothing was ordered");
    }
    Ok(exit)
}

/// Credits an order that was paid; whether nothing is wrong with it, which says nothing of the others.
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
