//! Lists for people: pages, what is looked through, and what is found in metadata.

use crate::lists::{ListPage, PAGE_ROWS};
use crate::requests::{ListedRequest, RequestCharge};
use crate::tests::grouping;
use crate::tests::prelude::*;

impl Fixture {
    async fn insert_with(&mut self, metadata: Option<&str>) -> RequestId {
        let metadata = metadata.map(|text| text.as_bytes().to_vec());
        let mut request = self.request(1);
        request.client.metadata = metadata.map(Bytes::from);
        self.put(request).await
    }

    async fn insert_many(&mut self, count: usize) -> Vec<RequestId> {
        let new: Vec<_> = (0..count).map(|_| self.request(1)).collect();
        let ids = new.iter().map(|request| request.id).collect();
        self.insert_all(new).await;
        ids
    }

    async fn newest(&self, filter: &ListFilter, before: Option<i64>) -> ListPage<ListedRequest> {
        let scope = ListScope::Account(self.account);
        requests::list_page(&self.store, scope, filter, before).await.expect("a page")
    }

    async fn found(&self, text: &str) -> Vec<RequestId> {
        let filter = ListFilter { search: Some(Search::new(text)), ..ListFilter::default() };
        let page = self.newest(&filter, None).await;
        assert_eq!((page.next, page.looked_through), (None, None));
        page.rows.iter().rev().map(|row| row.summary.id).collect()
    }
}

on_both!(pages_run_from_the_newest_to_the_oldest);
async fn pages_run_from_the_newest_to_the_oldest(fixture: &mut Fixture) {
    let mut ids = fixture.insert_many(2 * PAGE_ROWS).await;
    ids.reverse();
    let all = ListFilter::default();
    let first = fixture.newest(&all, None).await;
    assert!(first.next.is_some() && first.looked_through.is_none());
    let second = fixture.newest(&all, first.next).await;
    assert_eq!((second.next, second.looked_through), (None, None));
    let listed: Vec<_> = [first.rows, second.rows].concat().iter().map(|row| row.summary.id).collect();
    assert_eq!(listed, ids);
}

