//! `overnight watch`: follows a request or a batch to its end.

use clap::Args;
use overnight_client::{BatchSummary, RequestStatus};

use super::status::{print_batch, print_request};
use crate::connection::connect;
use crate::errors::{CliError, Exit};
use crate::globals::Globals;
use crate::interrupt::Interrupt;
use crate::output::Output;
use crate::subjects::Subject;
use crate::waiting::{self, Waited};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// A request (req_…) or a batch (batch_…).
    #[arg(value_parser = Subject::parse)]
    id: Subject,
}

pub(crate) async fn run(arguments: Arguments, globals: &Globals, output: &Output) -> Result<Exit, CliError> {
    let client = connect(globals)?;
    let interrupt = Interrupt::listen()?;
    match arguments.id {
        Subject::Request(id) => match waiting::for_request(&client, &id, output, &interrupt).await? {
            Waited::Ended(request) => {
                print_request(output, &request)?;
                Ok(if request.status == RequestStatus::Completed { Exit::Done } else { Exit::Failed })
            }
            Waited::Stopped => Err(stopped(&[id])),
        },
        Subject::Batch(id) => {
            let ids = [id];
            match waiting::for_batches(&client, &ids, output, &interrupt, waiting::no_reasons).await? {
                Waited::Ended(batches) => {
                    batches.iter().try_for_each(|batch| print_batch(output, batch))?;
                    Ok(exit_of(&batches))
                }
                Waited::Stopped => Err(stopped(&ids)),
            }
        }
    }
}

/// Success if every request of the batches completed.
pub(crate) fn exit_of(batches: &[BatchSummary]) -> Exit {
    let counts = waiting::total(batches);
    if counts.completed == counts.total { Exit::Done } else { Exit::Failed }
}

/// The user stopped waiting; the requests continue.
pub(crate) fn stopped(ids: &[String]) -> CliError {
    let commands: Vec<String> = ids.iter().map(|id| format!("overnight watch {id}")).collect();
    CliError::interrupted("stopped watching; nothing was cancelled")
        .with_hint(format!("wait again with: {}", commands.join("; ")))
}
