//! How to open a store.

use std::path::PathBuf;
use std::sync::Arc;

use overnight_base::encryption::Keyring;
use overnight_domain::quotas::{Quota, Quotas};

use crate::database::{Actor, ActorId, Database, ServerFiles};
use crate::disk_space;
use crate::error::StoreError;
use crate::object_store::ObjectStoreOptions;

/// In the data folder.
pub const DATABASE_FILE: &str = "overnight.db";

/// How much a commit costs and promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    Full,
    /// A commit survives only the end of the process: for simulations.
    ProcessOnly,
}

#[derive(Debug, Clone)]
pub struct StoreOptions {
    /// Created if absent.
    pub folder: PathBuf,
    /// A `postgres://` URL that nodes share; `None` for the file in the folder.
    pub server_url: Option<String>,
    /// Files for parts of the URL.
    pub server_files: ServerFiles,
    pub node: String,
    /// The operator whose command this process is; `None` for the service.
    pub operator: Option<String>,
    /// Whether this process drives engines.
    pub schedules: bool,
    pub durability: Durability,
    /// Of a new database; an old one keeps its own.
    pub page_bytes: u32,
    pub readers: u32,
    /// Of accounts without quotas of their own. Without one for stored bytes it is half of the folder's disk, or 100 GiB on PostgreSQL.
    pub quotas: Quotas,
    /// Bytes of the disk that creates leave free for accepted work, 0 for none; `None` for a twentieth of the disk, at most 1 GiB. No
    /// effect on PostgreSQL.
    pub disk_reserve: Option<u64>,
    /// Folder of the accounts' keys, needed to read encrypted data; `None` if there is none.
    pub key_folder: Option<PathBuf>,
    /// Whether new data is encrypted.
    pub encrypts: bool,
    /// `None` if all bodies are in the database.
    pub object_store: Option<ObjectStoreOptions>,
    /// For a new database, so that a seed replays; random otherwise. An old one keeps its own.
    pub sort_key_secret: Option<[u8; 32]>,
}

impl StoreOptions {
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        let folder = folder.into();
        Self {
            folder,
            server_url: None,
            server_files: ServerFiles::default(),
            node: String::new(),
            operator: None,
            schedules: true,
            durability: Durability::Full,
            page_bytes: 4_096,
            readers: 4,
            quotas: Quotas::default(),
            disk_reserve: None,
            key_folder: None,
            encrypts: false,
            object_store: None,
            sort_key_secret: None,
        }
    }

    /// The disk of a PostgreSQL server is not this machine's.
    pub(super) fn default_quotas(&self) -> Quotas {
        const ON_POSTGRES: i64 = 100 << 30;
        let stored_bytes = match &self.server_url {
            Some(_) => Some(ON_POSTGRES),
            None => disk_space::default_quota(&self.folder),
        };
        self.quotas.or(&Quotas::default().with(Quota::StoredBytes, stored_bytes))
    }

    /// Used if no caller is set.
    pub(super) fn actor(&self) -> Actor {
        let id = match &self.operator {
            Some(name) => ActorId::Operator(name.as_str().into()),
            None => ActorId::Service,
        };
        Actor { id, address: None }
    }

    pub(super) fn database(&self) -> Result<Database, StoreError> {
        let is_durable = self.durability == Durability::Full;
        let keyring = Arc::new(Keyring::of(self.key_folder.clone()));
        match &self.server_url {
            Some(url) => Database::server(url, self.server_files.clone(), keyring),
            None => {
                let path = self.folder.join(DATABASE_FILE);
                Ok(Database::file(&path, self.page_bytes, is_durable, keyring))
            }
        }
    }
}
