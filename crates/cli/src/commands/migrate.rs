//! `overnight migrate`: updates the schema of the database without serving.

use clap::Args;
use overnight_app::store_options;
use overnight_store::schema::{self, Schema};
use serde_json::json;

use crate::errors::{CliError, Exit};
use crate::globals::Globals;
use crate::output::Output;

#[derive(Debug, Args)]
#[command(after_help = "\
`overnight serve` does this at its start, too. On PostgreSQL, services of the last release go on working beside the
newer schema. A folder must not be served while its schema changes.")]
pub(crate) struct Arguments {
    /// Change nothing; exit with 1 where something is missing.
    #[arg(long)]
    check: bool,
}

pub(crate) async fn run(arguments: Arguments, globals: &Globals, output: &Output) -> Result<Exit, CliError> {
    let options = store_options(&globals.load_operator_config()?);
    let schema = match arguments.check {
        true => schema::read(&options).await?,
        false => schema::bring_up_to_date(&options).await?,
    };
    let Schema { found, now, newest } = schema;
    output.either(&json!({"found": found, "now": now, "newest": newest}), || told(schema))?;
    Ok(if now == newest { Exit::Done } else { Exit::Failed })
}

fn told(Schema { found, now, newest }: Schema) -> String {
    if now < newest {
        format!("the schema is {now}, and this program's is {newest}: `overnight migrate` brings it there")
    } else if found < now {
        format!("brought the schema from {found} to {now}")
    } else {
        format!("the schema is {now}, which is up to date")
    }
}
