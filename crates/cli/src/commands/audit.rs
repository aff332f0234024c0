//! `overnight audit`: what must always hold, recounted.

use overnight_server::store::operations::audit;
use serde_json::json;

use super::operator;
use crate::errors::{CliError, Exit};
use crate::globals::Globals;
use crate::output::{Output, Tone};

pub(crate) async fn run(globals: &Globals, output: &Output) -> Result<Exit, CliError> {
    let services = operator::open(globals).await?;
    let checks = audit::run(&services.store).await?;
    let is_sound = checks.iter().all(|check| check.breaches == 0);
    if output.is_json {
        let rules: Vec<_> = checks
            .iter()
            .map(|check| json!({"rule": check.rule, "checked": check.checked, "breaches": check.breaches}))
            .collect();
        output.object(&json!({"is_sound": is_sound, "rules": rules}))?;
    } else {
        for check in &checks {
            let word = if check.breaches == 0 { "holds " } else { "BROKEN" };
            let figures = format!("{} checked, {} breaches", check.checked, check.breaches);
            output.line(&format!("{word}  {} ({figures})", check.rule))?;
        }
    }
    if is_sound {
        return Ok(Exit::Done);
    }
    output
        .say(&output.set_off("a rule is broken: keep the data folder as it is, and report this", Tone::Bad));
    Ok(Exit::Failed)
}
