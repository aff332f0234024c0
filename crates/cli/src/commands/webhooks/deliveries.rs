//! `overnight webhook deliveries`: every try, and how it went.

use clap::Args;
use overnight_domain::ids::EventId;
use overnight_server::app::{Services, webhooks};
use overnight_server::store::outbox::DeliveryRecord;
use serde::Serialize;

use super::{Limit, OfAny, parse_event_id, shortened};
use crate::errors::CliError;
use crate::lists::{Columns, List};
use crate::output::Output;
use crate::times;

const COLUMNS: Columns =
    &[("BEGAN", 20), ("EVENT", 30), ("TYPE", 19), ("TRY", 3), ("OUTCOME", 15), ("TOOK", 9), ("URL", 0)];

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    of: OfAny,
    /// Only those of this event, evt_….
    #[arg(long, value_parser = parse_event_id)]
    event: Option<EventId>,
    #[command(flatten)]
    limit: Limit,
}

#[derive(Debug, Serialize)]
struct Record {
    id: String,
    event: String,
    /// The request or batch; null of a test.
    subject: Option<String>,
    url: Option<String>,
    r#type: &'static str,
    r#try: i64,
    started_at: i64,
    /// Null where nobody knows.
    duration_ms: Option<i64>,
    /// The HTTP status of the answer; null where none came.
    status: Option<i64>,
    /// Why none came.
    failure: Option<String>,
}

impl From<DeliveryRecord> for Record {
    fn from(delivery: DeliveryRecord) -> Self {
        Self {
            id: delivery.id.to_string(),
            event: delivery.event.to_string(),
            subject: delivery.subject,
            url: delivery.url,
            r#type: delivery.kind.as_str(),
            r#try: delivery.number,
            started_at: delivery.started_at.div_euclid(1_000),
            duration_ms: delivery.duration_ms,
            status: delivery.status,
            failure: delivery.failure,
        }
    }
}

pub(super) async fn run(arguments: &Arguments, services: &Services, output: &Output) -> Result<(), CliError> {
    let Arguments { of, event, limit } = arguments;
    let mut list = List::begin(output, COLUMNS);
    let deliveries = webhooks::list_deliveries(services, of.account, *event, limit.limit).await?;
    for record in deliveries.into_iter().map(Record::from) {
        let (began, number) = (times::utc(record.started_at), record.r#try.to_string());
        let outcome = match (record.status, &record.failure) {
            (Some(status), _) => status.to_string(),
            (None, Some(failure)) => failure.clone(),
            (None, None) => "-".to_owned(),
        };
        let took = record.duration_ms.map_or_else(|| "-".to_owned(), |ms| format!("{ms} ms"));
        let url = shortened(record.url.as_deref().unwrap_or("-"));
        list.row(&record, &[&began, &record.event, record.r#type, &number, &outcome, &took, &url])?;
    }
    if list.end()? == 0 {
        output.note("nothing was tried yet");
    }
    Ok(())
}
