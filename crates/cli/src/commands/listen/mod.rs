//! `overnight listen`: receives webhooks on this machine, for developers of receivers.

mod events;
mod forwarding;
mod receiver;
mod seen;
mod server;

use std::net::SocketAddr;
use std::sync::Arc;

use clap::Args;
use overnight_domain::webhooks::signature::SigningSecret;
use reqwest::Url;
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use crate::errors::{CliError, Exit};
use crate::interrupt::Interrupt;
use crate::output::Output;
use forwarding::Target;
use receiver::Receiver;

const WHERE_IT_IS: &str =
    "`overnight webhook secret --account ACCOUNT` shows it; put it into OVERNIGHT_WEBHOOK_SECRET";

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The address and port to listen at; port 0 is any that is free.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8787")]
    listen: SocketAddr,
    /// Where to send on what is rightly signed, such as http://127.0.0.1:3000/hooks: the service gets the status that
    /// comes from there.
    #[arg(long, value_name = "URL", value_parser = forwarding::parse)]
    forward_to: Option<Url>,
    /// The signing secret of the account, whsec_…; several while it is being changed, or of several accounts. Better in
    /// the environment, parted by commas: other users of the machine can read command lines.
    #[arg(
        long = "secret",
        value_name = "SECRET",
        env = "OVERNIGHT_WEBHOOK_SECRET",
        hide_env_values = true,
        value_delimiter = ','
    )]
    secrets: Vec<String>,
}

pub(crate) async fn run(arguments: Arguments, output: &Output) -> Result<Exit, CliError> {
    let Arguments { listen, forward_to, secrets } = arguments;
    let secrets = parse_secrets(&secrets)?;
    let target = forward_to.map(Target::new).transpose()?;
    let interrupt = Interrupt::listen()?;
    let unusable = |error| {
        CliError::unusable(format!("{listen}: {error}")).with_hint("another port is named with --listen")
    };
    let listener = TcpListener::bind(listen).await.map_err(unusable)?;
    tell(listener.local_addr().map_err(unusable)?, target.as_ref(), output);
    let (unprinted, cannot_print) = mpsc::channel(1);
    let receiver = Arc::new(Receiver::new(secrets, target, *output, unprinted));
    server::serve(listener, receiver, &interrupt, cannot_print).await?;
    Ok(Exit::Done)
}

/// Parses the secrets. Errors do not repeat them.
fn parse_secrets(texts: &[String]) -> Result<Vec<SigningSecret>, CliError> {
    let mut secrets = Vec::new();
    for text in texts.iter().filter(|text| !text.trim().is_empty()) {
        secrets.push(SigningSecret::parse(text).ok_or_else(|| {
            let place = if texts.len() > 1 { format!(" {}", secrets.len() + 1) } else { String::new() };
            let message = format!("the signing secret{place} is not whsec_ and the base64 of 24 to 64 bytes");
            CliError::unusable(message).with_hint(WHERE_IT_IS)
        })?);
    }
    if secrets.is_empty() {
        return Err(
            CliError::unusable("without a signing secret nothing can be believed").with_hint(WHERE_IT_IS)
        );
    }
    Ok(secrets)
}

/// Prints the address, and the settings that the service needs to call it.
fn tell(address: SocketAddr, target: Option<&Target>, output: &Output) {
    output.note(&format!("listening for webhooks at http://{address}; Ctrl-C ends it"));
    if let Some(target) = target {
        output.note(&format!("what is rightly signed is sent on to {}", target.name()));
    }
    output.note(
        "the service calls it only with `allow_insecure_targets = true` under [webhooks], or with \
         OVERNIGHT_WEBHOOKS__ALLOW_INSECURE_TARGETS=true in its environment",
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

    #[test]
    fn secrets_are_read_and_a_bad_one_is_not_repeated() {
        let parse = |texts: &[&str]| {
            let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
            parse_secrets(&texts).map(|secrets| secrets.len()).map_err(|error| error.message().to_owned())
        };
        assert_eq!(parse(&[GOOD, "", GOOD]), Ok(2));
        assert!(parse(&[]).is_err() && parse(&[" "]).is_err());
        for (texts, expected) in [
            (&["whsec_abcdef"][..], "the signing secret is not"),
            (&[GOOD, "abcdef"], "the signing secret 2 is not"),
        ] {
            let message = parse(texts).unwrap_err();
            assert!(message.starts_with(expected) && !message.contains("abcdef"), "{message}");
        }
    }
}
