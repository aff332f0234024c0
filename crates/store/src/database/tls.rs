//! How a connection to a PostgreSQL server is encrypted, and which certificates are trusted.

use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use overnight_base::paths::expanded;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use sqlx::postgres::{PgConnectOptions, PgSslMode};

use crate::StoreError;

/// libpq's name for the machine's trusted authorities.
const SYSTEM: &str = "system";
/// More than many certificates need.
const FILE_BYTES_MAX: u64 = 16 << 20;

#[derive(Debug)]
pub(super) struct Tls {
    mode: PgSslMode,
    /// A file of trusted authorities, or `SYSTEM`; `None` for the compiled-in list.
    roots: Option<PathBuf>,
    /// Files of our own certificate and its key.
    identity: Option<(PathBuf, PathBuf)>,
}

impl Tls {
    /// For a socket of the file system.
    pub(super) const fn none() -> Self {
        Self { mode: PgSslMode::Disable, roots: None, identity: None }
    }

    /// `said` takes the name of a parameter and of the variable that libpq reads without it.
    pub(super) fn new(said: impl Fn(&str, &str) -> Option<String>) -> Result<Self, StoreError> {
        let refused = |fault: &str| Err(StoreError::Url(fault.to_owned()));
        let file = |name, variable| {
            let path = said(name, variable).map(expanded).transpose();
            path.map_err(|wanted| StoreError::Url(format!("`{name}` must be {wanted}")))
        };
        let mode = said("sslmode", "PGSSLMODE").map(|mode| mode.parse()).transpose()?;
        let roots = file("sslrootcert", "PGSSLROOTCERT")?;
        let is_of_system = roots.as_ref().is_some_and(|roots| roots.as_os_str() == SYSTEM);
        let mode = match mode {
            None if is_of_system => PgSslMode::VerifyFull,
            Some(PgSslMode::VerifyFull) => PgSslMode::VerifyFull,
            Some(_) if is_of_system => {
                return refused(
                    "`sslrootcert=system` goes with `sslmode=verify-full` alone: anyone can have a certificate of a public \
                     authority for some host",
                );
            }
            Some(PgSslMode::Require) if roots.is_some() => PgSslMode::VerifyCa,
            mode => mode.unwrap_or_default(),
        };
        let identity = match (file("sslcert", "PGSSLCERT")?, file("sslkey", "PGSSLKEY")?) {
            (Some(certificate), Some(key)) => Some((certificate, key)),
            (None, None) => None,
            (Some(_), None) => return refused("`sslcert` goes with `sslkey`, the file of its key"),
            (None, Some(_)) => return refused("`sslkey` goes with `sslcert`, the file of its certificate"),
        };
        Ok(Self { mode, roots, identity })
    }

    /// Tried in order.
    pub(super) const fn ways(&self) -> &[PgSslMode] {
        match self.mode {
            PgSslMode::Allow => &[PgSslMode::Disable, PgSslMode::Require],
            PgSslMode::Prefer => &[PgSslMode::Prefer, PgSslMode::Disable],
            _ => std::slice::from_ref(&self.mode),
        }
    }

    pub(super) fn add_to(
        &self,
        options: PgConnectOptions,
        mode: PgSslMode,
    ) -> Result<PgConnectOptions, StoreError> {
        let mut options = options.ssl_mode(mode);
        options = match &self.roots {
            Some(roots) if roots.as_os_str() == SYSTEM => options.ssl_root_cert_from_pem(roots_of_system()?),
            Some(roots) => options.ssl_root_cert(roots),
            None => options,
        };
        Ok(match &self.identity {
            Some((certificate, key)) => options.ssl_client_cert(certificate).ssl_client_key(key),
            None => options,
        })
    }

    /// Checks the files first, because the driver does not name the broken one.
    pub(super) fn check_files(&self) -> Result<(), StoreError> {
        let certificates = |bytes: &[u8]| {
            let mut found = CertificateDer::pem_slice_iter(bytes).peekable();
            found.peek().is_some() && found.all(|certificate| certificate.is_ok())
        };
        if let Some(roots) = self.roots.as_ref().filter(|roots| roots.as_os_str() != SYSTEM) {
            check_file("sslrootcert", roots, "holds no certificates in PEM form", certificates)?;
        }
        if let Some((certificate, key)) = &self.identity {
            check_file("sslcert", certificate, "holds no certificates in PEM form", certificates)?;
            let is_key = |bytes: &[u8]| PrivateKeyDer::from_pem_slice(bytes).is_ok();
            check_file("sslkey", key, "holds no key in PEM form without a password", is_key)?;
        }
        Ok(())
    }
}

/// The certificates that this machine trusts, as a file's content.
fn roots_of_system() -> Result<Vec<u8>, StoreError> {
    let roots = rustls_native_certs::load_native_certs();
    if roots.certs.is_empty() {
        let why = roots.errors.first().map_or(String::new(), |error| format!(" ({error})"));
        return Err(StoreError::Url(format!(
            "`sslrootcert=system`: this machine trusts no authority{why}: install ca-certificates, or set SSL_CERT_FILE"
        )));
    }
    let block = |certificate: CertificateDer<'_>| {
        format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", STANDARD.encode(certificate))
    };
    Ok(roots.certs.into_iter().map(block).collect::<String>().into_bytes())
}

fn check_file(
    parameter: &'static str,
    path: &Path,
    fault: &'static str,
    is_good: impl Fn(&[u8]) -> bool,
) -> Result<(), StoreError> {
    let failed = |fault| StoreError::Certificate { parameter, path: path.display().to_string(), fault };
    let read = || {
        let length = fs::metadata(path)?.len();
        if length > FILE_BYTES_MAX { Ok(None) } else { fs::read(path).map(Some) }
    };
    match read() {
        Err(error) => Err(failed(error.to_string())),
        Ok(Some(bytes)) if is_good(&bytes) => Ok(()),
        Ok(_) => Err(failed(fault.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tls_is_decided_by_the_url_then_by_variables() {
        let tls = |said: &[(&str, &str)]| {
            let find =
                |name: &str| said.iter().find(|(it, _)| *it == name).map(|(_, value)| (*value).to_owned());
            Tls::new(|name, variable| find(name).or_else(|| find(variable)))
        };
        for (said, wanted) in [
            (&[][..], "Prefer"),
            (&[("PGSSLMODE", "require")], "Require"),
            (&[("sslmode", "disable"), ("PGSSLMODE", "require")], "Disable"),
            (&[("sslmode", "require"), ("sslrootcert", "/ca")], "VerifyCa"),
            (&[("sslmode", "require"), ("PGSSLROOTCERT", "/ca")], "VerifyCa"),
            (&[("sslmode", "prefer"), ("sslrootcert", "/ca")], "Prefer"),
            (&[("sslrootcert", "system")], "VerifyFull"),
            (&[("sslrootcert", "system"), ("sslmode", "verify-full")], "VerifyFull"),
        ] {
            assert_eq!(format!("{:?}", tls(said).expect("TLS").mode), wanted, "{said:?}");
        }
        for weak in ["disable", "allow", "prefer", "require", "verify-ca"] {
            assert!(tls(&[("sslrootcert", "system"), ("sslmode", weak)]).is_err(), "{weak}");
        }
        for alone in [("sslcert", "/c"), ("sslkey", "/k"), ("PGSSLMODE", "sure")] {
            assert!(tls(&[alone]).is_err(), "{alone:?}");
        }
        let identity = tls(&[("sslcert", "/c"), ("PGSSLKEY", "/k")]).expect("TLS").identity;
        assert_eq!(identity, Some(("/c".into(), "/k".into())));
    }
}
