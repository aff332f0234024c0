//! `overnight cancel`: a request, or a batch with its requests.

use clap::Args;
use overnight_client::{BatchSummary, FullBatch, FullRequest, RequestSummary};

use super::status::{print_batch, print_request};
use crate::connection::connect;
use crate::errors::{CliError, Exit};
use crate::globals::Globals;
use crate::output::Output;
use crate::subjects::Subject;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// A request (req_…) or a batch (batch_…).
    #[arg(value_parser = Subject::parse)]
    id: Subject,
}

pub(crate) async fn run(arguments: Arguments, globals: &Globals, output: &Output) -> Result<Exit, CliError> {
    let client = connect(globals)?;
    match arguments.id {
        Subject::Request(id) => print_request(output, &status_of(client.cancel_request(&id).await?))?,
        Subject::Batch(id) => print_batch(output, &batch_status_of(client.cancel_batch(&id).await?))?,
    }
    Ok(Exit::Done)
}

fn status_of(request: FullRequest) -> RequestSummary {
    let FullRequest { id, status, created_at, expires_at, in_progress_at, ended_at, .. } = request;
    RequestSummary {
        id,
        status,
        created_at,
        expires_at,
        in_progress_at,
        ended_at,
        waiting_for: None,
        estimated_completion_at: None,
    }
}

fn batch_status_of(batch: FullBatch) -> BatchSummary {
    let FullBatch {
        id, status, requests_counts, created_at, in_progress_at, completed_at, cancelled_at, ..
    } = batch;
    BatchSummary {
        id,
        status,
        requests_counts,
        created_at,
        in_progress_at,
        completed_at,
        cancelled_at,
        estimated_completion_at: None,
    }
}
