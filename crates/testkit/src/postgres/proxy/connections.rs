//! The connections that are open.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::connection::Connection;

#[derive(Debug, Default)]
pub(super) struct Connections {
    open: Mutex<Vec<Arc<Connection>>>,
}

impl Connections {
    /// Registers a connection to be cut with all others.
    pub(super) fn admit(&self, connection: &Arc<Connection>) {
        self.open().push(Arc::clone(connection));
    }

    pub(super) fn forget(&self, connection: &Arc<Connection>) {
        self.open().retain(|other| !Arc::ptr_eq(other, connection));
    }

    pub(super) fn cut_all(&self) {
        for connection in self.open().iter() {
            connection.close();
        }
    }

    fn open(&self) -> MutexGuard<'_, Vec<Arc<Connection>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
