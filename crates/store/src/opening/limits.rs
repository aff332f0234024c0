//! The limits of an open store: quotas, the disk and its reserve.

use overnight_domain::quotas::Quotas;

use super::Store;
use crate::disk_space::{self, DiskSpace, FREE_PAGES};
use crate::error::StoreError;
use crate::options::StoreOptions;

impl Store {
    /// Of accounts without quotas of their own.
    pub fn quotas(&self) -> Quotas {
        *self.inner.quotas.borrow()
    }

    /// Applies the default quotas and the disk reserve of `options` from now on.
    pub fn set_limits(&self, options: &StoreOptions) {
        self.inner.quotas.send_replace(options.default_quotas());
        self.inner.disk_reserve.send_replace(options.disk_reserve);
    }

    /// Whether the folder cannot be written.
    pub fn is_read_only(&self) -> bool {
        self.database().is_read_only()
    }

    /// Whether writing has stopped.
    pub fn is_closed(&self) -> bool {
        self.inner.writer.is_closed()
    }

    /// Why the store is unavailable, if it is: writes do not succeed, or the database refuses connections.
    pub async fn outage(&self) -> Option<&'static str> {
        match self.inner.writer.trouble() {
            Some(why) => Some(why),
            // Boxed, so that calls do not hold it.
            None => Box::pin(self.readers().outage()).await,
        }
    }

    /// Why writes are refused now, if they are.
    pub fn refusing(&self) -> Option<&'static str> {
        self.inner.writer.refusing()
    }

    /// `None` if the database is on another machine, or the system does not report it.
    pub async fn disk_space(&self) -> Result<Option<DiskSpace>, StoreError> {
        let Some(path) = self.database().path() else { return Ok(None) };
        let row = self.readers().fetch_one(FREE_PAGES.unbound()).await?;
        let free_pages = disk_space::read_free_pages(&row)?;
        Ok(DiskSpace::measure(path, free_pages, *self.inner.disk_reserve.borrow()))
    }

    /// Whether this many bytes may be stored in the data folder outside the database. Fails with [`StoreError::DiskReserved`] as a create
    /// of that size would.
    pub fn check_room(&self, bytes: usize) -> Result<(), StoreError> {
        self.writer().check_room(bytes)
    }

    /// Whether releases and leases are held back to keep disk space for results of running work.
    pub fn is_advance_held(&self) -> bool {
        self.writer().is_advance_held()
    }

    /// For tests, which cannot fill a disk. In effect when this returns.
    pub async fn set_disk_reserve(&self, bytes: u64) -> Result<(), StoreError> {
        self.inner.disk_reserve.send_replace(Some(bytes));
        // The writer looks before each transaction, and may have looked before the first one when the reserve was set.
        self.transaction(async |_| Ok(())).await?;
        self.transaction(async |_| Ok(())).await
    }
}
