//! `overnight openapi`: the document of the HTTP API.

use crate::errors::{CliError, Exit};
use crate::output::Output;

pub(crate) fn run(output: &Output) -> Result<Exit, CliError> {
    output.line(overnight_http::OPENAPI_JSON.trim_end())?;
    Ok(Exit::Done)
}
