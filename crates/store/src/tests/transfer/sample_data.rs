//! A store that holds everything that a store can hold.

use overnight_domain::endpoints::Endpoint;

use crate::tests::prelude::*;
use crate::tests::{deliveries, grouping};

/// More than an import or an export takes together.
const LARGE_BYTES: usize = 9 << 20;

/// Requests in every state, batches at every point of their lives, keys, and bodies with everything that JSON allows.
pub(in crate::tests) async fn insert_sample_data(fixture: &mut Fixture) {
    add_keys(fixture).await;
    order_credits(fixture).await;
    tell_of_ends(fixture).await;
    let mut ids = Vec::new();
    for key in 1..=6 {
        // The first two complete, one of them by a key that is revoked by then.
        let api_key = Some(1).filter(|_| key % 2 == 1);
        let request = NewRequest { hold: fixture.hold("15").await, api_key, ..fixture.request(key) };
        ids.push(fixture.put(request).await);
    }
    group(fixture, &ids[..2], Some(br#"{"batch_name":"done"}"#)).await;
    let half_way = group(fixture, &ids[2..], None).await;
    fixture.release().await;
    leave_in_progress(fixture).await;
    mark_cancelled(fixture, &half_way).await;
    let ids = fixture.insert(&[7, 8]).await;
    let cancelled = group(fixture, &ids, None).await;
    let cancelled = mark_cancelled(fixture, &cancelled).await;
    batches::cancel_chunk(&fixture.store, cancelled, None, START + 12).await.expect("a chunk");
    let late = NewRequest { expires_at: START + 1, hold: fixture.hold("2").await, ..fixture.request(9) };
    fixture.put(late).await;
    let error = br#"{"error":{"code":"expired"}}"#.to_vec();
    expiry::expire(&fixture.store, START + 20, 100, error).await.expect("an expiry");
    for request in odd_requests(fixture) {
        fixture.put(request).await;
    }
    fixture.release().await;
    fixture.insert(&[10, 11]).await;
    fixture.assert_sound().await;
}

/// Events that were delivered, wait for another try, and are being sent, and a test; and a secret that replaces another.
async fn tell_of_ends(fixture: &mut Fixture) {
    for key in 31..=33 {
        let id = fixture.insert_told(key, "https://hooks.example/").await;
        requests::cancel(&fixture.store, fixture.account, id, START + 1).await.expect("a cancel");
    }
    let due = fixture.due(START + 1).await;
    let claims =
        due.iter().map(|due| deliveries::claim_of(due, br#"{"type":"request.cancelled"}"#)).collect();
    outbox::claim(&fixture.store, claims, START + 2).await.expect("claims");
    let delivered = deliveries::answered(&due[0], 200, EventState::Delivered, None);
    let failed = deliveries::answered(&due[1], 500, EventState::Live, Some(START + 5_000));
    for result in [delivered, failed] {
        assert!(deliveries::record(&fixture.store, result).await);
    }
    let test = NewTest {
        id: EventId::from_bits(5),
        account: fixture.account,
        url: "https://hooks.example/test".to_owned(),
        payload: Bytes::from_static(br#"{"type":"webhook.test"}"#),
        now: START + 3,
    };
    assert!(outbox::insert_test(&fixture.store, test).await.expect("a test"));
    let webhook = "https://hooks.example/low".to_owned();
    let low = LowCredits { threshold: Credits::from_nanos(150_000_000_000), webhook };
    low_credits::set(&fixture.store, fixture.account, Some(low), START, None).await.expect("a change");
    let told =
        LowCreditsEvent { id: EventId::from_bits(6), account: fixture.account, apart_ms: 1, now: START + 3 };
    let write = |_| Bytes::from_static(br#"{"type":"account.low_credits"}"#);
    assert!(low_credits::notify(&fixture.store, told, write).await.expect("an event"));
    let rotated =
        webhook_secrets::rotate(&fixture.store, fixture.account, &SigningSecret::new([8; 32]), START, 1_000)
            .await;
    rotated.expect("a new secret");
}

pub(in crate::tests) fn order(account: AccountKey, number: u128) -> Payment {
    Payment {
        id: PaymentId::from_bits(number),
        account,
        provider: "stripe".to_owned(),
        credits: Credits::from_nanos(12_500_000_000),
        amount: 1_250,
        currency: "eur".to_owned(),
        created_at: START,
        session: None,
        paid_at: None,
        reference: None,
    }
}

/// One of them paid.
async fn order_credits(fixture: &Fixture) {
    let order = |number| order(fixture.account, number);
    for number in [1, 2] {
        payments::insert(&fixture.store, &order(number)).await.expect("an order");
    }
    payment_checks::note_session(&fixture.store, fixture.account, order(1).id, "cs_1", START)
        .await
        .expect("a note");
    let posting = payments::post(&fixture.store, &order(2), "pi_1", START + 1).await;
    assert_eq!(posting.expect("a posting"), Posting::Posted);
}

/// Two completed, one failed, one released, two at their engines.
async fn leave_in_progress(fixture: &Fixture) {
    let leases = fixture.lease().await;
    let warned = fixture.settlement(&leases[0], START + 10).with_warnings(Some("[7]".into()));
    assert!(settle::settle(&fixture.store, warned).await.expect("a settle"));
    assert!(fixture.settle(&leases[1], START + 10).await);
    let failed = fixture.settlement(&leases[2], START + 11);
    let failed = Settlement { ending: Ending::Failed, ..failed };
    assert!(settle::settle(&fixture.store, failed).await.expect("a settle"));
    let lease = leases[3].clone();
    let attempt = FailedAttempt::new(START + 12, Some(500), "no room".to_owned());
    let attempt = Some(FailedAttempt { engine: Some("gpu-0".to_owned()), ..attempt });
    let back = ReleaseLease { lease, retry_at: START + 99, attempt, suspect: true };
    assert!(leases::release_lease(&fixture.store, back).await.expect("a released lease"));
}

async fn group(fixture: &mut Fixture, ids: &[RequestId], metadata: Option<&[u8]>) -> NewBatch {
    let webhook = metadata.map(|_| "https://example.org/\u{fc}?a=\"b\"".to_owned());
    let batch = grouping::new_batch(fixture, ids).await;
    let batch = NewBatch { metadata: metadata.map(<[u8]>::to_vec), webhook, ..batch };
    let outcome = batches::insert(&fixture.store, batch.clone()).await.expect("a batch");
    assert!(matches!(outcome, NewBatchOutcome::Created(_)));
    batch
}

async fn mark_cancelled(fixture: &Fixture, batch: &NewBatch) -> i64 {
    match batches::cancel(&fixture.store, fixture.account, batch.id, START + 12).await.expect("a cancel") {
        CancelBatchOutcome::Marked { batch } => batch,
        outcome => panic!("the batch was not marked: {outcome:?}"),
    }
}

async fn add_keys(fixture: &Fixture) {
    let key = |number: u8, name: Option<&str>| NewApiKey {
        id: KeyId::from_bits(number.into()),
        sha256: [number; 32],
        prefix: format!("on_live_{number}"),
        name: name.map(str::to_owned),
        scope: if number == 1 { KeyScope::Write } else { KeyScope::Read },
        created_at: START,
        expires_at: name.map(|_| START + 1_000),
    };
    for key in [key(1, None), key(2, Some("nächtlich \u{1f319}"))] {
        api_keys::insert(&fixture.store, fixture.account, &key).await.expect("a key");
    }
    api_keys::revoke(&fixture.store, None, KeyId::from_bits(1), START + 5).await.expect("a revoked key");
}

/// Bodies with every byte that JSON allows, one that is larger than what is moved together, and more of them than that.
fn odd_requests(fixture: &mut Fixture) -> Vec<NewRequest> {
    let plain: String = (' '..='\u{7f}').filter(|it| !matches!(it, '"' | '\\')).collect();
    let wide = "\u{80}\u{7ff}\u{800}\u{2028}\u{2029}\u{d7ff}\u{e000}\u{feff}\u{ffff}\u{10000}\u{10ffff}";
    let escapes = r#"\"\\\/\b\f\n\r\t\u0000\u001f\ud83c\udf19"#;
    let text = format!(r#"{{"content":"{plain}{wide}{escapes}","n":[-0.5e+10,null,true]}}"#);
    let large = format!(r#"{{"content":"{}"}}"#, "\\\"".repeat(LARGE_BYTES / 4));
    let mut odd = fixture.request(20);
    odd.body = text.clone().into_bytes().into();
    odd.endpoint = Endpoint::Embeddings;
    odd.client = ClientFields {
        metadata: Some(text.into_bytes().into()),
        webhook: Some("https://example.org/hook".to_owned()),
    };
    let mut large_one = fixture.request(21);
    (large_one.body, large_one.client.metadata) = (large.into_bytes().into(), None);
    let many = (0..300).map(|number: u32| NewRequest {
        sort_key: SortKey::from_bytes(&number.to_be_bytes()),
        client: ClientFields::default(),
        ..fixture.request(22)
    });
    many.chain([odd, large_one]).collect()
}
