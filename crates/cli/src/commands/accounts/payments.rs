//! `overnight account payments`: orders of credits, and whether they were paid.

use clap::Args;
use overnight_domain::ids::AccountId;
use overnight_server::app::payments::{self, Heard};
use overnight_server::store::payments::Payment;
use serde::Serialize;

use super::{operator, parse_id};
use crate::errors::CliError;
use crate::globals::Globals;
use crate::lists::{Columns, List};
use crate::output::Output;
use crate::times;

const COLUMNS: Columns =
    &[("ORDERED", 20), ("PAYMENT", 30), ("CREDITS", 14), ("AMOUNT", 12), ("PAID", 20), ("REFERENCE", 0)];

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Its identifier, acct_….
    #[arg(value_parser = parse_id)]
    account: AccountId,
    /// Ask the provider about those that are not paid, and book what was.
    #[arg(long)]
    check: bool,
}

#[derive(Debug, Serialize)]
struct Record {
    id: String,
    provider: String,
    credits: String,
    /// In the currency's smallest unit.
    amount: i64,
    currency: String,
    created_at: i64,
    paid_at: Option<i64>,
    reference: Option<String>,
}

impl From<Payment> for Record {
    fn from(payment: Payment) -> Self {
        Self {
            id: payment.id.to_string(),
            provider: payment.provider,
            credits: payment.credits.to_string(),
            amount: payment.amount,
            currency: payment.currency,
            created_at: payment.created_at.div_euclid(1_000),
            paid_at: payment.paid_at.map(|paid_at| paid_at.div_euclid(1_000)),
            reference: payment.reference,
        }
    }
}

pub(super) async fn run(arguments: Arguments, globals: &Globals, output: &Output) -> Result<(), CliError> {
    let Arguments { account, check } = arguments;
    let services = operator::open(globals).await?;
    if check {
        for order in payments::list(&services, account).await? {
            match payments::check(&services, &order).await? {
                Heard::Booked => output.note(&format!("{} was paid: {} credits", order.id, order.credits)),
                Heard::Doubtful => {
                    output.say(&format!("{} was paid, and not as ordered: look at it", order.id));
                }
                Heard::BookedBefore | Heard::Nothing => {}
            }
        }
    }
    let mut list = List::begin(output, COLUMNS);
    for record in payments::list(&services, account).await?.into_iter().map(Record::from) {
        let amount = format!("{} {}", record.amount, record.currency);
        let (ordered, paid) = (times::utc(record.created_at), times::utc_or_dash(record.paid_at));
        let reference = record.reference.as_deref().unwrap_or("-");
        list.row(&record, &[&ordered, &record.id, &record.credits, &amount, &paid, reference])?;
    }
    list.end()?;
    Ok(())
}
