//! The address of the service that holds a data folder, and its loaded settings: `serve.json` in that folder.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};

use overnight_config::Config;
use overnight_store::FolderLock;
use serde::{Deserialize, Serialize};

use crate::errors::CliError;
use crate::files::AtomicFile;
use crate::settings_file::{LoadedSettings, ReloadOutcome, SettingsFile};

const FILE: &str = "serve.json";

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Contents {
    pid: u32,
    /// The address for clients on this machine.
    url: String,
    address: SocketAddr,
    /// `None` for a process that does not reload settings.
    settings: Option<LoadedSettings>,
}

/// The file of this process's service. Dropping it removes the file.
#[derive(Debug)]
pub(crate) struct ServeFile {
    path: PathBuf,
    contents: Contents,
}

impl ServeFile {
    /// Writes that this process serves `data_dir` at `address`, that clients call it by `url`, and the `settings` that it reloads on
    /// request.
    pub(crate) fn write(
        data_dir: &Path,
        address: SocketAddr,
        url: &str,
        settings: Option<SettingsFile>,
    ) -> Result<Self, CliError> {
        let settings = settings.map(|file| LoadedSettings { file, reloads: 0, last: None });
        let contents = Contents { pid: std::process::id(), url: url.to_owned(), address, settings };
        let written = Self { path: data_dir.join(FILE), contents };
        written.store()?;
        Ok(written)
    }

    /// Notes the outcome of a reload of settings.
    pub(crate) fn note_reload(&mut self, file: SettingsFile, outcome: ReloadOutcome) -> Result<(), CliError> {
        if let Some(settings) = &mut self.contents.settings {
            if let ReloadOutcome::Loaded { .. } = outcome {
                settings.file = file;
            }
            settings.reloads += 1;
            settings.last = Some(outcome);
        }
        self.store()
    }

    fn store(&self) -> Result<(), CliError> {
        let written = || {
            let mut file = AtomicFile::create_private(&self.path)?;
            serde_json::to_writer(&mut file, &self.contents)?;
            file.commit()
        };
        written().map_err(|error| CliError::file(&self.path, &error))
    }
}

impl Drop for ServeFile {
    fn drop(&mut self) {
        // A remaining file names a process that no longer holds the folder, so it is ignored.
        let _ = fs::remove_file(&self.path);
    }
}

/// The URL of the process that serves `data_dir` now; `None` if there is none or it has not written its address yet.
pub(crate) fn url_of_running(data_dir: &Path) -> Option<String> {
    Some(running(data_dir)?.url)
}

/// The address of that process, as reached from this machine.
pub(crate) fn address_of_running(data_dir: &Path) -> Option<SocketAddr> {
    Some(reached_here(running(data_dir)?.address))
}

/// The process that serves `data_dir` now, and its settings, if it reloads them.
pub(crate) fn settings_of_running(data_dir: &Path) -> Option<(u32, Option<LoadedSettings>)> {
    running(data_dir).map(|contents| (contents.pid, contents.settings))
}

fn running(data_dir: &Path) -> Option<Contents> {
    let holder = FolderLock::holder(data_dir)?;
    let contents: Contents = serde_json::from_slice(&fs::read(data_dir.join(FILE)).ok()?).ok()?;
    (contents.pid.to_string() == holder).then_some(contents)
}

/// The URL of `address` from this machine.
pub(crate) fn url_of(address: SocketAddr) -> String {
    format!("http://{}", reached_here(address))
}

/// The URL of a service with these settings at `address`, from this machine. With TLS it is the public URL, if there is one, because the
/// certificate is for that name.
pub(crate) fn url_of_service(config: &Config, address: SocketAddr) -> String {
    match &config.public_url {
        Some(url) if config.tls.is_some() => url.as_str().trim_end_matches('/').to_owned(),
        _ => format!("{}://{}", config.scheme(), reached_here(address)),
    }
}

/// The address to call from this machine for a service that listens at `address`.
pub(crate) fn reached_here(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_every_interface_is_reached_on_loopback() {
        for (address, expected) in [
            ("127.0.0.1:8080", "http://127.0.0.1:8080"),
            ("0.0.0.0:80", "http://127.0.0.1:80"),
            ("[::]:81", "http://[::1]:81"),
            ("10.1.2.3:82", "http://10.1.2.3:82"),
        ] {
            assert_eq!(url_of(address.parse().unwrap()), expected);
        }
    }

    #[test]
    fn an_address_reads_back() {
        let folder = tempfile::tempdir().unwrap();
        let _lock = FolderLock::take(folder.path()).unwrap();
        for address in ["127.0.0.1:9", "[::1]:80"] {
            let _file =
                ServeFile::write(folder.path(), address.parse().unwrap(), "https://night", None).unwrap();
            assert_eq!(url_of_running(folder.path()).as_deref(), Some("https://night"));
            assert_eq!(address_of_running(folder.path()), address.parse().ok());
        }
    }

    #[test]
    fn a_file_whose_process_holds_no_lock_is_not_believed() {
        let folder = tempfile::tempdir().unwrap();
        let address = "127.0.0.1:9".parse().unwrap();
        let file = ServeFile::write(folder.path(), address, &url_of(address), None).unwrap();
        assert_eq!(url_of_running(folder.path()), None);
        let lock = FolderLock::take(folder.path()).unwrap();
        assert_eq!(url_of_running(folder.path()).as_deref(), Some("http://127.0.0.1:9"));
        drop(file);
        assert_eq!(url_of_running(folder.path()), None);
        drop(lock);
    }
}
