//! Receivers, forbidden addresses, and senders.

mod clocks;
mod kernel;
mod listeners;
mod receiver;
mod resolvers;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use overnight_base::clock::{ManualClock, SharedClock};
use overnight_config::{Config, Sources};
use overnight_domain::ids::EventId;
use overnight_domain::webhooks::Answer;
use overnight_outgoing::webhooks::{EngineAddresses, Failure, Message, Policy, Resolve, Sender, Tried};

pub(super) use self::clocks::{Asked, Stepped};
pub(super) use self::kernel::taken_in;
pub(super) use self::listeners::{Forbidden, deaf, two_addresses};
pub(super) use self::receiver::{Receiver, Then};
pub(super) use self::resolvers::{Lingering, Names, Silent, Turns};
pub(super) use crate::support::Authority;

/// Real-time limit for an expected event.
const PATIENCE: Duration = Duration::from_secs(60);

pub(super) const BODY: &[u8] = br#"{"type":"request.completed","data":{}}"#;

/// A configuration of these variables, without their prefix.
pub(super) fn config(variables: &[(&str, &str)]) -> Config {
    let environment =
        variables.iter().map(|(name, value)| (format!("OVERNIGHT_{name}"), (*value).to_owned())).collect();
    Config::load(&Sources { environment, ..Sources::default() }).unwrap()
}

pub(super) fn strict() -> Config {
    config(&[])
}

/// Settings that allow http and every address.
pub(super) fn insecure() -> Config {
    config(&[("WEBHOOKS__ALLOW_INSECURE_TARGETS", "true")])
}

pub(super) fn allowing(network: &str) -> Config {
    config(&[("WEBHOOKS__ALLOW_NETWORKS", &format!("[{network:?}]"))])
}

pub(super) fn always(config: &Config) -> Arc<dyn Fn() -> Arc<Config> + Send + Sync> {
    let config = Arc::new(config.clone());
    Arc::new(move || Arc::clone(&config))
}

pub(super) fn nobody() -> EngineAddresses {
    Arc::new(Vec::new)
}

/// A sender with these settings in a process without a listener, on a stopped clock.
pub(super) fn sender(config: &Config, resolver: impl Resolve + 'static) -> Sender {
    sender_at(config, resolver, ManualClock::at(0))
}

pub(super) fn sender_at(config: &Config, resolver: impl Resolve + 'static, clock: SharedClock) -> Sender {
    Sender::new(Policy::new(always(config), Vec::new(), nobody()), Arc::new(resolver), clock)
}

pub(super) fn message(url: &str) -> Message {
    Message {
        url: url.to_owned(),
        id: EventId::from_bits(7),
        timestamp_s: 1_700_000_000,
        signature: "v1,c2lnbmF0dXJl".to_owned(),
        body: Bytes::from_static(BODY),
        traceparent: None,
        hold: Arc::new(()),
    }
}

/// The result of a try, which must end.
pub(super) async fn send(sender: &Sender, url: &str) -> Tried {
    soon(sender.send(message(url)), url).await
}

/// The status of an answered try, or its failure.
pub(super) fn outcome(tried: &Tried) -> Result<u16, Failure> {
    match (tried.answer, tried.failure) {
        (Answer::Status(status), None) => Ok(status),
        (Answer::None, Some(failure)) => Err(failure),
        other => panic!("{other:?}"),
    }
}

pub(super) async fn soon<T>(work: impl Future<Output = T>, what: &str) -> T {
    tokio::time::timeout(PATIENCE, work).await.unwrap_or_else(|_| panic!("never: {what}"))
}
