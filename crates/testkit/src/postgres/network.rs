//! A server that also listens on this machine's network, with TLS.

use std::fs::{self, Permissions};
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::PermissionsExt;

use super::account::Account;
use super::folder::Folder;

const CERTIFICATE: &str = "server.crt";
const KEY: &str = "server.key";
const AUTHORITY: &str = "clients.pem";

/// Settings to listen on 127.0.0.1 and ::1 with TLS. Certificates and keys are in PEM form.
#[derive(Debug, Clone, Default)]
pub struct Network {
    pub certificate: String,
    pub key: String,
    pub client_authority: String,
    /// Lines of `pg_hba.conf` for network clients; every client may connect over the socket.
    pub access: String,
}

impl Network {
    pub(super) fn free_port() -> io::Result<u16> {
        Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
    }

    /// Writes its files into the folder, and returns the settings that name them.
    pub(super) fn write(&self, folder: &Folder, account: Option<Account>) -> io::Result<Vec<String>> {
        for (name, text) in
            [(CERTIFICATE, &self.certificate), (KEY, &self.key), (AUTHORITY, &self.client_authority)]
        {
            let path = folder.path().join(name);
            fs::write(&path, text)?;
            fs::set_permissions(&path, Permissions::from_mode(0o600))?;
            account.map(|account| account.take_over(&path)).transpose()?;
        }
        fs::write(folder.data().join("pg_hba.conf"), format!("local all all trust\n{}", self.access))?;
        let file = |name: &str| folder.path().join(name).display().to_string();
        Ok(vec![
            "listen_addresses=127.0.0.1,::1".to_owned(),
            "ssl=on".to_owned(),
            format!("ssl_cert_file={}", file(CERTIFICATE)),
            format!("ssl_key_file={}", file(KEY)),
            format!("ssl_ca_file={}", file(AUTHORITY)),
        ])
    }
}
