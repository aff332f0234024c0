//! The limits of an open store: quotas, the disk and its reserve.

use overnight_domain::quotas::Quotas;

use super::Store;
use crate::store::disk_space::{self, DiskSpace, FREE_PAGES};
use crate::store::error::StoreError;
use crate::store::options::StoreOptions;

impl Store {
    /// The quotas of accounts that have none of their own.
    pub fn quotas(&self) -> Quotas {
        *self.inner.quotas.borrow()
    }

    /// From now on the quotas of accounts that have none of their own, and the reserve of the disk, are those of `options`.
    pub fn set_limits(&self, options: &StoreOptions) {
        self.inner.quotas.send_replace(options.default_quotas());
        self.inner.disk_reserve.send_replace(options.disk_reserve);
    }

    /// Whether it is a folder that cannot be written.
    pub fn is_read_only(&self) -> bool {
        self.database().is_read_only()
    }

    /// Whether nothing is written any more.
    pub fn is_closed(&self) -> bool {
        self.inner.writer.is_closed()
    }

    /// Why the store is not available, if it is not: it refuses writes, or the database refuses further connections.
    pub async fn outage(&self) -> Option<&'static str> {
        match self.refusing() {
            Some(why) => Some(why),
            // Boxed, so that it is no part of what each call holds.
            None => Box::pin(self.readers().outage()).await,
        }
    }

    /// Why writes are refused now, if they are.
    pub fn refusing(&self) -> Option<&'static str> {
        self.inner.writer.refusing()
    }

    /// The space on the disk of the database; `None` where that is another machine's, or the system does not tell.
    pub async fn disk_space(&self) -> Result<Option<DiskSpace>, StoreError> {
        let Some(path) = self.database().path() else { return Ok(None) };
        let row = self.readers().fetch_one(FREE_PAGES.unbound()).await?;
        let free_pages = disk_space::read_free_pages(&row)?;
        Ok(DiskSpace::measure(path, free_pages, *self.inner.disk_reserve.borrow()))
    }

    /// Whether so many bytes may be kept in the data folder beside the database.
    ///
    /// # Errors
    /// [`StoreError::DiskReserved`] where a create of that size would be refused for want of space.
    pub fn check_room(&self, bytes: usize) -> Result<(), StoreError> {
        self.writer().check_room(bytes)
    }

    /// Whether nothing is released or leased, so that the disk has room for the results of what runs.
    pub fn is_advance_held(&self) -> bool {
        self.writer().is_advance_held()
    }

    /// Sets the reserve of an open store, in bytes, for tests: they neither fill a disk nor empty it. It holds when this returns.
    pub async fn set_disk_reserve(&self, bytes: u64) -> Result<(), StoreError> {
        self.inner.disk_reserve.send_replace(Some(bytes));
        // The writer looks before each transaction, and may have looked before the first one when the reserve was set.
        self.transaction(async |_| Ok(())).await?;
        self.transaction(async |_| Ok(())).await
    }
}
