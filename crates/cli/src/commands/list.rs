//! `overnight list`: requests or batches, newest first.

use clap::{Args, ValueEnum};
use overnight_client::{BatchFilter, BatchStatus, BatchSummary, Client, Order, RequestFilter, RequestStatus};
use serde::{Deserialize, Serialize};

use crate::connection::connect;
use crate::errors::{CliError, Exit};
use crate::fixed_values::{count, statuses};
use crate::globals::Globals;
use crate::lists::{Columns, List};
use crate::output::Output;
use crate::{served_models, times};

const REQUESTS: Columns = &[("REQUEST", 30), ("STATUS", 11), ("CREATED", 20), ("ENDED", 20)];
const BATCHES: Columns = &[
    ("BATCH", 32),
    ("STATUS", 11),
    ("CREATED", 20),
    ("REQUESTS", 8),
    ("COMPLETED", 9),
    ("FAILED", 6),
    ("NAME", 0),
];

#[derive(Debug, Clone, Copy, ValueEnum)]
enum What {
    Requests,
    Batches,
}

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// What to list.
    #[arg(default_value = "requests")]
    what: What,
    /// Only those in this state.
    #[arg(long, value_parser = statuses())]
    status: Option<String>,
    /// Only requests to this model.
    #[arg(long)]
    model: Option<String>,
    /// At most so many; 0 for all.
    #[arg(long, value_name = "COUNT", default_value_t = 50, value_parser = count)]
    limit: usize,
}

/// A batch without the list of its requests, which may be very long.
#[derive(Debug, Serialize, Deserialize)]
struct BatchRow {
    #[serde(flatten)]
    status: BatchSummary,
    webhook: Option<String>,
    metadata: Option<serde_json::Value>,
}

pub(crate) async fn run(arguments: Arguments, globals: &Globals, output: &Output) -> Result<Exit, CliError> {
    let client = connect(globals)?;
    let listed = match arguments.what {
        What::Requests => list_requests(&client, &arguments, output).await?,
        What::Batches => list_batches(&client, &arguments, output).await?,
    };
    if listed == arguments.limit && !output.is_json {
        output.note(&format!("the newest {listed}; --limit 0 lists all"));
    }
    Ok(Exit::Done)
}

async fn list_requests(client: &Client, arguments: &Arguments, output: &Output) -> Result<usize, CliError> {
    let filter = RequestFilter {
        status: arguments.status.as_deref().map(request_state).transpose()?,
        model: arguments.model.clone(),
        limit: (arguments.limit > 0).then_some(arguments.limit as u64),
        order: Some(Order::Desc),
        ..RequestFilter::default()
    };
    let mut requests = client.list_requests(&filter).await?;
    let mut next = requests.next().await;
    // A model that is no longer served may still have requests.
    if let (None, Some(model)) = (&next, &arguments.model) {
        served_models::check(client, model).await?;
    }
    let mut list = List::begin(output, REQUESTS);
    while let Some(request) = next {
        let request = request?;
        next = requests.next().await;
        let (created, ended) = (times::utc(request.created_at), times::utc_or_dash(request.ended_at));
        list.row(&request, &[&request.id, request.status.as_str(), &created, &ended])?;
    }
    list.end()
}

async fn list_batches(client: &Client, arguments: &Arguments, output: &Output) -> Result<usize, CliError> {
    if arguments.model.is_some() {
        return Err(CliError::unusable("--model tells requests apart, not batches"));
    }
    let filter = BatchFilter {
        status: arguments.status.as_deref().map(batch_state).transpose()?,
        limit: (arguments.limit > 0).then_some(arguments.limit as u64),
        order: Some(Order::Desc),
        requests_ids: Some(false),
        ..BatchFilter::default()
    };
    let mut batches = client.list_batches(&filter).await?.into_raw();
    let mut list = List::begin(output, BATCHES);
    while let Some(line) = batches.next().await {
        let batch: BatchRow = serde_json::from_slice(&line?)
            .map_err(|error| CliError::unavailable(format!("a batch cannot be read: {error}")))?;
        let counts = batch.status.requests_counts;
        let [total, completed, failed] =
            [counts.total, counts.completed, counts.failed].map(|count| count.to_string());
        let name =
            batch.metadata.as_ref().and_then(|metadata| metadata.get("batch_name")?.as_str()).unwrap_or("-");
        let (status, created) = (batch.status.status.as_str(), times::utc(batch.status.created_at));
        list.row(&batch, &[&batch.status.id, status, &created, &total, &completed, &failed, name])?;
    }
    list.end()
}

fn request_state(name: &str) -> Result<RequestStatus, CliError> {
    RequestStatus::parse(&name.replace('_', " "))
        .ok_or_else(|| no_state(name, &RequestStatus::ALL.map(RequestStatus::as_str)))
}

fn batch_state(name: &str) -> Result<BatchStatus, CliError> {
    BatchStatus::parse(&name.replace('_', " "))
        .ok_or_else(|| no_state(name, &BatchStatus::ALL.map(BatchStatus::as_str)))
}

fn no_state(name: &str, known: &[&str]) -> CliError {
    CliError::unusable(format!("{name:?} is no state; they are: {}", known.join(", ")))
}
