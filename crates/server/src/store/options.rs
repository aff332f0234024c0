//! How to open a store.

use std::path::PathBuf;
use std::sync::Arc;

use overnight_base::encryption::Keyring;
use overnight_domain::quotas::{Quota, Quotas};

use crate::object_store::ObjectStoreOptions;
use crate::store::database::{Actor, ActorId, Database, ServerFiles};
use crate::store::disk_space;
use crate::store::error::StoreError;

/// The database in the data folder.
pub const DATABASE_FILE: &str = "overnight.db";

/// How much a commit costs and promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    Full,
    /// A commit survives the end of the process only: for simulations.
    ProcessOnly,
}

#[derive(Debug, Clone)]
pub struct StoreOptions {
    /// The data folder; made if it is absent.
    pub folder: PathBuf,
    /// The PostgreSQL server that nodes share, as a `postgres://` URL; `None` for the file in the folder.
    pub server_url: Option<String>,
    /// The files of what the URL of the server is made of.
    pub server_files: ServerFiles,
    pub node: String,
    /// The name of the operator whose command this process is; `None` where it is the service.
    pub operator: Option<String>,
    /// Whether this process drives engines.
    pub schedules: bool,
    pub durability: Durability,
    /// The page size of a new database, in bytes; an old one keeps its own.
    pub page_bytes: u32,
    pub readers: u32,
    /// The quotas of accounts that have none of their own. Without one for stored bytes it is half of the folder's disk, or
    /// 100 GiB on PostgreSQL.
    pub quotas: Quotas,
    /// The bytes of the disk that creates leave free for work that was accepted, 0 for none; `None` for a twentieth of the
    /// disk and at most 1 GiB. Without effect on PostgreSQL.
    pub disk_reserve: Option<u64>,
    /// The folder of the accounts' keys, without which nothing that was encrypted can be read; `None` where nothing is.
    pub key_folder: Option<PathBuf>,
    /// Whether what is stored from now on is encrypted.
    pub encrypts: bool,
    /// Where large bodies are; `None` where all are in the database.
    pub object_store: Option<ObjectStoreOptions>,
    /// The sort-key secret of a new database, where a seed is to replay; by chance otherwise. An old one keeps its own.
    pub sort_key_secret: Option<[u8; 32]>,
}

impl StoreOptions {
    /// The options of a real service over `folder`.
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

    /// The quotas of accounts that have none of their own. The disk of a PostgreSQL is not this machine's.
    pub(super) fn default_quotas(&self) -> Quotas {
        const ON_POSTGRES: i64 = 100 << 30;
        let stored_bytes = match &self.server_url {
            Some(_) => Some(ON_POSTGRES),
            None => disk_space::default_quota(&self.folder),
        };
        self.quotas.or(&Quotas::default().with(Quota::StoredBytes, stored_bytes))
    }

    /// Who changes something where no caller does.
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