on_both!(so_many_are_looked_through_for_a_page_and_then_it_says_so);
async fn so_many_are_looked_through_for_a_page_and_then_it_says_so(fixture: &mut Fixture) {
    let wanted = fixture.insert_with(Some(r#"{"a":"needle"}"#)).await;
    fixture.insert_many(25).await;
    let scope = ListScope::Account(fixture.account);
    let filter = ListFilter { search: Some(Search::new("needle")), ..ListFilter::default() };
    let (mut before, mut pages) = (None, 0);
    let found = loop {
        let page = requests::list_page_of(&fixture.store, scope, &filter, before, 10).await;
        let page = page.expect("a page");
        pages += 1;
        assert_eq!(page.next, None);
        before = page.looked_through;
        if before.is_none() {
            break page.rows;
        }
        assert!(page.rows.is_empty());
    };
    assert_eq!((pages, found[0].summary.id), (3, wanted));
    for (looked_max, is_found) in [(25, false), (26, true), (27, true)] {
        let page = requests::list_page_of(&fixture.store, scope, &filter, None, looked_max).await;
        let page = page.expect("a page");
        assert_eq!(!page.rows.is_empty(), is_found, "{looked_max}");
    }
}

on_both!(what_the_database_finds_and_is_not_meant_ends_a_page_too);
async fn what_the_database_finds_and_is_not_meant_ends_a_page_too(fixture: &mut Fixture) {
    // Both words stand in every one of them, and never as a key and its value.
    let new: Vec<_> = (0..1_100)
        .map(|_| {
            let mut request = fixture.request(1);
            request.client.metadata = Some(br#"{"b":"a"}"#.to_vec().into());
            request
        })
        .collect();
    fixture.insert_all(new).await;
    let filter = ListFilter { search: Some(Search::new("a=b")), ..ListFilter::default() };
    let page = fixture.newest(&filter, None).await;
    assert!(page.rows.is_empty() && page.looked_through.is_some());
    let page = fixture.newest(&filter, page.looked_through).await;
    assert_eq!((page.rows.len(), page.next, page.looked_through), (0, None, None));
}

on_both!(text_is_found_in_metadata_however_it_is_spelt);
async fn text_is_found_in_metadata_however_it_is_spelt(fixture: &mut Fixture) {
    let texts = [
        r#"{"plain":"a % b _ c ' d ; -- e"}"#,
        r#"{"quoted":"say \"hello\" to C:\\temp"}"#,
        r#"{"stadt":"K\u00f6ln","moon":"\ud83c\udf19"}"#,
        r#"{"stadt":"Köln","moon":"🌙"}"#,
        r#"{"nul":"a\u0000b","line":"c\nd"}"#,
        "{}",
    ];
    let mut ids = Vec::new();
    for text in texts {
        ids.push(fixture.insert_with(Some(text)).await);
    }
    fixture.insert_with(None).await;
    for (text, expected) in [
        ("a % b _ c ' d", &[0][..]),
        ("%", &[0]),
        ("a % c", &[]),
        ("a_%", &[]),
        ("' OR 1=1 --", &[]),
        ("say \"hello\" to", &[1]),
        ("C:\\temp", &[1]),
        ("\\", &[1, 2, 4]),
        ("Köln", &[2, 3]),
        ("köln", &[]),
        ("🌙", &[2, 3]),
        ("a\0b", &[4]),
        ("\0", &[4]),
        ("c\nd", &[4]),
        ("?", &[]),
        ("$1", &[]),
        ("{}", &[5]),
        ("", &[0, 1, 2, 3, 4, 5]),
    ] {
        let expected: Vec<_> = expected.iter().map(|place| ids[*place]).collect();
        assert_eq!(fixture.found(text).await, expected, "{text:?}");
    }
}

on_both!(a_key_is_found_with_its_value);
async fn a_key_is_found_with_its_value(fixture: &mut Fixture) {
    let texts = [
        r#"{"run":"7","x":1}"#,
        r#"{"run":7}"#,
        r#"{"run":"77"}"#,
        r#"{"deep":{"run":"7"},"done":true}"#,
        r#"{"note":"run=7"}"#,
        r#"{"r\u00fcn":"a=b \"c\"","run":null}"#,
        r#"{"run":["7"],"7":"run"}"#,
        r#"{"run":""}"#,
    ];
    let mut ids = Vec::new();
    for text in texts {
        ids.push(fixture.insert_with(Some(text)).await);
    }
    for (text, expected) in [
        ("run=7", &[0, 1, 4][..]),
        ("run=77", &[2]),
        ("done=true", &[3]),
        ("run=null", &[]),
        ("rün=a=b \"c\"", &[5]),
        ("run=", &[4, 7]),
        ("=7", &[4]),
        ("run='7'", &[]),
        ("x=1", &[0]),
    ] {
        let expected: Vec<_> = expected.iter().map(|place| ids[*place]).collect();
        assert_eq!(fixture.found(text).await, expected, "{text:?}");
    }
}

/// What was used of a hold of [`Fixture::hold`]: three tokens read at a credit, four written at two.
fn charge() -> RequestCharge {
    let amount = Some("11".parse().expect("credits"));
    RequestCharge { prompt_tokens: Some(3), completion_tokens: Some(4), amount }
}

on_both!(a_row_says_what_a_request_is_used_and_cost);
async fn a_row_says_what_a_request_is_used_and_cost(fixture: &mut Fixture) {
    let request = NewRequest { hold: fixture.hold("20").await, ..fixture.request(1) };
    let id = fixture.put(request).await;
    let batch = grouping::new_batch(fixture, &[id]).await;
    batches::insert(&fixture.store, batch.clone()).await.expect("a batch");
    fixture.release().await;
    let (key, _) = fixture.batch(batch.id).await;
    let cost = async || {
        batches::cost(&fixture.store, fixture.account, key)
            .await
            .map(|cost| (cost.charged.to_string(), cost.held.to_string()))
    };
    assert_eq!(cost().await.expect("a sum"), ("0".to_owned(), "20".to_owned()));
    assert!(fixture.settle(&fixture.lease().await[0], START + 5).await);
    assert_eq!(cost().await.expect("a sum"), ("11".to_owned(), "0".to_owned()));
    let row = fixture.newest(&ListFilter::default(), None).await.rows.remove(0);
    assert_eq!((row.charge, row.batch_id, &*row.model), (charge(), Some(batch.id), "tiny"));
    assert_eq!((row.body_bytes, row.body.map(|body| body.len()), row.error), (59, Some(59), None));
    let charge_of = |account| requests::find_charge(&fixture.store, account, id);
    assert_eq!(charge_of(fixture.account).await.expect("a read"), Some(charge()));
    let other = fixture.other_account().await;
    assert_eq!(charge_of(other).await.expect("a read"), None);
    let theirs = ListScope::Account(other);
    let page = requests::list_page(&fixture.store, theirs, &ListFilter::default(), None).await;
    assert!(page.expect("a page").rows.is_empty());
}

on_both!(a_row_leaves_out_what_is_long_and_says_why_a_request_failed);
async fn a_row_leaves_out_what_is_long_and_says_why_a_request_failed(fixture: &mut Fixture) {
    let request = NewRequest { body: vec![b' '; 16_385].into(), ..fixture.request(1) };
    let id = fixture.put(request).await;
    let lease = fixture.release_and_lease().await.remove(0);
    let error = br#"{"error":{"message":"no"}}"#.to_vec();
    let failed = fixture.settlement(&lease, START + 6);
    let failed = Settlement { ending: Ending::Failed, body: error.clone().into(), ..failed };
    assert!(settle::settle(&fixture.store, failed).await.expect("a settle"));
    let row = fixture.newest(&ListFilter::default(), None).await.rows.remove(0);
    assert_eq!((row.body, row.body_bytes), (None, 16_385));
    assert_eq!((row.error, row.charge), (Some(error), RequestCharge::default()));
    let charge = requests::find_charge(&fixture.store, fixture.account, id).await.expect("a read");
    assert_eq!(charge, Some(RequestCharge::default()));
}

on_both!(requests_are_filtered_by_state_model_and_batch);
async fn requests_are_filtered_by_state_model_and_batch(fixture: &mut Fixture) {
    let ids = fixture.insert(&[1, 2, 3]).await;
    let model = models::ensure(&fixture.store, &["other"]).await.expect("a model")[0];
    let request = NewRequest { model, ..fixture.request(4) };
    let other_id = fixture.put(request).await;
    requests::cancel(&fixture.store, fixture.account, ids[1], START).await.expect("a cancel");
    fixture.release_and_lease().await;
    let batch = grouping::new_batch(fixture, &ids[1..]).await;
    let batch_id = batch.id;
    batches::insert(&fixture.store, batch).await.expect("a batch");
    let (batch, _) = fixture.batch(batch_id).await;
    let account = ListScope::Account(fixture.account);
    for (scope, status, model, expected) in [
        (account, Some(RequestStatus::InProgress), None, vec![ids[2], ids[0]]),
        (account, Some(RequestStatus::Registered), None, vec![other_id]),
        (account, None, Some(model), vec![other_id]),
        (ListScope::Batch(fixture.account, batch), None, None, vec![ids[1], ids[2]]),
        (ListScope::Batch(fixture.account, batch), Some(RequestStatus::Cancelled), None, vec![ids[1]]),
    ] {
        let filter = ListFilter { status, model, search: None };
        let page = requests::list_page(&fixture.store, scope, &filter, None).await.expect("a page");
        let listed: Vec<_> = page.rows.iter().map(|row| row.summary.id).collect();
        assert_eq!(listed, expected, "{filter:?}");
    }
}

on_both!(pages_of_a_batch_run_in_order_of_arrival_and_places_in_it_are_counted);
async fn pages_of_a_batch_run_in_order_of_arrival_and_places_in_it_are_counted(fixture: &mut Fixture) {
    let ids = fixture.insert_many(2 * PAGE_ROWS).await;
    let new = grouping::new_batch(fixture, &ids).await;
    let id = new.id;
    batches::insert(&fixture.store, new).await.expect("a batch");
    let account = fixture.account;
    let (batch, _) = fixture.batch(id).await;
    let (scope, all) = (ListScope::Batch(account, batch), ListFilter::default());
    let page = async |behind| {
        let page = requests::list_page(&fixture.store, scope, &all, behind).await.expect("a page");
        (page.rows, page.next)
    };
    let rows = walk(page).await.concat();
    assert_eq!(rows.iter().map(|row| row.summary.id).collect::<Vec<_>>(), ids);
    let count = async |from: i64, to: usize| {
        requests::count_between(&fixture.store, account, batch, (from, rows[to].seq)).await.expect("a count")
    };
    assert_eq!((count(i64::MIN, 0).await, count(i64::MIN, 77).await), (Some(1), Some(78)));
    assert_eq!(count(rows[10].seq, 77).await, Some(67));
    requests::cancel(&fixture.store, account, ids[3], START).await.expect("a cancel");
    requests::delete_request(&fixture.store, account, ids[3]).await.expect("a deletion");
    assert_eq!(count(i64::MIN, 77).await, None, "places say nothing where some are gone");
}

on_both!(batches_are_listed_and_those_that_live_are_counted);
async fn batches_are_listed_and_those_that_live_are_counted(fixture: &mut Fixture) {
    let mut ids: Vec<BatchId> = Vec::new();
    for number in 0..(PAGE_ROWS + 3) {
        let requests = fixture.insert(&[1]).await;
        let metadata = format!(r#"{{"batch_name":"night {number}"}}"#).into_bytes();
        let batch = grouping::new_batch(fixture, &requests).await;
        ids.push(batch.id);
        let batch = NewBatch { metadata: Some(metadata), ..batch };
        batches::insert(&fixture.store, batch).await.expect("a batch");
        if number == 2 {
            requests::cancel(&fixture.store, fixture.account, requests[0], START).await.expect("a cancel");
        }
    }
    batches::cancel(&fixture.store, fixture.account, ids[1], START).await.expect("a cancel");
    let list = async |status: Option<BatchStatus>, text: Option<&str>, before: Option<i64>| {
        let filter = batches::ListFilter { status, search: text.map(Search::new) };
        let page = batches::list_newest(&fixture.store, fixture.account, &filter, before).await;
        let page = page.expect("a page");
        (page.rows.iter().map(|row| row.id).collect::<Vec<_>>(), page.next)
    };
    let (first, next) = list(None, None, None).await;
    let (second, end) = list(None, None, next).await;
    assert_eq!((first.len(), end), (PAGE_ROWS, None));
    let newest_first: Vec<_> = ids.iter().rev().copied().collect();
    assert_eq!([first, second].concat(), newest_first);
    for (status, text, expected) in [
        (Some(BatchStatus::Cancelled), None, vec![ids[1]]),
        (Some(BatchStatus::Completed), None, vec![ids[2]]),
        (Some(BatchStatus::InProgress), None, vec![]),
        (None, Some("night 17"), vec![ids[17]]),
        (None, Some("batch_name=night 1"), vec![ids[1]]),
        (Some(BatchStatus::Registered), Some("night 2"), (20..30).rev().map(|place| ids[place]).collect()),
    ] {
        assert_eq!(list(status, text, None).await.0, expected, "{status:?} {text:?}");
    }
    let unfinished = batches::list_live(&fixture.store, fixture.account, 3).await.expect("a list");
    let unfinished: Vec<_> = unfinished.iter().map(|row| row.id).collect();
    assert_eq!(unfinished, newest_first[..3], "what has ended is older");
    let live = batches::count_live(&fixture.store, fixture.account).await.expect("a count");
    assert_eq!(live, PAGE_ROWS as i64 + 1);
    let nothing = batches::ListFilter { search: Some(Search::new("nowhere")), ..Default::default() };
    let page = batches::list_newest_of(&fixture.store, fixture.account, &nothing, None, 10).await;
    let looked_through = page.expect("a page").looked_through.expect("more");
    let id = batches::find_id(&fixture.store, looked_through).await.expect("a read");
    assert_eq!(id, Some(newest_first[9]));
}
