//! Rights of roles, and data that other users never see.

use overnight_app::accounts::members;
use overnight_app::engines::{EngineRates, EngineState, ModelOut, PrefixCacheState};
use overnight_app::{api_keys, users};
use overnight_domain::api_keys::KeyScope;
use overnight_domain::ids::AccountId;
use overnight_domain::roles::Role;

use super::{PASSWORD, both_accounts, member, operator, visit};
use crate::support::{START, TestApp, idle_engine};

#[tokio::test]
async fn operators_see_how_fast_an_engine_works_and_what_its_prefix_cache_saves() {
    let app = TestApp::start().await;
    let account = app.own().await;
    let overview = format!("/console/{}", account.id);
    let mut operator = operator(&app).await;
    for (tokens_per_second, cache_hit_percent, fifo_hit_percent, saved_tokens, cells) in [
        (None, None, None, None, ["per second\">–</td>", "cache hits\">–</td>", "by order\">–</td>"]),
        (
            Some(12_000),
            Some(87),
            Some(24),
            Some(5_400_000),
            [
                "per second\">12,000</td>",
                "cache hits\">87 %</td>",
                "by order\">5,400,000<br><span class=\"label\">hits in order of arrival: 24 %</span></td>",
            ],
        ),
    ] {
        let rates = EngineRates { tokens_per_second, cache_hit_percent };
        let prefix_cache = PrefixCacheState { fifo_hit_percent, saved_tokens, ..PrefixCacheState::default() };
        app.report_engine(EngineState { rates, prefix_cache, ..idle_engine() }).await;
        for path in ["/console/operator", &overview] {
            let page = operator.get(path).await;
            for cell in cells {
                assert!(page.text().contains(cell), "{path}: {cell}: {page:?}");
            }
        }
    }
    let mut owner = member(&app, &account, "a@example.com", Role::Owner).await;
    for path in ["", "/models", "/playground"] {
        let page = owner.get(&format!("{overview}{path}")).await.checked(200);
        assert!(!page.text().contains("gpu-0") && !page.text().contains("87 %"), "it is others' work too");
    }
    app.stop().await;
}

#[tokio::test]
async fn an_engine_that_gets_nothing_is_shown_with_the_reason_and_until_when() {
    let app = TestApp::start().await;
    let mut operator = operator(&app).await;
    let until = Some(START + 60_000);
    let out = |reason: Option<&str>, is_over_budget| {
        let (model, reason) = ("large".to_owned(), reason.map(str::to_owned));
        EngineState {
            models_out: vec![ModelOut { model, until, reason, is_over_budget, is_busy: false }],
            ..idle_engine()
        }
    };
    for (engine, words) in [
        (
            EngineState { closed_until: until, ..idle_engine() },
            ["outside its hours</span> <span class=\"label\">until ", ""],
        ),
        (out(Some("it said 500"), false), ["large paused until ", ": it said 500"]),
        (out(None, true), ["large over its daily budget until ", ""]),
    ] {
        app.report_engine(engine).await;
        let page = operator.get("/console/operator").await;
        page.shows(words[0]).shows(words[1]);
    }
    app.stop().await;
}

#[tokio::test]
async fn a_foreign_account_looks_like_one_that_does_not_exist() {
    let app = TestApp::start().await;
    let [own, foreign] = both_accounts(&app).await;
    let mut browser = member(&app, &own, "a@example.com", Role::Owner).await;
    let foreign_key = api_keys::list(&app.services, foreign.id).await.unwrap().keys[0].id;
    let user = users::named(&app.services, "a@example.com").await.unwrap().id;
    let unknown = AccountId::from_bits(1);
    for page in ["", "/keys", "/account", "/credits"] {
        let [one, other] = [
            browser.get(&format!("/console/{}{page}", foreign.id)).await,
            browser.get(&format!("/console/{unknown}{page}")).await,
        ];
        assert_eq!((one.status, one.text()), (404, other.text()), "{page}");
        assert_eq!(other.status, 404);
    }
    for page in [
        format!("keys/{foreign_key}/revoke"),
        "keys".to_owned(),
        "account/invitations".to_owned(),
        format!("account/members/{user}"),
        "credits/top-up".to_owned(),
    ] {
        let [one, other] = [
            browser.post(&format!("/console/{}/{page}", foreign.id), &[("role", "none")]).await,
            browser.post(&format!("/console/{unknown}/{page}"), &[("role", "none")]).await,
        ];
        assert_eq!((one.status, one.text()), (404, other.text()), "{page}");
    }
    let revoked = browser.post(&format!("/console/{}/keys/{foreign_key}/revoke", own.id), &[]).await;
    assert_eq!(revoked.status, 404, "nor is a foreign key one's own");
    assert_eq!(browser.get("/console/operator").await.status, 404);
    let made =
        browser.post("/console/operator/users", &[("email", "x@example.com"), ("operator", "yes")]).await;
    assert_eq!(made.status, 404);
    assert!(users::named(&app.services, "x@example.com").await.is_err());
    let keys = api_keys::list(&app.services, foreign.id).await.unwrap().keys;
    assert!(keys.len() == 1 && keys[0].revoked_at.is_none());
    app.stop().await;
}

