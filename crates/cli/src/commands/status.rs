//! `overnight status`: the state of a request or a batch.

use clap::Args;
use overnight_client::{BatchSummary, RequestSummary};

use crate::connection::connect;
use crate::errors::{CliError, Exit};
use crate::globals::Globals;
use crate::output::Output;
use crate::subjects::Subject;
use crate::times;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// A request (req_…) or a batch (batch_…).
    #[arg(value_parser = Subject::parse)]
    id: Subject,
}

pub(crate) async fn run(arguments: Arguments, globals: &Globals, output: &Output) -> Result<Exit, CliError> {
    let client = connect(globals)?;
    match arguments.id {
        Subject::Request(id) => print_request(output, &client.get_request_status(&id).await?)?,
        Subject::Batch(id) => print_batch(output, &client.get_batch_status(&id).await?)?,
    }
    Ok(Exit::Done)
}

pub(crate) fn print_request(output: &Output, request: &RequestSummary) -> Result<(), CliError> {
    let times = [
        ("created", Some(request.created_at)),
        ("expires", Some(request.expires_at)),
        ("in progress", request.in_progress_at),
        ("ended", request.ended_at),
        ("estimated", request.estimated_completion_at),
    ];
    output.either(request, || describe(&request.id, request.status.as_str(), "", &times))
}

pub(crate) fn print_batch(output: &Output, batch: &BatchSummary) -> Result<(), CliError> {
    let counts = &batch.requests_counts;
    let requests = format!(
        "\n{:<13}{} in all: {} completed, {} failed, {} cancelled, {} in progress, {} registered",
        "requests",
        counts.total,
        counts.completed,
        counts.failed,
        counts.cancelled,
        counts.in_progress,
        counts.registered
    );
    let times = [
        ("created", Some(batch.created_at)),
        ("in progress", batch.in_progress_at),
        ("completed", batch.completed_at),
        ("cancelled", batch.cancelled_at),
        ("estimated", batch.estimated_completion_at),
    ];
    output.either(batch, || describe(&batch.id, batch.status.as_str(), &requests, &times))
}

fn describe(id: &str, status: &str, more: &str, times: &[(&str, Option<i64>)]) -> String {
    let times = times.iter().filter_map(|(name, at)| Some(format!("\n{name:<13}{}", times::utc((*at)?))));
    format!("{id}\n{:<13}{status}{more}{}", "status", times.collect::<String>())
}
