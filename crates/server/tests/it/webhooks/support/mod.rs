//! Who is called, who must not be, and what a try is made with.

mod clocks;
mod kernel;
mod listeners;
mod receiver;
mod resolvers;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use overnight_base::clock::{ManualClock, SharedClock};
use overnight_domain::ids::EventId;
use overnight_server::config::{Config, Sources};
use overnight_server::webhooks::{EngineAddresses, Message, Policy, Resolve, Sender, Tried};

pub(super) use self::clocks::{Asked, Stepped};
pub(super) use self::kernel::taken_in;
pub(super) use self::listeners::{Forbidden, deaf, two_addresses};
pub(super) use self::receiver::{Receiver, Then};
pub(super) use self::resolvers::{Lingering, Names, Silent, Turns};
pub(super) use crate::support::Authority;

/// How long a test waits for what must come, in real time.
const PATIENCE: Duration = Duration::from_secs(60);

pub(super) const BODY: &[u8] = br#"{"type":"request.completed","data":{}}"#;

/// A configuration of these variables, without their prefix.
pub(super) fn config(variables: &[(&str, &str)]) -> Config {
    let environment =
        variables.iter().map(|(name, value)| (format!("OVERNIGHT_{name}"), (*value).to_owned())).collect();
    Config::load(&Sources { environment, ..Sources::default() }).unwrap()
}

/// The settings of a new installation.
pub(super) fn strict() -> Config {
    config(&[])
}

/// Settings that allow http and every address.
pub(super) fn insecure() -> Config {
    config(&[("WEBHOOKS__ALLOW_INSECURE_TARGETS", "true")])
}

/// Settings that allow this network.
pub(super) fn allowing(network: &str) -> Config {
    config(&[("WEBHOOKS__ALLOW_NETWORKS", &format!("[{network:?}]"))])
}

/// Settings that are never loaded again.
pub(super) fn always(config: &Config) -> Arc<dyn Fn() -> Arc<Config> + Send + Sync> {
    let config = Arc::new(config.clone());
    Arc::new(move || Arc::clone(&config))
}

/// No embedded engine listens anywhere.
pub(super) fn nobody() -> EngineAddresses {
    Arc::new(Vec::new)
}

/// A sender with these settings, in a process that listens nowhere; its time stands still.
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

/// How a try goes, which has to end.
pub(super) async fn send(sender: &Sender, url: &str) -> Tried {
    soon(sender.send(message(url)), url).await
}

pub(super) async fn soon<T>(work: impl Future<Output = T>, what: &str) -> T {
    tokio::time::timeout(PATIENCE, work).await.unwrap_or_else(|_| panic!("never: {what}"))
}
