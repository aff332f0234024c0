//! The writer while the database accepts no writes.

use overnight_base::clock::SharedClock;

use super::{TEST_WRITE_MS, WriterCore};
use crate::error::{StoreError, Trouble};
use crate::outages::UNREACHABLE;
use crate::writer::group::WriteGroup;

impl WriterCore {
    /// Refuses one write for good, or while the database lacks something that it needs: a right or a table. If no write can do without it,
    /// all are refused.
    pub(super) async fn refuse_single(
        &mut self,
        single: WriteGroup,
        error: &StoreError,
        clock: &SharedClock,
    ) {
        if error.is_damage() {
            return single.refuse(|| StoreError::DamagedPages(error.to_string()));
        }
        let Some(why) = error.outage() else {
            return single.refuse(|| StoreError::Refused(error.to_string()));
        };
        if self.write_for_test().await.is_err() {
            return self.refuse_until_well(single, error, clock).await;
        }
        tracing::error!(%error, "store refused a write: {why}");
        single.refuse(|| StoreError::Lacking { why, said: error.to_string() });
    }

    /// Refuses writes until a test write succeeds; one is tried each second. Reads continue.
    pub(super) async fn refuse_until_well(
        &mut self,
        group: WriteGroup,
        error: &StoreError,
        clock: &SharedClock,
    ) {
        let mut why = self.refuse_for(error);
        group.refuse(|| StoreError::Unavailable(why));
        self.queues.hold_large(false);
        while !self.queues.is_closed() {
            match self.write_for_test().await {
                Ok(()) => {
                    tracing::info!("store available; accepting writes");
                    break;
                }
                Err(error) if error.trouble() == Trouble::Fatal => {
                    return self.give_up(WriteGroup::default(), error);
                }
                Err(error) if reason(&error) != why => why = self.refuse_for(&error),
                Err(_) => {}
            }
            clock.sleep_until(clock.now() + TEST_WRITE_MS).await;
            while let Some(group) = self.queues.take() {
                group.refuse(|| StoreError::Unavailable(why));
            }
            self.queues.drop_transactions();
        }
        self.queues.set_refusing(None);
    }

    fn refuse_for(&self, error: &StoreError) -> &'static str {
        let why = reason(error);
        tracing::error!(%error, "store unavailable; refusing writes: {why}");
        self.queues.set_refusing(Some(why));
        why
    }
}

fn reason(error: &StoreError) -> &'static str {
    error.outage().unwrap_or(UNREACHABLE)
}
