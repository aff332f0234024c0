//! Accounts that are closed permanently and erased.

use overnight_app::accounts::{self, FOR_EVER, members};
use overnight_app::errors::AppError;
use overnight_app::file_batches::fill_account;
use overnight_app::users::{Standing, invitations};
use overnight_app::{api_keys, closing, users, webhooks};
use overnight_domain::ids::AccountId;
use overnight_domain::roles::Role;
use overnight_runtime::workers;
use overnight_store::closing as pieces;
use serde_json::json;

use super::openai_files::{create, lines, upload};
use crate::support::TestApp;

fn is_refused(outcome: &Result<accounts::Account, AppError>) -> bool {
    matches!(outcome, Err(AppError::Invalid(_)))
}

/// An account with data of every kind: ended and live requests, batches, files, events, users.
async fn furnished() -> (TestApp, AccountId) {
    let app = TestApp::start().await;
    app.create_batch(2).await;
    app.complete_all().await;
    app.create_batch(3).await;
    app.create("alone").await;
    let mut hooked = TestApp::quick_start("hooked");
    hooked["webhook"] = json!("https://example.com/hook");
    assert_eq!(app.client().with("idempotency-key", "once").post("/v1/requests", &hooked).await.status, 201);
    let file = upload(&app, &lines(40)).await;
    create(&app, &file).await;
    upload(&app, &lines(3)).await;
    let part =
        json!({"purpose": "batch", "filename": "a.jsonl", "bytes": 9, "mime_type": "application/jsonl"});
    assert_eq!(app.client().post("/openai/v1/uploads", &part).await.status, 200);
    let account = app.own().await;
    let id = account.id;
    for (email, is_elsewhere) in [("only@example.com", false), ("both@example.com", true)] {
        let user = users::create(&app.services, email, Standing::Ordinary).await.expect("a user");
        members::add(&app.services, &account, &user, Role::Developer).await.expect("a member");
        if is_elsewhere {
            let others = accounts::list(&app.services).await.expect("accounts");
            let other = others.iter().find(|other| other.id != id).expect("another account");
            members::add(&app.services, other, &user, Role::Developer).await.expect("a member");
        }
    }
    invitations::invite(&app.services, &account, "invited@example.com", Role::Developer)
        .await
        .expect("a link");
    (app, id)
}

#[tokio::test]
async fn a_closed_account_takes_nothing_and_what_lived_is_cancelled() {
    let (app, id) = furnished().await;
    let before = app.own().await;
    assert!(before.live_requests > 0 && before.held.nanos() > 0);
    assert!(is_refused(&closing::erase(&app.services, id).await), "it is not closed");
    for _ in 0..2 {
        closing::close(&app.services, id).await.expect("a closed account");
    }
    app.client().get("/v1/account").await.refused(401, "invalid_api_key");
    app.client().post("/v1/requests", &TestApp::quick_start("no")).await.refused(401, "invalid_api_key");
    for refused in [
        accounts::resume(&app.services, id).await,
        accounts::suspend(&app.services, id).await,
        accounts::activate(&app.services, id).await,
    ] {
        assert!(is_refused(&refused), "it is closed for good");
    }
    assert_eq!(app.noted().await[0].action, "account.close", "what was refused is not in the log");
    let refused = api_keys::create(&app.services, id, api_keys::KeyDraft::PLAIN).await;
    assert!(matches!(refused, Err(AppError::Invalid(_))), "{refused:?}");
    let user = users::named(&app.services, "only@example.com").await.expect("a user");
    assert_eq!(members::accounts_of(&app.services, &user).await.expect("a read").len(), 0);

    workers::account_closer(&app.services, app.services.clock.now()).await.expect("a run");
    let closed = app.own().await;
    assert_eq!((closed.live_requests, closed.held.nanos()), (0, 0));
    assert_eq!(closed.balance, before.balance, "what was cancelled costs nothing");
    assert!(closed.closed_at.is_some() && closed.suspended_at.is_some() && closed.erased_at.is_none());
    assert!(closed.stored_bytes > 0, "and is not erased");
    assert_eq!(app.stranger().post("/v1/requests", &TestApp::quick_start("yes")).await.status, 201);
    // The rest of the batch's file is not filled any more.
    fill_account(&app.services, app.account).await.expect("nothing to fill");
    assert_eq!(app.own().await.live_requests, 0);
    app.stop().await;
}

