//! Records of lists with bodies in the object store, fetched concurrently.

use std::collections::HashMap;

use futures_util::future::BoxFuture;
use futures_util::stream::{self, StreamExt, TryStreamExt};
use overnight_domain::records::RequestRecord;

use crate::database::Row;
use crate::requests::records::read_whole;
use crate::{Store, StoreError};

/// Records fetched concurrently per list.
const RECORDS_AT_ONCE: usize = 8;

/// With its row number.
type Fetch<'r> = BoxFuture<'r, Result<(i64, RequestRecord), StoreError>>;

/// Records of rows with bodies in the object store, by row number: from the first on, until they exceed `bytes_max` bytes.
pub(crate) async fn fetch_beside<'r>(
    store: &Store,
    rows: impl Iterator<Item = &'r Row>,
    bytes_max: usize,
) -> Result<HashMap<i64, RequestRecord>, StoreError> {
    let (mut wanted, mut bytes) = (Vec::new(), 0);
    for row in rows {
        if bytes > bytes_max {
            break;
        }
        if let Some(more) = bytes_beside(row)? {
            bytes += more;
            wanted.push(row);
        }
    }
    let fetch = |row: &'r Row| -> Fetch<'r> {
        let store = store.clone();
        Box::pin(async move { Ok((row.get("seq")?, read_whole(&store, row).await?)) })
    };
    side_by_side(wanted.into_iter().map(fetch).collect()).await
}

/// Bytes of a row in the object store; `None` if it has none, or lacks a body that is large and in the database.
fn bytes_beside(row: &Row) -> Result<Option<usize>, StoreError> {
    let (body, result) = (row.reference("body")?, row.reference("result")?);
    if body.is_none() && (result.is_none() || row.get::<Option<&[u8]>>("body")?.is_none()) {
        return Ok(None);
    }
    let lengths =
        [body, result].into_iter().flatten().map(|it| usize::try_from(it.bytes).unwrap_or(usize::MAX));
    Ok(Some(lengths.fold(0, usize::saturating_add)))
}

/// Some at a time; fails with the first error.
async fn side_by_side<V>(
    fetches: Vec<BoxFuture<'_, Result<(i64, V), StoreError>>>,
) -> Result<HashMap<i64, V>, StoreError> {
    stream::iter(fetches).buffer_unordered(RECORDS_AT_ONCE).try_collect().await
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test]
    async fn so_many_are_fetched_at_once_and_no_more() {
        static UNDER_WAY: AtomicUsize = AtomicUsize::new(0);
        static MOST: AtomicUsize = AtomicUsize::new(0);
        let fetch = |number: i64| -> BoxFuture<'_, Result<(i64, i64), StoreError>> {
            Box::pin(async move {
                MOST.fetch_max(UNDER_WAY.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                // The first take longest.
                for _ in 0..100 - number {
                    tokio::task::yield_now().await;
                }
                UNDER_WAY.fetch_sub(1, Ordering::SeqCst);
                if number == 60 { Err(StoreError::Damaged("the last")) } else { Ok((number, 2 * number)) }
            })
        };
        let fetched = side_by_side((0..50).map(fetch).collect()).await.expect("all of them");
        assert_eq!(fetched, (0..50).map(|number| (number, 2 * number)).collect());
        assert_eq!(MOST.load(Ordering::SeqCst), RECORDS_AT_ONCE);
        let failed = side_by_side((50..61).map(fetch).collect()).await;
        assert!(matches!(failed, Err(StoreError::Damaged("the last"))));
    }
}
