//! Batches that are deleted are gone with their requests, and nothing else is.

use crate::batches::{BatchDeletionOutcome, DeletedBatch};
use crate::tests::prelude::*;
use crate::tests::webhooks::{HOOK, cancel};

impl Fixture {
    async fn batch_of(&mut self, ids: &[RequestId], webhook: Option<&str>) -> BatchId {
        let members = batches::resolve(&self.store, self.account, ids).await.expect("members");
        let (id, account) = (self.batch_id(), self.account);
        let webhook = webhook.map(str::to_owned);
        let metadata = Some(b"{\"a\":1}".to_vec());
        let batch = NewBatch { id, account, created_at: START, webhook, metadata, members };
        let outcome = batches::insert(&self.store, batch).await.expect("a batch");
        assert!(matches!(outcome, NewBatchOutcome::Created(_)), "{outcome:?}");
        id
    }

    /// A batch of so many requests that hold credits and have a webhook, all of which have completed.
    async fn ended_batch(&mut self, requests: usize) -> (BatchId, Vec<RequestId>) {
        let client = ClientFields { webhook: Some(HOOK.to_owned()), ..ClientFields::absent() };
        let mut ids = Vec::new();
        for key in 0..requests {
            let request = self.request(key.to_le_bytes()[0]);
            let request = NewRequest { hold: self.hold("2").await, client: client.clone(), ..request };
            ids.push(self.put(request).await);
        }
        let batch = self.batch_of(&ids, Some(HOOK)).await;
        while let leases = self.release_and_lease().await
            && !leases.is_empty()
        {
            for lease in &leases {
                assert!(self.settle(lease, START + 10).await);
            }
        }
        (batch, ids)
    }

    async fn mark(&self, id: BatchId) -> BatchDeletionOutcome {
        batches::mark_deleted(&self.store, self.account, id).await.expect("a mark")
    }

    async fn marked(&self, id: BatchId) -> DeletedBatch {
        match self.mark(id).await {
            BatchDeletionOutcome::Marked(batch) => batch,
            other => panic!("{other:?}"),
        }
    }

    async fn is_found(&self, id: BatchId) -> bool {
        batches::find(&self.store, self.account, id).await.expect("a read").is_some()
    }

    async fn has_request(&self, id: RequestId) -> bool {
        requests::find_record(&self.store, self.account, id).await.expect("a read").is_some()
    }

    async fn charges(&self) -> usize {
        let page = ledger::list(&self.store, self.account, None, None, 9).await.expect("the ledger");
        page.rows.iter().filter(|entry| entry.request.is_some()).count()
    }

    async fn bytes(&self) -> i64 {
        accounts::get(&self.store, self.account).await.expect("an account").stored_bytes
    }
}

/// Returns the number of transactions.
async fn finish(fixture: &Fixture, batch: DeletedBatch) -> Result<usize, StoreError> {
    let mut chunks = 1;
    while !batches::delete_chunk(&fixture.store, batch).await? {
        chunks += 1;
        fixture.assert_sound().await;
    }
    Ok(chunks)
}

on_both!(a_batch_goes_with_its_requests_and_its_account_gets_its_bytes_back);
async fn a_batch_goes_with_its_requests_and_its_account_gets_its_bytes_back(fixture: &mut Fixture) {
    let other = fixture.insert(&[200]).await[0];
    cancel(fixture, other, START + 1).await;
    let before = fixture.bytes().await;
    let (batch, ids) = fixture.ended_batch(3).await;
    assert_eq!(fixture.events().await.len(), 4);
    let marked = fixture.marked(batch).await;
    fixture.assert_sound().await;
    assert!(!fixture.is_found(batch).await, "nobody has it from the mark on");
    assert_eq!(fixture.mark(batch).await, BatchDeletionOutcome::Unknown);
    assert_eq!(finish(fixture, marked).await.expect("a deletion"), 2);
    fixture.assert_sound().await;
    let mut left = Vec::new();
    for id in ids.into_iter().chain([other]) {
        left.push(fixture.has_request(id).await);
    }
    assert_eq!(left, [false, false, false, true]);
    assert!(fixture.events().await.is_empty(), "the events name what is gone");
    assert_eq!((fixture.bytes().await, fixture.charges().await), (before, 3), "charges stay");
}

on_both!(a_batch_is_deleted_once_all_of_it_has_ended);
async fn a_batch_is_deleted_once_all_of_it_has_ended(fixture: &mut Fixture) {
    let ids = fixture.insert(&[1, 2]).await;
    let batch = fixture.batch_of(&ids, None).await;
    assert_eq!(fixture.mark(batch).await, BatchDeletionOutcome::NotEnded);
    batches::cancel(&fixture.store, fixture.account, batch, START + 1).await.expect("a cancel");
    assert_eq!(fixture.mark(batch).await, BatchDeletionOutcome::NotEnded, "its requests have not ended");
    let (seq, _) = fixture.batch(batch).await;
    batches::cancel_chunk(&fixture.store, seq, None, START + 1).await.expect("a chunk");
    let marked = fixture.marked(batch).await;
    finish(fixture, marked).await.expect("a deletion");
    fixture.assert_sound().await;
    assert_eq!(fixture.mark(BatchId::from_bits(7)).await, BatchDeletionOutcome::Unknown);
}

on_both!(a_deletion_that_was_cut_short_is_found_and_carried_through);
async fn a_deletion_that_was_cut_short_is_found_and_carried_through(fixture: &mut Fixture) {
    let (batch, ids) = fixture.ended_batch(130).await;
    let marked = fixture.marked(batch).await;
    assert!(!batches::delete_chunk(&fixture.store, marked).await.expect("a chunk"));
    fixture.restart().await;
    fixture.assert_sound().await;
    assert!(!fixture.is_found(batch).await);
    assert_eq!(batches::list_deleting(&fixture.store).await.expect("a list"), [marked]);
    finish(fixture, marked).await.expect("a deletion");
    assert_eq!(batches::list_deleting(&fixture.store).await.expect("a list"), []);
    let found = batches::resolve(&fixture.store, fixture.account, &ids).await.expect("a read");
    assert!(found.is_empty());
    assert!(
        batches::delete_chunk(&fixture.store, marked).await.expect("another node's"),
        "it is gone already"
    );
}

on_both!(the_row_number_of_a_batch_is_not_given_out_again);
async fn the_row_number_of_a_batch_is_not_given_out_again(fixture: &mut Fixture) {
    let (batch, _) = fixture.ended_batch(1).await;
    let marked = fixture.marked(batch).await;
    finish(fixture, marked).await.expect("a deletion");
    fixture.restart().await;
    let (next, _) = fixture.ended_batch(1).await;
    let (seq, _) = fixture.batch(next).await;
    assert!(seq > marked.seq, "{seq}");
}