#[tokio::test]
async fn an_erased_account_leaves_the_entries_of_its_ledger_and_no_one() {
    let (app, id) = furnished().await;
    let charged = app.own().await.balance;
    closing::close(&app.services, id).await.expect("a closed account");
    closing::erase(&app.services, id).await.expect("a mark");
    let now = app.services.clock.now();
    workers::account_eraser(&app.services, now).await.expect("a run");
    assert!(app.own().await.stored_bytes > 0, "what lives is cancelled first");
    workers::account_closer(&app.services, now).await.expect("a run");

    // An earlier process stopped half-way: some pieces are done.
    let store = &app.services.store;
    assert!(pieces::delete_content(store, app.account).await.expect("a piece"));
    let is_so = !pieces::mark_erased(store, app.account, now).await.expect("a look");
    assert!(is_so, "something is stored still");
    for _ in 0..2 {
        workers::account_eraser(&app.services, now).await.expect("a run");
    }
    let erased = app.own().await;
    assert_eq!((erased.name.as_str(), erased.stored_bytes, erased.balance), ("erased account", 0, charged));
    assert_eq!(erased.erased_at, Some(now));
    let entries =
        accounts::list_entries(&app.services, &erased, None, None, 99).await.expect("a ledger").rows;
    assert!(entries.len() > 2, "{entries:?}");
    assert_eq!(api_keys::list(&app.services, id).await.expect("a read").keys.len(), 0);
    assert!(webhooks::secrets(&app.services, id).await.expect("a read").is_empty());
    assert!(matches!(users::named(&app.services, "only@example.com").await, Err(AppError::NotFound(_))));
    let both = users::named(&app.services, "both@example.com").await.expect("a user of another account");
    assert_eq!(members::accounts_of(&app.services, &both).await.expect("a read").len(), 1);
    assert!(is_refused(&accounts::resume(&app.services, id).await));
    assert_eq!(app.stranger().get("/v1/account").await.status, 200);
    check_log(&app, "only@example.com").await;
    app.stop().await;
}

/// The audit log has the actions on the account and no data of its people.
async fn check_log(app: &TestApp, email: &str) {
    let entries = app.noted().await;
    let actions: Vec<_> = entries.iter().map(|entry| &*entry.action).collect();
    for action in ["account.close", "account.erase", "member.add", "invitation.create", "account.create"] {
        assert!(actions.contains(&action), "{action}: {actions:?}");
    }
    assert!(entries.iter().all(|entry| entry.details.is_none()), "{entries:?}");
    let is_so = !format!("{entries:?}").contains(email) && !format!("{entries:?}").contains("invited@");
    assert!(is_so, "{entries:?}");
}

#[tokio::test]
async fn an_account_has_the_retention_that_an_operator_gave_it() {
    const DAY_MS: i64 = 86_400_000;
    let app = TestApp::start_with(&[("retention", "30d")]).await;
    let id = app.own().await.id;
    let shown = async || app.client().get("/v1/account").await.json()["retention_seconds"].clone();
    assert_eq!(shown().await, 30 * 86_400);
    for wrong in [0, DAY_MS - 1, 3_651 * DAY_MS, -1] {
        assert!(is_refused(&accounts::set_retention(&app.services, id, Some(wrong)).await), "{wrong}");
    }
    let ended = app.create("ended").await;
    app.complete_all().await;
    let strangers = app.stranger().create("a stranger's").await;
    let stranger = accounts::list(&app.services).await.expect("accounts")[1].key;
    for lease in app.lease_all_of(stranger).await {
        app.complete(&lease).await;
    }
    let now = app.services.clock.now();
    for (retention, expected) in [(Some(FOR_EVER), 200), (Some(40 * DAY_MS), 200), (Some(2 * DAY_MS), 404)] {
        accounts::set_retention(&app.services, id, retention).await.expect("a change");
        workers::retention(&app.services, now + 3 * DAY_MS).await.expect("a run");
        let found = app.client().get(&format!("/v1/requests/{ended}")).await.status;
        assert_eq!(found, expected, "{retention:?}");
    }
    assert_eq!(shown().await, 2 * 86_400);
    accounts::set_retention(&app.services, id, None).await.expect("a change");
    assert_eq!(shown().await, 30 * 86_400);
    let path = format!("/v1/requests/{strangers}");
    assert_eq!(app.stranger().get(&path).await.status, 200);
    workers::retention(&app.services, now + 31 * DAY_MS).await.expect("a run");
    assert_eq!(app.stranger().get(&path).await.status, 404);
    app.stop().await;
}
