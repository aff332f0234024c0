//! Long lists, page by page.

use crate::requests::{Filter, page_records, page_summaries};
use crate::tests::grouping::{grouped, new_batch};
use crate::tests::prelude::*;

on_both!(pages_in_both_directions_hold_every_row_once);
async fn pages_in_both_directions_hold_every_row_once(fixture: &mut Fixture) {
    let new: Vec<_> = (0..1_100u32).map(|n| fixture.request(n.to_le_bytes()[0])).collect();
    fixture.insert_all(new).await;
    let filter = Filter::default();
    for direction in [Direction::OldestFirst, Direction::NewestFirst] {
        let scope = PageScope::Account(fixture.account, direction);
        let summaries = async |after| {
            let page = page_summaries(&fixture.store, scope, &filter, after, None).await.expect("a page");
            (page.rows, page.next)
        };
        let ids: Vec<_> = walk(summaries).await.concat().iter().map(|row| row.id).collect();
        let records = pages_of(fixture, scope).await.concat();
        assert_eq!(ids, records.iter().map(|row| row.summary.id).collect::<Vec<_>>());
        let mut sorted = ids.clone();
        sorted.sort();
        if direction == Direction::NewestFirst {
            sorted.reverse();
        }
        assert_eq!((ids.len(), &ids), (1_100, &sorted));
    }
}

on_both!(a_page_of_large_bodies_stays_small);
async fn a_page_of_large_bodies_stays_small(fixture: &mut Fixture) {
    for (key, is_large) in (0..).zip([false, true, true, true, true, true, false]) {
        let mut request = fixture.request(key);
        if is_large {
            // Two of them are with their metadata as long as what a page may have.
            request.body = vec![b' '; (512 << 10) - 2].into();
        }
        fixture.put(request).await;
    }
    let sizes: Vec<usize> = pages(fixture).await.iter().map(Vec::len).collect();
    assert_eq!(sizes, [4, 3], "a page ends after the body that takes it past its limit");
}

on_both!(every_list_shows_the_record_as_it_was_sent);
async fn every_list_shows_the_record_as_it_was_sent(fixture: &mut Fixture) {
    let mut ids = fixture.insert(&[1, 2, 3]).await;
    let mut small = fixture.request(4);
    small.client = ClientFields { metadata: None, webhook: Some("https://example.com/é,;".into()) };
    let mut large = NewRequest { body: vec![b' '; 16_385].into(), ..fixture.request(5) };
    large.client = ClientFields { metadata: Some("{}".into()), webhook: Some("https://example.org".into()) };
    for request in [&small, &large] {
        fixture.put(request.clone()).await;
        ids.push(request.id);
    }
    let leases = fixture.release_and_lease().await;
    for lease in [&leases[0], &leases[4]] {
        let warned = fixture.settlement(lease, START + 5).with_warnings(Some("[1]".into()));
        assert!(settle::settle(&fixture.store, warned).await.expect("a settle"));
    }
    requests::cancel(&fixture.store, fixture.account, ids[1], START + 6).await.expect("a cancel");
    let account = fixture.account;
    let (batch, _) = grouped(fixture, &ids).await;
    for scope in [
        PageScope::Account(account, Direction::OldestFirst),
        PageScope::Account(account, Direction::NewestFirst),
        PageScope::Batch(fixture.account, batch),
    ] {
        let lines = pages_of(fixture, scope).await.concat();
        assert_eq!(lines.len(), 5);
        assert_eq!(lines.iter().filter(|line| line.warnings.as_deref() == Some(&b"[1]"[..])).count(), 2);
        for line in lines {
            let id = line.summary.id;
            for sent in [&small, &large].into_iter().filter(|sent| sent.id == id) {
                assert_eq!((&line.client, &line.body), (&sent.client, &sent.body), "{scope:?}");
            }
            let record = requests::find_record(&fixture.store, account, id).await.expect("a read");
            assert_eq!(Some(line), record, "{scope:?}");
        }
    }
}

/// Every whole record, page by page.
async fn pages(fixture: &Fixture) -> Vec<Vec<RequestRecord>> {
    pages_of(fixture, PageScope::Account(fixture.account, Direction::default())).await
}

async fn pages_of(fixture: &Fixture, scope: PageScope) -> Vec<Vec<RequestRecord>> {
    let page = async |after| {
        let page = page_records(&fixture.store, scope, &Filter::default(), after, None).await;
        page.map(|page| (page.rows, page.next)).expect("a page")
    };
    walk(page).await
}

on_both!(a_page_of_a_filter_that_holds_little_ends_after_a_bounded_number_of_rows);
async fn a_page_of_a_filter_that_holds_little_ends_after_a_bounded_number_of_rows(fixture: &mut Fixture) {
    let mut ids = Vec::new();
    for _ in 0..6 {
        let new: Vec<_> = (0..700).map(|_| fixture.request(1)).collect();
        ids.extend(new.iter().map(|request| request.id));
        fixture.insert_all(new).await;
    }
    let (first, last) = (ids[0], ids[4_199]);
    for id in [first, last] {
        requests::cancel(&fixture.store, fixture.account, id, START).await.expect("a cancel");
    }
    let filter = Filter { status: Some(RequestStatus::Cancelled), ..Filter::default() };
    for (direction, expected) in
        [(Direction::OldestFirst, [first, last]), (Direction::NewestFirst, [last, first])]
    {
        let scope = PageScope::Account(fixture.account, direction);
        let page = async |after| {
            let page = page_summaries(&fixture.store, scope, &filter, after, None).await.expect("a page");
            let records = page_records(&fixture.store, scope, &filter, after, None).await.expect("a page");
            assert_eq!((page.rows.len(), page.next), (records.rows.len(), records.next));
            (page.rows.iter().map(|row| row.id).collect::<Vec<_>>(), page.next)
        };
        assert_eq!(walk(page).await, expected.map(|id| vec![id]), "{direction:?}");
    }
}

on_both!(filters_hold_what_they_name);
async fn filters_hold_what_they_name(fixture: &mut Fixture) {
    let ids = fixture.insert(&[1, 2, 3]).await;
    requests::cancel(&fixture.store, fixture.account, ids[1], START).await.expect("a cancel");
    let scope = PageScope::Account(fixture.account, Direction::default());
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

on_both!(batches_come_page_by_page_in_both_directions, no audit);
async fn batches_come_page_by_page_in_both_directions(fixture: &mut Fixture) {
    let mut ids = Vec::new();
    for _ in 0..130 {
        let batch = new_batch(fixture, &[]).await;
        ids.push(batch.id);
        batches::insert(&fixture.store, batch).await.expect("a batch");
    }
    for direction in [Direction::OldestFirst, Direction::NewestFirst] {
        let page = async |after| {
            batches::page(&fixture.store, fixture.account, direction, after).await.expect("a page")
        };
        let first = page(None).await;
        let second = page(Some(first.next.expect("more"))).await;
        assert_eq!((first.rows.len(), second.rows.len(), second.next), (128, 2, None));
        let listed: Vec<_> = [first.rows, second.rows].concat().iter().map(|(_, batch)| batch.id).collect();
        assert_eq!(listed, ids, "{direction:?}");
        ids.reverse();
    }
}
