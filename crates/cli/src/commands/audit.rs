//! `overnight audit`: recounts the store's invariants.

use clap::Args;
use overnight_store::objects::{self, Present};
use overnight_store::operations::audit::{self, Check};
use serde_json::json;

use super::operator;
use crate::errors::{CliError, Exit};
use crate::globals::Globals;
use crate::output::{Output, Tone};

const OBJECTS: &str = "each object in use is in the object store, as long as it was put";

#[derive(Debug, Args)]
#[command(after_help = "\
With --objects the object store is listed too, and the database compared with it: after a restore of either, for example. No
object is read, so one that was changed and is as long as before is not found. Credentials that may only read are enough.")]
pub(crate) struct Arguments {
    /// Also list the object store, and look there for each object in use.
    #[arg(long)]
    objects: bool,
}

pub(crate) async fn run(arguments: Arguments, globals: &Globals, output: &Output) -> Result<Exit, CliError> {
    let services = operator::open_to_read(globals).await?;
    let mut checks = audit::run(&services.store).await?;
    let present = match arguments.objects {
        true => Some(Box::pin(objects::audit(&services.store)).await?),
        false => None,
    };
    checks.extend(present.as_ref().map(check_of));
    let is_sound = checks.iter().all(|check| check.breaches == 0);
    if output.is_json {
        let rules: Vec<_> = checks
            .iter()
            .map(|check| json!({"rule": check.rule, "checked": check.checked, "breaches": check.breaches}))
            .collect();
        let mut told = json!({"is_sound": is_sound, "rules": rules});
        if let Some(Present { missing, damaged, unnamed, .. }) = present {
            told["objects"] = json!({"missing": missing, "damaged": damaged, "unnamed": unnamed});
        }
        output.object(&told)?;
    } else {
        for check in &checks {
            let word = if check.breaches == 0 { "holds " } else { "BROKEN" };
            let figures = format!("{} checked, {} breaches", check.checked, check.breaches);
            output.line(&format!("{word}  {} ({figures})", check.rule))?;
        }
        if let Some(present) = present {
            output.line(&in_words(present))?;
        }
    }
    if is_sound {
        return Ok(Exit::Done);
    }
    let is_objects_alone = checks.iter().all(|check| check.breaches == 0 || check.rule == OBJECTS);
    let advice = match is_objects_alone {
        true => {
            "objects are missing or cut: after a restore these may be the ones that were deleted since the backup; otherwise copy them back \
             from a replica or an old version of the bucket (docs/operating/object-store.md)"
        }
        false => "a rule is broken: keep the data folder as it is, and report this",
    };
    output.say(&output.set_off(advice, Tone::Bad));
    Ok(Exit::Failed)
}

fn check_of(present: &Present) -> Check {
    Check { rule: OBJECTS, checked: present.used, breaches: present.missing + present.damaged }
}

fn in_words(Present { missing, damaged, unnamed, .. }: Present) -> String {
    format!(
        "        objects: {missing} missing, {damaged} of another length, {unnamed} that the database does not name"
    )
}