#[tokio::test]
async fn a_viewer_looks_and_changes_nothing_and_a_developer_decides_nothing() {
    let app = TestApp::start().await;
    let account = app.own().await;
    let key = api_keys::list(&app.services, account.id).await.unwrap().keys[0].id;
    let at = |page: &str| format!("/console/{}/{page}", account.id);
    let invitation = [("email", "new@example.com"), ("role", "owner")];
    let mut viewer = member(&app, &account, "viewer@example.com", Role::Viewer).await;
    let viewer_id = users::named(&app.services, "viewer@example.com").await.unwrap().id;
    assert_eq!(viewer.get(&at("keys")).await.status, 200);
    for (page, fields) in [
        ("keys".to_owned(), &[("name", "stolen")][..]),
        (format!("keys/{key}/revoke"), &[]),
        ("account/invitations".to_owned(), &invitation),
        (format!("account/members/{viewer_id}"), &[("role", "owner")]),
        ("credits/top-up".to_owned(), &[("amount", "25")]),
    ] {
        let refused = viewer.post(&at(&page), fields).await;
        assert_eq!(refused.status, 403, "{page}");
        refused.shows("You are a viewer");
    }
    let mut developer = member(&app, &account, "dev@example.com", Role::Developer).await;
    assert_eq!(developer.post(&at("account/invitations"), &invitation).await.status, 403);
    developer.post(&at(&format!("account/members/{viewer_id}")), &[("role", "none")]).await.checked(403);
    let keys = api_keys::list(&app.services, account.id).await.unwrap().keys;
    assert!(keys.len() == 1 && keys[0].revoked_at.is_none());
    let members = members::list(&app.services, &account).await.unwrap();
    assert_eq!(members.iter().map(|member| member.role).collect::<Vec<_>>(), [Role::Viewer, Role::Developer]);
    assert!(users::named(&app.services, "new@example.com").await.is_err());

    assert_eq!(developer.post(&at("keys"), &[("name", "own"), ("expires", "90d")]).await.status, 200);
    assert_eq!(developer.post(&at(&format!("keys/{key}/revoke")), &[]).await.status, 303);
    assert!(api_keys::list(&app.services, account.id).await.unwrap().keys[0].revoked_at.is_some());
    app.stop().await;
}

#[tokio::test]
async fn the_last_owner_of_an_account_stays() {
    let app = TestApp::start().await;
    let account = app.own().await;
    let mut owner = member(&app, &account, "owner@example.com", Role::Owner).await;
    let id = async |email| users::named(&app.services, email).await.unwrap().id;
    let own = format!("/console/{}/account/members/{}", account.id, id("owner@example.com").await);
    for role in ["none", "viewer", "developer"] {
        let refused = owner.post(&own, &[("role", role)]).await;
        assert_eq!(refused.status, 422, "{role}");
        refused.shows("an account keeps an owner");
    }
    let mut chief = operator(&app).await;
    assert_eq!(chief.post(&own, &[("role", "none")]).await.status, 422, "an operator does no other");
    member(&app, &account, "second@example.com", Role::Owner).await;
    let left = owner.post(&own, &[("role", "none")]).await;
    assert_eq!((left.status, left.header("location")), (303, "/console"));
    let answered = owner.get(&format!("/console/{}/keys", account.id)).await;
    assert_eq!(answered.status, 404, "from the next click on");
    app.stop().await;
}

fn invitation_on(page: &str) -> String {
    let from = page.find("/console/invitation/").expect("a link");
    page[from..].chars().take_while(|it| it.is_ascii_graphic() && *it != '<').collect()
}

#[tokio::test]
async fn whoever_has_an_invitation_joins_once() {
    let app = TestApp::start().await;
    let [account, other] = both_accounts(&app).await;
    let mut owner = member(&app, &account, "owner@example.com", Role::Owner).await;
    let invitations = format!("/console/{}/account/invitations", account.id);
    let keys = format!("/console/{}/keys", account.id);
    let invite = async |owner: &mut super::Browser, email: &str| {
        owner.post(&invitations, &[("email", email), ("role", "viewer")]).await
    };
    let made = invite(&mut owner, "known@example.com").await;
    let link = invitation_on(made.text());
    let mut known = member(&app, &other, "known@example.com", Role::Viewer).await;
    assert_eq!(known.get(&keys).await.status, 404, "nobody is made a member without wanting to");
    known.get(&link).await.checked(200).shows("Join as known@example.com");
    assert_eq!(known.post(&link, &[]).await.status, 303);
    assert_eq!(known.get(&keys).await.status, 200);
    assert_eq!(known.get(&link).await.status, 403, "it works once");
    let link = invitation_on(invite(&mut owner, "new@example.com").await.text());
    let mut new = super::Browser::new(&app);
    assert_eq!(new.post(&link, &[("password", "short")]).await.status, 422);
    new.post(&link, &[("password", "a long enough one")]).await.checked(303);
    assert_eq!(new.get(&keys).await.status, 200);
    for wrong in ["", "x", "@example.com", "a b@example.com", "owner@example.com"] {
        assert_eq!(invite(&mut owner, wrong).await.status, 422, "{wrong}");
    }
    let link = invitation_on(invite(&mut owner, "late@example.com").await.text());
    let withdraw = format!("{invitations}/withdraw");
    assert_eq!(known.post(&withdraw, &[("email", "late@example.com")]).await.status, 403);
    assert_eq!(owner.post(&withdraw, &[("email", "late@example.com")]).await.status, 303);
    assert_eq!(super::Browser::new(&app).get(&link).await.status, 403);
    app.stop().await;
}

