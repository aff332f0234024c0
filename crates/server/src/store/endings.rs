//! Ends of requests that no engine answered: a cancel, a cancelled batch, a passed deadline. Whoever held a lease
//! finds its queue row gone, so its late answer touches nothing.

use overnight_domain::requests::RequestState;
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::StoreError;
use super::row;
use super::writer::Unit;

/// The columns that [`Live::read`] wants, of `progress p` and `queue q`.
macro_rules! live_columns {
    () => {
        concat!(
            "p.seq, p.batch, p.model, p.account, p.sort_key, ",
            $crate::store::row::state!(),
            ", p.ready_at, ",
            $crate::store::row::in_progress_at!(),
            ", p.ended_at"
        )
    };
}
pub(super) use live_columns;

/// A request that may be ended.
pub(super) struct Live {
    pub(super) seq: i64,
    pub(super) state: RequestState,
    batch: Option<i64>,
    model: i64,
    account: i64,
    sort_key: Vec<u8>,
}

impl Live {
    pub(super) fn read(row: &SqliteRow) -> Result<Self, StoreError> {
        Ok(Self {
            seq: row.try_get(0)?,
            batch: row.try_get(1)?,
            model: row.try_get(2)?,
            account: row.try_get(3)?,
            sort_key: row.try_get(4)?,
            state: row::request_state(row, 5)?,
        })
    }

    /// Puts it in the terminal state `to`, takes it out of the queue, and moves its batch's counters.
    pub(super) async fn end(
        self,
        unit: &mut Unit<'_>,
        to: RequestState,
        result_seq: Option<i64>,
        now: i64,
    ) -> Result<(), StoreError> {
        let from = self.state.status();
        if !matches!(self.state, RequestState::Gathering { .. }) {
            let text = "DELETE FROM queue WHERE model = ? AND account = ? AND sort_key = ? AND seq = ?";
            let delete =
                sqlx::query(text).bind(self.model).bind(self.account).bind(self.sort_key).bind(self.seq);
            unit.tx.execute(delete).await?;
        }
        let text =
            "UPDATE progress SET state = ?, in_progress_at = ?, ended_at = ?, result_seq = ? WHERE seq = ?";
        let update = sqlx::query(text)
            .bind(row::code(&to))
            .bind(to.in_progress_at())
            .bind(to.ended_at())
            .bind(result_seq)
            .bind(self.seq);
        unit.tx.execute(update).await?;
        unit.shift(self.batch, from, to.status(), now);
        Ok(())
    }
}
