//! Checks that people can sign in to the console.

use std::sync::Arc;

use overnight_base::clock::{SharedClock, SystemClock};
use overnight_config::{Config, NoConsole};
use overnight_outgoing::openid::OpenId;

use super::Finding;

const CHECK: &str = "console";

pub(super) async fn check(config: &Config) -> Vec<Finding> {
    let console = match config.console_origin() {
        Ok(_) => Finding::ok(CHECK, format!("browsers reach it at {}", config.public_address("/console"))),
        Err(NoConsole::SwitchedOff) => return vec![Finding::ok(CHECK, "it is switched off")],
        Err(why @ NoConsole::Insecure) => {
            let message = "there is none: it would be reached over http, and passwords with it";
            return vec![Finding::warn(CHECK, message, why.reason())];
        }
    };
    let Some(oidc) = &config.console.oidc else { return vec![console] };
    let clock: SharedClock = Arc::new(SystemClock);
    let provider = OpenId::new(oidc, &config.outgoing, &clock);
    let check = "single sign-on";
    let fit = |error: String| error.trim_start_matches("single sign-on: ").to_owned();
    let finding = match (provider.check(), provider.discover().await) {
        (Ok(()), Ok(())) => Finding::ok(check, format!("{} answers", oidc.issuer)),
        (Err(error), _) => {
            Finding::fail(check, fit(error.to_string()), "set it where the service is started")
        }
        (Ok(()), Err(error)) if error.is_passing() => {
            Finding::warn(check, fit(error.to_string()), "nobody signs in by it until it answers")
        }
        (Ok(()), Err(error)) => Finding::fail(
            check,
            fit(error.to_string()),
            "`console.oidc.issuer` is to be spelled as the provider spells it, slash by slash",
        ),
    };
    vec![console, finding]
}