#[tokio::test]
async fn an_invitation_is_joined_under_the_invited_address_alone() {
    let app = TestApp::start().await;
    let [account, other] = both_accounts(&app).await;
    let mut owner = member(&app, &account, "owner@example.com", Role::Owner).await;
    let invite = async |owner: &mut super::Browser, email: &str| {
        let fields = [("email", email), ("role", "viewer")];
        let made = owner.post(&format!("/console/{}/account/invitations", account.id), &fields).await;
        invitation_on(made.text())
    };
    let link = invite(&mut owner, "new@example.com").await;
    let mut known = member(&app, &other, "known@example.com", Role::Viewer).await;
    let shown = known.get(&link).await;
    shown.shows("for <strong>new@example.com</strong>");
    assert!(!shown.text().contains("<form"), "an address that nobody verified is not another's");
    assert_eq!(known.post(&link, &[]).await.status, 422);
    assert_eq!(known.get(&format!("/console/{}", account.id)).await.status, 404);

    let mut new = super::Browser::new(&app);
    new.get(&link).await.shows("value=\"new@example.com\" autocomplete=\"username\" readonly");
    let fields = [("email", "victim@example.com"), ("password", PASSWORD)];
    assert_eq!(new.post(&link, &fields).await.status, 303);
    assert!(users::named(&app.services, "victim@example.com").await.is_err());
    assert!(users::named(&app.services, "new@example.com").await.unwrap().has_password);

    let link = invite(&mut owner, "known@example.com").await;
    super::Browser::new(&app).post(&link, &[("password", PASSWORD)]).await.checked(422).shows("is somebody");
    assert_eq!(known.post(&link, &[]).await.status, 303);
    app.stop().await;
}

#[tokio::test]
async fn who_is_removed_is_out_at_once() {
    let (app, account, mut browser) = visit("a@example.com", Role::Viewer).await;
    let mut chief = operator(&app).await;
    let id = async |email| users::named(&app.services, email).await.unwrap().id;
    let remove = async |id| format!("/console/operator/users/{id}/remove");
    let own = chief.post(&remove(id("op@example.com").await).await, &[]).await;
    assert!(own.status == 422 && chief.is_signed_in().await, "nobody removes themselves");
    assert_eq!(chief.post(&remove(id("a@example.com").await).await, &[]).await.status, 303);
    assert!(!browser.is_signed_in().await);
    assert!(members::list(&app.services, &account).await.unwrap().is_empty());
    app.stop().await;
}

#[tokio::test]
async fn the_address_of_a_top_up_leads_back_to_the_credits() {
    let app = TestApp::start_with(&[("public_url", "http://127.0.0.1:8080/night")]).await;
    let account = app.own().await;
    let mut owner = member(&app, &account, "owner@example.com", Role::Owner).await;
    let page = format!("/console/{}/credits", account.id);
    let led = owner.get(&format!("{page}/top-up")).await;
    assert_eq!((led.status, led.header("location")), (303, &*format!("/night{page}")));
    app.stop().await;
}

#[tokio::test]
async fn members_of_a_suspended_account_read_and_change_nothing_and_the_operator_resumes_it() {
    let app = TestApp::start().await;
    let account = app.own().await;
    let mut owner = member(&app, &account, "owner@example.com", Role::Owner).await;
    let mut operator = operator(&app).await;
    let keys = format!("/console/{}/keys", account.id);
    let of_account = |what: &str| format!("/console/operator/accounts/{}/{what}", account.id);
    assert_eq!(operator.post(&of_account("suspend"), &[]).await.status, 303);
    assert!(operator.get("/console/operator").await.text().contains("suspended</span>"));
    let fields = [("name", "a key"), ("expires", "90d"), ("scope", "read")];
    owner.post(&keys, &fields).await.checked(403).shows("This account is suspended");
    owner.get(&keys).await.checked(200).shows("This account is suspended");
    assert_eq!(operator.post(&of_account("resume"), &[]).await.status, 303);
    assert_eq!(owner.post(&keys, &fields).await.status, 200);
    let made = api_keys::list(&app.services, account.id).await.unwrap().keys;
    assert_eq!(made.last().map(|key| key.scope), Some(KeyScope::Read));
    assert!(!owner.get(&keys).await.text().contains("This account is suspended"));
    owner.post(&keys, &[("name", "a"), ("expires", "90d"), ("scope", "all")]).await.checked(400);
    app.stop().await;
}
