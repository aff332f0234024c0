//! The rows of an account: each kind is counted or limited, and what is counted is near what the disk holds.

use overnight_domain::uploads::PENDING_UPLOADS_MAX;

use crate::tests::deliveries::{answered, claim_of, record};
use crate::tests::filling::file;
use crate::tests::grouping;
use crate::tests::prelude::*;
use crate::tests::schemas::catalogue;
use crate::tests::uploads::begin;
use crate::tests::webhooks::HOOK;

const LIMITS: &str = include_str!("../../../../docs/limits.md");

/// The head of the table of rows in docs/limits.md.
const HEAD: &str = "| tables | counted as | limit on their number |";

/// Rows of each kind: few pages are half empty.
const ROWS: u8 = 250;

/// Bytes on the disk for each byte that is counted.
const FACTOR_MAX: i64 = 2;

/// Bytes on the disk, and those that are counted.
#[derive(Clone, Copy)]
struct Sizes {
    disk: i64,
    counted: i64,
}

impl Fixture {
    async fn sizes(&self) -> Sizes {
        let bytes = match self.store.dialect() {
            Dialect::Sqlite => {
                "SELECT (page_count - freelist_count) * page_size AS bytes
                 FROM pragma_page_count, pragma_freelist_count, pragma_page_size"
            }
            Dialect::Postgres => {
                self.execute("VACUUM FULL").await;
                "SELECT CAST(sum(pg_total_relation_size(oid)) AS BIGINT) AS bytes FROM pg_class
                 WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace"
            }
        };
        let mut connection = self.store.connect().await.expect("a connection");
        let disk = connection.fetch(sql(bytes)).await.expect("a size")[0].get("bytes").expect("a number");
        connection.close().await.expect("an end");
        let counted = accounts::get(&self.store, self.account).await.expect("an account").stored_bytes;
        Sizes { disk, counted }
    }

    /// What came since `last`, which becomes the sizes of now.
    async fn growth(&self, last: &mut Sizes) -> Sizes {
        let now = self.sizes().await;
        let growth = Sizes { disk: now.disk - last.disk, counted: now.counted - last.counted };
        *last = now;
        growth
    }

    async fn insert_keyed(&mut self, keys: impl Iterator<Item = u8>) {
        for key in keys {
            let request = self.request(key);
            let guard = Guard {
                key: IdempotencyKey { hash: Sha256::digest([key]).into(), digest: [key; 32] },
                write: |request: &RequestSummary, out: &mut Vec<u8>| request.id.append_to(out),
            };
            requests::insert_once(&self.store, request, Some(guard)).await.expect("an insert");
        }
    }

    /// Ends requests whose end is told to a receiver, which answers the second try.
    async fn tell_all(&mut self) {
        for key in 0..ROWS {
            let id = self.insert_told(key, HOOK).await;
            requests::cancel(&self.store, self.account, id, START).await.expect("a cancel");
        }
        for (number, (status, state)) in
            [(500, EventState::Live), (200, EventState::Delivered)].into_iter().enumerate()
        {
            let now = START + number as i64 * 100;
            loop {
                let due = self.due(now).await;
                let Some(first) = due.first() else { break };
                let claims = vec![claim_of(first, b"{}")];
                outbox::claim(&self.store, claims, now).await.expect("a claim");
                let next = (state == EventState::Live).then_some(START + 100);
                assert!(record(&self.store, answered(first, status, state, next)).await);
            }
        }
    }
}

fn assert_near(kind: &str, Sizes { disk, counted }: Sizes) {
    println!("{kind}: {disk} bytes on the disk, {counted} counted");
    assert!(disk <= FACTOR_MAX * counted, "{kind}: {disk} bytes on the disk, {counted} counted");
}

on_both!(stored_bytes_are_near_those_on_the_disk);
async fn stored_bytes_are_near_those_on_the_disk(fixture: &mut Fixture) {
    let mut last = fixture.sizes().await;
    let keys: Vec<u8> = (0..ROWS).collect();
    let ids = fixture.insert(&keys).await;
    let waiting = fixture.growth(&mut last).await;
    assert_near("requests", waiting);

    fixture.insert_keyed(0..ROWS).await;
    let keyed = fixture.growth(&mut last).await;
    let keys = Sizes { disk: keyed.disk - waiting.disk, counted: keyed.counted - waiting.counted };
    assert_near("idempotency keys", keys);

    for lease in fixture.release_and_lease().await {
        assert!(fixture.settle(&lease, START + 2).await);
    }
    fixture.growth(&mut last).await;

    for id in ids {
        let batch = grouping::new_batch(fixture, &[id]).await;
        batches::insert(&fixture.store, batch).await.expect("a batch");
    }
    assert_near("batches", fixture.growth(&mut last).await);

    for _ in 0..ROWS {
        file(fixture, &["{}\n"]).await;
    }
    assert_near("files", fixture.growth(&mut last).await);
    for _ in 0..PENDING_UPLOADS_MAX {
        begin(fixture, 4).await;
    }
    assert_near("uploads", fixture.growth(&mut last).await);

    fixture.tell_all().await;
    assert_near("events and deliveries", fixture.growth(&mut last).await);
}

#[tokio::test]
async fn every_table_is_in_the_table_of_rows() {
    let (_, table) = LIMITS.split_once(HEAD).expect("the table of rows");
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let named: Vec<&str> = rows
        .filter_map(|row| row.split('|').nth(1))
        .flat_map(|cell| cell.split('`').skip(1).step_by(2))
        .collect();
    let tables = catalogue(&Fixture::on_sqlite().await).await;
    let expected: BTreeSet<&str> = tables.keys().map(String::as_str).collect();
    assert_eq!(named.len(), expected.len(), "a table is named once");
    assert_eq!(named.into_iter().collect::<BTreeSet<_>>(), expected);
}
