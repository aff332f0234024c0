//! How a connection is encrypted, and what is verified.

use std::path::PathBuf;
use std::str::FromStr;

/// What libpq calls the roots that the machine trusts.
const SYSTEM: &str = "system";

/// How a connection is encrypted, from the least to the most that is verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SslMode {
    /// Not.
    Disable,
    /// Where the server insists on it.
    Allow,
    /// Where the server can.
    Prefer,
    Require,
    /// Always; the certificate comes from a trusted authority.
    VerifyCa,
    /// Always; and it is for the host that was named.
    VerifyFull,
}

impl FromStr for SslMode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(match text {
            "disable" => Self::Disable,
            "allow" => Self::Allow,
            "prefer" => Self::Prefer,
            "require" => Self::Require,
            "verify-ca" => Self::VerifyCa,
            "verify-full" => Self::VerifyFull,
            _ => {
                let known = "`sslmode` must be disable, allow, prefer, require, verify-ca or verify-full";
                return Err(known.to_owned());
            }
        })
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Roots {
    /// Those that this machine trusts.
    System,
    File(PathBuf),
}

impl From<PathBuf> for Roots {
    fn from(path: PathBuf) -> Self {
        if path.as_os_str() == SYSTEM { Self::System } else { Self::File(path) }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TlsSettings {
    /// `sslmode`.
    pub mode: Option<SslMode>,
    /// `sslrootcert`.
    pub roots: Option<Roots>,
    /// `sslcert`.
    pub certificate: Option<PathBuf>,
    /// `sslkey`.
    pub key: Option<PathBuf>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tls {
    /// How the connection is encrypted.
    pub mode: SslMode,
    /// Which authorities are trusted; `None` for those that are compiled in.
    pub roots: Option<Roots>,
    /// The files of a certificate of our own and of its key.
    pub identity: Option<(PathBuf, PathBuf)>,
}

impl TlsSettings {
    /// What is done, with what the `variable`s that libpq knows say of the rest; nothing on a socket of the file system.
    pub fn resolve(self, is_socket: bool, variable: impl Fn(&str) -> Option<String>) -> Result<Tls, String> {
        if is_socket {
            return Ok(Tls { mode: SslMode::Disable, roots: None, identity: None });
        }
        let mode = match self.mode {
            Some(mode) => Some(mode),
            None => variable("PGSSLMODE").map(|text| text.parse()).transpose()?,
        };
        let roots = self.roots.or_else(|| variable("PGSSLROOTCERT").map(|path| PathBuf::from(path).into()));
        let mode = match (&roots, mode) {
            (Some(Roots::System), Some(mode)) if mode < SslMode::VerifyFull => {
                return Err("`sslrootcert=system` goes with `sslmode=verify-full` alone: anybody has a certificate of \
                     a public authority for some host"
                    .to_owned());
            }
            (Some(Roots::System), None) => SslMode::VerifyFull,
            (Some(Roots::File(_)), Some(SslMode::Require)) => SslMode::VerifyCa,
            (_, mode) => mode.unwrap_or(SslMode::Prefer),
        };
        let certificate = self.certificate.or_else(|| variable("PGSSLCERT").map(Into::into));
        let key = self.key.or_else(|| variable("PGSSLKEY").map(Into::into));
        let identity = match (certificate, key) {
            (Some(certificate), Some(key)) => Some((certificate, key)),
            (None, None) => None,
            (Some(_), None) => return Err("`sslcert` goes with `sslkey`, the file of its key".to_owned()),
            (None, Some(_)) => {
                return Err("`sslkey` goes with `sslcert`, the file of its certificate".to_owned());
            }
        };
        Ok(Tls { mode, roots, identity })
    }
}
