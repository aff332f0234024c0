//! What waits in line for the writer: how much of it a group takes, and how much of it there may be.

use crate::batches::Member;
use crate::tests::engine_reports::engine;
use crate::tests::grouping::new_batch;
use crate::tests::prelude::*;

const PARTITION: QueuePartition = QueuePartition { model: ModelKey(1), account: AccountKey(1) };

/// How many of three writes still wait after a group.
async fn left_of_three<T>(write: impl AsyncFn(Store) -> T) -> usize {
    let folder = tempfile::tempdir().expect("a folder");
    let (store, mut writer) = Store::open_manual(&options(&folder), START).await.expect("a store");
    accounts::insert(&store, &new_account(7)).await.expect("an account");
    let mut all = pin!(join_all([(); 3].map(|()| write(store.clone()))));
    assert!(all.as_mut().now_or_never().is_none());
    assert_eq!(store.writes_waiting(), 3);
    assert!(writer.commit_next().await.expect("a group"));
    let left = store.writes_waiting();
    while writer.commit_next().await.expect("the rest") {}
    all.await;
    left
}

fn positions(count: i64) -> Vec<Position> {
    (0..count).map(|seq| Position { sort_key: SortKey::from_bytes(&[1]), seq }).collect()
}

/// Two of 300 rows fill a group of what moves on, and one a group of what comes in.
#[tokio::test]
async fn a_group_takes_few_writes_of_many_rows() {
    let lease = async |store: Store| leases::take(&store, PARTITION, positions(300), START).await;
    let note = async |store: Store| api_keys::note_uses(&store, vec![(1, START); 300]).await;
    let claim = async |store: Store| {
        let claim = Claim { seq: 1, number: 0, url: String::new(), payload: Bytes::new() };
        outbox::claim(&store, vec![claim; 300], START).await
    };
    let expire = async |store: Store| expiry::expire(&store, START, 300, Vec::new()).await;
    let release = async |store: Store| releases::release(&store, START, 300).await;
    let report = async |store: Store| {
        let engines = (0..300).map(|number| engine(&format!("gpu-{number}"))).collect();
        engine_reports::report(&store, engines, START).await
    };
    let fill = async |store: Store| {
        batches::fill(&store, step(PARTITION.account, (0..300).map(|_| None).collect())).await
    };
    for (left, expected, name) in [
        (left_of_three(lease).await, 1, "leases"),
        (left_of_three(note).await, 1, "uses of keys"),
        (left_of_three(claim).await, 1, "claims of events"),
        (left_of_three(expire).await, 1, "expiries"),
        (left_of_three(release).await, 1, "releases"),
        (left_of_three(report).await, 1, "reports of engines"),
        (left_of_three(fill).await, 2, "lines of a batch"),
    ] {
        assert_eq!(left, expected, "{name}");
    }
}

const EIGHT_MIB: usize = 8 << 20;

/// Writes of eight MiB that an account has queued when the next is refused.
async fn room_for<T>(write: impl AsyncFn(Store) -> Result<T, StoreError>) -> usize {
    let folder = tempfile::tempdir().expect("a folder");
    let (store, _writer) = Store::open_manual(&options(&folder), START).await.expect("a store");
    let mut waiting = Vec::new();
    loop {
        let mut call = Box::pin(write(store.clone()));
        match call.as_mut().now_or_never() {
            None => waiting.push(call),
            Some(Err(StoreError::Unavailable(_))) => return waiting.len(),
            Some(_) => panic!("the writer is in the hand of this test"),
        }
        assert!(waiting.len() < 20, "they count for less than they hold");
    }
}

#[tokio::test]
async fn an_account_has_64_mib_in_line_at_most_whatever_they_hold() {
    let fixture = &mut Fixture::on_sqlite().await;
    let long: Bytes = vec![b' '; EIGHT_MIB].into();
    let plain = fixture.request(1);
    let (mut body, mut metadata, mut webhook) = (plain.clone(), plain.clone(), plain.clone());
    body.body = long.clone();
    metadata.client.metadata = Some(long.clone());
    webhook.client.webhook = Some(" ".repeat(EIGHT_MIB));
    for (name, request) in [("body", &body), ("metadata", &metadata), ("webhook", &webhook)] {
        let create = async |store: Store| requests::insert(&store, request.clone()).await;
        assert_eq!(room_for(create).await, 7, "{name}");
        let fill = async |store: Store| fill(&store, request, None).await;
        assert_eq!(room_for(fill).await, 7, "a line with a long {name}");
    }
    let failed = async |store: Store| fill(&store, &plain, Some(long.clone())).await;
    assert_eq!(room_for(failed).await, 7, "a line that failed with a long answer");

    let batch = new_batch(fixture, &[]).await;
    let member = Member { id: plain.id, seq: 1, membership: Membership::None };
    for (name, batch) in [
        ("webhook", NewBatch { webhook: Some(" ".repeat(EIGHT_MIB)), ..batch.clone() }),
        ("metadata", NewBatch { metadata: Some(vec![b' '; EIGHT_MIB]), ..batch.clone() }),
        ("list", NewBatch { members: vec![member; EIGHT_MIB / size_of::<Member>()], ..batch.clone() }),
    ] {
        let create = async |store: Store| batches::insert(&store, batch.clone()).await;
        assert_eq!(room_for(create).await, 7, "a batch with a long {name}");
    }
}

async fn fill(store: &Store, request: &NewRequest, failure: Option<Bytes>) -> Result<Filled, StoreError> {
    let line = FillLine { request: request.clone(), failure };
    batches::fill(store, step(request.account, vec![Some(line)])).await
}

fn step(account: AccountKey, lines: Vec<Option<FillLine>>) -> FillStep {
    let filling = Filling {
        batch: 1,
        id: BatchId::from_bits(1),
        created_at: START,
        file: 1,
        endpoint: BatchEndpoint::ChatCompletions,
        next_piece: 0,
        next_line: 0,
        api_key: None,
    };
    FillStep { filling, account, lines, ends_piece: false, now: START }
}
