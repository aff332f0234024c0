//! The audit log: what is in it, whose it is, and how it is read.

use futures_util::future::LocalBoxFuture;
use overnight_domain::audit_log::ActorKind;

use crate::audit_log::{Entry, reads};
use crate::identity::accounts::NewAccount;
use crate::tests::prelude::*;
use crate::tests::transfer::{Target, exported};
use crate::tests::users::{invite, new_link, new_user, session};
use crate::{Actor, ActorId};

const ALL: Filter = Filter { account: None, action: None, since: 0, before: Place::END };

pub(super) async fn list(store: &Store, filter: &Filter) -> Vec<Entry> {
    let page = audit_log::list(store, filter, 9_999).await.expect("a page");
    assert_eq!(page.next, None);
    page.entries
}

async fn actions(store: &Store, filter: &Filter) -> Vec<String> {
    list(store, filter).await.into_iter().map(|entry| entry.action).collect()
}

pub(super) fn of(account: AccountKey) -> Filter {
    Filter { account: Some(account), ..ALL }
}

/// What a user does, from an address.
pub(super) fn as_user<'w, T: 'w>(user: &User, work: impl Future<Output = T> + 'w) -> LocalBoxFuture<'w, T> {
    let actor = Actor { id: ActorId::User(user.key), address: Some([192, 0, 2, 7].into()) };
    actor.scope(work.boxed_local()).boxed_local()
}

pub(super) async fn make_user(fixture: &Fixture, number: u8, is_operator: bool) -> User {
    let email = format!("u{number}@example.org");
    let user = NewUser { is_operator, ..new_user(number, Some(&email), None) };
    users::insert(&fixture.store, &user).await.expect("an insert").expect("a user")
}

pub(super) fn new_key(number: u32, now: i64) -> NewApiKey {
    let mut sha256 = [0; 32];
    sha256[..4].copy_from_slice(&number.to_le_bytes());
    NewApiKey {
        id: KeyId::from_bits(number.into()),
        sha256,
        prefix: "on_live_abcdef".to_owned(),
        name: Some("nightly".to_owned()),
        scope: KeyScope::Write,
        created_at: now,
        expires_at: None,
    }
}

/// Pages of the audit log, and what bounds it.
pub(super) fn hot_statements() -> Vec<Statement> {
    let page = |query: Statement| query.bind(START).bind(9i64).bind(0i64).bind(51i64);
    vec![
        page(reads::LIST.unbound()),
        page(reads::LIST_OF_ACTION.bind("export")),
        page(reads::LIST_OF_ACCOUNT.bind(1i64)),
        page(reads::LIST_OF_ACCOUNT_AND_ACTION.bind(1i64).bind("export")),
        bounds::COUNT_OF_ACCOUNT.bind(1i64).bind(START).bind(9i64),
        bounds::COUNT_OF_ACTOR.bind("usr_1").bind(START).bind(1i64).bind(0i64).bind(9i64),
    ]
}

on_both!(an_entry_says_who_did_what_to_what_and_from_where);
async fn an_entry_says_who_did_what_to_what_and_from_where(fixture: &mut Fixture) {
    let store = &fixture.store;
    let owner = make_user(fixture, 1, false).await;
    let now = START + 1;
    as_user(&owner, async {
        api_keys::insert(store, fixture.account, &new_key(5, now)).await.expect("a key");
        for _ in 0..2 {
            api_keys::revoke(store, Some(fixture.account), KeyId::from_bits(5), now).await.expect("no key");
        }
    })
    .await;
    let entries = list(store, &Filter { since: now, ..of(fixture.account) }).await;
    let [revoked, made] = entries.as_slice() else { panic!("a second time is no change: {entries:?}") };
    let account = accounts::get(store, fixture.account).await.expect("the account").id;
    for (entry, action) in [(made, "api_key.create"), (revoked, "api_key.revoke")] {
        assert_eq!((entry.action.as_str(), entry.place.created_at), (action, now));
        assert_eq!((entry.actor_kind, entry.is_operator), (ActorKind::User, false));
        assert_eq!(entry.actor_id, Some(owner.id.to_string()));
        assert_eq!(entry.actor_name.as_deref(), Some("u1@example.org"));
        assert_eq!(entry.account, Some(account));
        assert_eq!(entry.target_type, "api_key");
        assert_eq!(entry.target_id, Some(KeyId::from_bits(5).to_string()));
        assert_eq!(entry.address.as_deref(), Some("192.0.2.7"));
    }
    let details = made.details.as_deref().expect("details");
    assert!(details.contains("nightly") && details.contains("write"), "{details}");
}

on_both!(every_change_of_an_account_is_there_once);
async fn every_change_of_an_account_is_there_once(fixture: &mut Fixture) {
    let store = &fixture.store;
    let account = NewAccount { is_activated: false, ..new_account(8) };
    let account = accounts::insert(store, &account).await.expect("an account");
    let changes = vec![(Quota::TokensPerDay, Some(Quotas::UNLIMITED)), (Quota::LiveRequests, None)];
    // What is done a second time changes nothing.
    for _ in 0..2 {
        accounts::activate(store, account.id, START).await.expect("a write");
        accounts::set_suspended(store, account.id, true, START).await.expect("a write");
        accounts::set_quotas(store, account.id, changes.clone(), START).await.expect("a write");
    }
    accounts::set_suspended(store, account.id, false, START).await.expect("a write");
    webhook_secrets::rotate(store, account.key, &SigningSecret::new([1; 32]), START, 0).await.expect("one");
    assert_eq!(
        actions(store, &of(account.key)).await,
        [
            "webhook_secret.rotate",
            "account.resume",
            "account.limits",
            "account.suspend",
            "account.activate",
            "credits.grant",
            "account.create",
        ]
    );
    let limits = Filter { action: Some(AuditAction::AccountLimits), ..of(account.key) };
    let details = list(store, &limits).await[0].details.clone();
    assert_eq!(details.as_deref(), Some(r#"{"tokens_per_day":"none","live_requests":"default"}"#));
}

on_both!(every_change_of_members_is_there_once);
async fn every_change_of_members_is_there_once(fixture: &mut Fixture) {
    let (store, account) = (&fixture.store, fixture.account);
    let users = [make_user(fixture, 1, false).await, make_user(fixture, 2, true).await];
    for user in [&users[0], &users[0], &users[1]] {
        members::insert(store, account, user.key, Role::Owner, START).await.expect("a member");
    }
    for role in [Some(Role::Viewer), Some(Role::Viewer), None] {
        members::change(store, account, users[0].id, role, START).await.expect("a change");
    }
    let told = actions(store, &of(account)).await;
    assert_eq!(told[..4], ["member.remove", "member.role", "member.add", "member.add"]);
    assert_eq!(told[4..], ["credits.grant", "account.create"]);
}

on_both!(changes_of_a_user_are_there_without_secrets);
async fn changes_of_a_user_are_there_without_secrets(fixture: &mut Fixture) {
    let store = &fixture.store;
    let user = make_user(fixture, 1, false).await;
    let new = Credentials { email: Some("new@example.org".to_owned()), password: Some("hash".to_owned()) };
    assert!(users::set_credentials(store, user.key, &new, None, START).await.expect("a change"));
    sessions::replace_link(store, user.key, new_link(1)).await.expect("a link");
    assert!(sessions::use_link(store, &[1; 32], &session(1, START)).await.expect("a session"));
    sessions::remove_others(store, user.key, None, START).await.expect("an end");
    users::link(store, user.key, "https://id", "s", START).await.expect("a link");
    users::remove(store, user.id, START).await.expect("a removal");
    let of_none: Vec<Entry> =
        list(store, &ALL).await.into_iter().filter(|entry| entry.account.is_none()).collect();
    let told: Vec<&str> = of_none.iter().map(|entry| entry.action.as_str()).collect();
    assert_eq!(
        told,
        [
            "user.remove",
            "user.link",
            "user.sign_out",
            "sign_in",
            "sign_in_link.create",
            "password.change",
            "email.change",
            "user.create",
        ]
    );
    assert_eq!(of_none[3].actor_name.as_deref(), Some("new@example.org"), "who signs in is the actor");
    assert!(of_none.iter().all(|entry| !format!("{entry:?}").contains("hash")));
}

on_both!(an_invitation_its_withdrawal_and_its_use_are_there);
async fn an_invitation_its_withdrawal_and_its_use_are_there(fixture: &mut Fixture) {
    let store = &fixture.store;
    let user = make_user(fixture, 1, false).await;
    for number in [1, 2] {
        assert!(invite(fixture, "u1@example.org", number).await);
    }
    let withdraw = async |email| {
        let withdrawn = invitations::remove(store, fixture.account, email, START).await;
        withdrawn.expect("a removal");
    };
    withdraw("nobody@example.org").await;
    assert!(invitations::accept(store, &[2; 32], user.key, START).await.expect("one"));
    assert!(invite(fixture, "u1@example.org", 3).await);
    withdraw("u1@example.org").await;
    let told = actions(store, &of(fixture.account)).await;
    assert_eq!(
        told[..5],
        ["invitation.withdraw", "invitation.create", "member.add", "invitation.create", "invitation.create"]
    );
}

on_both!(pages_are_read_by_key_and_no_account_sees_the_entries_of_another);
async fn pages_are_read_by_key_and_no_account_sees_the_entries_of_another(fixture: &mut Fixture) {
    let store = &fixture.store;
    let other = accounts::insert(store, &new_account(8)).await.expect("an account");
    for number in 0..20 {
        let account = if number % 2 == 0 { fixture.account } else { other.key };
        // Two at each time, of which the number decides.
        let key = new_key(number, START + 10 + i64::from(number / 4));
        api_keys::insert(store, account, &key).await.expect("a key");
    }
    for filter in [
        ALL,
        of(other.key),
        Filter { action: Some(AuditAction::ApiKeyCreate), ..ALL },
        Filter { action: Some(AuditAction::ApiKeyCreate), ..of(other.key) },
        Filter { since: START + 12, ..of(fixture.account) },
    ] {
        let all = list(store, &filter).await;
        let page = async |next: Option<Place>| {
            let before = next.unwrap_or(Place::END);
            let page = audit_log::list(store, &Filter { before, ..filter }, 3).await.expect("a page");
            assert!(page.entries.len() == 3 || page.next.is_none());
            (page.entries, page.next)
        };
        assert_eq!(walk(page).await.concat(), all);
        assert!(all.len() >= 6 && all.is_sorted_by(|one, two| one.place > two.place), "{all:?}");
        assert!(all.iter().all(|entry| entry.place.created_at >= filter.since));
        if filter.account == Some(other.key) {
            assert!(all.iter().all(|entry| entry.account == Some(other.id)));
        }
    }
}

on_both!(old_entries_are_deleted_and_no_others);
async fn old_entries_are_deleted_and_no_others(fixture: &mut Fixture) {
    let store = &fixture.store;
    for number in 0..6 {
        let key = new_key(number, START + i64::from(number));
        api_keys::insert(store, fixture.account, &key).await.expect("a key");
    }
    let deleted = audit_log::delete_old(store, START + 3).await.expect("a deletion");
    assert!(deleted >= 3);
    assert_eq!(audit_log::delete_old(store, START + 3).await.expect("nothing more"), 0);
    let left: Vec<i64> = list(store, &ALL).await.iter().map(|entry| entry.place.created_at - START).collect();
    assert_eq!(left, [5, 4, 3]);
}

#[tokio::test]
async fn commands_act_as_their_operator_and_an_import_is_noted_with_what_it_stores() {
    let fixture = Fixture::on_sqlite().await;
    let options = StoreOptions { operator: Some("ada".to_owned()), ..fixture.options.clone() };
    let beside = Store::open_beside(&options).await.expect("a store beside");
    accounts::insert(&beside, &new_account(8)).await.expect("an account");
    audit_log::note_export(&beside, START).await.expect("a note");
    let entries = list(&beside, &ALL).await;
    let told = (entries[0].actor_kind, entries[0].actor_name.as_deref(), entries[0].is_operator);
    assert_eq!(told, (ActorKind::Operator, Some("ada"), true));
    assert_eq!(actions(&beside, &ALL).await[..3], ["export", "credits.grant", "account.create"]);
    let file = exported(&beside).await;
    beside.close().await;
    for target in [Target::on_sqlite(), Target::on_postgres()] {
        let options = StoreOptions { operator: Some("eve".to_owned()), ..target.options.clone() };
        import(&options, &mut file.as_slice(), START + 5).await.expect("an import");
        let store = open(&options).await;
        let moved = list(&store, &ALL).await;
        assert_eq!((moved[0].action.as_str(), moved[0].actor_name.as_deref()), ("import", Some("eve")));
        assert_eq!(moved[1..], entries, "what was moved is as it was");
        store.close().await;
    }
}

#[tokio::test]
async fn a_page_is_read_by_an_index_in_its_order() {
    let fixture = Fixture::on_sqlite().await;
    let mut connection = fixture.store.connect().await.expect("a connection");
    for (statement, index) in [
        (&reads::LIST, "audit_log_by_time"),
        (&reads::LIST_OF_ACTION, "audit_log_by_action"),
        (&reads::LIST_OF_ACCOUNT, "audit_log_by_account"),
        (&reads::LIST_OF_ACCOUNT_AND_ACTION, "audit_log_by_account_and_action"),
        (&bounds::COUNT_OF_ACCOUNT, "audit_log_by_account"),
        (&bounds::COUNT_OF_ACTOR, "audit_log_by_actor"),
    ] {
        let text: &'static str = format!("EXPLAIN QUERY PLAN {}", statement.sqlite).leak();
        let rows = connection.fetch(sql(text)).await.expect("a plan");
        let plan: Vec<String> = rows.iter().map(|row| row.get("detail").expect("a step")).collect();
        let wanted = format!("SEARCH audit_log USING INDEX {index} (");
        assert!(plan.iter().any(|step| step.starts_with(&wanted)), "{wanted}: {plan:#?}");
        assert!(!plan.iter().any(|step| step.contains("TEMP B-TREE FOR LAST")), "{plan:#?}");
    }
}

on_both!(where_no_session_ends_no_end_is_noted);
async fn where_no_session_ends_no_end_is_noted(fixture: &mut Fixture) {
    let store = &fixture.store;
    let user = make_user(fixture, 1, false).await;
    let noted =
        async || actions(store, &Filter { action: Some(AuditAction::UserSignOut), ..ALL }).await.len();
    for (count, notes) in [(0, 0), (1, 1)] {
        if count > 0 {
            sessions::insert(store, user.key, &session(1, START)).await.expect("a session");
        }
        let ended = as_user(&user, sessions::remove_others(store, user.key, None, START)).await;
        assert_eq!((ended.expect("an end"), noted().await), (count, notes));
    }
}
