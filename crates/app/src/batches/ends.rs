//! A batch's ended requests in the order in which they ended; the list can follow a running batch.

use bytes::Bytes;
use overnight_base::clock::SharedClock;
use overnight_domain::faults::{Quoted, codes};
use overnight_domain::ids::{BatchId, RequestId};
use overnight_domain::records::RequestRecord;
use overnight_domain::scheduler::AccountKey;
use overnight_store::batches::{self, PlaceOfEnd};

use super::find;
use crate::Services;
use crate::errors::AppError;
use crate::pages::{Pages, SizedPages};
pub use overnight_store::batches::{EndedPage, EndedSoFar};
use overnight_store::{BatchWatch, Store, watch_batch};

/// The maximum bytes of a page: a mebibyte of short records, one of long ones, and a record with a long result.
pub const ENDED_PAGE_BYTES: usize = 4 << 20;

/// The bytes of a request's line without bodies.
const STATUS_BYTES: usize = 512;

/// The interval of looks for ends by other nodes.
const OTHERS_LOOK_MS: i64 = 1_000;

/// A list continues after the end of this request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AfterEnd {
    /// The parameter in which the client named it.
    pub param: &'static str,
    pub id: String,
}

/// The order in which the requests of one batch end.
#[derive(Clone)]
pub struct Ends {
    store: Store,
    clock: SharedClock,
    account: AccountKey,
    batch: i64,
}

/// A list of ended requests; it ends at the last one known.
pub struct EndedPages {
    ends: Ends,
    place: i64,
}

impl Ends {
    pub async fn of_batch(services: &Services, account: AccountKey, id: BatchId) -> Result<Self, AppError> {
        let (batch, _) = find(services, account, id).await?;
        Ok(Self { store: services.store.clone(), clock: services.clock.clone(), account, batch })
    }

    pub const fn account(&self) -> AccountKey {
        self.account
    }

    pub const fn batch(&self) -> i64 {
        self.batch
    }

    /// The position after a named request: how many requests had ended with it. Fails with [`AppError::Invalid`] if the batch has no such
    /// request any more, or it has not ended.
    pub async fn place_after(&self, after: &AfterEnd) -> Result<i64, AppError> {
        let refuse = |code, why| {
            let message = format!("{why}: '{}'", Quoted(&after.id));
            Err(AppError::invalid(after.param, code, &message))
        };
        let place = match RequestId::parse(&after.id) {
            Some(id) => batches::find_place(&self.store, self.account, self.batch, id).await?,
            None => PlaceOfEnd::Unknown,
        };
        match place {
            PlaceOfEnd::At(place) => Ok(place),
            PlaceOfEnd::NotEnded => refuse(codes::UNKNOWN_VALUE, "must be a request that has ended, not"),
            PlaceOfEnd::Unknown => {
                refuse(codes::UNKNOWN, "must be a request of this batch that was not deleted, not")
            }
        }
    }

    pub async fn so_far(&self) -> Result<EndedSoFar, AppError> {
        Ok(batches::ended_so_far(&self.store, self.batch).await?)
    }

    /// The ends after a position, up to the known progress of the batch.
    pub async fn page(&self, after: i64, so_far: EndedSoFar) -> Result<EndedPage, AppError> {
        Ok(batches::page_ended(&self.store, self.account, self.batch, after, so_far).await?)
    }

    /// Watches for ends from now on.
    pub fn watch(&self) -> EndsWatch {
        let clock = self.store.is_shared().then(|| self.clock.clone());
        EndsWatch { watch: watch_batch(&self.store, self.batch), clock }
    }
}

pub struct EndsWatch {
    watch: BatchWatch,
    /// Set if other nodes may end requests.
    clock: Option<SharedClock>,
}

impl EndsWatch {
    /// Returns when more requests may have ended since the previous call.
    pub async fn more(&self) {
        match &self.clock {
            None => self.watch.ended().await,
            Some(clock) => tokio::select! {
                () = self.watch.ended() => {}
                () = clock.sleep_until(clock.now() + OTHERS_LOOK_MS) => {}
            },
        }
    }
}

impl EndedPages {
    /// The ends after `place`.
    pub const fn new(ends: Ends, place: i64) -> Self {
        Self { ends, place }
    }
}

impl Pages for EndedPages {
    type Row = RequestRecord;

    async fn next_page(&mut self) -> Result<Option<Vec<RequestRecord>>, AppError> {
        let so_far = self.ends.so_far().await?;
        if self.place >= so_far.ended {
            return Ok(None);
        }
        let page = self.ends.page(self.place, so_far).await?;
        self.place = page.next;
        Ok(Some(page.rows.into_iter().map(|(_, record)| record).collect()))
    }
}

impl SizedPages for EndedPages {
    fn page_bytes_max(&self) -> usize {
        ENDED_PAGE_BYTES
    }

    fn row_bytes(row: &RequestRecord) -> usize {
        let result_bytes = row.result.as_ref().map_or(0, Bytes::len);
        STATUS_BYTES + row.body.len() + result_bytes + row.client.heap_bytes()
    }
}
