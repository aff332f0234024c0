//! `overnight webhook deliveries`: every attempt and its outcome.

use clap::Args;
use overnight_app::{Services, webhooks};
use overnight_domain::ids::EventId;
use overnight_store::outbox::DeliveryRecord;
use serde_json::json;

use super::{Limit, OfAny, parse_event_id, shortened};
use crate::errors::CliError;
use crate::lists::{Columns, List};
use crate::output::Output;
use crate::times::{self, seconds};

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

pub(super) async fn run(arguments: &Arguments, services: &Services, output: &Output) -> Result<(), CliError> {
    let Arguments { of, event, limit } = arguments;
    let mut list = List::begin(output, COLUMNS);
    let deliveries = webhooks::list_deliveries(services, of.account, *event, limit.limit).await?;
    for delivery in deliveries {
        let DeliveryRecord { number, subject, url, duration_ms, status, failure, .. } = &delivery;
        let (event, kind) = (delivery.event.to_string(), delivery.kind.as_str());
        let started_at = seconds(delivery.started_at);
        // Without a status there was no answer; without a failure as well, the outcome is unknown.
        let record = json!({
            "id": delivery.id.to_string(), "event": event, "subject": subject, "url": url, "type": kind, "try": number,
            "started_at": started_at, "duration_ms": duration_ms, "status": status, "failure": failure,
        });
        let outcome = status.map(|status| status.to_string()).or_else(|| failure.clone());
        let outcome = outcome.unwrap_or_else(|| "-".to_owned());
        let took = duration_ms.map_or_else(|| "-".to_owned(), |ms| format!("{ms} ms"));
        let (began, url) = (times::utc(started_at), shortened(url.as_deref().unwrap_or("-")));
        list.row(&record, &[&began, &event, kind, &number.to_string(), &outcome, &took, &url])?;
    }
    if list.end()? == 0 {
        output.note("nothing was tried yet");
    }
    Ok(())
}
