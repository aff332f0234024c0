//! A user of the console.

use std::io;
use std::path::Path;

use serde::Deserialize;

use crate::child::Process;
use crate::download::Connection;
use crate::service::{Service, Site};

pub(super) struct Browser {
    connection: Connection,
    account: String,
}

#[derive(Deserialize)]
struct Account {
    id: String,
}

#[derive(Deserialize)]
struct Link {
    url: String,
}

impl Browser {
    /// A new user who owns the account of the service, signed in by a link.
    pub(super) async fn sign_in(site: &Site, service: &Service) -> io::Result<Self> {
        let mut connection = Connection::open(service.address, &service.key).await?;
        let Account { id: account } = serde_json::from_slice(&connection.get("/v1/account").await?)?;
        let (config, email) = (site.config(), format!("{}@example.com", service.address.port()));
        let owner = [
            "user",
            "create",
            &email,
            "--account",
            &account,
            "--role",
            "owner",
            "--json",
            "--quiet",
            "--config",
        ];
        let arguments = owner.map(Path::new).into_iter().chain([config.as_path()]);
        let (Link { url }, _) = Process::run_command(arguments).await?;
        let path = url.find("/console/").and_then(|start| url.get(start..)).unwrap_or_default();
        let cookie = connection.sign_in(path).await?;
        let connection = Connection::open_as(service.address, ("cookie", cookie)).await?;
        Ok(Self { connection, account })
    }

    /// Reads a page of the account.
    pub(super) async fn open(&mut self, path: &str) -> io::Result<()> {
        self.connection.get(&format!("/console/{}{path}", self.account)).await.map(drop)
    }
}
