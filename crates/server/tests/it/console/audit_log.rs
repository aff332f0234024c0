//! The audit log in the console: its readers and its content.

use overnight_app::audit_log;
use overnight_domain::roles::Role;
use overnight_runtime::workers;
use overnight_store::audit_log::{CHANGES_OF_ONE_A_DAY_MAX, Filter, Place};

use super::{both_accounts, member, operator};
use crate::support::{START, TestApp};

#[tokio::test]
async fn owners_see_what_was_changed_in_their_account_and_nobody_elses() {
    let app = TestApp::start().await;
    let [own, foreign] = both_accounts(&app).await;
    let mut owner = member(&app, &own, "owner@example.com", Role::Owner).await;
    let mut stranger = member(&app, &foreign, "stranger@example.com", Role::Owner).await;
    let keys = |account: &overnight_app::accounts::Account| format!("/console/{}/keys", account.id);
    owner.post(&keys(&own), &[("name", "of the owner"), ("expires", "never")]).await.checked(200);
    stranger.post(&keys(&foreign), &[("name", "of the stranger"), ("expires", "never")]).await.checked(200);

    let page = owner.get(&format!("/console/{}/audit-log", own.id)).await;
    let text = page.text();
    assert_eq!(page.status, 200, "{text}");
    for part in ["owner@example.com", "of the owner", "api_key.create", "127.0.0.1"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("stranger"), "{text}");
    owner.get(&format!("/console/{}/audit-log?action=account.create", own.id)).await.lacks("of the owner");
    for path in [format!("/console/{}/audit-log", foreign.id), "/console/operator/audit-log".to_owned()] {
        assert_eq!(owner.get(&path).await.status, 404, "{path}");
    }
    let mut developer = member(&app, &own, "developer@example.com", Role::Developer).await;
    assert_eq!(developer.get(&format!("/console/{}/audit-log", own.id)).await.status, 403);

    let everything = operator(&app).await.get("/console/operator/audit-log").await.text().to_owned();
    for part in ["owner@example.com", "stranger@example.com", "sign_in", "user.create"] {
        assert!(everything.contains(part), "{part}: {everything}");
    }
    app.stop().await;
}

#[tokio::test]
async fn owners_learn_that_the_operator_did_something_and_not_who_that_is() {
    let app = TestApp::start().await;
    let own = app.own().await;
    let mut owner = member(&app, &own, "owner@example.com", Role::Owner).await;
    let mut operator = operator(&app).await;
    let grant = format!("/console/operator/accounts/{}/grant", own.id);
    operator.post(&grant, &[("amount", "25"), ("source", "invoice 7")]).await.checked(303);
    let log = format!("/console/{}/audit-log", own.id);
    let seen = owner.get(&log).await.text().to_owned();
    assert!(seen.contains("invoice 7") && seen.contains("the operator"), "{seen}");
    assert!(!seen.contains("op@example.com") && !seen.contains("127.0.0.1"), "{seen}");
    let seen = operator.get(&log).await.text().to_owned();
    assert!(seen.contains("op@example.com") && seen.contains("127.0.0.1"), "{seen}");
    app.stop().await;
}

#[tokio::test]
async fn a_page_of_the_log_leads_to_the_next_one() {
    let app = TestApp::start().await;
    let own = app.own().await;
    let mut owner = member(&app, &own, "owner@example.com", Role::Owner).await;
    for number in 0..60 {
        let name = format!("key number {number:02}");
        let form = [("name", name.as_str()), ("expires", "never")];
        assert_eq!(owner.post(&format!("/console/{}/keys", own.id), &form).await.status, 200);
    }
    let first = owner.get(&format!("/console/{}/audit-log", own.id)).await.text().to_owned();
    assert!(first.contains("key number 59") && !first.contains("key number 05"), "{first}");
    let link = first.split("href=\"").find(|part| part.contains("before=")).expect("a link");
    let link = link.split('"').next().expect("an address");
    let second = owner.get(link).await.text().to_owned();
    assert!(second.contains("key number 05") && !second.contains("key number 59"), "{second}");
    assert!(!second.contains("before="), "{second}");
    app.stop().await;
}

#[tokio::test]
async fn what_is_older_than_the_setting_says_is_deleted() {
    const DAY_MS: i64 = 86_400_000;
    let app = TestApp::start_with(&[("audit_log_retention", "7d")]).await;
    let own = app.own().await;
    let filter = Filter { account: Some(own.key), action: None, since: 0, before: Place::END };
    let count = async || audit_log::list(&app.services, &filter, 99).await.expect("a page").entries.len();
    let made = count().await;
    workers::audit_log_retention(&app.services, START + 7 * DAY_MS).await.expect("a run");
    assert_eq!(count().await, made);
    workers::audit_log_retention(&app.services, START + 7 * DAY_MS + 1).await.expect("a run");
    assert_eq!(count().await, 0);
    app.stop().await;
}

#[tokio::test]
async fn a_member_who_makes_keys_in_a_loop_is_told_to_stop_and_can_be_thrown_out() {
    let app = TestApp::start().await;
    let own = app.own().await;
    let mut owner = member(&app, &own, "owner@example.com", Role::Owner).await;
    let mut developer = member(&app, &own, "developer@example.com", Role::Developer).await;
    let keys = format!("/console/{}/keys", own.id);
    let form = [("name", "nightly"), ("expires", "never")];
    for _ in 0..CHANGES_OF_ONE_A_DAY_MAX {
        assert_eq!(developer.post(&keys, &form).await.status, 200);
    }
    let refused = developer.post(&keys, &form).await;
    let is_told = refused.text().contains(&format!("{CHANGES_OF_ONE_A_DAY_MAX} may be"));
    assert!(refused.status == 422 && is_told, "{refused:?}");

    assert_eq!(owner.post(&keys, &form).await.status, 200, "the owner has a share of the own");
    let page = owner.get(&keys).await.text().to_owned();
    let key = page.split("/keys/").find(|rest| rest.starts_with("key_")).expect("a key");
    let key = key.split('/').next().expect("an identifier");
    assert_eq!(owner.post(&format!("{keys}/{key}/revoke"), &[]).await.status, 303);
    assert_eq!(owner.post(&format!("/console/{}/webhooks/rotate", own.id), &[]).await.status, 303);
    let page = owner.get(&format!("/console/{}/account", own.id)).await.text().to_owned();
    let row = page.split("developer@example.com").nth(1).expect("the developer");
    let path = row.split("action=\"").find(|rest| rest.contains("members/usr_")).expect("a form");
    let path = path.split('"').next().expect("an address");
    assert_eq!(owner.post(path, &[("role", "none")]).await.status, 303);
    assert_eq!(developer.get(&keys).await.status, 404, "who is removed sees nothing any more");
    app.stop().await;
}
