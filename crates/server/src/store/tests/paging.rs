//! Long lists, page by page.

use overnight_domain::requests::RequestStatus;

use super::{Fixture, START};
use crate::store::requests::{self, Direction, Filter, Scope, page_records, page_summaries};

async fn fixture_of(count: u32) -> Fixture {
    let mut fixture = Fixture::new().await;
    let new: Vec<_> = (0..count).map(|n| fixture.request(n.to_le_bytes()[0])).collect();
    let store = &fixture.store;
    let outcomes =
        futures_util::future::join_all(new.into_iter().map(|new| requests::insert(store, new))).await;
    assert!(outcomes.iter().all(Result::is_ok));
    fixture
}

#[tokio::test]
async fn pages_in_both_directions_hold_every_row_once() {
    let fixture = fixture_of(1_100).await;
    let scope = Scope::Account(fixture.account);
    for direction in [Direction::OldestFirst, Direction::NewestFirst] {
        let filter = Filter { direction, ..Filter::default() };
        let (mut after, mut ids, mut records) = (None, Vec::new(), Vec::new());
        loop {
            let page = page_summaries(&fixture.store, scope, &filter, after, None).await.expect("a page");
            ids.extend(page.rows.iter().map(|row| row.id));
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        loop {
            let page = page_records(&fixture.store, scope, &filter, after, None).await.expect("a page");
            records.extend(page.rows.iter().map(|row| row.summary.id));
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(ids, records);
        let mut sorted = ids.clone();
        sorted.sort();
        if direction == Direction::NewestFirst {
            sorted.reverse();
        }
        assert_eq!((ids.len(), &ids), (1_100, &sorted));
    }
}

#[tokio::test]
async fn a_page_of_large_bodies_stays_small() {
    let mut fixture = Fixture::new().await;
    for key in 0..6 {
        let mut request = fixture.request(key);
        request.body = vec![b' '; 400_000];
        requests::insert(&fixture.store, request).await.expect("an insert");
    }
    let scope = Scope::Account(fixture.account);
    let (mut after, mut sizes) = (None, Vec::new());
    loop {
        let page =
            page_records(&fixture.store, scope, &Filter::default(), after, None).await.expect("a page");
        sizes.push(page.rows.len());
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(sizes, [2, 2, 2]);
}

#[tokio::test]
async fn filters_hold_what_they_name() {
    let mut fixture = Fixture::new().await;
    let ids = fixture.insert(&[1, 2, 3]).await;
    requests::cancel(&fixture.store, fixture.account, ids[1], START).await.expect("a cancel");
    let scope = Scope::Account(fixture.account);
    let list = async |filter: Filter| {
        let page = page_summaries(&fixture.store, scope, &filter, None, None).await.expect("a page");
        page.rows.into_iter().map(|row| row.id).collect::<Vec<_>>()
    };
    let registered = Filter { status: Some(RequestStatus::Registered), ..Filter::default() };
    assert_eq!(list(registered).await, [ids[0], ids[2]]);
    let cancelled = Filter { status: Some(RequestStatus::Cancelled), ..Filter::default() };
    assert_eq!(list(cancelled).await, [ids[1]]);
    let before = Filter { created_before: Some(START), ..Filter::default() };
    assert!(list(before).await.is_empty());
    let after = Filter { created_after: Some(START - 1), model: Some(fixture.model), ..Filter::default() };
    assert_eq!(list(after).await, ids);
}
