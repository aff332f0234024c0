//! `overnight webhook events`: sent and pending events.

use clap::{Args, ValueEnum};
use overnight_app::{Services, webhooks};
use overnight_store::outbox::{EventRecord, EventState};
use serde_json::{Value, json};

use super::{Limit, OfAny, shortened};
use crate::errors::CliError;
use crate::lists::{Columns, List};
use crate::output::Output;
use crate::pages;
use crate::times::{self, seconds};

const COLUMNS: Columns = &[
    ("HAPPENED", 20),
    ("EVENT", 30),
    ("TYPE", 19),
    ("STATE", 9),
    ("TRIES", 5),
    ("NEXT TRY", 20),
    ("URL", 0),
];

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    of: OfAny,
    /// Only events in this state.
    #[arg(long)]
    state: Option<State>,
    #[command(flatten)]
    limit: Limit,
}

/// What can be asked for.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum State {
    /// Not delivered yet: waiting for its next try, or being sent.
    Pending,
    /// Its receiver took it.
    Delivered,
    /// It was given up.
    Exhausted,
}

impl From<State> for EventState {
    fn from(state: State) -> Self {
        match state {
            State::Pending => Self::Live,
            State::Delivered => Self::Delivered,
            State::Exhausted => Self::Exhausted,
        }
    }
}

const fn state(event: &EventRecord) -> &'static str {
    match event.state {
        EventState::Live if event.sending_since.is_some() => "sending",
        EventState::Live => "waiting",
        EventState::Delivered => "delivered",
        EventState::Exhausted => "exhausted",
    }
}

/// A test event has no subject.
pub(super) fn record(event: &EventRecord) -> Value {
    json!({
        "id": event.id.to_string(), "type": event.kind.as_str(), "state": state(event), "subject": event.subject,
        "url": event.url, "tries": event.tries, "created_at": seconds(event.created_at),
        "next_try_at": event.due_at.map(seconds), "ended_at": event.ended_at.map(seconds),
    })
}

pub(super) async fn run(arguments: &Arguments, services: &Services, output: &Output) -> Result<(), CliError> {
    let Arguments { of, state: wanted, limit } = arguments;
    let mut list = List::begin(output, COLUMNS);
    let wanted = wanted.map(EventState::from);
    let read = async |before, limit| webhooks::list_events(services, of.account, wanted, before, limit).await;
    let print = async |event: EventRecord| {
        let (id, tries) = (event.id.to_string(), event.tries.to_string());
        let (happened, next) =
            (times::utc(seconds(event.created_at)), times::utc_or_dash(event.due_at.map(seconds)));
        let url = shortened(event.url.as_deref().unwrap_or("-"));
        list.row(&record(&event), &[&happened, &id, event.kind.as_str(), state(&event), &tries, &next, &url])
    };
    pages::each_row(limit.limit.into(), read, print).await?;
    if list.end()? == 0 {
        output.note("there are no such events");
    }
    Ok(())
}
