//! `overnight webhook events`: what was told, or is still to be.

use clap::{Args, ValueEnum};
use overnight_server::app::{Services, webhooks};
use overnight_server::store::outbox::{EventRecord, EventState};
use serde::Serialize;

use super::{Limit, OfAny, shortened};
use crate::errors::CliError;
use crate::lists::{Columns, List};
use crate::output::Output;
use crate::{pages, times};

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

/// An event as it is printed.
#[derive(Debug, Serialize)]
pub(super) struct Record {
    pub(super) id: String,
    r#type: &'static str,
    state: &'static str,
    /// The request or batch; null of a test.
    subject: Option<String>,
    url: Option<String>,
    tries: i64,
    created_at: i64,
    next_try_at: Option<i64>,
    ended_at: Option<i64>,
}

impl From<EventRecord> for Record {
    fn from(event: EventRecord) -> Self {
        let seconds = |time: Option<i64>| time.map(|time| time.div_euclid(1_000));
        let state = match event.state {
            EventState::Live if event.sending_since.is_some() => "sending",
            EventState::Live => "waiting",
            EventState::Delivered => "delivered",
            EventState::Exhausted => "exhausted",
        };
        Self {
            id: event.id.to_string(),
            r#type: event.kind.as_str(),
            state,
            subject: event.subject,
            url: event.url,
            tries: event.tries,
            created_at: event.created_at.div_euclid(1_000),
            next_try_at: seconds(event.due_at),
            ended_at: seconds(event.ended_at),
        }
    }
}

pub(super) async fn run(arguments: &Arguments, services: &Services, output: &Output) -> Result<(), CliError> {
    let Arguments { of, state, limit } = arguments;
    let mut list = List::begin(output, COLUMNS);
    let state = state.map(EventState::from);
    let read = async |before, limit| webhooks::list_events(services, of.account, state, before, limit).await;
    let print = async |event| {
        let record = Record::from(event);
        let (happened, tries) = (times::utc(record.created_at), record.tries.to_string());
        let next = times::utc_or_dash(record.next_try_at);
        let url = shortened(record.url.as_deref().unwrap_or("-"));
        list.row(&record, &[&happened, &record.id, record.r#type, record.state, &tries, &next, &url])
    };
    pages::each_row(limit.limit.into(), read, print).await?;
    if list.end()? == 0 {
        output.note("there are no such events");
    }
    Ok(())
}
