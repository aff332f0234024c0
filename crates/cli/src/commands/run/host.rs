//! The service of a run: the one that holds the data folder, or one in this process.

use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use overnight_app::Services;
use overnight_app::requests::waiting;
use overnight_base::supervision::Failure;
use overnight_client::Client;
use overnight_config::{Config, Millis};
use overnight_engine_clients::{EmbeddedState, EngineClient};
use overnight_server::service::{Service, ServiceError};
use overnight_store::StoreError;

use crate::commands::operator;
use crate::connection::local_key;
use crate::errors::CliError;
use crate::globals::Globals;
use crate::logging;
use crate::serve_file::{ServeFile, url_of, url_of_running};
use crate::times;

/// The log of the service in this process, in the data folder.
const LOG_FILE: &str = "run.log";

/// The time limit in which a service that has just taken the folder must write its address.
const ADDRESS_MS_MAX: i64 = 10_000;
const ADDRESS_PAUSE_MS: i64 = 100;

/// If the run's only engine is unavailable for this long, the run gives up.
const ABSENCE_MS_MAX: i64 = 15_000;
const TROUBLE_PAUSE_MS: i64 = 500;

pub(super) struct Host {
    data_dir: PathBuf,
    url: String,
    own: Option<(Service, ServeFile)>,
}

impl Host {
    /// Starts a service over the data folder, or finds the one that holds it.
    pub(super) async fn find_or_start(mut config: Config) -> Result<Self, CliError> {
        let data_dir = config.data_dir.clone();
        if let Some(url) = url_of_running(&data_dir) {
            return Ok(Self { data_dir, url, own: None });
        }
        config.listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        (config.public_url, config.tls, config.metrics_listen) = (None, None, None);
        config.drain = Millis(0);
        log_to(&data_dir, &config)?;
        match Service::start(config).await {
            Ok(service) => {
                let url = url_of(service.address());
                let file = ServeFile::write(&data_dir, service.address(), &url, None)?;
                Ok(Self { data_dir, url, own: Some((service, file)) })
            }
            Err(ServiceError::Store(error @ StoreError::Locked { .. })) => {
                let url = wait_for_address(&data_dir).await.ok_or(error)?;
                Ok(Self { data_dir, url, own: None })
            }
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn client(&self) -> Result<Client, CliError> {
        Ok(Client::new(&self.url, &local_key(&self.data_dir)?)?)
    }

    /// Access for operators: this process's own service, or the store of another process's service. `None` if that cannot be opened; the
    /// service continues.
    pub(super) async fn services(&self, globals: &Globals) -> Option<Services> {
        match &self.own {
            Some((service, _)) => Some(service.services().clone()),
            None => operator::open(globals).await.ok(),
        }
    }

    /// Returns when the service in this process has failed.
    pub(super) async fn failed(&self) -> Failure {
        match &self.own {
            Some((service, _)) => service.failed().await,
            None => std::future::pending().await,
        }
    }

    /// Returns an engine's failure once all of this process's engines for `model` (or any model) have been unavailable for long.
    pub(super) async fn trouble(&self, model: Option<&str>) -> CliError {
        loop {
            let engines = self.own.iter().flat_map(|(service, _)| service.engines());
            let is_meant =
                |engine: &Arc<EngineClient>| model.is_none_or(|it| engine.config().models.contains_key(it));
            let engines = engines.filter(is_meant);
            let reasons: Vec<Option<String>> = engines.map(|engine| reason_of_absence(&engine)).collect();
            if let Some(Some(reason)) = reasons.first()
                && reasons.iter().all(Option::is_some)
            {
                let hint = format!(
                    "`overnight doctor` looks at it; the log is {}",
                    self.data_dir.join(LOG_FILE).display()
                );
                return CliError::unavailable(reason).with_hint(hint);
            }
            times::pause(TROUBLE_PAUSE_MS).await;
        }
    }

    /// Stops the service, if it is in this process.
    pub(super) async fn shutdown(self) {
        if let Some((service, file)) = self.own {
            drop(file);
            service.shutdown().await;
        }
    }
}

/// Why no requests are sent although some wait: a sentence for each model.
pub(super) async fn hindrances(services: Option<&Services>) -> Vec<String> {
    let Some(services) = services else { return Vec::new() };
    // On a failure, the next turn reads again.
    let found = waiting::hindrances(services).await.unwrap_or_default();
    let describe = |(model, reason): (String, waiting::WaitingReason)| {
        let words = reason.words().map(|words| format!(": {words}")).unwrap_or_default();
        let until = reason.until().filter(|at| !reason.is_fault() && *at < i64::MAX);
        let until = until.map(|at| format!(" until {}", times::utc(at / 1_000))).unwrap_or_default();
        format!("nothing moves: each request for `{model}` {reason}{until}{words}")
    };
    found.into_iter().map(describe).collect()
}

fn log_to(data_dir: &Path, config: &Config) -> Result<(), CliError> {
    let path = data_dir.join(LOG_FILE);
    let file = File::options().append(true).create(true).open(&path);
    logging::to_file(config, file.map_err(|error| CliError::file(&path, &error))?);
    Ok(())
}

/// Why an engine has been unavailable for long, if it has.
fn reason_of_absence(engine: &EngineClient) -> Option<String> {
    match &*engine.embedded_state()?.borrow() {
        EmbeddedState::Down { since, reason } if times::now() - since >= ABSENCE_MS_MAX => {
            Some(format!("the engine `{}` does not come up: {reason}", engine.config().name))
        }
        _ => None,
    }
}

async fn wait_for_address(data_dir: &Path) -> Option<String> {
    let ends_at = times::now() + ADDRESS_MS_MAX;
    while times::now() < ends_at {
        if let Some(url) = url_of_running(data_dir) {
            return Some(url);
        }
        times::pause(ADDRESS_PAUSE_MS).await;
    }
    None
}
