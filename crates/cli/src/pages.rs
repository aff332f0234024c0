//! Reads long lists of the store page by page.

use overnight_app::errors::AppError;
use overnight_store::lists::ListPage;

use crate::errors::CliError;

const PAGE: u32 = 1_000;

/// Passes the first `limit` rows of a list to `take`. `read` gets the row before the next page and the number of rows.
pub(crate) async fn each_row<T>(
    limit: u64,
    mut read: impl AsyncFnMut(Option<i64>, u32) -> Result<ListPage<T>, AppError>,
    mut take: impl AsyncFnMut(T) -> Result<(), CliError>,
) -> Result<(), CliError> {
    let (mut left, mut before) = (limit, None);
    while left > 0 {
        let page = read(before, u32::try_from(left).unwrap_or(PAGE).min(PAGE)).await?;
        left -= page.rows.len() as u64;
        before = page.rest();
        for row in page.rows {
            take(row).await?;
        }
        if before.is_none() {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of the rows 0 to 4,999, newest first, every tenth is listed; a page looks through 4,000 of them.
    fn page(before: Option<i64>, limit: u32) -> ListPage<i64> {
        let behind = before.unwrap_or(5_000);
        let floor = (behind - 4_000).max(0);
        let mut rows: Vec<i64> = (floor..behind).rev().filter(|row| row % 10 == 0).collect();
        let is_full = rows.len() > limit as usize;
        rows.truncate(limit as usize);
        let next = rows.last().copied().filter(|_| is_full);
        ListPage { next, looked_through: (next.is_none() && floor > 0).then_some(floor), rows }
    }

    #[tokio::test]
    async fn a_list_goes_on_behind_pages_that_ended_early_and_stops_at_its_limit() {
        for (limit, expected) in [(u64::MAX, 500), (450, 450), (400, 400), (3, 3), (0, 0)] {
            let mut taken = Vec::new();
            let read = async |before, limit| Ok(page(before, limit));
            let take = async |row| {
                taken.push(row);
                Ok(())
            };
            each_row(limit, read, take).await.expect("rows");
            let all: Vec<i64> = (0..5_000).rev().filter(|row| row % 10 == 0).take(expected).collect();
            assert_eq!(taken, all, "{limit}");
        }
    }
}
